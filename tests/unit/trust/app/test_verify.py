"""A changed log is detected and named; an unchanged one replays to the scores that are shown."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from custody.ledger.records import erase_record_bodies
from custody.trust.app.decisions import FolderWorkspace, open_trust_folder
from custody.trust.app.record import DecisionRequest, record_revert, record_trust_decision
from custody.trust.app.show import trust_list, trust_show
from custody.trust.app.verify import trust_verify
from custody.trust.model import DecisionType

NOON = 1_769_860_800_000_000_000


@pytest.fixture
def workspace(tmp_path: Path) -> FolderWorkspace:
    """A folder with decisions about two agents."""
    workspace = open_trust_folder(tmp_path / "store", lambda: NOON)
    for number in range(3):
        record_trust_decision(
            workspace,
            DecisionRequest(agent="robot", decision=DecisionType.ACCEPTED, lines=50, actor="ana", id=f"pr-{number}"),
        )
    record_trust_decision(workspace, DecisionRequest(agent="other", decision=DecisionType.REJECTED, actor="ana"))
    record_revert(workspace, "robot", "pr-1", actor="ana", reason="slow")
    return workspace


def changed(workspace: FolderWorkspace, *statements: str) -> None:
    """Return the database after somebody changed it by hand."""
    with closing(sqlite3.connect(workspace.folder / "custody.db")) as db, db:
        for statement in statements:
            db.execute(statement)


def codes(workspace: FolderWorkspace) -> set[str]:
    report = trust_verify(workspace)
    assert (report.outcome == "found") == bool(report.findings)
    return {finding.code for finding in report.findings}


def test_what_was_not_touched_is_as_it_was_written(workspace: FolderWorkspace) -> None:
    report = trust_verify(workspace)
    assert (report.outcome, report.decisions, report.agents, report.findings) == ("fine", 5, 2, [])


def test_an_empty_log_is_as_it_was_written(tmp_path: Path) -> None:
    report = trust_verify(open_trust_folder(tmp_path))
    assert (report.outcome, report.decisions, report.agents) == ("fine", 0, 0)


@pytest.mark.parametrize(
    ("tamper", "code"),
    [
        ("DELETE FROM record WHERE seq = 2", "CHAIN-GAP"),
        ("UPDATE record SET at_ns = at_ns - 1 WHERE seq = 2", "CHAIN-LINK"),
        ("UPDATE record SET seq = 9 WHERE seq = 5", "CHAIN-GAP"),
        ("UPDATE body SET bytes = X'7B7D'", "BODY-CHANGED"),
        ("DELETE FROM record WHERE seq = 5", "CHAIN-CUT"),
        ("UPDATE decision SET agent = 'third' WHERE seq = 4", "VIEW-DIFFERS"),
    ],
)
def test_a_row_that_was_changed_deleted_or_moved_is_named(workspace: FolderWorkspace, tamper: str, code: str) -> None:
    changed(workspace, tamper)
    assert code in codes(workspace)


def test_an_index_that_hides_a_rejection_does_not_give_the_score_of_the_records(workspace: FolderWorkspace) -> None:
    changed(workspace, "DELETE FROM decision WHERE agent = 'other'")
    report = trust_verify(workspace)
    assert ("TRUST-DIFFERS", "the score shown for 'other' does not match its records") in [
        (finding.code, finding.what) for finding in report.findings
    ]


def test_an_erased_decision_counts_no_longer_and_the_log_is_still_whole(workspace: FolderWorkspace) -> None:
    before = trust_show(workspace, "robot", limit=0).standing
    erase_record_bodies(workspace, ["1"], who="ana", why="it named a person")
    after = trust_show(workspace, "robot", limit=0).standing
    assert (before.accepted, after.accepted) == (3, 2)
    assert codes(workspace) == set()


def test_agents_are_listed_by_name(workspace: FolderWorkspace) -> None:
    assert [line.agent for line in trust_list(workspace).agents] == ["other", "robot"]


@pytest.mark.parametrize("look", [trust_list, trust_verify])
def test_looking_makes_nothing(tmp_path: Path, look: Callable[[FolderWorkspace], object]) -> None:
    look(open_trust_folder(tmp_path / "store"))
    assert not (tmp_path / "store").exists()
