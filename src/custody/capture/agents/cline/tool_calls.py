"""Effects of a finished call of one of the tools of Cline and Roo Code: sources, files edited, commands, commits.

Tools, inputs and results: ``src/core/prompts/responses.ts`` and the tools' handlers of Cline 3.2 to 3.89, and
``src/core/tools`` of Roo Code at cb836567 (April 2026); tested with public tasks of Cline of January and April 2026.
Older versions write a call as XML in the answer; both name the same tools and inputs.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.command_facts import add_git_facts, find_written_files
from custody.capture.patch import file_effects_from_patch, parse_patch_text, parse_replace_blocks
from custody.capture.source_use import (
    LISTED_MAX,
    SourceReader,
    list_command_url_uses,
    list_file_uses,
    list_opened_sources,
    list_server_tool_uses,
)
from custody.capture.tool_use import FileEffect, ShellRun, SourceUse, ToolOutput, ToolUse
from custody.capture.typed_field import (
    Fields,
    first_payload_string,
    get_captured_text,
    get_fields,
    get_items,
    get_string,
    parse_payload_json,
)
from custody.core.patterns import lazy_pattern
from custody.core.wire.event_views import text_view_from_field

SHELL, WRITE, PATCH, SERVER = "execute_command", "write_to_file", "apply_patch", "use_mcp_tool"
BLOCKS = frozenset(("replace_in_file", "apply_diff"))
"""Tools with SEARCH/REPLACE blocks in ``diff``."""
STRINGS = frozenset(("edit", "edit_file", "search_replace", "search_and_replace"))
"""Tools that replace ``old_string`` by ``new_string``."""
EDITING = frozenset((WRITE, PATCH, *BLOCKS, *STRINGS))
PATHS = ("path", "absolutePath", "file_path")
REFUSED = (
    "The tool execution failed",
    "The user denied",
    "Missing value for required parameter",
    "[ERROR]",
    "Access to ",
    "Tool [",
    "Error",
    "<error",
    "File does not exist",
    "Unable to apply diff",
    "Command was not executed",
    "This tool use was cancelled",
)
"""Prefixes of the result of a call that was refused or failed."""
RUNNING = ("is still running", "Command timed out")

_EDITED = lazy_pattern(
    r"successfully (?:saved|applied)|<operation>(?:created|modified)</|\"operation\"\s*:\s*\"(?:created|modified)\""
    r"|[Ss]uccessfully applied patch"
)
"""What the result of an edit says once the file is written."""
_CREATED = lazy_pattern(r"<operation>(created|modified)</|\"operation\"\s*:\s*\"(created|modified)\"")
_CODE = lazy_pattern(r"[Ee]xit code:? (\d{1,9})")
_OUTPUT = lazy_pattern(r"(?:^|\n)(?:Here's the o|O)utput(?: so far)?:\n?")
_START_LINE = lazy_pattern(r"(?::(?:start|end)_line:\s*\d+\s*\n)+(?:-{5,9}\s*\n)?")
_NUMBERED = lazy_pattern(r"^\s*\d+ \| ?", re.MULTILINE)
_SHOWN_FILE = lazy_pattern(r"\A(?:<files>\s*)?<file>\s*<path>[^<]*</path>\s*<content[^>]*>\n(.*?)</content>", re.DOTALL)
_FILE_HEADER = lazy_pattern(r"\AFile: [^\n]*\nLines [^\n]*:\n")
_PATH_TAG = lazy_pattern(r"<path>([^<]{1,4096})</path>")


# --- the result -------------------------------------------------------------------------------------------------------


def has_call_failed(result: str) -> bool:
    """Return whether the result says that the call was refused or failed."""
    status = get_fields(parse_payload_json(result)).get("status") if result.startswith("{") else None
    return result.lstrip().startswith(REFUSED) or status in ("error", "denied")


def is_call_denied(result: str) -> bool:
    """Return whether the user refused the call."""
    status = get_fields(parse_payload_json(result)).get("status") if result.startswith("{") else None
    return result.lstrip().startswith("The user denied") or status == "denied"


def has_written_file(tool: str, result: str) -> bool:
    """Return whether the result of an editing tool says that the file was written."""
    return tool in EDITING and not has_call_failed(result) and _EDITED.search(result) is not None


def find_written_operation(result: str) -> str | None:
    """Return ``created`` or ``modified`` as Roo Code reports it.

    >>> find_written_operation('{"path":"a.py","operation":"created"}')
    'created'
    """
    match = _CREATED.search(result)
    return None if match is None else match[1] or match[2]


def parse_command_result(result: str) -> ToolOutput:
    r"""Return a command's output from the text shown to the model.

    >>> parse_command_result("Command failed with exit code 2.\nOutput:\nno rule").code
    2
    """
    head, _, _ = result.partition("\n")
    code, start = _CODE.search(head), _OUTPUT.search(result)
    return ToolOutput(
        result[start.end() :] if start else "",
        None if code is None else int(code[1]),
        running=any(mark in head for mark in RUNNING),
        refused=has_call_failed(result),
    )


# --- the whole call ---------------------------------------------------------------------------------------------------


def add_effects(use: ToolUse) -> ToolUse:
    """Return the call with the sources that it opened, the files that it changed and what it did in git."""
    run = read_shell_run(use)
    if run is not None:
        use = add_git_facts(replace(use, output=run.output), run.command)
    opened = list_opened_sources(use, SOURCES, is_server_tool=False)
    return replace(
        use,
        opened=tuple(opened),
        changes=tuple(_list_file_effects(use)),
        writes=find_written_files(run),
        ran=run,
        from_text=False,
    )


def list_changed_paths(use: ToolUse) -> list[str]:
    """Return the files that a call with its effects changed, as written."""
    return [*(change.path for change in use.changes), *(write.path for write in use.writes)]


def read_shell_run(use: ToolUse) -> ShellRun | None:
    """Return the command that a call ran; None for any other call."""
    if use.tool != SHELL:
        return None
    return ShellRun(
        get_string(use.input.get("command")), parse_command_result(use.result), get_string(use.input.get("cwd")) or ""
    )


def _list_file_effects(use: ToolUse) -> Iterator[FileEffect]:
    if use.response.get("written") is not True:
        return
    path, arguments = first_payload_string(use.input, PATHS), use.input
    if use.tool == PATCH:
        yield from file_effects_from_patch(parse_patch_text(first_payload_string(arguments, ("input", "patch")) or ""))
    elif path is None:
        return
    elif use.tool == WRITE:
        yield from _list_written_effects(use, path)
    elif use.tool in BLOCKS:
        blocks = parse_replace_blocks((get_string(arguments.get("diff")) or "").splitlines())
        yield from (_to_piece(path, _START_LINE.sub("", before, 1), after) for before, after in blocks)
    else:
        old, new = get_captured_text(arguments.get("old_string")), get_captured_text(arguments.get("new_string"))
        if new is not None and old != new:
            whole = old is None or old.content == ""
            yield FileEffect(path, None, new) if whole else FileEffect(path, old, new, part=True)


def _list_written_effects(use: ToolUse, path: str) -> Iterator[FileEffect]:
    """Yield the written file as it was stored: with formatting by the editor, or with a person's changes."""
    proposed, stored = get_captured_text(use.input.get("content")), get_captured_text(use.response.get("final"))
    after = stored or proposed
    if after is not None:
        by_person = stored is not None and use.response.get("edited") is True
        yield FileEffect(
            path,
            None,
            after,
            proposed=proposed if by_person else None,
            overwrites=use.response.get("existed") is True,
        )


