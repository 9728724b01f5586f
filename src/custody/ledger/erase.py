"""Forget what a record says, for good, and keep the proof that it was there."""

import re
from collections.abc import Sequence

from custody.core.errors import InputError
from custody.core.ids import Digest
from custody.core.record import Record
from custody.core.wire.arrival import SYSTEM_KINDS
from custody.core.wire.body import digest_text, parts
from custody.core.wire.canonical import parse
from custody.core.wire.report import EraseReport
from custody.ledger.record_name import HINT, find_records
from custody.store import Store
from custody.workspace.user import user
from custody.workspace.workspace import Workspace

_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{8,64})", re.ASCII)


def erase(workspace: Workspace, targets: Sequence[str], *, who: str | None, why: str) -> EraseReport:
    """Erase the bodies that ``targets`` name: a digest erases that text, a record erases all that it says."""
    with workspace.writing() as store:
        digests = list(dict.fromkeys(digest for target in targets for digest in _digests(store, target)))
        done = store.erase(digests, who=who or user(), why=why)
    return EraseReport(
        erased=[digest_text(digest) for digest in digests], records=[str(record.ref) for record in done.made]
    )


def preview(workspace: Workspace, targets: Sequence[str]) -> list[str]:
    """What erasing ``targets`` would take away, one sentence each."""
    with workspace.reading() as store:
        return [sentence for target in targets for sentence in _sentences(store, target)]


def _sentences(store: Store, target: str) -> list[str]:
    said = []
    for digest in _digests(store, target):
        held = store.tables.records_holding(digest)
        names = ", ".join(f"{r.entry.kind} {r.ref.seq}" for r in held[:3]) + (", …" if len(held) > 3 else "")
        said.append(f"{digest_text(digest)[:23]}…, held by {len(held)} record(s): {names}")
    return said


def _digests(store: Store, target: str) -> list[Digest]:
    """The bodies that a target names: ``SEQ``, ``STORE:SEQ``, an event id, a natural key, or (part of) a digest."""
    records = find_records(store, target)
    if records:
        return [digest for record in records for digest in _bodies_of(store, record)]
    shape = _DIGEST.fullmatch(target)
    found = store.tables.digests_like(shape[1]) if shape else []
    if len(found) > 1:
        raise InputError(f"'{target}' fits {len(found)} or more stored texts", hint="give more digits of the digest")
    if not found:
        raise InputError(
            f"nothing stored is named '{target}'",
            hint=f"{HINT}, or a text by at least 8 digits of its digest",
        )
    for record in store.tables.records_holding(found[0]):
        _check_kind(record)
    return found


def _bodies_of(store: Store, record: Record) -> list[Digest]:
    _check_kind(record)
    body = store.tables.bodies([record.entry.digest]).get(record.entry.digest)
    if body is not None and body.outline is not None:
        return [record.entry.digest]
    if body is None or body.data is None:
        raise InputError(f"record {record.seq} of chain {record.store} was erased before", hint="there is nothing left")
    return [record.entry.digest, *sorted(parts(parse(body.data, bytes_max=len(body.data))))]


def _check_kind(record: Record) -> None:
    if record.entry.kind in SYSTEM_KINDS:
        raise InputError(
            f"record {record.seq} of chain {record.store} is the store's own ('{record.entry.kind}') and stays",
            hint="only what was captured can be erased",
        )
