"""What a worker and its bridge say to each other: JSON, one message on a line, read strictly on our side."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.wire.canonical import parse, problem

TraceId = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)")]
ParentId = Annotated[str, Meta(min_length=1, max_length=200)]
CallName = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$(?!\n)")]
ProblemText = Annotated[str, Meta(max_length=4000)]


class RpcCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="rpc_call"):
    """The worker wants a tool called."""

    id: int
    server: CallName
    tool: CallName
    args: dict[str, Any]
    parent_trace_id: ParentId | None


class CapabilityStart(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="capability_start"
):
    """A capability began in the worker."""

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
    """What a tool gave."""

    id: int
    success: bool
    result: Any = None
    error: str | None = None


class Task(msgspec.Struct, frozen=True, tag_field="type", tag="run"):
    """What a worker is to run."""

    code: str
    file: str
    context: Any
    capabilities: dict[str, str]


def parse_child_message(line: bytes) -> ChildMessage:
    """One message of a worker, or an ``InputError``."""
    if not line.endswith(b"\n"):
        raise InputError("a message without an end, or longer than any may be")
    try:
        said: ChildMessage = msgspec.convert(parse(line), ChildMessage)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"not a message of a worker: {problem(error)}") from error
    return said


def write(message: RpcResult | Task) -> bytes:
    """A message to a worker, on one line; an ``InputError`` when it holds what is no JSON."""
    try:
        return msgspec.json.encode(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"no JSON: {str(error)[:300]}") from error


# What a tool gave, as plain JSON: a client's own answer, or what is in the answer of an MCP server.


class ToolFailed(Exception):
    """The tool itself says that it failed."""


def plain_result(answer: Any) -> Any:
    """The value in an answer; an MCP answer that is an error raises ``ToolFailed`` with its words."""
    content = getattr(answer, "content", None)
    if not isinstance(content, list):
        return answer
    texts = [str(block.text) for block in content if hasattr(block, "text")]
    if _either(answer, "is_error", "isError"):
        raise ToolFailed("\n".join(texts) or "the tool failed without a word")
    structured = _either(answer, "structured_content", "structuredContent")
    if isinstance(structured, dict):
        # A server that gives no object is obliged to put it into one of this name.
        return structured["result"] if set(structured) == {"result"} else structured
    return texts[0] if len(texts) == 1 else texts


def _either(answer: Any, name: str, other: str) -> Any:
    """A field of an MCP answer, under its name in this version of the SDK or in the one before."""
    return getattr(answer, name, getattr(answer, other, None))
