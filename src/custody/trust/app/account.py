"""An agent's trust as of a time: all agents as a list, one with what it may land, and how its score came about."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from custody.core.wire.time import text_from
from custody.trust.app.approval_case import spent_by
from custody.trust.app.decisions import (
    TrustQuery,
    account_of,
    agents_in,
    make_trust_query,
    make_unknown_agent_error,
    read_settled_decisions,
)
from custody.trust.app.show import report_step, trust_line
from custody.trust.app.standing import read_standing
from custody.trust.approval import ProposedChange, budget_of
from custody.trust.engine import trust_at
from custody.trust.model import Account, ChangeAuthor, ScoreStep, TrustStanding
from custody.trust.rules import TrustRules
from custody.trust.score import NS_PER_DAY, against_record, decay_score, lines_max
from custody.trust.wire import ReviewReasonReport, ScoreStepReport, TrustLine
from custody.workspace.workspace import Workspace

CURVE_POINTS = 80
"""Times at which a score is reported, evenly from the first decision to the time asked for."""
RECENT_STEPS = 40
"""Decisions of the small curve."""
DIRECT_SAMPLES_MAX = 2_000
"""Decisions that are folded for the small curves of a list; the curves of further agents are left out."""
PATHS_SHOWN = 30


@dataclass(frozen=True, slots=True)
class Point:
    """A score at a moment."""

    at: str
    score: float


@dataclass(frozen=True, slots=True)
class TrustAgentRow:
    """An agent of the list; ``recent`` are its scores after its newest decisions, None if they are asked for apart."""

    line: TrustLine
    recent: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class TrustListPage:
    """Some agents by name, of how many, and after whom there are more."""

    at: str
    profile: str
    agents: tuple[TrustAgentRow, ...]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeAllowance:
    """What an agent may land without review: by its tier, in the budget's window, and what is against all of it."""

    lines_max: int
    budget: int
    budget_left: int
    budget_hours: float
    audit_share: float
    review_paths: tuple[str, ...]
    review_path_count: int
    against: tuple[ReviewReasonReport, ...]


@dataclass(frozen=True, slots=True)
class TrustAgentState:
    """Where an agent stands at a moment, and what it may land."""

    at: str
    profile: str
    line: TrustLine
    may_land: MergeAllowance


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustAccount:
    """How an agent came to its score: some of the steps, newest first, and its curves.

    The step at place ``next`` is the next older one; ``total`` steps were taken in all.
    """

    line: TrustLine
    start: float
    idle_days: float
    steps: tuple[ScoreStepReport, ...]
    total: int
    next: int | None
    curve: tuple[Point, ...]
    recent: tuple[Point, ...]


def agents_listed(workspace: Workspace, *, after: str | None, limit: int) -> TrustListPage:
    """The agents whose names follow ``after``."""
    asked = make_trust_query(workspace)
    with workspace.reading() as store:
        with read_settled_decisions(store):
            names = agents_in(store)
        start = 0 if after is None else bisect_right(names, after)
        some = names[start : start + limit]
        lines = [trust_line(name, read_standing(store, name, asked), asked) for name in some]
        rows: list[TrustAgentRow] = []
        left = DIRECT_SAMPLES_MAX
        with read_settled_decisions(store):
            for line in lines:
                left -= line.samples
                rows.append(
                    TrustAgentRow(line, list_recent_scores(account_of(store, line.agent, asked)) if left >= 0 else None)
                )
    following = some[-1] if len(names) > start + limit else None
    return TrustListPage(text_from(asked.now_ns), asked.rules.profile, tuple(rows), len(names), following)


def list_recent_scores(account: Account) -> tuple[float, ...]:
    """The scores after the newest decisions that counted."""
    counted = [step.after for step in account.steps if step.counts]
    return tuple(counted[-RECENT_STEPS:])


def read_current_standing(workspace: Workspace, agent: str, asked: TrustQuery) -> TrustStanding:
    """The standing of an agent now; ``UnknownAgent`` where no decision is recorded about it."""
    with workspace.reading() as store:
        with read_settled_decisions(store):
            names = agents_in(store)
        if agent not in names:
            raise make_unknown_agent_error(agent, names)
        return read_standing(store, agent, asked)


def describe_agent(workspace: Workspace, agent: str, standing: TrustStanding, asked: TrustQuery) -> TrustAgentState:
    """The score of an agent as of the time asked for, and what it may land."""
    may_land = _may_land(workspace, agent, standing, asked)
    line = trust_line(agent, standing, asked)
    return TrustAgentState(text_from(asked.now_ns), asked.rules.profile, line, may_land)


def _may_land(workspace: Workspace, agent: str, standing: TrustStanding, asked: TrustQuery) -> MergeAllowance:
    rules = asked.rules
    trust = trust_at(standing, asked.now_ns, rules)
    with workspace.reading() as store, read_settled_decisions(store):
        spent = spent_by(store, ChangeAuthor(agent), ProposedChange(head="", lines=0), asked).agent
    budget = budget_of(trust, rules)
    return MergeAllowance(
        lines_max=lines_max(trust.tier, rules),
        budget=budget,
        budget_left=max(0, budget - spent),
        budget_hours=rules.budget_hours,
        audit_share=rules.audit_share,
        review_paths=rules.review_paths[:PATHS_SHOWN],
        review_path_count=len(rules.review_paths),
        against=tuple(
            ReviewReasonReport(reason.code.value, reason.sentence) for reason in against_record(trust, rules)
        ),
    )


def describe_account(
    agent: str, account: Account, asked: TrustQuery, *, before: int | None, limit: int
) -> TrustAccount:
    """The ``limit`` steps before place ``before``, or the newest ones, and how the score moved."""
    steps = account.steps
    end = len(steps) if before is None else min(before, len(steps))
    start = max(0, end - limit)
    return TrustAccount(
        line=trust_line(agent, account.standing, asked),
        start=asked.rules.start_score,
        idle_days=account.standing.idle_ns(asked.now_ns) / NS_PER_DAY,
        steps=tuple(report_step(step) for step in steps[start:end][::-1]),
        total=len(steps),
        next=start or None,
        curve=curve_of(steps, asked.now_ns, asked.rules),
        recent=tuple(Point(text_from(step.at_ns), step.after) for step in steps if step.counts)[-CURVE_POINTS:],
    )


def curve_of(steps: Sequence[ScoreStep], now_ns: int, rules: TrustRules) -> tuple[Point, ...]:
    """The score at evenly chosen moments from the first step to now, as it faded between steps."""
    if not steps:
        return ()
    moments = [step.at_ns for step in steps]
    first, last = moments[0], max(now_ns, moments[-1])
    points = []
    for n in range(CURVE_POINTS):
        at_ns = first + (last - first) * n // (CURVE_POINTS - 1)
        step = steps[bisect_right(moments, at_ns) - 1]
        points.append(Point(text_from(at_ns), decay_score(step.after, (at_ns - step.at_ns) / NS_PER_DAY, rules)))
    return tuple(points)
