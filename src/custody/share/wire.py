"""The JSON of shared chains.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.ids import Digest, EventId, Link, NaturalKey, Seq, StoreId
from custody.core.record import ChainTip, Record, RecordDraft
from custody.core.wire.body import digest_from, digest_text
from custody.core.wire.canonical import EVENT_BYTES_MAX, dump, parse, problem, text_bytes
from custody.core.wire.report import IntegrityFinding, Report

# The export: JSON lines that carry chains verbatim, so that an import is the same bytes again.
# A header says how far each chain reaches; then come bodies, each before the first record that needs it, and records
# in the order of their chains; of a chain that came here without its texts, outlines stand for payloads and origins
# of lines come behind it; then forks, then events that wait; last a line with the digest of everything before it.


EXPORT_VERSION = 1
LINE_BYTES_MAX = 6 * EVENT_BYTES_MAX + 4096
"""A body's every byte may need six to write (a control character as \\u0000)."""

StoreText = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$(?!\n)")]
Hex = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
ExportText = Annotated[
    str, Meta(min_length=1, max_length=65536, pattern=r"^[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+$(?!\n)")
]


def chain_tip(store: str, seq: int, link: str) -> ChainTip:
    """The end of a chain, from the text of its fields."""
    return ChainTip(StoreId(store), Seq(seq), Link(bytes.fromhex(link)))


class ChainHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a chain reaches."""

    store: StoreText
    seq: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    link: Hex


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="export", tag_field="line"):
    """The first line."""

    version: Literal[1]
    chains: list[ChainHead]


class BodyLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="body", tag_field="line"):
    """Stored bytes: as text, in base64 where they are not UTF-8, or neither when they were erased."""

    digest: str
    text: str | None = None
    base64: str | None = None


class OutlineLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="outline", tag_field="line"):
    """What a payload says without its texts, in place of its bytes: its views, as canonical JSON."""

    digest: str
    views: str


class OriginsLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="origins", tag_field="line"):
    """Where the lines of one file come from, as the store that holds the texts worked it out."""

    store: StoreText
    data: str


class RecordLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="record", tag_field="line"):
    """A record at its place."""

    store: StoreText
    seq: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    event: ExportText
    kind: ExportText
    key: ExportText
    at_ns: Annotated[int, Meta(ge=-(2**63 - 1), le=2**63 - 1)]
    digest: str
    link: Hex


class ForkLine(RecordLine, frozen=True, forbid_unknown_fields=True, tag="fork", tag_field="line"):
    """A record that claims a place which another has."""


class PendingLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="pending", tag_field="line"):
    """An acknowledged event that is in no chain yet, as it was recorded."""

    event: ExportText
    data: Annotated[str, Meta(pattern=r"^[^\ud800-\udfff]*$")]


class EndLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="end", tag_field="line"):
    """The last line: SHA-256 of every byte before it."""

    digest: str


ExportLine = Header | BodyLine | OutlineLine | OriginsLine | RecordLine | ForkLine | PendingLine | EndLine


def encode_line(line: ExportLine) -> bytes:
    """One line of an export, with its end."""
    return dump({k: v for k, v in msgspec.to_builtins(line).items() if v is not None}) + b"\n"


def decode_line(data: bytes) -> ExportLine:
    """Read one line of an export, or raise an ``InputError`` that says what it is instead."""
    value = parse(data, bytes_max=LINE_BYTES_MAX)
    if isinstance(value, dict) and value.get("line") == "export" and value.get("version") != EXPORT_VERSION:
        version = ascii(value.get("version"))[:20]
        raise InputError(
            f"an export of version {version}; this custody knows version {EXPORT_VERSION}",
            hint="upgrade custody",
        )
    try:
        line: ExportLine = msgspec.convert(value, ExportLine)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"not a line of an export: {problem(error)}") from error
    return line


def header(heads: Sequence[ChainTip]) -> Header:
    """The first line for these chains."""
    return Header(version=1, chains=[ChainHead(head.store, int(head.seq), head.link.hex()) for head in heads])


def body_line(digest: Digest, data: bytes | None) -> BodyLine:
    """The line for stored bytes."""
    if data is None:
        return BodyLine(digest_text(digest))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return BodyLine(digest_text(digest), base64=b64encode(data).decode())
    return BodyLine(digest_text(digest), text=text)


def stored_body(line: BodyLine) -> tuple[Digest, bytes | None]:
    """The digest and the bytes of a body line, within the size that an event may have; None when they were erased."""
    if line.text is not None and line.base64 is not None:
        raise InputError("a body line has both a text and base64")
    try:
        data = b64decode(line.base64, validate=True) if line.base64 is not None else None
    except (Base64Error, ValueError) as error:
        raise InputError(f"a body's base64 cannot be read: {error}") from error
    data = text_bytes(line.text) if line.text is not None else data
    if data is not None and len(data) > EVENT_BYTES_MAX:
        raise InputError(
            f"a record of {len(data):,} bytes is over the limit of {EVENT_BYTES_MAX:,}",
            hint="no custody writes such a record; the file was made or changed by something else",
        )
    return digest_from(line.digest), data


def record_line(record: Record, line: type[RecordLine] = RecordLine) -> RecordLine:
    """The line for a record, or with ``ForkLine`` for one whose place is taken."""
    entry = record.entry
    return line(
        store=record.store,
        seq=int(record.seq),
        event=entry.event,
        kind=entry.kind,
        key=entry.key,
        at_ns=entry.at_ns,
        digest=digest_text(entry.digest),
        link=record.link.hex(),
    )


def record_from(line: RecordLine) -> Record:
    """The record that a line carries."""
    entry = RecordDraft(EventId(line.event), line.kind, NaturalKey(line.key), line.at_ns, digest_from(line.digest))
    return Record(StoreId(line.store), Seq(line.seq), entry, Link(bytes.fromhex(line.link)))


# Chains between a store and a service: what a service says of those that it keeps.


NDJSON = "application/x-ndjson"
STRETCH_RECORDS_MAX = 1000
"""Records that one answer brings at most."""
STRETCH_BYTES_MAX = 8 * 1024 * 1024
"""Bytes after which no further record is sent in the same request."""

T = TypeVar("T")


class ChainState(msgspec.Struct, frozen=True):
    """A chain that a service keeps: how far it reaches there; ``origins`` names what it tells of lines, if anything."""

    store: StoreText
    seq: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    link: Hex
    own: bool = False
    """The service appends to it itself: it can be read there, and nobody else writes it."""
    origins: str | None = None

    @property
    def head(self) -> ChainTip:
        """How far the chain reaches."""
        return chain_tip(self.store, self.seq, self.link)


class ChainStates(msgspec.Struct, frozen=True):
    """All chains of a project."""

    chains: list[ChainState]


class ChainReceipt(msgspec.Struct, frozen=True):
    """What became of a stretch: how far the chain reaches now, and how many records were new."""

    store: StoreText
    seq: int
    link: Hex
    new: int


class OriginDigests(msgspec.Struct, frozen=True):
    """The files of which a chain's origins tell, each with the digest of what is told."""

    files: dict[str, str]


def encode_origins_held(held: OriginDigests) -> bytes:
    """The canonical bytes: names of files may hold what other encoders refuse."""
    return dump({"files": dict(held.files)})


def decode_answer(data: bytes, kind: type[T]) -> T:
    """Read what a service answers about its chains."""
    try:
        return msgspec.convert(parse(data), kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"the service's answer cannot be read: {problem(error)}", hint="upgrade custody") from error


# How a chain is shared: what a store says of what it sends, in which pieces, and what push, pull and remote report.


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
