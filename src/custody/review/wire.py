"""The report of ``custody review``: the verdict on a change, its hunks in reading order, and a card for each."""

from typing import Literal

import msgspec

from custody.core.wire.report import Report
from custody.gate.wire.report import (
    AddedLines,
    AssuranceName,
    CommitId,
    ReasonReport,
    SkippedCheck,
    StatementReport,
    UnreadFile,
    VerdictLevelName,
)
from custody.runs.wire import TestsReport
from custody.trust.wire import AgentApproval

RiskName = Literal["high", "medium", "low"]
CertaintyName = Literal["certain", "strong", "likely", "weak", "unknown"]
PromptState = Literal["shown", "not-shared", "hidden", "erased", "not-captured", "no-session"]


class LineSpan(msgspec.Struct, frozen=True):
    """Lines from ``start`` to ``end``, both included."""

    start: int
    end: int


class HunkAuthor(msgspec.Struct, frozen=True, kw_only=True):
    """One author of added lines: how many ``lines``, and how certain that is in the weakest of them.

    ``kind`` is ``mixed`` where a person changed an agent's lines. ``agent`` is null for an unknown author; for a person
    it is the agent whose lines they changed. ``tier`` and ``grade`` are those of the weakest evidence.
    """

    kind: Literal["agent", "mixed", "person", "none"]
    lines: int
    certainty: CertaintyName
    agent: str | None = None
    model: str | None = None
    operator: str | None = None
    session: str | None = None
    tier: int | None = None
    grade: str | None = None


class AuthoredBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Added lines of one author; ``author`` is a position in ``authors``."""

    start: int
    end: int
    author: int
    call: str | None = None


class PromptCard(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt behind a hunk: an excerpt of its text, who wrote it and when; ``note`` says why text is missing.

    ``named`` is false for the last prompt before a call that names none. ``length`` counts the characters of the whole
    text, or of the excerpt that another store shared in its place; ``note`` says so.
    """

    state: PromptState
    note: str | None = None
    text: str | None = None
    length: int = 0
    by: str | None = None
    at: str | None = None
    id: str | None = None
    session: str | None = None
    named: bool = True


class HunkCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that wrote lines of a hunk: its ``number`` among the calls of its session, and how it ended."""

    id: str
    tool: str
    session: str
    number: int | None
    of: int | None
    at: str
    status: str
    model: str | None


class HunkSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source that was read before the edit, the latest first."""

    locator: str
    reading: str
    at: str


class HunkDuplicate(msgspec.Struct, frozen=True, kw_only=True):
    """Another change with lines like those of a hunk: its head, and its name for people."""

    change: str
    name: str
    code: str
    why: str


class ReadMark(msgspec.Struct, frozen=True, kw_only=True):
    """A person who read this hunk, and when."""

    person: str
    at: str
    assurance: str


class RiskFactorReport(msgspec.Struct, frozen=True):
    """A rule that fired for a hunk: its code, its level, and what it says."""

    code: str
    level: RiskName
    words: str


class HunkRiskReport(msgspec.Struct, frozen=True):
    """How soon to read a hunk, and the rules that fired for it, the strongest first."""

    level: RiskName
    factors: list[RiskFactorReport]


class HunkLinks(msgspec.Struct, frozen=True, kw_only=True):
    """Commands that show more: ``why`` of the first line, ``log`` of the session, ``dupes`` of the change."""

    why: str | None
    log: str | None


class HunkReport(msgspec.Struct, frozen=True, kw_only=True):
    """One hunk with its card: what records show about it.

    ``id`` is its patch identity: the same text of the same file has the same one on any commit. ``lines`` are those
    after the change, ``old_lines`` those before; null without added or removed lines. ``confidence`` is the weakest
    certainty of its authors. ``has_card`` is false for hunks beyond the first ones: their prompts, calls and sources
    were not gathered. ``note`` says why lines are not shown.
    """

    id: str
    path: str
    old_path: str | None
    lines: LineSpan | None
    old_lines: LineSpan | None
    added: int
    removed: int
    channel: str
    risk: HunkRiskReport
    authors: list[HunkAuthor]
    blocks: list[AuthoredBlock]
    confidence: CertaintyName
    certainty: str
    tests: TestsReport
    prompt: PromptCard
    prompts: list[PromptCard]
    calls: list[HunkCall]
    sources: list[HunkSource]
    sources_more: int
    duplicates: list[HunkDuplicate] | None
    read_by: list[ReadMark]
    links: HunkLinks
    has_card: bool = True
    note: str | None = None


class TestedLines(msgspec.Struct, frozen=True):
    """How many of the agents' added lines were tested after the last edit of their file."""

    __test__ = False

    tested: int
    lines: int


class HunksLeftOut(msgspec.Struct, frozen=True):
    """Hunks beyond the largest number that is reported."""

    hunks: int
    files: int
    added: int
    removed: int


class ReviewReport(Report, frozen=True, kw_only=True, tag="review"):
    """The hunks that ``head`` changes since ``fork``, in reading order, under the verdict of the gate.

    ``verdict`` and ``reasons`` are those of ``custody gate``. ``summary`` names the two strongest reasons. ``order``
    has the ids of ``hunks``, the one to read first at the front; ``more`` counts hunks that are left out. ``tested``
    is null where no agent wrote lines. ``publishes_prompts`` is the rule of the base branch about excerpts of prompts.
    Of the ``statements``, those that records contradict come first, then those that no record backs.
    """

    base: CommitId
    head: CommitId
    fork: CommitId
    worktree: bool
    verdict: VerdictLevelName
    assurance: AssuranceName
    summary: str
    files: int
    added: AddedLines
    removed_lines: int
    tested: TestedLines | None
    levels: dict[RiskName, int]
    reasons: list[ReasonReport]
    statements: list[StatementReport]
    order: list[str]
    hunks: list[HunkReport]
    more: HunksLeftOut | None
    trust: list[AgentApproval]
    unread: list[UnreadFile]
    skipped: list[SkippedCheck]
    duplicates_checked: bool
    rules_digest: str
    as_of: str
    notes: list[str]
    publishes_prompts: bool = False
