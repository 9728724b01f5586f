"""Write everything that is kept as JSON lines that import gives back byte for byte."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from custody.attribution.app.chain_origins import origin_digests, read_origins
from custody.core.ids import PENDING, Digest
from custody.core.record import ChainTip, Record
from custody.core.wire.body import digest_text, parts
from custody.core.wire.canonical import dump, parse
from custody.core.wire.report import ExportReport
from custody.share.wire.export import (
    EndLine,
    ExportLine,
    ForkLine,
    OriginsLine,
    OutlineLine,
    PendingLine,
    body_line,
    encode_line,
    header,
    record_line,
)
from custody.store import Body, Store, split_batches
from custody.workspace.atomic_file import open_atomic
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
