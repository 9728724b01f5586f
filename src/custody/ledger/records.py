"""Records: find, list, show and erase them; claims and gaps."""

import re
from collections.abc import Sequence
from pathlib import Path

from custody.capture.hook.event_home import read_capture_gaps
from custody.capture.spool import format_rejected_gap
from custody.core.errors import InputError, StoreError
from custody.core.ids import Digest, NaturalKey, RecordRef, Seq, StoreId
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.core.record import Record, RecordingGap, parse_recording_gap
from custody.core.tree_head import list_inclusion_path
from custody.core.wire.arrival import SPAN, SYSTEM_KINDS, parse_span_key
from custody.core.wire.body import format_digest, list_payload_digests
from custody.core.wire.canonical import Json, parse_json_bytes
from custody.core.wire.report import EraseReport, RecordsReport, RecordSummary, ShowReport, SpanProof
from custody.core.wire.span_batch import BatchedSpan, list_span_leaves
from custody.core.wire.time import format_timestamp
from custody.store import Store
from custody.workspace.machine import machine_user_name
from custody.workspace.workspace import Workspace

HINT = "pass a record's number, 'store:number', event id or key ('custody records' lists them)"

_PLACE = lazy_pattern(r"(?:([0-9a-f]{8,32}|pending):)?([1-9][0-9]{0,17})", re.ASCII)


def find_records_by_name(store: Store, target: str) -> list[Record]:
    """Return the records that ``target`` names, oldest first; a number is a position in this store's own chain."""
    place = _PLACE.fullmatch(target)
    if place is None:
        return store.tables.records_named(target)
    own = store.own()
    stores = [own] if place[1] is None and own is not None else []
    if place[1] is not None:
        stores = [head.store for head in store.tables.chains() if head.store.startswith(place[1])]
    records = [store.tables.record(RecordRef(StoreId(name), Seq(int(place[2])))) for name in stores]
    return [record for record in records if record is not None]


WITHHELD = "$withheld"
"""The key of the outline of a record that was shared without texts."""


def list_newest_records(workspace: Workspace, *, limit: int, kind: str | None = None) -> RecordsReport:
    """Return the newest ``limit`` records of all chains by their time, optionally of one kind."""
    with workspace.reading() as store, store.reading():
        newest = store.tables.newest(limit, kind)
        return RecordsReport(records=_summarize_records(newest, store.own()), total=store.tables.record_count())


def show_named_records(workspace: Workspace, target: str) -> ShowReport:
    """Return the payloads of the named records; an erased one has none."""
    with workspace.reading() as store, store.reading():
        records = find_records_by_name(store, target)
        if not records:
            raise InputError(f"cannot find a record '{target}'", hint=HINT)
        spans = [_find_shared_span(store, record) for record in records]
        return ShowReport(
            records=_summarize_records(records, store.own()),
            payloads=[
                _read_record_payload(store, record) if span is None else parse_json_bytes(span.data)
                for record, span in zip(records, spans, strict=True)
            ],
            proofs=[
                None if span is None else _prove_shared_span(store, record, span)
                for record, span in zip(records, spans, strict=True)
            ]
            if any(spans)
            else [],
        )


def _find_shared_span(store: Store, record: Record) -> BatchedSpan | None:
    """Return the span that ``record`` describes, if it shares its record with others."""
    if record.entry.kind != SPAN:
        return None
    found = store.tables.find_batched_spans([record.entry.key])
    return next((span for other, span in found if other.ref == record.ref and other.entry == record.entry), None)


def _prove_shared_span(store: Store, record: Record, span: BatchedSpan) -> SpanProof | None:
    holder = store.tables.record(record.ref)
    data = None if holder is None else store.tables.read_span_batch(holder)
    if data is None:
        return None
    leaves = list_span_leaves(data)
    path = [node.hex() for node in list_inclusion_path(leaves, span.position)]
    return SpanProof(salt=span.salt.hex(), position=span.position, count=len(leaves), path=path)


def _read_record_payload(store: Store, record: Record) -> Json:
    """Return a record's payload; the outline of one that was shared without texts."""
    payload = store.tables.payload(record)
    outline = store.tables.record_outline(record) if payload is None else None
    return payload if outline is None else {WITHHELD: parse_json_bytes(outline)}


def _summarize_records(records: Sequence[Record], own: StoreId | None) -> list[RecordSummary]:
    return [
        RecordSummary(
            record=str(record.ref),
            number=int(record.seq) if record.store == own else None,
            at=format_timestamp(record.entry.at_ns),
            kind=record.entry.kind,
            key=record.entry.key,
            event=record.entry.event,
            digest=format_digest(record.entry.digest),
        )
        for record in records
    ]


_DIGEST = lazy_pattern(r"(?:sha256:)?([0-9a-f]{8,64})", re.ASCII)


def erase_record_bodies(workspace: Workspace, targets: Sequence[str], *, who: str | None, why: str) -> EraseReport:
    """Erase the bodies that ``targets`` name: a digest erases that text, a record all its texts, a key its span."""
    who = who or machine_user_name()
    with workspace.writing() as store:
        spans = {target: found for target in targets if (found := _find_erasable_spans(store, target))}
        digests = list(
            dict.fromkeys(
                digest
                for target in targets
                if target not in spans
                for digest in _resolve_erasure_digests(store, target)
            )
        )
        chosen = list({span.leaf: (record, span) for found in spans.values() for record, span in found}.values())
        appended = store.erase(digests, who=who, why=why).made if digests else ()
        appended += store.erase_spans(chosen, who=who, why=why).made if chosen else ()
    erased = [*digests, *(Digest(span.leaf) for _, span in chosen)]
    return EraseReport(erased=[format_digest(digest) for digest in erased], records=[str(r.ref) for r in appended])


