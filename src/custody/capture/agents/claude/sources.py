"""Which sources a call of one of Claude Code's tools opened, listed or tried to open, and how each was read.

Hooks and transcripts give the same input and the same answer of a call, so both are read here, and here only.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from custody.capture.source_use import (
    MCP,
    code_in,
    command_uses,
    file_use,
    match_uses,
    page_use,
    search_uses,
    server_uses,
    shown_text,
)
from custody.capture.tool_use import SourceUse, ToolUse
from custody.capture.typed_field import Fields, fields, get_int, get_string, items, text
from custody.core.views import Reading

MCP_INPUT = ("url", "urls", "uri", "query")
"""What is kept of the input of tools that we know nothing else of."""


def opened(use: ToolUse) -> Iterator[SourceUse | None]:
    """The sources that the call opened, listed or tried to open."""
    read = READS.get(use.tool)
    if read is not None:
        yield from read(use)
    elif use.tool.startswith(MCP):
        shown = shown_text(use.answer, use.words)
        yield from server_uses(use.tool, use.input, shown, failed=use.failed, error=_error(use))


def input_needed(tool: str, given: Fields) -> Fields | None:
    """As much of a call's input as ``opened`` asks for; None where it asks for nothing."""
    if tool == "Bash":
        return {"command": given.get("command")}
    if tool in READS:
        return given
    asked = {name: given[name] for name in MCP_INPUT if name in given} if tool.startswith(MCP) else {}
    return asked or None


def _read(use: ToolUse) -> Iterator[SourceUse]:
    file = fields(use.response.get("file"))
    shown, total = file.get("numLines"), file.get("totalLines")
    whole = all(use.input.get(name) is None for name in ("offset", "limit", "pages"))
    if isinstance(shown, int) and isinstance(total, int):
        whole = shown >= total
    path = get_string(file.get("filePath") or use.input.get("file_path"))
    yield from file_use(path, text(file.get("content")), whole=whole, failed=use.failed)


def _fetch(use: ToolUse) -> Iterator[SourceUse]:
    url, code = get_string(use.response.get("url") or use.input.get("url")), get_int(use.response.get("code"))
    if code is None:
        code = code_in(_error(use)) if use.failed else None
    if url is not None:
        # What comes back is a summary that a model wrote, not the page.
        content = text(use.response.get("result")) or text(use.words or None)
        yield page_use(url, Reading.SUMMARISED, content, code=code, failed=use.failed)


def _search(use: ToolUse) -> Iterator[SourceUse | None]:
    # A subagent's own file has no structured answers, only what its model was shown.
    hits = [hit for result in items(use.response.get("results")) for hit in items(fields(result).get("content"))]
    yield from search_uses([fields(hit) for hit in hits], use.words, failed=use.failed)


def _grep(use: ToolUse) -> Iterator[SourceUse | None]:
    printed, names = get_string(use.response.get("content")) or "", items(use.response.get("filenames"))
    yield from match_uses(printed, get_string(use.input.get("path")), names, failed=use.failed)


def _bash(use: ToolUse) -> Iterator[SourceUse]:
    printed, stopped = get_string(use.response.get("stdout")) or "", use.response.get("interrupted") is True
    command = get_string(use.input.get("command"))
    yield from command_uses(command, printed, failed=use.failed, error=_error(use), stopped=stopped)


def _error(use: ToolUse) -> str:
    return f"{use.words}\n{get_string(use.response.get('stderr')) or ''}"


READS: Mapping[str, Callable[[ToolUse], Iterator[SourceUse | None]]] = MappingProxyType(
    {"Read": _read, "WebFetch": _fetch, "WebSearch": _search, "Grep": _grep, "Bash": _bash}
)
