"""The reading order of a change: which hunk to read first, and which rules fired for it. Pure.

A factor is a rule that fired on records, paths or the diff itself, never an opinion about the code. Missing, imported
and unbelieved evidence weigh the same, so that no claim lowers a level.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from msgspec import Struct

from custody.core.plural import count_noun
from custody.gate.model import Reason, VerdictLevel
from custody.runs import TestState


class RiskLevel(Enum):
    """How soon a hunk should be read, the most urgent first."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class RiskFactor(Struct, frozen=True):
    """A rule that fired for a hunk: its code, its level, and what it says in words."""

    code: str
    level: RiskLevel
    words: str


class HunkRisk(Struct, frozen=True):
    """The level of a hunk and the factors behind it, the strongest first."""

    level: RiskLevel
    factors: tuple[RiskFactor, ...]


class HunkFacts(Struct, frozen=True, kw_only=True):
    """What records, paths and the diff show about one hunk.

    ``line`` is its first line, 0 for a file without lines to show. ``reasons`` are those of the verdict that name one
    of its lines or its file. ``risky`` is the pattern that its path matches. ``is_tested_code`` says that test runs
    concern its file, ``tests`` what they show, ``is_test_believed`` that the rules accept this as evidence.
    ``weakened`` are words that recorded calls removed from its lines. ``unseen`` says why its lines cannot be read.
    ``doubted`` are the codes of statements that its file does not bear out.
    """

    id: str
    path: str
    line: int
    added: int
    removed: int
    reasons: tuple[Reason, ...] = ()
    is_author_unchecked: bool = False
    risky: str | None = None
    is_tested_code: bool = False
    tests: TestState = TestState.UNKNOWN
    is_test_believed: bool = False
    is_test_file: bool = False
    weakened: tuple[str, ...] = ()
    unseen: str | None = None
    doubted: tuple[str, ...] = ()


class RankedHunk(Struct, frozen=True):
    """The facts of one hunk, and the risk that follows from them."""

    facts: HunkFacts
    risk: HunkRisk


FACTOR_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "TRUST-REJECTED": "already rejected or reverted",
        "GRAPH-UNUSUAL": "changed after unusual tool calls",
        "TEST-FAILED": "the last test run failed",
        "TEST-STALE": "edited after the last passing test run",
        "STATEMENT-CONTRADICTED": "contradicts a statement about the change",
        "ATTR-UNSEEN": "author not checked",
        "ATTR-NONE": "nothing shows who wrote it",
        "ATTR-SELF": "a person's only by their own account",
        "TRUST-UNKNOWN": "written by an unknown agent",
        "ATTR-WEAK": "weak evidence of who wrote it",
        "FILE-UNSEEN": "cannot be read line by line",
        "TEXT-WEAKENED": "a recorded call removed words",
        "TEST-REMOVED": "removes test lines",
        "DUPE-SAME": "the same diff exists elsewhere",
        "DUPE-LIKELY": "likely duplicate of another change",
        "DUPE-COMPETING": "competes with another change",
        "CITE-UNSEEN": "citations not checked",
        "CITE-MISSING": "names something that does not exist",
        "CITE-UNREAD": "source not read, or it does not support this",
        "CITE-BROKEN": "broken citation",
        "CITE-UNCITED": "too few citations",
        "STATEMENT-UNBACKED": "a statement about it has no record",
        "REVIEW-UNREAD": "read by no person",
        "ATTR-SHARE": "written by agents",
        "PATH-RISKY": "path that matters",
        "TEST-NONE": "no test run recorded after the last edit",
        "SIZE-LARGE": "large",
        "LINES-REMOVED": "only removes lines",
    }
)
"""The words of each factor, the strongest first: the order decides between hunks of the same level."""
NOT_MADE = "no recorded edit made it what it is"
"""The words of ``ATTR-NONE`` for a file or a hunk without added lines."""
HIGH_FACTORS = frozenset(("TRUST-REJECTED", "GRAPH-UNUSUAL", "STATEMENT-CONTRADICTED"))
"""Factors that show more than missing evidence."""
LOW_FACTORS = frozenset(("SIZE-LARGE", "LINES-REMOVED", "ATTR-SHARE"))
"""Factors that only order hunks of the same level."""
CONTEXT_FACTORS = frozenset(("PATH-RISKY",))
"""Factors about the place of a hunk, which raise what is said about its evidence."""
LARGE_LINES_MIN = 100
"""Changed lines from which on a hunk is large."""
WORDS_SHOWN_MAX = 5
TEST_CODES: Mapping[TestState, str] = MappingProxyType(
    {
        TestState.FAILED: "TEST-FAILED",
        TestState.STALE: "TEST-STALE",
        TestState.NONE: "TEST-NONE",
        TestState.UNKNOWN: "TEST-NONE",
        TestState.AFTER_EDIT: "TEST-NONE",
    }
)
"""The factor of each state; a passing run has one only where the rules do not accept it."""
_RANKS: Mapping[str, int] = MappingProxyType({code: rank for rank, code in enumerate(FACTOR_WORDS)})
_LEVELS = tuple(RiskLevel)


