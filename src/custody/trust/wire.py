"""The JSON of trust.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""

from typing import Literal

import msgspec

from custody.core.ids import RecordRef, Seq, StoreId
from custody.core.wire.report import IntegrityFinding, Report

# Acceptance probabilities, and the report of ``custody trust simulate``.

OutcomeWord = Literal["merged", "changed", "closed", "reverted"]


class ChancePart(msgspec.Struct, frozen=True):
    """One part of the log-odds of an acceptance probability, and the rate, rating, score or size behind it."""

    name: str
    points: float
    value: float | None = None
    samples: float | None = None


class ChanceReport(msgspec.Struct, frozen=True, kw_only=True):
    """An acceptance probability with its account, which sums to ``logit``, and the state of risk control.

    ``threshold`` is the lower bound from which on changes pass risk control, null while nothing passes. Of ``seen``
    decided changes ``realised_count`` would have passed; ``realised`` is the share of bad changes among these.
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
    """Counts of changes: those that would merge without review, and the rejected and reverted ones among them."""

    changes: int
    approved: int
    lines: int
    modified: int
    rejected: int
    reverted: int
    bad_share: float | None


class AgentMergeShare(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of one agent's changes."""

    agent: str
    landing: MergeShare


class SimulatedPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What one set of rules would have merged; ``controlled`` is the part that passes risk control from the start.

    ``within``: the share of bad changes is not above the target; null when nothing would merge. ``reasons`` counts the
    reasons against the others, by code.
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
    """A notable change: the reasons of each policy, and its outcome."""

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
    """Policies applied to the past, the rules in force first.

    ``recorded`` and ``commits`` count the changes of the period from records and from plain git history.
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


# The reports of ``custody trust``: scores, the effect of each decision, the verification of the log.


Tier = Literal["untrusted", "low", "medium", "high", "verified"]
EntryKind = Literal["decision", "revert", "override", "recovery", "landing", "settlement"]
"""A landing is a change merged without review; from its settlement on it counts."""


class TrustLine(msgspec.Struct, frozen=True, kw_only=True):
    """One agent at the report's time; ``stored`` is its score before decay, ``lines_max`` its tier's limit.

    ``budget`` lines may merge without review in ``budget_hours``, unless ``reviews_needed`` more reviews are missing or
    the tier is ``decayed``: reached only because old rejections have decayed.
    """

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
    budget: int
    budget_hours: float
    reviews_needed: int
    decayed: bool
    last_active: str | None


AssuranceWord = Literal["self-reported", "enrolled", "witnessed"]
"""Who vouches for a decision: anyone, an enrolled store, or a second party."""


class ScoreStepReport(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of one record on a score; the notes say why a record does not count.

    ``assurance`` says who vouches for the record under the team's policy, null where that was not checked.
    """

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
    assurance: AssuranceWord | None = None


class TrustListReport(Report, frozen=True, kw_only=True, tag="trust-list"):
    """All agents with decisions, by name."""

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
    """How an agent got its score at a time: every record until then, oldest first, then the idle days.

    ``chance`` is the acceptance estimate of a change by its agent alone.
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
    """A new record, its effect, and the agent's score after it."""

    profile: str
    taken: ScoreStepReport
    standing: TrustLine


class TrustVerifyReport(Report, frozen=True, kw_only=True, tag="trust-verify"):
    """Whether the log is unchanged, and whether replaying its records gives the scores that are shown."""

    decisions: int
    agents: int
    records: int
    chains: int
    findings: list[IntegrityFinding]


class ReviewReasonReport(msgspec.Struct, frozen=True):
    """Why a change may not merge without review: the code, and a sentence."""

    code: str
    sentence: str


class LeftOutDecisions(msgspec.Struct, frozen=True):
    """Why decisions in favor of an agent do not count, and how many."""

    why: str
    decisions: int


class AgentApproval(msgspec.Struct, frozen=True, kw_only=True):
    """One agent that wrote lines of a change: their number, its record, and the reasons against it.

    ``budget`` is the number of lines that may merge without review in the budget window, ``budget_left`` the rest. In a
    verdict of the gate ``budget_left`` is null and the reasons leave out budget and audit, which are in ``local``.
    ``assurance`` is the lowest of the decisions in its favor that count; ``left_out`` are the others.
    """

    agent: str
    model: str | None
    operator: str | None
    lines: int
    score: float
    tier: Tier
    samples: int
    budget: int
    budget_left: int | None
    approved: bool
    reasons: list[ReviewReasonReport]
    assurance: AssuranceWord
    left_out: list[LeftOutDecisions]
    chance: ChanceReport | None = None


class TrustApproveReport(Report, frozen=True, kw_only=True, tag="trust-approve"):
    """Whether a change may merge without review: for this head, by these rules, with the records until then.

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
    """The effect of a change's outcome on one agent that wrote lines of it.

    ``state``: it was recorded; it corrects an earlier decision; it was known already; or the change was merged without
    review and does not count yet. ``taken`` is the effect of the record, None where nothing was recorded.
    """

    agent: str
    model: str | None
    lines: int
    state: Literal["recorded", "corrected", "known", "waiting"]
    note: str | None
    taken: ScoreStepReport | None
    standing: TrustLine


class PairLabelReport(msgspec.Struct, frozen=True, kw_only=True):
    """A label for the duplicate search that follows from an outcome: the other change, the answer, its record."""

    other: str
    answer: str
    record: str


class TrustOutcomeReport(Report, frozen=True, kw_only=True, tag="trust-outcome"):
    """The outcome of a change, and its effect on each agent that wrote lines of it.

    ``change`` is the commit that decisions refer to, ``head`` the proposed commit. ``lines`` counts added and removed
    lines, ``person_lines`` and ``unknown_lines`` the added lines of people and of unknown authors.
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
    """A revert of ``target`` by the commit ``by``, how it was found, and its state; only ``whole`` counts.

    Of the ``changed`` lines of the target ``left`` were still there, and ``undone`` of these were reverted. The target
    is compared with ``base``. ``said`` is the name in the message, ``cancelled_by`` the commit that reverts this one.
    ``outcomes`` are the effects on agents, if they were recorded.
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
    """The reverts in a range of history, the oldest first, and their number by state.

    ``recorded`` counts the new decisions.
    """

    tip: str | None
    base: str | None
    commits: int
    found: list[RevertReport]
    counts: dict[str, int]
    recording: bool
    recorded: int


# The stored state of a fold: every bit of a number is restored.


class StoredScore(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A score with its position in each chain, the last entry in order, and the records of pending approvals."""

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
        """Return the record of the last entry."""
        return RecordRef(StoreId(self.last[0]), Seq(self.last[1]))


def encode_stored_score(score: StoredScore) -> str:
    """Encode a score as text for a row."""
    return msgspec.json.encode(score).decode()


def decode_stored_score(text: str) -> StoredScore | None:
    """Decode a score from a row; None for another shape, which is folded again."""
    try:
        return msgspec.json.decode(text, type=StoredScore)
    except msgspec.MsgspecError:
        return None
