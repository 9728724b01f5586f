"""Which sources a call of one of Copilot's tools opened, listed or tried to open, and how each was read.

Each tool's answer is put into the shape that ``sources`` reads, so that the same reading means the same everywhere.
What a tool shows of a file has numbers or words of its own in it, so that it is not kept as the file's text.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Any

from custody.capture.agents.claude.sources import LISTED_MAX, MCP, reads
from custody.capture.agents.claude.tool_calls import Done
from custody.capture.agents.codex import sources as codex_sources
from custody.capture.agents.codex.tool_calls import BASH, Answer
from custody.capture.typed_field import fields, items, string
from custody.core.views import Reading, SourceRead

SERVERS = "mcp_"
"""How the names of servers' tools begin in VS Code."""

_LINES = re.compile(r"Lines (\d{1,9}) to (\d{1,9}) \((\d{1,9}) lines total\)")
_MATCH = re.compile(r'<match path="([^"\n]+)"')
_LINK = re.compile(r"\[(?P<title>[^\]\n]*)\]\((?P<url>https?://[^\s()]+)\)")


def sources(done: Done, answer: Answer, folder: str | None) -> Iterator[SourceRead]:
    """The sources that a finished call opened, listed or tried to open; ``folder`` is where a command was run."""
    read = SOURCES.get(done.tool)
    if done.tool == BASH:
        yield from codex_sources.sources(replace(done, failed=answer.failed), answer, folder)
    elif read is not None:
        yield from (one for one in read(done) if not _is_folder(one.locator, folder))
    elif done.tool.startswith(SERVERS):
        yield from reads(replace(done, tool=f"{MCP}{done.tool.removeprefix(MCP)}"))


def _is_folder(name: str, folder: str | None) -> bool:
    """Whether a name is that of the folder in which the agent works, or of one above it: what it lists is no source."""
    return folder is not None and f"{folder}/".startswith(f"{name.rstrip('/')}/")


def _file(done: Done) -> Iterator[SourceRead]:
    given = done.input
    name = next((given[key] for key in ("path", "filePath", "file_path") if isinstance(given.get(key), str)), None)
    shown = _LINES.search(done.words[:1000])
    file: dict[str, Any] = {}
    if shown is not None:
        first, last, total = map(int, shown.groups())
        file = {"numLines": last - first + 1, "totalLines": total}
    asked = [given.get(key) for key in ("view_range", "startLine", "endLine", "offset", "limit")]
    some = True if any(one is not None for one in asked) else None
    yield from reads(_as(done, "Read", {"file_path": name, "limit": some}, {"file": file}))


def _edited(done: Done) -> Iterator[SourceRead]:
    """The editor of older versions also shows files."""
    if done.input.get("command") == "view":
        yield from _file(done)


def _pages(done: Done) -> Iterator[SourceRead]:
    """The pages that were asked for; what came of them was picked or cut."""
    given = [done.input.get("url"), *items(done.input.get("urls"))]
    urls = list(dict.fromkeys(url for url in given if isinstance(url, str)))[:LISTED_MAX]
    for n, url in enumerate(urls):
        for one in reads(_as(done, "WebFetch", {"url": url}, {"url": url})):
            kept = replace(one, id=f"{done.call}:{n}", text=one.text if len(urls) == 1 else None)
            picked = kept.reading is Reading.SUMMARISED
            yield replace(kept, reading=Reading.EXCERPT) if picked else kept


def _search(done: Done) -> Iterator[SourceRead]:
    hits = [{"title": match["title"], "url": match["url"]} for match in islice(_LINK.finditer(done.words), LISTED_MAX)]
    yield from reads(_as(done, "WebSearch", done.input, {"results": [{"content": hits}]}))


def _grep(done: Done) -> Iterator[SourceRead]:
    named = dict.fromkeys(match[1] for match in islice(_MATCH.finditer(done.words), LISTED_MAX * 100))
    shown = "".join(f"{name}:1:\n" for name in named) or done.words
    path = string(done.input.get("path"))
    yield from reads(_as(done, "Grep", {} if path is None else {"path": path}, {"content": shown}))


def _as(done: Done, tool: str, given: Mapping[str, Any], response: Mapping[str, Any]) -> Done:
    return replace(done, tool=tool, input=fields(dict(given)), response=fields(dict(response)))


SOURCES: Mapping[str, Callable[[Done], Iterator[SourceRead]]] = MappingProxyType(
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
