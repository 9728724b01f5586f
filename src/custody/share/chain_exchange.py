"""Chains as they are shared: batches of records as lines, checked on arrival, copied verbatim or refused whole."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Literal

from custody.attribution.app.foreign_states import (
    drop_line_origins,
    line_origin_from_name,
    list_line_origin_chains,
    list_line_origin_digests,
    put_line_origins,
    read_chain_line_origins,
    read_line_origins,
)
from custody.attribution.wire import FileOrigins, decode_line_origins, origin_keys_from_text, unpack_state_origins
from custody.core.errors import InputError
from custody.core.ids import PENDING, Digest, RecordRef, Seq, StoreId, digest_from_bytes
from custody.core.paths import RepoPath
from custody.core.plural import count_noun, noun_for_count
from custody.core.record import (
    ChainTip,
    Damage,
    DamageCode,
    Record,
    chain_tip_from_record,
    check_record_link,
    find_missing_chain_tail,
)
from custody.core.tree_head import NO_OUTLINE
from custody.core.wire.arrival import ERASED
from custody.core.wire.body import (
    VERBATIM,
    decode_view_outline,
    encode_view_outline,
    format_digest,
    list_payload_digests,
    parse_digest,
)
from custody.core.wire.canonical import dump_canonical_json, parse_json_bytes
from custody.core.wire.report import IntegrityFinding, finding_from_damage
from custody.core.wire.span_batch import digest_from_payload
from custody.share.heads import OfferedHead, make_record_outline
from custody.share.queries import put_statement
from custody.share.wire import (
    BATCH_BYTES_MAX,
    BodyLine,
    ChainReceipt,
    ChainState,
    ChainStates,
    OriginDigests,
    OriginsLine,
    OutlineLine,
    RecordLine,
    SharedChain,
    ShareOutcome,
    body_from_line,
    decode_export_line,
    decode_share_manifest,
    encode_export_line,
    make_body_line,
    make_record_line,
    record_from_line,
)
from custody.store import Body, CopyResult, Store, erased_digest_from_payload
from custody.workspace.workspace import Workspace

NOT_OURS = "custody did not write this"
NO_OUTLINES: Mapping[int, bytes] = MappingProxyType({})
UNREADABLE = "UNREADABLE"
"""The code of a finding about data that cannot be read as a chain."""


# --- out --------------------------------------------------------------------------------------------------------------


def iterate_chain_lines(store: Store, chain: StoreId, *, after: int, until: int, texts: bool) -> Iterator[bytes]:
    """Yield the lines of a chain's records after ``after`` up to ``until``, each record after the bodies it needs."""
    sent: set[Digest] = set()
    for record in takewhile(lambda record: record.seq <= until, store.tables.records(chain, after=after)):
        yield from _iterate_payload_lines(store, record, sent, texts=texts)
        yield encode_export_line(make_record_line(record))


def _iterate_payload_lines(store: Store, record: Record, sent: set[Digest], *, texts: bool) -> Iterator[bytes]:
    """Yield the lines of a record's payload and bodies, unless an earlier line sent them."""
    payload = record.entry.digest
    if payload in sent:
        return
    body = store.tables.bodies([payload]).get(payload) or Body(payload, None)
    if body.data is not None and not (texts or record.entry.kind in VERBATIM):
        sent.add(payload)
        yield encode_export_line(OutlineLine(format_digest(payload), make_record_outline(store, record).decode()))
        return
    if body.data is None and body.outline is not None:
        sent.add(payload)
        outline = store.tables.record_outline(record) or body.outline
        yield encode_export_line(OutlineLine(format_digest(payload), outline.decode()))
        return
    named = (
        list_payload_digests(parse_json_bytes(body.data, bytes_max=len(body.data)))
        if body.data is not None
        else frozenset()
    )
    for digest, part in sorted(store.tables.bodies(named - sent).items()):
        sent.add(digest)
        yield encode_export_line(make_body_line(digest, part.data))
    sent.add(payload)
    yield encode_export_line(make_body_line(payload, body.data))


# --- in ---------------------------------------------------------------------------------------------------------------


