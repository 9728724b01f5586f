"""What a finished call of one of Codex CLI's tools says, whether a hook or a rollout told of it.

Shapes: the sources of Codex CLI at commit 343074d4207d (August 2026), ``codex-rs/core/src/tools`` for names, inputs and
answers, and for older rollouts what that commit still reads. Shell tools have had many names (``shell``,
``shell_command``, ``exec_command``, ``local_shell``, ``container.exec``); here all of them are ``Bash``, as Codex's own
hooks call them, so that both tell of one call under one name.
"""

import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from custody.capture.agents.claude.tool_calls import Done, git_facts
from custody.capture.agents.codex.patch import BEGIN, Change, Kind, Piece, changes_in
from custody.capture.shell import Write, commands, writes
from custody.capture.typed_field import Fields, fields, items, string
from custody.core.digest import whole_hash
from custody.core.errors import InputError
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, Text, View
from custody.core.wire.canonical import Json, parse, text_bytes
from custody.core.wire.event_views import text_view

BASH = "Bash"
APPLY_PATCH = "apply_patch"
SPAWN = "spawn_agent"
PREFIX = "functions."
SHELLS = frozenset("bash shell shell_command exec_command local_shell local_shell_call container.exec".split())
PATCHERS = frozenset(("apply_patch", "applypatch"))
RUNNERS = frozenset("bash zsh sh dash".split())
RUN_FLAGS = frozenset(("-lc", "-c"))
MCP = "mcp__"
READ_FROM_TEXT = ":shell:"
"""In the id of an edit that only a patch's or a command's text tells: what was seen on disk around it says more."""

_HERE = re.compile(r"<<-?[ \t]*(['\"]?)(\w{1,100})\1")
_MADE = re.compile(r"^\[[^\]\n]* ([0-9a-f]{7,64})\] ", re.MULTILINE)
_COMMITTING = frozenset(("commit", "cherry-pick", "revert"))
_PULL = re.compile(r"https?://[^/\s]+/[^/\s]+/[^/\s]+/pull/(\d{1,15})\b")
_NOT_WRITTEN = ("No such file or directory", "Permission denied", "Is a directory", "Read-only file system")


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


@dataclass(frozen=True, slots=True)
class Given:
    """What a call was given: a command or a patch, the folder it named, and the rest."""

    command: str | None = None
    patch: str | None = None
    folder: str | None = None
    rest: Fields | None = None

    def kept(self) -> dict[str, Json]:
        """The same in the shape of Codex's own hooks, where a command and a patch are both ``command``."""
        said = self.command if self.patch is None else self.patch
        return dict(self.rest or {}) if said is None else {"command": said}


def given_to(tool: str, said: object) -> Given:
    """What a call of ``tool`` was given, in any of Codex's shapes: an object, JSON in a text, a patch."""
    if tool == APPLY_PATCH and isinstance(said, str) and not said.lstrip().startswith("{"):
        return Given(patch=said)
    given = fields(_json(said) if isinstance(said, str) else said)
    folder = next((_path(given[key]) for key in ("workdir", "working_directory", "cwd") if given.get(key)), None)
    if tool == APPLY_PATCH:
        patch = next((given[key] for key in ("command", "input", "patch") if isinstance(given.get(key), str)), None)
        return Given(patch=patch, folder=folder, rest=given)
    if tool != BASH:
        return Given(folder=folder, rest=given)
    return Given(command_of(given.get("command", given.get("cmd"))), None, folder, given)


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
    named = string(said)
    return unquote(named.removeprefix("file://")) if named is not None and named.startswith("file:///") else named


