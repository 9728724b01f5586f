"""Decisions as a service is told them: each once, the same again is known, another one under the same name refused.

Only what was said is compared: sizes and authors that are read from a repository may be told later and better.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from custody.core.errors import InputError
from custody.core.wire.time import ns_from
from custody.intake.record import key_for, redact_event_payload
from custody.server.wire.service import DecisionBody
from custody.trust import ChangeComplexity, DecisionEntry, DecisionOverride, DecisionType, ScoreStep
from custody.trust.app.decision_log import DecisionReceipt, Log
from custody.trust.app.decisions import account_of, make_trust_query, read_settled_decisions
from custody.trust.app.record import DecisionRequest, override, record, record_commit, revert
from custody.trust.app.show import report_step
from custody.trust.wire import TrustRecordReport
from custody.workspace.workspace import Workspace, has_repository

_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)
_OURS = ("commit:", "revert:")
"""How ids begin that a commit gives a decision."""


class ConflictingDecision(InputError):
    """Another decision is kept under the same name."""


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """What was recorded, now or before."""

    report: TrustRecordReport
    is_new: bool


def decide(workspace: Workspace, said: DecisionBody, by: str) -> RecordedDecision:
    """Record a decision, once; ``by`` decided where nobody else is named."""
    asking = _DecisionQuery(workspace, _resolved(workspace, said), by)
    known = asking.known()
    if known is None:
        try:
            return RecordedDecision(asking.recorded().report(), is_new=True)
        except InputError:
            known = asking.known()  # somebody else may have told it in this very moment
            if known is None:
                raise
    return RecordedDecision(known, is_new=False)


def _resolved(workspace: Workspace, said: DecisionBody) -> DecisionBody:
    """The same about a commit by its full id; refused where it is not about exactly one thing."""
    if sum(subject is not None for subject in (said.commit, said.id, said.overrides, said.reverts)) != 1:
        raise InputError(
            "a decision is about one thing", hint="give one of 'commit', 'id', 'overrides' and 'reverts', and no other"
        )
    if said.id is not None and said.id.startswith(_OURS):
        raise InputError(f"'{said.id[:80]}' is how a commit's decision is named", hint="give 'commit' or 'reverts'")
    if said.reverts is not None and said.decision != "rejected":
        raise InputError(f"what was taken back is 'rejected', not '{said.decision}'", hint="say so")
    sizes = (said.complexity, said.lines, said.review_ms, said.opened)
    if (said.overrides or said.reverts) and any(size is not None for size in sizes):
        raise InputError("a correction has the size of what it corrects", hint="leave sizes and times out")
    if said.opened is not None:
        ns_from(said.opened)
    if said.commit is None:
        return said
    if has_repository(workspace):
        return structs.replace(said, commit=workspace.repository.resolve(said.commit))
    if not _SHA.fullmatch(said.commit):
        raise InputError("without a repository a commit is named by its full id", hint="give all of its digits")
    return said


class _DecisionQuery:
    """One decision that somebody tells."""

    def __init__(self, workspace: Workspace, said: DecisionBody, by: str) -> None:
        self._workspace = workspace
        self._said = said
        self._by = by

    def recorded(self) -> DecisionReceipt:
        """Record it."""
        said, decision = self._said, DecisionType(self._said.decision)
        actor, reason = said.actor or "", said.reason or ""
        if said.overrides is not None:
            return override(self._workspace, said.agent, said.overrides, decision, actor=actor, reason=reason)
        if said.reverts is not None:
            return revert(self._workspace, said.agent, said.reverts, actor=actor, reason=reason)
        wanted = DecisionRequest(
            agent=said.agent,
            decision=decision,
            commit=said.commit,
            complexity=None if said.complexity is None else ChangeComplexity[said.complexity.upper()],
            lines=said.lines,
            review_ms=said.review_ms,
            actor=said.actor or self._by,
            reason=said.reason,
            opened=said.opened,
        )
        if said.commit is not None and has_repository(self._workspace):
            return record_commit(self._workspace, wanted)
        return record(self._workspace, replace(wanted, id=self._id))

    def known(self) -> TrustRecordReport | None:
        """What is kept under its name already; ``ConflictingDecision`` where that is another decision."""
        asked = make_trust_query(self._workspace)
        with self._workspace.reading() as store:
            target = self._target(Log(self._workspace, store, self._said.agent, asked.rules))
            with read_settled_decisions(store):
                account = account_of(store, self._said.agent, asked)
        step = self._step(account.steps, target)
        if step is None:
            return None
        if not self._is_same(step):
            raise ConflictingDecision(
                f"'{step.entry.id}' was decided otherwise, in record {step.entry.record}",
                hint="a decision that was wrong is overridden: send 'overrides'",
            )
        return DecisionReceipt(self._said.agent, step, account.standing, asked).report()

    @property
    def _id(self) -> str | None:
        return self._said.id if self._said.commit is None else f"commit:{self._said.commit}"

    def _target(self, log: Log) -> str | None:
        """The id of the decision that is corrected, where there is one."""
        named = self._said.overrides or self._said.reverts
        try:
            return None if named is None else log.find(named).id
        except InputError:
            return None  # recording it says so

    def _step(self, steps: Sequence[ScoreStep], target: str | None) -> ScoreStep | None:
        """What told this decision before."""
        said, found = self._said, None
        for step in steps:
            entry = step.entry
            if step.settled_ns is not None:
                continue
            if said.overrides is not None:
                # One that was overridden may be again; only the last time counts.
                if isinstance(entry, DecisionOverride) and entry.target == target:
                    found = step if entry.decision.value == said.decision else None
            elif said.reverts is not None:
                if isinstance(entry, DecisionEntry) and target is not None and entry.reverts == target:
                    found = step
            elif isinstance(entry, DecisionEntry) and entry.id == self._id:
                found = step
        return found

    def _is_same(self, step: ScoreStep) -> bool:
        said, kept = self._said, report_step(step)
        # What holds a secret is kept without it, so it cannot be compared.
        clean = redact_event_payload({"reason": said.reason}, lambda: key_for(self._workspace))
        pairs = (
            (
                said.decision,
                step.entry.decision.value if isinstance(step.entry, DecisionEntry | DecisionOverride) else None,
            ),
            (said.complexity, kept.complexity),
            (said.lines, kept.lines),
            (said.review_ms, kept.review_ms),
            (said.actor, kept.actor),
            (said.reason if clean["reason"] == said.reason else None, kept.reason),
        )
        return all(told is None or told == there for told, there in pairs)
