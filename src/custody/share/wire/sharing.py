"""How a chain is shared: what a store says of what it sends, in which pieces, and what push, pull and remote report."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.record import ChainTip
from custody.core.wire.canonical import dump, parse, problem
from custody.core.wire.report import IntegrityFinding, Report
from custody.share.wire.export import Hex, StoreText, chain_tip

SHARING_VERSION = 1
CHUNK_RECORDS = 1000
"""Records in one file of a shared chain: a full one never changes, so that it is sent once."""
ABOUT_BYTES_MAX = 1 << 20
ABOUT = "about.json"
CHAIN = "chain"
ORIGINS = "origins"


class ShareManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is shared: whose chain, how far, with texts or without, and where the history ended that was looked at."""

    custody: Annotated[int, Meta(ge=1)]
    store: StoreText
    seq: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    link: Hex
    texts: bool
    tips: list[str] = []

    @property
    def head(self) -> ChainTip:
        """How far the chain reaches."""
        return chain_tip(self.store, self.seq, self.link)


def about_of(head: ChainTip, *, texts: bool, tips: list[str]) -> ShareManifest:
    """What is said of a chain that is shared up to ``head``."""
    return ShareManifest(SHARING_VERSION, head.store, int(head.seq), head.link.hex(), texts, tips)


def encode_about(about: ShareManifest) -> bytes:
    """The canonical bytes, as a line."""
    return dump(msgspec.to_builtins(about)) + b"\n"


def decode_about(data: bytes) -> ShareManifest:
    """Read what ``encode_about`` wrote, or raise an ``InputError`` that says what it is instead."""
    value = parse(data, bytes_max=ABOUT_BYTES_MAX)
    if isinstance(value, dict) and value.get("custody") != SHARING_VERSION:
        raise InputError("it was shared by another version of custody", hint="upgrade custody")
    try:
        return msgspec.convert(value, ShareManifest)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"what is shared cannot be read: {problem(error)}", hint="no custody wrote this") from error


def chunk_name(number: int) -> bytes:
    """The file of the records from ``number`` × 1,000 + 1 on.

    >>> chunk_name(12)
    b'chain/00000012.jsonl'
    """
    return b"%s/%08d.jsonl" % (CHAIN.encode(), number)


def chunk_of(seq: int) -> int:
    """Which chunk holds the record at ``seq``.

    >>> chunk_of(1), chunk_of(1000), chunk_of(1001)
    (0, 0, 1)
    """
    return (seq - 1) // CHUNK_RECORDS


ShareOutcome = Literal["sent", "taken", "same", "own", "behind", "waits", "refused"]


class SharedChain(msgspec.Struct, frozen=True):
    """One chain on its way: how many records it has there now, how many of them are new, and what became of it.

    ``outcome``: sent, taken, same (nothing was new), own (our own, never taken from elsewhere), behind (we hold more),
    waits (not sent), refused (``findings`` say why).
    """

    store: str
    records: int
    new: int
    texts: bool
    outcome: ShareOutcome
    findings: list[IntegrityFinding] = []


class SyncReport(Report, frozen=True, kw_only=True):
    """What became of each chain between this store and a remote; with ``dry_run`` what would."""

    remote: str
    transport: Literal["git", "service"]
    dry_run: bool
    chains: list[SharedChain]


class PushReport(SyncReport, frozen=True, kw_only=True, tag="push"):
    """What was sent where; with ``dry_run`` what would be."""


class PullReport(SyncReport, frozen=True, kw_only=True, tag="pull"):
    """What was taken from where; a chain that does not verify is refused whole."""


class RemoteInfo(msgspec.Struct, frozen=True):
    """A service that the user named; whether there is a token for it, never the token."""

    name: str
    url: str
    token: bool


class RemoteReport(Report, frozen=True, kw_only=True, tag="remote"):
    """The services that the user named."""

    remotes: list[RemoteInfo]
