"""``custody why`` as a user sees it."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.builders.cli import custody, spool_of
from tests.builders.events import an_event
from tests.builders.repo import Built, a_repository

OLD = "def total(numbers):\n    return sum(numbers)\n"
NEW = OLD + "def mean(numbers):\n    return total(numbers) / len(numbers)\n"


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


def test_the_chain_is_a_tree_that_reads_without_colour(built: Built) -> None:
    ran = custody(built.path, "why", "a.py:4")
    assert (ran.status, ran.err) == (0, "")
    masked = re.sub(r"A\d", "A#", re.sub(r"\b[0-9a-f]{12}\b", "COMMIT", ran.out)).splitlines()
    assert masked[0] == "a.py:4  A#  return total(numbers) / len(numbers)"
    assert masked[1].startswith("|  an agent's: ")
    assert masked[2:] == [
        "|- commit COMMIT  2026-01-31  A Tester  add a mean",
        "|- call Edit (c1), ok, 2026-01-31 12:00:00 to 12:00:03 UTC",
        "|- inside subagent helper",
        "|- call Task (c0), ok, 2026-01-31 11:59:40 UTC",
        "|- prompt, 2026-01-31 11:59:30 UTC",
        "|    > please add a \\x1b[31mmean",
        "|- sources read before it, the latest first",
        "|    https://example.org/a  verbatim, 2026-01-31 11:59:50 UTC  A page",
        "|- session s1 of robot, m-1, run by ana, since 2026-01-31 11:59:00 UTC",
        "|- nothing was decided about robot yet",
        "|- change COMMIT: nobody looked whether it is there twice ('custody dupes check COMMIT')",
        "`- ends: nothing is missing: the chain ends at what was asked",
    ]


def test_verbose_names_signals_and_records(built: Built) -> None:
    out = custody(built.path, "why", "a.py:4", "-v").out
    assert "content_hash +" in out
    assert out.count("record STORE:") > 4


def test_a_line_without_evidence_never_names_a_person(built: Built) -> None:
    lines = custody(built.path, "why", "a.py:1").out.splitlines()
    assert lines[1] == "|  no evidence, which never means that a person wrote it"
    assert lines[-1].startswith("`- ends: this text is older than anything that was captured; looked since ")


def test_json_names_every_link(built: Built) -> None:
    report = json.loads(custody(built.path, "why", "a.py:4", "--rev", "HEAD", "--json").out)
    assert (report["report"], report["version"], report["line"]) == ("why", 1, 4)
    whats = [link["what"] for link in report["chain"]]
    assert whats == [
        "line",
        "commit",
        "call",
        "subagent",
        "call",
        "prompt",
        "sources",
        "session",
        "standing",
        "change",
        "end",
    ]
    assert report["chain"][0]["attribution"]["class"] == "agent"
    assert report["chain"][5]["named"] is True
    assert report["ends"] == report["chain"][-1]["why"]


@pytest.mark.parametrize("place", ["a.py", "a.py:", "a.py:0", ":3", "a.py:x"])
def test_a_place_that_names_no_line_is_refused(built: Built, place: str) -> None:
    ran = custody(built.path, "why", place)
    assert ran.status == 2
    assert "does not name a line" in ran.err


def test_a_line_or_a_file_that_is_not_there_is_refused(built: Built) -> None:
    assert "'a.py' has no line 99" in custody(built.path, "why", "a.py:99").err
    assert custody(built.path, "why", "none.py:1").status == 2


def test_a_picture_loads_and_runs_nothing(built: Built) -> None:
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
