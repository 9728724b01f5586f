"""Effects of a finished call of one of opencode's tools: files changed, files written by commands, commits made.

Plugins and stored sessions report the same input and metadata of a call, so this module reads both. Shapes:
``packages/opencode/src/tool`` of 0.9.0 of September 2025 (an edit as a diff), 1.0 of November 2025 to March 2026 (the
whole file before and after, in ``filediff`` and in the files of a patch), and d545d8fb, 1.18.18 of August 2026 (a diff
again); of 2.0.12 to 2.0.26 (autumn 2026) ``packages/core/src/tool/plugin``, where a file is a ``path``, a command runs
in ``shell``, and ``files`` have the diffs. opencode removes common indentation from a diff, so lines are compared
without white space. An edit has the id of a text edit, because snapshots around it show more.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice, zip_longest
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.command_facts import add_git_facts, find_written_files
from custody.capture.patch import (
    PatchedFile,
    PatchHunk,
    PatchKind,
    file_effects_from_patch,
    parse_event_changes,
    parse_patch_text,
)
from custody.capture.source_use import (
    LISTED_MAX,
    MATCHES_MAX,
    SourceReader,
    format_grep_output,
    list_file_uses,
    list_grep_uses,
    list_opened_sources,
    list_server_tool_uses,
    list_shell_uses,
    page_source_use,
    parse_http_status,
)
from custody.capture.tool_use import FileEffect, ShellRun, SourceUse, ToolOutput, ToolUse
from custody.capture.typed_field import Fields, get_captured_text, get_fields, get_int, get_items, get_string
from custody.core.patterns import lazy_pattern
from custody.core.views import CallStatus, Reading, Text
from custody.core.wire.event_views import find_call_subject, text_view_from_field

# opencode's tools, and the fields of their input and output.


SHELLS, TASKS = frozenset(("bash", "shell")), frozenset(("task", "subagent"))
"""Tools that run a command, and tools that start a subagent: before 2.0, and since."""
EDIT, MULTIEDIT, WRITE = "edit", "multiedit", "write"
PATCHES = frozenset(("patch", "apply_patch"))
EDITING = PATCHES | {EDIT, MULTIEDIT, WRITE}

_AROUND = lazy_pattern(r"\n*<(?:shell|bash)_metadata>.*\Z", re.DOTALL)
_NOTHING = "(no output)"


def describe_tool_call(arguments: object) -> str | None:
    """Return the subject of a call: a command or a file.

    >>> describe_tool_call({"filePath": "src/app.py", "content": ""}), describe_tool_call({"command": "make"})
    ('src/app.py', 'make')
    """
    fields = get_fields(arguments)
    return find_call_subject({"file_path": find_call_path(fields), **fields})


def find_call_path(arguments: Fields) -> str | None:
    """Return the file that a call names, as written."""
    return get_string(arguments.get("filePath")) or get_string(arguments.get("path"))


def parse_tool_output(use: ToolUse) -> ToolOutput:
    """Return a command's output and exit code; a stopped command has none."""
    known = get_int(use.response.get("exit"))
    text = _AROUND.sub("", use.result)
    # Since 2.0 a background command, or one that timed out, is marked.
    stopped = use.response.get("status") == "running" or use.response.get("timeout") is True
    running = known is None and (stopped or text != use.result)
    return ToolOutput("" if text == _NOTHING else text, known, running=running)


def read_call_status(use: ToolUse) -> CallStatus:
    """Return a call's status: a finished command may still have failed."""
    failed = use.failed or (use.tool in SHELLS and parse_tool_output(use).failed)
    return CallStatus.FAILED if failed else CallStatus.OK


def find_subagent_session(tool: str, fields: Fields) -> str | None:
    """Return the session that a call started; before November 2025 only its summary names it."""
    if tool not in TASKS:
        return None
    first = next(map(get_fields, get_items(fields.get("summary"))), {})
    return (
        get_string(fields.get("sessionId")) or get_string(fields.get("sessionID")) or get_string(first.get("sessionID"))
    )


# Sources that a call opened, listed or tried to open. Shapes: ``packages/opencode/src/tool`` (``read.ts``,
# ``webfetch.ts``, ``websearch.ts``, ``grep.ts``) at d545d8fb, 1.18.18 of August 2026, and of 0.9.0, with line numbers
# of five digits; since 2.0 (2.0.12 to 2.0.26) ``packages/core/src/tool/plugin``, where a first line names the shown
# lines.


OWN_TOOLS = (
    EDITING
    | TASKS
    | frozenset(
        "invalid question glob list todowrite todoread skill lsp plan_enter plan_exit plan batch execute models".split()
    )
)
"""opencode's own tools that open nothing. Other unknown names belong to servers or plugins."""
FOLDER, FOLDER_SHOWN = "<type>directory</type>", "Read directory "
MORE = ("(File has more lines.", "(Output capped at ", "(Output truncated at ", "(Showing lines ", "[Output truncated.")
"""Prefixes of the text below a file's lines if there are more of them."""

