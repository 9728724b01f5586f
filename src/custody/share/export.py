"""Exports: all chains written as JSON lines, and one read back whole or not at all."""

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from custody.attribution.app.foreign_states import origin_digests, put_origins, read_origins
from custody.core.errors import InputError
from custody.core.ids import PENDING, Digest, EventId, StoreId
from custody.core.record import ChainTip, Damage, DamageCode, Record, empty_head, find_missing_tail, head_at, misfit
from custody.core.wire.arrival import Arrival, arrival_of
from custody.core.wire.body import digest_from, digest_text, parts, views_from
from custody.core.wire.canonical import dump, parse
from custody.core.wire.report import ExportReport, ImportedChain, ImportReport
from custody.share.chain_exchange import check_bytes, check_origins, read_payload, report_damages
from custody.share.wire import (
    LINE_BYTES_MAX,
    BodyLine,
    EndLine,
    ExportLine,
    ForkLine,
    Header,
    OriginsLine,
    OutlineLine,
    PendingLine,
    RecordLine,
    body_line,
    chain_tip,
    decode_line,
    encode_line,
    header,
    record_from,
    record_line,
    stored_body,
)
from custody.store import Body, Fork, Store, split_batches
from custody.workspace.machine import open_atomic
from custody.workspace.workspace import Workspace


def export(workspace: Workspace, out: BinaryIO, path: str) -> ExportReport:
    """Write every chain, its bodies, forks and waiting events to ``out``; ``path`` is what the report calls it."""
    with workspace.reading() as store, store.reading():
        heads = [head for head in store.tables.chains() if head.store != PENDING]
        counts = Counter[str]()
        workspace.progress.start("exporting", sum(head.seq for head in heads))
        whole = hashlib.sha256()
        size = 0
        for line in _lines(workspace, store, heads, counts):
            data = encode_line(line)
            whole.update(data)
            out.write(data)
            size += len(data)
        end = encode_line(EndLine(f"sha256:{whole.hexdigest()}"))
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


def export_to(workspace: Workspace, path: Path) -> ExportReport:
    """Export into a file that appears whole or not at all."""
    with open_atomic(path) as out:
        return export(workspace, out, str(path))


def _lines(workspace: Workspace, store: Store, heads: Sequence[ChainTip], counts: Counter[str]) -> Iterator[ExportLine]:
    written = set[Digest]()
    yield header(heads)
    for head in heads:
        for records in split_batches(store.tables.records(head.store)):
            for record in records:
                yield from _bodies(store, record, written, counts)
                yield record_line(record)
            counts["records"] += len(records)
            workspace.progress.step(len(records))
        for _, digest in sorted(origin_digests(store, head.store).items()):
            yield OriginsLine(head.store, read_origins(store, digest).decode())
    for record in store.tables.forks():
        yield from _bodies(store, record, written, counts)
        yield record_line(record, ForkLine)
        counts["forks"] += 1
    for record in store.tables.records(PENDING):
        yield PendingLine(record.entry.event, dump(store.tables.payload(record)).decode())
        counts["pending"] += 1


def _bodies(store: Store, record: Record, written: set[Digest], counts: Counter[str]) -> Iterator[ExportLine]:
    """The bodies that a record needs and that no line before it has brought."""
    payload = record.entry.digest
    for digest in (payload, *sorted(_texts(store, payload))):
        if digest not in written:
            written.add(digest)
            body = store.tables.bodies([digest]).get(digest) or Body(digest, None)
            counts["bodies"] += 1
            if body.outline is not None:
                yield OutlineLine(digest_text(digest), body.outline.decode())
                continue
            counts["erased"] += body.data is None
            yield body_line(digest, body.data)


def _texts(store: Store, payload: Digest) -> frozenset[Digest]:
    body = store.tables.bodies([payload]).get(payload)
    if body is None or body.data is None or b'"$body"' not in body.data:
        return frozenset()
    return parts(parse(body.data, bytes_max=len(body.data)))


# Read an export: check all of it first, then copy its chains verbatim, all or nothing.


