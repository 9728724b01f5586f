"""Views: the content of records, as the rest of the product reads it.

A view is a pure function of one record's payload and a reader's version. A view is derived: it can be dropped
and rebuilt. Several records may observe the same object; readers of views merge observations, stores do not.
"""

from enum import Enum

from msgspec import Struct

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
from custody.core.run_summary import RunnerSummary

TRANSCRIPT = "transcript"
"""The kind of records that are lines of an agent's transcript."""


class Text(Struct, frozen=True):
    """A captured text by its digest; ``content`` is None after it was erased."""

    digest: Digest
    content: str | None


class CallStatus(Enum):
    """The status of a tool call, as far as observed."""

    RUNNING = "running"
    OK = "ok"
    FAILED = "failed"
    ABANDONED = "abandoned"


class Reading(Enum):
    """The way a source was read."""

    VERBATIM = "verbatim"
    EXCERPT = "excerpt"
    SUMMARISED = "summarised"
    LISTED = "listed"
    ATTEMPTED = "attempted"
    NEVER = "never"


class LinkOrigin(Enum):
    """The origin of the statement that a session made a commit."""

    HOOK = "hook"
    GIT_OPERATION = "git_operation"
    PULL_REQUEST = "pull_request"
    IMPORTED = "imported"
    CONTENT = "content"


class DecisionKind(Enum):
    """A decision about a change, or a raise of an agent's score."""

    ACCEPTED = "accepted"
    MODIFIED = "modified"
    REJECTED = "rejected"
    RECOVERED = "recovered"


class SpanKind(Enum):
    """The kind of work that a span records."""

    SESSION = "session"
    TURN = "turn"
    AGENT = "agent"
    WORKFLOW = "workflow"
    CAPABILITY = "capability"
    TOOL = "tool"
    LLM = "llm"
    RETRIEVAL = "retrieval"


class SpanPhase(Enum):
    """The part of a span that a record describes."""

    START = "start"
    END = "end"
    WHOLE = "whole"


class SpanStatus(Enum):
    """The end of a span: ``ABANDONED`` without an end, ``KILLED`` with its process."""

    OK = "ok"
    ERROR = "error"
    ABANDONED = "abandoned"
    KILLED = "killed"


class Session(Struct, frozen=True):
    """One agent session as captured; ``revision`` is the commit it started from."""

    agent: AgentName
    id: SessionId
    started_ns: int
    ended_ns: int | None = None
    revision: CommitSha | None = None
    worktree: str | None = None
    model: str | None = None
    operator: str | None = None
    parent: SessionId | None = None


class Prompt(Struct, frozen=True):
    """A person's prompt to an agent."""

    agent: AgentName
    session: SessionId
    id: PromptId
    at_ns: int
    text: Text


class ToolCall(Struct, frozen=True):
    """One call of a tool by an agent or a subagent.

    ``about`` is a command, a file's path or a subagent's type, perhaps cut; a finer name of the call depends on it.
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


class CommandExit(Enum):
    """How a recorded command ended, as far as its call reports it."""

    EXITED = "exited"
    RUNNING = "running"
    REFUSED = "refused"


class CommandRecord(Struct, frozen=True):
    """A shell command that a call ran, and what its result shows.

    ``command`` has no texts of here-documents, and is cut. ``code`` is the exit status, None if unknown. ``summaries``
    are what test runners printed. ``REFUSED``: it did not run, or ran to an unknown point. ``folder`` is as written,
    ``root`` is the root of the work tree.
    """

    agent: AgentName
    session: SessionId
    call: CallId
    at_ns: int
    command: str
    folder: str | None = None
    root: str | None = None
    code: int | None = None
    end: CommandExit = CommandExit.EXITED
    summaries: tuple[RunnerSummary, ...] = ()


class FileEdit(Struct, frozen=True):
    """A change that an agent made to one file; before and after are None if not captured.

    ``part``: before and after are a part of the file. ``proposed`` is the agent's text if a person changed it before it
    was applied: what ``after`` adds to it is from the person. ``overwrites``: the file existed, and its content is
    unknown.
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


class TracedRange(Struct, frozen=True):
    """The claim of another tool's trace about one line range, at a ``level``: conversation, change or file.

    ``share`` is the agent's claimed part: below 1 if a person has a part in it.
    """

    level: str
    lines: Lines | None = None
    hash: ContentHash | None = None
    conversation: str | None = None
    model: str | None = None
    share: float = 1.0


class TracedFile(Struct, frozen=True):
    """A file in a trace of another tool: its ranges and hashes, without text.

    ``session`` is the trace's own id, or the agent's session if the trace has it. ``of_revision``: the lines are those
    of the file in ``revision``, which added them; otherwise the trace was made on top of that commit. ``within`` and
    ``call`` are the agent's own session and call, if a trace has them in addition to its id.
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


class SourceAccess(Struct, frozen=True):
    """A source that an agent opened, and how it was read; ``locator`` is a URL or a path, as written.

    ``code`` is the server's status, if known. An attempt with ``failed`` returned nothing; the result of any other
    attempt is unknown.
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
        """Return whether the source itself was read, at least as a summary."""
        return self.reading in OPENED


