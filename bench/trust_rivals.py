"""The models that predict acceptance: a constant, the document's score, a Beta for each agent, and ours.

All of them predict when a change is opened and learn when it is decided. They count by agent and repository.
"""

from typing import Protocol

from msgspec.structs import replace

from custody.trust.acceptance import AcceptanceEstimate, AcceptanceModel, is_merge_decision
from custody.trust.levels import LevelCase
from custody.trust.model import ChangeStakes, DecisionType, TrustTier
from custody.trust.rules import TrustRules
from custody.trust.score import (
    DECISION_VALUES,
    NS_PER_DAY,
    compute_decision_weight,
    compute_score_step,
    decay_score,
    decision_complexity_from_lines,
    move_trust_score,
    read_tier_lines_max,
    tier_from_score,
)

RivalKey = tuple[str, str]


class Rival(Protocol):
    """A model that predicts; ``place`` names the change."""

    name: str

    def predict(self, place: int, case: LevelCase) -> float:
        """Return the probability that the change is accepted, when it is opened."""

    def learn(self, place: int, case: LevelCase, decision: DecisionType, decided_ns: int) -> None:
        """Learn the outcome."""


class Constant:
    """The acceptance rate of all earlier decisions, the same for every agent."""

    name = "constant rate"

    def __init__(self) -> None:
        self._good, self._all = 1, 2

    def predict(self, place: int, case: LevelCase) -> float:
        """Return the rate."""
        return self._good / self._all

    def learn(self, place: int, case: LevelCase, decision: DecisionType, decided_ns: int) -> None:
        """Count it."""
        self._good += is_merge_decision(decision)
        self._all += 1


class BetaPerAgent:
    """Counts per agent and repository, starting at one good and one bad."""

    name = "Beta per agent"

    def __init__(self) -> None:
        self._counts: dict[RivalKey, tuple[int, int]] = {}

    def predict(self, place: int, case: LevelCase) -> float:
        """Return the mean of the agent's distribution."""
        good, every = self._counts.get(_key(case), (1, 2))
        return good / every

    def learn(self, place: int, case: LevelCase, decision: DecisionType, decided_ns: int) -> None:
        """Count it."""
        good, every = self._counts.get(_key(case), (1, 2))
        self._counts[_key(case)] = (good + is_merge_decision(decision), every + 1)


class DocumentScore:
    """The document's score used as a probability: plain, or with stakes as in the rules."""

    def __init__(self, rules: TrustRules, *, stakes: bool) -> None:
        self.name = "document's score, with stakes" if stakes else "document's score"
        self._rules = rules if stakes else replace(rules, profile="document")
        self._stakes = stakes
        self._scores: dict[RivalKey, tuple[float, int]] = {}

    def predict(self, place: int, case: LevelCase) -> float:
        """Return the score, decayed until the change was opened."""
        return self._score(case, case.opened_ns)

    def approves(self, case: LevelCase) -> bool | None:
        """Return whether the size is within the tier's limit in the document's policy; None if it is unknown."""
        if case.lines is None:
            return None
        tier = tier_from_score(self._score(case, case.opened_ns), self._rules)
        return tier is not TrustTier.UNTRUSTED and case.lines <= read_tier_lines_max(tier, self._rules)

    def learn(self, place: int, case: LevelCase, decision: DecisionType, decided_ns: int) -> None:
        """Move the score by a step."""
        before = self._score(case, decided_ns)
        value = DECISION_VALUES[decision]
        since_ns = self._scores.get(_key(case), (0.0, decided_ns))[1]
        self._scores[_key(case)] = (
            move_trust_score(before, value, self._step(case, rising=value > before)),
            max(decided_ns, since_ns),
        )

    def _step(self, case: LevelCase, *, rising: bool) -> float:
        if not self._stakes:
            return self._rules.ema_alpha
        complexity = None if case.lines is None else decision_complexity_from_lines(case.lines)
        weight = compute_decision_weight(ChangeStakes(complexity, case.lines), self._rules, rising=rising)
        return compute_score_step(weight, self._rules, rising=rising)

    def _score(self, case: LevelCase, now_ns: int) -> float:
        score, since_ns = self._scores.get(_key(case), (self._rules.start_score, now_ns))
        return decay_score(score, (now_ns - since_ns) / NS_PER_DAY, self._rules)


class ChanceModel:
    """The acceptance probability, which learns from its own predictions."""

    name = "ours"

    def __init__(self, rules: TrustRules) -> None:
        self._chances = AcceptanceModel(rules)
        self._said: dict[int, AcceptanceEstimate] = {}

    def predict(self, place: int, case: LevelCase) -> float:
        """Return the probability."""
        self._said[place] = said = self._chances.predict(case)
        return said.probability

    def find_estimate(self, place: int) -> AcceptanceEstimate:
        """Return the prediction for a change that is not decided yet."""
        return self._said[place]

    def learn(self, place: int, case: LevelCase, decision: DecisionType, decided_ns: int) -> None:
        """Learn from the outcome and the prediction."""
        self._chances.learn(case, decision, decided_ns, self._said.pop(place))


def _key(case: LevelCase) -> RivalKey:
    return case.agent, case.repository
