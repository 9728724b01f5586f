"""Detailed names: what a call is about, and nothing more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.graph.calls import CallInput, CallPlace, calls_from_spans, refine_call_name
from custody.graph.model import Kind, Status
from tests.builders.table import table
from tests.unit.graph.builders import a_span


@table(
    ("command", "name"),
    [
        ("git status", "Bash git status"),
        ("git -C /x log --oneline", "Bash git log"),
        ("cd a && git add .", "Bash git add"),
        ("FOO=1 BAR=2 npm run build", "Bash npm run"),
        ("sudo apt-get install x", "Bash apt-get install"),
        ("timeout 10 cargo test", "Bash cargo test"),
        ("python3 -m pytest -q", "Bash python pytest"),
        ("python3.12 script.py", "Bash python"),
        ("/usr/bin/ls -la", "Bash ls"),
        ("cat x | grep y", "Bash cat"),
        ("cd /x", "Bash cd"),
        ("git", "Bash git"),
        ("git $(x)", "Bash git"),
        ("", "Bash"),
        ("   ;; ", "Bash"),
    ],
)
def test_a_command_is_named_by_program_and_subcommand(command: str, name: str) -> None:
    assert refine_call_name("Bash", CallInput(command=command)) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/b.PY", "Edit .py"), ("Makefile", "Edit"), (".env", "Edit"), ("a.b/c", "Edit"), ("a.tar.gz", "Edit .gz")],
)
def test_a_file_tool_is_named_by_the_extension(path: str, name: str) -> None:
    assert refine_call_name("Edit", CallInput(path=path)) == name


def test_a_tool_of_a_server_keeps_its_server() -> None:
    assert refine_call_name("filesystem:read_file", CallInput(path="a.md")) == "filesystem:read_file .md"


def test_other_tools_keep_their_name() -> None:
    assert refine_call_name("WebSearch", CallInput(command="git push", path="a.py", subagent="x")) == "WebSearch"


@given(st.text(max_size=60))
def test_any_command_has_a_name_on_one_line(command: str) -> None:
    assert "\n" not in refine_call_name("Bash", CallInput(command=command))


def test_calls_of_a_session_are_in_the_order_of_their_starts() -> None:
    spans = [
        a_span("turn", 0, 99, kind=Kind.TURN, session="s", execution="e"),
        a_span("2", 5, 9, name="Read", parent="turn", session="s", execution="e", attributes={"file_path": "x.py"}),
        a_span("1", 3, 4, name="Bash", parent="turn", session="s", execution="e", status=Status.FAILED),
        a_span("3", 5, 9, name="Bash", execution="alone", attributes={"command": "ls", "message": "m", "path": 7}),
        a_span("4", 6, 7, name="model", kind=Kind.LLM, session="s", execution="e"),
    ]
    sessions = calls_from_spans(spans)
    assert [(call.name, call.failed, call.file) for call in sessions["s"]] == [
        ("Bash", True, None),
        ("Read .py", False, "x.py"),
    ]
    assert sessions["s"][0].place == CallPlace("e:turn", "turn")
    (alone,) = sessions["alone"]
    assert (alone.name, alone.node, alone.message, alone.file) == ("Bash ls", "tool:Bash", "m", None)
    assert calls_from_spans(spans, detailed=False)["s"][1].name == "Read"
