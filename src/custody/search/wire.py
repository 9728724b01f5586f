"""The report of ``custody search``."""

from typing import Literal

import msgspec

from custody.core.wire.report import Report


class FoundCommit(msgspec.Struct, frozen=True):
    """A commit of a found session; ``merged`` is null where that is unknown."""

    commit: str
    subject: str | None
    merged: bool | None


class FoundSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that matches: its best text, the kinds of texts that match, and its commits.

    ``text`` is null if it was erased or the caller may not read it. ``at`` is the time of that text.
    """

    agent: str
    session: str
    at: str
    kind: Literal["prompt", "commit", "file", "command", "answer"]
    text: str | None
    matched: list[str]
    commits: list[FoundCommit]
    score: float


class SearchReport(Report, frozen=True, kw_only=True, tag="search"):
    """The sessions that match, the best first; ``total`` counts all of them, ``searched`` all sessions.

    ``missing`` are the words that occur in no text.
    """

    words: list[str]
    missing: list[str]
    sessions: list[FoundSession]
    total: int
    searched: int
