"""Document 001's library: its calls, over a store in a folder of its own."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal, TypeVar

from custody.core.errors import InputError
from custody.trust.app.decisions import (
    TrustQuery,
    account_of,
    agents_in,
    folder_workspace,
    make_unknown_agent_error,
    read_settled_decisions,
    trust_rules,
)
from custody.trust.app.record import DecisionRequest, check_number, record, recover
from custody.trust.app.standing import read_standing
from custody.trust.engine import UNSPECIFIED, trust_at
from custody.trust.model import (
    Account,
    Approval,
    ChangeComplexity,
    DecisionEntry,
    DecisionType,
    ScoreStep,
    Trust,
    TrustTier,
    UnknownAgent,
)
from custody.trust.rules import TrustRules
from custody.trust.score import approve
from custody.workspace.machine import user

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


@dataclass(frozen=True, slots=True)
class TrustScore:
    """An agent's score with the fading until now, and how much it rests on."""

    score: float
    confidence: float
    meaningful: bool
    sample_count: int


@dataclass(frozen=True, slots=True)
class DecisionRecord:
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


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """Everything that is known of an agent's record."""

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
    """Trust of agents by name, in the folder ``storage_path``; every call reads and writes the store there.

    The rules are those of the folder's ``config.yaml`` and of the document's variables, read once.
    """

    def __init__(
        self,
        storage_path: str | os.PathLike[str] = ".ai-git",
        *,
        profile: Literal["cautious", "document"] = "document",
        now_ns: Callable[[], int] | None = None,
    ) -> None:
        self._workspace = folder_workspace(storage_path, now_ns)
        self.rules: TrustRules = replace(trust_rules(self._workspace), profile=profile)

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
        """Record what was decided about a change; it is durable when this returns."""
        wanted = DecisionRequest(
            agent=str(agent_id),
            decision=_one_of(DecisionType, decision),
            commit=str(commit_hash),
            complexity=None if complexity is None else _one_of(ChangeComplexity, complexity),
            lines=change_size,
            review_ms=_review_ms(review_time_ms),
            actor=actor or user(),
            reason=reason,
            id=decision_id,
        )
        return _record(str(agent_id), record(self._workspace, wanted, self.rules).step)

    def get_trust_score(self, agent_id: str) -> TrustScore:
        """The agent's score now; one about which nothing was decided has the score of a newcomer."""
        trust = self._trust(str(agent_id))
        return TrustScore(trust.score, trust.confidence, trust.meaningful, trust.standing.samples)

    def get_trust_tier(self, agent_id: str) -> TrustTier:
        """The tier of the agent's score now."""
        return self._trust(str(agent_id)).tier

    def should_auto_approve(self, agent_id: str, change_size: int) -> Approval:
        """Whether the agent may land so many lines without review; the answer is usable as a bool and has reasons."""
        check_number("the size of the change", change_size)
        return approve(self._trust(str(agent_id)), change_size, self.rules)

    def get_agent_history(self, agent_id: str, limit: int = HISTORY_MAX) -> list[DecisionRecord]:
        """The decisions about the agent that count, newest first."""
        decided = [step for step in self._account(str(agent_id)).steps if step.counts and step.decision is not None]
        return [_record(str(agent_id), step) for step in decided[::-1][: max(0, limit)]]

    def get_agent_profile(self, agent_id: str) -> AgentProfile:
        """The agent's record in numbers; an ``UnknownAgent`` when nothing was decided about it."""
        agent = str(agent_id)
        trust = self._trust(agent)
        standing = trust.standing
        if not standing.samples:
            raise self._unknown(agent)
        return AgentProfile(
            agent_id=agent,
            score=trust.score,
            confidence=trust.confidence,
            tier=trust.tier,
            total_decisions=standing.samples,
            accepted_count=standing.accepted,
            modified_count=standing.modified,
            rejected_count=standing.rejected,
            last_active_ns=standing.active_ns,
        )

    def apply_recovery(
        self,
        agent_id: str,
        boost_amount: float | None = None,
        *,
        actor: str | None = None,
        reason: str | None = None,
    ) -> TrustScore:
        """Lift the score of an agent that has a record; without an amount, by the recovery rate."""
        recover(
            self._workspace,
            str(agent_id),
            boost=boost_amount,
            actor=actor or user(),
            reason=reason or UNSPECIFIED,
            rules=self.rules,
        )
        return self.get_trust_score(agent_id)

    def _account(self, agent: str) -> Account:
        with self._workspace.reading() as store, read_settled_decisions(store):
            return account_of(store, agent, TrustQuery(self.rules, self._workspace.now_ns()))

    def _trust(self, agent: str) -> Trust:
        now_ns = self._workspace.now_ns()
        with self._workspace.reading() as store:
            standing = read_standing(store, agent, TrustQuery(self.rules, now_ns))
        return trust_at(standing, now_ns, self.rules)

    def _unknown(self, agent: str) -> UnknownAgent:
        with self._workspace.reading() as store:
            return make_unknown_agent_error(agent, agents_in(store))


def _one_of(kind: type[E], said: object) -> E:
    try:
        return kind(said)
    except ValueError as error:
        names = ", ".join(member.name for member in kind)
        raise InputError(f"{said!r} is no {kind.__name__}", hint=f"use one of {names}") from error


def _review_ms(said: int | None) -> int | None:
    """A time that is not positive says nothing about the review, and is no error."""
    return 0 if isinstance(said, int) and said < 0 else said


def _record(agent: str, step: ScoreStep) -> DecisionRecord:
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
