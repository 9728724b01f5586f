"""Gate evidence with defaults for everything that a test is not about: by default every check passes."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from custody.attribution.model import Grade, LineOwner
from custody.core.evidence import ChangePeriod
from custody.core.paths import Lines
from custody.core.record import RecordingGap
from custody.gate.checks import (
    check_attribution,
    check_calls,
    check_citations,
    check_duplicates,
    check_integrity,
    check_policy,
    check_statements,
    check_tests,
    judge,
)
from custody.gate.checks import check_trust as trust_check
from custody.gate.model import (
    AddedRange,
    FileAdditions,
    GateEvidence,
    GateVerdict,
    MissingEvidence,
    ReasonCode,
    RecordState,
    TrustAnswer,
    VerdictLevel,
)
from custody.gate.rules import GateRules, LevelName
from custody.trust.model import Approval, ChangeAuthor, ReviewReason, ReviewRequirement

HOUR_NS = 3_600 * 1_000_000_000
NOON_NS = 1_700_000_000 * 1_000_000_000
PERIOD = ChangePeriod(base_ns=NOON_NS - 2 * HOUR_NS, first_ns=NOON_NS, last_ns=NOON_NS + HOUR_NS)
UNSEEN = MissingEvidence("was not checked", "check it")


ROBOT, OTHER = ChangeAuthor("robot", "m-1", "ana"), ChangeAuthor("other")
FINE = Approval()
ALL_FINE = MappingProxyType({ROBOT: FINE})
REFUSED = Approval(
    (
        ReviewReason(ReviewRequirement.SAMPLES, "the agent is new"),
        ReviewReason(ReviewRequirement.SIZE, "the change is large"),
    )
)


def agents(
    first: int = 1,
    last: int = 1,
    *,
    tier: int | None = 1,
    grade: Grade | None = Grade.ATTESTED,
    author: ChangeAuthor | None = ROBOT,
) -> AddedRange:
    """Return lines that an agent wrote."""
    return AddedRange(Lines(first, last), LineOwner.AGENT, tier, grade, author)


def mixed(first: int = 1, last: int = 1) -> AddedRange:
    """Return lines that an agent wrote in part."""
    return AddedRange(Lines(first, last), LineOwner.MIXED, 1, Grade.ATTESTED, ROBOT)


def persons(first: int = 1, last: int = 1, *, grade: Grade | None = Grade.ATTESTED) -> AddedRange:
    """Return lines of a person, named by a record."""
    return AddedRange(Lines(first, last), LineOwner.PERSON, None, grade)


def nobodys(first: int = 1, last: int = 1) -> AddedRange:
    """Lines without evidence."""
    return AddedRange(Lines(first, last), LineOwner.NONE)


def a_change(
    *found: AddedRange | MissingEvidence,
    recorded: RecordState | MissingEvidence | None = None,
    gaps: Iterable[RecordingGap] = (),
    period: ChangePeriod | None = PERIOD,
    trust: MissingEvidence | None = None,
    answers: Mapping[ChangeAuthor, Approval] = ALL_FINE,
) -> GateEvidence:
    """Return a change that adds to one file for each answer."""
    files = [
        FileAdditions(f"file{place}.py", one if isinstance(one, MissingEvidence) else (one,))
        for place, one in enumerate(found, 1)
    ]
    answered = tuple(TrustAnswer(author, approval) for author, approval in answers.items())
    return GateEvidence(tuple(files), period, recorded or RecordState(tuple(gaps)), trust or answered)


def rules_with(levels: Mapping[ReasonCode, LevelName] | None = None, **rules: object) -> GateRules:
    """Return the default rules with these changes."""
    every: dict[str, LevelName] = {**GateRules().levels, **{code.value: it for code, it in (levels or {}).items()}}
    return GateRules(levels=every, **rules)  # type: ignore[arg-type]  # whatever a test wants to set


def verdict(seen: GateEvidence, rules: GateRules | None = None) -> GateVerdict:
    """Return the verdict of all checks."""
    return judge(
        seen,
        [
            check_attribution,
            trust_check,
            check_duplicates,
            check_citations,
            check_calls,
            check_integrity,
            check_policy,
            check_tests,
            check_statements,
        ],
        rules or GateRules(),
    )


def codes(seen: GateEvidence, rules: GateRules | None = None) -> list[str]:
    """Return the codes of the reasons, in order."""
    return [reason.code.value for reason in verdict(seen, rules).reasons]


def level(seen: GateEvidence, rules: GateRules | None = None) -> VerdictLevel:
    """Return how strict the verdict is."""
    return verdict(seen, rules).level
