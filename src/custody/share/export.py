"""Exports: all chains written as JSON lines, and read back whole or not at all."""

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field

from custody.attribution.app.foreign_states import list_line_origin_digests, put_line_origins, read_line_origins
from custody.core.errors import InputError, SpoolError, StoreError
from custody.core.ids import PENDING, Digest, EventId, RecordRef, Seq, StoreId, digest_from_bytes
from custody.core.record import (
    ChainTip,
    Damage,
    DamageCode,
    Record,
    chain_tip_from_record,
    check_record_link,
    empty_chain_tip,
    find_missing_chain_tail,
)
from custody.core.wire.arrival import Arrival, arrival_from_bytes
from custody.core.wire.body import decode_view_outline, format_digest, list_payload_digests, parse_digest
from custody.core.wire.canonical import dump_canonical_json, parse_json_bytes
from custody.core.wire.report import ExportReport, ImportedChain, ImportReport
from custody.share.chain_exchange import (
    check_body_digest,
    check_shared_origins,
    find_outline_rewrite,
    list_own_chain_tips,
    put_offered_outlines,
    read_shared_payload,
    report_chain_damages,
)
from custody.share.heads import (
    ChainTree,
    HeadFault,
    OfferedHead,
    check_offered_head,
    find_origins_damage,
    find_stored_head,
    find_tree_damage,
    sign_chain_head,
)
from custody.share.queries import put_statement
from custody.share.wire import (
    LINE_BYTES_MAX,
    BodyLine,
    EndLine,
    ExportLine,
    ForkLine,
    Header,
    HeadLine,
    OriginsLine,
    OutlineLine,
    PendingLine,
    RecordLine,
    body_from_line,
    chain_tip_from_text,
    decode_export_line,
    encode_export_line,
    head_from_line,
    make_body_line,
    make_export_header,
    make_head_line,
    make_record_line,
    record_from_line,
)
from custody.signing import SigningError
from custody.store import Body, Fork, Store, split_row_batches
from custody.workspace.machine import open_atomic_file
from custody.workspace.workspace import Workspace


def export_chains(workspace: Workspace, out: BinaryIO, path: str) -> ExportReport:
    """Write every chain with its bodies, forks and pending events to ``out``; ``path`` is its name in the report."""
    signed = _sign_exported_heads(workspace)
    with workspace.reading() as store, store.reading():
        heads = [head for head in store.tables.chains() if head.store != PENDING]
        counts = Counter[str]()
        workspace.progress.start("exporting", sum(head.seq for head in heads))
        whole = hashlib.sha256()
        size = 0
        for line in _iterate_export_lines(workspace, store, heads, signed, counts):
            data = encode_export_line(line)
            whole.update(data)
            out.write(data)
            size += len(data)
        end = encode_export_line(EndLine(f"sha256:{whole.hexdigest()}"))
        out.write(end)
        out.flush()
    return ExportReport(
        path=path,
        chains=len(heads),
        records=counts["records"],
        bodies=counts["bodies"],
        erased=counts["erased"],
        forks=counts["forks"],
        pending=counts["pending"],
        bytes=size + len(end),
    )


def _sign_exported_heads(workspace: Workspace) -> dict[StoreId, OfferedHead]:
    """Return the signed heads of the store's own chains, and those that came with the chains of others."""
    if not workspace.exists():
        return {}
    try:
        with workspace.writing() as store:
            own = [
                find_stored_head(store, tip) or sign_chain_head(workspace, store, tip, {})
                for tip in list_own_chain_tips(store)
            ]
            others = (
                find_stored_head(store, tip)
                for tip in store.tables.chains()
                if tip.store not in store.tables.list_owned_chains() and tip.store != PENDING
            )
            return {offer.tip.store: offer for offer in (*own, *others) if offer is not None}
    except (StoreError, SpoolError) as error:  # without a signature the export is still complete
        workspace.talk(f"{error.message}; the heads in the export are not signed")
        return {}


def export_chains_to_file(workspace: Workspace, path: Path) -> ExportReport:
    """Export to a file that appears whole or not at all."""
    with open_atomic_file(path) as out:
        return export_chains(workspace, out, str(path))


