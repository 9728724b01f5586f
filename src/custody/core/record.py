"""Records, the chain that holds them, the check of a chain, and gaps.

Only this file defines what a link covers.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

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


# What can be wrong with kept records, and the pure check of a chain.
# Property: every change, deletion, reordering or truncation of a chain's records gives at least one finding that
# names it.


class DamageCode(Enum):
    """One code for each thing that ``verify`` can find; the value is the sentence that explains it."""

    CHAIN_GAP = "records are missing from the middle or the beginning of a chain"
    CHAIN_LINK = "a record, or its place in the chain, is not what was stored"
    CHAIN_CUT = "records are missing from the end of a chain: its head was remembered further on"
    CHAIN_FORK = "two records claim the same place of a chain: a store was copied and both copies went on"
    BODY_CHANGED = "stored bytes are not those that were stored"
    BODY_MISSING = "stored bytes are gone and no record says that they were erased"
    HEAD_DIFFERS = "the chain holds another record at the place that its head remembers: it was recomputed"
    HEAD_MISSING = "a chain has no head beside it: somebody deleted it, and the chain's end cannot be checked"
    HEAD_FORGED = "a head file was not written here, or was changed"
    FILE_DAMAGED = "the database finds its own file damaged"
    SPOOL_DAMAGED = "a waiting event's file is not what was written"
    VIEW_DIFFERS = "a view does not match its record; 'custody doctor --rebuild' makes it again"

    @property
    def label(self) -> str:
        """The code as it is printed: ``CHAIN-GAP``."""
        return self.name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Damage:
    """One finding: what is wrong, in a sentence, and with which record if it is one."""

    code: DamageCode
    what: str
    record: RecordRef | None = None


def check_chain(store: StoreId, records: Iterable[Record], remembered: ChainTip | None = None) -> Iterator[Damage]:
    """Follow a chain from its start, name everything that does not fit, then compare it with the remembered head."""
    last = empty_head(store)
    for record in records:
        yield from misfit(last, record)
        if remembered is not None and record.seq == remembered.seq and record.link != remembered.link:
            yield Damage(
                DamageCode.HEAD_DIFFERS,
                f"record {record.seq} of chain {store} is not the one that its head remembers: it was made again",
                RecordRef(store, record.seq),
            )
        # A record that was moved or stands twice leads nowhere: the chain goes on behind the furthest one.
        if record.seq > last.seq:
            last = ChainTip(store, record.seq, record.link)
    yield from find_missing_tail(last, remembered)


def misfit(last: ChainTip, record: Record) -> Iterator[Damage]:
    """What is wrong with ``record`` standing right behind ``last``."""
    which = f"record {record.seq} of chain {last.store} ({record.entry.kind})"
    if record.seq <= last.seq:
        what = f"{which} stands behind record {last.seq}: it was moved, or stands there twice"
        yield Damage(DamageCode.CHAIN_LINK, what, RecordRef(last.store, record.seq))
    elif record.seq > last.seq + 1:
        yield _gap(last.store, last.seq + 1, record.seq - 1)
    elif record.store != last.store or link_of(last.link, last.store, record.seq, record.entry) != record.link:
        what = f"{which} does not fit its place: it, its link or the record before it was changed or moved"
        yield Damage(DamageCode.CHAIN_LINK, what, RecordRef(last.store, record.seq))


def find_missing_tail(last: ChainTip, remembered: ChainTip | None) -> Iterator[Damage]:
    """What is missing when a chain ends at ``last`` but was remembered further on."""
    if remembered is not None and remembered.seq > last.seq:
        first, end = last.seq + 1, remembered.seq
        which = f"record {end} is" if first == end else f"records {first} to {end} are"
        yield Damage(
            DamageCode.CHAIN_CUT,
            f"{which} missing from the end of chain {last.store}: its head was written when it had {end}",
            RecordRef(last.store, Seq(first)),
        )


def _gap(store: StoreId, first: int, last: int) -> Damage:
    which = f"record {first} is" if first == last else f"records {first} to {last} are"
    return Damage(DamageCode.CHAIN_GAP, f"{which} missing from chain {store}", RecordRef(store, Seq(first)))


# A gap in what was recorded, and the line of a file that counts it.


@dataclass(frozen=True, slots=True)
class RecordingGap:
    """Something that could not be recorded, and when; None where that was not noted."""

    at_ns: int | None
    what: str


def gap_of(line: str) -> RecordingGap:
    """Read one line of the file; a line that the shell wrote has no time."""
    first, _, rest = line.partition(" ")
    if first.isascii() and first.isdigit():
        return RecordingGap(int(first), rest)
    return RecordingGap(None, line)
