"""What ``custody blame`` answers: every line in order, who wrote it as far as can be shown, and on what evidence."""

from typing import Literal

import msgspec

from custody.core.wire.report import Report

Class = Literal["agent", "mixed", "person", "none"]
TIER_WORDS = ("provably certain", "effectively certain", "very high", "high", "medium", "suggestive")
"""How sure an answer is, from tier 1 to tier 6."""


class SignalReport(msgspec.Struct, frozen=True):
    """One signal: its name, the points it adds, a sentence saying why, the records that show it."""

    name: str
    points: float
    why: str
    records: list[str]


class SearchScope(msgspec.Struct, frozen=True):
    """What a negative answer rests on: since when, in how many records of the file and commits it was looked for."""

    since: str | None
    records: int
    commits: int


class CompetingClaim(msgspec.Struct, frozen=True):
    """Somebody else who is said to have written the lines: by which tool (null: a trace that does not say), and where.

    A claim beside an answer is never better than ``claimed``, and does not change the answer.
    """

    producer: str | None
    agent: str
    model_id: str | None
    session_id: str
    grade: str
    record: str


class Attribution(msgspec.Struct, frozen=True, kw_only=True, rename={"kind": "class"}):
    """Neighbouring lines with the same answer; ``share`` is the part of each line that is an agent's.

    ``commits`` is the path of the lines through commits, the one that holds them now last; empty while they are not
    committed. ``claims`` are those of other tools that name somebody else.
    """

    start_line: int
    end_line: int
    kind: Class
    share: float
    tier: int | None
    confidence: float
    score: float
    grade: str | None
    trace_id: str | None
    agent: str | None
    model_id: str | None
    session_id: str | None
    tool_call_id: str | None
    conversation_url: str | None
    conversation_summary: str | None
    signals: list[str]
    evidence: list[SignalReport]
    commits: list[str]
    reason: str | None
    searched: SearchScope | None
    claims: list[CompetingClaim]


class BlameReport(Report, frozen=True, kw_only=True, tag="blame"):
    """Every line of a file, or of the stretches asked for, in order."""

    path: str
    revision: str | None
    profile: str
    rules_digest: str
    attributions: list[Attribution]
    notes: list[str]
