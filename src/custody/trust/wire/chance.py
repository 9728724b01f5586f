"""Acceptance probabilities, and what ``custody trust simulate`` answers."""

from typing import Literal

import msgspec

from custody.core.wire.report import Report


class ChancePart(msgspec.Struct, frozen=True):
    """What one thing adds to the log-odds of a chance, and the rate, rating, score or size behind it."""

    name: str
    points: float
    value: float | None = None
    samples: float | None = None


class ChanceReport(msgspec.Struct, frozen=True, kw_only=True):
    """A chance of acceptance with its account, which sums to ``logit``, and the control of risk beside it.

    ``threshold`` is the lower bound from which on risk control lets changes through, null while it can show nothing. Of
    ``seen`` decided changes ``realised_count`` would have been let through, of which ``realised`` were bad.
    """

    probability: float
    low: float
    logit: float
    samples: float
    account: list[ChancePart]
    target: float
    threshold: float | None
    passes: bool
    realised: float | None
    realised_count: int
    coverage: float
    seen: int


class MergeShare(msgspec.Struct, frozen=True, kw_only=True):
    """Of so many changes: what would land without review, and what of that was rejected or taken back."""

    changes: int
    approved: int
    lines: int
    modified: int
    rejected: int
    reverted: int
    bad_share: float | None


class AgentMergeShare(msgspec.Struct, frozen=True, kw_only=True):
    """What would land of one agent's changes."""

    agent: str
    landing: MergeShare


class SimulatedPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What one set of rules would have let land; ``controlled`` is what of it risk control lets through from the start.

    ``within``: the share of bad changes is not above the target; null when nothing would land. ``reasons`` counts what
    was against the others, by code.
    """

    name: str
    rules_digest: str
    target: float
    within: bool | None
    landing: MergeShare
    controlled: MergeShare
    reasons: dict[str, int]
    agents: list[AgentMergeShare]


class SimulatedExample(msgspec.Struct, frozen=True, kw_only=True):
    """A change worth looking at: what was said of it by each policy, and what became of it."""

    agent: str
    id: str
    opened: str
    lines: int
    outcome: Literal["accepted", "modified", "rejected", "reverted"]
    score: float
    chance: float
    low: float
    why: str
    reasons: dict[str, list[str]]


class TrustSimulateReport(Report, frozen=True, kw_only=True, tag="trust-simulate"):
    """Policies over the past: the rules in force first.

    ``recorded`` and ``commits`` are the changes of the period that records and plain git history told of.
    """

    since: str
    until: str
    recorded: int
    commits: int
    reverted_commits: int
    mended_commits: int
    undated_commits: int
    policies: list[SimulatedPolicy]
    examples: list[SimulatedExample]
    example_count: int
