"""Effects of a finished call of one of Copilot's tools, from VS Code or the CLI, from hooks or sessions.

Shapes: for VS Code ``package.json`` and ``src/extension/tools`` of microsoft/vscode-copilot-chat at 31acd00a (0.42 of
March 2026); for the CLI ``app.js`` of @github/copilot 1.0.62 (June 2026), the hooks reference of github/docs (autumn
2026), and files and events of 1.0.102 (November 2026). The CLI's hooks use Claude Code's tool names
(``call_name.COPILOTS``), its transcripts the tools' own; custody uses the former. No tool reports a file's previous
text: an edit is the piece that it replaces, and snapshots show more.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.command_facts import add_git_facts, find_written_files
from custody.capture.hook.call_name import COPILOTS, parse_copilot_input
from custody.capture.patch import BEGIN, PatchedFile, PatchHunk, PatchKind, file_effects_from_patch, parse_patch_text
from custody.capture.source_use import (
    LISTED_MAX,
    MATCHES_MAX,
    SourceReader,
    format_grep_output,
    list_file_uses,
    list_grep_uses,
    list_opened_sources,
    list_shell_uses,
    list_web_search_uses,
    page_source_use,
    parse_http_status,
)
from custody.capture.tool_use import ShellRun, SourceUse, ToolOutput, ToolUse
from custody.capture.typed_field import (
    Fields,
    first_payload_string,
    get_captured_text,
    get_fields,
    get_items,
    get_string,
)
from custody.core.patterns import lazy_pattern
from custody.core.views import Reading
from custody.core.wire.event_views import find_call_subject

# Sources that a call opened, listed or tried to open. A tool shows a file with line numbers or text of its own, so that
# is not stored as the file's text.


SERVERS = "mcp_"
"""Prefix of servers' tools in VS Code."""
PATHS = ("path", "filePath", "file_path")
PARTS = ("view_range", "startLine", "endLine", "offset", "limit")
"""Input fields of a call that reads some of a file's lines."""

_LINES = lazy_pattern(r"Lines (\d{1,9}) to (\d{1,9}) \((\d{1,9}) lines total\)")
_MATCH = lazy_pattern(r'<match path="([^"\n]+)"')
_LINK = lazy_pattern(r"\[(?P<title>[^\]\n]*)\]\((?P<url>https?://[^\s()]+)\)")


BASH = "Bash"
SHELLS = frozenset((BASH, "run_in_terminal"))


def _extract_shell_sources(use: ToolUse) -> Iterator[SourceUse]:
    command, output = get_string(use.input.get("command")), use.output
    yield from list_shell_uses(command, output, use.folder, failed=output.failed, error=output.text)


def _skip_agent_folder(read: SourceReader) -> SourceReader:
    """Return the reader without the agent's folder and the folders above it."""

    def read_others(use: ToolUse) -> Iterator[SourceUse | None]:
        for source in read(use):
            yield source if source and not _is_agent_folder(source.locator, use.folder) else None

    return read_others


def _is_agent_folder(name: str, folder: str | None) -> bool:
    """Return whether a name is the agent's folder or a folder above it: a file list, not a source."""
    return folder is not None and f"{folder}/".startswith(f"{name.rstrip('/')}/")


def _extract_file_source(use: ToolUse) -> Iterator[SourceUse]:
    path = first_payload_string(use.input, PATHS)
    shown = _LINES.search(use.result[:1000])
    whole = all(use.input.get(key) is None for key in PARTS)
    if shown is not None:
        first, last, total = map(int, shown.groups())
        whole = last - first + 1 >= total
    yield from list_file_uses(path, None, whole=whole, failed=use.failed)


def _extract_editor_source(use: ToolUse) -> Iterator[SourceUse]:
    """Yield the file that the editor tool of older versions shows."""
    if use.input.get("command") == "view":
        yield from _extract_file_source(use)


def _extract_page_sources(use: ToolUse) -> Iterator[SourceUse]:
    """Yield the requested pages; Copilot shows extracts of them."""
    arguments = [use.input.get("url"), *get_items(use.input.get("urls"))]
    urls = list(dict.fromkeys(url for url in arguments if isinstance(url, str)))[:LISTED_MAX]
    content = get_captured_text(use.result or None) if len(urls) == 1 else None
    code = parse_http_status(use.result) if use.failed else None
    yield from (page_source_use(url, Reading.EXCERPT, content, code=code, failed=use.failed) for url in urls)


def _extract_search_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    hits = [match.groupdict() for match in islice(_LINK.finditer(use.result), LISTED_MAX)]
    yield from list_web_search_uses(hits, use.result, failed=use.failed)


def _extract_grep_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    names = (match[1] for match in islice(_MATCH.finditer(use.result), MATCHES_MAX))
    yield from list_grep_uses(
        format_grep_output(names) or use.result, get_string(use.input.get("path")), failed=use.failed
    )