def _iterate_export_lines(
    workspace: Workspace,
    store: Store,
    heads: Sequence[ChainTip],
    signed: Mapping[StoreId, OfferedHead],
    counts: Counter[str],
) -> Iterator[ExportLine]:
    sent = set[Digest]()
    yield make_export_header(heads)
    for head in heads:
        for records in split_row_batches(store.tables.records(head.store)):
            for record in records:
                yield from _iterate_body_lines(store, record, sent, counts)
                yield make_record_line(record)
            counts["records"] += len(records)
            workspace.progress.step(len(records))
        for _, digest in sorted(list_line_origin_digests(store, head.store).items()):
            yield OriginsLine(head.store, read_line_origins(store, digest).decode())
        offer = signed.get(head.store)
        if offer is not None and offer.signed is not None:
            yield make_head_line(head.store, offer.signed, offer.outlines)
    for record in store.tables.forks():
        yield from _iterate_body_lines(store, record, sent, counts)
        yield make_record_line(record, ForkLine)
        counts["forks"] += 1
    for record in store.tables.records(PENDING):
        yield PendingLine(record.entry.event, dump_canonical_json(store.tables.payload(record)).decode())
        counts["pending"] += 1


def _iterate_body_lines(store: Store, record: Record, sent: set[Digest], counts: Counter[str]) -> Iterator[ExportLine]:
    """Yield the bodies that a record needs and that no earlier line has."""
    payload = record.entry.digest
    for digest in (payload, *sorted(_list_export_text_digests(store, payload))):
        if digest not in sent:
            sent.add(digest)
            body = store.tables.bodies([digest]).get(digest) or Body(digest, None)
            counts["bodies"] += 1
            if body.outline is not None:
                outline = (store.tables.record_outline(record) if digest == payload else None) or body.outline
                yield OutlineLine(format_digest(digest), outline.decode())
                continue
            counts["erased"] += body.data is None
            yield make_body_line(digest, body.data)


def _list_export_text_digests(store: Store, payload: Digest) -> frozenset[Digest]:
    body = store.tables.bodies([payload]).get(payload)
    if body is None or body.data is None or b'"$body"' not in body.data:
        return frozenset()
    return list_payload_digests(parse_json_bytes(body.data, bytes_max=len(body.data)))


# Reading an export: check all of it first, then copy its chains verbatim, all or nothing.


def import_chain_export(workspace: Workspace, path: Path) -> ImportReport:
    """Copy every chain of an export into the store; if one chain does not verify, nothing is imported."""
    with _make_export_rereadable(path) as file:
        return import_export_file(workspace, file, str(path))


def import_export_file(workspace: Workspace, file: Path, path: str) -> ImportReport:
    """Copy every chain of a file that can be read twice; messages call it ``path``."""
    checked = _check_export_file(workspace, file, path)
    if checked.damages:
        findings = report_chain_damages(checked.damages)
        return ImportReport(outcome="found", path=path, chains=[], pending=0, findings=findings)
    with workspace.writing() as store:
        workspace.progress.start("importing", checked.lines)
        heads = _prepare_imported_heads(store, checked)
        copied = store.copy(_iterate_export_items(workspace, file, checked.digest))
        with store.writing():
            _store_imported_origins(store, checked)
            for offer in heads:
                if offer.signed is not None:
                    put_statement(store, offer.tip.store, int(offer.tip.seq), offer.signed)
        made = store.append(checked.pending).made if checked.pending else ()
        store.catch_up()
    return ImportReport(
        path=path,
        chains=[ImportedChain(chain.store, chain.new, chain.known, chain.forked) for chain in copied],
        pending=len(made),
        findings=[],
    )


def _prepare_imported_heads(store: Store, checked: "_ExportCheck") -> list[OfferedHead]:
    """Store the outlines that signed heads cover, before views are made from them; return those heads."""
    heads = []
    for offer in checked.heads:
        chain = offer.tip.store
        if chain in store.tables.list_owned_chains() or find_outline_rewrite(store, offer) is not None:
            continue  # its own statements count, or the owner signed other outlines before
        replaced = {}
        for seq, payload in enumerate(checked.payloads[chain], 1):
            outline, stored = checked.outlines.get(payload), store.tables.outline(payload)
            if outline is not None and stored is not None and stored != outline:
                replaced[seq] = outline
        put_offered_outlines(store, offer, replaced)
        heads.append(offer)
    return heads


def _store_imported_origins(store: Store, checked: "_ExportCheck") -> None:
    """Store the origins of the chains that are here without texts; call it inside a write."""
    ours = store.tables.list_owned_chains()
    for chain, files in checked.origins.items():
        if chain not in ours:
            put_line_origins(store, chain, check_shared_origins(files, checked.reached[chain]))


