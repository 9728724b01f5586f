"""Which sources a call of one of Claude Code's tools opened, listed or tried to open, and how each was read.

Hooks and transcripts give the same input and the same answer of a call, so both are read here, and here only. What
cannot be told is never guessed: an attempt that did not fail for certain says that nobody knows what it brought.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from types import MappingProxyType

from custody.capture.agents.claude.tool_calls import Done
from custody.capture.shell_sources import Outcome, opened_by
from custody.capture.typed_field import Fields, clean, fields, items, string, text
from custody.core.errors import InputError
from custody.core.views import Reading, SourceRead, Text
from custody.core.wire.canonical import parse

LOCATOR_CHARS_MAX = 4000
LISTED_MAX = 100
"""So many hits of one search are kept; nobody reads on further."""
OUTPUT_CHARS_MAX = 30_000
"""Claude Code shows no more of what a command printed."""
MCP = "mcp__"
MCP_INPUT = ("url", "urls", "uri", "query")
"""What is kept of the input of tools that we know nothing else of."""

_CODE = re.compile(r"(?:status(?: code)?|error|HTTP)[: /\d.]*? ?\b([1-5]\d\d)\b", re.IGNORECASE)
_WEB = re.compile(r"https?://[^\s<>\"'`\\]+", re.IGNORECASE)
_LINKS = re.compile(r"^Links: (\[.*\])$", re.MULTILINE)
_HIT = re.compile(
    r"^(?:Title: *(?P<title>[^\n]*)\n+)?(?:URL|Link): *(?P<url>https?://\S+)$", re.MULTILINE | re.IGNORECASE
)
_GREPPED = re.compile(r"^((?:[A-Za-z]:)?[^:\n]*[^\d:\n][^:\n]*):\d+[:-]", re.MULTILINE)
_NUMBERED = re.compile(r"\d+[:-]")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_OPENING = frozenset("fetch scrape crawl crawling extract read get navigate browse open view visit".split())


def reads(done: Done) -> Iterator[SourceRead]:
    """The sources that the call opened, listed or tried to open."""
    read = READS.get(done.tool)
    if read is not None:
        yield from read(done)
    elif done.tool.startswith(MCP):
        yield from _mcp(done)


def input_needed(tool: str, given: Fields) -> Fields | None:
    """As much of a call's input as ``reads`` asks for; None where it asks for nothing."""
    if tool == "Bash":
        return {"command": given.get("command")}
    if tool in READS:
        return given
    asked = {name: given[name] for name in MCP_INPUT if name in given} if tool.startswith(MCP) else {}
    return asked or None


def _read(done: Done) -> Iterator[SourceRead]:
    file = fields(done.response.get("file"))
    named = string(file.get("filePath") or done.input.get("file_path"))
    shown, total = file.get("numLines"), file.get("totalLines")
    whole = all(done.input.get(name) is None for name in ("offset", "limit", "pages"))
    if isinstance(shown, int) and isinstance(total, int):
        whole = shown >= total
    if named is not None and done.failed:
        yield _failed(done, 0, named)
    elif named is not None:
        yield _source(done, 0, named, Reading.VERBATIM if whole else Reading.EXCERPT, content=text(file.get("content")))


def _fetch(done: Done) -> Iterator[SourceRead]:
    url = string(done.response.get("url") or done.input.get("url"))
    if url is None:
        return
    told = done.response.get("code")
    code = told if isinstance(told, int) and not isinstance(told, bool) else _code_in(done) if done.failed else None
    if done.failed or (code is not None and not 200 <= code < 300):
        # A redirect to another host is told, not followed: that page was not read either.
        yield _failed(done, 0, url, code)
        return
    # What comes back is a summary that a model wrote, not the page.
    content = text(done.response.get("result")) or text(done.words or None)
    yield replace(_source(done, 0, url, Reading.SUMMARISED, content=content), code=code)


def _search(done: Done) -> Iterator[SourceRead]:
    hits = [hit for result in items(done.response.get("results")) for hit in items(fields(result).get("content"))]
    if not hits:
        # A subagent's own file has no structured answers, only what its model was shown.
        hits = [hit for links in _LINKS.findall(done.words) for hit in items(_json(links))]
    yield from (
        () if done.failed else _listed(done, [(fields(hit).get("url"), fields(hit).get("title")) for hit in hits])
    )


