"""What a finished call of one of Gemini CLI's tools says: files edited, files written by commands, commits made.

Hooks and chats give the same input and the same display of a call, so both are read here, and here only. Shapes are
those of ``packages/core/src/tools`` (``edit.ts``, ``write-file.ts``, ``shell.ts``), 0.9 of 2025 to 5411f113 of August
2026.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, takewhile
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.command_facts import ToolOutput, find_written_files
from custody.capture.shell import Write, commands
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
from custody.capture.tool_use import FileEffect, SourceUse, ToolUse
from custody.capture.typed_field import fields, full_sha, get_string, items, model, text
from custody.core.views import Reading, Text
from custody.core.wire.event_views import text_view

# Which sources a call of one of Gemini CLI's tools opened, listed or tried to open, and how each was read.
# Shapes are those of ``packages/core/src/tools`` (``read-file.ts``, ``read-many-files.ts``, ``web-fetch.ts``, ``web-
# search.ts``, ``grep.ts``) at 5411f113 of August 2026, and of 0.9.


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


REPLACE, WRITE = "replace", "write_file"
EDITING = frozenset((REPLACE, WRITE))
CHOSEN = "auto"
BEHIND = "Command moved to background"
"""How the words begin of a command that goes on unseen: what it wrote nobody has seen."""

_COMMITTED = re.compile(r"^(?:Output: |Stdout: )?\[[^\]\n]{1,300} ([0-9a-f]{7,64})\] ", re.MULTILINE)


def model_named(said: object) -> str | None:
    """The model that is named; None for a name under which Gemini CLI chooses one, such as ``auto-gemini-3``."""
    named = model(said)
    return None if named is None or named.partition("-")[0] == CHOSEN else named


def add_effects(use: ToolUse) -> ToolUse:
    """The call with the sources that it opened and the file that it changed."""
    return replace(use, opened=tuple(opened(use)), changes=tuple(_changes(use)), from_text=False)


# --- edits ------------------------------------------------------------------------------------------------------------


def edited_path(use: ToolUse) -> str | None:
    """The file that a call of an editing tool names, as written; older displays do not name it."""
    if use.tool not in EDITING:
        return None
    return get_string(use.response.get("filePath")) or get_string(use.input.get("file_path"))


def _changes(use: ToolUse) -> Iterator[FileEffect]:
    """The file that the call changed; where a person changed the proposal, with what the agent had proposed."""
    path = None if use.failed else edited_path(use)
    before, after, part = _texts(use)
    if path is not None and after is not None:
        yield FileEffect(path, before, after, part=part, proposed=_proposed(use, before, after))


def _texts(use: ToolUse) -> tuple[Text | None, Text | None, bool]:
    """The file before and after, or the piece that was replaced, and whether it is a piece."""
    display, given = use.response, use.input
    after = text(display.get("newContent"))
    if after is not None:
        before = text(display.get("originalContent"))
        return (None if display.get("isNewFile") is True else before), after, False
    if use.tool == WRITE:
        return None, text(given.get("content")), False
    old, new = text(given.get("old_string")), text(given.get("new_string"))
    # A replacement of nothing makes the file.
    return (None, new, False) if old is None or old.content == "" else (old, new, True)


def _proposed(use: ToolUse, before: Text | None, after: Text) -> Text | None:
    """What the agent had proposed, where a person changed it; nothing of the change where that is not told."""
    if not _is_changed(use) or after.content is None:
        return None
    old = "" if before is None or before.content is None else before.content
    said = text(use.input.get("ai_proposed_content"))
    if said is None or said.content is None:
        return text_view(old)
    # Accepted in an IDE, changed or not, the proposal is what was accepted: then nobody can tell.
    made = said.content if use.tool == WRITE else place_edit(old, said.content, after.content)
    return None if made == after.content else text_view(made)


def _is_changed(use: ToolUse) -> bool:
    stat = fields(use.response.get("diffStat"))
    counts = (stat.get("user_added_lines"), stat.get("user_removed_lines"))
    return use.input.get("modified_by_user") is True or any(isinstance(n, int) and n > 0 for n in counts)


def place_edit(before: str, piece: str, after: str) -> str:
    r"""``before`` with the agent's piece where ``after`` differs from it.

    When a person changes a replacement, Gemini CLI keeps the piece that was proposed, but not what it was to replace.

    >>> place_edit("a\nb\nc\n", "B", "a\nB\nmine\nc\n")
    'a\nB\nc\n'
    """
    old, said, new = before.split("\n"), piece.split("\n"), after.split("\n")
    head = _same(old, new)
    tail = min(_same(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    first, last = old[:head], old[len(old) - tail :]
    # The piece may repeat lines that stand around the change.
    said = said[_overlap(first, said) :]
    said = said[: len(said) - _overlap(last[::-1], said[::-1])]
    return "\n".join((*first, *said, *last))


def _same(group: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(group, other, strict=False)))


def _overlap(before: list[str], piece: list[str]) -> int:
    """With how many of its first lines the piece repeats the last ones before it."""
    longest = min(len(before), len(piece))
    return next((n for n in range(longest, 0, -1) if before[-n:] == piece[:n]), 0)


# --- commands ---------------------------------------------------------------------------------------------------------


def writes_of(use: ToolUse) -> tuple[Write, ...]:
    """What a command certainly wrote by its own text; snapshots taken around it say more."""
    if use.tool != SHELL:
        return ()
    behind = use.input.get("is_background") is True or BEHIND in use.words
    answer = ToolOutput(use.words, exit_code(use.words), running=behind, refused=use.failed)
    folder = get_string(use.input.get("dir_path")) or get_string(use.input.get("directory")) or ""
    return find_written_files(get_string(use.input.get("command")), answer, folder)


def read_commit_names(use: ToolUse) -> tuple[str, ...]:
    """The commits, mostly abbreviated, that ``git commit`` said it had made."""
    command = get_string(use.input.get("command"))
    if use.tool != SHELL or use.failed or command is None or "commit" not in command:
        return ()
    if not any(step.words[:1] == ("git",) and "commit" in step.words for step in commands(command) or ()):
        return ()
    return tuple(dict.fromkeys(_COMMITTED.findall(use.words)))


def known_commits(use: ToolUse, known: Mapping[str, str | None]) -> tuple[str, ...]:
    """The full ids of the commits that the call made.

    What a command prints can be anything, so an id counts only where the repository has that commit.
    """
    return tuple(filter(None, (full_sha(known.get(name)) for name in read_commit_names(use))))
