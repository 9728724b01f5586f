"""What was seen of a change, with everything a test does not talk about filled in: by default, all is well."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from custody.attribution.model import Grade
from custody.core.lines import Lines
from custody.gate.checks.attribution import attribution
from custody.gate.checks.calls import calls
from custody.gate.checks.citations import citations
from custody.gate.checks.duplicates import duplicates
from custody.gate.checks.integrity import integrity
from custody.gate.checks.policy import policy
from custody.gate.checks.trust import trust as trust_check
from custody.gate.codes import Code, Level
from custody.gate.engine import judge
from custody.gate.model import AddedTo, Answered, Recorded, Seen, Stretch, Unseen, Verdict, Whose
from custody.gate.rules import GateRules, LevelName
from custody.ledger.gap import Gap
from custody.trust.model import Against, Approval, Author, Never
from custody.workspace.period import Period

HOUR_NS = 3_600 * 1_000_000_000
NOON_NS = 1_700_000_000 * 1_000_000_000
PERIOD = Period(base_ns=NOON_NS - 2 * HOUR_NS, first_ns=NOON_NS, last_ns=NOON_NS + HOUR_NS)
UNSEEN = Unseen("nobody looked", "look")


ROBOT, OTHER = Author("robot", "m-1", "ana"), Author("other")
FINE = Approval()
ALL_FINE = MappingProxyType({ROBOT: FINE})
REFUSED = Approval((Against(Never.SAMPLES, "the agent is new"), Against(Never.SIZE, "the change is large")))


def agents(
    first: int = 1,
    last: int = 1,
    *,
    tier: int | None = 1,
    grade: Grade | None = Grade.ATTESTED,
    author: Author | None = ROBOT,
) -> Stretch:
    """Lines that an agent wrote."""
    return Stretch(Lines(first, last), Whose.AGENT, tier, grade, author)


def mixed(first: int = 1, last: int = 1) -> Stretch:
    """Lines that an agent wrote in part."""
    return Stretch(Lines(first, last), Whose.MIXED, 1, Grade.ATTESTED, ROBOT)


def persons(first: int = 1, last: int = 1, *, grade: Grade | None = Grade.ATTESTED) -> Stretch:
    """Lines that a person wrote whom a record names."""
    return Stretch(Lines(first, last), Whose.PERSON, None, grade)


def nobodys(first: int = 1, last: int = 1) -> Stretch:
    """Lines without evidence."""
    return Stretch(Lines(first, last), Whose.NONE)


def a_change(
    *found: Stretch | Unseen,
    recorded: Recorded | Unseen | None = None,
    gaps: Iterable[Gap] = (),
    period: Period | None = PERIOD,
    trust: Unseen | None = None,
    answers: Mapping[Author, Approval] = ALL_FINE,
) -> Seen:
    """A change that adds to one file for each answer."""
    files = [
        AddedTo(f"file{place}.py", one if isinstance(one, Unseen) else (one,)) for place, one in enumerate(found, 1)
    ]
    answered = tuple(Answered(author, approval) for author, approval in answers.items())
    return Seen(tuple(files), period, recorded or Recorded(tuple(gaps)), trust or answered)


def rules_with(levels: Mapping[Code, LevelName] | None = None, **rules: object) -> GateRules:
    """The default rules with these changes."""
    every: dict[str, LevelName] = {**GateRules().levels, **{code.value: it for code, it in (levels or {}).items()}}
    return GateRules(levels=every, **rules)  # type: ignore[arg-type]  # whatever a test wants to set


def verdict(seen: Seen, rules: GateRules | None = None) -> Verdict:
    """What all checks together lead to."""
    return judge(
        seen, [attribution, trust_check, duplicates, citations, calls, integrity, policy], rules or GateRules()
    )


def codes(seen: Seen, rules: GateRules | None = None) -> list[str]:
    """The codes of the reasons, in order."""
    return [reason.code.value for reason in verdict(seen, rules).reasons]


def level(seen: Seen, rules: GateRules | None = None) -> Level:
    """How strict the verdict is."""
    return verdict(seen, rules).level
