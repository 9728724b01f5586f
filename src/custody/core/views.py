"""What records say, as the rest of the product reads it.

A view is a pure function of one record's payload and a reader's version. No truth lives in a view: it can be dropped
and made again. Several records may observe the same thing; readers of views merge observations, never stores.
"""

from dataclasses import dataclass
from enum import Enum

from custody.core.ids import (
    AgentName,
    CallId,
    CommitSha,
    ContentHash,
    Digest,
    ExecutionId,
    PromptId,
    SessionId,
    SpanId,
)
from custody.core.paths import Lines, RepoPath

TRANSCRIPT = "transcript"
"""The kind of a record that is a line of an agent's transcript."""


@dataclass(frozen=True, slots=True)
class Text:
    """A captured text by its digest; ``content`` is None once it was erased: it was there, and supports nothing."""

    digest: Digest
    content: str | None


class CallStatus(Enum):
    """How a tool call ended, as far as we saw."""

    RUNNING = "running"
    OK = "ok"
    FAILED = "failed"
    ABANDONED = "abandoned"


class Reading(Enum):
    """How a source was read."""

    VERBATIM = "verbatim"
    EXCERPT = "excerpt"
    SUMMARISED = "summarised"
    LISTED = "listed"
    ATTEMPTED = "attempted"
    NEVER = "never"


class LinkOrigin(Enum):
    """Who says that a session made a commit."""

    HOOK = "hook"
    GIT_OPERATION = "git_operation"
    PULL_REQUEST = "pull_request"
    IMPORTED = "imported"
    CONTENT = "content"


class DecisionKind(Enum):
    """What was decided about a change; or that an agent's score was lifted."""

    ACCEPTED = "accepted"
    MODIFIED = "modified"
    REJECTED = "rejected"
    RECOVERED = "recovered"


class SpanKind(Enum):
    """What a span is a stretch of."""

    SESSION = "session"
    TURN = "turn"
    AGENT = "agent"
    WORKFLOW = "workflow"
    CAPABILITY = "capability"
    TOOL = "tool"
    LLM = "llm"
    RETRIEVAL = "retrieval"


class SpanPhase(Enum):
    """Which part of a span a record tells of."""

    START = "start"
    END = "end"
    WHOLE = "whole"


class SpanStatus(Enum):
    """How a span ended: ``ABANDONED`` when nobody ended it, ``KILLED`` when its process was."""

    OK = "ok"
    ERROR = "error"
    ABANDONED = "abandoned"
    KILLED = "killed"


@dataclass(frozen=True, slots=True)
class Session:
    """One agent session as captured; ``revision`` is the commit it worked on top of."""

    agent: AgentName
    id: SessionId
    started_ns: int
    ended_ns: int | None = None
    revision: CommitSha | None = None
    worktree: str | None = None
    model: str | None = None
    operator: str | None = None
    parent: SessionId | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a person asked of an agent."""

    agent: AgentName
    session: SessionId
    id: PromptId
    at_ns: int
    text: Text


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool by an agent or a subagent.

    ``about`` is what a finer name of the call depends on: a command, a file's path or a subagent's type, perhaps cut.
    """

    agent: AgentName
    session: SessionId
    id: CallId
    name: str
    started_ns: int
    ended_ns: int | None = None
    status: CallStatus = CallStatus.RUNNING
    parent: CallId | None = None
    prompt: PromptId | None = None
    subagent: str | None = None
    model: str | None = None
    about: str | None = None


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A change that an agent made to one file; before and after are None where they were not captured.

    ``part``: before and after are a piece of the file, not the whole of it. ``proposed`` is what the agent had written
    where a person changed it before it was applied: what ``after`` has beyond it is the person's. ``overwrites``: the
    file was there before, and nobody told what was in it.
    """

    agent: AgentName
    session: SessionId
    id: str
    path: RepoPath
    at_ns: int
    call: CallId | None = None
    revision: CommitSha | None = None
    before: Text | None = None
    after: Text | None = None
    lines: tuple[Lines, ...] = ()
    hashes: tuple[ContentHash, ...] = ()
    part: bool = False
    proposed: Text | None = None
    overwrites: bool = False


@dataclass(frozen=True, slots=True)
class TracedRange:
    """What a trace of another tool says of one stretch; ``level`` is where it said so: conversation, change or file.

    ``share`` is how much of it is said to be the agent's: below 1 where a person is said to have a part in it.
    """

    level: str
    lines: Lines | None = None
    hash: ContentHash | None = None
    conversation: str | None = None
    model: str | None = None
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class TracedFile:
    """That a trace of another tool touched a file: where, with which hashes, but without any text.

    ``session`` is the trace's own id, or the agent's session where the trace tells it. ``of_revision``: the lines are
    those of the file in ``revision`` itself, which brought them; else the trace was made on top of that commit.
    ``within`` and ``call`` are the agent's own session and call where a trace tells them beside its id.
    """

    agent: AgentName
    session: SessionId
    path: RepoPath
    at_ns: int
    revision: CommitSha | str | None = None
    ranges: tuple[TracedRange, ...] = ()
    conversation: str | None = None
    model: str | None = None
    of_revision: bool = False
    within: SessionId | None = None
    call: CallId | None = None
    producer: str | None = None


@dataclass(frozen=True, slots=True)
class SourceAccess:
    """A source that an agent opened, and how it was read; ``locator`` is a URL or a path, as written.

    ``code`` is what a server answered with, where that was told. An attempt with ``failed`` brought nothing back; of
    any other attempt nobody knows what it brought.
    """

    agent: AgentName
    session: SessionId
    id: str
    locator: str
    reading: Reading
    at_ns: int
    call: CallId | None = None
    title: str | None = None
    text: Text | None = None
    code: int | None = None
    failed: bool = False

    @property
    def is_opened(self) -> bool:
        """Whether something of the source itself was read, if only a summary."""
        return self.reading in OPENED


OPENED = frozenset((Reading.VERBATIM, Reading.EXCERPT, Reading.SUMMARISED))
"""The readings of a source that was opened."""


@dataclass(frozen=True, slots=True)
class CommitLink:
    """The statement that a session made a commit."""

    agent: AgentName
    session: SessionId
    commit: CommitSha
    origin: LinkOrigin
    at_ns: int


@dataclass(frozen=True, slots=True)
class PullRequestFact:
    """That a session opened, merged or spoke of a pull request."""

    agent: AgentName
    session: SessionId
    number: int
    at_ns: int
    repository: str | None = None
    url: str | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True)
class ObservedCommit:
    """That git made a commit here, as its own hook saw it; ``replaced`` are the commits that it was rewritten from."""

    commit: CommitSha
    at_ns: int
    worktree: str | None = None
    replaced: tuple[CommitSha, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person or a rule decided about an agent's change.

    ``commit_name`` is the commit as it was named where that is no full id. ``reverts`` and ``overrides`` are ids of
    earlier decisions; ``boost`` is how much a recovery lifts the score. ``areas`` are the parts of the repository that
    the change touches. What landed without review is ``unreviewed``, and bound to a head, rules and a chain's head.
    ``outcome`` is what became of the change, where that was told; ``sessions`` wrote its lines.
    """

    agent: AgentName
    id: str
    decision: DecisionKind
    at_ns: int
    session: SessionId | None = None
    actor: str | None = None
    reason: str | None = None
    commit: CommitSha | None = None
    complexity: str | None = None
    changed_lines: int | None = None
    review_ms: int | None = None
    commit_name: str | None = None
    reverts: str | None = None
    overrides: str | None = None
    boost: float | None = None
    model: str | None = None
    operator: str | None = None
    areas: tuple[str, ...] = ()
    opened_ns: int | None = None
    unreviewed: bool = False
    head: CommitSha | None = None
    rules_digest: str | None = None
    chain_head: str | None = None
    outcome: str | None = None
    sessions: tuple[SessionId, ...] = ()


