"""Effects of a finished call of one of Gemini CLI's tools: files edited, files written by commands, commits made.

Hooks and chats report the same input and display of a call, so this module reads both. Shapes:
``packages/core/src/tools`` (``edit.ts``, ``write-file.ts``, ``shell.ts``), 0.9 of 2025 to 5411f113 of August 2026.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice, takewhile
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.shell import parse_shell_commands
from custody.capture.source_use import (
    LISTED_MAX,
    MATCHES_MAX,
    SourceReader,
    format_grep_output,
    list_command_url_uses,
    list_file_uses,
    list_grep_uses,
    list_opened_sources,
    list_web_search_uses,
    page_source_use,
    parse_http_status,
)
from custody.capture.tool_use import FileEffect, ShellRun, SourceUse, ToolOutput, ToolUse
from custody.capture.typed_field import (
    get_agent_model,
    get_captured_text,
    get_fields,
    get_full_sha,
    get_items,
    get_string,
)
from custody.core.patterns import lazy_pattern
from custody.core.views import Reading, Text
from custody.core.wire.event_views import text_view_from_field

# Sources that a call opened, listed or tried to open. Shapes: ``packages/core/src/tools`` (``read-file.ts``,
# ``read-many-files.ts``, ``web-fetch.ts``, ``web-search.ts``, ``grep.ts``) at 5411f113 of August 2026, and of 0.9.


SHELL = "run_shell_command"
SERVERS = "mcp_"
"""Prefix of servers' tools."""
CUT_FILE = "IMPORTANT: The file content has been truncated."
CUT_BELOW = "--- FILE CONTENT (truncated) ---\n"
CUT_AMONG = "[WARNING: This file was truncated"
DISCOVERED = "\n\n--- Newly Discovered Project Context ---"
"""Separates a file's text from context that the program added."""
END_OF_FILES = "\n--- End of content ---"
ENDS = ("Process Group PGID: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Error: ", "Stderr: (empty)")
"""Prefixes of the lines that Gemini CLI puts below a command's output."""

_EXIT = lazy_pattern(r"^Exit Code: (\d+)", re.MULTILINE)
_OUTPUT = lazy_pattern(r"^(?:Output|Stdout): ", re.MULTILINE)
_WEB = lazy_pattern(r"https?://\S+", re.IGNORECASE)
_CITED = lazy_pattern(r"^\[\d+\] (?P<title>[^\n]*) \((?P<url>https?://[^\s()]+)\)$", re.MULTILINE)
_SEPARATOR = lazy_pattern(r"^--- ((?:/|[A-Za-z]:[\\/])[^\n]*) ---$", re.MULTILINE)
_REFUSED = lazy_pattern(r"^Request failed with status (\d{3})\b")


def parse_command_exit_code(shown: str) -> int:
    """Return a command's exit code from the text shown to the model; newer versions report only failures."""
    codes = _EXIT.findall(shown)
    return int(codes[-1][:9]) if codes else 0


def extract_command_output(shown: str) -> str:
    """Return a command's output without the lines that Gemini CLI adds."""
    text = shown.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>")
    start = _OUTPUT.search(text)
    lines = (text[start.end() :] if start else text).split("\n")
    while lines and lines[-1].startswith(ENDS):
        lines.pop()
    output = "\n".join(lines)
    return "" if output.strip() == "(empty)" else output


def _extract_shell_sources(use: ToolUse) -> Iterator[SourceUse]:
    failed = use.failed or parse_command_exit_code(use.result) != 0
    yield from list_command_url_uses(
        get_string(use.input.get("command")), extract_command_output(use.result), failed=failed, error=use.result
    )


def _extract_file_source(use: ToolUse) -> Iterator[SourceUse]:
    arguments = use.input
    path = (
        get_string(arguments.get("file_path"))
        or get_string(arguments.get("absolute_path"))
        or get_string(arguments.get("path"))
    )
    shown = use.result.split(DISCOVERED)[0]
    cut = shown.lstrip().startswith(CUT_FILE)
    whole = not cut and all(arguments.get(key) is None for key in ("start_line", "end_line", "offset", "limit"))
    content = shown.partition(CUT_BELOW)[2] if cut else shown
    yield from list_file_uses(path, get_captured_text(content or None), whole=whole, failed=use.failed)