def assess_hunk_risk(facts: HunkFacts) -> HunkRisk:
    """Return the risk of one hunk: high if a reason blocks, or if evidence is missing where the path matters."""
    found = {factor.code: factor for factor in sorted(_find_risk_factors(facts), key=_get_factor_rank, reverse=True)}
    factors = tuple(sorted(found.values(), key=_get_factor_rank))
    level = min((factor.level for factor in factors), key=_LEVELS.index, default=RiskLevel.LOW)
    is_doubted = any(factor.level is RiskLevel.MEDIUM and factor.code not in CONTEXT_FACTORS for factor in factors)
    if facts.risky is not None and is_doubted:
        level = RiskLevel.HIGH
    return HunkRisk(level, factors)


def rank_hunks(hunks: Iterable[HunkFacts]) -> list[RankedHunk]:
    """Return the hunks in reading order: by level, strongest factors, size, and place.

    The order is total: the same hunks give the same order, however they come in.
    """
    return sorted((RankedHunk(facts, assess_hunk_risk(facts)) for facts in hunks), key=_make_reading_key)


def _make_reading_key(hunk: RankedHunk) -> tuple[int, tuple[int, ...], int, str, int, str]:
    ranks = tuple(_RANKS[factor.code] for factor in hunk.risk.factors)
    facts = hunk.facts
    # A hunk with the factors of another and more comes before it.
    order = (*ranks, len(_RANKS))
    return _LEVELS.index(hunk.risk.level), order, -(facts.added + facts.removed), facts.path, facts.line, facts.id


def _get_factor_rank(factor: RiskFactor) -> tuple[int, int]:
    """Sort by strength; of two factors with one code the stricter is first."""
    return _RANKS[factor.code], _LEVELS.index(factor.level)


def _find_risk_factors(facts: HunkFacts) -> Iterator[RiskFactor]:
    for reason in facts.reasons:
        code = reason.code.value
        if code in FACTOR_WORDS:
            words = NOT_MADE if code == "ATTR-NONE" and not facts.added else FACTOR_WORDS[code]
            yield RiskFactor(code, _find_reason_risk(reason), words)
    if facts.is_author_unchecked and facts.added:
        yield _make_factor("ATTR-UNSEEN")
    if facts.is_tested_code and not (facts.tests is TestState.AFTER_EDIT and facts.is_test_believed):
        yield _make_test_factor(facts.tests)
    for code in facts.doubted:
        yield RiskFactor(code, RiskLevel.HIGH if code in HIGH_FACTORS else RiskLevel.MEDIUM, FACTOR_WORDS[code])
    yield from _find_diff_factors(facts)


def _find_diff_factors(facts: HunkFacts) -> Iterator[RiskFactor]:
    """Yield the factors that the path and the diff show."""
    if facts.unseen is not None:
        yield RiskFactor("FILE-UNSEEN", RiskLevel.MEDIUM, facts.unseen)
    if facts.weakened:
        words = " ".join(facts.weakened[:WORDS_SHOWN_MAX])
        yield RiskFactor("TEXT-WEAKENED", RiskLevel.MEDIUM, f"{FACTOR_WORDS['TEXT-WEAKENED']}: {words}")
    if facts.is_test_file and facts.removed > facts.added:
        lost = count_noun(facts.removed - facts.added, "test line")
        yield RiskFactor("TEST-REMOVED", RiskLevel.MEDIUM, f"removes {lost}")
    if facts.risky is not None:
        yield RiskFactor("PATH-RISKY", RiskLevel.MEDIUM, f"{FACTOR_WORDS['PATH-RISKY']} ({facts.risky})")
    if facts.added + facts.removed >= LARGE_LINES_MIN:
        yield RiskFactor("SIZE-LARGE", RiskLevel.LOW, f"{facts.added + facts.removed:,} changed lines")
    if facts.removed and not facts.added:
        yield _make_factor("LINES-REMOVED")


def _make_test_factor(state: TestState) -> RiskFactor:
    words = {
        TestState.NONE: "no test run recorded",
        TestState.UNKNOWN: "no test run known",
        TestState.AFTER_EDIT: "tested after the last edit only by an imported or unbelieved record",
    }
    code = TEST_CODES[state]
    return RiskFactor(code, RiskLevel.MEDIUM, words.get(state, FACTOR_WORDS[code]))


def _make_factor(code: str) -> RiskFactor:
    return RiskFactor(code, RiskLevel.LOW if code in LOW_FACTORS else RiskLevel.MEDIUM, FACTOR_WORDS[code])