def _grep(done: Done) -> Iterator[SourceRead]:
    if done.failed:
        return
    shown = string(done.response.get("content")) or ""
    passages = dict.fromkeys(match[1] for match in islice(_GREPPED.finditer(shown), LISTED_MAX * 100))
    searched = string(done.input.get("path"))
    if searched is not None and _NUMBERED.match(shown):
        # Lines of one file come without its name.
        passages = {searched: None}
    for n, name in enumerate(islice(passages, LISTED_MAX)):
        yield _source(done, n, name, Reading.EXCERPT)
    if not passages:
        yield from _listed(done, [(name, None) for name in items(done.response.get("filenames"))])


def _bash(done: Done) -> Iterator[SourceRead]:
    command = string(done.input.get("command"))
    printed = string(done.response.get("stdout")) or ""
    if command is None or ("http" not in command.lower() and "gh" not in command):
        return
    for n, (url, outcome) in enumerate(opened_by(command)):
        if n >= LISTED_MAX:
            return
        stopped = done.response.get("interrupted") is True
        if outcome is Outcome.TOLD and done.failed and not stopped:
            yield _failed(done, n, url, _code_in(done))
        elif outcome is Outcome.TOLD and printed.strip() and not done.failed and not stopped:
            whole = len(printed) < OUTPUT_CHARS_MAX
            kept = text(done.response.get("stdout"))
            yield _source(done, n, url, Reading.VERBATIM if whole else Reading.EXCERPT, content=kept)
        else:
            yield _source(done, n, url, Reading.ATTEMPTED)


def _mcp(done: Done) -> Iterator[SourceRead]:
    """What a tool of some server did with an address; the tool's own name says whether it opens pages."""
    words = {word.lower() for word in _WORD.findall(done.tool.rpartition("__")[2])}
    shown = _shown(done)
    given = [done.input.get("url"), done.input.get("uri"), *items(done.input.get("urls"))]
    urls = [url for url in given if isinstance(url, str) and _WEB.fullmatch(url)]
    for n, url in enumerate(dict.fromkeys(urls)):
        if words & _OPENING and done.failed:
            yield _failed(done, n, url, _code_in(done))
        elif not words & _OPENING or not shown.strip():
            yield _source(done, n, url, Reading.ATTEMPTED)
        else:
            # Such tools turn a page into text and cut it: how much of it that is, none of them says.
            yield _source(done, n, url, Reading.EXCERPT, content=text(shown) if len(urls) == 1 else None)
    if "search" in words and not urls and not done.failed:
        yield from _listed(done, list(_hits(shown)))


def _hits(shown: str) -> Iterator[tuple[object, object]]:
    """The hits of a search in the two shapes that are clear: JSON with addresses, or lines with title and address."""
    told = _json(shown)
    found = fields(told).get("results") if isinstance(told, dict) else told
    for hit in map(fields, items(found)):
        yield hit.get("url"), hit.get("title")
    if not items(found):
        for match in _HIT.finditer(shown):
            yield match["url"], match["title"]


def _listed(done: Done, hits: list[tuple[object, object]]) -> Iterator[SourceRead]:
    for n, (locator, title) in enumerate(hits[:LISTED_MAX]):
        if isinstance(locator, str):
            yield _source(done, n, locator, Reading.LISTED, title=string(title))


def _shown(done: Done) -> str:
    """What a tool of some server gave back, as text."""
    blocks = items(done.answer) or items(fields(done.answer).get("content"))
    said = [string(fields(block).get("text")) for block in blocks]
    return string(done.answer) or "\n".join(one for one in said if one) or done.words


def _code_in(done: Done) -> int | None:
    found = _CODE.search(done.words) or _CODE.search(string(done.response.get("stderr")) or "")
    return None if found is None else int(found[1])


def _json(said: str) -> object:
    try:
        return parse(said.encode("utf-8", "replace")) if said.lstrip()[:1] in ("[", "{") else None
    except InputError:
        return None  # words that only begin like JSON


def _failed(done: Done, n: int, locator: str, code: int | None = None) -> SourceRead:
    return replace(_source(done, n, locator, Reading.ATTEMPTED), code=code, failed=True)


def _source(
    done: Done, n: int, locator: str, reading: Reading, *, title: str | None = None, content: Text | None = None
) -> SourceRead:
    return SourceRead(
        agent=done.agent,
        session=done.session,
        id=f"{done.call}:{n}",
        locator=clean(locator)[:LOCATOR_CHARS_MAX],
        reading=reading,
        at_ns=done.at_ns,
        call=done.call,
        title=None if title is None else clean(title)[:LOCATOR_CHARS_MAX],
        text=content,
    )


READS: Mapping[str, Callable[[Done], Iterator[SourceRead]]] = MappingProxyType(
    {"Read": _read, "WebFetch": _fetch, "WebSearch": _search, "Grep": _grep, "Bash": _bash}
)
