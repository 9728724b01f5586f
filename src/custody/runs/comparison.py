"""Whether recorded runs and the diff back what a text says about a change.

Only runs that count speak for a statement: a failure speaks against it whoever recorded it. What was not recorded never
contradicts a statement, it leaves it unbacked.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from custody.core.plural import count_noun
from custody.runs.model import (
    ChangedFileFacts,
    CommandKind,
    CommandRun,
    ComparedStatement,
    RunResult,
    RunScope,
    StatementFacts,
    StatementKind,
    StatementState,
    TextStatement,
)

PATHS_SHOWN_MAX = 3
RUN = "{run}"
"""Stands for the run in what records say: its command and its time."""


class _Subject(Struct, frozen=True):
    """The runs that a statement is about.

    A failure of one of ``own`` contradicts it; a pass of one of ``own`` or of one that ``also_backs`` speaks for it.
    """

    noun: str
    own: frozenset[CommandKind]
    also_backs: Callable[[CommandRun], bool]
    may_edit: bool = False
    """Whether such a run may edit the files that it checks."""


COMPILING = frozenset(
    "go gotestsum cargo nextest bazel xctest dotnet ctest exunit dart deno".split(),
)
"""Runners that compile what they test."""
CHECKING_GOALS = frozenset(
    "check checks ci verify validate precommit pre-commit all quality preflight presubmit qa lefthook husky".split()
)
"""Goals that may run anything: custody cannot see what they did."""


def _never(run: CommandRun) -> bool:
    return False


def _compiles(run: CommandRun) -> bool:
    return run.kind in (CommandKind.BUILD, CommandKind.TYPES) or run.runner in COMPILING


def _passes_compiled(run: CommandRun, counted: set[CommandRun]) -> bool:
    return (_compiles(run) or run.kind is CommandKind.TEST) and run.result is RunResult.PASSED and run in counted


def _is_lint(run: CommandRun) -> bool:
    return run.kind is CommandKind.LINT


_TESTS = _Subject("test run", frozenset((CommandKind.TEST,)), _never)
_LINT = _Subject("run of a linter", frozenset((CommandKind.LINT,)), _never, may_edit=True)
_TYPES = _Subject("run of a type checker", frozenset((CommandKind.TYPES,)), _compiles)
_BUILD = _Subject("build", frozenset((CommandKind.BUILD,)), _compiles)
_FORMAT = _Subject("run of a formatter", frozenset((CommandKind.FORMAT,)), _is_lint, may_edit=True)
_CHECKS = _Subject(
    "run of tests, builds or linters",
    frozenset((CommandKind.TEST, CommandKind.LINT, CommandKind.TYPES, CommandKind.BUILD)),
    _never,
)
PASSING: Mapping[StatementKind, _Subject] = MappingProxyType(
    {
        StatementKind.TESTS_PASS: _TESTS,
        StatementKind.LINT_PASSES: _LINT,
        StatementKind.TYPES_PASS: _TYPES,
        StatementKind.BUILD_PASSES: _BUILD,
        StatementKind.FORMATTED: _FORMAT,
        StatementKind.CHECKS_PASS: _CHECKS,
    }
)
RAN: Mapping[StatementKind, _Subject] = MappingProxyType(
    {
        StatementKind.TESTS_RAN: _TESTS,
        StatementKind.LINT_RAN: _LINT,
        StatementKind.TYPES_RAN: _TYPES,
        StatementKind.BUILD_RAN: _BUILD,
    }
)


def compare_statement(statement: TextStatement, facts: StatementFacts) -> ComparedStatement:
    """Return what records and the diff say about a statement."""
    if (subject := PASSING.get(statement.kind)) is not None:
        return _compare_outcome(statement, subject, facts)
    if (subject := RAN.get(statement.kind)) is not None:
        return _compare_act(statement, subject, facts)
    if statement.kind is StatementKind.NO_BEHAVIOR_CHANGE:
        return _compare_behavior(statement, facts)
    if statement.kind is StatementKind.TESTS_WRITTEN:
        tests = tuple(file.path for file in facts.files if file.has_new_tests)
        if tests:
            return ComparedStatement(statement, StatementState.BACKED, f"the diff adds tests: {_name_paths(tests)}")
        return ComparedStatement(statement, StatementState.UNBACKED, "the diff adds no line to a test")
    is_tests_too = statement.kind is StatementKind.NO_PRODUCTION_CODE
    code = tuple(file.path for file in facts.files if file.is_code and not (is_tests_too and file.is_test))
    if not code:
        return ComparedStatement(statement, StatementState.BACKED, "the diff changes nothing else")
    record = f"the diff changes code: {_name_paths(code)}"
    return ComparedStatement(statement, StatementState.CONTRADICTED, record, None, code)


def _compare_outcome(statement: TextStatement, subject: _Subject, facts: StatementFacts) -> ComparedStatement:
    """Return whether a run passed after the last edit, and none failed since."""
    if not facts.sessions:
        return _not_recorded(statement)
    counted = set(facts.counted)
    # A pass that does not count must not hide a failure.
    window = _select_window(facts.runs, facts)
    runs = [run for run in window if run.kind in subject.own and (run.result is RunResult.FAILED or run in counted)]
    for kind in sorted(subject.own, key=lambda kind: kind.value):
        last = next((run for run in reversed(runs) if run.kind is kind), None)
        if last is None or last.result is not RunResult.FAILED:
            continue
        # Tests that passed later were compiled, so that a failed build says nothing of what is there now.
        is_outdated = kind is CommandKind.BUILD and any(
            run.ended_ns > last.ended_ns and (len(subject.own) > 1 or _passes_compiled(run, counted)) for run in window
        )
        if not is_outdated:
            failed = f" ({last.counts.failed:,} failed)" if last.counts is not None and last.counts.failed else ""
            noun = _CHECKS_NOUNS.get(kind, subject.noun)
            record = f"the last {noun} failed{failed}: {RUN}"
            return ComparedStatement(statement, StatementState.CONTRADICTED, record, last)
    return _find_support(statement, subject, facts)


_CHECKS_NOUNS: Mapping[CommandKind, str] = MappingProxyType(
    {
        CommandKind.TEST: _TESTS.noun,
        CommandKind.LINT: _LINT.noun,
        CommandKind.TYPES: _TYPES.noun,
        CommandKind.BUILD: _BUILD.noun,
    }
)


def _find_support(statement: TextStatement, subject: _Subject, facts: StatementFacts) -> ComparedStatement:
    """Return the run that speaks for a statement, or why none does."""
    window = _select_window(facts.counted, facts)
    runs = [run for run in window if run.kind in subject.own or subject.also_backs(run)]
    if not runs:
        return _find_no_run(statement, subject, facts, window)
    passed = [run for run in runs if run.result is RunResult.PASSED]
    edited = _list_edited_after(passed, facts, subject)
    unknown = [run for run in runs if run.result is RunResult.UNKNOWN]
    if edited and unknown and len(_list_edited_after(unknown, facts, subject)) < len(edited):
        record = f"the result of the last {subject.noun} is unknown: {RUN}"
        return ComparedStatement(statement, StatementState.UNBACKED, record, unknown[-1])
    if not passed:
        record = f"no {subject.noun} is known to have passed; the last one: {RUN}"
        return ComparedStatement(statement, StatementState.UNBACKED, record, runs[-1])
    last = passed[-1]
    if edited:
        record = f"the last passing {subject.noun} was {RUN}, before the last edit of {_name_paths(edited)}"
        return ComparedStatement(statement, StatementState.UNBACKED, record, last, edited)
    if statement.is_whole and all(_is_partial(run, facts) for run in _list_latest(passed, facts)):
        record = f"the last passing {subject.noun} named only a part of the tests: {RUN}"
        return ComparedStatement(statement, StatementState.UNBACKED, record, last)
    return ComparedStatement(statement, StatementState.BACKED, f"passed: {RUN}", last)


def _find_no_run(
    statement: TextStatement, subject: _Subject, facts: StatementFacts, window: Sequence[CommandRun]
) -> ComparedStatement:
    """Return that no run is recorded; nothing is known if a command ran that may include one."""
    including = [run for run in window if _may_include(run)]
    if including:
        record = f"a command ran that may include it: {RUN}"
        return ComparedStatement(statement, StatementState.UNKNOWN, record, including[-1])
    sessions = count_noun(facts.sessions, "session")
    record = f"no {subject.noun} is recorded in {sessions} of this change"
    if not facts.runs:
        record = f"no command is recorded in {sessions} of this change"
    return ComparedStatement(statement, StatementState.UNBACKED, record)


def _compare_act(statement: TextStatement, subject: _Subject, facts: StatementFacts) -> ComparedStatement:
    """Return whether a run is recorded, whatever its result."""
    if not facts.sessions:
        return _not_recorded(statement)
    window = _select_window(facts.counted, facts)
    runs = [run for run in window if run.kind in subject.own or subject.also_backs(run)]
    if runs:
        return ComparedStatement(statement, StatementState.BACKED, f"recorded: {RUN}", runs[-1])
    return _find_no_run(statement, subject, facts, window)


def _compare_behavior(statement: TextStatement, facts: StatementFacts) -> ComparedStatement:
    """Return whether tests passed after the last edit: nothing else recorded can show that behavior is the same."""
    code = tuple(file.path for file in facts.files if file.is_code and not file.is_test)
    if not code:
        return ComparedStatement(statement, StatementState.BACKED, "the diff changes no production code")
    tests = _compare_outcome(statement, _TESTS, facts)
    if tests.state is StatementState.CONTRADICTED:
        # A failure may have another cause.
        return ComparedStatement(statement, StatementState.UNBACKED, tests.record, tests.run, code)
    return tests


def _not_recorded(statement: TextStatement) -> ComparedStatement:
    record = "no recorded session wrote lines of this change"
    return ComparedStatement(statement, StatementState.UNKNOWN, record)


# --- runs and edits ---------------------------------------------------------------------------------------------------


def _select_window(runs: Iterable[CommandRun], facts: StatementFacts) -> list[CommandRun]:
    """Return the runs up to the next edit after the statement."""
    until = facts.until_ns
    if until is None:
        return list(runs)
    following = min((at for file in facts.files for at in file.edits_ns if at > until), default=None)
    return [run for run in runs if following is None or run.ended_ns < following]


def _last_edit_ns(file: ChangedFileFacts, facts: StatementFacts) -> int | None:
    until = facts.until_ns
    return max((at for at in file.edits_ns if until is None or at <= until), default=None)


def _start_ns(run: CommandRun) -> int:
    return run.ended_ns if run.started_ns is None else run.started_ns


def _list_edited_after(runs: Sequence[CommandRun], facts: StatementFacts, subject: _Subject) -> tuple[str, ...]:
    """Return the code files that were edited after the last of these runs started; all edited ones without a run.

    The edits that a formatter or a linter makes itself do not count.
    """
    last = max(((run.ended_ns + 1 if subject.may_edit else _start_ns(run)) for run in runs), default=-1)
    return tuple(
        file.path
        for file in facts.files
        if file.is_code and (edited := _last_edit_ns(file, facts)) is not None and edited >= last
    )


def _list_latest(passed: Sequence[CommandRun], facts: StatementFacts) -> list[CommandRun]:
    """Return the runs that passed after the last edit of code; the last one if no edit is known."""
    edits = [edited for file in facts.files if file.is_code and (edited := _last_edit_ns(file, facts)) is not None]
    last = max(edits, default=None)
    return [run for run in passed if last is not None and _start_ns(run) > last] or [passed[-1]]


def _is_partial(run: CommandRun, facts: StatementFacts) -> bool:
    """Return whether a run names single tests, or folders without some code of the change."""
    if run.coverage.scope is not RunScope.NAMED:
        return False
    code = [file.path for file in facts.files if file.is_code]
    folders = [name.removesuffix("...").removesuffix("/").removeprefix("./") for name in run.coverage.names]
    return not all(any(folder in ("", ".") or path.startswith(f"{folder}/") for folder in folders) for path in code)


def _may_include(run: CommandRun) -> bool:
    """Return whether a command of unknown content may have included any check."""
    words = run.command.replace(":", " ").replace("/", " ").replace(".", " ").split()[:8]
    return any(word.lower() in CHECKING_GOALS for word in words)


def _name_paths(paths: Sequence[str]) -> str:
    rest = len(paths) - PATHS_SHOWN_MAX
    named = ", ".join(f"'{path}'" for path in paths[:PATHS_SHOWN_MAX])
    return f"{named} and {count_noun(rest, 'other file')}" if rest > 0 else named
