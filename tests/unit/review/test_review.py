"""``custody review``: what to read in a change, in which order, and what records show about each hunk."""

import json
from pathlib import Path

import pytest

from custody.gate.app.gate import GateRequest, gate
from custody.people.reads import ReadRequest, list_change_reads, record_reads
from custody.review.app.review import ReviewRequest, review_change
from custody.review.cli import render_review
from custody.review.wire import ReviewReport
from custody.server import listener
from custody.terminal.screen import Screen, text_columns
from tests.builders.in_process import custody
from tests.builders.judged import ADDED, NEW, OLD, Judged

HOSTILE = "ignore\x1b[2J \u202eall @team #1 <img src=x> `x`"


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    return Judged(tmp_path / "repository", files={b"auth/login.py": b"def login():\n    pass\n", b"logo.bin": b"\0\1"})


def review(judged: Judged, cards_max: int = 200) -> ReviewReport:
    change = f"{judged.base}..{judged.second}"
    return review_change(judged.workspace, ReviewRequest(change=change, cards_max=cards_max))


def test_without_records_every_hunk_says_what_is_missing(judged: Judged) -> None:
    report = review(judged)
    assert [hunk.path for hunk in report.hunks] == ["auth/login.py", "logo.bin", "a.py"]
    assert [hunk.risk.level for hunk in report.hunks] == ["high", "medium", "medium"]
    login, logo, _ = report.hunks
    assert [factor.code for factor in login.risk.factors] == ["ATTR-UNSEEN", "PATH-RISKY", "TEST-NONE"]
    assert (login.confidence, login.prompt.state, login.prompt.note) == ("unknown", "no-session", "no session recorded")
    assert (logo.lines, logo.note) == (None, "is a binary file")
    assert report.order == [hunk.id for hunk in report.hunks] and len(set(report.order)) == 3


def test_the_card_of_a_recorded_hunk_has_prompt_call_and_certainty(judged: Judged) -> None:
    judged.hook("UserPromptSubmit", -60, {"prompt": f"Add two lines.\n{HOSTILE}"})
    judged.edit()
    hunk = next(hunk for hunk in review(judged).hunks if hunk.path == "a.py")
    assert (hunk.lines.start, hunk.lines.end) == (3, 4) if hunk.lines else False
    assert [(author.kind, author.agent, author.lines) for author in hunk.authors] == [("agent", "claude-code", 2)]
    assert hunk.confidence in ("certain", "strong") and hunk.certainty.startswith("Recorded live")
    assert hunk.prompt.state == "shown" and (hunk.prompt.text or "").startswith("Add two lines.")
    assert [call.number for call in hunk.calls] == [1]
    assert hunk.links.log is not None and hunk.links.why == f"custody why a.py:3 {judged.second[:12]}"


def test_a_card_lists_who_read_the_hunk(judged: Judged) -> None:
    change = f"{judged.base}..{judged.second}"
    record_reads(judged.workspace, ReadRequest(change=change, paths=["a.py"], person="ana"))
    report = review(judged)
    marks = {hunk.path: [(mark.person, mark.assurance) for mark in hunk.read_by] for hunk in report.hunks}
    assert marks == {"auth/login.py": [], "logo.bin": [], "a.py": [("ana", "self-reported")]}
    assert {hunk.id for hunk in report.hunks} == {hunk.id for hunk in list_change_reads(judged.workspace, change).hunks}
    shown = custody(judged.built.path, "review", change).out
    assert shown.count("ana, 2023-11-14 (self-reported)") == 1


def test_the_verdict_is_that_of_the_gate(judged: Judged) -> None:
    judged.edit()
    verdict = gate(judged.workspace, GateRequest(change=f"{judged.base}..{judged.second}", budget="look"))
    report = review(judged)
    assert (report.verdict, report.reasons, report.added) == (verdict.level, verdict.reasons, verdict.added)
    assert len(report.summary) <= 120


def test_hunks_without_a_card_keep_their_place(judged: Judged) -> None:
    judged.edit()
    every, some = review(judged), review(judged, cards_max=1)
    assert some.order == every.order
    assert [hunk.has_card for hunk in some.hunks] == [True, False, False]
    assert any("have prompts" in note for note in some.notes)


@pytest.mark.parametrize("columns", [80, 120])
def test_a_review_fits_the_terminal(judged: Judged, columns: int) -> None:
    judged.hook("UserPromptSubmit", -60, {"prompt": HOSTILE * 100})
    judged.edit()
    screen = Screen(columns=columns, rows=24, is_terminal=True)
    lines = [screen.render(line) for line in render_review(review(judged), screen, "main..HEAD", verbose=True)]
    assert max(map(text_columns, lines)) <= columns
    assert not any("\x1b" in line or "\u202e" in line for line in lines)


def test_the_command_shows_the_outcome_first_and_prints_json(judged: Judged) -> None:
    ran = custody(judged.built.path, "review", f"{judged.base}..{judged.second}")
    assert (ran.status, ran.out.splitlines()[0][:14]) == (0, "! NEEDS REVIEW")
    report = json.loads(custody(judged.built.path, "review", f"{judged.base}..{judged.second}", "--json").out)
    assert {"verdict", "summary", "order", "hunks"} <= set(report)
    fields = {"path", "lines", "authors", "confidence", "prompt", "calls", "sources", "tests", "duplicates", "risk"}
    assert fields <= set(report["hunks"][0])


def test_uncommitted_changes_are_reviewed_without_an_argument(judged: Judged) -> None:
    (judged.built.path / "a.py").write_text(NEW + ADDED.replace("alpha", "omega"))
    ran = custody(judged.built.path, "review")
    assert "  the work tree  +2 in 1 file" in ran.out.splitlines()[0]


def test_a_hunk_keeps_its_id_on_another_base(judged: Judged) -> None:
    moved = judged.built.commit({b"a.py": b"zero = 0\n\n\n\n\n\n\n\n" + OLD.encode()}, judged.first)
    again = judged.built.commit({b"a.py": b"zero = 0\n\n\n\n\n\n\n\n" + NEW.encode()}, moved)
    one = next(hunk.id for hunk in review(judged).hunks if hunk.path == "a.py")
    other = review_change(judged.workspace, ReviewRequest(change=f"{moved}..{again}"))
    assert [hunk.id for hunk in other.hunks] == [one]


def test_open_serves_the_page_of_the_change(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, int]] = []
    monkeypatch.setattr(listener, "serve", lambda *_, page, port, **__: opened.append((page, port)))
    change = f"{judged.base[:12]}..main"
    assert custody(judged.built.path, "review", change, "--open").status == 0
    assert opened == [(f"/changes/{judged.base}..{judged.second}", 0)]
    for words in ([], [change, "--format", "markdown"]):
        ran = custody(judged.built.path, "review", *words, "--open")
        assert ran.status == 2 and "--open takes BASE..HEAD" in ran.err
    assert custody(judged.built.path, "review", "nothing..here", "--open").status == 2 and len(opened) == 1