def _find_erasable_spans(store: Store, target: str) -> list[tuple[Record, BatchedSpan]]:
    """Return the spans with this key that share a record with others; the others stay."""
    if parse_span_key(NaturalKey(target)) is None:
        return []
    found = store.tables.find_batched_spans([NaturalKey(target)])
    for record, _ in found:
        if store.tables.has_own_outline(record.ref):
            raise InputError(
                f"cannot erase one span of record {record.seq}: a signed outline of the record was shared",
                hint=f"'custody erase {record.ref}' erases all of its spans",
            )
    return found


def preview_record_erasure(workspace: Workspace, targets: Sequence[str]) -> list[str]:
    """Return what erasing ``targets`` would erase, one sentence for each text."""
    with workspace.reading() as store:
        return [sentence for target in targets for sentence in _describe_erasure_target(store, target)]


def _describe_erasure_target(store: Store, target: str) -> list[str]:
    if spans := _find_erasable_spans(store, target):
        return [f"{record.entry.key}, one of the spans of record {record.seq}" for record, _ in spans]
    sentences = []
    for digest in _resolve_erasure_digests(store, target):
        records = store.tables.records_holding(digest)
        names = ", ".join(f"{r.entry.kind} {r.ref.seq}" for r in records[:3]) + (", …" if len(records) > 3 else "")
        sentences.append(f"{format_digest(digest)[:23]}…, used by {count_noun(len(records), 'record')}: {names}")
    return sentences


def _resolve_erasure_digests(store: Store, target: str) -> list[Digest]:
    """Return the bodies that a target names: ``SEQ``, ``STORE:SEQ``, an event id, a natural key, or a digest prefix."""
    records = find_records_by_name(store, target)
    if records:
        return [digest for record in records for digest in _list_erasable_bodies(store, record)]
    match = _DIGEST.fullmatch(target)
    digests = store.tables.digests_like(match[1]) if match else []
    if len(digests) > 1:
        raise InputError(f"'{target}' is ambiguous: it matches several stored texts", hint="pass more digits")
    if not digests:
        raise InputError(
            f"cannot find a record or text '{target}'",
            hint=f"{HINT}, or at least 8 digits of a text's digest",
        )
    for record in store.tables.records_holding(digests[0]):
        _check_erasable_record(record)
    return digests


def _list_erasable_bodies(store: Store, record: Record) -> list[Digest]:
    _check_erasable_record(record)
    body = store.tables.bodies([record.entry.digest]).get(record.entry.digest)
    if body is not None and body.outline is not None:
        return [record.entry.digest]
    if body is None or body.data is None:
        raise InputError(f"record {record.seq} of chain {record.store} is already erased")
    return [record.entry.digest, *sorted(list_payload_digests(parse_json_bytes(body.data, bytes_max=len(body.data))))]


def _check_erasable_record(record: Record) -> None:
    if record.entry.kind in SYSTEM_KINDS:
        raise InputError(
            f"cannot erase record {record.seq} of chain {record.store}: the store needs it ('{record.entry.kind}')",
            hint="only captured texts can be erased",
        )


FILE = "gaps"


def list_recording_gaps(workspace: Workspace) -> list[RecordingGap]:
    """Return every gap that may concern this repository; ``StoreError`` if that cannot be determined.

    Gaps in the chain count as well as gaps in a file, so that deleting the file hides nothing.
    """
    lines = [
        line for folder in workspace.gap_folders if _has_recording_gaps(folder) for line in read_capture_gaps(folder)
    ]
    chained = _read_chained_gaps(workspace)
    rejected = _list_unchained_rejections(workspace, chained)
    gaps = [parse_recording_gap(line) for line in dict.fromkeys((*chained, *rejected, *lines))]
    until_ns = workspace.until_ns
    return [gap for gap in gaps if until_ns is None or gap.at_ns is None or gap.at_ns <= until_ns]


def _read_chained_gaps(workspace: Workspace) -> list[str]:
    if not workspace.exists():
        return []
    try:
        with workspace.reading() as store:
            payloads = store.tables.payloads(store.tables.list_gap_records())
    except StoreError:
        return []  # verification reports the damage
    values = (payload.get("what") for payload in payloads.values() if isinstance(payload, dict))
    return [what for what in values if isinstance(what, str)]


def _list_unchained_rejections(workspace: Workspace, chained: Sequence[str]) -> list[str]:
    """Return the gaps of rejected event files that the chain does not have yet, as when the store is read-only."""
    files = [file for spool in workspace.spools for file in spool.list_rejected_files()]
    return [format_rejected_gap(file) for file in files if not any(file.event in line for line in chained)]


def _has_recording_gaps(folder: Path) -> bool:
    """Return whether the folder has a file of gaps; raise an error if it cannot be read."""
    try:
        (folder / FILE).open("rb").close()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(
            f"cannot read '{folder / FILE}': {error.strerror}", hint="check the owner of the file"
        ) from error
    return True
