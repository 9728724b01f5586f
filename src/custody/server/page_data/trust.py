"""Agents for somebody who looks: all of them a page at a time, one with its account, and how its score moved.

What stands on a page is bounded. Folding everything that was recorded takes its time where that is much, so pages ask
for it apart, and of too much they say which verb to run instead.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from custody.core.errors import InputError
from custody.core.wire.time import text_from
from custody.server.app.questions import NotThere
from custody.server.page_data.cache import Lately, place_of
from custody.store import Store
from custody.trust.app.approval_case import spent_by
from custody.trust.app.chance import memory_of, said_by
from custody.trust.app.decisions import (
    Asked,
    account_of,
    agents_in,
    asked_at,
    count_decisions,
    known_account,
    settled,
    unknown,
)
from custody.trust.app.show import step_taken, trust_line
from custody.trust.app.standing import standing_of
from custody.trust.approval import Proposed, budget_of
from custody.trust.engine import trust_at
from custody.trust.levels import Case
from custody.trust.model import Account, Author, Standing, Step, UnknownAgent
from custody.trust.past_decisions import HERE, Memory
from custody.trust.rules import TrustRules
from custody.trust.score import NS_PER_DAY, decayed
from custody.trust.tiers import against_record
from custody.trust.wire.chance import ChanceTold
from custody.trust.wire.report import ReasonAgainst, StepTaken, TrustLine
from custody.workspace.workspace import Desk

CURVE_POINTS = 80
"""Moments at which a score is told, evenly from the first decision to the moment asked for."""
RECENT_STEPS = 40
"""Decisions of the small curve."""
DIRECT_SAMPLES_MAX = 2_000
"""So many decisions are folded for the small curves of a list; those of other agents are asked for one by one."""
DECISIONS_MAX = 20_000
"""With more decisions than this, nothing that folds all of them is made for a page: that many take ten seconds."""
MEMORY_NS_MAX = 120 * 1_000_000_000
"""So long it is remembered what was learnt from all of them."""
PATHS_SHOWN = 30


@dataclass(frozen=True, slots=True)
class Point:
    """A score at a moment."""

    at: str
    score: float


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent of the list; ``recent`` are its scores after its newest decisions, None if they are asked for apart."""

    line: TrustLine
    recent: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class AgentsListed:
    """Some agents by name, of how many, and after whom there are more."""

    at: str
    profile: str
    agents: tuple[AgentRow, ...]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MayLand:
    """What an agent may land without review: by its tier, in the budget's window, and what is against all of it."""

    lines_max: int
    budget: int
    budget_left: int
    budget_hours: float
    audit_share: float
    review_paths: tuple[str, ...]
    review_path_count: int
    against: tuple[ReasonAgainst, ...]


@dataclass(frozen=True, slots=True)
class AgentSeen:
    """Where an agent stands at a moment, and what it may land."""

    at: str
    profile: str
    line: TrustLine
    may_land: MayLand


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSeen:
    """How an agent came to its score: some of the steps, newest first, and its curves.

    The step at place ``next`` is the next older one; ``total`` steps were taken in all.
    """

    line: TrustLine
    start: float
    idle_days: float
    steps: tuple[StepTaken, ...]
    total: int
    next: int | None
    curve: tuple[Point, ...]
    recent: tuple[Point, ...]


_MEMORIES: Lately[Memory] = Lately(ns_max=MEMORY_NS_MAX)


def agents_listed(desk: Desk, *, after: str | None, limit: int) -> AgentsListed:
    """The agents whose names follow ``after``."""
    asked = asked_at(desk)
    with desk.reading() as store:
        with settled(store):
            names = agents_in(store)
        start = 0 if after is None else bisect_right(names, after)
        some = names[start : start + limit]
        lines = [trust_line(name, standing_of(store, name, asked), asked) for name in some]
        rows: list[AgentRow] = []
        left = DIRECT_SAMPLES_MAX
        with settled(store):
            for line in lines:
                left -= line.samples
                rows.append(AgentRow(line, _recent(account_of(store, line.agent, asked)) if left >= 0 else None))
    following = some[-1] if len(names) > start + limit else None
    return AgentsListed(text_from(asked.now_ns), asked.rules.profile, tuple(rows), len(names), following)


def agent_recent(desk: Desk, agent: str) -> tuple[float, ...]:
    """The agent's scores after its newest decisions."""
    return _recent(_account(desk, agent, asked_at(desk)))


def _recent(account: Account) -> tuple[float, ...]:
    counted = [step.after for step in account.steps if step.counts]
    return tuple(counted[-RECENT_STEPS:])


