"""The budget behind a verdict: an approval that rests on trust reserves its lines before anybody sees it."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import CustodyError
from custody.gate.app.gather import GatheredEvidence, list_trust_answers
from custody.gate.checks import GateCheck, judge
from custody.gate.model import GateEvidence, GateVerdict, Reason, ReasonCode, VerdictLevel
from custody.gate.rules import GateRules
from custody.gate.wire.report import (
    LOCAL_CODES,
    AuditReport,
    BudgetLeft,
    BudgetReport,
    LocalReport,
)
from custody.trust.app.approval_decision import (
    ApprovalResult,
    BudgetOutcome,
    SpentApproval,
    compute_agent_budgets,
    preview_approval,
    refuse_unverifiable_budget,
    reserve_approval,
)
from custody.workspace.workspace import Workspace

BudgetUseMode = Literal["reserve", "look", "here"]
"""Reserve the lines, only look at every place that counts, or look at this store alone."""

GateOutcome = BudgetOutcome | Literal["none", "unverifiable"]


class SettledVerdict(Struct, frozen=True):
    """A verdict with the state of its budget; ``records`` are the new reservations of this store."""

    verdict: GateVerdict
    outcome: GateOutcome
    approval: ApprovalResult | None = None
    records: tuple[str, ...] = ()
    why: str | None = None

    @property
    def is_outdated(self) -> bool:
        """Return whether records arrived meanwhile that speak against the change."""
        return self.outcome == "refused" and any(reason.code.value not in LOCAL_CODES for reason in self._strict)

    @property
    def _strict(self) -> list[Reason]:
        return [reason for reason in self.verdict.reasons if reason.level is not VerdictLevel.APPROVE]


class VerdictBudget(Struct, frozen=True):
    """Settles the budget of verdicts: by these checks and rules, in this way."""

    workspace: Workspace
    checks: tuple[GateCheck, ...]
    rules: GateRules
    mode: BudgetUseMode

    def settle(self, gathered: GatheredEvidence) -> SettledVerdict:
        """Return the verdict; an approval that rests on trust is one only once its lines are reserved."""
        verdict = self._judge(gathered.evidence)
        if gathered.question is None or verdict.level is not VerdictLevel.APPROVE:
            return SettledVerdict(verdict, "none", gathered.approval)
        if self.mode == "here":
            return SettledVerdict(verdict, "dry", gathered.approval)
        try:
            spent = self._spend(gathered)
        except CustodyError as error:
            return self._refuse(gathered, error)
        evidence = replace(gathered.evidence, trust=list_trust_answers(spent.result))
        return SettledVerdict(self._judge(evidence), spent.outcome, spent.result, spent.records)

    def _spend(self, gathered: GatheredEvidence) -> SpentApproval:
        assert gathered.question is not None, "the caller checked it"
        if self.mode == "look":
            return preview_approval(self.workspace, gathered.question)

        def accept(result: ApprovalResult) -> bool:
            evidence = replace(gathered.evidence, trust=list_trust_answers(result))
            return self._judge(evidence).level is VerdictLevel.APPROVE

        return reserve_approval(self.workspace, gathered.question, accept)

    def _refuse(self, gathered: GatheredEvidence, error: CustodyError) -> SettledVerdict:
        against = refuse_unverifiable_budget(error.message)
        reason = self.rules.reason(ReasonCode.TRUST_BUDGET, against.sentence, error.hint)
        verdict = self._judge(gathered.evidence, lambda _evidence, _rules: [reason])
        return SettledVerdict(verdict, "unverifiable", gathered.approval, why=error.message)

    def _judge(self, evidence: GateEvidence, *more: GateCheck) -> GateVerdict:
        return judge(evidence, (*self.checks, *more), self.rules)


def report_local_state(gathered: GatheredEvidence, settled: SettledVerdict, withheld: int) -> LocalReport:
    """Return what a verdict says about this machine and time."""
    approval, question = settled.approval, gathered.question
    lines, left = 0, list[BudgetLeft]()
    if approval is not None and question is not None:
        lines = approval.change.lines
        taken = lines if settled.outcome in ("reserved", "known") else 0
        left = [
            BudgetLeft(
                agent=agent.author.agent,
                operator=agent.author.operator,
                budget=agent.budget,
                left=max(0, agent.left - taken),
            )
            for agent in compute_agent_budgets(approval, question)
        ]
    budget = BudgetReport(
        place="store" if question is None or question.place.remote is None else "remote",
        state=settled.outcome,
        patch=None if approval is None else approval.change.patch,
        lines=lines,
        recorded=list(settled.records),
        left=left,
        why=settled.why,
    )
    return LocalReport(budget=budget, audit=AuditReport(_was_drawn(settled)), withheld=withheld)


def _was_drawn(settled: SettledVerdict) -> bool | None:
    """Return whether the change was selected for an audit; None if that did not matter."""
    if any(reason.code is ReasonCode.TRUST_AUDIT for reason in settled.verdict.reasons):
        return True
    passed = settled.outcome in ("reserved", "known", "dry") and settled.verdict.level is VerdictLevel.APPROVE
    return False if passed else None
