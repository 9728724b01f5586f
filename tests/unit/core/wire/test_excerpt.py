"""Large outputs are cut, edits never."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.ids import EventId
from custody.core.wire.arrival import arrival_from_bytes
from custody.core.wire.body import KEPT_BYTES, OUTPUT_BYTES_MAX, trim_event_output
from tests.builders.events import an_event


def a_hook(tool: str, response: Any) -> dict[str, Any]:
    return {"kind": "hook", "payload": {"tool_name": tool, "tool_response": response}}


@pytest.mark.parametrize("size", [OUTPUT_BYTES_MAX, OUTPUT_BYTES_MAX + 1])
def test_the_limit_itself_is_kept_whole(size: int) -> None:
    out: Any = trim_event_output(a_hook("Bash", {"stdout": "x" * size}))
    stdout = out["payload"]["tool_response"]["stdout"]
    assert (stdout == "x" * size) is (size == OUTPUT_BYTES_MAX)


def test_head_tail_size_and_digest_stay() -> None:
    text = "a" * 50_000 + "b" * 50_000
    out: Any = trim_event_output(a_hook("Read", {"file": {"content": text}}))
    kept = out["payload"]["tool_response"]["file"]["content"]
    assert kept.startswith("a" * KEPT_BYTES + "\n[custody left out 83,616 bytes here; the whole was sha256:")
    assert kept.endswith("]\n" + "b" * KEPT_BYTES)


@pytest.mark.parametrize("tool", ["Edit", "Write", "apply_patch"])
def test_edits_are_kept_whole(tool: str) -> None:
    event = a_hook(tool, {"originalFile": "x" * 200_000})
    assert trim_event_output(event) == event


@given(st.text(min_size=1, max_size=50), st.integers(1_000, 6_000))
def test_cutting_twice_is_cutting_once(words: str, times: int) -> None:
    text = words * times
    once = trim_event_output({"kind": "call", "output": [text, {"a": text}]})
    assert trim_event_output(once) == once


def test_generic_outputs_and_sources_are_cut_on_arrival() -> None:
    for kind, field in (("call", "output"), ("source_read", "text")):
        arrival = arrival_from_bytes(EventId("e"), an_event(kind, **{field: "x" * 100_000}))
        assert sum(map(len, arrival.texts.values())) < 20_000
    whole = arrival_from_bytes(EventId("e"), an_event("edit", after="x" * 100_000))
    assert json.loads(whole.payload)["after"]["$body"]
    assert [len(text) for text in whole.texts.values()] == [100_000]


@pytest.mark.parametrize(
    ("event", "field"),
    [("afterShellExecution", "output"), ("beforeReadFile", "content"), ("postToolUse", "tool_output")],
)
def test_what_cursor_says_a_tool_gave_back_is_cut(event: str, field: str) -> None:
    out: Any = trim_event_output({"kind": "hook", "event": event, "payload": {field: "x" * 100_000}})
    assert len(out["payload"][field]) < 20_000


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("afterFileEdit", {"content": "x" * 100_000, "edits": [{"new_string": "x" * 100_000}]}),
        ("postToolUse", {"tool_name": "Write", "tool_output": "x" * 100_000}),
        ("beforeReadFile", {"output": "x" * 100_000}),
    ],
)
def test_what_may_be_the_text_of_an_edit_is_kept_whole(event: str, fields: dict[str, Any]) -> None:
    whole: dict[str, Any] = {"kind": "hook", "event": event, "payload": fields}
    assert trim_event_output(whole) == whole
