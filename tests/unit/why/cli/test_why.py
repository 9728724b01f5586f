"""``custody why`` as a user sees it."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from custody.terminal.screen import Screen, text_columns
from custody.why.cli import _quote_why_prompt, render_why
from custody.why.why import why
from custody.workspace.workspace import Workspace
from tests.builders import cli
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

OLD = "def total(numbers):\n    return sum(numbers)\n"
NEW = OLD + "def mean(numbers):\n    return total(numbers) / len(numbers)\n"

LATER_NS = 1_800_000_000 * 10**9


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repository")
    made.commit({b"a.py": OLD.encode()}, at=1_767_000_000)
    spool = spool_of(made.path)
    spool.put(an_event("session", at="2026-01-31T11:59:00Z", operator="ana"))
    spool.put(an_event("prompt", id="p1", at="2026-01-31T11:59:30Z", text="please  add\na \x1b[31mmean"))
    spool.put(an_event("call", id="c0", name="Task", at="2026-01-31T11:59:40Z", prompt="p1"))
    spool.put(an_event("call", id="c1", parent="c0", subagent="helper", ended_at="2026-01-31T12:00:03Z"))
    spool.put(an_event("source_read", id="r1", at="2026-01-31T11:59:50Z", title="A page", call="c9"))
    spool.put(an_event("edit", id="e1", call="c1", path="a.py", before=OLD, after=NEW, head=made.head()))
    made.commit({b"a.py": NEW.encode()}, made.head(), at=1_769_862_000, message=b"add a mean")
    made.checkout()
    return made


def short_commit(built: Built) -> str:
    return built.head()[:7]


def test_a_line_is_explained_in_sentences(built: Built) -> None:
    ran = cli.custody(built.path, "why", "a.py:4")  # one real start
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "a.py:4",
        "    return total(numbers) / len(numbers)",
        "",
        "robot wrote this line on 2026-01-31 because ana asked:",
        "",
        "  “please add a \\x1b[31mmean”",
        "",
        "  read        https://example.org/a",
        "  wrote       Edit at 2026-01-31 12:00, m-1, in subagent helper",
        f"  committed   {short_commit(built)} add a mean, by A Tester on 2026-01-31",
        "  trust       robot: no reviews yet",
        f"  duplicates  not checked (run custody dupes check {built.head()[:12]})",
        "",
        "Likely: imported, not recorded live, exactly the same text, edited on top of the commit's parent.",
        "hint: -v shows all evidence; custody log s1 shows the session",
    ]


def explained(built: Built, location: int, screen: Screen) -> list[str]:
    report = why(Workspace(built.path), "a.py", location)
    return [screen.render(line) for line in render_why(report, {"s1": "s1"}, screen, LATER_NS, verbose=False)]


def test_a_narrow_terminal_wraps_and_cuts(built: Built) -> None:
    assert explained(built, 4, Screen(columns=40, rows=24, is_terminal=True)) == [
        "a.py:4",
        "    return total(numbers) / len(numbers)",
        "",
        "robot wrote this line on 2026-01-31",
        "because ana asked:",
        "",
        "  “please add a \\x1b[31mmean”",
        "",
        "  read        https://example.org/a",
        "  wrote       Edit at 2026-01-31 12:00,…",
        f"  committed   {short_commit(built)} add a mean, by A…",
        "  trust       robot: no reviews yet",
        "  duplicates  not checked (run custody…",
        "",
        "Likely: imported, not recorded live,",
        "exactly the same text, edited on top of",
        "the commit's parent.",
        "hint: -v shows all evidence; custody lo…",
    ]


def test_agents_people_and_labels_are_colored(built: Built) -> None:
    lines = explained(built, 4, Screen(columns=80, rows=24, is_terminal=True, has_color=True))
    assert lines[0] == "\x1b[1ma.py:4\x1b[0m"
    assert lines[3] == "\x1b[35mrobot\x1b[0m wrote this line on 2026-01-31 because \x1b[1mana\x1b[0m asked:"
    assert lines[5] == "  “please add a \\x1b[31mmean”"
    assert lines[9] == f"  \x1b[2mcommitted   \x1b[0m{short_commit(built)} add a mean, by A Tester"
    assert lines[-3].startswith("Likely: imported, not recorded live, exactly the same text, edited on top")
    assert lines[-1].startswith("\x1b[2mhint: ")


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("line", [1, 4])
def test_no_line_is_wider_than_the_terminal(built: Built, columns: int, line: int) -> None:
    spool_of(built.path).put(
        an_event("prompt", id="p1", at="2026-01-31T11:59:30Z", text=f"{'x' * 150} and {'many words ' * 300}")
    )
    lines = explained(built, line, Screen(columns=columns, rows=24, is_terminal=True))
    assert max(map(text_columns, lines)) <= columns


def test_a_long_prompt_is_cut_on_a_terminal_only() -> None:
    prompt = "some words " * 500
    terminal = list(_quote_why_prompt(prompt, Screen(columns=80, is_terminal=True)))
    assert len(terminal) == 12
    assert str(terminal[-1]).endswith("…”")
    piped = list(_quote_why_prompt(prompt, Screen()))
    assert " ".join(str(line).strip() for line in piped) == f"“{prompt.strip()}”"


def test_without_a_known_person_the_prompt_has_no_author(tmp_path: Path) -> None:
    made = a_repository(tmp_path / "repository")
    made.commit({b"a.py": OLD.encode()}, at=1_767_000_000)
    spool = spool_of(made.path)
    spool.put(an_event("prompt", agent="claude-code", at="2026-01-31T11:59:30Z", text="add a mean"))
    spool.put(an_event("call", id="c1", agent="claude-code"))
    spool.put(an_event("edit", agent="claude-code", call="c1", path="a.py", before=OLD, after=NEW, head=made.head()))
    made.checkout()
    (made.path / "a.py").write_text(NEW)
    lines = custody(made.path, "why", "a.py:4").out.splitlines()
    assert lines[3:6] == ["Claude Code wrote this line on 2026-01-31 for this prompt:", "", "  “add a mean”"]
    assert "  committed   not yet" in lines
    assert lines[-2].endswith(", the prompt is the last one before the call.")


def test_a_prompt_that_is_gone_is_named_as_the_gap(built: Built) -> None:
    assert custody(built.path, "erase", "2", "--reason", "a name", "--yes").status == 0
    lines = custody(built.path, "why", "a.py:4").out.splitlines()
    assert lines[3] == "robot wrote this line on 2026-01-31; the prompt 'p1' was erased."
    assert "please" not in "\n".join(lines)


def test_verbose_adds_the_whole_chain(built: Built) -> None:
    out = custody(built.path, "why", "a.py:4", "-v").out
    assert "content_hash +" in out
    assert out.count("record STORE:") > 4
    masked = re.sub(r"A\d", "A#", re.sub(r"\b[0-9a-f]{12}\b", "COMMIT", out)).splitlines()
    tree = masked[masked.index("a.py:4  A#  return total(numbers) / len(numbers)") :]
    assert tree[1].startswith("|  agent: ")
    assert [line for line in tree[2:] if " record STORE:" not in line and " +" not in line] == [
        "|- commit COMMIT  2026-01-31  A Tester  add a mean",
        "|- call Edit (c1), ok, 2026-01-31 12:00:00 to 12:00:03 UTC",
        "|- inside subagent helper",
        "|- call Task (c0), ok, 2026-01-31 11:59:40 UTC",
        "|- prompt, 2026-01-31 11:59:30 UTC",
        "|    > please add a \\x1b[31mmean",
        "|- sources read before it, latest first",
        "|    https://example.org/a  verbatim, 2026-01-31 11:59:50 UTC  A page",
        "|- tests: no test run was recorded",
        "|- session s1 of robot, m-1, run by ana, since 2026-01-31 11:59:00 UTC",
        "|- robot: no reviews yet",
        "|- change COMMIT: not checked for duplicates (run `custody dupes check COMMIT`)",
        "`- complete: traced back to the prompt",
        "hint: custody log s1 shows the session",
    ]


def test_a_line_without_evidence_never_names_a_person(built: Built) -> None:
    lines = custody(built.path, "why", "a.py:1").out.splitlines()
    assert lines[:4] == ["a.py:1", "    def total(numbers):", "", "unknown author (no evidence either way)"]
    assert lines[5].startswith("  committed   ")
    start = "Unknown: this text is older than anything that was captured; searched "
    assert re.fullmatch(re.escape(start) + r"1 snapshot and \d commits? since \d{4}-\d\d-\d\d\.", lines[-2])
    assert lines[-1] == "hint: -v shows all evidence; custody import adds past sessions of agents"


def test_json_names_every_link(built: Built) -> None:
    report = json.loads(custody(built.path, "why", "a.py:4", "--rev", "HEAD", "--json").out)
    assert (report["report"], report["version"], report["line"]) == ("why", 1, 4)
    kinds = [link["what"] for link in report["chain"]]
    assert kinds == [
        "line",
        "commit",
        "call",
        "subagent",
        "call",
        "prompt",
        "sources",
        "tests",
        "session",
        "standing",
        "change",
        "end",
    ]
    assert report["chain"][0]["attribution"]["class"] == "agent"
    assert report["chain"][5]["named"] is True
    assert report["ends"] == report["chain"][-1]["why"]


@pytest.mark.parametrize("location", ["a.py", "a.py:", "a.py:0", ":3", "a.py:x"])
def test_an_invalid_location_is_rejected(built: Built, location: str) -> None:
    ran = custody(built.path, "why", location)
    assert ran.status == 2
    assert f"error: invalid location '{location}'" in ran.err


def test_a_missing_line_or_file_is_rejected(built: Built) -> None:
    assert "'a.py' has no line 99" in custody(built.path, "why", "a.py:99").err
    assert custody(built.path, "why", "none.py:1").status == 2


def test_an_svg_loads_and_runs_nothing(built: Built) -> None:
    ran = custody(built.path, "why", "a.py:4", "--svg")
    assert ran.status == 0
    root = ElementTree.fromstring(ran.out)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "style", "defs", "marker", "path", "rect", "text"}
    words = [element.text or "" for element in root.iter() if element.tag.endswith("}text")]
    assert "prompt" in words and any("please add a" in word for word in words)
    assert not any("\x1b" in word for word in words)
    assert custody(built.path, "why", "a.py:4", "--svg").out == ran.out
    assert custody(built.path, "why", "a.py:4", "--svg", "--json").status == 2


def test_a_call_that_weakened_a_line_is_named_with_the_removed_words(tmp_path: Path) -> None:
    made = a_repository(tmp_path / "repository")
    guarded, weak = "if user.is_known and user.may_pay(price):\n", "if user.is_known:\n"
    base = made.commit({b"a.py": guarded.encode()}, at=1_767_000_000)
    spool_of(made.path).put(an_event("edit", id="e1", call="c1", path="a.py", before=guarded, after=weak, head=base))
    commit = made.commit({b"a.py": weak.encode()}, base, at=1_769_862_000)
    made.checkout()
    ran = custody(made.path, "why", "a.py:1")
    assert "removed     call c1 removed 4 words: and user may_pay price" in ran.out
    assert "last change: call c1, +0 -4 words (and user may_pay price)" in custody(made.path, "why", "a.py:1", "-v").out
    person = made.commit({b"a.py": b"if user:\n"}, commit, at=1_769_863_000)
    made.checkout()
    assert f"last change: commit {person[:12]}, +0 -1 word (is_known)" in custody(made.path, "why", "a.py:1", "-v").out
