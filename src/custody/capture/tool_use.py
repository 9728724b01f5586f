"""A finished call of an agent's tool, in the same words for every agent, and the views that it gives.

Each agent's package has tables of its tools' names and fields. From them it makes a ``ToolUse`` of what a hook or a
transcript reported; here, and only here, a ``ToolUse`` becomes views.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from custody.capture.shell import Write
from custody.capture.typed_field import Fields, clean, full_sha
from custody.core.ids import AgentName, CallId, CommitSha, SessionId, whole_hash
from custody.core.paths import Lines, RepoPath
from custody.core.views import CommitLink, FileEdit, LinkOrigin, PullRequestFact, Reading, SourceAccess, Text, View
from custody.core.wire.canonical import text_bytes
from custody.core.wire.event_views import text_view

LOCATOR_CHARS_MAX = 4000
READ_FROM_TEXT = ":shell:"
"""In the id of an edit that only a call's own text tells: a snapshot of the file around the call says more."""


class SourceUse(Struct, frozen=True):
    """A source that a call opened, listed or tried to open; ``code`` is the answer of its server."""

    locator: str
    reading: Reading
    title: str | None = None
    text: Text | None = None
    code: int | None = None
    failed: bool = False


class FileEffect(Struct, frozen=True):
    """What a call made of one file, as it named it: the whole text, or with ``part`` a piece of it.

    ``proposed`` is the agent's own text where a person changed it. ``overwrites``: the file existed, with unknown text.
    """

    path: str
    before: Text | None
    after: Text | None
    part: bool = False
    lines: tuple[Lines, ...] = ()
    proposed: Text | None = None
    overwrites: bool = False


class ToolUse(Struct, frozen=True, kw_only=True):
    """A call that ended: whose it is, what it was given and returned, and what it did with sources, files and git.

    ``answer`` is what the tool returned in any shape, ``response`` its named fields, ``words`` what the model was
    shown. ``opened`` has None where a number is left out, so that the others keep theirs.
    """

    agent: AgentName
    session: SessionId
    call: CallId
    at_ns: int
    tool: str
    locate: Callable[[object], RepoPath | None]
    """A path of the repository for a path as written; None for a path outside it, or for anything else."""
    revision: CommitSha | None = None
    input: Fields = {}
    response: Fields = {}
    answer: object = None
    words: str = ""
    failed: bool = False
    opened: tuple[SourceUse | None, ...] = ()
    changes: tuple[FileEffect, ...] = ()
    from_text: bool = True
    """Whether only the call's own text tells the changes: snapshots of the files then say more."""
    writes: tuple[Write, ...] = ()
    """What a command wrote by its own text; empty where snapshots are taken around it."""
    commits: tuple[str, ...] = ()
    """The commits that the call made, by full or abbreviated ids."""
    pull_request: PullRequestFact | None = None


def use_views(use: ToolUse, known: Mapping[str, str | None] = MappingProxyType({})) -> Iterator[View]:
    """The sources, edits, commits and pull request of a call; ``known`` has the full ids of abbreviated commits.

    A hook's event is read long after, perhaps elsewhere: there, ``known`` is empty and abbreviated ids give nothing.
    """
    yield from source_reads(use)
    yield from file_edits(use)
    yield from written_edits(use)
    yield from git_facts(use, known)


def source_reads(use: ToolUse) -> Iterator[SourceAccess]:
    """The sources that the call opened, listed or tried to open."""
    for n, source in enumerate(use.opened):
        if source is not None:
            yield SourceAccess(
                agent=use.agent,
                session=use.session,
                id=f"{use.call}:{n}",
                locator=clean(source.locator)[:LOCATOR_CHARS_MAX],
                reading=source.reading,
                at_ns=use.at_ns,
                call=use.call,
                title=None if source.title is None else clean(source.title),
                text=source.text,
                code=source.code,
                failed=source.failed,
            )


def file_edits(use: ToolUse) -> Iterator[FileEdit]:
    """The edits of files in the repository; several of one file are numbered."""
    count: Counter[RepoPath] = Counter()
    for change in use.changes:
        path = use.locate(change.path)
        if path is not None:
            n = count[path]
            numbered = f"{use.call}:{n}" if n else use.call
            yield to_edit(use, change, path, text_id(use, n) if use.from_text else numbered)
            count[path] += 1


def written_edits(use: ToolUse) -> Iterator[FileEdit]:
    """The edits that a command's own text tells, numbered by their place in the command."""
    for n, write in enumerate(use.writes):
        path = use.locate(write.path)
        if path is not None:
            before = text_view("") if write.append else None
            change = FileEffect(write.path, before, text_view(write.text), part=write.append)
            yield to_edit(use, change, path, text_id(use, n))


def text_id(use: ToolUse, n: int) -> str:
    """The id of the call's edit number ``n`` that only its own text tells."""
    return f"{use.call}{READ_FROM_TEXT}{n}"


def to_edit(use: ToolUse, change: FileEffect, path: RepoPath, name: str) -> FileEdit:
    """The edit that a change of ``path`` by the call is, under the id ``name``."""
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
        hashes=() if content is None else (whole_hash(text_bytes(content)),),
        part=change.part,
        proposed=change.proposed,
        overwrites=change.overwrites,
    )


def git_facts(use: ToolUse, known: Mapping[str, str | None] = MappingProxyType({})) -> Iterator[View]:
    """The commits that the call made and the pull request that it spoke of; an unknown abbreviated id gives nothing."""
    for name in use.commits:
        sha = full_sha(name) or known.get(name)
        if sha is not None:
            yield CommitLink(use.agent, use.session, CommitSha(sha), LinkOrigin.GIT_OPERATION, use.at_ns)
    if use.pull_request is not None:
        yield use.pull_request
