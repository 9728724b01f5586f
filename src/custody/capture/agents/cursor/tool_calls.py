"""Effects of a call of one of Cursor's tools, from hooks, the database or transcripts.

Names and inputs: hooks of Cursor 3.19 and git-ai's reader of them (55a1d728, August 2026), transcripts of May 2026, and
the database's tool calls of ``composerData`` 3 to 16 (2025 to July 2026). The database uses other names
(``edit_file_v2`` for ``StrReplace`` and ``Write``) and has the input in ``params``, ``rawArgs`` or both.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from msgspec.structs import replace

from custody.capture import typed_field
from custody.capture.command_facts import add_git_facts, find_written_files
from custody.capture.patch import file_effects_from_patch, parse_patch_text
from custody.capture.source_use import (
    SourceReader,
    format_grep_output,
    list_command_url_uses,
    list_file_uses,
    list_grep_uses,
    list_opened_sources,
    list_server_tool_uses,
    list_web_search_uses,
)
from custody.capture.tool_use import FileEffect, ShellRun, SourceUse, ToolOutput, ToolUse
from custody.capture.typed_field import (
    Fields,
    first_payload_string,
    get_captured_text,
    get_fields,
    get_int,
    get_items,
    get_string,
)
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json
from custody.core.wire.event_views import text_view_from_field

SHELL, READ, WRITE, REPLACE, DELETE, PATCH = "shell", "read", "write", "replace", "delete", "patch"
GREP, FETCH, SEARCH, TASK = "grep", "fetch", "search", "task"
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        SHELL: "shell bash run_terminal_cmd run_terminal_command",
        READ: "read readfile read_file",
        WRITE: "write write_file create_file",
        REPLACE: "strreplace str_replace search_replace edit edit_file multiedit",
        DELETE: "delete delete_file",
        PATCH: "applypatch apply_patch",
        GREP: "grep rg ripgrep ripgrep_raw_search ripgrep_search grep_search",
        FETCH: "webfetch web_fetch fetch",
        SEARCH: "websearch web_search",
        TASK: "task subagent",
    }
)
KINDS: Mapping[str, str] = MappingProxyType({name: kind for kind, names in _NAMES.items() for name in names.split()})
"""The kind of each tool, by every name that it has had."""
EDITING = frozenset((WRITE, REPLACE, DELETE, PATCH))
PATHS = ("relativeWorkspacePath", "file_path", "path", "filePath", "target_file", "targetFile", "notebook_path")
CONTENTS = ("content", "contents", "file_text", "code_edit_result")
WORDS = ("output", "stdout", "contents", "content", "text", "result", "answer")
FILE = "file://"
_BESIDE = lazy_pattern(
    r"(?:\[Image\]|<(timestamp|image_files|uploaded_documents|attached_files|external_links|system_reminder"
    r"|open_and_recently_viewed_files|manually_attached_skills)\b[^>]*>.*?</\1>)\s*",
    re.DOTALL,
)
"""Context that Cursor puts before a typed prompt."""
_NOTICE = "<system_notification"
"""Prefix of a message that Cursor sends itself, for example when a subagent ends."""
UNKNOWN_MODELS = frozenset(("", "default", "auto", "inherit", "unknown"))
"""Names that mean that Cursor chose the model and does not report which."""


def tool_kind_from_name(tool: str) -> str | None:
    """Return the kind of a tool, by any of its names; None for a tool without effects here.

    >>> tool_kind_from_name("StrReplace"), tool_kind_from_name("edit_file_v2"), tool_kind_from_name("TodoWrite")
    ('replace', 'replace', None)
    """
    return KINDS.get(tool.lower().removesuffix("_v2"))


def parse_agent_model(value: object) -> str | None:
    """Return the name of a model; None if it is not reported."""
    name = get_string(value)
    return None if name is None or name.strip().lower() in UNKNOWN_MODELS else name


def strip_prompt_prefix(text: str) -> str:
    r"""Return the typed part of a prompt, without Cursor's context; empty for Cursor's own messages.

    >>> strip_prompt_prefix("<timestamp>Monday, Jun 8, 2026, 11:48 PM (UTC-7)</timestamp>\nmake it so")
    'make it so'
    >>> strip_prompt_prefix("make it so")
    'make it so'
    """
    rest = _drop_prompt_context(text)
    return "" if rest.startswith(_NOTICE) else rest


def is_cursor_notice(text: str) -> bool:
    """Return whether a prompt is a message that Cursor sends itself."""
    return _drop_prompt_context(text).startswith(_NOTICE)


def _drop_prompt_context(text: str) -> str:
    place = 0
    while (match := _BESIDE.match(text, place)) is not None:
        place = match.end()
    return text[place:]


def merge_call_input(*arguments: object) -> dict[str, Any]:
    """Return a call's input, merged from objects and JSON texts; any other text is its ``patch``."""
    merged: dict[str, Any] = {}
    patch = None
    for argument in arguments:
        value = parse_bubble_json(argument) if isinstance(argument, str) else argument
        merged |= get_fields(value)
        patch = argument if isinstance(argument, str) and value is None and argument.strip() else patch
    return merged if patch is None else {**merged, "patch": patch}