class ChainReader:
    """Reads and checks the records of one chain, batch by batch, starting after those that the store holds.

    Records that the store already holds are yielded too: they may bring bodies that were missing.
    """

    def __init__(self, held: ChainTip, store: Store, offer: OfferedHead | None = None) -> None:
        self.head = held
        self.links = bytearray()
        """The links of the records after the held ones."""
        self.replaced: dict[int, bytes] = {}
        """The outlines that differ from the one that the store has for the same payload, by record."""
        self._offer = offer or OfferedHead(held)
        self.damages: list[Damage] = []
        self._held = held
        self._tables = store.tables
        self._recent: dict[Digest, bytes | None] = {}
        self._outlines: dict[Digest, bytes] = {}
        self._empty: set[Digest] = set()
        self._erased: set[Digest] = set()
        self._is_forked = False

    def read(self, lines: Iterable[bytes]) -> Iterator[Record | Body]:
        """Yield the records and bodies of a batch; raise ``InputError`` for a line of another chain."""
        self._recent.clear()
        self._outlines.clear()
        for data in lines:
            line = decode_export_line(data)
            match line:
                case OutlineLine():
                    yield self._read_outline(line)
                case BodyLine():
                    yield self._body(line)
                case RecordLine(store=store) if type(line) is RecordLine and store == self._held.store:
                    yield self._record(record_from_line(line))
                case _:
                    raise InputError("a line does not belong to this chain", hint=NOT_OURS)

    def finish(self, promised: ChainTip) -> list[Damage]:
        """Return all damages, once every line up to ``promised`` was read."""
        for digest in sorted(self._empty - self._erased):
            if not self._tables.is_erased(digest):
                what = f"the bytes of {format_digest(digest)} are missing, and no record says that they were erased"
                self.damages.append(Damage(DamageCode.BODY_MISSING, what))
        if self.head != promised and self.head.seq < promised.seq:
            self.damages.extend(find_missing_chain_tail(self.head, promised))
        elif self.head != promised and not self.damages:
            what = f"chain {promised.store} does not end at the promised record: it was rewritten or continued"
            self.damages.append(Damage(DamageCode.HEAD_DIFFERS, what))
        return self.damages

    def _read_outline(self, line: OutlineLine) -> Body:
        digest, outline = parse_digest(line.digest), line.views.encode("utf-8", "surrogatepass")
        if encode_view_outline(decode_view_outline(outline)) != outline:
            raise InputError("an outline is not in canonical form", hint=NOT_OURS)
        self._recent[digest] = None
        self._outlines[digest] = outline
        return Body(digest, None, outline)

    def _body(self, line: BodyLine) -> Body:
        digest, data = body_from_line(line)
        self._recent[digest] = data
        if data is None:
            self._empty.add(digest)
        else:
            self.damages.extend(check_body_digest(digest, data))
        return Body(digest, data)

    def _record(self, record: Record) -> Record:
        if record.seq > self._held.seq:
            self.damages.extend(check_record_link(self.head, record))
            self.head = chain_tip_from_record(record)
            self.links += record.link
        elif not self._is_forked and self._differs(record):
            self._is_forked = True  # every later record differs too
            self.damages.append(make_chain_fork_error(record))
        self.damages.extend(self._find_missing_bodies(record))
        self.damages.extend(self._find_changed_outline(record))
        return record

    def _find_changed_outline(self, record: Record) -> Iterator[Damage]:
        """Yield a damage if the outline of a record is not the one that its owner signed."""
        expected = self._offer.digest_at(int(record.seq))
        if expected is None or record.entry.kind in VERBATIM:
            return
        stored = self._tables.record_outline(record)
        outline = self._outlines.get(record.entry.digest, stored)
        if outline is None:
            return  # its texts are here, or it was erased
        if digest_from_bytes(outline) != expected:
            what = f"the outline of record {record.seq} of chain {record.store} is not the one that its owner signed"
            yield Damage(DamageCode.OUTLINE_CHANGED, what, record.ref)
        elif stored is not None and stored != outline:
            self.replaced[int(record.seq)] = outline

    def _differs(self, record: Record) -> bool:
        """Return whether the store has another record at this position."""
        stored = self._tables.record(record.ref)
        return stored is not None and stored.link != record.link

    def _find_missing_bodies(self, record: Record) -> Iterator[Damage]:
        """Yield a damage for every body that a record names and that was neither sent nor stored."""
        payload = self._recent.get(record.entry.digest)
        needed = {record.entry.digest}
        if payload is not None:
            named, erased = read_shared_payload(payload, record.entry.kind, hint=NOT_OURS)
            needed |= named
            self._erased |= erased
        for digest in sorted(needed):
            if digest not in self._recent and not self._tables.find_stored_bodies([digest]):
                what = f"record {record.seq} of chain {record.store} names {format_digest(digest)}, which is missing"
                yield Damage(DamageCode.BODY_MISSING, what, record.ref)


