"""``custody blame`` as a user runs it: words, fields, JSON, and what it says when it cannot answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.cli import Ran
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.lines import SESSION, Scene, moment, text

OLD = text("import alpha_module", "price = read_price(source)")
LINE = "total = price * count * rate"
NEW = OLD + text("def discount(prices, percent):", f"    {LINE}")
TYPED = OLD + text("def discount(prices, percent):", f"    {LINE} + tax", "typed_by_somebody = 1")

FIELDS = {
    "claims",
    "start_line",
    "end_line",
    "class",
    "share",
    "tier",
    "confidence",
    "score",
    "grade",
    "trace_id",
    "agent",
    "model_id",
    "session_id",
    "tool_call_id",
    "conversation_url",
    "conversation_summary",
    "signals",
    "evidence",
    "commits",
    "reason",
    "searched",
}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A person's file, an agent's two lines in the next commit, and a third commit by hand."""
    made = Scene(tmp_path / "repository")
    base = made.committed(at=-100, app__py=OLD)
    made.edited("app.py", OLD, NEW, at=10, head=base)
    made.saw(
        an_event("session", session=SESSION, model="maker/model-1", at=moment(1)),
        an_event("prompt", session=SESSION, text="add a discount", at=moment(2)),
    )
    second = made.committed(base, at=20, app__py=NEW)
    made.saw(an_event("link", session=SESSION, commit=second, origin="hook", at=moment(21)))
    made.committed(second, at=30, app__py=TYPED)
    return made


def blamed(scene: Scene, *words: str) -> Ran:
    return custody(scene.built.path, "blame", *words)


def report(scene: Scene, *words: str) -> dict[str, Any]:
    ran = blamed(scene, *words, "--json")
    assert (ran.status, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_each_line_has_its_mark_and_the_last_line_sums_up(scene: Scene) -> None:
    ran = blamed(scene, "app.py")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        ".  1 import alpha_module",
        ".  2 price = read_price(source)",
        "A1 3 def discount(prices, percent):",
        "m3 4     total = price * count * rate + tax",
        ".  5 typed_by_somebody = 1",
        "5 line(s): 1 agent, 1 mixed, 3 none (robot); since 2023-11-12",
    ]


def test_verbose_says_why_above_each_stretch(scene: Scene) -> None:
    lines = blamed(scene, "app.py", "-v", "-L", "2,4").out.splitlines()
    assert lines[0].endswith("| no captured edit shows this text")
    assert "| robot, maker/model-1, provably certain (1.0), recorded; session s1" in lines[2]
    assert "| asked: add a discount" in lines[3]
    assert [line.split("|")[1].split(":")[0].strip() for line in lines[4:9]] == [
        "commit_link +40",
        "content_hash +30",
        "revision_parent +15",
        "range_match +10",
        "timestamp_match +5",
    ]
    assert "80% of it, very high (0.95)" in lines[10]
    assert lines[-1] == "3 line(s): 1 agent, 1 mixed, 1 none (robot); since 2023-11-12"


def test_porcelain_is_one_line_of_fields_for_each_line(scene: Scene) -> None:
    rows = [row.split("\t") for row in blamed(scene, "app.py", "--porcelain").out.splitlines()]
    assert [row[:5] for row in rows] == [
        ["1", "none", "0.0", "-", "0.0"],
        ["2", "none", "0.0", "-", "0.0"],
        ["3", "agent", "1.0", "1", "1.0"],
        ["4", "mixed", "0.8", "3", "0.95"],
        ["5", "none", "0.0", "-", "0.0"],
    ]
    assert rows[2][5:10] == ["recorded", "robot", "maker/model-1", "s1", "c10"]
    assert {len(row) for row in rows} == {11}
    assert rows[4][10] == scene.built.head()