def add_call_result(use: ToolUse, tool: str, arguments: Fields, result: object) -> ToolUse:
    """Return the call with its input and its result, as hooks and stored conversations report them."""
    output = parse_tool_output(result)
    return replace(use, tool=tool, input=arguments, answer=result, result=output.text, output=output)


def parse_tool_output(data: object) -> ToolOutput:
    """Return the output of a tool: an object, JSON in a text, or plain text.

    >>> answer = parse_tool_output('{"exitCode": 1, "stdout": "no"}')
    >>> answer.text, answer.code
    ('no', 1)
    """
    value = parse_bubble_json(data) if isinstance(data, str) else data
    if not isinstance(value, dict):
        return ToolOutput(get_string(data) or "")
    return ToolOutput(first_payload_string(value, WORDS) or "", get_int(value.get("exitCode", value.get("exit_code"))))


def find_call_path(arguments: Fields) -> str | None:
    """Return the file that a call names, as written or as a ``file:`` URI."""
    return path_from_file_uri(next((arguments[name] for name in PATHS if get_string(arguments.get(name))), None))


def path_from_file_uri(value: object) -> str | None:
    """Return a path that is written as it is or as a ``file:`` URI; None for anything else."""
    path = get_string(value)
    return path if path is None or not path.startswith(FILE) else unquote(path.removeprefix(FILE))


def parse_bubble_json(text: str) -> Json:
    """Return the JSON object or list in a text of the database; None for any other text."""
    return typed_field.parse_payload_json(text, "surrogatepass")


# --- files ------------------------------------------------------------------------------------------------------------


def list_edited_files(use: ToolUse) -> list[str]:
    """Return the files that the call changed, as written."""
    kind = tool_kind_from_name(use.tool)
    if use.failed:
        return []
    if kind == PATCH:
        return [name for change in parse_patch_text(_find_patch_text(use)) for name in change.names]
    if kind == SHELL:
        return [write.path for write in find_written_files(read_shell_run(use))]
    path = find_call_path(use.input)
    return [] if path is None or kind not in EDITING else [path]


def list_file_effects(use: ToolUse) -> Iterator[FileEffect]:
    """Yield the files that the call changed, by its own text or as Cursor stored the whole file."""
    kind, stored = tool_kind_from_name(use.tool), get_captured_text(use.response.get("after"))
    if use.failed or kind not in EDITING:
        return
    path = find_call_path(use.input)
    if stored is None and kind == PATCH:
        yield from file_effects_from_patch(parse_patch_text(_find_patch_text(use)))
    elif stored is not None and path is not None:
        yield FileEffect(path, get_captured_text(use.response.get("before")), stored)
    elif path is not None:
        yield from _extract_file_effects(kind, use.input, path)


def _find_patch_text(use: ToolUse) -> str:
    return first_payload_string(use.input, ("patch", "input")) or ""


def _extract_file_effects(kind: str | None, arguments: Fields, path: str) -> Iterator[FileEffect]:
    if kind == DELETE:
        yield FileEffect(path, None, text_view_from_field(""))
    elif kind == WRITE and "streamingContent" not in arguments:
        content = next((get_captured_text(arguments[name]) for name in CONTENTS if name in arguments), None)
        yield from () if content is None else (FileEffect(path, None, content),)
    elif "streamingContent" in arguments and "new_string" not in arguments:
        # A streamed edit: its position in the file is not reported.
        yield FileEffect(path, text_view_from_field(""), get_captured_text(arguments["streamingContent"]), part=True)
    else:
        yield from effects_from_replacements(path, [arguments, *get_items(arguments.get("edits"))])


def effects_from_replacements(path: str, replacements: list[Any]) -> Iterator[FileEffect]:
    """Yield replacements, each before and after; replacing nothing creates the file."""
    for piece in map(get_fields, replacements):
        old, new = get_captured_text(piece.get("old_string")), get_captured_text(piece.get("new_string"))
        if new is None or old == new:
            continue
        whole = old is None or old.content == ""
        yield FileEffect(path, None, new) if whole else FileEffect(path, old, new, part=True)