def agent_seen(desk: Desk, agent: str, *, at: str | None) -> AgentSeen:
    """Where an agent stands, now or at a past moment."""
    asked = asked_at(desk, at)
    if at is not None:
        standing = _account(desk, agent, asked).standing
    else:
        with desk.reading() as store:
            with settled(store):
                names = agents_in(store)
            if agent not in names:
                raise _not_there(unknown(agent, names))
            standing = standing_of(store, agent, asked)
    may_land = _may_land(desk, agent, standing, asked)
    line = trust_line(agent, standing, asked)
    return AgentSeen(text_from(asked.now_ns), asked.rules.profile, line, may_land)


def _may_land(desk: Desk, agent: str, standing: Standing, asked: Asked) -> MayLand:
    rules = asked.rules
    trust = trust_at(standing, asked.now_ns, rules)
    with desk.reading() as store, settled(store):
        spent = spent_by(store, Author(agent), Proposed(head="", lines=0), asked).agent
    line = trust_line(agent, standing, asked)
    budget = budget_of(trust, rules)
    return MayLand(
        lines_max=line.lines_max,
        budget=budget,
        budget_left=max(0, budget - spent),
        budget_hours=rules.budget_hours,
        audit_share=rules.audit_share,
        review_paths=rules.review_paths[:PATHS_SHOWN],
        review_path_count=len(rules.review_paths),
        against=tuple(ReasonAgainst(one.code.value, one.sentence) for one in against_record(trust, rules)),
    )


def agent_account(desk: Desk, agent: str, *, at: str | None, before: int | None, limit: int) -> AccountSeen:
    """Every record about an agent and what it did, those before place ``before`` first, and how the score moved."""
    asked = asked_at(desk, at)
    account = _account(desk, agent, asked)
    steps = account.steps
    end = len(steps) if before is None else min(before, len(steps))
    start = max(0, end - limit)
    since_ns = account.standing.since_ns
    return AccountSeen(
        line=trust_line(agent, account.standing, asked),
        start=asked.rules.start_score,
        idle_days=0.0 if since_ns is None else max(0.0, (asked.now_ns - since_ns) / NS_PER_DAY),
        steps=tuple(step_taken(step) for step in steps[start:end][::-1]),
        total=len(steps),
        next=start or None,
        curve=curve_of(steps, asked.now_ns, asked.rules),
        recent=tuple(Point(text_from(step.at_ns), step.after) for step in steps if step.counts)[-CURVE_POINTS:],
    )


def curve_of(steps: Sequence[Step], now_ns: int, rules: TrustRules) -> tuple[Point, ...]:
    """The score at evenly chosen moments from the first step to now, as it faded between steps."""
    if not steps:
        return ()
    moments = [step.at_ns for step in steps]
    first, last = moments[0], max(now_ns, moments[-1])
    points = []
    for n in range(CURVE_POINTS):
        at_ns = first + (last - first) * n // (CURVE_POINTS - 1)
        step = steps[bisect_right(moments, at_ns) - 1]
        points.append(Point(text_from(at_ns), decayed(step.after, (at_ns - step.at_ns) / NS_PER_DAY, rules)))
    return tuple(points)


def agent_chance(desk: Desk, agent: str, *, at: str | None) -> ChanceTold:
    """The chance of a change of the agent's of which nothing else is known, from everything that was decided."""
    asked = asked_at(desk, at)
    with desk.reading() as store, settled(store):
        few_enough(count_decisions(store))
        state = (heads_of(store), asked.rules, asked.until_ns)
        memory = _MEMORIES.get(place_of(desk), state, asked.now_ns, lambda: memory_of(store, asked.rules, asked.now_ns))
    return said_by(memory, Case(agent, HERE, opened_ns=asked.now_ns)).told()


def heads_of(store: Store) -> tuple[tuple[str, int], ...]:
    """How far every chain reaches: whatever is recorded later gives another answer."""
    return tuple((str(head.store), int(head.seq)) for head in store.tables.chains())


def few_enough(decisions: int) -> None:
    """Refuse to fold more decisions than a page can wait for."""
    if decisions > DECISIONS_MAX:
        raise InputError(
            f"there are {decisions:,} decisions, too many to go through for a page",
            hint="ask on the command line: 'custody trust why AGENT', 'custody trust simulate'",
        )


def _account(desk: Desk, agent: str, asked: Asked) -> Account:
    with desk.reading() as store:
        few_enough(count_decisions(store, agent))
    try:
        return known_account(desk, agent, asked)
    except UnknownAgent as error:
        raise _not_there(error) from error


def _not_there(error: UnknownAgent) -> NotThere:
    return NotThere(error.message, hint=error.hint)