class _ExportCheck(Struct):
    """The result of reading the whole file once, before anything is written."""

    workspace: Workspace
    heads: list[OfferedHead] = field(default_factory=list)
    """The chains with a valid statement of their owner."""
    links: dict[StoreId, bytearray] = field(default_factory=dict)
    payloads: dict[StoreId, list[Digest]] = field(default_factory=dict)
    outlines: dict[Digest, bytes] = field(default_factory=dict)
    promised: dict[StoreId, ChainTip] = field(default_factory=dict)
    reached: dict[StoreId, ChainTip] = field(default_factory=dict)
    bodies: set[Digest] = field(default_factory=set)
    recent: dict[Digest, bytes] = field(default_factory=dict)
    """Bodies since the last record: the next payload is among them, unless an earlier record had the same."""
    pending: list[Arrival] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)
    erased: set[Digest] = field(default_factory=set)
    """Bodies without bytes: a record of the file must say that they were erased."""
    explained: set[Digest] = field(default_factory=set)
    origins: dict[StoreId, list[bytes]] = field(default_factory=dict)
    lines: int = 0
    digest: str | None = None
    """The digest of everything before the last line; None until that line is read."""


def _check_export_file(workspace: Workspace, file: Path, path: str) -> _ExportCheck:
    checked = _ExportCheck(workspace)
    workspace.progress.start("checking", None)
    whole = hashlib.sha256()
    for number, data in _read_export_lines(file):
        try:
            line = decode_export_line(data)
            if isinstance(line, EndLine) and line.digest != f"sha256:{whole.hexdigest()}":
                raise InputError("the file was changed after it was written", hint="export again, or copy it again")
            _check_export_line(checked, line, first=number == 1)
        except InputError as error:
            raise InputError(f"line {number} of '{path}': {error.message}", hint=error.hint) from error
        whole.update(data)
        workspace.progress.step(1)
        checked.lines = number
    if checked.digest is None:
        raise InputError(f"'{path}' is incomplete: it ends after line {checked.lines}", hint="export or copy it again")
    for head in checked.promised.values():
        checked.damages.extend(_compare_chain_tips(head, checked.reached.get(head.store, empty_chain_tip(head.store))))
    for chain, files in checked.origins.items():
        check_shared_origins(files, checked.reached.get(chain, empty_chain_tip(chain)))
    for digest in sorted(checked.erased - checked.explained):
        what = (
            f"the bytes of {format_digest(digest)} are not in the file, and no record in it says that they were erased"
        )
        checked.damages.append(Damage(DamageCode.BODY_MISSING, what))
    return checked


def _compare_chain_tips(promised: ChainTip, reached: ChainTip) -> Iterator[Damage]:
    """Yield how a chain differs from what the first line promised."""
    yield from find_missing_chain_tail(reached, promised)
    if reached.seq > promised.seq or (reached.seq == promised.seq and reached.link != promised.link):
        what = f"chain {promised.store} does not end where the first line says: it was rewritten or continued"
        yield Damage(DamageCode.HEAD_DIFFERS, what)


def _check_export_line(checked: _ExportCheck, line: ExportLine, *, first: bool) -> None:
    if first != isinstance(line, Header) or checked.digest is not None:
        raise InputError("not a custody export", hint="make one with 'custody export'")
    match line:
        case Header(chains=chains):
            for chain in chains:
                tip = chain_tip_from_text(chain.store, chain.seq, chain.link)
                checked.promised[tip.store] = tip
        case BodyLine():
            _check_body_line(checked, line)
        case OutlineLine() | OriginsLine():
            _check_outline_or_origins(checked, line)
        case ForkLine():
            checked.damages.extend(_check_record_bodies(checked, record_from_line(line)))
        case RecordLine():
            _check_chain_record(checked, record_from_line(line))
        case _:
            _check_closing_line(checked, line)


def _check_closing_line(checked: _ExportCheck, line: ExportLine) -> None:
    """Check a line that comes after the records of a chain."""
    match line:
        case HeadLine():
            _check_head_line(checked, line)
        case PendingLine(event=event, data=data):
            checked.pending.append(arrival_from_bytes(EventId(event), data.encode()))
        case EndLine(digest=digest):
            checked.digest = digest
        case _:
            raise AssertionError("every other line was checked")


def _check_outline_or_origins(checked: _ExportCheck, line: OutlineLine | OriginsLine) -> None:
    """Check a line of a chain that is stored without its texts."""
    if isinstance(line, OutlineLine):
        outline = line.views.encode("utf-8", "surrogatepass")
        decode_view_outline(outline)
        checked.bodies.add(parse_digest(line.digest))
        checked.outlines[parse_digest(line.digest)] = outline
    else:
        checked.origins.setdefault(StoreId(line.store), []).append(line.data.encode("utf-8", "surrogatepass"))


