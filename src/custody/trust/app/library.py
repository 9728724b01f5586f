"""The library of document 001: its calls, with a store in a folder of its own."""

import os
from collections.abc import Callable
from enum import Enum
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from custody.core.assurance import Assurance
from custody.core.errors import InputError
from custody.trust.app.decisions import (
    TrustQuery,
    decision_entries_from_views,
    list_agents_with_decisions,
    load_trust_rules,
    make_unknown_agent_error,
    open_trust_folder,
    read_settled_decisions,
    replay_trust_account,
)
from custody.trust.app.record import DecisionRequest, check_decision_count, record_recovery, record_trust_decision
from custody.trust.app.score_cache import read_score_state
from custody.trust.engine import UNSPECIFIED, compute_trust, decision_order_key
from custody.trust.model import (
    Account,
    Approval,
    ChangeComplexity,
    ChangeStakes,
    DecisionEntry,
    DecisionType,
    ScoreStep,
    Trust,
    TrustTier,
    UnknownAgent,
)
from custody.trust.queries import decisions_on_commit, list_decision_corrections
from custody.trust.rules import TrustRules
from custody.trust.score import approve_change_lines
from custody.workspace.machine import machine_user_name

__all__ = [
    "AgentProfile",
    "Approval",
    "ChangeComplexity",
    "DecisionRecord",
    "DecisionType",
    "TrustLineageManager",
    "TrustScore",
    "TrustTier",
    "UnknownAgent",
]

HISTORY_MAX = 20

E = TypeVar("E", bound=Enum)


class TrustScore(Struct, frozen=True):
    """An agent's decayed score now, and the confidence in it."""

    score: float
    confidence: float
    meaningful: bool
    sample_count: int


class DecisionRecord(Struct, frozen=True):
    """A decision as it counts; ``score_after`` is the agent's score right after it."""

    id: str
    agent_id: str
    decision_type: DecisionType
    commit_hash: str
    change_size: int | None
    complexity: ChangeComplexity | None
    review_time_ms: int | None
    at_ns: int
    score_after: float
    notes: tuple[str, ...]


class AgentProfile(Struct, frozen=True):
    """The record of an agent in numbers."""

    agent_id: str
    score: float
    confidence: float
    tier: TrustTier
    total_decisions: int
    accepted_count: int
    modified_count: int
    rejected_count: int
    last_active_ns: int | None