def check_body_digest(digest: Digest, data: bytes) -> Iterator[Damage]:
    """Yield a damage if ``digest`` is not the digest of ``data``."""
    if digest_from_payload(data) != digest:
        what = f"the bytes of {format_digest(digest)} do not match their digest"
        yield Damage(DamageCode.BODY_CHANGED, what)


def read_shared_payload(payload: bytes, kind: str, *, hint: str) -> tuple[frozenset[Digest], frozenset[Digest]]:
    """Return the texts that a canonical payload names and those that it reports as erased."""
    value = parse_json_bytes(payload)
    if dump_canonical_json(value) != payload:
        raise InputError("a payload is not in canonical form", hint=hint)
    return list_payload_digests(value), frozenset(erased_digest_from_payload(value) if kind == ERASED else ())


def list_own_chain_tips(store: Store) -> list[ChainTip]:
    """Return the tips of the non-empty chains that this store appends to or once appended to."""
    return [head for head in map(store.tables.head, sorted(store.tables.list_owned_chains())) if head.seq > 0]


def summarize_share_outcome(chains: Iterable[SharedChain]) -> Literal["fine", "found"]:
    """Return ``found`` when a chain was refused, else ``fine``."""
    return "found" if any(chain.outcome == "refused" for chain in chains) else "fine"


def report_chain_damages(damages: Iterable[Damage]) -> list[IntegrityFinding]:
    """Return the damages as reports list them."""
    return [finding_from_damage(damage) for damage in damages]


def report_pushed_chain(
    head: ChainTip, there: int, outcome: ShareOutcome, *, texts: bool, findings: Sequence[IntegrityFinding] = ()
) -> SharedChain:
    """Report a chain of this store after a push to a remote that had ``there`` of its records."""
    new = max(0, int(head.seq) - there)
    return SharedChain(head.store, int(head.seq), new, texts=texts, outcome=outcome, findings=list(findings))


def report_pulled_chain(
    there: ChainTip, here: ChainTip, outcome: ShareOutcome, *, texts: bool, findings: Sequence[IntegrityFinding] = ()
) -> SharedChain:
    """Report a chain that the remote has up to ``there`` and that was stored up to ``here`` before."""
    records = there.seq if outcome in ("taken", "same") else here.seq
    new = max(0, there.seq - here.seq) if outcome in ("taken", "waits") else 0
    return SharedChain(there.store, int(records), int(new), texts=texts, outcome=outcome, findings=list(findings))


def report_missing_chain(store: Store, chain: StoreId, damage: Damage) -> SharedChain:
    """Report a chain that was seen at a remote and is not there any more."""
    held = int(store.tables.head(chain).seq)
    return SharedChain(chain, held, 0, texts=False, outcome="refused", findings=report_chain_damages([damage]))


def make_chain_fork_error(record: Record) -> Damage:
    """Return the damage for a chain whose record at a position is not the stored one."""
    what = f"record {record.seq} of chain {record.store} differs from the stored one: the chain was forked or rewritten"
    return Damage(DamageCode.CHAIN_FORK, what, record.ref)


def find_chain_fork(store: Store, head: ChainTip) -> Damage | None:
    """Return the damage if a chain with the tip ``head`` contradicts the stored records."""
    stored = store.tables.record(RecordRef(head.store, head.seq)) if head.seq else None
    return make_chain_fork_error(stored) if stored is not None and stored.link != head.link else None


def check_shared_origins(files: Iterable[bytes], head: ChainTip) -> dict[RepoPath, bytes]:
    """Return the received origins of lines by file; raise ``InputError`` if any cannot be used for this chain."""
    checked: dict[RepoPath, bytes] = {}
    for data in files:
        origins = decode_line_origins(data)
        if any(state.seq > head.seq for state, _, _ in unpack_state_origins(origins)):
            raise InputError(f"origins of '{origins.path[:80]}' name missing records", hint=NOT_OURS)
        _check_origin_names(origins)
        checked[RepoPath.of(origins.path)] = data
    return checked