_SHOWN = lazy_pattern(r"<(?:file|content)>\n(.*?)\n</(?:file|content)>", re.DOTALL)
_LINES_SHOWN = lazy_pattern(r"Read file [^\n]*, lines (\d{1,9})-\d{1,9}\n(.*)\Z", re.DOTALL)
_NUMBERED = lazy_pattern(r"^(?:\d{5,}\| |\d+: )", re.MULTILINE)
_TAIL = lazy_pattern(r"\n\n\([^\n]*\)\Z|\n\[Output truncated\.[^\n]*\]\Z")
_FOUND_IN = lazy_pattern(r"^(\S[^\n]*):\n(?= +Line \d+: )", re.MULTILINE)
_PICTURE = "Image fetched successfully"


def _extract_shell_sources(use: ToolUse) -> Iterator[SourceUse]:
    command, folder = get_string(use.input.get("command")), get_string(use.input.get("workdir")) or use.folder
    yield from list_shell_uses(command, use.output, folder, failed=use.failed, error=use.result)


def _extract_file_source(use: ToolUse) -> Iterator[SourceUse]:
    display = get_fields(use.response.get("display"))
    is_folder = FOLDER in use.result[:10_000] or use.result.startswith(FOLDER_SHOWN)
    if is_folder or display.get("type") == "directory":
        return
    numbered = _LINES_SHOWN.match(use.result)
    shown = _SHOWN.search(use.result) if numbered is None else None
    inner = numbered[2] if numbered is not None else "" if shown is None else shown[1]
    content = _NUMBERED.sub("", _TAIL.sub("", inner))
    cut = use.response.get("truncated") is True or any(f"\n{mark}" in inner for mark in MORE)
    first = use.input.get("offset") in (None, 0, 1) and (numbered is None or int(numbered[1]) == 1)
    yield from list_file_uses(
        find_call_path(use.input), get_captured_text(content or None), whole=first and not cut, failed=use.failed
    )


def _extract_page_source(use: ToolUse) -> Iterator[SourceUse]:
    """Yield a page as text: whole unless opencode marks it as cut."""
    url, code = get_string(use.input.get("url")), parse_http_status(use.result) if use.failed else None
    if url is not None:
        reading = Reading.EXCERPT if use.response.get("truncated") is True else Reading.VERBATIM
        content = None if use.result == _PICTURE else get_captured_text(use.result or None)
        yield page_source_use(url, reading, content, code=code, failed=use.failed)


def _extract_search_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    yield from list_server_tool_uses("search", {}, use.result, failed=use.failed, error=use.result)


def _extract_grep_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    names = dict.fromkeys(match[1] for match in islice(_FOUND_IN.finditer(use.result), MATCHES_MAX))
    yield from list_grep_uses(format_grep_output(islice(names, LISTED_MAX)), failed=use.failed)


SOURCES: Mapping[str, SourceReader] = MappingProxyType(
    {
        **dict.fromkeys(SHELLS, _extract_shell_sources),
        "read": _extract_file_source,
        "webfetch": _extract_page_source,
        "websearch": _extract_search_sources,
        "codesearch": _extract_search_sources,
        "grep": _extract_grep_sources,
    }
)


_OVERWROTE = "Wrote file successfully: "
"""Text of 2.0 for a file that existed before it was written."""


def add_effects(use: ToolUse) -> ToolUse:
    """Return the call with the sources that it opened, the files that it changed and what it did in git."""
    use = replace(use, output=parse_tool_output(use))
    # Names of servers' tools begin with the server's name.
    opened = list_opened_sources(use, SOURCES, is_server_tool=use.tool not in OWN_TOOLS)
    refused = replace(use.output, refused=use.failed and use.output.code is None)
    ran = ShellRun(get_string(use.input.get("command")), refused, get_string(use.input.get("workdir")) or "")
    use = replace(use, opened=tuple(opened), ran=ran if use.tool in SHELLS else None)
    if use.failed:
        return use
    command = get_string(use.input.get("command")) if use.tool in SHELLS else None
    return add_git_facts(replace(use, changes=_list_file_effects(use)), command)


# --- edits ------------------------------------------------------------------------------------------------------------


def _list_file_effects(use: ToolUse) -> tuple[FileEffect, ...]:
    over = use.tool == WRITE and use.result.startswith(_OVERWROTE)
    changes = _extract_file_effects(use.tool, use.input, use.response)
    return tuple(replace(change, overwrites=change.overwrites or over) for change in changes)


def list_changed_paths(tool: str, arguments: Fields, fields: Fields) -> list[str]:
    """Return the files that a call of an editing tool names, as written."""
    return list(dict.fromkeys(change.path for change in _extract_file_effects(tool, arguments, fields)))


