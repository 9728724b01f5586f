"""Record what became of a change: one decision for each agent whose lines it has, however often it is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from custody.core.wire.canonical import Json
from custody.store import Store
from custody.trust.app.authors import AuthorLines, count_author_lines
from custody.trust.app.change_decisions import KnownDecisions, agents_decided, known_about
from custody.trust.app.decision_log import Log
from custody.trust.app.decisions import TrustQuery, read_settled_decisions, trust_rules
from custody.trust.app.record import (
    DecisionRequest,
    areas_of,
    at_least,
    check_correction,
    count_changed_lines,
    decision_fields,
    raise_complexity,
)
from custody.trust.app.show import report_step, trust_line
from custody.trust.app.standing import read_standing
from custody.trust.app.subject import OutcomeSubject, subject_of
from custody.trust.model import ChangeComplexity, DecisionEntry, DecisionType
from custody.trust.rules import TrustRules
from custody.trust.score import complexity_of
from custody.trust.wire import AgentOutcome, PairLabelReport, TrustOutcomeReport
from custody.workspace.change import additions_of
from custody.workspace.machine import user
from custody.workspace.workspace import Workspace

OutcomeWord = Literal["merged", "changed", "closed", "reverted"]

DECISIONS = MappingProxyType(
    {
        "merged": DecisionType.ACCEPTED,
        "changed": DecisionType.MODIFIED,
        "closed": DecisionType.REJECTED,
        "reverted": DecisionType.REJECTED,
    }
)
"""What an outcome is as a decision; a revert takes an earlier one back as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRequest:
    """What somebody tells of a change: a commit, ``BASE..HEAD`` or a branch.

    With ``agent`` only that one is meant. ``landed_as`` is the commit that the change became where its own is not in
    the history. ``duplicate_of`` says that it was closed because that change was there.
    """

    change: str
    outcome: OutcomeWord
    agent: str | None = None
    actor: str | None = None
    reason: str | None = None
    landed_as: str | None = None
    duplicate_of: str | None = None
    opened: str | None = None
    review_ms: int | None = None
    lines: int | None = None
    complexity: ChangeComplexity | None = None


def record_outcome(workspace: Workspace, told: OutcomeRequest, *, believes_claims: bool = False) -> TrustOutcomeReport:
    """Record what became of a change, once: told again nothing changes, told otherwise it is corrected.

    Claims speak for an agent only where they are believed: a service has what its token holders send, and no other.
    """
    subject = subject_of(workspace.repository, told.change, told.landed_as)
    by = (
        count_author_lines(workspace, additions_of(subject.files), subject.head)
        if workspace.exists()
        else AuthorLines({})
    )
    return keep_outcome(workspace, told, subject, by.with_claims if believes_claims else by)


def keep_outcome(
    workspace: Workspace, told: OutcomeRequest, subject: OutcomeSubject, by: AuthorLines
) -> TrustOutcomeReport:
    """The same for a change whose authors are known."""
    from custody.trust.app.duplicate_labels import check_pair, pair_named, record_pair_labels  # it loads much

    check_pair(told.outcome, told.duplicate_of)
    rules = trust_rules(workspace)
    outcome = _ChangeOutcome(workspace, rules, subject, by, told)
    agents: list[AgentOutcome] = []
    labels: list[PairLabelReport] = []
    if workspace.exists() or told.duplicate_of is not None:
        with workspace.writing() as store:
            named = told.duplicate_of
            other = None if named is None else pair_named(workspace.repository, store, subject, named)
            agents = outcome.kept(store)
            labels = record_pair_labels(workspace, store, subject, told.outcome, other, outcome.actor)
    return TrustOutcomeReport(
        told=told.outcome,
        change=subject.change,
        head=subject.head,
        base=subject.base,
        lines=outcome.lines,
        person_lines=outcome.by.persons,
        unknown_lines=outcome.by.unknown,
        profile=rules.profile,
        agents=agents,
        labels=labels,
    )


@dataclass(frozen=True, slots=True)
class _OutcomePlan:
    """What is to be recorded about one agent, under which id; or nothing, and why."""

    state: Literal["recorded", "corrected", "known", "waiting"]
    note: str | None = None
    id: str | None = None
    fields: Mapping[str, Json] = field(default_factory=dict)


