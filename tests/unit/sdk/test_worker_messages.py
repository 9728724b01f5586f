"""What a worker may say, and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.sdk.worker_messages import (
    CapabilityEnd,
    CapabilityStart,
    Result,
    RpcCall,
    RpcResult,
    Task,
    parse_child_message,
    write,
)
from tests.builders.drawn import json_values

ID = "0123456789abcdef"
SAID: dict[str, tuple[dict[str, Any], type]] = {
    "rpc_call": ({"id": 1, "server": "s", "tool": "t", "args": {"a": [1]}, "parent_trace_id": "cap1"}, RpcCall),
    "capability_start": ({"trace_id": ID, "parent_trace_id": None, "name": "c"}, CapabilityStart),
    "capability_end": ({"trace_id": ID, "parent_trace_id": ID, "name": "c", "success": True}, CapabilityEnd),
    "result": ({"success": True, "result": [1, None]}, Result),
}


def line(type_: str, **fields: Any) -> bytes:
    return json.dumps({"type": type_, **SAID[type_][0], **fields}).encode() + b"\n"


@pytest.mark.parametrize("type_", SAID)
def test_every_message_is_read(type_: str) -> None:
    said = parse_child_message(line(type_))
    assert type(said) is SAID[type_][1]
    assert {name: getattr(said, name) for name in SAID[type_][0]} == SAID[type_][0]


@pytest.mark.parametrize(
    ("type_", "fields"),
    [
        ("rpc_call", {"server": ""}),
        ("rpc_call", {"tool": "a\nb"}),
        ("rpc_call", {"args": [1]}),
        ("rpc_call", {"parent_trace_id": "x" * 201}),
        ("rpc_call", {"more": 1}),
        ("capability_start", {"trace_id": ID.upper()}),
        ("capability_start", {"trace_id": ID + "\n"}),
        ("capability_start", {"name": "x" * 201}),
        ("capability_end", {"success": "yes"}),
        ("capability_end", {"error": "x" * 4001}),
        ("result", {"error": 1}),
    ],
)
def test_what_is_out_of_shape_is_refused(type_: str, fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        parse_child_message(line(type_, **fields))


def test_a_message_that_was_cut_is_refused() -> None:
    with pytest.raises(InputError, match="without an end"):
        parse_child_message(line("result")[:-1])


@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_no_bytes_do_harm(data: bytes) -> None:
    with pytest.raises(InputError):
        parse_child_message(data + b"\n")


def test_what_we_say_is_one_line_of_json() -> None:
    assert b"\n" not in write(Task("a\nb", "f", {}, {"c": "d\n"}))
    for odd in (object(), {1j: 2}, "\udc80"):
        with pytest.raises(InputError):
            write(RpcResult(1, success=True, result=odd))