def _extract_file_effects(tool: str, arguments: Fields, fields: Fields) -> Iterator[FileEffect]:
    if tool == EDIT:
        yield from _extract_replacement_effects(arguments, fields)
    elif tool == MULTIEDIT:
        pairs = zip_longest(get_items(arguments.get("edits")), get_items(fields.get("results")))
        for edit, result in pairs:
            yield from _extract_replacement_effects(
                {**get_fields(edit), "filePath": find_call_path(arguments)}, get_fields(result)
            )
    elif tool == WRITE:
        path, content = find_call_path(arguments), get_captured_text(arguments.get("content"))
        if path and content is not None:
            yield FileEffect(
                path, None, content, overwrites=fields.get("exists") is True or fields.get("existed") is True
            )
    elif tool in PATCHES:
        yield from _extract_patch_effects(arguments, fields)


def _extract_replacement_effects(arguments: Fields, fields: Fields) -> Iterator[FileEffect]:
    """Yield a replacement: the whole file if reported, else the changed lines, else the piece."""
    diff = get_fields(fields.get("filediff"))
    path = find_call_path(arguments) or get_string(diff.get("file"))
    if not path:
        return
    old, new = get_captured_text(arguments.get("oldString")), get_captured_text(arguments.get("newString"))
    makes = old is not None and old.content == ""
    before, after = get_captured_text(diff.get("before")), get_captured_text(diff.get("after"))
    if before is not None and after is not None:
        yield FileEffect(path, None if makes else before, after)
    elif new is not None and (old is None or makes):
        yield FileEffect(path, None, new)
    elif old is not None and new is not None:
        first = next(map(get_fields, get_items(fields.get("files"))), {})
        pieces = _parse_diff_hunks(
            path, get_string(fields.get("diff")) or get_string(diff.get("patch")) or get_string(first.get("patch"))
        )
        if pieces and not _is_whole_lines(pieces, old, new):
            yield from file_effects_from_patch([PatchedFile(path=path, kind=PatchKind.UPDATE, pieces=pieces)])
        else:
            place = pieces[0].lines if len(pieces) == 1 else None
            yield FileEffect(path, old, new, part=True, lines=() if place is None else (place,))


def _parse_diff_hunks(path: str, diff: str | None) -> tuple[PatchHunk, ...]:
    changes = parse_event_changes({path: {"type": "update", "unified_diff": diff}}) if diff else ()
    return changes[0].pieces if changes else ()


def _is_whole_lines(pieces: tuple[PatchHunk, ...], old: Text, new: Text) -> bool:
    """Return whether a replacement covers whole lines in one place: then its own text is better than the diff."""
    if len(pieces) > 1 or old.content is None or new.content is None:
        return len(pieces) <= 1
    before, after = _count_bare_lines(pieces[0].before), _count_bare_lines(pieces[0].after)
    return not (after - before - _count_bare_lines(new.content)) and not (
        before - after - _count_bare_lines(old.content)
    )


def _count_bare_lines(text: str) -> Counter[str]:
    return Counter("".join(line.split()) for line in text.split("\n"))


def _extract_patch_effects(arguments: Fields, fields: Fields) -> Iterator[FileEffect]:
    files = [get_fields(file) for file in get_items(fields.get("files"))]
    if files and all(isinstance(file.get("before"), str) and isinstance(file.get("after"), str) for file in files):
        for file in files:
            yield from _extract_whole_file_effects(file)
        return
    changes = parse_patch_text(get_string(arguments.get("patchText")) or "")
    yield from file_effects_from_patch(changes or _parse_file_diffs(files))


def _extract_whole_file_effects(file: Fields) -> Iterator[FileEffect]:
    path, moved = get_string(file.get("filePath")), get_string(file.get("movePath"))
    before, after = get_captured_text(file.get("before")), get_captured_text(file.get("after"))
    if not path or after is None:
        return
    yield FileEffect(moved or path, None if file.get("type") == "add" else before, after)
    if moved:
        yield FileEffect(path, before, text_view_from_field(""))


def _parse_file_diffs(files: list[Fields]) -> tuple[PatchedFile, ...]:
    """Return the changes from the diffs of a patch's files, for a patch without text."""
    changes = {
        path: {"type": "update", "unified_diff": file.get("patch", file.get("diff")), "move_path": file.get("movePath")}
        for file in files
        if (path := get_string(file.get("filePath")) or get_string(file.get("file")))
    }
    return parse_event_changes(changes)


# --- commands ---------------------------------------------------------------------------------------------------------


def list_written_paths(use: ToolUse) -> list[str]:
    """Return the files that a command wrote by its own text, as written."""
    return [write.path for write in find_written_files(read_shell_run(use))]


def read_shell_run(use: ToolUse) -> ShellRun | None:
    """Return the command that a call ran; None for any other call and for one that failed."""
    if use.tool not in SHELLS or use.failed:
        return None
    folder = get_string(use.input.get("workdir")) or ""
    return ShellRun(get_string(use.input.get("command")), parse_tool_output(use), folder)
