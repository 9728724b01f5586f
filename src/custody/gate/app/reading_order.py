"""The hunks of a judged change in reading order, each with its evidence."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution import Grade
from custody.attribution.app.answers import LineAnswer
from custody.core.paths import Hunk, Lines, matches_path_pattern
from custody.dupes.app.file_channel import is_source_path, name_file_channel
from custody.dupes.app.patch_identity import IdentifiedHunk, list_identified_hunks
from custody.gate.app.change import ChangeUnderReview, Policy
from custody.gate.app.gather import GatheredEvidence
from custody.gate.checks import STATEMENT_CODES
from custody.gate.model import AddedRange, ChangeSpot, GateEvidence, MissingEvidence, Reason, RecordState, SimilarChange
from custody.gate.risk import HunkFacts, HunkRisk, RiskLevel, rank_hunks
from custody.gate.rules import GateRules
from custody.git import FileDiff, HunkDetail
from custody.runs import TestEvidence, TestState
from custody.trust.app.approval_decision import list_review_paths
from custody.workspace.change import NOT_SHOWN

LOCK_FILES = (
    *("**/package-lock.json", "**/npm-shrinkwrap.json", "**/yarn.lock", "**/pnpm-lock.yaml", "**/bun.lock"),
    *("**/Cargo.lock", "**/poetry.lock", "**/uv.lock", "**/Pipfile.lock", "**/requirements*.txt", "**/go.sum"),
    *("**/Gemfile.lock", "**/composer.lock", "**/flake.lock"),
)
"""Files that decide which code of others runs."""
NO_RISK = HunkRisk(RiskLevel.LOW, ())
NO_TESTS = TestEvidence(TestState.UNKNOWN)


class JudgedHunk(Struct, frozen=True, kw_only=True):
    """A hunk of a judged change: its lines, who wrote them, and its risk.

    ``ranges`` has the added lines, ``answers`` the attribution behind each; ``unread`` says why there are none.
    ``file`` is None for a file of the work tree that was left out.
    """

    id: str
    path: str
    file: FileDiff | None
    hunk: IdentifiedHunk | None
    risk: HunkRisk
    ranges: tuple[AddedRange, ...] = ()
    answers: tuple[LineAnswer, ...] = ()
    unread: str | None = None
    tests: TestEvidence = NO_TESTS
    channel: str = "production"

    @property
    def lines(self) -> Lines | None:
        """Return the lines after the change, from the first added one to the last; None without added lines."""
        return _span_lines(run.new_lines for run in self._runs)

    @property
    def old_lines(self) -> Lines | None:
        """Return the lines before the change, from the first removed one to the last; None without removed lines."""
        return _span_lines(run.old_lines for run in self._runs)

    @property
    def added(self) -> int:
        """Return the number of added lines."""
        return sum(len(run.added) for run in self._runs)

    @property
    def removed(self) -> int:
        """Return the number of removed lines."""
        return sum(len(run.removed) for run in self._runs)

    @property
    def _runs(self) -> tuple[Hunk[bytes], ...]:
        return () if self.hunk is None else self.hunk.runs


class ReadingOrder(Struct, frozen=True):
    """All hunks of a judged change, the one to read first at the front, and the verdict in one sentence."""

    summary: str
    hunks: tuple[JudgedHunk, ...]

    def count_at(self, level: RiskLevel) -> int:
        """Return the number of hunks at this level."""
        return sum(hunk.risk.level is level for hunk in self.hunks)


class _ChangedFile(Struct, frozen=True):
    """A changed file with what is known about all its hunks."""

    path: str
    diff: FileDiff
    hunks: tuple[IdentifiedHunk, ...]
    authorship: tuple[AddedRange, ...] | MissingEvidence
    reasons: tuple[tuple[Reason, Lines | None], ...]


def make_reading_order(
    review: ChangeUnderReview,
    policy: Policy,
    gathered: GatheredEvidence,
    reasons: Sequence[Reason],
    summary: str,
) -> ReadingOrder:
    """Return the hunks of a change in reading order."""
    maker = _FactMaker(policy, gathered)
    by_path = _index_reasons_by_path(reasons)
    authorship = {file.path: file.authorship for file in gathered.evidence.files}
    parts: dict[str, tuple[JudgedHunk, HunkFacts]] = {}
    for diff in review.change.files:
        path = diff.change.path.display
        file = _ChangedFile(path, diff, tuple(list_identified_hunks(diff)), authorship.get(path, ()), by_path[path])
        for facts, judged in maker.judge_file(file):
            parts[facts.id] = (judged, facts)
    for left_out in review.left_out:
        facts = HunkFacts(
            id=f"left-out-{left_out.path.display}",
            path=left_out.path.display,
            line=0,
            added=0,
            removed=0,
            unseen=left_out.reason,
        )
        parts[facts.id] = (
            JudgedHunk(id=facts.id, path=facts.path, file=None, hunk=None, risk=NO_RISK, unread=left_out.reason),
            facts,
        )
    ranked = rank_hunks(facts for _, facts in parts.values())
    return ReadingOrder(summary, tuple(replace(parts[hunk.facts.id][0], risk=hunk.risk) for hunk in ranked))


def find_hunk_duplicates(evidence: GateEvidence, hunk: JudgedHunk) -> list[SimilarChange] | None:
    """Return the changes that share lines of a hunk, its file, or the change as a whole; None if none were searched."""
    similar = evidence.duplicates
    if similar is None or isinstance(similar, MissingEvidence):
        return None
    return [
        change for change in similar if not change.spots or any(_is_spot_in_hunk(spot, hunk) for spot in change.spots)
    ]


def _is_spot_in_hunk(spot: ChangeSpot, hunk: JudgedHunk) -> bool:
    if spot.path != hunk.path:
        return False
    if spot.lines is None or hunk.lines is None:
        return spot.lines is None
    return spot.lines.first <= hunk.lines.last and hunk.lines.first <= spot.lines.last


class _FactMaker:
    """Makes the facts of hunks, with the rules and the evidence of one change."""

    def __init__(self, policy: Policy, gathered: GatheredEvidence) -> None:
        rules = policy.rules.of(GateRules)
        self._rules = policy.rules
        self._risky = tuple(dict.fromkeys((*rules.risky_paths, *list_review_paths(policy.rules), *LOCK_FILES)))
        self._evidence = gathered.evidence
        self._edited = gathered.edited
        self._believed = gathered.believed
        self._tests = gathered.tests
        self._weakened = _index_weakened_lines(gathered)
        self._doubted = _index_doubted_statements(gathered)

    def judge_file(self, file: _ChangedFile) -> Iterator[tuple[HunkFacts, JudgedHunk]]:
        """Yield the facts of each hunk, and the hunk without its risk."""
        channel = name_file_channel(self._rules, file.path)
        risky = next((pattern for pattern in self._risky if matches_path_pattern(pattern, file.path)), None)
        tests = self._tests.get(file.path, NO_TESTS)
        answers = self._edited.get(file.path, ())
        reasons = _split_reasons_by_hunk(file)
        unread = file.authorship.why if isinstance(file.authorship, MissingEvidence) else None
        ranges = () if isinstance(file.authorship, MissingEvidence) else file.authorship
        for at, hunk in enumerate(file.hunks):
            spans = [run.new_lines for run in hunk.runs if run.new_lines is not None]
            inside = Lines(spans[0].first, spans[-1].last) if spans else None
            judged = JudgedHunk(
                id=hunk.id,
                path=file.path,
                file=file.diff,
                hunk=hunk,
                risk=NO_RISK,
                ranges=_select_within(ranges, inside),
                answers=_select_within(answers, inside),
                unread=unread,
                tests=tests,
                channel=channel,
            )
            yield self._make_facts(judged, reasons[at], risky, tests), judged

    def _make_facts(
        self, hunk: JudgedHunk, reasons: Sequence[Reason], risky: str | None, tests: TestEvidence
    ) -> HunkFacts:
        lines = hunk.lines or hunk.old_lines
        shown = HunkDetail.WHOLE if hunk.file is None else hunk.file.shown
        is_code = hunk.channel in ("production", "tests") and bool(hunk.added or hunk.removed)
        return HunkFacts(
            id=hunk.id,
            path=hunk.path,
            line=0 if lines is None else lines.first,
            added=hunk.added,
            removed=hunk.removed,
            reasons=tuple(reasons),
            is_author_unchecked=not isinstance(self._evidence.recorded, RecordState),
            risky=risky,
            is_tested_code=is_code and is_source_path(hunk.path),
            tests=tests.state,
            is_test_believed=self._is_run_believed(tests)
            and not any(added.grade is Grade.CLAIMED for added in hunk.ranges),
            is_test_file=hunk.channel == "tests",
            weakened=tuple(
                word
                for line, words in self._weakened.get(hunk.path, ())
                if is_code and hunk.lines is not None and line in hunk.lines
                for word in words
            ),
            unseen=None if shown is HunkDetail.WHOLE else NOT_SHOWN[shown],
            doubted=self._doubted.get(hunk.path, ()),
        )

    def _is_run_believed(self, tests: TestEvidence) -> bool:
        """Return whether the rules accept the run: it was recorded live in a chain whose recordings count."""
        if tests.run is None or tests.run.record is None:
            return False
        return tests.run.record.store in self._believed


def _index_reasons_by_path(reasons: Iterable[Reason]) -> Mapping[str, tuple[tuple[Reason, Lines | None], ...]]:
    by_path = defaultdict[str, list[tuple[Reason, Lines | None]]](list)
    for reason in reasons:
        for spot in reason.spots:
            by_path[spot.path].append((reason, spot.lines))
    return defaultdict(tuple, {path: tuple(spots) for path, spots in by_path.items()})


def _split_reasons_by_hunk(file: _ChangedFile) -> list[list[Reason]]:
    """Return for each hunk the reasons that name its file or one of its lines, each once."""
    found: list[dict[int, Reason]] = [{} for _ in file.hunks]
    ends = [_find_last_new_line(hunk) for hunk in file.hunks]
    for reason, lines in file.reasons:
        if lines is None:
            for reasons in found:
                reasons[id(reason)] = reason
            continue
        for at in range(bisect_left(ends, lines.first), len(ends)):
            if _find_first_new_line(file.hunks[at]) > lines.last:
                break
            found[at][id(reason)] = reason
    return [list(reasons.values()) for reasons in found]


def _find_first_new_line(hunk: IdentifiedHunk) -> int:
    return hunk.runs[0].new_index + 1 if hunk.runs else 0


def _find_last_new_line(hunk: IdentifiedHunk) -> int:
    return hunk.runs[-1].new_index + len(hunk.runs[-1].added) if hunk.runs else 0


def _index_weakened_lines(gathered: GatheredEvidence) -> Mapping[str, list[tuple[int, Sequence[str]]]]:
    """Return the lines that calls removed words from, by path; the path is that before the change."""
    by_path = defaultdict[str, list[tuple[int, Sequence[str]]]](list)
    for removal in gathered.removals:
        by_path[removal.path] += [(line.line, line.words) for line in removal.shortened]
    return by_path


def _index_doubted_statements(gathered: GatheredEvidence) -> Mapping[str, tuple[str, ...]]:
    """Return the codes of the statements that records contradict or do not back, by the files that they are about."""
    codes = defaultdict[str, dict[str, None]](dict)
    for found in gathered.statements:
        code = STATEMENT_CODES.get(found.compared.state)
        if code is not None:
            for path in found.compared.paths:
                codes[path][code.value] = None
    return {path: tuple(found) for path, found in codes.items()}


class _HasLines(Protocol):
    @property
    def lines(self) -> Lines: ...


L = TypeVar("L", bound=_HasLines)


def _select_within(some: Sequence[L], inside: Lines | None) -> tuple[L, ...]:
    """Return those with a line of the range; they are in the order of their lines."""
    if inside is None:
        return ()
    start = bisect_left(some, inside.first, key=lambda each: each.lines.last)
    return tuple(takewhile(lambda each: each.lines.first <= inside.last, some[start:]))


def _span_lines(line_ranges: Iterable[Lines | None]) -> Lines | None:
    known = [lines for lines in line_ranges if lines is not None]
    return Lines(known[0].first, known[-1].last) if known else None
