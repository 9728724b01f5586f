"""Test runs and readers on the card of a hunk."""

from pathlib import Path

import pytest

from custody.people.reads import ReadRequest, record_reads
from custody.review.app.review import ReviewRequest, review_change
from custody.review.wire import HunkReport
from tests.builders.judged import Judged


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    judged = Judged(tmp_path / "repository")
    judged.edit()
    return judged


def run_tests(judged: Judged, at: int, output: str = "2 passed in 0.1s") -> None:
    """Record a run of the whole suite by a hook."""
    payload = {
        "tool_name": "Bash",
        "tool_use_id": f"run{at}",
        "tool_input": {"command": "pytest -q"},
        "tool_response": {"stdout": output, "stderr": "", "interrupted": False},
    }
    judged.hook("PostToolUse", at, payload, id=f"run{at}", call=f"run{at}")


def the_hunk(judged: Judged) -> HunkReport:
    (hunk,) = review_change(judged.workspace, ReviewRequest(change=f"{judged.base}..{judged.second}")).hunks
    return hunk


def test_a_run_after_the_last_edit_is_on_the_card(judged: Judged) -> None:
    run_tests(judged, -10)
    hunk = the_hunk(judged)
    assert hunk.tests.state == "after-edit" and hunk.tests.run is not None
    assert (hunk.tests.run.command, hunk.tests.run.result) == ("pytest -q", "passed")
    assert "TEST-NONE" not in [factor.code for factor in hunk.risk.factors]


def test_a_run_before_the_last_edit_is_stale(judged: Judged) -> None:
    run_tests(judged, -50)
    hunk = the_hunk(judged)
    assert hunk.tests.state == "stale"
    assert "TEST-STALE" in [factor.code for factor in hunk.risk.factors]


def test_a_reader_is_on_the_card(judged: Judged) -> None:
    assert the_hunk(judged).read_by == []
    change = f"{judged.base}..{judged.second}"
    record_reads(judged.workspace, ReadRequest(change=change, is_whole=True, person="Jo Reader <jo@example.invalid>"))
    assert [mark.person for mark in the_hunk(judged).read_by] == ["Jo Reader <jo@example.invalid>"]
