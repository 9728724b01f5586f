"""The messages that a worker may send, and no others."""

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
    encode_worker_message,
    parse_worker_message,
)
from tests.builders.drawn import json_values

ID = "0123456789abcdef"
MESSAGES: dict[str, tuple[dict[str, Any], type]] = {
    "rpc_call": ({"id": 1, "server": "s", "tool": "t", "args": {"a": [1]}, "parent_trace_id": "cap1"}, RpcCall),
    "capability_start": ({"trace_id": ID, "parent_trace_id": None, "name": "c"}, CapabilityStart),
    "capability_end": ({"trace_id": ID, "parent_trace_id": ID, "name": "c", "success": True}, CapabilityEnd),
    "result": ({"success": True, "result": [1, None]}, Result),
}


def line(type_: str, **fields: Any) -> bytes:
    return json.dumps({"type": type_, **MESSAGES[type_][0], **fields}).encode() + b"\n"


@pytest.mark.parametrize("type_", MESSAGES)
def test_every_message_is_read(type_: str) -> None:
    message = parse_worker_message(line(type_))
    assert type(message) is MESSAGES[type_][1]
    assert {name: getattr(message, name) for name in MESSAGES[type_][0]} == MESSAGES[type_][0]


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
def test_an_invalid_message_is_refused(type_: str, fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        parse_worker_message(line(type_, **fields))


def test_a_truncated_message_is_refused() -> None:
    with pytest.raises(InputError, match="incomplete or too long"):
        parse_worker_message(line("result")[:-1])


@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_no_bytes_do_harm(data: bytes) -> None:
    with pytest.raises(InputError):
        parse_worker_message(data + b"\n")


def test_our_messages_are_one_line_of_json() -> None:
    assert b"\n" not in encode_worker_message(Task("a\nb", "f", {}, {"c": "d\n"}))
    for odd in (object(), {1j: 2}, "\udc80"):
        with pytest.raises(InputError):
            encode_worker_message(RpcResult(1, success=True, result=odd))
