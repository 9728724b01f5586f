"""What ``custody trust`` answers: where agents stand, what each decision did, whether the log is as it was written."""

from typing import Literal

import msgspec

from custody.wire.reports import Finding, Report

Tier = Literal["untrusted", "low", "medium", "high", "verified"]
EntryKind = Literal["decision", "revert", "override", "recovery"]


class TrustLine(msgspec.Struct, frozen=True, kw_only=True):
    """One agent as of the report's moment; ``stored`` is its score before fading, ``lines_max`` its tier's limit."""

    agent: str
    score: float
    stored: float
    tier: Tier
    confidence: float
    meaningful: bool
    samples: int
    accepted: int
    modified: int
    rejected: int
    lines_max: int
    last_active: str | None


class StepTaken(msgspec.Struct, frozen=True, kw_only=True):
    """What one record did to a score; one that does not count says why in its notes."""

    record: str
    id: str
    at: str
    kind: EntryKind
    decision: str | None
    counts: bool
    before: float
    after: float
    weight: float | None
    step: float | None
    complexity: str | None
    lines: int | None
    review_ms: int | None
    commit: str | None
    actor: str | None
    reason: str | None
    notes: list[str]


class TrustListReport(Report, frozen=True, kw_only=True, tag="trust-list"):
    """Every agent about which anything was decided, by name."""

    at: str
    profile: str
    rules_digest: str
    agents: list[TrustLine]


class TrustShowReport(Report, frozen=True, kw_only=True, tag="trust-show"):
    """One agent, and the newest decisions about it, newest first."""

    at: str
    profile: str
    rules_digest: str
    standing: TrustLine
    history: list[StepTaken]
    total: int


class TrustWhyReport(Report, frozen=True, kw_only=True, tag="trust-why"):
    """How an agent came to its score at a moment: every record until then, oldest first, then the days of silence."""

    at: str
    profile: str
    rules_digest: str
    standing: TrustLine
    start: float
    steps: list[StepTaken]
    idle_days: float


class TrustRecordReport(Report, frozen=True, kw_only=True, tag="trust-record"):
    """What was recorded, what it did, and where that leaves the agent."""

    profile: str
    taken: StepTaken
    standing: TrustLine


class TrustVerifyReport(Report, frozen=True, kw_only=True, tag="trust-verify"):
    """Whether the log is as it was written, and whether replaying its records gives the scores that are shown."""

    decisions: int
    agents: int
    records: int
    chains: int
    findings: list[Finding]