# --- commands ---------------------------------------------------------------------------------------------------------


def read_shell_run(use: ToolUse) -> ShellRun | None:
    """Return the command that a call ran; None for any other call and for one that failed."""
    return None if use.failed else _read_any_shell_run(use)


def _read_any_shell_run(use: ToolUse) -> ShellRun | None:
    if tool_kind_from_name(use.tool) != SHELL:
        return None
    behind = use.input.get("is_background") is True or use.input.get("isBackground") is True
    folder = next((use.input[key] for key in ("working_directory", "cwd") if use.input.get(key)), "")
    refused = use.failed and use.output.code in (None, 0)
    output = replace(use.output, running=behind or use.output.running, refused=refused)
    return ShellRun(get_string(use.input.get("command")), output, folder if isinstance(folder, str) else "")


# --- the whole call ---------------------------------------------------------------------------------------------------


def add_effects(use: ToolUse) -> ToolUse:
    """Return the call with the files that it changed and what it did in git."""
    command = get_string(use.input.get("command")) if tool_kind_from_name(use.tool) == SHELL else None
    use = replace(use, ran=_read_any_shell_run(use))
    output = replace(use.output, code=1) if use.failed else use.output
    return add_git_facts(replace(use, output=output, changes=tuple(list_file_effects(use))), command)


# Sources that a call opened, listed or tried to open.


SERVERS = ("MCP:", "mcp-", "mcp_")
"""Prefixes of servers' tools, in hooks and in the database."""
PARTS = (
    "offset limit start_line_one_indexed end_line_one_indexed_inclusive startLineOneIndexed endLineOneIndexedInclusive"
).split()
"""Input fields of a call that reads some of a file's lines."""


def list_call_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    """Yield the sources that the call opened, listed or tried to open."""
    kind = tool_kind_from_name(use.tool) or ""
    return list_opened_sources(use, SOURCES, is_server_tool=use.tool.startswith(SERVERS), kind=kind, shown=use.result)


def _extract_server_sources(use: ToolUse, tool: str, arguments: Fields) -> Iterator[SourceUse | None]:
    yield from list_server_tool_uses(tool, arguments, use.result, failed=use.failed, error=use.result)


def _extract_shell_sources(use: ToolUse) -> Iterator[SourceUse]:
    command = get_string(use.input.get("command"))
    yield from list_command_url_uses(command, use.result, failed=use.failed, error=use.result)


def _extract_file_source(use: ToolUse) -> Iterator[SourceUse]:
    is_part = any(use.input.get(name) not in (None, 0) for name in PARTS)
    whole = not is_part or use.input.get("should_read_entire_file") is True
    yield from list_file_uses(
        find_call_path(use.input), get_captured_text(use.result or None), whole=whole, failed=use.failed
    )


def _extract_page_source(use: ToolUse) -> Iterator[SourceUse | None]:
    # The page is shown as text and may be cut; Cursor does not report how much.
    yield from _extract_server_sources(use, FETCH, {"url": use.input.get("url")})


def _extract_search_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    fields = _parse_output_fields(use)
    hits = get_items(fields.get("references")) or get_items(fields.get("results"))
    if hits:
        yield from list_web_search_uses([get_fields(hit) for hit in hits], use.result, failed=use.failed)
    else:
        yield from _extract_server_sources(use, SEARCH, {})


def _extract_grep_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    shown = format_grep_output(_list_grep_matches(_parse_output_fields(use))) or use.result
    yield from list_grep_uses(shown, get_string(use.input.get("path")), failed=use.failed)


def _list_grep_matches(fields: Fields) -> Iterator[str]:
    """Yield the files in which the database stores matching lines, by the open folders."""
    for root, result in get_fields(get_fields(fields.get("success")).get("workspaceResults")).items():
        for hit in map(get_fields, get_items(get_fields(get_fields(result).get("content")).get("matches"))):
            name = get_string(hit.get("file"))
            if name is not None:
                yield posixpath.normpath(posixpath.join(root, name))


def _parse_output_fields(use: ToolUse) -> Fields:
    return use.answer if isinstance(use.answer, dict) else get_fields(parse_bubble_json(get_string(use.answer) or ""))


SOURCES: Mapping[str, SourceReader] = MappingProxyType(
    {
        SHELL: _extract_shell_sources,
        READ: _extract_file_source,
        FETCH: _extract_page_source,
        SEARCH: _extract_search_sources,
        GREP: _extract_grep_sources,
    }
)
