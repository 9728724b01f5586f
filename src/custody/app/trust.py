"""Where agents stand, and why: gather what was recorded about them, replay it, report it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from custody.app.desk import Desk
from custody.app.trust_folder import trust_rules
from custody.model.errors import StoreError
from custody.model.ids import AgentName
from custody.model.views import Decision, DecisionKind
from custody.trust.engine import replay, trust_at
from custody.trust.model import (
    Account,
    ChangeComplexity,
    Decided,
    DecisionType,
    Entry,
    Overridden,
    Recovered,
    Stakes,
    Step,
    Trust,
    UnknownAgent,
)
from custody.trust.rules import TrustRules
from custody.trust.score import NS_PER_DAY
from custody.trust.tiers import lines_max
from custody.wire.bodies import digest_text
from custody.wire.rules import rules_digest
from custody.wire.times import ns_from, text_from
from custody.wire.trust import EntryKind, StepTaken, TrustLine, TrustListReport, TrustShowReport, TrustWhyReport
from custody.world.store import Seen, Store

SETTLE_MAX = 100
"""How often to look whether the index is whole before giving up."""

_COMPLEXITIES = {complexity.word: complexity for complexity in ChangeComplexity}


@dataclass(frozen=True, slots=True)
class Asked:
    """As of which moment, and by which rules; without ``until_ns`` everything recorded counts."""

    rules: TrustRules
    now_ns: int
    until_ns: int | None = None


def trust_list(desk: Desk) -> TrustListReport:
    """Every agent about which anything was decided."""
    asked = _asked(desk, None)
    with desk.reading() as store, settled(store):
        lines = [trust_line(agent, account_of(store, agent, asked), asked) for agent in agents_in(store)]
    return TrustListReport(
        at=text_from(asked.now_ns), profile=asked.rules.profile, rules_digest=_digest(asked), agents=lines
    )


def trust_show(desk: Desk, agent: str, *, limit: int) -> TrustShowReport:
    """One agent with the newest decisions about it."""
    asked = _asked(desk, None)
    account = known_account(desk, agent, asked)
    newest = account.steps[::-1][:limit]
    return TrustShowReport(
        at=text_from(asked.now_ns),
        profile=asked.rules.profile,
        rules_digest=_digest(asked),
        standing=trust_line(agent, account, asked),
        history=[step_taken(step) for step in newest],
        total=len(account.steps),
    )


def trust_why(desk: Desk, agent: str, *, at: str | None = None) -> TrustWhyReport:
    """How an agent came to its score, now or at a past moment."""
    asked = _asked(desk, at)
    account = known_account(desk, agent, asked)
    since_ns = account.standing.since_ns
    return TrustWhyReport(
        at=text_from(asked.now_ns),
        profile=asked.rules.profile,
        rules_digest=_digest(asked),
        standing=trust_line(agent, account, asked),
        start=asked.rules.start_score,
        steps=[step_taken(step) for step in account.steps],
        idle_days=0.0 if since_ns is None else max(0.0, (asked.now_ns - since_ns) / NS_PER_DAY),
    )


def _asked(desk: Desk, at: str | None) -> Asked:
    rules = trust_rules(desk)
    if at is None:
        return Asked(rules, desk.now_ns())
    moment = ns_from(at)
    return Asked(rules, moment, moment)


@contextmanager
def settled(store: Store) -> Iterator[None]:
    """One moment in which the index of decisions has read every record: half of them would give another score.

    Another process may be making the index again, and its steps can be seen.
    """
    for _ in range(SETTLE_MAX):
        with store.db.reading():
            if store.views.current():
                yield
                return
        store.catch_up()
    raise StoreError("the index of decisions is being made again by other processes", hint="try again in a moment")


def agents_in(store: Store) -> list[AgentName]:
    """Everybody about whom a decision was recorded, by name."""
    return [AgentName(str(agent)) for agent in store.views.distinct("decision", "agent", "1 = 1", ())]


def entries_of(store: Store, agent: str, until_ns: int | None = None) -> list[Entry]:
    """Everything that was recorded about ``agent``, perhaps only until a moment."""
    seen = store.views.look_up("decision", "agent = ?", (agent,))
    return [entry for entry in entries_from(seen) if until_ns is None or entry.at_ns <= until_ns]


def entries_from(seen: Sequence[Seen]) -> Iterator[Entry]:
    """What views of decisions say, in the terms of trust."""
    for one in seen:
        if isinstance(one.view, Decision):
            yield _entry(one, one.view)


def account_of(store: Store, agent: str, asked: Asked) -> Account:
    """The replay of everything about ``agent``."""
    return replay(AgentName(agent), entries_of(store, agent, asked.until_ns), asked.rules)


def known_account(desk: Desk, agent: str, asked: Asked) -> Account:
    """The same, where there is anything; else an ``UnknownAgent``."""
    with desk.reading() as store, settled(store):
        account = account_of(store, agent, asked)
        known = agents_in(store)
    if not account.steps:
        raise unknown(agent, known, asked.until_ns)
    return account


def unknown(agent: str, known: Sequence[str], until_ns: int | None = None) -> UnknownAgent:
    """The error for an agent without decisions, with the names that there are."""
    when = "" if until_ns is None else f" until {text_from(until_ns)}"
    names = ", ".join(f"'{name}'" for name in known[:5]) + (", …" if len(known) > 5 else "")
    hint = f"there are decisions about {names}" if known else "record one with 'custody trust record'"
    return UnknownAgent(f"nothing was decided about '{agent}'{when}", hint=hint)


def trust_line(agent: str, account: Account, asked: Asked) -> TrustLine:
    """One agent as of the moment asked for."""
    trust: Trust = trust_at(account.standing, asked.now_ns, asked.rules)
    standing = trust.standing
    return TrustLine(
        agent=agent,
        score=trust.score,
        stored=standing.score,
        tier=trust.tier.value,
        confidence=trust.confidence,
        meaningful=trust.meaningful,
        samples=standing.samples,
        accepted=standing.accepted,
        modified=standing.modified,
        rejected=standing.rejected,
        lines_max=lines_max(trust.tier, asked.rules),
        last_active=None if standing.active_ns is None else text_from(standing.active_ns),
    )


def step_taken(step: Step) -> StepTaken:
    """A step as it is reported."""
    entry = step.entry
    stakes = entry.stakes if isinstance(entry, Decided) else Stakes()
    said = entry.decision if isinstance(entry, Overridden) else step.decision
    return StepTaken(
        record=str(entry.record),
        id=entry.id,
        at=text_from(entry.at_ns),
        kind=_kind(entry),
        decision=None if said is None else said.value,
        counts=step.counts,
        before=step.before,
        after=step.after,
        weight=step.weight,
        step=step.size,
        complexity=None if stakes.complexity is None else stakes.complexity.word,
        lines=stakes.lines,
        review_ms=stakes.review_ms,
        commit=entry.commit if isinstance(entry, Decided) else None,
        actor=entry.actor,
        reason=entry.reason,
        notes=list(step.notes),
    )


def _kind(entry: Entry) -> EntryKind:
    if isinstance(entry, Decided):
        return "decision" if entry.reverts is None else "revert"
    return "override" if isinstance(entry, Overridden) else "recovery"


def _entry(seen: Seen, view: Decision) -> Entry:
    ref = seen.record.ref
    if view.decision is DecisionKind.RECOVERED:
        return Recovered(view.id, view.at_ns, ref, view.boost or 0.0, view.actor, view.reason)
    decision = DecisionType(view.decision.value)
    if view.overrides is not None:
        return Overridden(view.id, view.at_ns, ref, view.overrides, decision, view.actor, view.reason)
    return Decided(
        id=view.id,
        at_ns=view.at_ns,
        record=ref,
        # What was taken back was not good, whatever else the record calls it.
        decision=decision if view.reverts is None else DecisionType.REJECTED,
        stakes=Stakes(_COMPLEXITIES.get(view.complexity or ""), view.changed_lines, view.review_ms),
        actor=view.actor,
        reason=view.reason,
        commit=view.commit or view.commit_name,
        reverts=view.reverts,
    )


def _digest(asked: Asked) -> str:
    return digest_text(rules_digest({"trust": asked.rules}))