def _check_head_line(checked: _ExportCheck, line: HeadLine) -> None:
    """Check the signed head of a chain whose records were read before."""
    chain = StoreId(line.store)
    tip = checked.reached.get(chain, empty_chain_tip(chain))
    signed, outlines = head_from_line(line)
    try:
        offer, fault = check_offered_head(checked.workspace, tip, signed, outlines)
    except HeadFault as error:
        checked.damages.append(error.damage)
        return
    except SigningError as error:
        offer, fault = OfferedHead(tip), error.message
    if fault is not None:
        checked.workspace.talk(f"the signature of chain {chain} was not checked: {fault}")
        return
    files = checked.origins.get(chain)
    origins = None if files is None else check_shared_origins(files, tip)
    found = (
        find_tree_damage(offer, ChainTree(bytes(checked.links[chain]), offer.outlines)),
        find_origins_damage(offer, origins),
        _find_changed_outline(checked, offer),
    )
    checked.damages += [damage for damage in found if damage is not None]
    checked.heads.append(offer)


def _find_changed_outline(checked: _ExportCheck, offer: OfferedHead) -> Damage | None:
    """Return the damage of the first outline in the file that is not the one that its owner signed."""
    for seq, payload in enumerate(checked.payloads[offer.tip.store], 1):
        expected, outline = offer.digest_at(seq), checked.outlines.get(payload)
        if expected is not None and outline is not None and digest_from_bytes(outline) != expected:
            what = f"the outline of record {seq} of chain {offer.tip.store} is not the one that its owner signed"
            return Damage(DamageCode.OUTLINE_CHANGED, what, RecordRef(offer.tip.store, Seq(seq)))
    return None


def _check_body_line(checked: _ExportCheck, line: BodyLine) -> None:
    digest, data = body_from_line(line)
    checked.bodies.add(digest)
    if data is None:
        checked.erased.add(digest)
    else:
        checked.recent[digest] = data
        checked.damages.extend(check_body_digest(digest, data))


def _check_chain_record(checked: _ExportCheck, record: Record) -> None:
    if record.store not in checked.promised:
        raise InputError(f"a record belongs to chain {record.store}, which the first line does not name")
    checked.damages.extend(check_record_link(checked.reached.get(record.store, empty_chain_tip(record.store)), record))
    checked.damages.extend(_check_record_bodies(checked, record))
    checked.reached[record.store] = chain_tip_from_record(record)
    checked.links.setdefault(record.store, bytearray()).extend(record.link)
    checked.payloads.setdefault(record.store, []).append(record.entry.digest)


def _check_record_bodies(checked: _ExportCheck, record: Record) -> Iterator[Damage]:
    """Yield a damage for each missing body of a record; raise ``InputError`` if its payload is not canonical."""
    needed = {record.entry.digest}
    payload = checked.recent.get(record.entry.digest)
    if payload is not None:
        named, erased = read_shared_payload(payload, record.entry.kind, hint="custody did not write this file")
        needed |= named
        checked.explained |= erased
    checked.recent.clear()
    for digest in sorted(needed - checked.bodies):
        what = f"record {record.seq} of chain {record.store} names {format_digest(digest)}, which is not in the file"
        yield Damage(DamageCode.BODY_MISSING, what, record.ref)


def _iterate_export_items(workspace: Workspace, file: Path, digest: str | None) -> Iterator[Record | Body | Fork]:
    """Yield the records and bodies of the file; raise ``InputError`` if it is not the file that was checked."""
    whole = hashlib.sha256()
    for _, data in _read_export_lines(file):
        workspace.progress.step(1)
        line = decode_export_line(data)
        match line:
            case BodyLine():
                yield Body(*body_from_line(line))
            case OutlineLine(digest=named, views=views):
                yield Body(parse_digest(named), None, views.encode("utf-8", "surrogatepass"))
            case ForkLine():
                yield Fork(record_from_line(line))
            case RecordLine():
                yield record_from_line(line)
            case EndLine():
                if digest != f"sha256:{whole.hexdigest()}":
                    raise InputError("the file was changed while it was being imported", hint="nothing was imported")
            case _:
                pass  # checked in the first pass; nothing to copy
        whole.update(data)


@contextmanager
def _make_export_rereadable(path: Path) -> Iterator[Path]:
    """Yield ``path`` itself, or a copy of a pipe's content: the file is read twice."""
    if path.is_file() or not path.exists() or path.is_dir():
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="custody-import-") as copy:
        with path.open("rb") as pipe:
            shutil.copyfileobj(pipe, copy)
        copy.flush()
        yield Path(copy.name)


def _read_export_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            number = 0
            while data := file.readline(LINE_BYTES_MAX + 1):
                number += 1
                if len(data) > LINE_BYTES_MAX:
                    raise InputError(f"line {number} of '{path}' is over the limit of {LINE_BYTES_MAX:,} bytes")
                yield number, data
            if number == 0:
                raise InputError(f"'{path}' is empty", hint="make an export with 'custody export'")
    except OSError as error:
        raise InputError(
            f"cannot read '{path}': {error.strerror}",
            hint="pass a file, or an agent such as 'claude-code'; see 'custody import --help'",
        ) from error