@dataclass(frozen=True, slots=True)
class DuplicateAnswer:
    """What a person said that two changes are to each other; each is the diff from its base to its head."""

    id: str
    at_ns: int
    head: CommitSha
    base: str
    other_head: CommitSha
    other_base: str
    answer: str
    actor: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Something that statements can rest on, as it was registered."""

    id: str
    at_ns: int
    url: str | None = None
    title: str | None = None
    snippet: str | None = None
    publisher: str | None = None
    author: str | None = None
    year: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A pull request, a commit or any ``base..head``, as it was announced."""

    id: str
    at_ns: int
    base: CommitSha
    head: CommitSha
    title: str | None = None
    url: str | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was seen on disk around a call; ``text`` is None for a binary file and for one that is gone."""

    agent: AgentName
    session: SessionId | None
    call: CallId | None
    phase: str
    path: RepoPath
    at_ns: int
    text: Text | None = None
    gone: bool = False
    revision: CommitSha | None = None


@dataclass(frozen=True, slots=True)
class SpanRef:
    """A span by name; ``execution`` is None where nobody said of which."""

    execution: ExecutionId | None
    span: SpanId


@dataclass(frozen=True, slots=True)
class ObservedSpan:
    """What one record tells of a span of a running program: its start, its end, or all of it.

    ``started_ns`` and ``ended_ns`` are None where the record does not say. ``server`` is whose tool was called.
    ``dropped`` counts attributes that were too many to keep.
    """

    execution: ExecutionId
    id: SpanId
    phase: SpanPhase
    name: str
    kind: SpanKind
    started_ns: int | None
    ended_ns: int | None = None
    parent: SpanId | None = None
    links: tuple[SpanRef, ...] = ()
    status: SpanStatus | None = None
    server: str | None = None
    attributes: tuple[tuple[str, bool | int | float | str | None], ...] = ()
    dropped: int = 0
    agent: AgentName | None = None
    session: SessionId | None = None

    @property
    def node(self) -> str:
        """What was called, as a graph names it: ``capability:NAME``, ``SERVER:TOOL``, ``KIND:NAME``."""
        return f"{self.server}:{self.name}" if self.server is not None else f"{self.kind.value}:{self.name}"


@dataclass(frozen=True, slots=True)
class Observation:
    """That something of a session was captured, whether or not a reader knows what it means."""

    agent: AgentName
    session: SessionId
    event: str
    at_ns: int


View = (
    Session
    | Prompt
    | ToolCall
    | FileEdit
    | TracedFile
    | SourceAccess
    | CommitLink
    | PullRequestFact
    | ObservedCommit
    | Decision
    | DuplicateAnswer
    | Source
    | Change
    | FileState
    | ObservedSpan
    | Observation
)
