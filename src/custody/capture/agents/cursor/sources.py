"""Which sources a call of one of Cursor's tools opened, listed or tried to open, and how each was read."""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from custody.capture.agents.cursor.tool_calls import FETCH, GREP, READ, SEARCH, SHELL, CursorCall, json_in, path_in
from custody.capture.source_use import as_printed, command_uses, file_use, match_uses, search_uses, server_uses
from custody.capture.tool_use import SourceUse
from custody.capture.typed_field import Fields, fields, get_string, items, text

SERVERS = ("MCP:", "mcp-", "mcp_")
"""How the names of servers' tools begin: in hooks, and in the database."""
PARTS = (
    "offset limit start_line_one_indexed end_line_one_indexed_inclusive startLineOneIndexed endLineOneIndexedInclusive"
).split()
"""What a call says that reads some of a file's lines."""


def opened(called: CursorCall) -> Iterator[SourceUse | None]:
    """The sources that the call opened, listed or tried to open."""
    read = SOURCES.get(called.kind or "")
    server = next((mark for mark in SERVERS if called.tool.startswith(mark)), None)
    if read is not None:
        yield from read(called)
    elif server is not None:
        yield from _served(called, called.tool.removeprefix(server), called.given)


def _served(called: CursorCall, tool: str, given: Fields) -> Iterator[SourceUse | None]:
    words = called.answer.words
    yield from server_uses(tool, given, words, failed=called.failed, error=words)


def _shell(called: CursorCall) -> Iterator[SourceUse]:
    command, words = get_string(called.given.get("command")), called.answer.words
    yield from command_uses(command, words, failed=called.failed, error=words)


def _file(called: CursorCall) -> Iterator[SourceUse]:
    asked = any(called.given.get(name) not in (None, 0) for name in PARTS)
    whole = not asked or called.given.get("should_read_entire_file") is True
    yield from file_use(path_in(called.given), text(called.answer.words or None), whole=whole, failed=called.failed)


def _page(called: CursorCall) -> Iterator[SourceUse | None]:
    # The page as text, cut where it is long: how much of it that is, is not said.
    yield from _served(called, FETCH, {"url": called.given.get("url")})


def _search(called: CursorCall) -> Iterator[SourceUse | None]:
    told = _read_output(called)
    hits = items(told.get("references")) or items(told.get("results"))
    if hits:
        yield from search_uses([fields(hit) for hit in hits], called.answer.words, failed=called.failed)
    else:
        yield from _served(called, SEARCH, {})


def _grep(called: CursorCall) -> Iterator[SourceUse | None]:
    shown = as_printed(_matched(_read_output(called))) or called.answer.words
    yield from match_uses(shown, get_string(called.given.get("path")), failed=called.failed)


def _matched(told: Fields) -> Iterator[str]:
    """The files of which the database keeps lines that a search showed, by the folders that were open."""
    for root, found in fields(fields(told.get("success")).get("workspaceResults")).items():
        for hit in map(fields, items(fields(fields(found).get("content")).get("matches"))):
            name = get_string(hit.get("file"))
            if name is not None:
                yield posixpath.normpath(posixpath.join(root, name))


def _read_output(called: CursorCall) -> Fields:
    return called.told if isinstance(called.told, dict) else fields(json_in(get_string(called.told) or ""))


SOURCES: Mapping[str, Callable[[CursorCall], Iterator[SourceUse | None]]] = MappingProxyType(
    {SHELL: _shell, READ: _file, FETCH: _page, SEARCH: _search, GREP: _grep}
)
