"""Which sources a call of one of Copilot's tools opened, listed or tried to open, and how each was read.

What a tool shows of a file has numbers or words of its own in it, so that it is not kept as the file's text.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from custody.capture.source_use import (
    LISTED_MAX,
    MATCHES_MAX,
    as_printed,
    code_in,
    file_use,
    match_uses,
    page_use,
    search_uses,
    server_uses,
    shown_text,
)
from custody.capture.tool_use import SourceUse, ToolUse
from custody.capture.typed_field import first_string, get_string, items, text
from custody.core.views import Reading

SERVERS = "mcp_"
"""How the names of servers' tools begin in VS Code."""
PATHS = ("path", "filePath", "file_path")
PARTS = ("view_range", "startLine", "endLine", "offset", "limit")
"""What a call says that reads some of a file's lines."""

_LINES = re.compile(r"Lines (\d{1,9}) to (\d{1,9}) \((\d{1,9}) lines total\)")
_MATCH = re.compile(r'<match path="([^"\n]+)"')
_LINK = re.compile(r"\[(?P<title>[^\]\n]*)\]\((?P<url>https?://[^\s()]+)\)")


def opened(use: ToolUse, folder: str | None) -> Iterator[SourceUse | None]:
    """The sources that a call opened, listed or tried to open; ``folder`` is where the agent works."""
    read = SOURCES.get(use.tool)
    if read is not None:
        yield from (source if source and not _is_folder(source.locator, folder) else None for source in read(use))
    elif use.tool.startswith(SERVERS):
        shown = shown_text(use.answer, use.words)
        yield from server_uses(use.tool, use.input, shown, failed=use.failed, error=use.words)


def _is_folder(name: str, folder: str | None) -> bool:
    """Whether a name is that of the folder in which the agent works, or of one above it: a list of files, no source."""
    return folder is not None and f"{folder}/".startswith(f"{name.rstrip('/')}/")


def _file(use: ToolUse) -> Iterator[SourceUse]:
    path = first_string(use.input, PATHS)
    shown = _LINES.search(use.words[:1000])
    whole = all(use.input.get(key) is None for key in PARTS)
    if shown is not None:
        first, last, total = map(int, shown.groups())
        whole = last - first + 1 >= total
    yield from file_use(path, None, whole=whole, failed=use.failed)


def _edited(use: ToolUse) -> Iterator[SourceUse]:
    """The editor of older versions also shows files."""
    if use.input.get("command") == "view":
        yield from _file(use)


def _pages(use: ToolUse) -> Iterator[SourceUse]:
    """The pages that were asked for; what came of them was picked or cut."""
    given = [use.input.get("url"), *items(use.input.get("urls"))]
    urls = list(dict.fromkeys(url for url in given if isinstance(url, str)))[:LISTED_MAX]
    content = text(use.words or None) if len(urls) == 1 else None
    code = code_in(use.words) if use.failed else None
    yield from (page_use(url, Reading.EXCERPT, content, code=code, failed=use.failed) for url in urls)


def _search(use: ToolUse) -> Iterator[SourceUse | None]:
    hits = [match.groupdict() for match in islice(_LINK.finditer(use.words), LISTED_MAX)]
    yield from search_uses(hits, use.words, failed=use.failed)


def _grep(use: ToolUse) -> Iterator[SourceUse | None]:
    names = (match[1] for match in islice(_MATCH.finditer(use.words), MATCHES_MAX))
    yield from match_uses(as_printed(names) or use.words, get_string(use.input.get("path")), failed=use.failed)


SOURCES: Mapping[str, Callable[[ToolUse], Iterator[SourceUse | None]]] = MappingProxyType(
    {
        "Read": _file,
        "read_file": _file,
        "Edit": _edited,
        "WebFetch": _pages,
        "fetch_webpage": _pages,
        "WebSearch": _search,
        "Grep": _grep,
        "grep_search": _grep,
    }
)
