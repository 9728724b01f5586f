"""Which sources a call of one of opencode's tools opened, listed or tried to open, and how each was read.

Each tool's answer is put into the shape that ``sources`` reads, so that the same reading means the same everywhere.
Shapes are those of ``packages/opencode/src/tool`` (``read.ts``, ``webfetch.ts``, ``websearch.ts``, ``grep.ts``) at
d545d8fb, 1.18.18 of August 2026, and of 0.9.0, whose files came with numbers of five digits; since 2.0 (2.0.12 to
2.0.26) those of ``packages/core/src/tool/plugin``, where a first line says which lines are shown.
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
from custody.capture.agents.codex.tool_calls import BASH
from custody.capture.agents.opencode.tool_calls import EDITING, SHELLS, TASKS, answer_of, path_in
from custody.capture.typed_field import fields, items, string
from custody.core.views import Reading, SourceRead

MATCHES_MAX = 10_000
OWN = (
    EDITING
    | TASKS
    | frozenset(
        "invalid question glob list todowrite todoread skill lsp plan_enter plan_exit plan batch execute models".split()
    )
)
"""opencode's own tools that open nothing; a name that is not known is one of a server's, or of a plugin's."""
FOLDER, FOLDER_SHOWN = "<type>directory</type>", "Read directory "
MORE = ("(File has more lines.", "(Output capped at ", "(Output truncated at ", "(Showing lines ", "[Output truncated.")
"""How the words begin below a file's lines where there are more of them."""

_SHOWN = re.compile(r"<(?:file|content)>\n(.*?)\n</(?:file|content)>", re.DOTALL)
_LINES_SHOWN = re.compile(r"Read file [^\n]*, lines (\d{1,9})-\d{1,9}\n(.*)\Z", re.DOTALL)
_NUMBERED = re.compile(r"^(?:\d{5,}\| |\d+: )", re.MULTILINE)
_TAIL = re.compile(r"\n\n\([^\n]*\)\Z|\n\[Output truncated\.[^\n]*\]\Z")
_FOUND_IN = re.compile(r"^(\S[^\n]*):\n(?= +Line \d+: )", re.MULTILINE)
_PICTURE = "Image fetched successfully"


def sources(done: Done, folder: str | None) -> Iterator[SourceRead]:
    """The sources that a finished call opened, listed or tried to open; ``folder`` is where the agent works."""
    if done.tool in SHELLS:
        where = string(done.input.get("workdir")) or folder
        yield from codex_sources.sources(replace(done, tool=BASH), answer_of(done), where)
        return
    read = SOURCES.get(done.tool)
    if read is not None:
        yield from read(done)
    elif done.tool not in OWN:
        # Names of servers' tools begin with the server's.
        answer = items(done.answer) or [{"text": done.words}]
        yield from reads(replace(done, tool=f"{MCP}{done.tool}", answer=answer))


def _file(done: Done) -> Iterator[SourceRead]:
    display = fields(done.response.get("display"))
    is_folder = FOLDER in done.words[:10_000] or done.words.startswith(FOLDER_SHOWN)
    if is_folder or display.get("type") == "directory":
        return
    numbered = _LINES_SHOWN.match(done.words)
    shown = _SHOWN.search(done.words) if numbered is None else None
    inner = numbered[2] if numbered is not None else "" if shown is None else shown[1]
    content = _NUMBERED.sub("", _TAIL.sub("", inner))
    cut = done.response.get("truncated") is True or any(f"\n{mark}" in inner for mark in MORE)
    first = done.input.get("offset") in (None, 0, 1) and (numbered is None or int(numbered[1]) == 1)
    some = True if cut or not first else None
    given = {"file_path": path_in(done.input), "limit": some}
    file: dict[str, Any] = {"content": content} if content else {}
    yield from reads(replace(done, tool="Read", input=given, response={"file": file}))


def _page(done: Done) -> Iterator[SourceRead]:
    """A page as text: all of it unless opencode says that it was cut."""
    for read in reads(replace(done, tool="WebFetch", response={})):
        if read.reading is not Reading.SUMMARISED:
            yield read
            continue
        whole = done.response.get("truncated") is not True
        told = None if done.words == _PICTURE else read.text
        yield replace(read, reading=Reading.VERBATIM if whole else Reading.EXCERPT, text=told)


def _search(done: Done) -> Iterator[SourceRead]:
    yield from reads(replace(done, tool=f"{MCP}search", input={}, answer=[{"text": done.words}]))


def _grep(done: Done) -> Iterator[SourceRead]:
    names = dict.fromkeys(match[1] for match in islice(_FOUND_IN.finditer(done.words), MATCHES_MAX))
    passages = "".join(f"{name}:1:\n" for name in islice(names, LISTED_MAX))
    yield from reads(replace(done, tool="Grep", input={}, response={"content": passages}))


SOURCES: Mapping[str, Callable[[Done], Iterator[SourceRead]]] = MappingProxyType(
    {"read": _file, "webfetch": _page, "websearch": _search, "codesearch": _search, "grep": _grep}
)
