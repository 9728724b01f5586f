"""What ``custody gate`` answers: the verdict on a change, its reasons by code, and what it was about."""

from typing import Annotated, Literal

import msgspec

from custody.core.wire.report import Report
from custody.trust.wire.report import AgentApproval

VerdictLevelName = Literal["approve", "review", "block"]
CommitId = Annotated[str, msgspec.Meta(pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$(?!\n)")]
ChainName = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z_-]{1,64}$(?!\n)")]
LinePlace = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class PlaceReport(msgspec.Struct, frozen=True):
    """Lines of a file as it is after the change; null for the file as a whole."""

    path: str
    start_line: int | None
    end_line: int | None


class ReasonReport(msgspec.Struct, frozen=True):
    """One reason: its code, what it asks for, a sentence, what to do about it, and the places that it is about."""

    code: str
    level: VerdictLevelName
    sentence: str
    remedy: str
    places: list[PlaceReport]


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


class ChainExtent(msgspec.Struct, frozen=True):
    """A chain that was read up to the record ``seq``, whose link is ``link``."""

    store: ChainName
    seq: LinePlace
    link: str


class IndexExtentReport(msgspec.Struct, frozen=True):
    """How many indexed changes were searched, in the order of indexing, and the head of the last of them."""

    changes: LinePlace
    last: str


class GateReport(Report, frozen=True, kw_only=True, tag="gate"):
    """The verdict on what ``head`` has over ``fork``, the point where it left ``base``.

    With ``worktree``, ``head`` is the work tree as a commit that nobody made. ``rules_from`` are the places that set
    any of the rules. ``trust`` is what the records of the agents that wrote it say at the moment ``as_of``.

    The verdict rests on the records of ``chains``, of which ``chain_head`` is the one name (SHA-256 over their heads;
    null where there was none), on the ``gaps`` that were known (null where they could not be read), on the ``index`` of
    changes if that was searched, and on the description with the digest ``description``. From the same it follows
    again.
    """

    base: CommitId
    head: CommitId
    fork: CommitId
    worktree: bool
    level: VerdictLevelName
    reasons: list[ReasonReport]
    added: AddedLines
    unread: list[UnreadFile]
    checks: list[str]
    skipped: list[SkippedCheck]
    rules_digest: str
    rules_from: list[str]
    as_of: str
    chain_head: str | None
    chains: list[ChainExtent]
    index: IndexExtentReport | None
    gaps: int | None
    description: str | None
    trust: list[AgentApproval]
