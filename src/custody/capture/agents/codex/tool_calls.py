"""What a finished call of one of Codex CLI's tools says, whether a hook or a rollout told of it.

Shapes: the sources of Codex CLI at commit 343074d4207d (August 2026), ``codex-rs/core/src/tools`` for names, inputs and
answers, and for older rollouts what that commit still reads. Shell tools have had many names (``shell``,
``shell_command``, ``exec_command``, ``local_shell``, ``container.exec``); here all of them are ``Bash``, as Codex's own
hooks call them, so that both tell of one call under one name.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from custody.capture.command_facts import ToolOutput, add_git_facts
from custody.capture.patch import BEGIN, PatchedFile, changes_in, effects_of
from custody.capture.shell import commands
from custody.capture.source_use import LISTED_MAX, MCP, server_uses, shell_uses, shown_text
from custody.capture.tool_use import SourceUse, ToolUse
from custody.capture.typed_field import Fields, fields, first_string, get_int, get_string, items, json_in
from custody.core.views import Reading
from custody.core.wire.canonical import Json

BASH = "Bash"
APPLY_PATCH = "apply_patch"
SPAWN = "spawn_agent"
PREFIX = "functions."
SHELLS = frozenset("bash shell shell_command exec_command local_shell local_shell_call container.exec".split())
PATCHERS = frozenset(("apply_patch", "applypatch"))
RUNNERS = frozenset("bash zsh sh dash".split())
RUN_FLAGS = frozenset(("-lc", "-c"))
OPENED = frozenset(("open_page", "find_in_page"))
"""What a web search does that opens a page."""

_HERE = re.compile(r"<<-?[ \t]*(['\"]?)(\w{1,100})\1")


def plain(name: str, namespace: str | None = None) -> str:
    """The name of a tool as custody keeps it.

    >>> plain("functions.exec_command"), plain("apply_patch"), plain("search", "mcp__docs__")
    ('Bash', 'apply_patch', 'mcp__docs__search')
    """
    bare = name.removeprefix(PREFIX)
    if namespace is not None and namespace.startswith(MCP) and not bare.startswith(MCP):
        return f"{namespace.rstrip('_')}__{bare}"
    return BASH if bare.lower() in SHELLS else bare


# --- what a tool was given --------------------------------------------------------------------------------------------


class ToolInput(Struct, frozen=True):
    """What a call was given: a command or a patch, the folder it named, and the rest."""

    command: str | None = None
    patch: str | None = None
    folder: str | None = None
    rest: Fields | None = None

    def kept(self) -> dict[str, Json]:
        """The same in the shape of Codex's own hooks, where a command and a patch are both ``command``."""
        said = self.command if self.patch is None else self.patch
        return dict(self.rest or {}) if said is None else {"command": said}


def parse_tool_input(tool: str, said: object) -> ToolInput:
    """What a call of ``tool`` was given, in any of Codex's shapes: an object, JSON in a text, a patch."""
    if tool == APPLY_PATCH and isinstance(said, str) and not said.lstrip().startswith("{"):
        return ToolInput(patch=said)
    given = fields(json_in(said) if isinstance(said, str) else said)
    folder = next((_path(given[key]) for key in ("workdir", "working_directory", "cwd") if given.get(key)), None)
    if tool == APPLY_PATCH:
        return ToolInput(patch=first_string(given, ("command", "input", "patch")), folder=folder, rest=given)
    if tool != BASH:
        return ToolInput(folder=folder, rest=given)
    return ToolInput(command_of(given.get("command", given.get("cmd"))), None, folder, given)


def command_of(said: object) -> str | None:
    """A command as one text; of ``bash -lc TEXT`` the text.

    >>> command_of(["bash", "-lc", "ls | wc"]), command_of(["git", "log", "a b"])
    ('ls | wc', "git log 'a b'")
    """
    if isinstance(said, str):
        return said
    words = [word for word in items(said) if isinstance(word, str)]
    if not words or len(words) != len(items(said)):
        return None
    if len(words) == 3 and words[0].rpartition("/")[2] in RUNNERS and words[1] in RUN_FLAGS:
        return words[2]
    return shlex.join(words)


