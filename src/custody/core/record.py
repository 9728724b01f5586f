"""Records, the chain that holds them, the check of a chain, and gaps.

Only this file defines what a link covers.
"""

import hashlib
from collections.abc import Iterable, Iterator
from enum import Enum

from msgspec import Struct

from custody.core.ids import Digest, EventId, Link, NaturalKey, RecordRef, Seq, StoreId

GENESIS = Link(bytes(32))
"""The link before the first record of a chain."""


class RecordDraft(Struct, frozen=True):
    """A record without a position: its event, kind, key, claimed time, and the digest of its payload."""

    event: EventId
    kind: str
    key: NaturalKey
    at_ns: int
    digest: Digest


class Record(Struct, frozen=True):
    """An entry at its position in a chain; it never changes."""

    store: StoreId
    seq: Seq
    entry: RecordDraft
    link: Link

    @property
    def ref(self) -> RecordRef:
        """Return the reference to this record."""
        return RecordRef(self.store, self.seq)


class ChainTip(Struct, frozen=True):
    """The end of a chain: the seq and link of its last record (0 and zeros if empty)."""

    store: StoreId
    seq: Seq
    link: Link


def empty_chain_tip(store: StoreId) -> ChainTip:
    """Return the tip of an empty chain."""
    return ChainTip(store, Seq(0), GENESIS)


def compute_record_link(previous: Link, store: StoreId, seq: Seq, entry: RecordDraft) -> Link:
    """Return the SHA-256 over the previous link and every field of the record, each length-prefixed."""
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
    chained = b"".join([part for field in fields for part in (len(field).to_bytes(8, "big"), field)])
    return Link(hashlib.sha256(chained).digest())


def record_from_draft(head: ChainTip, entry: RecordDraft) -> Record:
    """Return the record of ``entry`` right after ``head``."""
    seq = Seq(head.seq + 1)
    return Record(head.store, seq, entry, compute_record_link(head.link, head.store, seq, entry))


def chain_tip_from_record(record: Record) -> ChainTip:
    """Return the tip of a chain with ``record`` as the last one."""
    return ChainTip(record.store, record.seq, record.link)


# The check of a chain. Property: every change, deletion, reordering or truncation of a chain's records gives at least
# one finding.


class DamageCode(Enum):
    """One code for each kind of damage; the value explains it."""

    CHAIN_GAP = "records are missing from the middle or the start of a chain"
    CHAIN_LINK = "a record, or its position in the chain, was changed"
    CHAIN_CUT = "records are missing from the end of a chain, which was longer"
    CHAIN_FORK = "two records have the same position in a chain: a store was copied and both copies were used"
    BODY_CHANGED = "stored bytes were changed"
    BODY_MISSING = "stored bytes are missing and were not erased"
    HEAD_DIFFERS = "the chain has another record than its head file: the chain was recomputed"
    HEAD_MISSING = "a chain has no head file: it was deleted, and the end of the chain cannot be checked"
    HEAD_FORGED = "a head file was not written here, or was changed"
    HEAD_SIGNATURE = "a signed statement about the head of a chain is invalid, missing or about another chain"
    HEAD_ROLLBACK = "a remote has an earlier state of a chain than was seen there before"
    OUTLINE_CHANGED = "an outline, or the origins of lines, differ from what the owner of the chain signed"
    FILE_DAMAGED = "the database reports a damaged file"
    SPOOL_DAMAGED = "the file of a pending event was changed after it was acknowledged"
    VIEW_DIFFERS = "a view does not match its record; 'custody doctor --rebuild' rebuilds it"

    @property
    def label(self) -> str:
        """Return the printed code: ``CHAIN-GAP``."""
        return self.name.replace("_", "-")


SPOOL_REFUSED = "SPOOL-REFUSED"
"""Code of the warning about an acknowledged event that cannot be ingested: unchanged, not damaged."""


class Damage(Struct, frozen=True):
    """One finding: the problem in a sentence, and its record if it has one."""

    code: DamageCode
    what: str
    record: RecordRef | None = None


def check_record_chain(
    store: StoreId, records: Iterable[Record], remembered: ChainTip | None = None
) -> Iterator[Damage]:
    """Check a chain from its start and yield every problem, then compare it with the remembered head."""
    last = empty_chain_tip(store)
    for record in records:
        yield from check_record_link(last, record)
        if remembered is not None and record.seq == remembered.seq and record.link != remembered.link:
            yield Damage(
                DamageCode.HEAD_DIFFERS,
                f"record {record.seq} of chain {store} differs from its head file: it was replaced",
                RecordRef(store, record.seq),
            )
        # A moved or repeated record is skipped: the chain continues after the record with the highest seq.
        if record.seq > last.seq:
            last = ChainTip(store, record.seq, record.link)
    yield from find_missing_chain_tail(last, remembered)


def check_record_link(last: ChainTip, record: Record) -> Iterator[Damage]:
    """Yield the damage of ``record`` as the successor of ``last``."""
    which = f"record {record.seq} of chain {last.store} ({record.entry.kind})"
    if record.seq <= last.seq:
        what = f"{which} follows record {last.seq}: it was moved or repeated"
        yield Damage(DamageCode.CHAIN_LINK, what, RecordRef(last.store, record.seq))
    elif record.seq > last.seq + 1:
        yield _make_chain_gap_damage(last.store, last.seq + 1, record.seq - 1)
    elif (
        record.store != last.store
        or compute_record_link(last.link, last.store, record.seq, record.entry) != record.link
    ):
        what = f"{which} does not fit its place in the chain: it, its link or the record before it was changed or moved"
        yield Damage(DamageCode.CHAIN_LINK, what, RecordRef(last.store, record.seq))


def find_missing_chain_tail(last: ChainTip, remembered: ChainTip | None) -> Iterator[Damage]:
    """Yield the records that are missing if a chain ends at ``last`` before the remembered head."""
    if remembered is not None and remembered.seq > last.seq:
        first, end = last.seq + 1, remembered.seq
        which = f"record {end} is" if first == end else f"records {first} to {end} are"
        yield Damage(
            DamageCode.CHAIN_CUT,
            f"{which} missing from the end of chain {last.store}: its head file has {end} records",
            RecordRef(last.store, Seq(first)),
        )


def _make_chain_gap_damage(store: StoreId, first: int, last: int) -> Damage:
    which = f"record {first} is" if first == last else f"records {first} to {last} are"
    return Damage(DamageCode.CHAIN_GAP, f"{which} missing from chain {store}", RecordRef(store, Seq(first)))


class RecordingGap(Struct, frozen=True):
    """An event that could not be recorded, and its time; None if unknown."""

    at_ns: int | None
    what: str


def parse_recording_gap(line: str) -> RecordingGap:
    """Read one line of the file; a line that the shell wrote has no time."""
    first, _, rest = line.partition(" ")
    if first.isascii() and first.isdigit():
        return RecordingGap(int(first), rest)
    return RecordingGap(None, line)
