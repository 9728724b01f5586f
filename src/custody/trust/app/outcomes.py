"""Recording of a change's outcome: one decision for each agent that wrote lines of it, however often it is reported."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from custody.core.assurance import Assurance
from custody.core.ids import StoreId
from custody.core.wire.canonical import Json
from custody.dupes.app.patch_identity import compute_patch_identity
from custody.store import Store
from custody.trust.app.authors import AuthorLines, count_trust_author_lines, load_author_belief
from custody.trust.app.change_decisions import KnownDecisions, find_decision_agents, summarize_agent_decisions
from custody.trust.app.decision_log import Log
from custody.trust.app.decisions import TrustQuery, load_trust_rules, read_settled_decisions
from custody.trust.app.record import (
    DecisionRequest,
    check_decision_correction,
    count_decision_lines,
    decision_fields_from_request,
    list_trust_areas,
    raise_decision_complexity,
    raise_decision_size,
)
from custody.trust.app.score_cache import read_score_state
from custody.trust.app.show import report_score_step, trust_line
from custody.trust.app.subject import OutcomeSubject, resolve_outcome_subject
from custody.trust.model import ChangeComplexity, DecisionEntry, DecisionType
from custody.trust.rules import TrustRules
from custody.trust.score import decision_complexity_from_lines
from custody.trust.wire import AgentOutcome, OutcomeWord, PairLabelReport, TrustOutcomeReport
from custody.workspace.change import list_change_additions
from custody.workspace.machine import machine_user_name
from custody.workspace.workspace import Workspace

DECISIONS = MappingProxyType(
    {
        "merged": DecisionType.ACCEPTED,
        "changed": DecisionType.MODIFIED,
        "closed": DecisionType.REJECTED,
        "reverted": DecisionType.REJECTED,
    }
)
"""The decision for each outcome; a revert also refers to an earlier decision."""


class OutcomeRequest(Struct, frozen=True, kw_only=True):
    """The outcome of a change: a commit, ``BASE..HEAD`` or a branch.

    With ``agent`` only that agent is meant. ``landed_as`` is the commit that the change became, if its own is not in
    the history. ``duplicate_of`` is the change that it was closed for. The decisions are signed with ``sign_key``;
    ``host_account`` reviewed the change, as the code host itself reported.
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
    sign_key: Path | None = None
    host_account: str | None = None


def record_outcome(
    workspace: Workspace, request: OutcomeRequest, *, believes_claims: bool = False
) -> TrustOutcomeReport:
    """Record the outcome of a change: the same outcome again changes nothing, another one corrects the first.

    Claims count for an agent only with ``believes_claims``: a service trusts its token holders. A team's minimum comes
    first: else an agent would get credit for other people's changes by claiming their lines.
    """
    subject = resolve_outcome_subject(workspace.repository, request.change, request.landed_as)
    belief = load_author_belief(workspace.repository, subject.base)
    believes_claims = believes_claims and belief.least is Assurance.SELF_REPORTED
    by = (
        count_trust_author_lines(workspace, list_change_additions(subject.files), subject.head, belief)
        if workspace.exists()
        else AuthorLines({})
    )
    return record_outcome_for_authors(workspace, request, subject, by.with_claims if believes_claims else by)


