"""What ``custody cite check-links`` answers."""

from typing import Literal

import msgspec

from custody.core.wire.report import Report

VerdictWord = Literal["alive", "moved", "gone", "blocked", "unreachable"]


class CiteLink(msgspec.Struct, frozen=True, kw_only=True):
    """One address: whose it is, what is asked of the web for it, and what is known of it.

    ``asks`` is null where the address is not asked, for the reason in ``why``; ``looked`` says whether it was asked
    this time. ``verdict`` is null where nobody ever looked. ``failures`` counts those with time between them.
    """

    id: str | None
    address: str
    asks: str | None
    looked: bool
    verdict: VerdictWord | None
    why: str
    status: int | None
    location: str | None
    failures: int
    at: str | None


class CiteLinksReport(Report, frozen=True, kw_only=True, tag="cite-check-links"):
    """How addresses answer. ``network`` is whether anything was asked; without it, ``asks`` says what would be.

    ``offline`` means that no server answered at all, so that no failure was counted; ``stopped`` that somebody broke
    it off, so that some addresses were not asked. ``fresh`` counts those that ``--stale`` left out.
    """

    network: bool
    file: str | None
    registry: str | None
    links: list[CiteLink]
    no_address: list[str]
    fresh: int
    gone_after: int
    offline: bool
    stopped: bool
