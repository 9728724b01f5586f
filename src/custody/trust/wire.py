"""The JSON of trust.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""

from typing import Literal

import msgspec

from custody.core.ids import RecordRef, Seq, StoreId
from custody.core.wire.report import IntegrityFinding, Report

# Acceptance probabilities, and what ``custody trust simulate`` answers.


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


# What ``custody trust`` answers: where agents stand, what each decision did, whether the log is as it was written.


Tier = Literal["untrusted", "low", "medium", "high", "verified"]
EntryKind = Literal["decision", "revert", "override", "recovery", "landing", "settlement"]
"""A landing is a change that nobody looked at; its settlement is the moment from which it counts."""


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


class ScoreStepReport(msgspec.Struct, frozen=True, kw_only=True):
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
    history: list[ScoreStepReport]
    total: int


class TrustWhyReport(Report, frozen=True, kw_only=True, tag="trust-why"):
    """How an agent came to its score at a moment: every record until then, oldest first, then the days of silence.

    ``chance`` is that of a change of the agent's of which nothing else is known.
    """

    at: str
    profile: str
    rules_digest: str
    standing: TrustLine
    start: float
    steps: list[ScoreStepReport]
    idle_days: float
    chance: ChanceReport


class TrustRecordReport(Report, frozen=True, kw_only=True, tag="trust-record"):
    """What was recorded, what it did, and where that leaves the agent."""

    profile: str
    taken: ScoreStepReport
    standing: TrustLine


class TrustVerifyReport(Report, frozen=True, kw_only=True, tag="trust-verify"):
    """Whether the log is as it was written, and whether replaying its records gives the scores that are shown."""

    decisions: int
    agents: int
    records: int
    chains: int
    findings: list[IntegrityFinding]


class ReviewReasonReport(msgspec.Struct, frozen=True):
    """Why a change may not land without review: the code, and a sentence."""

    code: str
    sentence: str


class AgentApproval(msgspec.Struct, frozen=True, kw_only=True):
    """One agent that wrote a part of a change: how many lines, what its record is, and what is against it.

    ``budget`` is what may land without review in the window of the budget, ``budget_left`` what is left of it.
    """

    agent: str
    model: str | None
    operator: str | None
    lines: int
    score: float
    tier: Tier
    samples: int
    budget: int
    budget_left: int
    approved: bool
    reasons: list[ReviewReasonReport]
    chance: ChanceReport | None = None


class TrustApproveReport(Report, frozen=True, kw_only=True, tag="trust-approve"):
    """Whether a change may land without review: for this head, by these rules, on what was recorded until then.

    ``recorded`` are the records of the approval; ``chain_head`` is SHA-256 over the heads of all chains before them.
    """

    base: str
    head: str
    fork: str
    as_of: str
    rules_digest: str
    chain_head: str
    lines: int
    areas: list[str]
    unknown_lines: int
    approver: str
    approved: bool
    dry_run: bool
    recorded: list[str]
    agents: list[AgentApproval]
    reasons: list[ReviewReasonReport]


class AgentOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the outcome of a change means for one agent that wrote a part of it.

    ``state``: it was recorded; it corrects an earlier decision; the same is known already; or the change landed without
    review and waits to count. ``taken`` is what the record did, None where nothing was recorded.
    """

    agent: str
    model: str | None
    lines: int
    state: Literal["recorded", "corrected", "known", "waiting"]
    note: str | None
    taken: ScoreStepReport | None
    standing: TrustLine


class PairLabelReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an outcome says about two changes, for the search for duplicates: the other one, the answer, its record."""

    other: str
    answer: str
    record: str


class TrustOutcomeReport(Report, frozen=True, kw_only=True, tag="trust-outcome"):
    """What became of a change, and what that means for each agent whose lines it has; no agents where it has none.

    ``change`` is the commit under which it is decided, ``head`` the one that was proposed; ``lines`` counts what the
    change adds and removes, ``person_lines`` and ``unknown_lines`` what it adds that no agent is known to have written.
    """

    told: Literal["merged", "changed", "closed", "reverted"]
    change: str
    head: str
    base: str | None
    lines: int
    person_lines: int
    unknown_lines: int
    profile: str
    agents: list[AgentOutcome]
    labels: list[PairLabelReport]


class RevertReport(msgspec.Struct, frozen=True, kw_only=True):
    """That the commit ``by`` takes back ``target``, how it says so, and what was found out; only ``whole`` counts.

    Of ``changed`` lines of the target ``left`` were there until then, and ``undone`` of these were taken back. ``base``
    is what the target is compared with. ``said`` is the name that the message gives, ``cancelled_by`` what takes this
    one back. ``outcomes`` are what it means for the agents whose lines it took back, where that was to be recorded.
    """

    by: str
    subject: str
    at: str | None
    target: str | None
    target_subject: str | None
    base: str | None
    how: Literal["id", "number", "title", "diff"]
    state: Literal[
        "whole",
        "partial",
        "untrue",
        "gone",
        "cancelled",
        "unlanded",
        "unknown",
        "elsewhere",
        "ambiguous",
        "short",
        "unseen",
    ]
    said: str | None
    changed: int
    left: int
    undone: int
    cancelled_by: str | None
    outcomes: list[AgentOutcome]


class TrustRevertsReport(Report, frozen=True, kw_only=True, tag="trust-reverts"):
    """The reverts of a stretch of history, the oldest first, and how many there are in each state.

    ``recorded`` counts the decisions that were recorded now.
    """

    tip: str | None
    base: str | None
    commits: int
    found: list[RevertReport]
    counts: dict[str, int]
    recording: bool
    recorded: int


# Where a fold of decisions stands, as it is kept between two questions: every bit of a number comes back.


class StoredStanding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A standing with how far each chain was read for it, the last entry in order, and the records of what waits."""

    read: dict[str, int]
    last_ns: int
    last: tuple[str, int]
    waiting: list[tuple[str, int, int]]
    score: float
    earned: float | None
    since_ns: int | None
    active_ns: int | None
    recovered_ns: int | None
    accepted: int
    modified: int
    rejected: int

    @property
    def last_ref(self) -> RecordRef:
        """The record of the last entry."""
        return RecordRef(StoreId(self.last[0]), Seq(self.last[1]))


def encode_standing(kept: StoredStanding) -> str:
    """As text for a row."""
    return msgspec.json.encode(kept).decode()


def decode_standing(text: str) -> StoredStanding | None:
    """From a row; None for what is not of this shape, which is folded anew."""
    try:
        return msgspec.json.decode(text, type=StoredStanding)
    except msgspec.MsgspecError:
        return None
