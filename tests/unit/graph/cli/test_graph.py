"""``custody graph`` as a user sees it."""

import json
from pathlib import Path

import pytest

from custody.core.wire.time import format_timestamp
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.repo import NOON, a_repository

NS = 1_000_000_000


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with three old sessions that read, edited and ran something."""
    path = a_repository(tmp_path).path
    for number in range(3):
        for place, name in enumerate(("Read", "Edit", "Bash")):
            begun, ended = (format_timestamp((NOON + 3600 * number + 10 * place + more) * NS) for more in (0, 1))
            spool_of(path).put(
                an_event("call", id=f"{number}-{place}", session=f"s{number}", at=begun, ended_at=ended, name=name)
            )
    return path


def test_show(repository: Path) -> None:
    ran = custody(repository, "graph", "show")
    assert ran.status == 0
    assert ran.out.startswith("4 nodes, 5 edges, from 3 sessions and executions\n")
    assert "tool:Read → tool:Edit  sequence, observed, 3×\n" in ran.out


def test_a_picture_has_places_colors_and_lines(repository: Path) -> None:
    report = json.loads(custody(repository, "graph", "show", "--json").out)
    elements = report["elements"]
    assert {"x", "y"} == set(elements["elements"]["nodes"][0]["position"])
    style = {rule["selector"]: rule["style"] for rule in elements["style"]}
    assert style["edge.contains"]["line-color"] == "#22c55e"
    assert style["edge.sequence"]["line-color"] == "#FFB86F"
    assert style["edge.dependency"]["line-color"] == "#f5f0ea"
    lines = {source: style[f"edge.{source}"]["line-style"] for source in ("observed", "inferred", "template")}
    assert lines == {"observed": "solid", "inferred": "dashed", "template": "dotted"}


def test_a_session(repository: Path) -> None:
    ran = custody(repository, "graph", "show", "s1")
    assert ran.status == 0 and ran.out == "session\n  Read\n  Edit\n  Bash\nrepaired: 1 no-end\n"
    assert custody(repository, "graph", "show", "--lanes").status == 2
    assert custody(repository, "graph", "show", "unknown").status == 2


def test_a_path(repository: Path) -> None:
    ran = custody(repository, "graph", "path", "Read", "Bash")
    assert (ran.status, ran.out.splitlines()[0]) == (0, "tool:Read → tool:Edit → tool:Bash  cost 4.00")
    back = custody(repository, "graph", "path", "Bash", "Read")
    assert (back.status, back.out) == (1, "no path from tool:Bash to tool:Read\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("related", "Read"), "tool:Bash"),
        (("next", "--after", "Read"), "Edit"),
        (("dag",), "tool:Read"),
        (("diff", "..2023-11-14T22:30:00Z", "2023-11-14T22:30:00Z.."), "differ between"),
    ],
)
def test_other_queries_as_text_and_as_json(repository: Path, arguments: tuple[str, ...], line: str) -> None:
    ran = custody(repository, "graph", *arguments)
    assert ran.status == 0 and line in ran.out
    assert json.loads(custody(repository, "graph", *arguments, "--json").out)["report"] == f"graph-{arguments[0]}"


def test_next_needs_a_session_or_calls_and_not_both(repository: Path) -> None:
    assert custody(repository, "graph", "next").status == 2
    assert custody(repository, "graph", "next", "s1", "--after", "Read").status == 2
