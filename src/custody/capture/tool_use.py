"""A finished call of an agent's tool, in one shape for every agent, and its views.

Each agent's package has tables of its tools' names and fields. With them it makes a ``ToolUse`` of what a hook or a
transcript reported. Only this module turns a ``ToolUse`` into views.
"""

import posixpath
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from custody.capture.shell import Write, shorten_shell_command
from custody.capture.typed_field import Fields, get_full_sha, strip_unstorable_characters
from custody.core.ids import AgentName, CallId, CommitSha, SessionId, content_hash_from_text
from custody.core.paths import Lines, RepoPath
from custody.core.run_summary import parse_run_summaries
from custody.core.views import (
    CommandExit,
    CommandRecord,
    CommitLink,
    FileEdit,
    LinkOrigin,
    PullRequestFact,
    Reading,
    SourceAccess,
    Text,
    View,
)
from custody.core.wire.canonical import encode_json_text
from custody.core.wire.event_views import CODE_MAX, COMMAND_CHARACTERS_MAX, text_view_from_field

LOCATOR_CHARS_MAX = 4000
READ_FROM_TEXT = ":shell:"
"""In the id of an edit that only the call's own text shows; a snapshot around the call shows more."""


class SourceUse(Struct, frozen=True):
    """A source that a call opened, listed or tried to open; ``code`` is the HTTP status."""

    locator: str
    reading: Reading
    title: str | None = None
    text: Text | None = None
    code: int | None = None
    failed: bool = False


class FileEffect(Struct, frozen=True):
    """The effect of a call on one file, by its path as written: the whole text, or with ``part`` a piece of it.

    ``proposed`` is the agent's own text if a person changed it. ``overwrites``: the file existed, with unknown text.
    """

    path: str
    before: Text | None
    after: Text | None
    part: bool = False
    lines: tuple[Lines, ...] = ()
    proposed: Text | None = None
    overwrites: bool = False


class ToolOutput(Struct, frozen=True):
    """A command's output, its exit code if reported, and whether it was still running.

    ``refused``: the call did not run, or ran to an unknown point; the text is then the agent program's.
    """

    text: str = ""
    code: int | None = None
    running: bool = False
    refused: bool = False

    @property
    def failed(self) -> bool:
        """Whether it certainly failed."""
        return self.refused or self.code not in (None, 0)


class ShellRun(Struct, frozen=True):
    """A shell command that a call ran, its output, and the folder where it ran, if the call names one."""

    command: str | None
    output: ToolOutput
    folder: str = ""


class ToolUse(Struct, frozen=True, kw_only=True):
    """A call that ended: its session, its input and result, and its effects on sources, files and git.

    ``answer`` is the tool's return value in any shape, ``response`` its named fields, ``result`` the text
    shown to the model, ``output`` a command's output. ``opened`` has None for skipped numbers.
    """

    agent: AgentName
    session: SessionId
    call: CallId
    at_ns: int
    tool: str
    locate: Callable[[object], RepoPath | None]
    """Return the path of the repository for a path as written; None outside it, or for any other value."""
    revision: CommitSha | None = None
    input: Fields = {}
    response: Fields = {}
    answer: object = None
    result: str = ""
    output: ToolOutput = ToolOutput()
    failed: bool = False
    folder: str | None = None
    """The folder in which the agent, or the call's command, worked."""
    cwd: str | None = None
    """The folder of the agent when it made the call; ``folder`` is more exact."""
    root: str | None = None
    """The work tree's root, in the same form as the folders."""
    opened: tuple[SourceUse | None, ...] = ()
    changes: tuple[FileEffect, ...] = ()
    from_text: bool = True
    """Whether only the call's own text shows the changes: snapshots of the files then show more."""
    writes: tuple[Write, ...] = ()
    """Files that a command wrote by its own text; empty if snapshots are taken around it."""
    ran: ShellRun | None = None
    """The shell command of the call; None for any other call."""
    commits: tuple[str, ...] = ()
    """The commits that the call made, by full or abbreviated ids."""
    pull_request: PullRequestFact | None = None