def folder_of(folder: str | None, around: str | None) -> str | None:
    """The folder of a call: the one that it names, below the one in which the agent works."""
    if folder is None or around is None:
        return folder or around
    return posixpath.normpath(posixpath.join(around, folder))


def _path(said: object) -> str | None:
    """A folder as written, or in a ``file:`` address."""
    named = get_string(said)
    return unquote(named.removeprefix("file://")) if named is not None and named.startswith("file:///") else named


# --- files ------------------------------------------------------------------------------------------------------------


def changes_by(tool: str, given: ToolInput) -> tuple[PatchedFile, ...]:
    """The changes that a call asks for by its own text: a patch, or a command that hands one over."""
    if tool == APPLY_PATCH:
        return () if given.patch is None else changes_in(given.patch)
    if tool != BASH or given.command is None or BEGIN not in given.command:
        return ()
    steps = commands(given.command) or commands(_closed(given.command)) or ()
    folder, found = "", list[PatchedFile]()
    for step in steps:
        name = step.words[0] if step.words else None
        if name == "cd" and len(step.words) == 2 and step.words[1] is not None:
            folder = posixpath.join(folder, step.words[1])
        elif name in PATCHERS:
            patch = step.here if step.here is not None else (step.words[1] if len(step.words) == 2 else None)
            found += changes_in(patch or "")
        else:
            return ()  # whether it came to the patch cannot be told
    return tuple(_below(folder, change) for change in found)


def _closed(command: str) -> str:
    """The command with the end of a here-document that lacks it: a shell reads such a one to where the text ends."""
    here = _HERE.search(command)
    return command if here is None else f"{command}\n{here[2]}\n"


def _below(folder: str, change: PatchedFile) -> PatchedFile:
    moved = None if change.moved is None else posixpath.join(folder, change.moved)
    return replace(change, path=posixpath.join(folder, change.path), moved=moved)


# --- what it did ------------------------------------------------------------------------------------------------------


def add_effects(use: ToolUse, given: ToolInput, answer: ToolOutput, folder: str | None) -> ToolUse:
    """The call with what it opened and changed, by what it was given and returned; ``folder`` is where it was run."""
    use = replace(
        use,
        opened=() if use.tool == APPLY_PATCH else tuple(filter(None, _opened(use, answer, folder)))[:LISTED_MAX],
        changes=() if answer.failed else effects_of(changes_by(use.tool, given)),
    )
    return add_git_facts(use, get_string(use.input.get("command")), answer)


def _opened(use: ToolUse, answer: ToolOutput, folder: str | None) -> Iterator[SourceUse | None]:
    """The sources of a call. Codex has no tool that reads a file: it runs ``cat``, ``sed -n``, ``head``, ``rg``."""
    if use.tool == BASH:
        command = get_string(use.input.get("command"))
        yield from shell_uses(command, answer, folder, failed=use.failed, error=use.words)
    elif use.tool.startswith(MCP):
        shown = shown_text(use.answer, use.words)
        yield from server_uses(use.tool, use.input, shown, failed=use.failed, error=use.words)


def list_search_sources(action: Fields, results: object) -> Iterator[SourceUse]:
    """What a web search listed, and the page that it opened: what that returned, Codex does not report."""
    url = get_string(action.get("url")) if get_string(action.get("type")) in OPENED else None
    if url:
        yield SourceUse(url, Reading.ATTEMPTED)
    for hit in map(fields, items(results)):
        listed = get_string(hit.get("url"))
        if listed:
            yield SourceUse(listed, Reading.LISTED, title=get_string(hit.get("title")))