def import_export(workspace: Workspace, path: Path) -> ImportReport:
    """Copy every chain of an export into the store; if one chain does not verify, nothing is imported."""
    with _readable_twice(path) as file:
        return _import(workspace, file, str(path))


def _import(workspace: Workspace, file: Path, path: str) -> ImportReport:
    checked = _check(workspace, file, path)
    if checked.damages:
        findings = report_damages(checked.damages)
        return ImportReport(outcome="found", path=path, chains=[], pending=0, findings=findings)
    with workspace.writing() as store:
        workspace.progress.start("importing", checked.lines)
        copied = store.copy(_items(workspace, file, checked.digest))
        with store.writing():
            _keep_origins(store, checked)
        made = store.append(checked.pending).made if checked.pending else ()
        store.catch_up()
    return ImportReport(
        path=path,
        chains=[ImportedChain(chain.store, chain.new, chain.known, chain.forked) for chain in copied],
        pending=len(made),
        findings=[],
    )


def _keep_origins(store: Store, checked: "_ExportCheck") -> None:
    """Inside a write: keep the origins of the chains that are here without their texts."""
    ours = store.tables.owned()
    for chain, files in checked.origins.items():
        if chain not in ours:
            put_origins(store, chain, check_origins(files, checked.reached[chain]))


@dataclass(slots=True)
class _ExportCheck:
    """What a first reading of the whole file found; nothing is written before it is through."""

    promised: dict[StoreId, ChainTip] = field(default_factory=dict)
    reached: dict[StoreId, ChainTip] = field(default_factory=dict)
    bodies: set[Digest] = field(default_factory=set)
    recent: dict[Digest, bytes] = field(default_factory=dict)
    """Bodies since the last record: the next one's payload is among them, unless an earlier record had the same."""
    pending: list[Arrival] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)
    erased: set[Digest] = field(default_factory=set)
    """Bodies that come without bytes: some record of the file must say that they were erased."""
    explained: set[Digest] = field(default_factory=set)
    origins: dict[StoreId, list[bytes]] = field(default_factory=dict)
    lines: int = 0
    digest: str | None = None
    """Of everything before the last line; None while that has not come."""


def _check(workspace: Workspace, file: Path, path: str) -> _ExportCheck:
    checked = _ExportCheck()
    workspace.progress.start("checking", None)
    whole = hashlib.sha256()
    for number, data in _raw_lines(file):
        try:
            line = decode_line(data)
            if isinstance(line, EndLine) and line.digest != f"sha256:{whole.hexdigest()}":
                raise InputError("the file was changed after it was written", hint="export again, or fetch it again")
            _look(checked, line, first=number == 1)
        except InputError as error:
            raise InputError(f"line {number} of '{path}': {error.message}", hint=error.hint) from error
        whole.update(data)
        workspace.progress.step(1)
        checked.lines = number
    if checked.digest is None:
        raise InputError(f"'{path}' ends after line {checked.lines}, before its last line", hint="it was cut short")
    for head in checked.promised.values():
        checked.damages.extend(_unkept(head, checked.reached.get(head.store, empty_head(head.store))))
    for chain, files in checked.origins.items():
        check_origins(files, checked.reached.get(chain, empty_head(chain)))
    for digest in sorted(checked.erased - checked.explained):
        what = f"the bytes of {digest_text(digest)} are not in the file, and no record in it says that they were erased"
        checked.damages.append(Damage(DamageCode.BODY_MISSING, what))
    return checked


def _unkept(promised: ChainTip, reached: ChainTip) -> Iterator[Damage]:
    """How a chain differs from what the first line promised of it."""
    yield from find_missing_tail(reached, promised)
    if reached.seq > promised.seq or (reached.seq == promised.seq and reached.link != promised.link):
        what = f"chain {promised.store} does not end where the first line says: it was made again or continued"
        yield Damage(DamageCode.HEAD_DIFFERS, what)


