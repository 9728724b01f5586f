"""Which sources a call of one of opencode's tools opened, listed or tried to open, and how each was read.

Shapes are those of ``packages/opencode/src/tool`` (``read.ts``, ``webfetch.ts``, ``websearch.ts``, ``grep.ts``) at
d545d8fb, 1.18.18 of August 2026, and of 0.9.0, whose files came with numbers of five digits; since 2.0 (2.0.12 to
2.0.26) those of ``packages/core/src/tool/plugin``, where a first line says which lines are shown.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from custody.capture.agents.opencode.tool_fields import EDITING, SHELLS, TASKS, answer_of, path_in
from custody.capture.source_use import (
    LISTED_MAX,
    MATCHES_MAX,
    as_printed,
    code_in,
    file_use,
    match_uses,
    page_use,
    server_uses,
    shell_uses,
    shown_text,
)
from custody.capture.tool_use import SourceUse, ToolUse
from custody.capture.typed_field import fields, get_string, items, text
from custody.core.views import Reading

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


def opened(use: ToolUse, folder: str | None) -> Iterator[SourceUse | None]:
    """The sources that a call opened, listed or tried to open; ``folder`` is where the agent works."""
    if use.tool in SHELLS:
        command, where = get_string(use.input.get("command")), get_string(use.input.get("workdir")) or folder
        yield from shell_uses(command, answer_of(use), where, failed=use.failed, error=use.words)
        return
    read = SOURCES.get(use.tool)
    if read is not None:
        yield from read(use)
    elif use.tool not in OWN:
        # Names of servers' tools begin with the server's.
        shown = shown_text(items(use.answer), use.words)
        yield from server_uses(use.tool, use.input, shown, failed=use.failed, error=use.words)


def _file(use: ToolUse) -> Iterator[SourceUse]:
    display = fields(use.response.get("display"))
    is_folder = FOLDER in use.words[:10_000] or use.words.startswith(FOLDER_SHOWN)
    if is_folder or display.get("type") == "directory":
        return
    numbered = _LINES_SHOWN.match(use.words)
    shown = _SHOWN.search(use.words) if numbered is None else None
    inner = numbered[2] if numbered is not None else "" if shown is None else shown[1]
    content = _NUMBERED.sub("", _TAIL.sub("", inner))
    cut = use.response.get("truncated") is True or any(f"\n{mark}" in inner for mark in MORE)
    first = use.input.get("offset") in (None, 0, 1) and (numbered is None or int(numbered[1]) == 1)
    yield from file_use(path_in(use.input), text(content or None), whole=first and not cut, failed=use.failed)


def _page(use: ToolUse) -> Iterator[SourceUse]:
    """A page as text: all of it unless opencode says that it was cut."""
    url, code = get_string(use.input.get("url")), code_in(use.words) if use.failed else None
    if url is not None:
        reading = Reading.EXCERPT if use.response.get("truncated") is True else Reading.VERBATIM
        content = None if use.words == _PICTURE else text(use.words or None)
        yield page_use(url, reading, content, code=code, failed=use.failed)


def _search(use: ToolUse) -> Iterator[SourceUse | None]:
    yield from server_uses("search", {}, use.words, failed=use.failed, error=use.words)


def _grep(use: ToolUse) -> Iterator[SourceUse | None]:
    names = dict.fromkeys(match[1] for match in islice(_FOUND_IN.finditer(use.words), MATCHES_MAX))
    yield from match_uses(as_printed(islice(names, LISTED_MAX)), failed=use.failed)


SOURCES: Mapping[str, Callable[[ToolUse], Iterator[SourceUse | None]]] = MappingProxyType(
    {"read": _file, "webfetch": _page, "websearch": _search, "codesearch": _search, "grep": _grep}
)