# --- what it gave back ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool printed, its exit code if that was told, and whether it still ran then.

    ``refused``: the call was not done, or nobody can tell how much of it; the words are then the agent program's.
    """

    words: str = ""
    code: int | None = None
    running: bool = False
    refused: bool = False

    @property
    def failed(self) -> bool:
        """Whether it certainly went wrong."""
        return self.refused or self.code not in (None, 0)


def _json(said: str) -> object:
    try:
        return parse(said.encode("utf-8", "replace")) if said.lstrip()[:1] == "{" else None
    except InputError:
        return None  # words that only begin like JSON


# --- files ------------------------------------------------------------------------------------------------------------


def changes_by(tool: str, given: Given) -> tuple[Change, ...]:
    """The changes that a call asks for by its own text: a patch, or a command that hands one over."""
    if tool == APPLY_PATCH:
        return () if given.patch is None else changes_in(given.patch)
    if tool != BASH or given.command is None or BEGIN not in given.command:
        return ()
    steps = commands(given.command) or commands(_closed(given.command)) or ()
    folder, found = "", list[Change]()
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


def _below(folder: str, change: Change) -> Change:
    moved = None if change.moved is None else posixpath.join(folder, change.moved)
    return replace(change, path=posixpath.join(folder, change.path), moved=moved)


def written_by(given: Given, answer: Answer) -> tuple[Write, ...]:
    """What a shell command certainly wrote, by its own text."""
    if given.command is None or answer.running or answer.refused:
        return ()
    if not answer.failed:
        return writes(given.command)
    if any(sign in answer.words for sign in _NOT_WRITTEN):
        return ()
    return tuple(write for write in writes(given.command) if write.sure)


def edits(done: Done, changes: Sequence[Change]) -> Iterator[FileEdit]:
    """The edits that changes are; several of one file are numbered."""
    count: Counter[RepoPath] = Counter()
    for change in changes:
        own = done.locate(change.path)
        target = own if change.moved is None else done.locate(change.moved)
        if target is not None:
            for before, after, piece in _texts(change):
                yield _edit(done, target, count[target], before, after, piece)
                count[target] += 1
        if change.moved is not None and own is not None:
            yield _edit(done, own, count[own], None, text_view(""), None)
            count[own] += 1


def _texts(change: Change) -> Iterator[tuple[Text | None, Text | None, Piece | None]]:
    if change.kind is Kind.ADD:
        yield None, change.after, None
    elif change.kind is Kind.DELETE:
        yield change.before, text_view(""), None
    elif change.untold is not None:
        yield None, change.untold, None
    for piece in change.pieces:
        yield text_view(piece.before), text_view(piece.after), piece


def written(done: Done, found: Sequence[Write]) -> Iterator[FileEdit]:
    """The edits that a command's own text tells."""
    for n, write in enumerate(found):
        path = done.locate(write.path)
        if path is not None:
            before = text_view("") if write.append else None
            edit = _edit(done, path, n, before, text_view(write.text), None)
            yield replace(edit, part=write.append)


def _edit(done: Done, path: RepoPath, n: int, before: Text | None, after: Text | None, piece: Piece | None) -> FileEdit:
    known = None if after is None else after.content
    return FileEdit(
        agent=done.agent,
        session=done.session,
        id=f"{done.call}{READ_FROM_TEXT}{n}",
        path=path,
        at_ns=done.at_ns,
        call=done.call,
        revision=done.revision,
        before=before,
        after=after,
        lines=() if piece is None or piece.lines is None else (piece.lines,),
        hashes=() if known is None else (whole_hash(text_bytes(known)),),
        part=piece is not None,
    )


# --- commits and pull requests ----------------------------------------------------------------------------------------


def commits_in(command: str | None, answer: Answer) -> list[str]:
    """The commits that a command made, as git's own words name them: abbreviated, as a rule."""
    if command is None or "git" not in command or not any(word in command for word in _COMMITTING):
        return []
    steps = commands(command)
    made = steps is None or any(step.words[:1] == ("git",) and _COMMITTING & set(step.words) for step in steps)
    return list(dict.fromkeys(_MADE.findall(answer.words))) if made else []


def facts(done: Done, answer: Answer, commits: dict[str, str | None]) -> Iterator[View]:
    """The commits that a shell command made and the pull request that it opened; ids as ``git_facts`` takes them."""
    command = string(done.input.get("command"))
    for sha in commits_in(command, answer):
        yield from git_facts(replace(done, response={"gitOperation": {"commit": {"sha": sha}}}), commits)
    opened = _PULL.search(answer.words) if command is not None and "gh pr create" in command else None
    if opened is not None and not answer.failed:
        request = {"number": int(opened[1]), "url": opened[0], "action": "created"}
        yield from git_facts(replace(done, response={"gitOperation": {"pr": request}}))