def _find_reason_risk(reason: Reason) -> RiskLevel:
    if reason.level is VerdictLevel.BLOCK or reason.code.value in HIGH_FACTORS:
        return RiskLevel.HIGH
    return RiskLevel.LOW if reason.code.value in LOW_FACTORS else RiskLevel.MEDIUM


# The reason of a verdict in one sentence.


SUMMARY_CHARACTERS_MAX = 120
STRONGEST_SHOWN_MAX = 2
NAME_CHARACTERS_MAX = 40
SUMMARY_PHRASES: Mapping[str, str] = MappingProxyType(
    {
        "ATTR-UNSEEN": "it could not be checked who wrote {where}",
        "ATTR-NONE": "nothing shows who wrote {where}",
        "ATTR-SELF": "only a person's own account says who wrote {where}",
        "ATTR-WEAK": "weak evidence shows who wrote {where}",
        "ATTR-SHARE": "agents wrote more than the rules allow",
        "TRUST-UNKNOWN": "the agent that wrote {where} is unknown",
        "TRUST-UNTRUSTED": "an agent is not trusted",
        "TRUST-SAMPLES": "an agent has too few reviews",
        "TRUST-IDLE": "an agent was idle for long",
        "TRUST-SIZE": "the change is too large to merge unread",
        "TRUST-BUDGET": "the budget of unread lines is used up",
        "TRUST-PATH": "it touches a path that is always reviewed",
        "TRUST-KIND": "a file cannot be judged by its lines",
        "TRUST-REJECTED": "it was already rejected or reverted",
        "TRUST-CLOCK": "the clock is behind the records",
        "TRUST-CHANCE": "its acceptance probability is low",
        "TRUST-AUDIT": "it was selected for an audit",
        "TEST-NONE": "no test run is recorded for {where}",
        "TEST-STALE": "{where} changed after the last test run",
        "TEST-FAILED": "the last test run of {where} failed",
        "STATEMENT-UNBACKED": "a statement about the change has no record",
        "STATEMENT-CONTRADICTED": "records contradict a statement about the change",
        "REVIEW-UNREAD": "no person has read {where}",
        "DUPE-UNSEEN": "it was not checked for duplicates",
        "DUPE-SAME": "another change has the same diff",
        "DUPE-LIKELY": "another change is likely the same",
        "DUPE-COMPETING": "another change competes with it",
        "CITE-UNSEEN": "its citations could not be checked",
        "CITE-UNCITED": "{where} cites too little",
        "CITE-BROKEN": "{where} has broken citations",
        "CITE-UNREAD": "{where} cites sources that were not read",
        "CITE-MISSING": "{where} names things that do not exist",
        "GRAPH-UNSEEN": "its tool calls could not be checked",
        "GRAPH-UNUSUAL": "{where} changed after unusual tool calls",
        "INTEG-UNSEEN": "the evidence cannot be read",
        "INTEG-DAMAGE": "the evidence was changed after it was recorded",
        "POLICY-CHANGED": "it changes the rules that judge it",
    }
)
"""Each reason in few words."""


def summarize_verdict(reasons: Sequence[Reason], passed: str) -> str:
    """Return one sentence of at most 120 characters with the two strongest reasons, or ``passed`` without any.

    >>> summarize_verdict((), "2 added lines: 2 people")
    '2 added lines: 2 people.'
    """
    strongest = list({reason.code: reason for reason in reversed(reasons)}.values())[::-1][:STRONGEST_SHOWN_MAX]
    phrases = [_phrase_reason(reason) for reason in strongest] or [passed]
    for shown in (phrases, phrases[:1]):
        sentence = ", and ".join(shown)
        if len(sentence) < SUMMARY_CHARACTERS_MAX:
            break
    else:
        sentence = f"{sentence[: SUMMARY_CHARACTERS_MAX - 2]}…"
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _phrase_reason(reason: Reason) -> str:
    phrase = SUMMARY_PHRASES.get(reason.code.value)
    if phrase is None or ("{where}" in phrase and not reason.spots):
        return reason.sentence.rstrip(".")
    return phrase.format(where=_name_reason_files(reason)) if reason.spots else phrase


def _name_reason_files(reason: Reason) -> str:
    """Return the lines and the only file that a reason is about, or the number of files."""
    paths = {spot.path for spot in reason.spots}
    name = next(iter(paths)).rpartition("/")[2]
    name = name if len(name) <= NAME_CHARACTERS_MAX else f"{name[: NAME_CHARACTERS_MAX - 1]}…"
    files = name if len(paths) == 1 else count_noun(len(paths), "file")
    lines = sum(len(spot.lines) for spot in reason.spots if spot.lines is not None)
    return f"{count_noun(lines, 'line')} of {files}" if lines else files