# What a tool of Codex CLI gave back, in any of the shapes that Codex has used, and whether the call came about at
# all.
# Shapes: ``codex-rs/core/src/tools`` at commit 343074d4207d (August 2026), and rollouts that Codex 0.34 to 0.146
# wrote (August 2025 to August 2026). What a command printed stands below lines of Codex's own; where a call was
# refused, could not be begun or was broken off, Codex's words stand in the place of all that, with no code.


APPLIED = "Success. Updated the following files"
"""What Codex says of every patch that it applied."""
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
"""How Codex's own words begin where a call was not done, or nobody can tell how much of it."""

_CODE = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d{1,9})$", re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID ", re.MULTILINE)
_RAN = re.compile(r"\ACommand: .*?\n(?=(?:Chunk ID|Exit code|Wall time): )", re.DOTALL)
_HEADED = re.compile(r"\A(?:Chunk ID|Exit code|Wall time|Process exited|Process running)[^\n]*\n")
_SCRIPT = re.compile(r"\AScript (completed|failed|running|terminated)[^\n]*\nWall time [^\n]*\nOutput:\n")
_ABORTED = "\naborted by user"
_OUTPUT = "\nOutput:\n"


def answer_of(said: object) -> ToolOutput:
    r"""What a tool gave back.

    >>> answer_of("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno")
    ToolOutput(words='no', code=1, running=False, refused=False)
    """
    if isinstance(said, list):
        return answer_of("\n".join(get_string(fields(item).get("text")) or "" for item in said))
    if isinstance(said, str):
        inner = fields(json_in(said))
        return _answered(inner) if {"output", "metadata"} <= inner.keys() else _read(said)
    return _answered(fields(said))


def outcome(tool: str, said: object) -> ToolOutput:
    """What a call gave back by its rollout, where outputs stand below Codex's own lines, and refusals do not."""
    answer = answer_of(said)
    if answer.code is not None or answer.running or answer.refused or not answer.words:
        return answer
    undone = APPLIED not in answer.words if tool == APPLY_PATCH else answer.words.startswith(REFUSED)
    return replace(answer, refused=True) if undone else answer


def trim_tool_output(answer: ToolOutput) -> dict[str, Json]:
    """An answer such that its code stays when what was printed is cut."""
    about: dict[str, Json] = {"exit_code": answer.code}
    return {"output": answer.words, "metadata": {**about, "refused": True} if answer.refused else about}


def _answered(said: Fields) -> ToolOutput:
    if "content" in said and "output" not in said:
        whole = answer_of(said["content"]) if isinstance(said["content"], str | list) else ToolOutput()
        failed = said.get("success") is False and whole.code is None
        return replace(whole, code=1) if failed else whole
    words = first_string(said, ("aggregated_output", "stdout", "output")) or ""
    about = fields(said.get("metadata"))
    code = get_int(about.get("exit_code", said.get("exit_code")))
    return ToolOutput(words, code, refused=about.get("refused") is True)


def _read(said: str) -> ToolOutput:
    script = _SCRIPT.match(said)
    if script is not None:
        return _scripted(script[1], said[script.end() :].removeprefix("\n").removeprefix("Script error:\n"))
    said = said if (ran := _RAN.match(said)) is None else said[ran.end() :]
    if not _HEADED.match(said):
        return ToolOutput(said)
    head, found, words = said.partition(_OUTPUT)
    if not found and _ABORTED in said:
        return ToolOutput(said, refused=True)
    ended = _CODE.search(head)
    running = ended is None and _RUNNING.search(head) is not None
    return ToolOutput(words if found else "", None if ended is None else int(ended[1]), running)


def _scripted(how: str, said: str) -> ToolOutput:
    """What a script printed: as a rule what a command gave back, with that one's code."""
    inner = fields(json_in(said))
    printed = _answered(inner) if {"output", "exit_code"} <= inner.keys() else _read(said)
    if printed.code is not None or how == "running":
        return replace(printed, running=how == "running")
    code = 0 if how == "completed" else 1
    return replace(printed, code=code, refused=code == 1 and said.startswith(REFUSED))