def record_outcome_for_authors(
    workspace: Workspace, request: OutcomeRequest, subject: OutcomeSubject, by: AuthorLines
) -> TrustOutcomeReport:
    """Record the outcome of a change with known authors."""
    # Imported late: it loads the duplicate search.
    from custody.trust.app.duplicate_labels import (
        check_outcome_duplicate,
        record_outcome_pair_labels,
        resolve_outcome_duplicate,
    )

    check_outcome_duplicate(request.outcome, request.duplicate_of)
    rules = load_trust_rules(workspace)
    outcome = _ChangeOutcome(workspace, rules, subject, by, request)
    agents: list[AgentOutcome] = []
    labels: list[PairLabelReport] = []
    if workspace.exists() or request.duplicate_of is not None:
        with workspace.writing() as store:
            named = request.duplicate_of
            other = None if named is None else resolve_outcome_duplicate(workspace.repository, store, subject, named)
            agents = outcome.record_agent_outcomes(store)
            labels = record_outcome_pair_labels(workspace, store, subject, request.outcome, other, outcome.actor)
    return TrustOutcomeReport(
        told=request.outcome,
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


class _OutcomePlan(Struct, frozen=True):
    """What to record about one agent, and under which id; or nothing, and why."""

    state: Literal["recorded", "corrected", "known", "waiting"]
    note: str | None = None
    id: str | None = None
    fields: Mapping[str, Json] = field(default_factory=dict)


class _ChangeOutcome:
    """One change and its outcome."""

    def __init__(
        self, workspace: Workspace, rules: TrustRules, subject: OutcomeSubject, by: AuthorLines, request: OutcomeRequest
    ) -> None:
        self.actor = request.actor or machine_user_name()
        self.lines = raise_decision_size("lines", request.lines, count_decision_lines(subject.files))
        self._complexity = raise_decision_complexity(request.complexity, decision_complexity_from_lines(self.lines))
        self._workspace = workspace
        self._rules = rules
        self._subject = subject
        self._request = request
        self._decision = DECISIONS[request.outcome]
        self._own: StoreId | None = None
        # A claim about who wrote the change may count against an agent, never for one.
        self.by = by.with_claims if self._decision is DecisionType.REJECTED else by

    def record_agent_outcomes(self, store: Store) -> list[AgentOutcome]:
        """Record the outcome for each agent; everything is checked before anything is recorded."""
        self._own = store.own()
        with read_settled_decisions(store):
            known = {
                agent: summarize_agent_decisions(store, agent, self._subject.names) for agent in self._agents(store)
            }
        plans = {agent: self._plan_agent_outcome(agent, decisions) for agent, decisions in known.items()}
        return [self._record_plan(store, agent, plan) for agent, plan in plans.items()]

    def _agents(self, store: Store) -> list[str]:
        """Return the agents that wrote lines of the change, and those with earlier decisions about it."""
        every = {author.agent for author in self.by.authors} | find_decision_agents(store, self._subject.names)
        return sorted(agent for agent in every if self._request.agent in (None, agent))

    def _plan_agent_outcome(self, agent: str, known: KnownDecisions) -> _OutcomePlan:
        if self._request.outcome == "reverted":
            return self._plan_revert(agent, known)
        if known.reviewed is not None and known.counting is self._decision:
            if self._adds_witness(known):
                return self._plan_override(agent, known.reviewed)
            return _OutcomePlan("known", f"already {self._decision.value} in record {known.reviewed.record}")
        if known.reviewed is not None:
            return self._plan_override(agent, known.reviewed)
        if known.unreviewed is not None and self._request.outcome == "merged":
            # A merge by rule is not a review: else every such merge would count at once.
            return _OutcomePlan(
                "waiting", f"merged without review in record {known.unreviewed.record}; counts once it settles"
            )
        return self._plan("recorded", f"commit:{self._subject.change}", self._make_decision_request(agent))

    def _adds_witness(self, known: KnownDecisions) -> bool:
        """Return whether the code host vouches for a decision that was recorded here without it."""
        return self._request.host_account is not None and not (known.host_chains & {self._own})

    def _plan_override(self, agent: str, wrong: DecisionEntry) -> _OutcomePlan:
        self._check_correction(agent)
        return self._plan("corrected", self._workspace.token(), self._make_override_request(agent, wrong))

    def _plan(self, state: Literal["recorded", "corrected"], id: str, request: DecisionRequest) -> _OutcomePlan:
        """Check a decision before anything is recorded."""
        return _OutcomePlan(state, None, id, decision_fields_from_request(self._workspace, request))

    def _plan_revert(self, agent: str, known: KnownDecisions) -> _OutcomePlan:
        """Plan a rejection with the stakes of the earlier decision, or else of the diff."""
        if known.revert is not None:
            return _OutcomePlan("known", f"already reverted in record {known.revert.record}")
        if known.counting is DecisionType.REJECTED and known.reviewed is not None:
            return _OutcomePlan("known", f"rejected in record {known.reviewed.record}, so never merged")
        self._check_correction(agent)
        merged = known.reviewed or known.unreviewed
        target = f"commit:{self._subject.change}" if merged is None else merged.id
        request = replace(self._make_decision_request(agent), reverts=target)
        if merged is not None:
            request = replace(request, complexity=merged.stakes.complexity, lines=merged.stakes.lines)
        return self._plan("recorded", f"revert:{target}", request)

    def _check_correction(self, agent: str) -> None:
        check_decision_correction(agent, self._request.actor or "", self._request.reason or "")

    def _make_override_request(self, agent: str, wrong: DecisionEntry) -> DecisionRequest:
        return DecisionRequest(
            agent=agent,
            decision=self._decision,
            commit=self._subject.change,
            complexity=self._complexity,
            lines=self.lines,
            actor=self.actor,
            reason=self._request.reason,
            outcome=self._request.outcome,
            sessions=self.by.sessions.get(agent, ()),
            overrides=wrong.id,
            patch=compute_patch_identity(self._subject.files),
            agent_lines=self.by.lines(agent),
            host_account=self._request.host_account,
        )

    def _make_decision_request(self, agent: str) -> DecisionRequest:
        subject, request, author = self._subject, self._request, self.by.author(agent)
        return DecisionRequest(
            agent=agent,
            decision=self._decision,
            commit=subject.change,
            complexity=self._complexity,
            lines=self.lines,
            review_ms=request.review_ms,
            actor=self.actor,
            reason=request.reason,
            opened=request.opened,
            model=author.model,
            operator=author.operator,
            areas=list_trust_areas(subject.files, self._rules),
            head=None if subject.merged is None else subject.head,
            outcome=request.outcome,
            sessions=self.by.sessions.get(agent, ()),
            patch=compute_patch_identity(subject.files),
            agent_lines=self.by.lines(agent),
            host_account=request.host_account,
        )

    def _record_plan(self, store: Store, agent: str, plan: _OutcomePlan) -> AgentOutcome:
        recorded = (
            None
            if plan.id is None
            else Log(self._workspace, store, agent, self._rules).append_entry(
                plan.id, plan.fields, sign_key=self._request.sign_key
            )
        )
        query = TrustQuery(self._rules, self._workspace.now_ns()) if recorded is None else recorded.query
        state = read_score_state(store, agent, query) if recorded is None else recorded.state
        return AgentOutcome(
            agent=agent,
            model=self.by.author(agent).model,
            lines=self.by.lines(agent),
            state=plan.state,
            note=plan.note,
            taken=None if recorded is None else report_score_step(recorded.step),
            standing=trust_line(agent, state, query),
        )
