"""What the description and the commit messages of a change say, compared with records and the diff."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from custody.config import EffectiveRules
from custody.core.assurance import Assurance
from custody.core.patterns import lazy_pattern
from custody.core.wire.claims import ChainRatings
from custody.dupes.app.file_channel import is_source_path, name_file_channel
from custody.gate.app.change import ChangeUnderReview, Policy
from custody.gate.app.tests import CODE_CHANNELS, ChangeTests, rate_run
from custody.gate.model import ChangeStatement
from custody.gate.rules import GateRules
from custody.gate.wire.report import StatementReport
from custody.git import Commit, Comparison, FileDiff, HunkDetail
from custody.runs import (
    ChangedFileFacts,
    CommandRun,
    ComparedStatement,
    StatementFacts,
    StatementState,
    TextStatement,
)
from custody.runs.app.evidence import RunFilter, get_review_rules, list_neighbor_runs
from custody.runs.app.report import report_run
from custody.runs.app.statements import compare_statements, describe_record, read_statements
from custody.store import Store
from custody.workspace.change import NS

MESSAGES_MAX = 200
"""Commit messages whose statements are compared, the newest first."""
REPORTED_MAX = 200
_STATE_ORDER = (
    StatementState.CONTRADICTED,
    StatementState.UNBACKED,
    StatementState.UNKNOWN,
    StatementState.BACKED,
)
SHA_DIGITS = 12
DESCRIPTION = "the description"
_REVERT = b"Revert "


class StatementRecords(Struct, frozen=True):
    """What statements are compared with: the store, the runs around the change, and who vouches for them."""

    store: Store
    tests: ChangeTests
    ratings: ChainRatings


class _StatedText(Struct, frozen=True):
    """A text with statements, the files that it is about, and when it was written, if known."""

    name: str
    statements: tuple[TextStatement, ...]
    files: Sequence[FileDiff]
    until_ns: int | None


def gather_statements(
    review: ChangeUnderReview, policy: Policy, description: bytes | None, records: StatementRecords | None = None
) -> tuple[ChangeStatement, ...]:
    """Return the statements of the description and the messages, compared; without records with the diff alone."""
    texts = list(_read_texts(review, description))
    if not texts:
        return ()
    counts, assurance_of = _make_ratings(policy, records)
    found = []
    for text in texts:
        files = _describe_files(policy.rules, text.files, {} if records is None else _list_edits(records.tests))
        for compared in _compare_text(text, files, records, policy, counts):
            rated = None if compared.run is None else assurance_of(compared.run)
            found.append(ChangeStatement(text.name, compared, describe_record(compared), rated))
    return tuple(found)


def _make_ratings(
    policy: Policy, records: StatementRecords | None
) -> tuple[RunFilter, Callable[[CommandRun], Assurance]]:
    rules = policy.rules.of(GateRules)

    def rate(run: CommandRun) -> Assurance:
        return Assurance.SELF_REPORTED if records is None else rate_run(records.store, records.ratings, run)

    return lambda run: rules.counts(rate(run)), rate


def _compare_text(
    text: _StatedText,
    files: tuple[ChangedFileFacts, ...],
    records: StatementRecords | None,
    policy: Policy,
    counts: RunFilter,
) -> list[ComparedStatement]:
    """Compare with the runs of the sessions that wrote the change, then with those of others in their work trees."""
    if records is None:
        return compare_statements(text.statements, StatementFacts(files=files, until_ns=text.until_ns))
    history = records.tests.history
    sessions = frozenset(chain.from_iterable(file.sessions for file in records.tests.files.values()))
    facts = _make_facts(text, files, history.runs_of_sessions(sessions), counts, len(sessions))
    compared = compare_statements(text.statements, facts)
    edits = [at for file in files for at in file.edits_ns]
    if not edits or all(each.state is StatementState.BACKED for each in compared):
        return compared
    until = max(edits) if text.until_ns is None else text.until_ns
    more = list_neighbor_runs(records.store, get_review_rules(policy.rules), sessions, min(edits), until)
    if len(more) <= len(facts.runs):
        return compared
    return compare_statements(text.statements, _make_facts(text, files, more, counts, len(sessions)))


def _make_facts(
    text: _StatedText, files: tuple[ChangedFileFacts, ...], runs: Sequence[CommandRun], counts: RunFilter, sessions: int
) -> StatementFacts:
    counted = tuple(run for run in runs if counts(run))
    return StatementFacts(files=files, runs=tuple(runs), counted=counted, sessions=sessions, until_ns=text.until_ns)


def report_statements(statements: Iterable[ChangeStatement]) -> list[StatementReport]:
    """Return statements as reports show them: contradicted ones, then unbacked ones, then the others."""
    ordered = sorted(statements, key=lambda each: _STATE_ORDER.index(each.compared.state))
    return [_report_statement(each) for each in ordered[:REPORTED_MAX]]


def _report_statement(found: ChangeStatement) -> StatementReport:
    compared = found.compared
    return StatementReport(
        state=compared.state.value,
        kind=compared.statement.kind.value,
        source=found.source,
        line=compared.statement.line,
        text=compared.statement.text,
        record=found.record,
        run=None if compared.run is None else report_run(compared.run),
        paths=list(compared.paths),
    )


# --- the texts and their files ----------------------------------------------------------------------------------------


def _read_texts(review: ChangeUnderReview, description: bytes | None) -> Iterator[_StatedText]:
    """Yield the texts of a change that make statements: the description, then the messages in order."""
    change = review.change
    if description is not None and (statements := read_statements(description)):
        period = None if review.is_work_tree else change.period
        until_ns = None if period is None else _end_second(period.last_ns)
        yield _StatedText(DESCRIPTION, statements, change.files, until_ns)
    stated = [
        (commit, statements)
        for commit in change.commits[:MESSAGES_MAX]
        if len(commit.parents) == 1 and not commit.message.startswith(_REVERT)
        if (statements := read_statements(commit.message))
    ]
    files = _read_commit_files(review, [commit for commit, _ in stated])
    for commit, statements in reversed(stated):
        made = commit.committer.at
        until_ns = None if made is None else _end_second(made.seconds * NS)
        name = f"the message of {commit.id[:SHA_DIGITS]}"
        yield _StatedText(name, statements, files.get(commit.id, change.files), until_ns)


def _end_second(at_ns: int) -> int:
    """Return the end of a second: commits have no finer time."""
    return at_ns + NS - 1


def _read_commit_files(review: ChangeUnderReview, commits: Sequence[Commit]) -> Mapping[str, Sequence[FileDiff]]:
    """Return the files that each commit changes."""
    if not commits:
        return {}
    pairs = [Comparison(commit.id, commit.parents[0]) for commit in commits]
    with review.repository.diffs(pairs, renames=True) as answers:
        return {pair.commit: diff.files for pair, diff in zip(pairs, answers, strict=True)}


def _list_edits(tests: ChangeTests) -> Mapping[str, tuple[int, ...]]:
    return {path.display: tuple(edit.at_ns for edit in edits) for path, edits in tests.history.edits.items()}


def _describe_files(
    rules: EffectiveRules, files: Iterable[FileDiff], edits: Mapping[str, tuple[int, ...]]
) -> tuple[ChangedFileFacts, ...]:
    """Return what the diff says about each file, and when it was edited."""
    return tuple(_describe_file(rules, file, edits) for file in files)


def _describe_file(rules: EffectiveRules, file: FileDiff, edits: Mapping[str, tuple[int, ...]]) -> ChangedFileFacts:
    path = file.change.path.display
    channel = name_file_channel(rules, path)
    is_source = channel in CODE_CHANNELS and is_source_path(path)
    added = [line for hunk in file.hunks for line in hunk.added]
    changed = [*added, *(line for hunk in file.hunks for line in hunk.removed)]
    is_test = channel == "tests"
    return ChangedFileFacts(
        path=path,
        is_code=is_source and (file.shown is not HunkDetail.WHOLE or any(map(_is_code_line, changed))),
        is_test=is_test,
        has_new_tests=(is_test and any(line.strip() for line in added)) or any(map(_declares_test, added)),
        edits_ns=edits.get(path, ()),
    )


_COMMENT = lazy_pattern(
    rb"\s*(?:#(?!include|define|undef|if|el|end|pragma|error|\[|!\[)|//|/\*|\*|--(?!\w)|;|%|<!--|\"\"\"|''')"
)
_CODE = lazy_pattern(
    rb"[;{}=\[]|\w\(|\)\s*:?\s*$|^\s*(?:def|class|return|import|from|if|else|elif|for|while|func|fn|let|const|var|pub"
    rb"|public|private|use|package|end|try|except|raise|throw|break|continue|pass|case|switch|match|type|struct|enum"
    rb"|with)\b[^.]*$"
)
_TEST = lazy_pattern(
    rb"^\s*(?:#\[(?:\w+::)*test\b|func (?:Test|Benchmark|Fuzz|Example)\w*\(|(?:async )?def test_|class Test\w*"
    rb"|@(?:Parameterized)?Test\b|(?:x?it|test|describe|specify|scenario)(?:\.\w+)*\s*[(\"'` ]"
    rb"|\[(?:Fact|Theory|Test|TestMethod)\b|>>> |TEST(?:_[FP])?\()"
)


def _is_code_line(line: bytes) -> bool:
    """Return whether a changed line holds code: not a comment, not the prose of one."""
    return bool(line.strip()) and _COMMENT.match(line) is None and _CODE.search(line) is not None


def _declares_test(line: bytes) -> bool:
    """Return whether a line starts a test, in files that hold code and its tests."""
    return _TEST.match(line) is not None
