"""Decisions sent to a service: each is recorded once, and a different one under the same name is a conflict.

Only the sent fields are compared, since sizes and authors may be read from a repository later.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.core.wire.time import parse_timestamp
from custody.intake.record import open_redaction_key, redact_event_payload
from custody.server.wire.service import DecisionBody
from custody.trust import ChangeComplexity, DecisionEntry, DecisionOverride, DecisionType, ScoreStep
from custody.trust.app.decision_log import DecisionReceipt, Log
from custody.trust.app.decisions import make_trust_query, read_settled_decisions, replay_trust_account
from custody.trust.app.record import (
    DecisionRequest,
    record_commit_decision,
    record_override,
    record_revert,
    record_trust_decision,
)
from custody.trust.app.show import report_score_step
from custody.trust.wire import TrustRecordReport
from custody.workspace.workspace import Workspace, has_workspace_repository

_SHA = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)
_RESERVED_PREFIXES = ("commit:", "revert:")
"""The prefixes of ids that custody derives from commits."""


class ConflictingDecision(InputError):
    """A different decision is stored under the same name."""


class RecordedDecision(Struct, frozen=True):
    """The record of a decision, and whether it is new."""

    report: TrustRecordReport
    is_new: bool


def accept_decision_request(workspace: Workspace, request: DecisionBody, by: str) -> RecordedDecision:
    """Record a decision once; ``by`` is the actor if the request names none."""
    query = _DecisionQuery(workspace, _validate_decision_request(workspace, request), by)
    known = query.find_existing()
    if known is None:
        try:
            return RecordedDecision(query.record_decision().report(), is_new=True)
        except InputError:
            known = query.find_existing()  # another request may have recorded it meanwhile
            if known is None:
                raise
    return RecordedDecision(known, is_new=False)


def _validate_decision_request(workspace: Workspace, request: DecisionBody) -> DecisionBody:
    """Check that a request has exactly one subject, and return it with the full id of its commit."""
    if sum(subject is not None for subject in (request.commit, request.id, request.overrides, request.reverts)) != 1:
        raise InputError(
            "a decision needs exactly one subject", hint="send one of 'commit', 'id', 'overrides' and 'reverts'"
        )
    if request.id is not None and request.id.startswith(_RESERVED_PREFIXES):
        raise InputError(
            f"'{request.id[:80]}' is reserved for decisions about commits", hint="send 'commit' or 'reverts'"
        )
    if request.reverts is not None and request.decision != "rejected":
        raise InputError(f"a revert is 'rejected', not '{request.decision}'", hint="send the decision 'rejected'")
    sizes = (request.complexity, request.lines, request.review_ms, request.opened)
    if (request.overrides or request.reverts) and any(size is not None for size in sizes):
        raise InputError("a correction cannot have its own size or times", hint="leave them out")
    if request.opened is not None:
        parse_timestamp(request.opened)
    if request.commit is None:
        return request
    if has_workspace_repository(workspace):
        return structs.replace(request, commit=workspace.repository.resolve(request.commit))
    if not _SHA.fullmatch(request.commit):
        raise InputError("without a repository a commit needs its full id", hint="send all of its digits")
    return request


class _DecisionQuery:
    """One sent decision, compared with the recorded ones."""

    def __init__(self, workspace: Workspace, request: DecisionBody, by: str) -> None:
        self._workspace = workspace
        self._request = request
        self._by = by

    def record_decision(self) -> DecisionReceipt:
        """Record it."""
        request, decision = self._request, DecisionType(self._request.decision)
        actor, reason = request.actor or "", request.reason or ""
        if request.overrides is not None:
            return record_override(
                self._workspace, request.agent, request.overrides, decision, actor=actor, reason=reason
            )
        if request.reverts is not None:
            return record_revert(self._workspace, request.agent, request.reverts, actor=actor, reason=reason)
        decision_request = DecisionRequest(
            agent=request.agent,
            decision=decision,
            commit=request.commit,
            complexity=None if request.complexity is None else ChangeComplexity[request.complexity.upper()],
            lines=request.lines,
            review_ms=request.review_ms,
            actor=request.actor or self._by,
            reason=request.reason,
            opened=request.opened,
        )
        if request.commit is not None and has_workspace_repository(self._workspace):
            return record_commit_decision(self._workspace, decision_request)
        return record_trust_decision(self._workspace, replace(decision_request, id=self._id))

    def find_existing(self) -> TrustRecordReport | None:
        """Return what is recorded under its name; a ``ConflictingDecision`` if that differs."""
        query = make_trust_query(self._workspace)
        with self._workspace.reading() as store:
            target = self._target(Log(self._workspace, store, self._request.agent, query.rules))
            with read_settled_decisions(store):
                account = replay_trust_account(store, self._request.agent, query)
        step = self._step(account.steps, target)
        if step is None:
            return None
        if not self._is_same(step):
            raise ConflictingDecision(
                f"'{step.entry.id}' has a different decision in record {step.entry.record}",
                hint="send 'overrides' to correct it",
            )
        return DecisionReceipt(self._request.agent, step, account.state, query).report()

    @property
    def _id(self) -> str | None:
        return self._request.id if self._request.commit is None else f"commit:{self._request.commit}"

    def _target(self, log: Log) -> str | None:
        """Return the id of the corrected decision, if there is one."""
        name = self._request.overrides or self._request.reverts
        try:
            return None if name is None else log.find(name).id
        except InputError:
            return None  # recording it reports the error

    def _step(self, steps: Sequence[ScoreStep], target: str | None) -> ScoreStep | None:
        """Return the step that recorded this decision before."""
        request, match = self._request, None
        for step in steps:
            entry = step.entry
            if step.settled_ns is not None:
                continue
            if request.overrides is not None:
                # A decision can be overridden repeatedly; only the last time counts.
                if isinstance(entry, DecisionOverride) and entry.target == target:
                    match = step if entry.decision.value == request.decision else None
            elif request.reverts is not None:
                if isinstance(entry, DecisionEntry) and target is not None and entry.reverts == target:
                    match = step
            elif isinstance(entry, DecisionEntry) and entry.id == self._id:
                match = step
        return match

    def _is_same(self, step: ScoreStep) -> bool:
        request, recorded = self._request, report_score_step(step)
        # A reason with a secret is stored redacted, so it cannot be compared.
        clean = redact_event_payload({"reason": request.reason}, lambda: open_redaction_key(self._workspace))
        pairs = (
            (
                request.decision,
                step.entry.decision.value if isinstance(step.entry, DecisionEntry | DecisionOverride) else None,
            ),
            (request.complexity, recorded.complexity),
            (request.lines, recorded.lines),
            (request.review_ms, recorded.review_ms),
            (request.actor, recorded.actor),
            (request.reason if clean["reason"] == request.reason else None, recorded.reason),
        )
        return all(sent is None or sent == stored for sent, stored in pairs)