def _to_piece(path: str, before: str, after: str) -> FileEffect:
    new = text_view_from_field(after)
    # Replacing nothing writes the whole file.
    return FileEffect(path, text_view_from_field(before), new, part=True) if before else FileEffect(path, None, new)


# --- sources ----------------------------------------------------------------------------------------------------------


def _extract_shell_sources(use: ToolUse) -> Iterator[SourceUse]:
    command = get_string(use.input.get("command"))
    yield from list_command_url_uses(command, use.output.text, failed=use.output.failed, error=use.result)


def _extract_file_sources(use: ToolUse) -> Iterator[SourceUse]:
    arguments, names = use.input, _list_read_files(use.input)
    parts = any(arguments.get(key) for key in ("start_line", "end_line", "offset", "limit", "mode", "line_range"))
    for name in names[:LISTED_MAX]:
        text = get_captured_text(_extract_shown_text(use.result)) if len(names) == 1 and use.result else None
        yield from list_file_uses(name, text, whole=not parts and len(names) == 1, failed=use.failed)


def _list_read_files(arguments: Fields) -> list[str]:
    single = first_payload_string(arguments, PATHS)
    listed = [get_string(get_fields(entry).get("path")) for entry in get_items(arguments.get("files"))]
    tagged = _PATH_TAG.findall(get_string(arguments.get("args")) or "")
    return list(dict.fromkeys([single] if single else [*filter(None, listed), *tagged]))


def _extract_shown_text(result: str) -> str:
    """Return the text of a single file without the wrapping and the line numbers that Roo Code adds."""
    shown = _SHOWN_FILE.match(result)
    text = shown[1] if shown else _FILE_HEADER.sub("", result)
    lines = text.splitlines()
    return _NUMBERED.sub("", text) if lines and all(map(_NUMBERED.match, lines)) else text


def _extract_page_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    yield from list_server_tool_uses(
        "fetch", {"url": use.input.get("url")}, use.result, failed=use.failed, error=use.result
    )


def _extract_server_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    tool, arguments = get_string(use.input.get("tool_name")) or "", use.input.get("arguments")
    given = parse_payload_json(arguments) if isinstance(arguments, str) else arguments
    yield from list_server_tool_uses(tool, get_fields(given), use.result, failed=use.failed, error=use.result)


SOURCES: Mapping[str, SourceReader] = MappingProxyType(
    {
        SHELL: _extract_shell_sources,
        "read_file": _extract_file_sources,
        "web_fetch": _extract_page_sources,
        SERVER: _extract_server_sources,
    }
)
