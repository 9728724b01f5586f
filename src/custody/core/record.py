"""What arrived, and the chain that holds it in place.

This file is the only one that says what a link covers.
"""

import hashlib
from dataclasses import dataclass

from custody.core.ids import Digest, EventId, Link, NaturalKey, RecordRef, Seq, StoreId

GENESIS = Link(bytes(32))
"""The link before the first record of a chain."""


@dataclass(frozen=True, slots=True)
class RecordDraft:
    """A record before it has a place: what it is, of what, when (as claimed), and the digest of its payload."""

    event: EventId
    kind: str
    key: NaturalKey
    at_ns: int
    digest: Digest


@dataclass(frozen=True, slots=True)
class Record:
    """An entry at its place in a chain; never changed afterwards."""

    store: StoreId
    seq: Seq
    entry: RecordDraft
    link: Link

    @property
    def ref(self) -> RecordRef:
        """Its name everywhere else."""
        return RecordRef(self.store, self.seq)


@dataclass(frozen=True, slots=True)
class ChainTip:
    """How far a chain reaches: the seq and link of its last record (0 and zeros when empty)."""

    store: StoreId
    seq: Seq
    link: Link


def empty_head(store: StoreId) -> ChainTip:
    """The head of a chain that holds nothing yet."""
    return ChainTip(store, Seq(0), GENESIS)


def link_of(previous: Link, store: StoreId, seq: Seq, entry: RecordDraft) -> Link:
    """SHA-256 over the previous link and every field of the record, each length-prefixed: no two records share it."""
    fields = (
        previous,
        store.encode(),
        str(seq).encode(),
        entry.event.encode(),
        entry.kind.encode(),
        entry.key.encode(),
        str(entry.at_ns).encode(),
        entry.digest,
    )
    chained = hashlib.sha256()
    for field in fields:
        chained.update(len(field).to_bytes(8, "big"))
        chained.update(field)
    return Link(chained.digest())


def chain_entry(head: ChainTip, entry: RecordDraft) -> Record:
    """The record that ``entry`` becomes right after ``head``."""
    seq = Seq(head.seq + 1)
    return Record(head.store, seq, entry, link_of(head.link, head.store, seq, entry))


def head_at(record: Record) -> ChainTip:
    """The head of a chain whose last record is ``record``."""
    return ChainTip(record.store, record.seq, record.link)