def _look(checked: _ExportCheck, line: ExportLine, *, first: bool) -> None:
    if first != isinstance(line, Header) or checked.digest is not None:
        raise InputError("not an export of custody", hint="make one with 'custody export'")
    match line:
        case Header(chains=chains):
            for chain in chains:
                tip = chain_tip(chain.store, chain.seq, chain.link)
                checked.promised[tip.store] = tip
        case BodyLine():
            _look_at_body(checked, line)
        case OutlineLine() | OriginsLine():
            _look_at_shared(checked, line)
        case ForkLine():
            checked.damages.extend(_check_bodies(checked, record_from(line)))
        case RecordLine():
            _look_at_record(checked, record_from(line))
        case PendingLine(event=event, data=data):
            checked.pending.append(arrival_of(EventId(event), data.encode()))
        case EndLine(digest=digest):
            checked.digest = digest


def _look_at_shared(checked: _ExportCheck, line: OutlineLine | OriginsLine) -> None:
    """What a chain brings that came here without its texts."""
    if isinstance(line, OutlineLine):
        views_from(line.views.encode("utf-8", "surrogatepass"))
        checked.bodies.add(digest_from(line.digest))
    else:
        checked.origins.setdefault(StoreId(line.store), []).append(line.data.encode("utf-8", "surrogatepass"))


def _look_at_body(checked: _ExportCheck, line: BodyLine) -> None:
    digest, data = stored_body(line)
    checked.bodies.add(digest)
    if data is None:
        checked.erased.add(digest)
    else:
        checked.recent[digest] = data
        checked.damages.extend(check_bytes(digest, data))


def _look_at_record(checked: _ExportCheck, record: Record) -> None:
    if record.store not in checked.promised:
        raise InputError(f"a record of chain {record.store}, which the first line does not name")
    checked.damages.extend(misfit(checked.reached.get(record.store, empty_head(record.store)), record))
    checked.damages.extend(_check_bodies(checked, record))
    checked.reached[record.store] = head_at(record)


def _check_bodies(checked: _ExportCheck, record: Record) -> Iterator[Damage]:
    """Whether the file brings every body that a record names, and its payload is one that custody would write."""
    wanted = {record.entry.digest}
    payload = checked.recent.get(record.entry.digest)
    if payload is not None:
        named, erased = read_payload(payload, record.entry.kind, hint="custody did not write this file")
        wanted |= named
        checked.explained |= erased
    checked.recent.clear()
    for digest in sorted(wanted - checked.bodies):
        what = f"record {record.seq} of chain {record.store} names {digest_text(digest)}, which the file does not bring"
        yield Damage(DamageCode.BODY_MISSING, what, record.ref)


def _items(workspace: Workspace, file: Path, digest: str | None) -> Iterator[Record | Body | Fork]:
    """What the file brings, read again; if it is not the file that was checked, the copying transaction must fail."""
    whole = hashlib.sha256()
    for _, data in _raw_lines(file):
        workspace.progress.step(1)
        line = decode_line(data)
        match line:
            case BodyLine():
                yield Body(*stored_body(line))
            case OutlineLine(digest=named, views=views):
                yield Body(digest_from(named), None, views.encode("utf-8", "surrogatepass"))
            case ForkLine():
                yield Fork(record_from(line))
            case RecordLine():
                yield record_from(line)
            case EndLine():
                if digest != f"sha256:{whole.hexdigest()}":
                    raise InputError("the file was changed while it was being imported", hint="nothing was imported")
            case _:
                pass  # checked in the first reading; carries nothing to copy
        whole.update(data)


@contextmanager
def _readable_twice(path: Path) -> Iterator[Path]:
    """``path`` itself, or a copy of what a pipe brings: the file is read twice."""
    if path.is_file() or not path.exists() or path.is_dir():
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="custody-import-") as copy:
        with path.open("rb") as pipe:
            shutil.copyfileobj(pipe, copy)
        copy.flush()
        yield Path(copy.name)


def _raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
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
            hint="name a file, or an agent as 'claude-code'; 'custody import --help' has what can be imported",
        ) from error
