"""Streams of decisions as they are read, and what ``custody trust bench`` and ``custody trust simulate`` answer."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.wire.report import Report
from custody.core.wire.time import checked_ns, ns_from

NS_PER_SECOND = 1_000_000_000
SECONDS_MAX = 1e12
BoundedName = Annotated[str, Meta(min_length=1, max_length=1000)]
DecisionTime = int | float | BoundedName
"""Seconds since 1970, or RFC 3339 with a zone."""


class StreamRow(msgspec.Struct, frozen=True, kw_only=True):
    """One decided change of a stream; fields of no meaning to us are passed over."""

    agent: BoundedName
    repo: BoundedName | int
    opened: DecisionTime
    time: DecisionTime
    decision: Literal["accepted", "modified", "rejected"]
    pr: BoundedName | int | None = None
    lines: Annotated[int, Meta(ge=0)] | None = None
    area: BoundedName | None = None
    areas: Annotated[list[BoundedName], Meta(max_length=1000)] | None = None
    operator: BoundedName | None = None


_ROWS = msgspec.json.Decoder(StreamRow)


def stream_row(line: bytes) -> StreamRow:
    """The change that a line tells of; an ``InputError`` says what is wrong with it."""
    try:
        return _ROWS.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(str(error)) from error


def moment_ns(moment: DecisionTime) -> int:
    """A moment of a stream in nanoseconds.

    >>> moment_ns(1.5), moment_ns("1970-01-01T00:00:01Z")
    (1500000000, 1000000000)
    """
    if isinstance(moment, str):
        return ns_from(moment)
    if isinstance(moment, int):
        return checked_ns(moment * NS_PER_SECOND)
    # What is far outside of all years must not become infinite on its way to being refused.
    return checked_ns(round(min(max(moment, -SECONDS_MAX), SECONDS_MAX) * NS_PER_SECOND))


class DamagedLine(msgspec.Struct, frozen=True):
    """A line of a stream that could not be used, and why."""

    line: int
    what: str


class PredictionFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How good somebody's predictions were.

    ``coverage`` and ``bad_share`` are of what passes from ``BenchReport.chance_min`` on, ``best_bad_share`` of the
    likelier half, ``policy_…`` of what the document's own policy lets pass, where sizes are known.
    """

    name: str
    count: int
    log_loss: float
    brier: float
    auc: float | None
    calibration_error: float
    coverage: float
    bad_share: float | None
    best_bad_share: float | None
    policy_coverage: float | None
    policy_bad_share: float | None


class RiskFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What risk control let through for one target, and what share of that was bad."""

    target: float
    realised: float | None
    passed: int
    bad: int
    coverage: float
    threshold: float | None


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


class TrustBenchReport(Report, frozen=True, kw_only=True, tag="trust-bench"):
    """Predictions of everybody over one stream of decisions, and risk control's targets against what came true.

    ``scored`` leaves out the first part of the stream; ``later`` is its second half alone.
    """

    path: str
    decisions: int
    agents: int
    repositories: int
    good_share: float
    with_lines: int
    damaged: list[DamagedLine]
    damaged_count: int
    chance_min: float
    scored: list[PredictionFigures]
    later: list[PredictionFigures]
    risk: list[RiskFigures]


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