_FILE_SOURCES: Mapping[str, SourceReader] = MappingProxyType(
    {
        "Read": _extract_file_source,
        "read_file": _extract_file_source,
        "Edit": _extract_editor_source,
        "WebFetch": _extract_page_sources,
        "fetch_webpage": _extract_page_sources,
        "WebSearch": _extract_search_sources,
        "Grep": _extract_grep_sources,
        "grep_search": _extract_grep_sources,
    }
)
SOURCES: Mapping[str, SourceReader] = MappingProxyType(
    {tool: _skip_agent_folder(read) for tool, read in _FILE_SOURCES.items()}
    | dict.fromkeys(SHELLS, _extract_shell_sources)
)


OLD = ("old_str", "oldString", "old_string")
NEW = ("new_str", "newString", "new_string")
WHOLE = ("file_text", "content")
PATCH = ("input", "patch")
SUBAGENTS = frozenset(("Agent", "Task", "runSubagent"))
CONTRIBUTED: Mapping[str, str] = MappingProxyType(
    {
        "copilot_applyPatch": "apply_patch",
        "copilot_createFile": "create_file",
        "copilot_insertEdit": "insert_edit_into_file",
        "copilot_replaceString": "replace_string_in_file",
        "copilot_multiReplaceString": "multi_replace_string_in_file",
        "copilot_editNotebook": "edit_notebook_file",
        "copilot_readFile": "read_file",
        "copilot_findTextInFiles": "grep_search",
        "copilot_fetchWebPage": "fetch_webpage",
    }
)
"""VS Code's own names for tools that models know by others."""

_CODE = lazy_pattern(
    r"<(?:command with \S+ \S+ |shellId: \S+ )?(?:exited|completed) with exit code (-?\d{1,9})>"
    r"|^Command exited with code (-?\d{1,9})",
    re.MULTILINE,
)
_BACKGROUND = lazy_pattern(r"<command (?:started in background with|with shellId: \S+ is still running)")
_ERROR = ("ERROR while calling tool", "ERROR: ")
NOTICE = lazy_pattern(r"\s*<system_notification>.*</system_notification>\s*", re.DOTALL)
"""Text that the CLI puts into its own prompt, for example when a background command ends."""


def normalize_tool_name(tool: str) -> str:
    """Return a tool's name as custody stores it.

    >>> [normalize_tool_name(tool) for tool in ("bash", "str_replace_editor", "copilot_replaceString", "runSubagent")]
    ['Bash', 'Edit', 'replace_string_in_file', 'runSubagent']
    """
    return CONTRIBUTED.get(tool) or COPILOTS.get(tool, tool)


def parse_call_input(value: object) -> Fields:
    """Return a call's input as an object; a bare patch becomes its ``input``."""
    arguments = parse_copilot_input(value)
    return {"input": arguments} if isinstance(arguments, str) else get_fields(arguments)


def describe_tool_call(tool: str, arguments: Fields) -> str | None:
    """Return the subject of a call: a command, a file, a subagent's type."""
    fields = {name: value for name, value in arguments.items() if name != "command" or tool in SHELLS}
    return find_call_subject({**fields, "path": _first_input_field(arguments, PATHS)})


def parse_tool_output(text: str, arguments: Fields, *, failed: bool = False) -> ToolOutput:
    """Return a call's output; for a command with its exit code.

    >>> answer = parse_tool_output("no such file <exited with exit code 2>", {})
    >>> answer.text, answer.code
    ('no such file ', 2)
    """
    matches = list(_CODE.finditer(text))
    code = int(matches[-1][1] or matches[-1][2]) if matches else None
    behind = (
        arguments.get("isBackground") is True or arguments.get("mode") == "async" or arguments.get("detach") is True
    )
    behind = behind or _BACKGROUND.search(text) is not None
    if failed and code in (None, 0):
        code = 1
    return ToolOutput(text[: matches[-1].start()] if matches else text, code, behind and code is None)


def has_command_failed(tool: str, text: str, arguments: Fields) -> bool:
    """Return whether a finished command reports a failure."""
    return tool in SHELLS and parse_tool_output(text, arguments).failed


def append_exit_code(text: str, code: object) -> str:
    """Return a command's output with its exit code, if that is reported separately."""
    known = isinstance(code, int) and not isinstance(code, bool)
    return text if not known or _CODE.search(text) else f"{text}\n<exited with exit code {code}>"


def is_tool_error(text: str) -> bool:
    """Return whether the text shown to the model reports a failure; chats have no other mark."""
    return text.startswith(_ERROR)


