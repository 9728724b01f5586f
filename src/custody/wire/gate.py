"""What ``custody gate`` answers: the verdict on a change, its reasons by code, and what it was about."""

from typing import Literal

import msgspec

from custody.wire.reports import Report
from custody.wire.trust import AgentAsked

Level = Literal["approve", "review", "block"]


class PlaceGiven(msgspec.Struct, frozen=True):
    """Lines of a file as it is after the change; null for the file as a whole."""

    path: str
    start_line: int | None
    end_line: int | None


class ReasonGiven(msgspec.Struct, frozen=True):
    """One reason: its code, what it asks for, a sentence, what to do about it, and the places that it is about."""

    code: str
    level: Level
    sentence: str
    remedy: str
    places: list[PlaceGiven]


class AddedLines(msgspec.Struct, frozen=True, kw_only=True):
    """How many lines the change adds, by whose they are; those of unread files are not counted."""

    agent: int
    mixed: int
    person: int
    none: int


class UnreadFile(msgspec.Struct, frozen=True):
    """A file to which something was added that could not be looked up, and why."""

    path: str
    why: str


class SkippedCheck(msgspec.Struct, frozen=True):
    """A check that did not look, and why; only the rules of the base can say so."""

    name: str
    why: str


class GateReport(Report, frozen=True, kw_only=True, tag="gate"):
    """The verdict on what ``head`` has over ``fork``, the point where it left ``base``.

    With ``worktree``, ``head`` is the work tree as a commit that nobody made. ``rules_from`` are the places that set
    any of the rules. ``trust`` is what the records of the agents that wrote it say at the moment ``as_of``, on what was
    recorded until ``chain_head`` (SHA-256 over the heads of all chains); null where nothing was looked up.
    """

    base: str
    head: str
    fork: str
    worktree: bool
    level: Level
    reasons: list[ReasonGiven]
    added: AddedLines
    unread: list[UnreadFile]
    checks: list[str]
    skipped: list[SkippedCheck]
    rules_digest: str
    rules_from: list[str]
    as_of: str
    chain_head: str | None
    trust: list[AgentAsked]
