"""Effects of a finished call of one of Codex CLI's tools, from hooks or rollouts.

Shapes: Codex CLI at commit 343074d4207d (August 2026), ``codex-rs/core/src/tools``, and the older shapes that this
commit still reads. Shell tools have had many names (``shell``, ``shell_command``, ``exec_command``, ``local_shell``,
``container.exec``). Here all of them are ``Bash``, as in Codex's own hooks, so that a call has one name.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from urllib.parse import unquote

from msgspec.structs import replace

from custody.capture.agent_event import empty_tool_use
from custody.capture.command_facts import add_git_facts
from custody.capture.patch import BEGIN, PatchedFile, file_effects_from_patch, parse_patch_text
from custody.capture.shell import parse_shell_commands
from custody.capture.source_use import LISTED_MAX, MCP, SourceReader, list_opened_sources, list_shell_uses
from custody.capture.tool_use import ShellRun, SourceUse, ToolOutput, ToolUse
from custody.capture.typed_field import (
    Fields,
    first_payload_string,
    get_fields,
    get_int,
    get_items,
    get_string,
    parse_payload_json,
)
from custody.core.ids import AgentName
from custody.core.patterns import lazy_pattern
from custody.core.views import Reading
from custody.core.wire.canonical import Json

CODEX = AgentName("codex")
BASH = "Bash"
APPLY_PATCH = "apply_patch"
SPAWN = "spawn_agent"
PREFIX = "functions."
SHELLS = frozenset("bash shell shell_command exec_command local_shell local_shell_call container.exec".split())
PATCHERS = frozenset(("apply_patch", "applypatch"))
RUNNERS = frozenset("bash zsh sh dash".split())
RUN_FLAGS = frozenset(("-lc", "-c"))
FOLDERS = ("workdir", "working_directory", "cwd")
OPENING_ACTIONS = frozenset(("open_page", "find_in_page"))
"""Actions of a web search that open a page."""

_HERE = lazy_pattern(r"<<-?[ \t]*(['\"]?)(\w{1,100})\1")


def normalize_tool_name(name: str, namespace: str | None = None) -> str:
    """Return a tool's name as custody stores it.

    >>> normalize_tool_name("functions.exec_command"), normalize_tool_name("apply_patch")
    ('Bash', 'apply_patch')
    >>> normalize_tool_name("search", "mcp__docs__")
    'mcp__docs__search'
    """
    bare = name.removeprefix(PREFIX)
    if namespace is not None and namespace.startswith(MCP) and not bare.startswith(MCP):
        return f"{namespace.rstrip('_')}__{bare}"
    return BASH if bare.lower() in SHELLS else bare


# --- what a tool was given --------------------------------------------------------------------------------------------


def parse_tool_input(tool: str, arguments: object) -> ToolUse:
    """Return a call with its input and folder only, from any of Codex's shapes: an object, JSON in a text, a patch.

    The input has the shape of Codex's own hooks, where a command and a patch are both ``command``.
    """
    use = empty_tool_use(CODEX, tool)
    if tool == APPLY_PATCH and isinstance(arguments, str) and not arguments.lstrip().startswith("{"):
        return replace(use, input={"command": arguments})
    tool_input = get_fields(parse_payload_json(arguments) if isinstance(arguments, str) else arguments)
    folder = next((_path_from_file_url(tool_input[key]) for key in FOLDERS if tool_input.get(key)), None)
    command = None
    if tool == APPLY_PATCH:
        command = first_payload_string(tool_input, ("command", "input", "patch"))
    elif tool == BASH:
        command = parse_shell_command(tool_input.get("command", tool_input.get("cmd")))
    return replace(use, input=dict(tool_input) if command is None else {"command": command}, folder=folder)


def find_shell_command(use: ToolUse) -> str | None:
    """Return the shell command that a call ran; None for any other call."""
    return get_string(use.input.get("command")) if use.tool == BASH else None


def parse_shell_command(value: object) -> str | None:
    """Return a command as one text; for ``bash -lc TEXT`` the text.

    >>> parse_shell_command(["bash", "-lc", "ls | wc"]), parse_shell_command(["git", "log", "a b"])
    ('ls | wc', "git log 'a b'")
    """
    if isinstance(value, str):
        return value
    words = [word for word in get_items(value) if isinstance(word, str)]
    if not words or len(words) != len(get_items(value)):
        return None
    if len(words) == 3 and words[0].rpartition("/")[2] in RUNNERS and words[1] in RUN_FLAGS:
        return words[2]
    return shlex.join(words)


def resolve_call_folder(folder: str | None, around: str | None) -> str | None:
    """Return the folder of a call: its own, relative to the agent's."""
    if folder is None or around is None:
        return folder or around
    return posixpath.normpath(posixpath.join(around, folder))


