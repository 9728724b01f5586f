"""Where agents stand, and why, as it is reported."""

from custody.core.wire.time import text_from
from custody.trust.app.chance import make_chance_estimator
from custody.trust.app.decisions import TrustQuery, agents_in, known_account, make_trust_query, read_settled_decisions
from custody.trust.app.standing import read_standing
from custody.trust.engine import trust_at
from custody.trust.model import ChangeStakes, DecisionEntry, DecisionOverride, Entry, ScoreStep, TrustStanding
from custody.trust.score import NS_PER_DAY, lines_max
from custody.trust.wire import EntryKind, ScoreStepReport, TrustLine, TrustListReport, TrustShowReport, TrustWhyReport
from custody.workspace.workspace import Workspace


def trust_list(workspace: Workspace) -> TrustListReport:
    """Every agent about which anything was decided."""
    asked = make_trust_query(workspace)
    with workspace.reading() as store:
        with read_settled_decisions(store):
            agents = agents_in(store)
        lines = [trust_line(agent, read_standing(store, agent, asked), asked) for agent in agents]
    return TrustListReport(
        at=text_from(asked.now_ns), profile=asked.rules.profile, rules_digest=asked.digest, agents=lines
    )


def trust_show(workspace: Workspace, agent: str, *, limit: int) -> TrustShowReport:
    """One agent with the newest decisions about it."""
    asked = make_trust_query(workspace)
    account = known_account(workspace, agent, asked)
    newest = account.steps[::-1][:limit]
    return TrustShowReport(
        at=text_from(asked.now_ns),
        profile=asked.rules.profile,
        rules_digest=asked.digest,
        standing=trust_line(agent, account.standing, asked),
        history=[report_step(step) for step in newest],
        total=len(account.steps),
    )


def trust_why(workspace: Workspace, agent: str, *, at: str | None = None) -> TrustWhyReport:
    """How an agent came to its score, now or at a past moment."""
    asked = make_trust_query(workspace, at)
    account = known_account(workspace, agent, asked)
    with workspace.reading() as store, read_settled_decisions(store):
        estimator = make_chance_estimator(store, asked)
    return TrustWhyReport(
        at=text_from(asked.now_ns),
        profile=asked.rules.profile,
        rules_digest=asked.digest,
        standing=trust_line(agent, account.standing, asked),
        start=asked.rules.start_score,
        steps=[report_step(step) for step in account.steps],
        idle_days=account.standing.idle_ns(asked.now_ns) / NS_PER_DAY,
        chance=estimator.estimate(agent, asked.now_ns).to_report(),
    )


def trust_line(agent: str, standing: TrustStanding, asked: TrustQuery) -> TrustLine:
    """One agent as of the moment asked for."""
    trust = trust_at(standing, asked.now_ns, asked.rules)
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


def report_step(step: ScoreStep) -> ScoreStepReport:
    """A step as it is reported."""
    entry = step.entry
    stakes = entry.stakes if isinstance(entry, DecisionEntry) else ChangeStakes()
    said = entry.decision if isinstance(entry, DecisionOverride) else step.decision
    return ScoreStepReport(
        record=str(entry.record),
        id=entry.id,
        at=text_from(step.at_ns),
        kind=_kind(entry, step),
        decision=None if said is None else said.value,
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
    )


def _kind(entry: Entry, step: ScoreStep) -> EntryKind:
    if not isinstance(entry, DecisionEntry):
        return "override" if isinstance(entry, DecisionOverride) else "recovery"
    if entry.reverts is not None:
        return "revert"
    if not entry.unreviewed:
        return "decision"
    return "landing" if step.settled_ns is None else "settlement"