def _extract_multi_file_sources(use: ToolUse) -> Iterator[SourceUse]:
    """Yield each file between its separators; only listed files count, because files may contain such lines too."""
    listed = [name for name in get_items(use.response.get("files")) if isinstance(name, str)]
    shown = use.result.split(DISCOVERED)[0].removesuffix(END_OF_FILES)
    marks = [
        mark
        for mark in _SEPARATOR.finditer(shown)
        if not listed or any(_is_path_or_suffix(mark[1], name) for name in listed)
    ]
    ends = [*(mark.start() for mark in marks[1:]), len(shown)]
    items = [(mark[1], shown[mark.end() : end].strip("\n")) for mark, end in zip(marks, ends, strict=False)]
    for name, content in (items or [(name, "") for name in listed])[:LISTED_MAX]:
        whole = not content.startswith(CUT_AMONG)
        yield from list_file_uses(name, get_captured_text(content or None), whole=whole, failed=use.failed)


def _is_path_or_suffix(whole: str, name: str) -> bool:
    return whole == name or whole.endswith((f"/{name}", f"\\{name}"))


def _extract_page_sources(use: ToolUse) -> Iterator[SourceUse]:
    """Yield the pages that the prompt names, summarized by a model; a single page may come as text."""
    direct = get_string(use.input.get("url"))
    candidates = [direct] if direct else (get_string(use.input.get("prompt")) or "").split()
    urls = list(dict.fromkeys(url for url in candidates if _WEB.fullmatch(url)))[:LISTED_MAX]
    refused = _REFUSED.match(use.result)
    code = int(refused[1]) if refused else parse_http_status(use.result) if use.failed else None
    content = get_captured_text(use.result or None) if len(urls) == 1 else None
    cited = {match["url"] for match in _CITED.finditer(use.result)}
    for url in urls:
        # Of several pages, the answer cites those that it uses.
        reading = Reading.SUMMARISED if len(urls) == 1 or url in cited else Reading.ATTEMPTED
        # A page in ``url`` comes as text and may be cut; Gemini CLI does not report how much.
        reading = reading if direct is None else Reading.EXCERPT
        yield page_source_use(url, reading, content, code=code, failed=use.failed)


def _extract_search_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    hits = [match.groupdict() for match in _CITED.finditer(use.result)]
    yield from list_web_search_uses(hits, use.result, failed=use.failed)


def _extract_grep_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    matches = islice(map(get_fields, get_items(use.response.get("matches"))), MATCHES_MAX)
    names = (get_string(match.get("absolutePath")) or get_string(match.get("filePath")) for match in matches)
    yield from list_grep_uses(format_grep_output(filter(None, names)), failed=use.failed)


SOURCES: Mapping[str, SourceReader] = MappingProxyType(
    {
        SHELL: _extract_shell_sources,
        "read_file": _extract_file_source,
        "read_many_files": _extract_multi_file_sources,
        "web_fetch": _extract_page_sources,
        "google_web_search": _extract_search_sources,
        "grep_search": _extract_grep_sources,
        "search_file_content": _extract_grep_sources,
    }
)


REPLACE, WRITE = "replace", "write_file"
EDITING = frozenset((REPLACE, WRITE))
AUTO_MODEL = "auto"
BACKGROUND = "Command moved to background"
"""Prefix of the output of a command that continues in the background, with unknown effects."""

_COMMITTED = lazy_pattern(r"^(?:Output: |Stdout: )?\[[^\]\n]{1,300} ([0-9a-f]{7,64})\] ", re.MULTILINE)


def parse_agent_model(value: object) -> str | None:
    """Return the model; None for a name that lets Gemini CLI choose, such as ``auto-gemini-3``."""
    name = get_agent_model(value)
    return None if name is None or name.partition("-")[0] == AUTO_MODEL else name


def add_effects(use: ToolUse) -> ToolUse:
    """Return the call with the sources that it opened and the file that it changed."""
    opened = list_opened_sources(use, SOURCES, is_server_tool=use.tool.startswith(SERVERS))
    return replace(
        use, opened=tuple(opened), changes=tuple(_extract_file_effects(use)), ran=read_shell_run(use), from_text=False
    )


# --- edits ------------------------------------------------------------------------------------------------------------


def find_edited_path(use: ToolUse) -> str | None:
    """Return the file that a call of an editing tool names, as written; older displays do not name it."""
    if use.tool not in EDITING:
        return None
    return get_string(use.response.get("filePath")) or get_string(use.input.get("file_path"))


