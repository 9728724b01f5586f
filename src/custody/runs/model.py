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


class StatementKind(Enum):
    """What a statement says; the first seven are about runs, the others about the diff."""

    TESTS_PASS = "tests-pass"
    LINT_PASSES = "lint-passes"
    TYPES_PASS = "types-pass"
    BUILD_PASSES = "build-passes"
    FORMATTED = "formatted"
    CHECKS_PASS = "checks-pass"
    TESTS_RAN = "tests-ran"
    LINT_RAN = "lint-ran"
    TYPES_RAN = "types-ran"
    BUILD_RAN = "build-ran"
    TESTS_WRITTEN = "tests-written"
    NO_BEHAVIOR_CHANGE = "no-behavior-change"
    DOCS_ONLY = "docs-only"
    NO_PRODUCTION_CODE = "no-production-code"


class TextStatement(Struct, frozen=True):
    """A statement in a text: its kind, its sentence as written, and the line where that starts.

    ``is_whole``: it is about all tests, not about some.
    """

    kind: StatementKind
    text: str
    line: int
    is_whole: bool = False


class StatementState(Enum):
    """What records and the diff say about a statement; ``UNKNOWN`` where they cannot say anything."""

    BACKED = "backed"
    UNBACKED = "unbacked"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"


class ChangedFileFacts(Struct, frozen=True, kw_only=True):
    """What the diff says about a file, and when sessions edited it.

    ``is_code``: lines of source code changed, more than comments. ``has_new_tests``: lines of tests were added.
    """

    path: str
    is_code: bool
    is_test: bool
    has_new_tests: bool = False
    edits_ns: tuple[int, ...] = ()


class StatementFacts(Struct, frozen=True, kw_only=True):
    """What statements are compared with: recorded runs, oldest first, and the files of the change.

    ``counted`` are the runs that may speak for a statement. ``until_ns`` is when the statement was made, if known.
    Without ``sessions`` that wrote lines of the change, runs say nothing about it.
    """

    files: tuple[ChangedFileFacts, ...]
    runs: tuple[CommandRun, ...] = ()
    counted: tuple[CommandRun, ...] = ()
    sessions: int = 0
    until_ns: int | None = None


class ComparedStatement(Struct, frozen=True):
    """A statement, what records and the diff say about it, the run behind that, and the files concerned.

    ``record`` has ``RUN`` where the run belongs.
    """

    statement: TextStatement
    state: StatementState
    record: str
    run: CommandRun | None = None
    paths: tuple[str, ...] = ()