class TrustLineageManager:
    """Trust in agents by name, in the folder ``storage_path``; every call reads and writes the store there.

    The rules are read once, from the folder's ``config.yaml`` and the document's environment variables.
    """

    def __init__(
        self,
        storage_path: str | os.PathLike[str] = ".ai-git",
        *,
        profile: Literal["cautious", "document"] = "document",
        now_ns: Callable[[], int] | None = None,
    ) -> None:
        self._workspace = open_trust_folder(storage_path, now_ns)
        self.rules: TrustRules = replace(load_trust_rules(self._workspace), profile=profile)

    def record_decision(  # noqa: PLR0913 - the document's own call
        self,
        agent_id: str,
        decision: DecisionType,
        commit_hash: str,
        review_time_ms: int | None = None,
        change_size: int | None = None,
        complexity: ChangeComplexity | None = None,
        *,
        actor: str | None = None,
        reason: str | None = None,
        decision_id: str | None = None,
    ) -> DecisionRecord:
        """Record a decision about a change; it is durable when this returns.

        An exact repeat records nothing, unless it has a ``decision_id`` or anything else was recorded about the commit
        since.
        """
        request = DecisionRequest(
            agent=str(agent_id),
            decision=_parse_decision_enum(DecisionType, decision),
            commit=str(commit_hash),
            complexity=None if complexity is None else _parse_decision_enum(ChangeComplexity, complexity),
            lines=change_size,
            review_ms=_clamp_review_ms(review_time_ms),
            actor=actor or machine_user_name(),
            reason=reason,
            id=decision_id,
        )
        step = self._find_repeated_step(request) if decision_id is None else None
        return _decision_record_from_step(
            str(agent_id), step or record_trust_decision(self._workspace, request, self.rules).step
        )

    def get_trust_score(self, agent_id: str) -> TrustScore:
        """Return the agent's score now; without decisions, the score of a new agent."""
        trust = self._trust(str(agent_id))
        return TrustScore(trust.score, trust.confidence, trust.meaningful, trust.state.samples)

    def get_trust_tier(self, agent_id: str) -> TrustTier:
        """Return the tier of the agent's score now."""
        return self._trust(str(agent_id)).tier

    def should_auto_approve(self, agent_id: str, change_size: int) -> Approval:
        """Return whether the agent may merge so many lines without review; the result is a bool with reasons.

        The answer is self-reported: only the caller vouches for the decisions in the folder.
        """
        check_decision_count("the size of the change", change_size)
        approval = approve_change_lines(self._trust(str(agent_id)), change_size, self.rules)
        return replace(approval, assurance=Assurance.SELF_REPORTED)

    def get_agent_history(self, agent_id: str, limit: int = HISTORY_MAX) -> list[DecisionRecord]:
        """Return the decisions about the agent that count, newest first."""
        decided = [step for step in self._account(str(agent_id)).steps if step.counts and step.decision is not None]
        return [_decision_record_from_step(str(agent_id), step) for step in decided[::-1][: max(0, limit)]]

    def get_agent_profile(self, agent_id: str) -> AgentProfile:
        """Return the agent's record in numbers; ``UnknownAgent`` without decisions about it."""
        agent = str(agent_id)
        trust = self._trust(agent)
        state = trust.state
        if not state.samples:
            raise self._unknown(agent)
        return AgentProfile(
            agent_id=agent,
            score=trust.score,
            confidence=trust.confidence,
            tier=trust.tier,
            total_decisions=state.samples,
            accepted_count=state.accepted,
            modified_count=state.modified,
            rejected_count=state.rejected,
            last_active_ns=state.active_ns,
        )

    def apply_recovery(
        self,
        agent_id: str,
        boost_amount: float | None = None,
        *,
        actor: str | None = None,
        reason: str | None = None,
    ) -> TrustScore:
        """Raise the score of an agent with decisions; without an amount, by the recovery rate."""
        record_recovery(
            self._workspace,
            str(agent_id),
            boost=boost_amount,
            actor=actor or machine_user_name(),
            reason=reason or UNSPECIFIED,
            rules=self.rules,
        )
        return self.get_trust_score(agent_id)

    def _find_repeated_step(self, request: DecisionRequest) -> ScoreStep | None:
        """Return the step of the last decision about a commit if the request repeats it exactly."""
        assert request.commit is not None, "the document's call names a commit"
        with self._workspace.reading() as store, read_settled_decisions(store):
            about = list(decision_entries_from_views(decisions_on_commit(store, request.commit)))
            last = max(about, key=decision_order_key, default=None)
            if not isinstance(last, DecisionEntry) or list_decision_corrections(store, request.agent, last.id):
                return None
        steps = [step for step in self._account(request.agent).steps if step.entry == last]
        return steps[0] if steps and _is_repeat(request, last) else None

    def _account(self, agent: str) -> Account:
        with self._workspace.reading() as store, read_settled_decisions(store):
            return replay_trust_account(store, agent, TrustQuery(self.rules, self._workspace.now_ns()))

    def _trust(self, agent: str) -> Trust:
        now_ns = self._workspace.now_ns()
        with self._workspace.reading() as store:
            state = read_score_state(store, agent, TrustQuery(self.rules, now_ns))
        return compute_trust(state, now_ns, self.rules)

    def _unknown(self, agent: str) -> UnknownAgent:
        with self._workspace.reading() as store:
            return make_unknown_agent_error(agent, list_agents_with_decisions(store))


def _is_repeat(request: DecisionRequest, recorded: DecisionEntry) -> bool:
    stakes = ChangeStakes(request.complexity, request.lines, request.review_ms)
    return recorded.reverts is None and (recorded.decision, recorded.stakes) == (request.decision, stakes)


def _parse_decision_enum(kind: type[E], value: object) -> E:
    try:
        return kind(value)
    except ValueError as error:
        names = ", ".join(member.name for member in kind)
        raise InputError(f"invalid {kind.__name__} {value!r}", hint=f"use one of {names}") from error


def _clamp_review_ms(review_ms: int | None) -> int | None:
    """Return 0 for a negative time: it says nothing about the review, and is not an error."""
    return 0 if isinstance(review_ms, int) and review_ms < 0 else review_ms


def _decision_record_from_step(agent: str, step: ScoreStep) -> DecisionRecord:
    entry = step.entry
    assert isinstance(entry, DecisionEntry), "only decisions are listed"
    return DecisionRecord(
        id=entry.id,
        agent_id=agent,
        decision_type=step.decision or entry.decision,
        commit_hash=entry.commit or "",
        change_size=entry.stakes.lines,
        complexity=entry.stakes.complexity,
        review_time_ms=entry.stakes.review_ms,
        at_ns=entry.at_ns,
        score_after=step.after,
        notes=step.notes,
    )
