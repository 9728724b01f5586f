"""Trust in agents as of a time: the list of agents, what one may merge, and how its score came about."""

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from custody.core.wire.time import format_timestamp
from custody.trust.app.approval_case import sum_budget_use
from custody.trust.app.decisions import (
    TrustQuery,
    list_agents_with_decisions,
    make_trust_query,
    make_unknown_agent_error,
    read_settled_decisions,
    replay_trust_account,
)
from custody.trust.app.score_cache import read_score_state
from custody.trust.app.show import rate_score_steps, report_score_step, trust_line
from custody.trust.approval import ProposedChange, compute_merge_budget
from custody.trust.engine import compute_trust
from custody.trust.model import Account, ChangeAuthor, ScoreState, ScoreStep
from custody.trust.rules import TrustRules
from custody.trust.score import NS_PER_DAY, decay_score, find_record_reasons, read_tier_lines_max
from custody.trust.wire import ReviewReasonReport, ScoreStepReport, TrustLine
from custody.workspace.workspace import Workspace

CURVE_POINTS = 80
"""The number of points of a curve, evenly from the first decision to the time of the query."""
RECENT_STEPS = 40
"""Decisions of the small curve."""
DIRECT_SAMPLES_MAX = 2_000
"""Decisions folded for the small curves of a list; the curves of further agents are left out."""
PATHS_SHOWN = 30


class Point(Struct, frozen=True):
    """A score at a time."""

    at: str
    score: float


class TrustAgentRow(Struct, frozen=True):
    """An agent of the list; ``recent`` are the scores after its newest decisions, None if loaded separately."""

    line: TrustLine
    recent: tuple[float, ...] | None


class TrustListPage(Struct, frozen=True):
    """A page of agents by name, their total number, and the last name if there are more."""

    at: str
    profile: str
    agents: tuple[TrustAgentRow, ...]
    total: int
    next: str | None


class MergeAllowance(Struct, frozen=True, kw_only=True):
    """What an agent may merge without review: by its tier and budget, and the reasons against any merge."""

    lines_max: int
    budget: int
    budget_left: int
    budget_hours: float
    audit_share: float
    review_paths: tuple[str, ...]
    review_path_count: int
    against: tuple[ReviewReasonReport, ...]


class TrustAgentState(Struct, frozen=True):
    """The score of an agent at a time, and what it may merge."""

    at: str
    profile: str
    line: TrustLine
    may_land: MergeAllowance


class TrustAccount(Struct, frozen=True, kw_only=True):
    """How an agent got its score: a page of steps, newest first, and its curves.

    ``next`` is the place of the next older step, ``total`` the number of steps.
    """

    line: TrustLine
    start: float
    idle_days: float
    steps: tuple[ScoreStepReport, ...]
    total: int
    next: int | None
    curve: tuple[Point, ...]
    recent: tuple[Point, ...]


def list_trust_agents(workspace: Workspace, *, after: str | None, limit: int) -> TrustListPage:
    """List the agents whose names follow ``after``."""
    query = make_trust_query(workspace)
    with workspace.reading() as store:
        with read_settled_decisions(store):
            names = list_agents_with_decisions(store)
        start = 0 if after is None else bisect_right(names, after)
        page = names[start : start + limit]
        lines = [trust_line(name, read_score_state(store, name, query), query) for name in page]
        rows: list[TrustAgentRow] = []
        left = DIRECT_SAMPLES_MAX
        with read_settled_decisions(store):
            for line in lines:
                left -= line.samples
                rows.append(
                    TrustAgentRow(
                        line, list_recent_scores(replay_trust_account(store, line.agent, query)) if left >= 0 else None
                    )
                )
    following = page[-1] if len(names) > start + limit else None
    return TrustListPage(format_timestamp(query.now_ns), query.rules.profile, tuple(rows), len(names), following)


def list_recent_scores(account: Account) -> tuple[float, ...]:
    """Return the scores after the newest decisions that count."""
    counted = [step.after for step in account.steps if step.counts]
    return tuple(counted[-RECENT_STEPS:])


def read_current_score(workspace: Workspace, agent: str, query: TrustQuery) -> ScoreState:
    """Return the score of an agent now; ``UnknownAgent`` without decisions about it."""
    with workspace.reading() as store:
        with read_settled_decisions(store):
            names = list_agents_with_decisions(store)
        if agent not in names:
            raise make_unknown_agent_error(agent, names)
        return read_score_state(store, agent, query)


def describe_agent(workspace: Workspace, agent: str, state: ScoreState, query: TrustQuery) -> TrustAgentState:
    """Return the score of an agent at the time of the query, and what it may merge."""
    may_land = _compute_merge_allowance(workspace, agent, state, query)
    line = trust_line(agent, state, query)
    return TrustAgentState(format_timestamp(query.now_ns), query.rules.profile, line, may_land)


def _compute_merge_allowance(workspace: Workspace, agent: str, state: ScoreState, query: TrustQuery) -> MergeAllowance:
    rules = query.rules
    trust = compute_trust(state, query.now_ns, rules)
    with workspace.reading() as store, read_settled_decisions(store):
        spent = sum_budget_use(store, ChangeAuthor(agent), ProposedChange(head="", lines=0), query).agent
    budget = compute_merge_budget(trust, rules)
    return MergeAllowance(
        lines_max=read_tier_lines_max(trust.tier, rules),
        budget=budget,
        budget_left=max(0, budget - spent),
        budget_hours=rules.budget_hours,
        audit_share=rules.audit_share,
        review_paths=rules.review_paths[:PATHS_SHOWN],
        review_path_count=len(rules.review_paths),
        against=tuple(
            ReviewReasonReport(reason.code.value, reason.sentence) for reason in find_record_reasons(trust, rules)
        ),
    )


def describe_account(
    workspace: Workspace, agent: str, account: Account, query: TrustQuery, *, before: int | None, limit: int
) -> TrustAccount:
    """Return the ``limit`` steps before place ``before``, or the newest, with the curves of the score."""
    steps = account.steps
    end = len(steps) if before is None else min(before, len(steps))
    start = max(0, end - limit)
    page = steps[start:end][::-1]
    assurances = rate_score_steps(workspace, agent, page, query.now_ns)
    return TrustAccount(
        line=trust_line(agent, account.state, query),
        start=query.rules.start_score,
        idle_days=account.state.idle_ns(query.now_ns) / NS_PER_DAY,
        steps=tuple(report_score_step(step, assurances.get(step.entry.record)) for step in page),
        total=len(steps),
        next=start or None,
        curve=compute_score_curve(steps, query.now_ns, query.rules),
        recent=tuple(Point(format_timestamp(step.at_ns), step.after) for step in steps if step.counts)[-CURVE_POINTS:],
    )


def compute_score_curve(steps: Sequence[ScoreStep], now_ns: int, rules: TrustRules) -> tuple[Point, ...]:
    """Return the score at even intervals from the first step to now, with its decay between steps."""
    if not steps:
        return ()
    times = [step.at_ns for step in steps]
    first, last = times[0], max(now_ns, times[-1])
    points = []
    for n in range(CURVE_POINTS):
        at_ns = first + (last - first) * n // (CURVE_POINTS - 1)
        step = steps[bisect_right(times, at_ns) - 1]
        points.append(Point(format_timestamp(at_ns), decay_score(step.after, (at_ns - step.at_ns) / NS_PER_DAY, rules)))
    return tuple(points)
