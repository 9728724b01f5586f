"""Scores as a fold over what was recorded: the same entries give the same account, bit for bit, in whatever order."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from custody.model.ids import AgentName, RecordRef
from custody.trust.model import Account, Decided, DecisionType, Entry, Overridden, Recovered, Standing, Step, Trust
from custody.trust.rules import TrustRules
from custody.trust.score import (
    NS_PER_DAY,
    confidence_of,
    decayed,
    is_rubber_stamp,
    lifted,
    moved,
    step_of,
    weight_of,
)
from custody.trust.tiers import tier_of

UNSPECIFIED = "unspecified"
"""The reason of a recovery for which nobody gave one."""


def replay(agent: AgentName, entries: Iterable[Entry], rules: TrustRules) -> Account:
    """Fold everything that was recorded about ``agent`` into what each entry did and where that leaves it."""
    ordered = sorted(entries, key=_order)
    overrides = _overrides(agent, ordered)
    standing = newcomer(rules)
    steps: list[Step] = []
    seen: set[str] = set()
    for entry in ordered:
        step, standing = _taken(agent, entry, standing, overrides, rules, repeated=entry.id in seen)
        seen.add(entry.id)
        steps.append(step)
    return Account(tuple(steps), standing)


def newcomer(rules: TrustRules) -> Standing:
    """Where an agent stands about which nothing was decided."""
    return Standing(rules.start_score)


def trust_at(standing: Standing, now_ns: int, rules: TrustRules) -> Trust:
    """What an agent's standing is worth at a moment."""
    score = _faded(standing, now_ns, rules)
    meaningful = standing.samples >= rules.meaningful_samples_min
    return Trust(score, tier_of(score, rules), confidence_of(standing.samples, rules), meaningful, standing)


def against_recovery(agent: AgentName, entry: Recovered, standing: Standing, rules: TrustRules) -> str | None:
    """Why a recovery does not count; None when it does."""
    if not standing.samples:
        return "nothing was decided about the agent before"
    if entry.boost <= 0:
        return "a recovery adds something"
    if entry.actor == agent:
        return "an agent cannot lift its own score"
    since_ns = standing.recovered_ns
    if since_ns is not None and entry.at_ns - since_ns < rules.recovery_days_min * NS_PER_DAY:
        return f"the last recovery is less than {rules.recovery_days_min:g} day(s) old"
    return None


def _order(entry: Entry) -> tuple[int, RecordRef]:
    return entry.at_ns, entry.record


def _overrides(agent: AgentName, ordered: Iterable[Entry]) -> Mapping[str, Overridden]:
    """The override that stands for each decision: the last one that says who and why, and is not the agent's own."""
    made = (entry for entry in ordered if isinstance(entry, Overridden))
    return {entry.target: entry for entry in made if _against_override(agent, entry) is None}


def _taken(
    agent: AgentName,
    entry: Entry,
    standing: Standing,
    overrides: Mapping[str, Overridden],
    rules: TrustRules,
    *,
    repeated: bool,
) -> tuple[Step, Standing]:
    before = _faded(standing, entry.at_ns, rules)
    if repeated:
        return Step(entry, before, before, counts=False, notes=("the same decision was recorded before",)), standing
    match entry:
        case Decided():
            return _decided(agent, entry, standing, before, overrides.get(entry.id), rules)
        case Overridden():
            against = _against_override(agent, entry)
            note = against or f"counts in the place of '{entry.target}'"
            return Step(entry, before, before, counts=against is None, notes=(note,)), standing
        case Recovered():
            return _recovered(agent, entry, standing, before, rules)
        case _:
            assert_never(entry)


def _decided(
    agent: AgentName,
    entry: Decided,
    standing: Standing,
    before: float,
    override: Overridden | None,
    rules: TrustRules,
) -> tuple[Step, Standing]:
    decision = entry.decision if override is None else override.decision
    value = rules.decision_values[decision.value]
    rising = value > before
    if rising and override is None and entry.actor == agent:
        note = "an agent cannot accept its own change"
        return Step(entry, before, before, counts=False, decision=decision, notes=(note,)), standing
    weight = weight_of(entry.stakes, rules, rising=rising)
    size = step_of(weight, rules, rising=rising)
    after = moved(before, value, size)
    notes = tuple(_notes(entry, override, rules))
    step = Step(entry, before, after, counts=True, decision=decision, weight=weight, size=size, notes=notes)
    return step, _after(standing, entry.at_ns, after, decision)


def _after(standing: Standing, at_ns: int, score: float, decision: DecisionType) -> Standing:
    return replace(
        standing,
        score=score,
        since_ns=at_ns,
        active_ns=at_ns,
        accepted=standing.accepted + (decision is DecisionType.ACCEPTED),
        modified=standing.modified + (decision is DecisionType.MODIFIED),
        rejected=standing.rejected + (decision is DecisionType.REJECTED),
    )


def _recovered(
    agent: AgentName, entry: Recovered, standing: Standing, before: float, rules: TrustRules
) -> tuple[Step, Standing]:
    against = against_recovery(agent, entry, standing, rules)
    if against is not None:
        return Step(entry, before, before, counts=False, notes=(against,)), standing
    after = lifted(before, entry.boost, rules)
    notes = ("no reason was given",) if entry.reason in (None, UNSPECIFIED) else ()
    restarted = replace(standing, score=after, since_ns=entry.at_ns, recovered_ns=entry.at_ns)
    return Step(entry, before, after, counts=True, notes=notes), restarted


def _against_override(agent: AgentName, entry: Overridden) -> str | None:
    if entry.actor is None or not entry.reason:
        return "an override needs somebody who made it and a reason"
    return "an agent cannot override decisions about itself" if entry.actor == agent else None


def _notes(entry: Decided, override: Overridden | None, rules: TrustRules) -> Iterator[str]:
    if override is not None:
        yield f"was {entry.decision.value}; overridden by {override.actor}: {override.reason}"
    if entry.reverts is not None:
        yield f"takes back '{entry.reverts}'"
    if is_rubber_stamp(entry.stakes, rules):
        yield "rubber stamp: nobody reads so fast"


def _faded(standing: Standing, at_ns: int, rules: TrustRules) -> float:
    if standing.since_ns is None:
        return standing.score
    return decayed(standing.score, (at_ns - standing.since_ns) / NS_PER_DAY, rules)
