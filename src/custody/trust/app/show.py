"""Reports of agents' scores and how they came about."""

from collections.abc import Mapping, Sequence

from custody.core.assurance import Assurance
from custody.core.ids import RecordRef
from custody.core.wire.time import format_timestamp
from custody.trust.app.decisions import (
    TrustQuery,
    list_agents_with_decisions,
    make_trust_query,
    read_settled_decisions,
    require_trust_account,
)
from custody.trust.app.score_cache import read_score_state
from custody.trust.approval import compute_merge_budget
from custody.trust.engine import compute_trust
from custody.trust.model import ChangeStakes, DecisionEntry, DecisionOverride, Entry, ScoreState, ScoreStep
from custody.trust.queries import list_agent_decisions
from custody.trust.score import NS_PER_DAY, count_missing_reviews, has_decayed_tier, read_tier_lines_max
from custody.trust.wire import EntryKind, ScoreStepReport, TrustLine, TrustListReport, TrustShowReport, TrustWhyReport
from custody.workspace.workspace import Workspace


def trust_list(workspace: Workspace) -> TrustListReport:
    """Return all agents with decisions."""
    query = make_trust_query(workspace)
    with workspace.reading() as store:
        with read_settled_decisions(store):
            agents = list_agents_with_decisions(store)
        lines = [trust_line(agent, read_score_state(store, agent, query), query) for agent in agents]
    return TrustListReport(
        at=format_timestamp(query.now_ns), profile=query.rules.profile, rules_digest=query.digest, agents=lines
    )


def trust_show(workspace: Workspace, agent: str, *, limit: int) -> TrustShowReport:
    """Return one agent with its newest decisions."""
    query = make_trust_query(workspace)
    account = require_trust_account(workspace, agent, query)
    newest = account.steps[::-1][:limit]
    assurances = rate_score_steps(workspace, agent, newest, query.now_ns)
    return TrustShowReport(
        at=format_timestamp(query.now_ns),
        profile=query.rules.profile,
        rules_digest=query.digest,
        standing=trust_line(agent, account.state, query),
        history=[report_score_step(step, assurances.get(step.entry.record)) for step in newest],
        total=len(account.steps),
    )


def trust_why(workspace: Workspace, agent: str, *, at: str | None = None) -> TrustWhyReport:
    """Return how an agent got its score, now or at a past time."""
    from custody.trust.app.acceptance import make_acceptance_estimator

    query = make_trust_query(workspace, at)
    account = require_trust_account(workspace, agent, query)
    assurances = rate_score_steps(workspace, agent, account.steps, query.now_ns)
    with workspace.reading() as store, read_settled_decisions(store):
        estimator = make_acceptance_estimator(store, query)
    return TrustWhyReport(
        at=format_timestamp(query.now_ns),
        profile=query.rules.profile,
        rules_digest=query.digest,
        standing=trust_line(agent, account.state, query),
        start=query.rules.start_score,
        steps=[report_score_step(step, assurances.get(step.entry.record)) for step in account.steps],
        idle_days=account.state.idle_ns(query.now_ns) / NS_PER_DAY,
        chance=estimator.estimate(agent, query.now_ns).to_report(),
    )


def rate_score_steps(
    workspace: Workspace, agent: str, steps: Sequence[ScoreStep], now_ns: int
) -> Mapping[RecordRef, Assurance]:
    """Return who vouches for the records of some steps, under the team's policy in HEAD."""
    shown = {step.entry.record for step in steps}
    with workspace.reading() as store:
        from custody.trust.app.decision_assurance import DecisionRater, load_decision_policy  # loads signatures

        rater = DecisionRater(store, load_decision_policy(workspace, store), now_ns)
        with read_settled_decisions(store):
            about = list_agent_decisions(store, agent)
        return {decision.record.ref: rater.rate(decision) for decision in about if decision.record.ref in shown}


def trust_line(agent: str, state: ScoreState, query: TrustQuery) -> TrustLine:
    """Return one agent as of the time of the query."""
    trust = compute_trust(state, query.now_ns, query.rules)
    return TrustLine(
        agent=agent,
        score=trust.score,
        stored=state.score,
        tier=trust.tier.value,
        confidence=trust.confidence,
        meaningful=trust.meaningful,
        samples=state.samples,
        accepted=state.accepted,
        modified=state.modified,
        rejected=state.rejected,
        lines_max=read_tier_lines_max(trust.tier, query.rules),
        budget=compute_merge_budget(trust, query.rules),
        budget_hours=query.rules.budget_hours,
        reviews_needed=count_missing_reviews(trust, query.rules),
        decayed=has_decayed_tier(trust, query.rules),
        last_active=None if state.active_ns is None else format_timestamp(state.active_ns),
    )


def report_score_step(step: ScoreStep, assurance: Assurance | None = None) -> ScoreStepReport:
    """Return the JSON shape of a step, with who vouches for its record if that was checked."""
    entry = step.entry
    stakes = entry.stakes if isinstance(entry, DecisionEntry) else ChangeStakes()
    decision = entry.decision if isinstance(entry, DecisionOverride) else step.decision
    return ScoreStepReport(
        record=str(entry.record),
        id=entry.id,
        at=format_timestamp(step.at_ns),
        kind=_classify_score_step(entry, step),
        decision=None if decision is None else decision.value,
        counts=step.counts,
        before=step.before,
        after=step.after,
        weight=step.weight,
        step=step.size,
        complexity=None if stakes.complexity is None else stakes.complexity.word,
        lines=stakes.lines,
        review_ms=stakes.review_ms,
        commit=entry.commit if isinstance(entry, DecisionEntry) else None,
        actor=entry.actor,
        reason=entry.reason,
        notes=list(step.notes),
        assurance=None if assurance is None else assurance.value,
    )


def _classify_score_step(entry: Entry, step: ScoreStep) -> EntryKind:
    if not isinstance(entry, DecisionEntry):
        return "override" if isinstance(entry, DecisionOverride) else "recovery"
    if entry.reverts is not None:
        return "revert"
    if not entry.unreviewed:
        return "decision"
    return "landing" if step.settled_ns is None else "settlement"
