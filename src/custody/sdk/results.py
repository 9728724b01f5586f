"""What a tool gave, as plain JSON: a client's own answer, or what is in the answer of an MCP server."""

from typing import Any


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
