"""Which sources a call of one of Gemini CLI's tools opened, listed or tried to open, and how each was read.

Shapes are those of ``packages/core/src/tools`` (``read-file.ts``, ``read-many-files.ts``, ``web-fetch.ts``,
``web-search.ts``, ``grep.ts``) at 5411f113 of August 2026, and of 0.9.
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
    command_uses,
    file_use,
    match_uses,
    page_use,
    search_uses,
    server_uses,
)
from custody.capture.tool_use import SourceUse, ToolUse
from custody.capture.typed_field import fields, get_string, items, text
from custody.core.views import Reading

SHELL = "run_shell_command"
SERVERS = "mcp_"
"""How the names of servers' tools begin."""
CUT_FILE = "IMPORTANT: The file content has been truncated."
CUT_BELOW = "--- FILE CONTENT (truncated) ---\n"
CUT_AMONG = "[WARNING: This file was truncated"
DISCOVERED = "\n\n--- Newly Discovered Project Context ---"
"""What may stand behind a file's text: context that the program found, not the file."""
END_OF_FILES = "\n--- End of content ---"
ENDS = ("Process Group PGID: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Error: ", "Stderr: (empty)")
"""How the lines begin that Gemini CLI puts below what a command printed."""

_EXIT = re.compile(r"^Exit Code: (\d+)", re.MULTILINE)
_OUTPUT = re.compile(r"^(?:Output|Stdout): ", re.MULTILINE)
_WEB = re.compile(r"https?://\S+", re.IGNORECASE)
_CITED = re.compile(r"^\[\d+\] (?P<title>[^\n]*) \((?P<url>https?://[^\s()]+)\)$", re.MULTILINE)
_SEPARATOR = re.compile(r"^--- ((?:/|[A-Za-z]:[\\/])[^\n]*) ---$", re.MULTILINE)
_REFUSED = re.compile(r"^Request failed with status (\d{3})\b")


def opened(use: ToolUse) -> Iterator[SourceUse | None]:
    """The sources that the call opened, listed or tried to open."""
    read = SOURCES.get(use.tool)
    if read is not None:
        yield from read(use)
    elif use.tool.startswith(SERVERS):
        yield from server_uses(use.tool, use.input, use.words, failed=use.failed, error=use.words)


def exit_code(shown: str) -> int:
    """How a command ended, by what the model was shown; older versions say it always, newer ones when it failed."""
    codes = _EXIT.findall(shown)
    return int(codes[-1][:9]) if codes else 0


def extract_command_output(shown: str) -> str:
    """What a command printed, without what Gemini CLI says around it."""
    said = shown.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>")
    start = _OUTPUT.search(said)
    lines = (said[start.end() :] if start else said).split("\n")
    while lines and lines[-1].startswith(ENDS):
        lines.pop()
    kept = "\n".join(lines)
    return "" if kept.strip() == "(empty)" else kept


def _shell(use: ToolUse) -> Iterator[SourceUse]:
    failed = use.failed or exit_code(use.words) != 0
    yield from command_uses(
        get_string(use.input.get("command")), extract_command_output(use.words), failed=failed, error=use.words
    )


def _file(use: ToolUse) -> Iterator[SourceUse]:
    given = use.input
    path = get_string(given.get("file_path")) or get_string(given.get("absolute_path")) or get_string(given.get("path"))
    shown = use.words.split(DISCOVERED)[0]
    cut = shown.lstrip().startswith(CUT_FILE)
    whole = not cut and all(given.get(key) is None for key in ("start_line", "end_line", "offset", "limit"))
    content = shown.partition(CUT_BELOW)[2] if cut else shown
    yield from file_use(path, text(content or None), whole=whole, failed=use.failed)


def _files(use: ToolUse) -> Iterator[SourceUse]:
    """Each file between its own separators; what the display lists decides, since files may hold such lines too."""
    listed = [name for name in items(use.response.get("files")) if isinstance(name, str)]
    shown = use.words.split(DISCOVERED)[0].removesuffix(END_OF_FILES)
    marks = [mark for mark in _SEPARATOR.finditer(shown) if not listed or any(_is(mark[1], name) for name in listed)]
    ends = [*(mark.start() for mark in marks[1:]), len(shown)]
    told = [(mark[1], shown[mark.end() : end].strip("\n")) for mark, end in zip(marks, ends, strict=False)]
    for name, content in (told or [(name, "") for name in listed])[:LISTED_MAX]:
        whole = not content.startswith(CUT_AMONG)
        yield from file_use(name, text(content or None), whole=whole, failed=use.failed)


def _is(whole: str, name: str) -> bool:
    return whole == name or whole.endswith((f"/{name}", f"\\{name}"))


def _page(use: ToolUse) -> Iterator[SourceUse]:
    """The pages that the prompt names, summed up by a model; one that is named alone may come as text."""
    direct = get_string(use.input.get("url"))
    asked = [direct] if direct else (get_string(use.input.get("prompt")) or "").split()
    urls = list(dict.fromkeys(url for url in asked if _WEB.fullmatch(url)))[:LISTED_MAX]
    refused = _REFUSED.match(use.words)
    code = int(refused[1]) if refused else code_in(use.words) if use.failed else None
    content = text(use.words or None) if len(urls) == 1 else None
    cited = {match["url"] for match in _CITED.finditer(use.words)}
    for url in urls:
        # Of several pages, the answer cites those that it has something from.
        reading = Reading.SUMMARISED if len(urls) == 1 or url in cited else Reading.ATTEMPTED
        # A page that is named directly comes as text, cut where it is long: how much of it that is, is not said.
        reading = reading if direct is None else Reading.EXCERPT
        yield page_use(url, reading, content, code=code, failed=use.failed)


def _search(use: ToolUse) -> Iterator[SourceUse | None]:
    hits = [match.groupdict() for match in _CITED.finditer(use.words)]
    yield from search_uses(hits, use.words, failed=use.failed)


def _grep(use: ToolUse) -> Iterator[SourceUse | None]:
    matches = islice(map(fields, items(use.response.get("matches"))), MATCHES_MAX)
    names = (get_string(match.get("absolutePath")) or get_string(match.get("filePath")) for match in matches)
    yield from match_uses(as_printed(filter(None, names)), failed=use.failed)


SOURCES: Mapping[str, Callable[[ToolUse], Iterator[SourceUse | None]]] = MappingProxyType(
    {
        SHELL: _shell,
        "read_file": _file,
        "read_many_files": _files,
        "web_fetch": _page,
        "google_web_search": _search,
        "grep_search": _grep,
        "search_file_content": _grep,
    }
)
