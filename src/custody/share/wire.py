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
from custody.core.ids import Digest, EventId, Link, NaturalKey, Seq, StoreId, digest_from_bytes
from custody.core.record import ChainTip, Record, RecordDraft
from custody.core.wire.body import format_digest, parse_digest
from custody.core.wire.canonical import (
    EVENT_BYTES_MAX,
    describe_conversion_error,
    dump_canonical_json,
    encode_json_text,
    parse_json_bytes,
)
from custody.core.wire.head_statement import (
    StatementEnvelope,
    WitnessEntry,
)
from custody.core.wire.prompt_excerpts import PromptExcerpt
from custody.core.wire.report import IntegrityFinding, Report

# The export: JSON lines that carry chains verbatim, so that an import restores the same bytes.
# A header says how far each chain reaches. Bodies follow, each before the first record that needs it, and records in
# the order of their chains. A chain that was received without texts has outlines in place of payloads, and its origins
# of lines follow it. Then come forks and pending events. The last line has the digest of everything before it.


EXPORT_VERSION = 1
LINE_BYTES_MAX = 6 * EVENT_BYTES_MAX + 4096
"""One byte of a body may take six when written (a control character as \\u0000)."""

StoreText = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$(?!\n)")]
Hex = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
PROOF_NODES_MAX = 128
"""A consistency proof has at most two nodes for each level of a tree."""
ExportText = Annotated[
    str, Meta(min_length=1, max_length=65536, pattern=r"^[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+$(?!\n)")
]


def chain_tip_from_text(store: str, seq: int, link: str) -> ChainTip:
    """Return the tip of a chain from the text of its fields."""
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
    """The views of a payload without its texts, as canonical JSON; in place of the payload's bytes."""

    digest: str
    views: str


class OriginsLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="origins", tag_field="line"):
    """Where the lines of one file come from, as computed by the store that holds the texts."""

    store: StoreText
    data: str


class RecordLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="record", tag_field="line"):
    """A record at its position."""

    store: StoreText
    seq: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    event: ExportText
    kind: ExportText
    key: ExportText
    at_ns: Annotated[int, Meta(ge=-(2**63 - 1), le=2**63 - 1)]
    digest: str
    link: Hex


class ForkLine(RecordLine, frozen=True, forbid_unknown_fields=True, tag="fork", tag_field="line"):
    """A record at a position that another record has."""


class PendingLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="pending", tag_field="line"):
    """An acknowledged event that is not in a chain yet, as it was recorded."""

    event: ExportText
    data: Annotated[str, Meta(pattern=r"^[^\ud800-\udfff]*$")]


class EndLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="end", tag_field="line"):
    """The last line: SHA-256 of every byte before it."""

    digest: str


class HeadLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="head", tag_field="line"):
    """The statement of a chain's owner about its head, after the chain; ``outlines`` are their digests in base64."""

    store: StoreText
    head: StatementEnvelope
    outlines: str


ExportLine = Header | BodyLine | OutlineLine | OriginsLine | RecordLine | HeadLine | ForkLine | PendingLine | EndLine


def encode_export_line(line: ExportLine) -> bytes:
    """Return one line of an export, with its line end."""
    return dump_canonical_json({k: v for k, v in msgspec.to_builtins(line).items() if v is not None}) + b"\n"


def decode_export_line(data: bytes) -> ExportLine:
    """Decode one line of an export; raise ``InputError`` if it is not one."""
    value = parse_json_bytes(data, bytes_max=LINE_BYTES_MAX)
    if isinstance(value, dict) and value.get("line") == "export" and value.get("version") != EXPORT_VERSION:
        version = ascii(value.get("version"))[:20]
        raise InputError(
            f"unsupported export version {version}: this custody reads version {EXPORT_VERSION}",
            hint="upgrade custody",
        )
    try:
        line: ExportLine = msgspec.convert(value, ExportLine)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"not a line of an export: {describe_conversion_error(error)}") from error
    return line


def make_export_header(heads: Sequence[ChainTip]) -> Header:
    """Return the first line for these chains."""
    return Header(version=1, chains=[ChainHead(head.store, int(head.seq), head.link.hex()) for head in heads])


def make_body_line(digest: Digest, data: bytes | None) -> BodyLine:
    """Return the line for stored bytes."""
    if data is None:
        return BodyLine(format_digest(digest))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return BodyLine(format_digest(digest), base64=b64encode(data).decode())
    return BodyLine(format_digest(digest), text=text)


