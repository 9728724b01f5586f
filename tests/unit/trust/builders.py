"""Entries about one agent, with defaults for everything that a test is not about."""

from itertools import count

from hypothesis import strategies as st

from custody.core.ids import AgentName, RecordRef, Seq, StoreId
from custody.trust.engine import compute_trust
from custody.trust.model import (
    ChangeComplexity,
    ChangeStakes,
    DecisionEntry,
    DecisionOverride,
    DecisionType,
    Entry,
    RecoveryEntry,
    ScoreState,
    Trust,
    TrustTier,
)
from custody.trust.rules import TrustRules

CAUTIOUS = TrustRules()
DOCUMENT = TrustRules(profile="document")
ROBOT = AgentName("robot")
NOON = 1_769_860_800_000_000_000
DAY = 86_400 * 1_000_000_000
ONE = ChangeStakes(ChangeComplexity.TRIVIAL, 50)
"""Stakes of exactly 1."""
_PLACES = count(1)


def a_place(seq: int | None = None) -> RecordRef:
    return RecordRef(StoreId("a" * 32), Seq(next(_PLACES) if seq is None else seq))


def a_decision(
    decision: DecisionType = DecisionType.ACCEPTED,
    *,
    day: float = 0,
    stakes: ChangeStakes = ONE,
    id: str | None = None,
    actor: str | None = "ana",
    reverts: str | None = None,
    commit: str | None = None,
    model: str | None = None,
) -> DecisionEntry:
    place = a_place()
    name = id or f"d{place.seq}"
    return DecisionEntry(name, _at(day), place, decision, stakes, actor, commit=commit, reverts=reverts, model=model)


def a_landing(
    *, day: float = 0, stakes: ChangeStakes = ONE, id: str | None = None, head: str | None = None
) -> DecisionEntry:
    """Return a change merged without review."""
    place = a_place()
    sha = head or f"{place.seq:040x}"
    return DecisionEntry(
        id or f"u{place.seq}",
        _at(day),
        place,
        DecisionType.ACCEPTED,
        stakes,
        "ci",
        commit=sha,
        unreviewed=True,
        head=sha,
    )


def an_override(
    target: DecisionEntry,
    decision: DecisionType,
    *,
    day: float = 1,
    actor: str | None = "ben",
    reason: str | None = "it broke the build",
) -> DecisionOverride:
    place = a_place()
    return DecisionOverride(f"o{place.seq}", _at(day), place, target.id, decision, actor, reason)


def a_recovery(
    boost: float = 0.05, *, day: float = 1, actor: str | None = "ana", reason: str | None = "new model"
) -> RecoveryEntry:
    place = a_place()
    return RecoveryEntry(f"r{place.seq}", _at(day), place, boost, actor, reason)


def a_standing(
    score: float = 0.5, *, samples: int = 10, day: float | None = 0, recovered: float | None = None
) -> ScoreState:
    since = None if day is None else _at(day)
    return ScoreState(score, since, since, None if recovered is None else _at(recovered), accepted=samples)


def a_trust(tier: TrustTier, *, samples: int = 10, rules: TrustRules = CAUTIOUS) -> Trust:
    """Return an agent in this tier, right after its last decision."""
    score = rules.tier_score_min[tier.rank]
    return compute_trust(a_standing(score, samples=samples), NOON, rules)


def _at(day: float) -> int:
    return NOON + round(day * DAY)


stakes = st.builds(
    ChangeStakes,
    st.none() | st.sampled_from(ChangeComplexity),
    st.none() | st.sampled_from((0, 1, 9, 10, 49, 50, 51, 500, 10_000)) | st.integers(0, 5_000),
    st.none() | st.sampled_from((0, 1, 1_000, 60_000)) | st.integers(-5, 10**7),
)
days = st.sampled_from((0.0, 1.0, 6.99, 7.0, 14.0, 15.0, 30.0)) | st.floats(0, 400)
decisions = st.builds(
    a_decision,
    st.sampled_from(DecisionType),
    day=days,
    stakes=stakes,
    actor=st.sampled_from((None, "ana", "robot")),
    commit=st.sampled_from((None, "a", "b")),
    model=st.sampled_from((None, "m-1", "m-2")),
)
landings = st.builds(
    a_landing,
    day=days,
    stakes=stakes,
    id=st.none() | st.sampled_from(("u-a", "u-b")),
    head=st.none() | st.sampled_from(("a", "b")),
)
recoveries = st.builds(a_recovery, st.floats(0.001, 1), day=days, actor=st.sampled_from((None, "ana", "robot")))


@st.composite
def histories(draw: st.DrawFn) -> list[Entry]:
    """Decisions, merges without review and recoveries in any order; some overridden, reverted or repeated."""
    entries: list[Entry] = draw(st.lists(decisions | landings | recoveries, max_size=12))
    decided = [entry for entry in entries if isinstance(entry, DecisionEntry)]
    if decided:
        targets = draw(st.lists(st.sampled_from(decided), max_size=3))
        entries += [an_override(target, draw(st.sampled_from(DecisionType)), day=draw(days)) for target in targets]
        entries += draw(st.lists(st.sampled_from(decided), max_size=2))
        taken_back = draw(st.lists(st.sampled_from(decided), max_size=2))
        entries += [a_decision(DecisionType.REJECTED, day=draw(days), reverts=one.id) for one in taken_back]
    return entries