def views_from_tool_use(use: ToolUse, known: Mapping[str, str | None] = MappingProxyType({})) -> Iterator[View]:
    """Yield the command, sources, edits, commits and pull request of a call.

    ``known`` has the full ids of abbreviated commits. A hook's event is read later, perhaps elsewhere: it is then
    empty, and abbreviated ids give nothing.
    """
    yield from list_command_records(use)
    yield from list_source_accesses(use)
    yield from list_file_edits(use)
    yield from list_shell_edits(use)
    yield from list_git_facts(use, known)


def list_command_records(use: ToolUse) -> Iterator[CommandRecord]:
    """Yield the shell command of the call, with the summaries of test runners in its output."""
    if use.ran is None or use.ran.command is None:
        return
    output = use.ran.output
    yield CommandRecord(
        agent=use.agent,
        session=use.session,
        call=use.call,
        at_ns=use.at_ns,
        command=strip_unstorable_characters(shorten_shell_command(use.ran.command, COMMAND_CHARACTERS_MAX)),
        folder=strip_unstorable_characters(_join_folder(use.folder or use.cwd or "", use.ran.folder)) or None,
        root=None if use.root is None else strip_unstorable_characters(use.root),
        code=None if output.code is None or abs(output.code) > CODE_MAX else output.code,
        end=CommandExit.REFUSED if output.refused else CommandExit.RUNNING if output.running else CommandExit.EXITED,
        summaries=parse_run_summaries(output.text),
    )


def _join_folder(folder: str, inside: str) -> str:
    return posixpath.join(folder, inside) if inside else folder


def list_source_accesses(use: ToolUse) -> Iterator[SourceAccess]:
    """Yield the sources that the call opened, listed or tried to open."""
    for n, source in enumerate(use.opened):
        if source is not None:
            yield SourceAccess(
                agent=use.agent,
                session=use.session,
                id=f"{use.call}:{n}",
                locator=strip_unstorable_characters(source.locator)[:LOCATOR_CHARS_MAX],
                reading=source.reading,
                at_ns=use.at_ns,
                call=use.call,
                title=None if source.title is None else strip_unstorable_characters(source.title),
                text=source.text,
                code=source.code,
                failed=source.failed,
            )


def list_file_edits(use: ToolUse) -> Iterator[FileEdit]:
    """Yield the edits of files in the repository; several edits of one file are numbered."""
    count: Counter[RepoPath] = Counter()
    for change in use.changes:
        path = use.locate(change.path)
        if path is not None:
            n = count[path]
            numbered = f"{use.call}:{n}" if n else use.call
            yield to_file_edit(use, change, path, make_text_edit_id(use, n) if use.from_text else numbered)
            count[path] += 1


def list_shell_edits(use: ToolUse) -> Iterator[FileEdit]:
    """Yield the edits that a command's own text shows, numbered by their place in the command."""
    for n, write in enumerate(use.writes):
        path = use.locate(write.path)
        if path is not None:
            before = text_view_from_field("") if write.append else None
            change = FileEffect(write.path, before, text_view_from_field(write.text), part=write.append)
            yield to_file_edit(use, change, path, make_text_edit_id(use, n))


def make_text_edit_id(use: ToolUse, n: int) -> str:
    """Return the id of the call's ``n``-th edit, if only the text of the call shows it."""
    return f"{use.call}{READ_FROM_TEXT}{n}"


def to_file_edit(use: ToolUse, change: FileEffect, path: RepoPath, name: str) -> FileEdit:
    """Return a change of ``path`` by the call as an edit with the id ``name``."""
    content = None if change.after is None else change.after.content
    return FileEdit(
        agent=use.agent,
        session=use.session,
        id=name,
        path=path,
        at_ns=use.at_ns,
        call=use.call,
        revision=use.revision,
        before=change.before,
        after=change.after,
        lines=change.lines,
        hashes=() if content is None else (content_hash_from_text(encode_json_text(content)),),
        part=change.part,
        proposed=change.proposed,
        overwrites=change.overwrites,
    )


def list_git_facts(use: ToolUse, known: Mapping[str, str | None] = MappingProxyType({})) -> Iterator[View]:
    """Yield the commits and the pull request of the call; an unknown abbreviated id gives nothing."""
    for name in use.commits:
        sha = get_full_sha(name) or known.get(name)
        if sha is not None:
            yield CommitLink(use.agent, use.session, CommitSha(sha), LinkOrigin.GIT_OPERATION, use.at_ns)
    if use.pull_request is not None:
        yield use.pull_request
