"""Which sources a call of one of Gemini CLI's tools opened, listed or tried to open, and how each was read.

Each tool's answer is put into the shape that ``sources`` reads, so that the same reading means the same everywhere.
Shapes are those of ``packages/core/src/tools`` (``read-file.ts``, ``read-many-files.ts``, ``web-fetch.ts``,
``web-search.ts``, ``grep.ts``) at 5411f113 of August 2026, and of 0.9.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Any

from custody.capture.agents.claude.sources import LISTED_MAX, MCP, reads
from custody.capture.agents.claude.tool_calls import Done
from custody.capture.agents.gemini.tool_calls import Called, exit_code, printed
from custody.capture.typed_field import fields, items, string
from custody.core.views import Reading, SourceRead

SERVERS = "mcp_"
"""How the names of servers' tools begin."""
CUT_FILE = "IMPORTANT: The file content has been truncated."
CUT_BELOW = "--- FILE CONTENT (truncated) ---\n"
CUT_AMONG = "[WARNING: This file was truncated"
DISCOVERED = "\n\n--- Newly Discovered Project Context ---"
"""What may stand behind a file's text: context that the program found, not the file."""
END_OF_FILES = "\n--- End of content ---"
MATCHES_MAX = 10_000

_WEB = re.compile(r"https?://\S+", re.IGNORECASE)
_CITED = re.compile(r"^\[\d+\] (?P<title>[^\n]*) \((?P<url>https?://[^\s()]+)\)$", re.MULTILINE)
_SEPARATOR = re.compile(r"^--- ((?:/|[A-Za-z]:[\\/])[^\n]*) ---$", re.MULTILINE)
_REFUSED = re.compile(r"^Request failed with status (\d{3})\b")


def sources(called: Called) -> Iterator[SourceRead]:
    """The sources that the call opened, listed or tried to open."""
    read = SOURCES.get(called.tool)
    if read is not None:
        yield from read(called)
    elif called.tool.startswith(SERVERS):
        yield from reads(_done(called, f"{MCP}{called.tool}", called.given, {}))


def _shell(called: Called) -> Iterator[SourceRead]:
    failed = called.failed or exit_code(called.shown) != 0
    answer = {"stdout": printed(called.shown)}
    yield from reads(replace(_done(called, "Bash", called.given, answer), failed=failed))


def _file(called: Called) -> Iterator[SourceRead]:
    given = called.given
    name = string(given.get("file_path")) or string(given.get("absolute_path")) or string(given.get("path"))
    shown = called.shown.split(DISCOVERED)[0]
    cut = shown.lstrip().startswith(CUT_FILE)
    asked = [given.get(key) for key in ("start_line", "end_line", "offset", "limit")]
    some = True if cut or any(one is not None for one in asked) else None
    content = shown.partition(CUT_BELOW)[2] if cut else shown
    yield from reads(_done(called, "Read", {"file_path": name, "limit": some}, {"file": _content(content)}))


def _files(called: Called) -> Iterator[SourceRead]:
    """Each file between its own separators; what the display lists decides, since files may hold such lines too."""
    listed = [name for name in items(fields(called.display).get("files")) if isinstance(name, str)]
    shown = called.shown.split(DISCOVERED)[0].removesuffix(END_OF_FILES)
    found = [one for one in _SEPARATOR.finditer(shown) if not listed or any(_is(one[1], name) for name in listed)]
    ends = [*(one.start() for one in found[1:]), len(shown)]
    told = [(one[1], shown[one.end() : end].strip("\n")) for one, end in zip(found, ends, strict=False)]
    if not told:
        told = [(name, "") for name in listed]
    for n, (name, content) in enumerate(told[:LISTED_MAX]):
        cut = True if content.startswith(CUT_AMONG) else None
        done = _done(called, "Read", {"file_path": name, "limit": cut}, {"file": _content(content)})
        yield from (replace(one, id=f"{called.call}:{n}") for one in reads(done))


def _is(whole: str, name: str) -> bool:
    return whole == name or whole.endswith((f"/{name}", f"\\{name}"))


def _page(called: Called) -> Iterator[SourceRead]:
    """The pages that the prompt names, summed up by a model; one that is named alone may come as text."""
    direct = string(called.given.get("url"))
    asked = [direct] if direct else (string(called.given.get("prompt")) or "").split()
    urls = list(dict.fromkeys(url for url in asked if _WEB.fullmatch(url)))[:LISTED_MAX]
    refused = _REFUSED.match(called.shown)
    cited = {match["url"] for match in _CITED.finditer(called.shown)}
    for n, url in enumerate(urls):
        answer: dict[str, Any] = {"url": url, "code": int(refused[1])} if refused else {"url": url}
        for one in reads(_done(called, "WebFetch", {"url": url}, answer)):
            named = replace(one, id=f"{called.call}:{n}", text=one.text if len(urls) == 1 else None)
            yield _as_told(named, alone=len(urls) == 1, direct=direct is not None, cited=url in cited)


def _as_told(read: SourceRead, *, alone: bool, direct: bool, cited: bool) -> SourceRead:
    if read.reading is not Reading.SUMMARISED:
        return read
    if direct:
        # The page as text, cut where it is long: how much of it that is, is not said.
        return replace(read, reading=Reading.EXCERPT)
    # Of several pages, the answer cites those that it has something from.
    return read if alone or cited else replace(read, reading=Reading.ATTEMPTED)


def _search(called: Called) -> Iterator[SourceRead]:
    hits = [{"title": match["title"], "url": match["url"]} for match in _CITED.finditer(called.shown)]
    yield from reads(_done(called, "WebSearch", called.given, {"results": [{"content": hits}]}))


def _grep(called: Called) -> Iterator[SourceRead]:
    matches = islice(map(fields, items(fields(called.display).get("matches"))), MATCHES_MAX)
    names = [string(one.get("absolutePath")) or string(one.get("filePath")) for one in matches]
    passages = "".join(f"{name}:1:\n" for name in dict.fromkeys(names) if name)
    yield from reads(_done(called, "Grep", {}, {"content": passages}))


def _content(said: str) -> dict[str, Any]:
    return {"content": said} if said else {}


def _done(called: Called, tool: str, given: Mapping[str, Any], response: Mapping[str, Any]) -> Done:
    return Done(
        agent=called.agent,
        session=called.session,
        call=called.call,
        at_ns=called.at_ns,
        tool=tool,
        input=given,
        response=response,
        revision=called.revision,
        words=called.shown,
        failed=called.failed,
        locate=called.locate,
    )


SOURCES: Mapping[str, Callable[[Called], Iterator[SourceRead]]] = MappingProxyType(
    {
        "run_shell_command": _shell,
        "read_file": _file,
        "read_many_files": _files,
        "web_fetch": _page,
        "google_web_search": _search,
        "grep_search": _grep,
        "search_file_content": _grep,
    }
)
