"""The JSON of runs: recorded commands in order, and whether a file was tested after its last edit."""

from typing import Literal

import msgspec

from custody.core.wire.report import Report

KindWord = Literal["test", "build", "lint", "types", "format", "program", "git", "other"]
ResultWord = Literal["passed", "failed", "unknown"]
ScopeWord = Literal["suite", "named", "unknown"]
StateWord = Literal["after-edit", "stale", "failed", "none", "unknown"]


class RunCountsReport(msgspec.Struct, frozen=True):
    """The tests that the runner's own summary counts."""

    passed: int
    failed: int
    skipped: int


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded command; ``command`` is shortened, ``source`` says what the result rests on.

    ``folder`` is relative to the repository's root, null if unknown. ``edited_after`` lists files of the change, or of
    the session, that were edited after the run.
    """

    agent: str
    session: str
    call: str
    command: str
    kind: KindWord
    runner: str
    result: ResultWord
    source: Literal["status", "output", "none"]
    ended: str
    started: str | None = None
    seconds: float | None = None
    exit_code: int | None = None
    counts: RunCountsReport | None = None
    scope: ScopeWord = "unknown"
    folder: str | None = None
    names: list[str] = []
    edited_after: list[str] = []
    record: str | None = None


class TestsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a file was tested after its last edit, and the run that this rests on."""

    __test__ = False

    state: StateWord
    edited: str | None = None
    run: RunReport | None = None


class RunsReport(Report, frozen=True, kw_only=True, tag="runs"):
    """The recorded commands of sessions, oldest first; ``more`` older ones were left out."""

    sessions: list[str]
    runs: list[RunReport]
    more: int = 0
