"""What ``custody gate`` answers: the verdict on a change, its reasons by code, and what it was about."""

from typing import Literal

import msgspec

from custody.wire.reports import Report

Level = Literal["approve", "review", "block"]


class ReasonGiven(msgspec.Struct, frozen=True):
    """One reason: its code, what it asks for, a sentence, and what to do about it."""

    code: str
    level: Level
    sentence: str
    remedy: str


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


class GateReport(Report, frozen=True, kw_only=True, tag="gate"):
    """The verdict on what ``head`` has over ``fork``, the point where it left ``base``."""

    base: str
    head: str
    fork: str
    level: Level
    reasons: list[ReasonGiven]
    added: AddedLines
    unread: list[UnreadFile]
    checks: list[str]
    rules_digest: str