def _path_from_file_url(value: object) -> str | None:
    """Return a path that is written as it is or as a ``file:`` URL."""
    name = get_string(value)
    return unquote(name.removeprefix("file://")) if name is not None and name.startswith("file:///") else name


# --- files ------------------------------------------------------------------------------------------------------------


def extract_patch_changes(use: ToolUse) -> tuple[PatchedFile, ...]:
    """Return the changes that a call requests by its own text: a patch, or a command that applies one."""
    if use.tool == APPLY_PATCH:
        return parse_patch_text(get_string(use.input.get("command")) or "")
    command = find_shell_command(use)
    if command is None or BEGIN not in command:
        return ()
    steps = parse_shell_commands(command) or parse_shell_commands(_close_here_document(command)) or ()
    folder, changes = "", list[PatchedFile]()
    for step in steps:
        name = step.words[0] if step.words else None
        if name == "cd" and len(step.words) == 2 and step.words[1] is not None:
            folder = posixpath.join(folder, step.words[1])
        elif name in PATCHERS:
            patch = step.here if step.here is not None else (step.words[1] if len(step.words) == 2 else None)
            changes += parse_patch_text(patch or "")
        else:
            return ()  # the command may not have reached the patch
    return tuple(_prefix_patch_paths(folder, change) for change in changes)


def _close_here_document(command: str) -> str:
    """Return the command with a missing end of its here-document added: a shell reads such a document to the end."""
    here = _HERE.search(command)
    return command if here is None else f"{command}\n{here[2]}\n"


def _prefix_patch_paths(folder: str, change: PatchedFile) -> PatchedFile:
    moved = None if change.moved is None else posixpath.join(folder, change.moved)
    return replace(change, path=posixpath.join(folder, change.path), moved=moved)


# --- what it did ------------------------------------------------------------------------------------------------------


def add_effects(use: ToolUse) -> ToolUse:
    """Return the call with the sources that it opened, the files that it changed and what it did in git."""
    listed = list_opened_sources(use, SOURCES, is_server_tool=use.tool.startswith(MCP))
    opened = () if use.tool == APPLY_PATCH else tuple(filter(None, listed))[:LISTED_MAX]
    changes = () if use.output.failed else file_effects_from_patch(extract_patch_changes(use))
    command = find_shell_command(use)
    ran = None if command is None else ShellRun(command, use.output)
    use = replace(use, opened=opened, changes=changes, ran=ran)
    return add_git_facts(use, get_string(use.input.get("command")))


def _extract_shell_sources(use: ToolUse) -> Iterator[SourceUse]:
    yield from list_shell_uses(find_shell_command(use), use.output, use.folder, failed=use.failed, error=use.result)


SOURCES: Mapping[str, SourceReader] = MappingProxyType({BASH: _extract_shell_sources})
"""Codex has no tool that reads a file: it runs ``cat``, ``sed -n``, ``rg``."""


def list_search_sources(action: Fields, results: object) -> Iterator[SourceUse]:
    """Yield the page that a web search opened, and its hits; Codex does not report the page's text."""
    url = get_string(action.get("url")) if get_string(action.get("type")) in OPENING_ACTIONS else None
    if url:
        yield SourceUse(url, Reading.ATTEMPTED)
    for hit in map(get_fields, get_items(results)):
        listed = get_string(hit.get("url"))
        if listed:
            yield SourceUse(listed, Reading.LISTED, title=get_string(hit.get("title")))


# Output of Codex CLI's tools, in any of Codex's shapes, and whether the call ran. Shapes: ``codex-rs/core/src/tools``
# at commit 343074d4207d (August 2026), and rollouts of Codex 0.34 to 0.146 (August 2025 to August 2026). A command's
# output comes after lines of Codex's own. For a refused, failed or interrupted start there is only Codex's own text,
# without an exit code.