def add_effects(use: ToolUse, *, with_writes: bool = False) -> ToolUse:
    """Return the call with the sources that it opened, the files that it changed and what it did in git.

    ``with_writes``: no snapshots were taken around a command, so its own text shows what it wrote.
    """
    use = replace(use, output=parse_tool_output(use.result, use.input, failed=use.failed))
    command = get_string(use.input.get("command"))
    use = replace(
        use,
        opened=tuple(list_opened_sources(use, SOURCES, is_server_tool=use.tool.startswith(SERVERS))),
        changes=() if use.failed else file_effects_from_patch(extract_file_changes(use.tool, use.input)),
        writes=find_written_files(read_shell_run(use.tool, use.input, use.output)) if with_writes else (),
    )
    return add_git_facts(replace(use, ran=read_shell_run(use.tool, use.input, use.output)), command)


def list_changed_paths(tool: str, arguments: Fields, answer: ToolOutput) -> list[str]:
    """Return the files that a call changed, as it wrote them."""
    paths = (
        []
        if answer.failed and tool not in SHELLS
        else [n for change in extract_file_changes(tool, arguments) for n in change.names]
    )
    paths += [write.path for write in find_written_files(read_shell_run(tool, arguments, answer))]
    return list(dict.fromkeys(paths))


def read_shell_run(tool: str, arguments: Fields, answer: ToolOutput) -> ShellRun | None:
    """Return the command that a call ran; None for any other call."""
    return ShellRun(get_string(arguments.get("command")), answer) if tool in SHELLS else None


# --- edits ------------------------------------------------------------------------------------------------------------


def extract_file_changes(tool: str, arguments: Fields) -> tuple[PatchedFile, ...]:
    """Return the changes that a call asks for by its own input."""
    patch = _first_input_field(arguments, PATCH)
    if tool in ("Edit", "apply_patch") and isinstance(patch, str) and BEGIN in patch:
        return parse_patch_text(patch)
    if tool == "multi_replace_string_in_file":
        return tuple(
            patched_file
            for replacement in map(get_fields, get_items(arguments.get("replacements")))
            for patched_file in _parse_text_replacement(replacement)
        )
    command = arguments.get("command") if tool == "Edit" else None
    change = _COMMANDS.get(str(command)) or CHANGES.get(tool)
    return () if change is None else change(arguments)


def _parse_file_creation(arguments: Fields) -> tuple[PatchedFile, ...]:
    path, whole = (
        get_string(_first_input_field(arguments, PATHS)),
        get_captured_text(_first_input_field(arguments, WHOLE)),
    )
    return () if path is None or whole is None else (PatchedFile(path=path, kind=PatchKind.ADD, after=whole),)


def _parse_text_replacement(arguments: Fields) -> tuple[PatchedFile, ...]:
    path, old, new = (
        get_string(_first_input_field(arguments, PATHS)),
        get_captured_text(_first_input_field(arguments, OLD)),
        get_captured_text(_first_input_field(arguments, NEW)),
    )
    if path is None or old is None or new is None:
        return ()
    if old.content == "":
        # A replacement of nothing makes the file.
        return (PatchedFile(path=path, kind=PatchKind.ADD, after=new),)
    if old.content is None or new.content is None:
        return (PatchedFile(path=path, kind=PatchKind.UPDATE, erased=old if old.content is None else new),)
    return (PatchedFile(path=path, kind=PatchKind.UPDATE, pieces=(PatchHunk(old.content, new.content),)),)


def _parse_text_insertion(arguments: Fields) -> tuple[PatchedFile, ...]:
    path, new = (
        get_string(_first_input_field(arguments, PATHS)),
        get_string(_first_input_field(arguments, (*NEW, "insert_text"))),
    )
    return (
        ()
        if path is None or not new
        else (PatchedFile(path=path, kind=PatchKind.UPDATE, pieces=(PatchHunk("", new),)),)
    )


def _ignore_call_input(_given: Fields) -> tuple[PatchedFile, ...]:
    return ()


def _first_input_field(arguments: Fields, names: tuple[str, ...]) -> object:
    return next((arguments[name] for name in names if arguments.get(name) is not None), None)


CHANGES: Mapping[str, Callable[[Fields], tuple[PatchedFile, ...]]] = MappingProxyType(
    {
        "Write": _parse_file_creation,
        "create_file": _parse_file_creation,
        "Edit": _parse_text_replacement,
        "str_replace": _parse_text_replacement,
        "replace_string_in_file": _parse_text_replacement,
    }
)
_COMMANDS: Mapping[str, Callable[[Fields], tuple[PatchedFile, ...]]] = MappingProxyType(
    {"view": _ignore_call_input, "create": _parse_file_creation, "insert": _parse_text_insertion}
)
"""Commands of ``str_replace_editor`` other than replacements."""
HINT_TOOLS = frozenset(("insert_edit_into_file", "edit_notebook_file"))
"""Tools whose input only hints at their changes: snapshots or a chat show them."""
EDITING = frozenset((*CHANGES, *HINT_TOOLS, "apply_patch", "multi_replace_string_in_file"))