def _check_origin_names(origins: FileOrigins) -> None:
    """Raise ``InputError`` for origins that can be stored but not read: every later query would fail on them."""
    runs = {name for state in origins.states for _, name, _ in state.runs}
    for name in runs | {name for match in origins.likes for _, _, name, _ in match.lines}:
        line_origin_from_name(name, 0.0, lambda _ref, _n: None)
    for state in origins.states:
        origin_keys_from_text(state.brought)


def store_shared_chain(
    store: Store,
    offer: OfferedHead,
    items: Iterable[Record | Body],
    origins: Mapping[RepoPath, bytes] | None,
    replaced: Mapping[int, bytes] = NO_OUTLINES,
) -> CopyResult:
    """Copy checked records and their bodies, all or none; ``origins`` is None when the chain has its texts.

    ``replaced`` are the outlines that differ from the stored ones of the same payloads.
    """
    chain = offer.tip.store
    put_offered_outlines(store, offer, replaced)  # before views are made from them
    copied = store.copy(items)
    with store.writing():
        store.tables.mark_pulled(chain)
        if offer.signed is not None and offer.statement is not None:
            put_statement(store, chain, offer.statement.seq, offer.signed)
        if origins is None:
            drop_line_origins(store, chain)
        else:
            put_line_origins(store, chain, origins)
    return next(iter(copied), CopyResult(chain, 0, 0, 0))


def put_offered_outlines(store: Store, offer: OfferedHead, replaced: Mapping[int, bytes] = NO_OUTLINES) -> None:
    """Store the outline digests that the owner of a chain signed, and the outlines in ``replaced``."""
    if not offer.outlines:
        return
    chain = offer.tip.store
    known = min(len(store.tables.outline_digests(chain)), int(store.tables.head(chain).seq))
    count = 0 if offer.statement is None else offer.statement.seq
    new = [(seq, offer.digest_at(seq) or NO_OUTLINE, replaced.get(seq)) for seq in range(known + 1, count + 1)]
    with store.writing():
        store.tables.put_record_outlines(chain, known, [(digest, outline) for _, digest, outline in new])
        for seq, outline in replaced.items():
            store.tables.put_record_outlines(chain, seq - 1, [(offer.digest_at(seq) or NO_OUTLINE, outline)])
            record = store.tables.record(RecordRef(chain, Seq(seq)))
            if record is not None:
                store.views.read_again(record.entry.digest)


def find_outline_rewrite(store: Store, offer: OfferedHead) -> Damage | None:
    """Return the damage if a head has other outline digests than an earlier head of the chain that is stored here."""
    chain = offer.tip.store
    known = b"".join(store.tables.outline_digests(chain)[: int(store.tables.head(chain).seq)])
    shorter = min(len(known), len(offer.outlines))
    if offer.statement is None or known[:shorter] == offer.outlines[:shorter]:
        return None
    what = f"the owner of chain {chain} signed other outlines before: they were rewritten"
    return Damage(DamageCode.OUTLINE_CHANGED, what)


# Chains that a service stores for others: listed, read in batches, and appended to.


class Conflict(InputError):
    """The batch contradicts the stored chain, or does not continue where it ends."""


def list_chain_states(workspace: Workspace) -> ChainStates:
    """List every stored chain."""
    with workspace.reading() as store:
        owned, origin_lists = store.tables.list_owned_chains(), list_line_origin_chains(store)
        heads = [head for head in store.tables.chains() if head.store != PENDING]
        return ChainStates(
            [_report_chain_state(head, owned=head.store in owned, origin_lists=origin_lists) for head in heads]
        )


def _report_chain_state(head: ChainTip, *, owned: bool, origin_lists: Mapping[StoreId, bytes]) -> ChainState:
    origins = origin_lists.get(head.store)
    return ChainState(
        head.store, int(head.seq), head.link.hex(), owned, None if origins is None else format_digest(origins)
    )


