"""What the description and the messages of a change say, beside the records."""

import json
from pathlib import Path

from custody.gate.app.gate import GateRequest, gate
from custody.review.app.forms import encode_review_markdown
from custody.review.app.review import ReviewRequest, review_change
from custody.review.wire import ReviewReport
from tests.builders.cli import custody
from tests.builders.judged import Judged, codes
from tests.unit.review.test_evidence import run_tests

TEXT = b"Add alpha\n\nAll tests pass, lint is clean.\n"


def a_judged(folder: Path, message: bytes | None = TEXT, files: dict[bytes, bytes] | None = None) -> Judged:
    judged = Judged(folder / "repository", message=message, files=files)
    judged.edit()
    return judged


def reviewed(judged: Judged, description: bytes | None = None) -> ReviewReport:
    change = f"{judged.base}..{judged.second}"
    return review_change(judged.workspace, ReviewRequest(change=change, description=description))


def states(report: ReviewReport) -> list[tuple[str, str]]:
    return sorted((said.kind, said.state) for said in report.statements)


def test_a_message_without_recorded_runs_is_not_backed(tmp_path: Path) -> None:
    judged = a_judged(tmp_path)
    report = reviewed(judged)
    assert states(report) == [("lint-passes", "unbacked"), ("tests-pass", "unbacked")]
    said = report.statements[0]
    assert (said.source, said.line) == (f"the message of {judged.second[:12]}", 3)
    assert (said.text, said.record) == (
        "All tests pass, lint is clean.",
        "no command is recorded in 1 session of this change",
    )


def test_a_run_after_the_last_edit_backs_a_message(tmp_path: Path) -> None:
    judged = a_judged(tmp_path)
    run_tests(judged, -10)
    assert ("tests-pass", "backed") in states(reviewed(judged))


def test_a_run_before_the_last_edit_does_not(tmp_path: Path) -> None:
    judged = a_judged(tmp_path)
    run_tests(judged, -50)
    said = next(said for said in reviewed(judged).statements if said.kind == "tests-pass")
    assert said.state == "unbacked" and "before the last edit of 'a.py'" in said.record
    assert said.paths == ["a.py"]


def test_a_failed_run_contradicts_and_both_texts_are_shown_everywhere(tmp_path: Path) -> None:
    judged = a_judged(tmp_path)
    payload = {
        "tool_name": "Bash",
        "tool_use_id": "run",
        "tool_input": {"command": "pytest -q"},
        "error": "Exit code 1\n1 failed, 1 passed in 0.1s",
    }
    judged.hook("PostToolUseFailure", -10, payload, id="run", call="run")
    report = reviewed(judged)
    said = report.statements[0]
    assert (said.kind, said.state) == ("tests-pass", "contradicted")
    assert said.record.startswith("the last test run failed (1 failed): 'pytest -q' at 20")
    shown = custody(judged.built.path, "review", f"{judged.base}..{judged.second}")
    assert "All tests pass, lint is clean." in shown.out and "contradicted: the last test run failed" in shown.out
    markdown = encode_review_markdown(report)
    assert "All tests pass, lint is clean" in markdown and "the last test run failed" in markdown


def test_a_description_about_documents_is_compared_with_the_diff(tmp_path: Path) -> None:
    judged = a_judged(tmp_path, message=None)
    report = reviewed(judged, b"Docs-only change.")
    assert states(report) == [("docs-only", "contradicted")]
    (hunk,) = report.hunks
    assert (hunk.risk.level, hunk.risk.factors[0].code) == ("high", "STATEMENT-CONTRADICTED")


def test_a_message_is_about_its_own_commit(tmp_path: Path) -> None:
    judged = a_judged(tmp_path, message=None)
    third = judged.built.commit(
        {b"a.py": b"x = 1\n", b"README.md": b"Read it.\n"},
        judged.second,
        at=judged.noon + 60,
        message=b"Only docs changed",
    )
    fourth = judged.built.commit(
        {b"a.py": b"x = 1\n", b"README.md": b"Read it twice.\n"},
        third,
        at=judged.noon + 90,
        message=b"Only docs changed",
    )
    report = review_change(judged.workspace, ReviewRequest(change=f"{judged.base}..{fourth}"))
    assert [(said.source[-12:], said.state) for said in report.statements] == [
        (third[:12], "contradicted"),
        (fourth[:12], "backed"),
    ]


def test_the_gate_counts_statements_only_where_the_base_says_so(tmp_path: Path) -> None:
    judged = a_judged(tmp_path)
    request = GateRequest(change=f"{judged.base}..{judged.second}")
    assert not [code for code in codes(gate(judged.workspace, request)) if code.startswith("STATEMENT")]
    own = judged.built.commit({b"custody.toml": b'[gate]\nstatements = "on"\n'}, judged.second, at=judged.noon + 60)
    head_only = gate(judged.workspace, GateRequest(change=f"{judged.base}..{own}"))
    assert not [code for code in codes(head_only) if code.startswith("STATEMENT")]


def test_the_gate_has_a_reason_for_each_statement_where_it_is_on(tmp_path: Path) -> None:
    judged = Judged(tmp_path / "repository", message=TEXT)
    rules = {b"a.py": b"one = first(1)\ntwo = second(2)\n", b"custody.toml": b'[gate]\nstatements = "on"\n'}
    judged.base = judged.built.commit(rules, judged.first, at=judged.noon - 3600)
    judged.edit()
    report = judged.said()
    assert codes(report).count("STATEMENT-UNBACKED") == 2
    assert "statements" in report.checks


def test_statements_are_in_the_json(tmp_path: Path) -> None:
    judged = a_judged(tmp_path)
    shown = json.loads(custody(judged.built.path, "review", f"{judged.base}..{judged.second}", "--json").out)
    assert [said["state"] for said in shown["statements"]] == ["unbacked", "unbacked"]