OPENED = frozenset((Reading.VERBATIM, Reading.EXCERPT, Reading.SUMMARISED))
"""The readings of a source that was opened."""


class CommitLink(Struct, frozen=True):
    """The statement that a session made a commit."""

    agent: AgentName
    session: SessionId
    commit: CommitSha
    origin: LinkOrigin
    at_ns: int


class PullRequestFact(Struct, frozen=True):
    """A session opened, merged or mentioned a pull request."""

    agent: AgentName
    session: SessionId
    number: int
    at_ns: int
    repository: str | None = None
    url: str | None = None
    action: str | None = None


class ObservedCommit(Struct, frozen=True):
    """A commit that git's hook reported; ``replaced`` are the commits that it was rewritten from."""

    commit: CommitSha
    at_ns: int
    worktree: str | None = None
    replaced: tuple[CommitSha, ...] = ()


class WitnessClaim(Struct, frozen=True):
    """What a decision says about its witness: its kind, its name, and a signature to check, if any."""

    kind: str
    by: str
    signature: str | None = None


class Decision(Struct, frozen=True):
    """The decision of a person or a rule about an agent's change.

    ``commit_name`` is the commit as the caller named it, if not the full id. ``reverts`` and ``overrides`` are ids of
    earlier decisions; ``boost`` is how much a recovery raises the score. ``areas`` are the parts of the repository that
    the change touches. A change merged without review is ``unreviewed``, and bound to a head, rules and a chain's head.
    ``outcome`` is the fate of the change, if reported; ``sessions`` wrote its lines. ``patch`` is the patch identity of
    the change, ``agent_lines`` counts the added lines of the agent.
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
    patch: str | None = None
    agent_lines: int | None = None
    witness: WitnessClaim | None = None


class DuplicateAnswer(Struct, frozen=True):
    """A person's answer about how two changes are related; each is the diff from its base to its head."""

    id: str
    at_ns: int
    head: CommitSha
    base: str
    other_head: CommitSha
    other_base: str
    answer: str
    actor: str | None = None
    reason: str | None = None


class HunkRead(Struct, frozen=True):
    """A person's statement, or a code host's, that the person read a hunk of a change.

    ``hunk`` is the patch identity of the hunk, ``head`` the change as it was read, compared with ``base``.
    """

    id: str
    person: str
    hunk: str
    path: RepoPath
    at_ns: int
    head: CommitSha
    base: CommitSha | None = None
    via: str = "command"
    witness: WitnessClaim | None = None


class AuthorClaim(Struct, frozen=True):
    """A person's statement that they wrote lines of a file; ``text`` are these lines."""

    id: str
    person: str
    path: RepoPath
    at_ns: int
    text: Text
    lines: tuple[Lines, ...] = ()
    message: str | None = None
    revision: CommitSha | None = None


class Source(Struct, frozen=True):
    """A source that supports statements, as registered."""

    id: str
    at_ns: int
    url: str | None = None
    title: str | None = None
    snippet: str | None = None
    publisher: str | None = None
    author: str | None = None
    year: int | None = None


class Change(Struct, frozen=True):
    """A pull request, a commit or any ``base..head``, as announced."""

    id: str
    at_ns: int
    base: CommitSha
    head: CommitSha
    title: str | None = None
    url: str | None = None
    number: int | None = None


class FileState(Struct, frozen=True):
    """A file on disk before or after a call; ``text`` is None for a binary and for a deleted file."""

    agent: AgentName
    session: SessionId | None
    call: CallId | None
    phase: str
    path: RepoPath
    at_ns: int
    text: Text | None = None
    gone: bool = False
    revision: CommitSha | None = None


class SpanRef(Struct, frozen=True):
    """A span by name; ``execution`` is None if unknown."""

    execution: ExecutionId | None
    span: SpanId


class ObservedSpan(Struct, frozen=True):
    """A span of a running program in one record: its start, its end, or all of it.

    ``started_ns`` and ``ended_ns`` are None if unknown. ``server`` is the server of the called tool. ``dropped`` counts
    attributes over the limit.
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
        """Return the name of the span's node in the graph: ``capability:NAME``, ``SERVER:TOOL``, ``KIND:NAME``."""
        return f"{self.server}:{self.name}" if self.server is not None else f"{self.kind.value}:{self.name}"


class Observation(Struct, frozen=True):
    """Any captured event of a session, whether or not a reader understands it."""

    agent: AgentName
    session: SessionId
    event: str
    at_ns: int


View = (
    Session
    | Prompt
    | ToolCall
    | CommandRecord
    | FileEdit
    | TracedFile
    | SourceAccess
    | CommitLink
    | PullRequestFact
    | ObservedCommit
    | Decision
    | DuplicateAnswer
    | HunkRead
    | AuthorClaim
    | Source
    | Change
    | FileState
    | ObservedSpan
    | Observation
)
