"""Which sources a call of one of Cursor's tools opened, listed or tried to open, and how each was read.

Each tool's answer is put into the shape that ``sources`` reads, so that the same reading means the same everywhere.
"""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from custody.capture.agents.claude.sources import MCP, reads
from custody.capture.agents.cursor.tool_calls import FETCH, GREP, READ, SEARCH, SHELL, Called, json_in, path_in
from custody.capture.typed_field import Fields, fields, items, string
from custody.core.views import SourceRead

SERVERS = ("MCP:", "mcp-", "mcp_")
"""How the names of servers' tools begin: in hooks, and in the database."""
PARTS = (
    "offset limit start_line_one_indexed end_line_one_indexed_inclusive startLineOneIndexed endLineOneIndexedInclusive"
).split()
"""What a call says that reads some of a file's lines."""


def sources(called: Called) -> Iterator[SourceRead]:
    """The sources that the call opened, listed or tried to open."""
    read = SOURCES.get(called.kind or "")
    server = next((mark for mark in SERVERS if called.tool.startswith(mark)), None)
    if read is not None:
        yield from read(called)
    elif server is not None:
        yield from reads(called.done(f"{MCP}{called.tool.removeprefix(server)}", called.given, {}))


def _shell(called: Called) -> Iterator[SourceRead]:
    yield from reads(called.done("Bash", called.given, {"stdout": called.answer.words}))


def _file(called: Called) -> Iterator[SourceRead]:
    asked = any(called.given.get(name) not in (None, 0) for name in PARTS)
    if called.given.get("should_read_entire_file") is True:
        asked = False
    file: dict[str, Any] = {"content": called.answer.words} if called.answer.words else {}
    given = {"file_path": path_in(called.given), "limit": True if asked else None}
    yield from reads(called.done("Read", given, {"file": file}))


def _page(called: Called) -> Iterator[SourceRead]:
    # The page as text, cut where it is long: how much of it that is, is not said.
    yield from reads(called.done(f"{MCP}cursor__fetch", {"url": called.given.get("url")}, {}))


def _search(called: Called) -> Iterator[SourceRead]:
    told = _told(called)
    hits = items(told.get("references")) or items(told.get("results"))
    if hits:
        yield from reads(called.done("WebSearch", called.given, {"results": [{"content": hits}]}))
    else:
        yield from reads(called.done(f"{MCP}cursor__search", {}, {}))


def _grep(called: Called) -> Iterator[SourceRead]:
    shown = "".join(f"{name}:1:\n" for name in dict.fromkeys(_matched(_told(called)))) or called.answer.words
    yield from reads(called.done("Grep", {"path": called.given.get("path")}, {"content": shown}))


def _matched(told: Fields) -> Iterator[str]:
    """The files of which the database keeps lines that a search showed, by the folders that were open."""
    for root, found in fields(fields(told.get("success")).get("workspaceResults")).items():
        for hit in map(fields, items(fields(fields(found).get("content")).get("matches"))):
            name = string(hit.get("file"))
            if name is not None:
                yield posixpath.normpath(posixpath.join(root, name))


def _told(called: Called) -> Fields:
    return called.told if isinstance(called.told, dict) else fields(json_in(string(called.told) or ""))


SOURCES: Mapping[str, Callable[[Called], Iterator[SourceRead]]] = MappingProxyType(
    {SHELL: _shell, READ: _file, FETCH: _page, SEARCH: _search, GREP: _grep}
)