def read_chain_batch(workspace: Workspace, chain: StoreId, *, after: int, limit: int, texts: bool) -> bytes:
    """Return the lines of a chain's records after ``after``: at most ``limit`` records, within the byte limit."""
    with workspace.reading() as store, store.reading():
        until = min(int(store.tables.head(chain).seq), after + limit)
        return b"".join(_limit_chain_lines(iterate_chain_lines(store, chain, after=after, until=until, texts=texts)))


def _limit_chain_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines up to the record that exceeds the byte limit."""
    size, waiting = 0, []
    for line in lines:
        waiting.append(line)
        if b'"line":"record"' in line:
            if size and size + sum(map(len, waiting)) > BATCH_BYTES_MAX:
                return
            size += sum(map(len, waiting))
            yield from waiting
            waiting = []


def list_shared_origins(workspace: Workspace, chain: StoreId) -> OriginDigests:
    """Return the digests of a chain's stored origins by file."""
    with workspace.reading() as store:
        return OriginDigests(
            {str(path): format_digest(digest) for path, digest in list_line_origin_digests(store, chain).items()}
        )


def read_shared_origins(workspace: Workspace, chain: StoreId, digest: Digest) -> bytes | None:
    """Return a chain's origins of the lines of one file by their digest; None if not stored."""
    with workspace.reading() as store:
        return read_line_origins(store, digest) if digest in list_line_origin_digests(store, chain).values() else None


def receive_chain_batch(workspace: Workspace, data: bytes) -> ChainReceipt:
    """Append a batch to a chain of another store, whole or not at all; the same batch again changes nothing.

    The first line is the manifest; records with their bodies follow, then origins of lines.
    """
    first, *lines = data.splitlines(keepends=True) or [b""]
    manifest = decode_share_manifest(first)
    origin_lines = [line for line in lines if b'"line":"origins"' in line]
    record_lines = [line for line in lines if b'"line":"origins"' not in line]
    with workspace.writing() as store:
        held = store.tables.head(manifest.head.store)
        refuse_own_chain(store, manifest.head.store)
        _refuse_chain_fork(store, manifest.head, held)
        reader = ChainReader(held, store)
        items = list(reader.read(record_lines))
        damages = reader.finish(max(manifest.head, held, key=lambda head: head.seq))
        if damages:
            conflict = any(damage.code.name in ("CHAIN_FORK", "CHAIN_GAP", "CHAIN_CUT") for damage in damages)
            text = "; ".join(damage.what for damage in damages[:5])
            stored = f"{count_noun(held.seq, 'record')} of this chain {noun_for_count(held.seq, 'is', 'are')} stored"
            raise Conflict(text, hint=stored) if conflict else InputError(text)
        origins = _merge_chain_origins(store, manifest.head.store, origin_lines, reader.head)
        copied = store_shared_chain(store, OfferedHead(manifest.head), items, origins)
        head = store.tables.head(manifest.head.store)
    return ChainReceipt(head.store, int(head.seq), head.link.hex(), copied.new)


def _merge_chain_origins(store: Store, chain: StoreId, lines: list[bytes], head: ChainTip) -> dict[RepoPath, bytes]:
    """Return all origins of a chain: new ones replace stored ones, and one without states removes its file."""
    stored = read_chain_line_origins(store, chain)
    received = []
    for data in lines:
        line = decode_export_line(data)
        if not isinstance(line, OriginsLine) or line.store != chain:
            raise InputError("origins of another chain", hint="send each chain by itself")
        received.append(line.data.encode("utf-8", "surrogatepass"))
    merged = stored | check_shared_origins(received, head)
    return {path: data for path, data in merged.items() if decode_line_origins(data).states}


def refuse_own_chain(store: Store, chain: StoreId) -> None:
    """Raise ``Conflict`` for a chain that the service itself appends to."""
    if chain in store.tables.list_owned_chains():
        raise Conflict("this chain belongs to the service itself", hint="send events to /api/v1/evidence")


def _refuse_chain_fork(store: Store, sent: ChainTip, held: ChainTip) -> None:
    """Refuse a tip that differs from the stored record at its position."""
    stored = store.tables.record(RecordRef(sent.store, Seq(sent.seq))) if sent.seq <= held.seq else None
    if stored is not None and stored.link != sent.link:
        raise Conflict(make_chain_fork_error(stored).what, hint="ask the owner of the chain which copy is right")