def test_json_has_exactly_the_fields_that_are_promised(scene: Scene) -> None:
    found = report(scene, "app.py")
    assert (found["version"], found["report"], found["profile"], found["path"]) == (1, "blame", "lineage", "app.py")
    assert found["rules_digest"].startswith("sha256:")
    assert set(found) == {
        *("version", "report", "outcome", "path", "revision", "profile", "rules_digest", "attributions", "notes"),
    }
    assert {frozenset(one) for one in found["attributions"]} == {frozenset(FIELDS)}
    none, agent, mixed, _ = found["attributions"]
    assert (none["class"], none["tier"], none["confidence"], none["trace_id"]) == ("none", None, 0.0, None)
    assert set(none["searched"]) == {"since", "records", "commits"}
    assert (none["searched"]["commits"], none["searched"]["records"]) == (3, 1)
    assert (agent["class"], agent["tier"], agent["confidence"], agent["score"]) == ("agent", 1, 1.0, 100)
    assert (agent["trace_id"], agent["model_id"], agent["searched"]) == ("robot:s1", "maker/model-1", None)
    assert agent["signals"] == [signal["name"] for signal in agent["evidence"]]
    assert {frozenset(signal) for signal in agent["evidence"]} == {frozenset(("name", "points", "why", "records"))}
    assert all(signal["records"] for signal in agent["evidence"])
    assert (mixed["class"], mixed["share"]) == ("mixed", 0.8)


def test_json_is_the_same_to_the_byte_when_asked_again(scene: Scene) -> None:
    assert blamed(scene, "app.py", "--json").out == blamed(scene, "app.py", "--json").out


@pytest.mark.parametrize(
    ("stretches", "numbers"),
    [(["-L", "3"], [3]), (["-L", "2,3"], [2, 3]), (["-L", "2,+2"], [2, 3]), (["-L", "4,5", "-L", "1"], [1, 4, 5])],
)
def test_lines_may_be_named_in_the_ways_that_git_knows(scene: Scene, stretches: list[str], numbers: list[int]) -> None:
    rows = blamed(scene, "app.py", "--porcelain", *stretches).out.splitlines()
    assert [int(row.split("\t")[0]) for row in rows] == numbers


def test_a_revision_is_answered_as_of_then(scene: Scene) -> None:
    found = report(scene, "app.py", "HEAD~1")
    assert [one["class"] for one in found["attributions"]] == ["none", "agent"]
    assert found["revision"] == scene.built.git("rev-parse", "HEAD~1").decode().strip()


def test_profile_document_is_said_to_be_it(scene: Scene) -> None:
    assert report(scene, "app.py", "--profile", "document")["profile"] == "document"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.py"], "cannot read 'nothing.py'"),
        (["app.py", "no-such-branch"], "cannot find the revision 'no-such-branch'"),
        (["../app.py"], "outside"),
        (["app.py", "-L", "6"], "has only 5 lines"),
        (["app.py", "-L", "0,2"], "is not a stretch of lines"),
        (["app.py", "-L", "3,2"], "is not a stretch of lines"),
        (["app.py", "-L", "2,+0"], "is not a stretch of lines"),
        (["app.py", "-L", "/total/"], "is not a stretch of lines"),
    ],
)
def test_what_is_no_question_is_the_callers_turn(scene: Scene, words: list[str], said: str) -> None:
    ran = blamed(scene, *words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert "hint:" in ran.err
    assert "Traceback" not in ran.err


def test_outside_a_repository_there_is_nothing_to_ask(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x\n")
    ran = custody(tmp_path, "blame", "app.py")
    assert (ran.status, ran.out) == (2, "")
    assert "hint:" in ran.err


def test_a_binary_file_has_no_lines(scene: Scene) -> None:
    scene.wrote("binary.bin", b"a\0b")
    ran = blamed(scene, "binary.bin")
    assert (ran.status, ran.out) == (2, "")
    assert "is a binary file" in ran.err


def test_before_anything_was_captured_the_summary_says_so(tmp_path: Path) -> None:
    made = Scene(tmp_path / "repository").wrote("app.py", "typed_by_somebody = 1\n")
    ran = custody(made.built.path, "blame", "app.py")
    assert (ran.status, ran.out.splitlines()[-1]) == (0, "1 line(s): 1 none; nothing has been captured here")
    assert not (made.built.path / ".git" / "custody").exists(), "asking leaves nothing behind"


def test_an_empty_file_has_no_lines_and_that_is_an_answer(scene: Scene) -> None:
    scene.wrote("empty.py", "")
    assert (blamed(scene, "empty.py").status, blamed(scene, "empty.py").out) == (0, "0 line(s): no lines\n")


def test_what_a_file_holds_cannot_move_the_cursor(scene: Scene) -> None:
    scene.wrote("odd.py", b"one \x1b[2J \xff line\n")
    ran = blamed(scene, "odd.py")
    assert ran.out.splitlines()[0] == ".  1 one \\x1b[2J \\udcff line"