class _ChangeOutcome:
    """One change and what became of it."""

    def __init__(
        self, workspace: Workspace, rules: TrustRules, subject: OutcomeSubject, by: AuthorLines, told: OutcomeRequest
    ) -> None:
        self.actor = told.actor or user()
        self.lines = at_least("lines", told.lines, count_changed_lines(subject.files))
        self._complexity = raise_complexity(told.complexity, complexity_of(self.lines))
        self._workspace = workspace
        self._rules = rules
        self._subject = subject
        self._told = told
        self._decision = DECISIONS[told.outcome]
        # A claim about who wrote the change may speak against an agent, and never for one.
        self.by = by.with_claims if self._decision is DecisionType.REJECTED else by

    def kept(self, store: Store) -> list[AgentOutcome]:
        """Record what is new for each agent; everything is checked before anything is recorded."""
        with read_settled_decisions(store):
            known = {agent: known_about(store, agent, self._subject.names) for agent in self._agents(store)}
        plans = {agent: self._planned(agent, decisions) for agent, decisions in known.items()}
        return [self._done(store, agent, plan) for agent, plan in plans.items()]

    def _agents(self, store: Store) -> list[str]:
        """Whose lines the change has, and about whom it was decided before."""
        every = {author.agent for author in self.by.authors} | agents_decided(store, self._subject.names)
        return sorted(agent for agent in every if self._told.agent in (None, agent))

    def _planned(self, agent: str, known: KnownDecisions) -> _OutcomePlan:
        if self._told.outcome == "reverted":
            return self._undoing(agent, known)
        if known.reviewed is not None and known.stands is self._decision:
            return _OutcomePlan("known", f"is {self._decision.value} already, in record {known.reviewed.record}")
        if known.reviewed is not None:
            self._check_correction(agent)
            return self._plan("corrected", self._workspace.token(), self._overriding(agent, known.reviewed))
        if known.landing is not None and self._told.outcome == "merged":
            # That a rule let it land is no review: else every landing would count at once.
            return _OutcomePlan(
                "waiting", f"landed without review, in record {known.landing.record}, and counts once it settles"
            )
        return self._plan("recorded", f"commit:{self._subject.change}", self._decided(agent))

    def _plan(self, state: Literal["recorded", "corrected"], id: str, wanted: DecisionRequest) -> _OutcomePlan:
        """Check a decision before anything is recorded."""
        return _OutcomePlan(state, None, id, decision_fields(self._workspace, wanted))

    def _undoing(self, agent: str, known: KnownDecisions) -> _OutcomePlan:
        """A rejection with everything that was at stake, by what was decided, or else by what the diff shows."""
        if known.undone is not None:
            return _OutcomePlan("known", f"was taken back already, in record {known.undone.record}")
        if known.stands is DecisionType.REJECTED and known.reviewed is not None:
            return _OutcomePlan("known", f"was rejected, in record {known.reviewed.record}: it never landed")
        self._check_correction(agent)
        landed = known.reviewed or known.landing
        target = f"commit:{self._subject.change}" if landed is None else landed.id
        wanted = replace(self._decided(agent), reverts=target)
        if landed is not None:
            wanted = replace(wanted, complexity=landed.stakes.complexity, lines=landed.stakes.lines)
        return self._plan("recorded", f"revert:{target}", wanted)

    def _check_correction(self, agent: str) -> None:
        check_correction(agent, self._told.actor or "", self._told.reason or "")

    def _overriding(self, agent: str, wrong: DecisionEntry) -> DecisionRequest:
        return DecisionRequest(
            agent=agent,
            decision=self._decision,
            actor=self.actor,
            reason=self._told.reason,
            outcome=self._told.outcome,
            sessions=self.by.sessions.get(agent, ()),
            overrides=wrong.id,
        )

    def _decided(self, agent: str) -> DecisionRequest:
        subject, told, author = self._subject, self._told, self.by.author(agent)
        return DecisionRequest(
            agent=agent,
            decision=self._decision,
            commit=subject.change,
            complexity=self._complexity,
            lines=self.lines,
            review_ms=told.review_ms,
            actor=self.actor,
            reason=told.reason,
            opened=told.opened,
            model=author.model,
            operator=author.operator,
            areas=areas_of(subject.files, self._rules),
            head=None if subject.landed is None else subject.head,
            outcome=told.outcome,
            sessions=self.by.sessions.get(agent, ()),
        )

    def _done(self, store: Store, agent: str, plan: _OutcomePlan) -> AgentOutcome:
        recorded = (
            None if plan.id is None else Log(self._workspace, store, agent, self._rules).keep(plan.id, plan.fields)
        )
        asked = TrustQuery(self._rules, self._workspace.now_ns()) if recorded is None else recorded.asked
        standing = read_standing(store, agent, asked) if recorded is None else recorded.standing
        return AgentOutcome(
            agent=agent,
            model=self.by.author(agent).model,
            lines=self.by.lines(agent),
            state=plan.state,
            note=plan.note,
            taken=None if recorded is None else report_step(recorded.step),
            standing=trust_line(agent, standing, asked),
        )
