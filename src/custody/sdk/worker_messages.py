"""The messages between a worker and its bridge: JSON, one per line, parsed strictly on our side."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.wire.canonical import describe_conversion_error, parse_json_bytes

TraceId = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)")]
ParentId = Annotated[str, Meta(min_length=1, max_length=200)]
CallName = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$(?!\n)")]
ProblemText = Annotated[str, Meta(max_length=4000)]


class RpcCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="rpc_call"):
    """The worker requests a tool call."""

    id: int
    server: CallName
    tool: CallName
    args: dict[str, Any]
    parent_trace_id: ParentId | None


class CapabilityStart(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="capability_start"
):
    """A capability started in the worker."""

    trace_id: TraceId
    parent_trace_id: ParentId | None
    name: CallName


class CapabilityEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="capability_end"):
    """A capability ended in the worker; without success and without error it was left before its end."""

    trace_id: TraceId
    parent_trace_id: ParentId | None
    name: CallName
    success: bool
    error: ProblemText | None = None


class Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="result"):
    """The code has ended."""

    success: bool
    result: Any = None
    error: ProblemText | None = None
    trace: ProblemText | None = None


ChildMessage = RpcCall | CapabilityStart | CapabilityEnd | Result


class RpcResult(msgspec.Struct, frozen=True, tag_field="type", tag="rpc_result"):
    """The result of a tool."""

    id: int
    success: bool
    result: Any = None
    error: str | None = None


class Task(msgspec.Struct, frozen=True, tag_field="type", tag="run"):
    """The task of a worker."""

    code: str
    file: str
    context: Any
    capabilities: dict[str, str]


def parse_worker_message(line: bytes) -> ChildMessage:
    """Parse one message of a worker; raise ``InputError`` if it is invalid."""
    if not line.endswith(b"\n"):
        raise InputError("the message is incomplete or too long")
    try:
        message: ChildMessage = msgspec.convert(parse_json_bytes(line), ChildMessage)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"not a message of a worker: {describe_conversion_error(error)}") from error
    return message


def encode_worker_message(message: RpcResult | Task) -> bytes:
    """Return a message to a worker, on one line; raise ``InputError`` if it is not JSON."""
    try:
        return msgspec.json.encode(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"a value that is not JSON: {str(error)[:300]}") from error


# The result of a tool as plain JSON: a client's own answer, or the content of an MCP server's answer.


class ToolFailed(Exception):
    """The tool itself reports a failure."""


def tool_result_to_plain(answer: Any) -> Any:
    """Return the value of an answer; an MCP answer that is an error raises ``ToolFailed`` with its text."""
    content = getattr(answer, "content", None)
    if not isinstance(content, list):
        return answer
    texts = [str(block.text) for block in content if hasattr(block, "text")]
    if _read_mcp_answer_field(answer, "is_error", "isError"):
        raise ToolFailed("\n".join(texts) or "no error message")
    structured = _read_mcp_answer_field(answer, "structured_content", "structuredContent")
    if isinstance(structured, dict):
        # A server must wrap a result that is not an object in an object of this name.
        return structured["result"] if set(structured) == {"result"} else structured
    return texts[0] if len(texts) == 1 else texts


def _read_mcp_answer_field(answer: Any, name: str, other: str) -> Any:
    """Return a field of an MCP answer, under its name in this version of the SDK or the previous one."""
    return getattr(answer, name, getattr(answer, other, None))
