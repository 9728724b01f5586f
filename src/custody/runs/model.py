"""The nouns of runs: recorded commands, their results, and what they say about a file's tests."""

from enum import Enum

from msgspec import Struct

from custody.core.ids import AgentName, CallId, RecordRef, SessionId
from custody.core.paths import RepoPath
from custody.core.run_summary import RunCounts


class CommandKind(Enum):
    """What a recorded command does."""

    TEST = "test"
    BUILD = "build"
    LINT = "lint"
    TYPES = "types"
    FORMAT = "format"
    PROGRAM = "program"
    GIT = "git"
    OTHER = "other"


class RunResult(Enum):
    """The result of a run; ``UNKNOWN`` if neither its exit status nor its own summary shows it."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


class RunScope(Enum):
    """Whether a run was for the whole suite of its folder, for named paths or filters, or for an unknown part."""

    SUITE = "suite"
    NAMED = "named"
    UNKNOWN = "unknown"


class RunCoverage(Struct, frozen=True):
    """The part of the repository that a run was for, by its command; never which lines it executed.

    ``folder`` is where the command ran, relative to the repository's root: empty for the root, None if unknown.
    ``names`` are the paths and filters that the command names, paths relative to the root.
    """

    scope: RunScope
    folder: str | None = None
    names: tuple[str, ...] = ()


class CommandRun(Struct, frozen=True, kw_only=True):
    """One command of a recorded call; a call with several commands has several, in order ``n``.

    ``command`` is this command without its wrappers' output filters. ``result`` rests on the exit status, or with
    ``from_output`` on the runner's summary. ``started_ns`` is None if only the end was recorded.
    """

    agent: AgentName
    session: SessionId
    call: CallId
    n: int
    command: str
    kind: CommandKind
    runner: str
    result: RunResult
    ended_ns: int
    started_ns: int | None = None
    exit_code: int | None = None
    counts: RunCounts | None = None
    from_output: bool = False
    coverage: RunCoverage = RunCoverage(RunScope.UNKNOWN)
    record: RecordRef | None = None

    @property
    def duration_ns(self) -> int | None:
        """Return how long the call took; None if its start is unknown."""
        return None if self.started_ns is None else max(0, self.ended_ns - self.started_ns)


class TestState(Enum):
    """Whether tests passed after the last edit of a file.

    ``AFTER_EDIT``: a test run passed after it. ``STALE``: the last passing run came before it. ``FAILED``: the last
    run with a known result failed. ``NONE``: no test run was recorded. ``UNKNOWN``: it cannot be told.
    """

    __test__ = False

    AFTER_EDIT = "after-edit"
    STALE = "stale"
    FAILED = "failed"
    NONE = "none"
    UNKNOWN = "unknown"


class FileUnderTest(Struct, frozen=True):
    """A file of a change and the sessions that wrote its lines: the question whether it was tested."""

    path: RepoPath
    sessions: frozenset[SessionId]


class TestEvidence(Struct, frozen=True):
    """Whether a file was tested after its last edit: the state, the run it rests on, and the time of the edit."""

    __test__ = False

    state: TestState
    run: CommandRun | None = None
    edited_ns: int | None = None