def _extract_file_effects(use: ToolUse) -> Iterator[FileEffect]:
    """Yield the file that the call changed, with the agent's proposal if a person changed it."""
    path = None if use.failed else find_edited_path(use)
    before, after, part = _read_edit_texts(use)
    if path is not None and after is not None:
        yield FileEffect(path, before, after, part=part, proposed=_find_proposed_edit(use, before, after))


def _read_edit_texts(use: ToolUse) -> tuple[Text | None, Text | None, bool]:
    """Return the text before and after, and whether it is a piece of the file."""
    display, arguments = use.response, use.input
    after = get_captured_text(display.get("newContent"))
    if after is not None:
        before = get_captured_text(display.get("originalContent"))
        return (None if display.get("isNewFile") is True else before), after, False
    if use.tool == WRITE:
        return None, get_captured_text(arguments.get("content")), False
    old, new = get_captured_text(arguments.get("old_string")), get_captured_text(arguments.get("new_string"))
    # Replacing nothing creates the file.
    return (None, new, False) if old is None or old.content == "" else (old, new, True)


def _find_proposed_edit(use: ToolUse, before: Text | None, after: Text) -> Text | None:
    """Return the agent's proposal if a person changed it; the text before the edit if the proposal is unknown."""
    if not _is_edit_user_modified(use) or after.content is None:
        return None
    old = "" if before is None or before.content is None else before.content
    proposal = get_captured_text(use.input.get("ai_proposed_content"))
    if proposal is None or proposal.content is None:
        return text_view_from_field(old)
    # After acceptance in an IDE, the proposal is the accepted text, changed or not.
    text = proposal.content if use.tool == WRITE else place_proposed_edit(old, proposal.content, after.content)
    return None if text == after.content else text_view_from_field(text)


def _is_edit_user_modified(use: ToolUse) -> bool:
    stat = get_fields(use.response.get("diffStat"))
    counts = (stat.get("user_added_lines"), stat.get("user_removed_lines"))
    return use.input.get("modified_by_user") is True or any(isinstance(n, int) and n > 0 for n in counts)


def place_proposed_edit(before: str, piece: str, after: str) -> str:
    r"""Return ``before`` with the agent's piece where ``after`` differs from it.

    If a person changes a replacement, Gemini CLI stores the proposed piece, but not what it was to replace.

    >>> place_proposed_edit("a\nb\nc\n", "B", "a\nB\nmine\nc\n")
    'a\nB\nc\n'
    """
    old, proposed, new = before.split("\n"), piece.split("\n"), after.split("\n")
    head = _count_equal_edit_lines(old, new)
    tail = min(_count_equal_edit_lines(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    first, last = old[:head], old[len(old) - tail :]
    # The piece may repeat lines around the change.
    proposed = proposed[_count_overlapping_edit_lines(first, proposed) :]
    proposed = proposed[: len(proposed) - _count_overlapping_edit_lines(last[::-1], proposed[::-1])]
    return "\n".join((*first, *proposed, *last))


def _count_equal_edit_lines(group: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(group, other, strict=False)))


def _count_overlapping_edit_lines(before: list[str], piece: list[str]) -> int:
    """Return how many of its first lines the piece repeats from the end of ``before``."""
    longest = min(len(before), len(piece))
    return next((n for n in range(longest, 0, -1) if before[-n:] == piece[:n]), 0)


# --- commands ---------------------------------------------------------------------------------------------------------


def read_shell_run(use: ToolUse) -> ShellRun | None:
    """Return the command that a call ran; None for any other call."""
    if use.tool != SHELL:
        return None
    behind = use.input.get("is_background") is True or BACKGROUND in use.result
    answer = ToolOutput(use.result, parse_command_exit_code(use.result), running=behind, refused=use.failed)
    folder = get_string(use.input.get("dir_path")) or get_string(use.input.get("directory")) or ""
    return ShellRun(get_string(use.input.get("command")), answer, folder)


def find_command_commits(use: ToolUse) -> tuple[str, ...]:
    """Return the commits, mostly abbreviated, that ``git commit`` printed."""
    command = get_string(use.input.get("command"))
    if use.tool != SHELL or use.failed or command is None or "commit" not in command:
        return ()
    if not any(step.words[:1] == ("git",) and "commit" in step.words for step in parse_shell_commands(command) or ()):
        return ()
    return tuple(dict.fromkeys(_COMMITTED.findall(use.result)))


def resolve_call_commits(use: ToolUse, known: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the full ids of the commits that the call made.

    Output can contain anything, so an id counts only if the repository has that commit.
    """
    return tuple(filter(None, (get_full_sha(known.get(name)) for name in find_command_commits(use))))