APPLIED = "Success. Updated the following files"
"""Codex's text for every applied patch."""
REFUSED = (
    "aborted by user",
    "apply_patch verification failed",
    "approval denied",
    "approval policy is ",
    "command timed out",
    "error: Failed to ",
    "error: invalid ",
    "exec command rejected",
    "exec_command failed",
    "execution error: ",
    "failed in sandbox",
    "failed to parse function arguments",
    "patch rejected",
    "rejected by user",
    "unsupported call: ",
    "unsupported custom tool call: ",
    "writing is blocked by ",
    "writing outside of the project",
)
"""Prefixes of Codex's own text for a call that did not run, or ran to an unknown point."""

_CODE = lazy_pattern(r"^(?:Exit code: |Process exited with code )(-?\d{1,9})$", re.MULTILINE)
_RUNNING = lazy_pattern(r"^Process running with session ID ", re.MULTILINE)
_RAN = lazy_pattern(r"\ACommand: .*?\n(?=(?:Chunk ID|Exit code|Wall time): )", re.DOTALL)
_HEADED = lazy_pattern(r"\A(?:Chunk ID|Exit code|Wall time|Process exited|Process running)[^\n]*\n")
_SCRIPT = lazy_pattern(r"\AScript (completed|failed|running|terminated)[^\n]*\nWall time [^\n]*\nOutput:\n")
_ABORTED = "\naborted by user"
_OUTPUT = "\nOutput:\n"


def parse_tool_output(value: object) -> ToolOutput:
    r"""Return the output of a tool.

    >>> parse_tool_output("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno")
    ToolOutput(text='no', code=1, running=False, refused=False)
    """
    if isinstance(value, list):
        return parse_tool_output("\n".join(get_string(get_fields(item).get("text")) or "" for item in value))
    if isinstance(value, str):
        inner = get_fields(parse_payload_json(value))
        return _parse_output_fields(inner) if {"output", "metadata"} <= inner.keys() else _parse_output_text(value)
    return _parse_output_fields(get_fields(value))


def parse_rollout_output(tool: str, value: object) -> ToolOutput:
    """Return the output of a call in a rollout, which marks refusals only by their text."""
    answer = parse_tool_output(value)
    if answer.code is not None or answer.running or answer.refused or not answer.text:
        return answer
    undone = APPLIED not in answer.text if tool == APPLY_PATCH else answer.text.startswith(REFUSED)
    return replace(answer, refused=True) if undone else answer


def trim_tool_output(answer: ToolOutput) -> dict[str, Json]:
    """Return an output in a shape that keeps its exit code when the text is cut."""
    about: dict[str, Json] = {"exit_code": answer.code}
    return {"output": answer.text, "metadata": {**about, "refused": True} if answer.refused else about}


def _parse_output_fields(fields: Fields) -> ToolOutput:
    if "content" in fields and "output" not in fields:
        whole = parse_tool_output(fields["content"]) if isinstance(fields["content"], str | list) else ToolOutput()
        failed = fields.get("success") is False and whole.code is None
        return replace(whole, code=1) if failed else whole
    text = first_payload_string(fields, ("aggregated_output", "stdout", "output")) or ""
    about = get_fields(fields.get("metadata"))
    code = get_int(about.get("exit_code", fields.get("exit_code")))
    return ToolOutput(text, code, refused=about.get("refused") is True)


def _parse_output_text(text: str) -> ToolOutput:
    script = _SCRIPT.match(text)
    if script is not None:
        return _parse_script_output(script[1], text[script.end() :].removeprefix("\n").removeprefix("Script error:\n"))
    text = text if (ran := _RAN.match(text)) is None else text[ran.end() :]
    if not _HEADED.match(text):
        return ToolOutput(text)
    head, separator, output = text.partition(_OUTPUT)
    if not separator and _ABORTED in text:
        return ToolOutput(text, refused=True)
    ended = _CODE.search(head)
    running = ended is None and _RUNNING.search(head) is not None
    return ToolOutput(output if separator else "", None if ended is None else int(ended[1]), running)


def _parse_script_output(how: str, text: str) -> ToolOutput:
    """Return the output of a script: usually that of its command, with its exit code."""
    inner = get_fields(parse_payload_json(text))
    printed = _parse_output_fields(inner) if {"output", "exit_code"} <= inner.keys() else _parse_output_text(text)
    if printed.code is not None or how == "running":
        return replace(printed, running=how == "running")
    code = 0 if how == "completed" else 1
    return replace(printed, code=code, refused=code == 1 and text.startswith(REFUSED))