def body_from_line(line: BodyLine) -> tuple[Digest, bytes | None]:
    """Return the digest and the bytes of a body line, None if erased; raise ``InputError`` over the size limit."""
    if line.text is not None and line.base64 is not None:
        raise InputError("a body line has both a text and base64")
    try:
        data = b64decode(line.base64, validate=True) if line.base64 is not None else None
    except (Base64Error, ValueError) as error:
        raise InputError(f"cannot decode the base64 of a body: {error}") from error
    data = encode_json_text(line.text) if line.text is not None else data
    if data is not None and len(data) > EVENT_BYTES_MAX:
        raise InputError(
            f"a record of {len(data):,} bytes is over the limit of {EVENT_BYTES_MAX:,}",
            hint="custody does not write such a record; another program made or changed the file",
        )
    return parse_digest(line.digest), data


def make_record_line(record: Record, line: type[RecordLine] = RecordLine) -> RecordLine:
    """Return the line for a record; pass ``ForkLine`` for a record at a position that another has."""
    entry = record.entry
    return line(
        store=record.store,
        seq=int(record.seq),
        event=entry.event,
        kind=entry.kind,
        key=entry.key,
        at_ns=entry.at_ns,
        digest=format_digest(entry.digest),
        link=record.link.hex(),
    )


def record_from_line(line: RecordLine) -> Record:
    """Return the record of a line."""
    entry = RecordDraft(EventId(line.event), line.kind, NaturalKey(line.key), line.at_ns, parse_digest(line.digest))
    return Record(StoreId(line.store), Seq(line.seq), entry, Link(bytes.fromhex(line.link)))


def make_head_line(store: StoreId, signed: StatementEnvelope, outlines: bytes) -> HeadLine:
    """Return the line with the signed head of a chain."""
    return HeadLine(store, signed, b64encode(outlines).decode())


def head_from_line(line: HeadLine) -> tuple[StatementEnvelope, bytes]:
    """Return the signed head of a chain and its outline digests."""
    return line.head, decode_outline_digests(line.outlines)


def decode_outline_digests(text: str) -> bytes:
    """Return the outline digests of a chain's records from base64."""
    try:
        return b64decode(text, validate=True)
    except (Base64Error, ValueError) as error:
        raise InputError(f"cannot decode the digests of outlines: {error}") from error


# Chains between a store and a service: how a service describes the chains that it stores.


NDJSON = "application/x-ndjson"
BATCH_RECORDS_MAX = 1000
"""Maximum records in one answer."""
WITNESS_ENTRIES_MAX = 4096
"""Maximum countersignatures in one answer."""
BATCH_BYTES_MAX = 8 * 1024 * 1024
"""Bytes after which no further record is sent in the same request."""

T = TypeVar("T")


class ChainState(msgspec.Struct, frozen=True):
    """A chain that a service stores, up to its tip; ``origins`` is the digest of its origins of lines, if any."""

    store: StoreText
    seq: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    link: Hex
    own: bool = False
    """The service appends to this chain itself: others can read it and not write it."""
    origins: str | None = None

    @property
    def head(self) -> ChainTip:
        """Return the tip of the chain."""
        return chain_tip_from_text(self.store, self.seq, self.link)


class ChainStates(msgspec.Struct, frozen=True):
    """All chains of a project."""

    chains: list[ChainState]


class ChainReceipt(msgspec.Struct, frozen=True):
    """The result of sending a batch: the tip of the chain now, and how many records were new."""

    store: StoreText
    seq: int
    link: Hex
    new: int


class SharedHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The signed head of a chain; ``outlines`` are the digests of outlines after record ``after``, in base64.

    ``proof`` are the nodes of the consistency proof (RFC 6962, 2.1.2) from the earlier size that the caller named.
    """

    head: StatementEnvelope
    after: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    outlines: Annotated[str, Meta(max_length=EVENT_BYTES_MAX)]
    proof: Annotated[list[Hex], Meta(max_length=PROOF_NODES_MAX)] | None = None


class SharedHeads(msgspec.Struct, frozen=True):
    """The signed heads of a chain: one for each key that signed it."""

    heads: list[SharedHead]


class WitnessEntries(msgspec.Struct, frozen=True):
    """Countersignatures of heads."""

    entries: Annotated[list[WitnessEntry], Meta(max_length=WITNESS_ENTRIES_MAX)]


class WitnessReceipt(msgspec.Struct, frozen=True):
    """The result of sending countersignatures: how many were new."""

    new: int


class OriginDigests(msgspec.Struct, frozen=True):
    """The files that a chain has origins for, each with the digest of its origins."""

    files: dict[str, str]


def encode_origin_digests(digests: OriginDigests) -> bytes:
    """Return the canonical bytes: file names may hold characters that other encoders refuse."""
    return dump_canonical_json({"files": dict(digests.files)})


def decode_service_answer(data: bytes, kind: type[T]) -> T:
    """Decode a service's answer about its chains."""
    try:
        return msgspec.convert(parse_json_bytes(data), kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"cannot read the service's answer: {describe_conversion_error(error)}", hint="upgrade custody"
        ) from error


# How a chain is shared: its manifest, its chunks, and what push, pull and remote report.


SHARING_VERSION = 1
CHUNK_RECORDS = 1000
"""Records in one file of a shared chain: a full file never changes, so it is sent once."""
ABOUT_BYTES_MAX = 1 << 20
ABOUT = "about.json"
CHAIN = "chain"
ORIGINS = "origins"
HEAD_FILE = "head.json"
PROMPTS_FILE = "prompts.json"
OUTLINES = "outlines"
HEAD_BYTES_MAX = 64 * 1024


class ShareManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a shared chain: its tip, whether it has texts, and the commits its origins were built from."""

    custody: Annotated[int, Meta(ge=1)]
    store: StoreText
    seq: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    link: Hex
    texts: bool
    tips: list[str] = []

    @property
    def head(self) -> ChainTip:
        """Return the tip of the chain."""
        return chain_tip_from_text(self.store, self.seq, self.link)


def make_share_manifest(head: ChainTip, *, texts: bool, tips: list[str]) -> ShareManifest:
    """Return the manifest of a chain that is shared up to ``head``."""
    return ShareManifest(SHARING_VERSION, head.store, int(head.seq), head.link.hex(), texts, tips)


def encode_share_manifest(manifest: ShareManifest) -> bytes:
    """Return the canonical bytes, as a line."""
    return dump_canonical_json(msgspec.to_builtins(manifest)) + b"\n"


def decode_share_manifest(data: bytes) -> ShareManifest:
    """Decode a manifest; raise ``InputError`` if it is invalid or of another version."""
    value = parse_json_bytes(data, bytes_max=ABOUT_BYTES_MAX)
    if isinstance(value, dict) and value.get("custody") != SHARING_VERSION:
        raise InputError("shared by another version of custody", hint="upgrade custody")
    try:
        return msgspec.convert(value, ShareManifest)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"cannot read the manifest: {describe_conversion_error(error)}", hint="custody did not write this"
        ) from error


def make_chain_chunk_name(number: int) -> bytes:
    """Return the name of the file with the records from ``number`` × 1,000 + 1 on.

    >>> make_chain_chunk_name(12)
    b'chain/00000012.jsonl'
    """
    return b"%s/%08d.jsonl" % (CHAIN.encode(), number)


def make_outlines_chunk_name(number: int) -> bytes:
    """Return the name of the file with the outline digests of the records of a chunk.

    >>> make_outlines_chunk_name(12)
    b'outlines/00000012'
    """
    return b"%s/%08d" % (OUTLINES.encode(), number)


def find_chain_chunk(seq: int) -> int:
    """Return the number of the chunk that holds the record at ``seq``.

    >>> find_chain_chunk(1), find_chain_chunk(1000), find_chain_chunk(1001)
    (0, 0, 1)
    """
    return (seq - 1) // CHUNK_RECORDS


ShareOutcome = Literal["sent", "taken", "same", "own", "behind", "waits", "refused"]


class SharedChain(msgspec.Struct, frozen=True):
    """The result for one chain: how many records it has now and how many are new.

    ``outcome``: sent, taken (pulled), same (nothing new), own (written by this store, never pulled), behind (this store
    has more), waits (dry run), refused (``findings`` say why). ``signed_by`` is the fingerprint of the key that signed
    its head, ``countersigned_by`` are those of others who saw it, and ``notes`` say what that leaves open. ``prompts``
    counts the excerpts of prompts that were sent, or pulled.
    """

    store: str
    records: int
    new: int
    texts: bool
    outcome: ShareOutcome
    findings: list[IntegrityFinding] = []
    signed_by: str | None = None
    countersigned_by: list[str] = []
    notes: list[str] = []
    prompts: int = 0


class SyncReport(Report, frozen=True, kw_only=True):
    """The result for each chain between this store and a remote; with ``dry_run`` the expected result."""

    remote: str
    transport: Literal["git", "service"]
    dry_run: bool
    chains: list[SharedChain]


class PushReport(SyncReport, frozen=True, kw_only=True, tag="push"):
    """The chains that a push sent to a remote, or would send with ``dry_run``."""


class PullReport(SyncReport, frozen=True, kw_only=True, tag="pull"):
    """The chains that a pull took from a remote; a chain that does not verify is refused whole."""


class ChainAtRemote(msgspec.Struct, frozen=True):
    """What a git remote had of a chain at the last push or pull."""

    records: int
    texts: bool
    prompts: int


class VisibleChain(msgspec.Struct, frozen=True):
    """What the next push of a chain shares without ``--with-text``.

    ``in_full`` counts the records that are shared in full by their kind, ``without_texts`` those that are shared as an
    outline. ``prompts`` has the first excerpts, ``prompts_total`` counts all. ``there`` is null where it is unknown.
    """

    store: str
    records: int
    in_full: dict[str, int]
    without_texts: dict[str, int]
    prompts: list[PromptExcerpt]
    prompts_total: int
    there: ChainAtRemote | None


class ShareReport(Report, frozen=True, kw_only=True, tag="share"):
    """What others can see of this store at a remote, without a connection to it.

    ``base`` is the branch whose ``custody.toml`` decides whether excerpts of prompts are published; ``why`` says why
    they are not.
    """

    remote: str
    transport: Literal["git", "service"]
    base: str | None
    publish_prompts: bool
    why: str | None
    chains: list[VisibleChain]


class RemoteInfo(msgspec.Struct, frozen=True):
    """A service that the user added; ``token`` tells whether a token is stored for it."""

    name: str
    url: str
    token: bool


class RemoteReport(Report, frozen=True, kw_only=True, tag="remote"):
    """The services that the user added."""

    remotes: list[RemoteInfo]


# Reservations of lines that merge without review: one JSON object each, and their list at a service.


RESERVATION_LINES_MAX = 2**31 - 1
RESERVATIONS_MAX = 100
"""Reservations in one request: one for each agent of a change."""
ShortName = Annotated[str, Meta(min_length=1, max_length=1000)]


class ReservationLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lines of one agent's change, taken from the budgets of the agent, its operator and the areas of the change."""

    patch: Annotated[str, Meta(min_length=1, max_length=1100)]
    agent: ShortName
    lines: Annotated[int, Meta(ge=0, le=RESERVATION_LINES_MAX)]
    at: str
    operator: ShortName | None = None
    areas: Annotated[list[ShortName], Meta(max_length=1000)] = msgspec.field(default_factory=list)
    head: Annotated[str, Meta(pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$(?!\n)")] | None = None


class ReservationList(msgspec.Struct, frozen=True, kw_only=True):
    """The reservations after a time, and their version: a digest, which changes with every reservation."""

    reservations: list[ReservationLine]
    version: str


class ReservationBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reservations to add, if those after ``since`` still have the ``version`` that was read."""

    since: str
    version: Annotated[str, Meta(max_length=100)]
    reservations: Annotated[list[ReservationLine], Meta(min_length=1, max_length=RESERVATIONS_MAX)]


def encode_reservation(line: ReservationLine) -> bytes:
    """Encode one reservation; the same reservation gives the same bytes."""
    return dump_canonical_json(msgspec.to_builtins(line))


def decode_reservation(data: bytes) -> ReservationLine:
    """Decode a file of the shared budget; an ``InputError`` if it is not a reservation."""
    try:
        return msgspec.convert(parse_json_bytes(data), ReservationLine)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"invalid reservation in the shared budget: {describe_conversion_error(error)}",
            hint="another program wrote it; ask who administers the remote to remove it",
        ) from error


def encode_reservation_body(body: ReservationBody) -> bytes:
    """Encode a request to reserve lines."""
    return dump_canonical_json(msgspec.to_builtins(body))


def digest_reservation_lines(lines: Sequence[ReservationLine]) -> str:
    """Return the version of a list."""
    return format_digest(digest_from_bytes(b"\n".join(map(encode_reservation, lines))))
