"""The tables of primary data: chains, records, bodies. This module only reads and writes rows."""

import hashlib
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import Digest, EventId, Link, NaturalKey, RecordRef, Seq, StoreId, digest_from_bytes
from custody.core.record import ChainTip, Record, RecordDraft, empty_chain_tip
from custody.core.wire.arrival import ERASED, LOST, SPAN, SPANS, parse_span_key
from custody.core.wire.body import join_payload_texts, list_payload_digests, parse_digest
from custody.core.wire.canonical import Json, parse_json_bytes
from custody.core.wire.span_batch import BatchedSpan, is_span_batch, iterate_batched_spans
from custody.store.db import DamagedStoreError, Db, Row, SqlValue

# Body bytes are stored unchanged, or compressed if that is smaller.
# A body with texts that another store withheld is stored as an outline. The body's digest does not match the outline,
# so the outline has its own digest as a prefix.


PLAIN, ZLIB, OUTLINE = "plain", "zlib", "outline"
BODY_BYTES_MAX = 64 * 1024 * 1024
"""Maximum bytes of a body, more than custody writes; a larger body is damaged or malicious."""

_DIGEST_BYTES = 32
_WORTH_BYTES_MIN = 256
_LEVEL = 1


def encode_stored_body(data: bytes) -> tuple[str, bytes]:
    """Return the codec and the bytes to store."""
    if len(data) >= _WORTH_BYTES_MIN:
        packed = zlib.compress(data, _LEVEL)
        if len(packed) < len(data):
            return ZLIB, packed
    return PLAIN, data


def decode_stored_body(codec: str, stored: bytes) -> bytes:
    """Return the original bytes, or raise a ``DamagedStoreError``."""
    if codec == PLAIN:
        return stored
    if codec != ZLIB:
        raise DamagedStoreError(
            f"unknown codec '{codec}' of a body", hint="the store is damaged or from a newer custody"
        )
    return _decompress_stored_body(stored)


def encode_stored_outline(outline: bytes) -> bytes:
    """Return the bytes to store for an outline."""
    return hashlib.sha256(outline).digest() + zlib.compress(outline, _LEVEL)


def decode_stored_outline(stored: bytes) -> bytes:
    """Return the original outline, or raise a ``DamagedStoreError`` if it was changed."""
    outline = _decompress_stored_body(stored[_DIGEST_BYTES:])
    if hashlib.sha256(outline).digest() != stored[:_DIGEST_BYTES]:
        raise DamagedStoreError("the outline of a record was changed", hint="run 'custody verify'")
    return outline


def _decompress_stored_body(stored: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(stored, BODY_BYTES_MAX)
    except zlib.error as error:
        raise DamagedStoreError(f"cannot unpack a body: {error}", hint="run 'custody verify'") from error
    if not unpacker.eof or unpacker.unused_data:
        raise DamagedStoreError("a body is truncated, too large or has extra bytes", hint="run 'custody verify'")
    return data


PAGE = 500
"""Rows per read; limits memory, not results."""
NAMES = 400
"""Records per query, with two parameters each; SQLite allows 999 per statement."""
BODY_BYTES_TOGETHER = 65_536
"""Maximum bytes of a body that is inserted with others; a longer body has its own statement."""
PAYLOADS = 50
"""Payloads per read; one payload can be as large as an event."""

PULLED = "pulled:"
"""The prefix of the settings that mark pulled chains."""

T = TypeVar("T")

# Jump from one store's first record to the next store's: DISTINCT would read every record.
_STORES = """
    WITH RECURSIVE found (store_id) AS (
        SELECT min(store_id) FROM record
        UNION ALL
        SELECT (SELECT min(store_id) FROM record WHERE store_id > found.store_id) FROM found
        WHERE found.store_id IS NOT NULL
    )
    SELECT store_id FROM chain UNION SELECT store_id FROM found WHERE store_id IS NOT NULL ORDER BY store_id
"""

_RECORD = "store_id, seq, event_id, kind, natural_key, at_ns, digest, link"
_PUT_RECORD = f"INSERT INTO record ({_RECORD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class Body(Struct, frozen=True):
    """Stored bytes by digest; None if erased, or if another store withheld them and sent an ``outline``."""

    digest: Digest
    data: bytes | None
    outline: bytes | None = None


class KnownEvents(Struct, frozen=True):
    """Events and observations that are already in a chain, with their content."""

    events: set[EventId]
    contents: set[tuple[NaturalKey, Digest]]
    shared: set[tuple[NaturalKey, Digest]]
    """The contents that share a record with others, or are stored by the same append."""

    def holds(self, entry: RecordDraft) -> bool:
        """Return whether this event, or an equal observation with equal content, is known."""
        return entry.event in self.events or (entry.key, entry.digest) in self.contents

    def add(self, entry: RecordDraft) -> None:
        """Add an event."""
        self.events.add(entry.event)
        self.contents.add((entry.key, entry.digest))
        self.shared.add((entry.key, entry.digest))


class PutBodies(NamedTuple):
    """The result of storing bodies that have a row already: restored, or still without their bytes."""

    returned: list[Digest]
    empty: set[Digest]


class Tables:
    """Reads and writes rows as the types of ``core``."""

    def __init__(self, db: Db) -> None:
        self.db = db

    def chains(self) -> list[ChainTip]:
        """Return the head of every chain that has a record, by store id."""
        stores = self.db.rows(_STORES)
        heads = (self.head(StoreId(str(store))) for (store,) in stores)
        return [head for head in heads if head.seq > 0]

    def head(self, store: StoreId) -> ChainTip:
        """Return the head of ``store``'s chain in this database."""
        last = self.db.rows("SELECT seq, link FROM record WHERE store_id = ? ORDER BY seq DESC LIMIT 1", (store,))
        return (
            ChainTip(store, Seq(integer_from_sql(last[0][0])), Link(bytes_from_sql(last[0][1])))
            if last
            else empty_chain_tip(store)
        )

    def records(self, store: StoreId, *, after: int = 0) -> Iterator[Record]:
        """Yield the records of one chain after position ``after``, in order."""
        while page := self.records_after(store, after, PAGE):
            yield from page
            after = page[-1].seq

    def records_where(self, where: str, values: Sequence[SqlValue]) -> list[Record]:
        """Return the records that match an SQL condition; ``where`` must not come from users."""
        return [_record_from_row(row) for row in self.db.rows(f"SELECT {_RECORD} FROM record WHERE {where}", values)]

    def forks(self) -> list[Record]:
        """Return the records with the same position as another record."""
        return [
            _record_from_row(row) for row in self.db.rows(f"SELECT {_RECORD} FROM fork ORDER BY store_id, seq, link")
        ]

    def record(self, ref: RecordRef) -> Record | None:
        """Return one record by its position."""
        found = self.db.rows(f"SELECT {_RECORD} FROM record WHERE store_id = ? AND seq = ?", (ref.store, int(ref.seq)))
        return _record_from_row(found[0]) if found else None

    def records_after(self, store: StoreId, seq: int, limit: int) -> list[Record]:
        """Return the next records of a chain after ``seq``, at most ``limit``."""
        rows = self.db.rows(
            f"SELECT {_RECORD} FROM record WHERE store_id = ? AND seq > ? ORDER BY seq LIMIT ?", (store, seq, limit)
        )
        return [_record_from_row(row) for row in rows]

    def list_owned_chains(self) -> set[StoreId]:
        """Return the chains that this database appends to or has appended to."""
        return {StoreId(str(row[0])) for row in self.db.rows("SELECT store_id FROM chain WHERE owned = 1")}

    def list_pulled_chains(self) -> set[StoreId]:
        """Return the chains that came from a remote that the user named, not from a file."""
        rows = self.db.rows("SELECT name FROM setting WHERE name LIKE ?", (f"{PULLED}%",))
        return {StoreId(str(name).removeprefix(PULLED)) for (name,) in rows}

    def mark_pulled(self, store: StoreId) -> None:
        """Record that a chain came from a remote, inside a write."""
        self.db.run(
            "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (f"{PULLED}{store}", "1")
        )

    def newest(self, limit: int, kind: str | None) -> list[Record]:
        """Return the records with the latest claimed times, latest first, optionally of one kind."""
        where, values = ("WHERE kind = ?", (kind,)) if kind is not None else ("", ())
        rows = self.db.rows(
            f"SELECT {_RECORD} FROM record {where} ORDER BY at_ns DESC, store_id DESC, seq DESC LIMIT ?",
            (*values, limit),
        )
        return [_record_from_row(row) for row in rows]

    def reindex(self, record: Record, payload: Json) -> None:
        """Index the bodies of a record again: its texts, and the body that it erased."""
        self.put_parts_of(record)
        if record.entry.kind == ERASED:
            for digest in erased_digest_from_payload(payload):
                self.put_erasure(digest, record.ref)

    def records_of_kind(self, kind: str) -> Iterator[Record]:
        """Yield the records of one kind, chain by chain."""
        for head in self.chains():
            yield from (record for record in self.records(head.store) if record.entry.kind == kind)

    def list_gap_records(self) -> list[Record]:
        """Return the records of events that could not be recorded."""
        return self.records_where("natural_key >= ? AND natural_key < ?", (f"{LOST}:", f"{LOST};"))

    def read_view_position(self, view: str, store: StoreId) -> tuple[int, str] | None:
        """Return how far a view has read a chain, and by which version; None if it has not."""
        found = self.db.rows("SELECT seq, version FROM state WHERE view = ? AND store_id = ?", (view, store))
        return (integer_from_sql(found[0][0]), str(found[0][1])) if found else None

    def records_holding(self, digest: Digest) -> list[Record]:
        """Return the records with this body as their payload or as a text in it."""
        rows = self.db.rows(
            f"SELECT {_RECORD} FROM record WHERE digest = ? OR digest IN (SELECT body FROM part WHERE text = ?)",
            (digest, digest),
        )
        return [_record_from_row(row) for row in rows]

    def is_known(self, entry: RecordDraft) -> bool:
        """Return whether this event, or an equal observation with equal content, is already in a chain."""
        return bool(
            self.db.rows("SELECT 1 FROM record WHERE event_id = ? LIMIT 1", (entry.event,))
            or self.db.rows(
                "SELECT 1 FROM record WHERE natural_key = ? AND digest = ? LIMIT 1", (entry.key, entry.digest)
            )
        )

    def find_known(self, entries: Iterable[RecordDraft]) -> KnownEvents:
        """Return which of these events and observations are already in a chain: ``is_known`` for many."""
        known = KnownEvents(set(), set(), set())
        for batch in split_row_batches(entries, NAMES):
            events, keys, digests = zip(*((draft.event, draft.key, draft.digest) for draft in batch), strict=True)
            marks = ", ".join("?" * len(batch))
            for (event,) in self.db.rows(f"SELECT event_id FROM record WHERE event_id IN ({marks})", events):
                known.events.add(EventId(str(event)))
            for key, digest in self.db.rows(
                f"SELECT natural_key, digest FROM record WHERE natural_key IN ({marks}) AND digest IN ({marks})",
                (*keys, *digests),
            ):
                known.contents.add((NaturalKey(str(key)), Digest(bytes_from_sql(digest))))
            for record, _ in self.find_batched_spans(keys):
                known.shared.add((record.entry.key, record.entry.digest))
        known.contents.update(known.shared)
        return known

    def records_named(self, name: str) -> list[Record]:
        """Return the records with this event id or natural key, oldest first."""
        found = self.db.rows(f"SELECT {_RECORD} FROM record WHERE event_id = ?", (name,)) or self.db.rows(
            f"SELECT {_RECORD} FROM record WHERE natural_key = ?", (name,)
        )
        records = [_record_from_row(row) for row in found]
        if not records:
            records = [record for record, _ in self.find_batched_spans([NaturalKey(name)])]
        return sorted(records, key=lambda record: (record.entry.at_ns, record.ref))

    def bodies(self, digests: Collection[Digest]) -> dict[Digest, Body]:
        """Return the bodies with these digests, if stored here."""
        found: dict[Digest, Body] = {}
        for batch in split_row_batches(sorted(digests), PAGE):
            marks = ", ".join("?" * len(batch))
            for row in self.db.rows(f"SELECT digest, codec, bytes FROM body WHERE digest IN ({marks})", batch):
                body = _body_from_row(row)
                found[body.digest] = body
        return found

    def parts_of(self, payloads: Collection[Digest]) -> set[Digest]:
        """Return the texts in these payloads, from the index of bodies."""
        found: set[Digest] = set()
        for batch in split_row_batches(sorted(payloads), PAGE):
            marks = ", ".join("?" * len(batch))
            rows = self.db.rows(f"SELECT text FROM part WHERE body IN ({marks})", batch)
            found.update(Digest(bytes_from_sql(row[0])) for row in rows)
        return found

    def find_stored_bodies(self, digests: Collection[Digest]) -> set[Digest]:
        """Return which of these bodies have a row, erased or not."""
        return set(self._find_body_rows(digests))

    def _find_body_rows(self, digests: Collection[Digest]) -> dict[Digest, bool]:
        """Return which of these bodies have a row, and whether the row has their bytes: not if erased or withheld."""
        found: dict[Digest, bool] = {}
        for batch in split_row_batches(sorted(digests), PAGE):
            marks = ", ".join("?" * len(batch))
            rows = self.db.rows(f"SELECT digest, codec, bytes IS NULL FROM body WHERE digest IN ({marks})", batch)
            for digest, codec, is_empty in rows:
                found[Digest(bytes_from_sql(digest))] = not is_empty and codec != OUTLINE
        return found

    def body_count(self) -> int:
        """Return the number of bodies, including erased bodies."""
        return integer_from_sql(self.db.rows("SELECT count(*) FROM body")[0][0])

    def record_count(self) -> int:
        """Return the number of records in all chains."""
        return integer_from_sql(self.db.rows("SELECT count(*) FROM record")[0][0])

    def count_after(self, at_ns: int) -> int:
        """Return the number of records with a later claimed time."""
        return integer_from_sql(self.db.rows("SELECT count(*) FROM record WHERE at_ns > ?", (at_ns,))[0][0])

    def second_observations(self, limit: int) -> list[tuple[NaturalKey, int]]:
        """Return the keys that were observed with different content, and how often."""
        rows = self.db.rows(
            "SELECT natural_key, count(DISTINCT digest) FROM record GROUP BY natural_key"
            " HAVING count(DISTINCT digest) > 1 ORDER BY natural_key LIMIT ?",
            (limit,),
        )
        return [(NaturalKey(str(key)), integer_from_sql(count)) for key, count in rows]

    def digests_like(self, digits: str) -> list[Digest]:
        """Return up to 5 digests of bodies that start with these hex digits."""
        low = bytes.fromhex(digits.ljust(64, "0"))
        high = bytes.fromhex(digits.ljust(64, "f"))
        rows = self.db.rows("SELECT digest FROM body WHERE digest BETWEEN ? AND ? ORDER BY digest LIMIT 5", (low, high))
        return [Digest(bytes_from_sql(row[0])) for row in rows]

    def body_digests(self) -> Iterator[Digest]:
        """Yield the digest of every body, in order."""
        after = b""
        while page := self.db.rows("SELECT digest FROM body WHERE digest > ? ORDER BY digest LIMIT ?", (after, PAGE)):
            digests = [Digest(bytes_from_sql(row[0])) for row in page]
            yield from digests
            after = digests[-1]

    def payload(self, record: Record) -> Json:
        """Return a record's payload with its long texts; None if it was erased."""
        return self.payloads([record])[record.ref]

    def payloads(self, records: Sequence[Record]) -> dict[RecordRef, Json]:
        """Return the payloads of these records, in the same order."""
        bodies = self.bodies({record.entry.digest for record in records})
        batches = {digest for digest, body in bodies.items() if body.data is not None and is_span_batch(body.data)}
        values = {
            digest: None if body.data is None else _parse_stored_payload(body.data) for digest, body in bodies.items()
        }
        with_texts = [value for digest, value in values.items() if digest not in batches]
        texts = self.bodies({text for value in with_texts for text in list_payload_digests(value)})
        contents = {digest: body.data for digest, body in texts.items()}
        return {
            record.ref: values[record.entry.digest]
            if record.entry.digest in batches
            else join_payload_texts(values.get(record.entry.digest), contents)
            for record in records
        }

    def read_span_batch(self, record: Record) -> bytes | None:
        """Return the bytes of a batch of spans; None for any other record, and for one without its bytes here."""
        if record.entry.kind != SPANS:
            return None
        body = self.bodies([record.entry.digest]).get(record.entry.digest)
        return body.data if body is not None and body.data is not None and is_span_batch(body.data) else None

    def find_batched_spans(self, keys: Iterable[NaturalKey]) -> list[tuple[Record, BatchedSpan]]:
        """Return the spans with these natural keys that share a record with others.

        Each has a record as if it were stored alone, at the position of the record that holds it.
        """
        wanted = {name: key for key in keys if (name := parse_span_key(key)) is not None}
        known_keys, found = set(wanted.values()), list[tuple[Record, BatchedSpan]]()
        for holder in self._list_span_batches(list(wanted)):
            data = self.read_span_batch(holder)
            for span in () if data is None else iterate_batched_spans(data):
                if (key := span.key) in known_keys:
                    entry = RecordDraft(holder.entry.event, SPAN, key, holder.entry.at_ns, span.digest)
                    found.append((Record(holder.store, holder.seq, entry, holder.link), span))
        return found

    def _list_span_batches(self, names: Sequence[tuple[str, str]]) -> list[Record]:
        """Return the records of batches with one of these spans, by execution and id."""
        executions: list[str] = sorted({execution for execution, _ in names})
        known: set[str] = set()
        for part in split_row_batches(executions, NAMES):
            # Most spans are of executions that are new: one look at each execution then.
            rows = self.db.rows(
                f"WITH wanted (of) AS (VALUES {', '.join(['(?)'] * len(part))}) SELECT of FROM wanted"
                " WHERE EXISTS (SELECT 1 FROM span WHERE execution = wanted.of)",
                part,
            )
            known.update(str(execution) for (execution,) in rows)
        found: dict[RecordRef, Record] = {}
        for batch in split_row_batches((name for name in names if name[0] in known), NAMES):
            rows = self.db.rows(
                f"WITH wanted (of, id) AS (VALUES {', '.join(['(?, ?)'] * len(batch))})"
                " SELECT DISTINCT span.store_id, span.seq FROM wanted"
                " JOIN span ON span.execution = wanted.of AND span.span = wanted.id",
                [part for name in batch for part in name],
            )
            for store, seq in rows:
                ref = RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq)))
                record = None if ref in found else self.record(ref)
                if record is not None and record.entry.kind == SPANS:
                    found[ref] = record
        return [found[ref] for ref in sorted(found)]

    def put_record(self, record: Record) -> None:
        """Add a record at its position."""
        self.db.run(_PUT_RECORD, _record_to_row(record))

    def put_records(self, records: Sequence[Record]) -> None:
        """Add records at their positions."""
        self.db.run_for_each(_PUT_RECORD, [_record_to_row(record) for record in records])

    def put_fork(self, record: Record) -> None:
        """Store a record if another record has its position."""
        self.db.run(
            f"INSERT INTO fork ({_RECORD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            _record_to_row(record),
        )

    def put_body(self, digest: Digest, data: bytes | None) -> bool:
        """Store bytes by their digest; erased bytes stay erased. Return whether missing bytes were restored."""
        codec, stored = (PLAIN, None) if data is None else encode_stored_body(data)
        return self._put_body(digest, codec, stored)

    def put_bodies(self, bodies: Mapping[Digest, bytes]) -> PutBodies:
        """Store bytes by their digests, as ``put_body`` does."""
        held = self._find_body_rows(bodies)
        rows: list[Row] = []
        put = PutBodies([], set())
        for digest, data in bodies.items():
            if digest not in held and len(data) <= BODY_BYTES_TOGETHER:
                rows.append((digest, *encode_stored_body(data)))
            elif not held.get(digest, False):
                if self.put_body(digest, data):
                    put.returned.append(digest)
                elif digest in held:
                    put.empty.add(digest)
        for batch in split_row_batches(rows, PAGE):
            self.db.run_for_each("INSERT INTO body (digest, codec, bytes) VALUES (?, ?, ?)", batch)
        return put

    def put_outline(self, digest: Digest, outline: bytes) -> bool:
        """Store the outline of a withheld body, unless the store has more of it; otherwise like ``put_body``."""
        return self._put_body(digest, OUTLINE, encode_stored_outline(outline))

    def _put_body(self, digest: Digest, codec: str, stored: bytes | None) -> bool:
        found = self.db.rows("SELECT bytes IS NULL, codec FROM body WHERE digest = ?", (digest,))
        if not found:
            self.db.run("INSERT INTO body (digest, codec, bytes) VALUES (?, ?, ?)", (digest, codec, stored))
            return False
        is_less = found[0][0] or (found[0][1] == OUTLINE and codec != OUTLINE)
        if is_less and stored is not None and not self.is_erased_here(digest):
            self.db.run("UPDATE body SET codec = ?, bytes = ? WHERE digest = ?", (codec, stored, digest))
            return True
        return False

    def outline(self, digest: Digest) -> bytes | None:
        """Return the outline of a withheld body; None for any other body."""
        rows = self.db.rows("SELECT bytes FROM body WHERE digest = ? AND codec = ?", (digest, OUTLINE))
        return decode_stored_outline(bytes_from_sql(rows[0][0])) if rows and rows[0][0] is not None else None

    def drop_outline(self, digest: Digest) -> bool:
        """Empty a withheld body; return whether it was withheld."""
        if self.outline(digest) is None:
            return False
        self.db.run("UPDATE body SET bytes = NULL WHERE digest = ?", (digest,))
        self.drop_record_outlines(digest)
        return True

    def record_outline(self, record: Record) -> bytes | None:
        """Return the outline of a record with a withheld body: the one that its owner signed, if that differs."""
        shared = self.outline(record.entry.digest)
        return shared if shared is None else self.own_outline(record.ref) or shared

    def has_own_outline(self, ref: RecordRef) -> bool:
        """Return whether the outline of this record was fixed when its chain was shared."""
        where, values = "store_id = ? AND seq = ?", (ref.store, int(ref.seq))
        return bool(self.db.rows(f"SELECT 1 FROM record_outline WHERE {where}", values))

    def own_outline(self, ref: RecordRef) -> bytes | None:
        """Return the outline that is stored for this record only."""
        rows = self.db.rows(
            "SELECT outline FROM record_outline WHERE store_id = ? AND seq = ? AND outline IS NOT NULL",
            (ref.store, int(ref.seq)),
        )
        return decode_stored_outline(bytes_from_sql(rows[0][0])) if rows else None

    def outline_digests(self, store: StoreId) -> list[Digest]:
        """Return the fixed outline digests of a chain's first records, in order."""
        rows = self.db.rows("SELECT digest FROM record_outline WHERE store_id = ? ORDER BY seq", (store,))
        return [Digest(bytes_from_sql(row[0])) for row in rows]

    def outline_digests_of(self, store: StoreId, payloads: Collection[Digest]) -> dict[Digest, RecordRef]:
        """Return a record with a fixed outline for each of these payloads of a chain that has one."""
        found: dict[Digest, RecordRef] = {}
        for batch in split_row_batches(sorted(payloads), PAGE):
            marks = ", ".join("?" * len(batch))
            rows = self.db.rows(
                "SELECT record.digest, min(record.seq) FROM record JOIN record_outline"
                " ON record_outline.store_id = record.store_id AND record_outline.seq = record.seq"
                f" WHERE record.store_id = ? AND record.digest IN ({marks}) GROUP BY record.digest",
                (store, *batch),
            )
            for digest, seq in rows:
                found[Digest(bytes_from_sql(digest))] = RecordRef(store, Seq(integer_from_sql(seq)))
        return found

    def put_record_outlines(self, store: StoreId, after: int, outlines: Sequence[tuple[Digest, bytes | None]]) -> None:
        """Fix the outlines of the records after position ``after``: digests, and bytes if they are stored here."""
        rows: list[Row] = [
            (store, after + n, digest, None if outline is None else encode_stored_outline(outline))
            for n, (digest, outline) in enumerate(outlines, 1)
        ]
        for batch in split_row_batches(rows, PAGE):
            self.db.run_for_each(
                "INSERT INTO record_outline (store_id, seq, digest, outline) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (store_id, seq) DO UPDATE SET digest = excluded.digest, outline = excluded.outline",
                batch,
            )

    def drop_record_outlines(self, digest: Digest) -> None:
        """Empty the outlines of all records with this payload; their digests stay."""
        for record in self.records_where("digest = ?", (digest,)):
            self.db.run(
                "UPDATE record_outline SET outline = NULL WHERE store_id = ? AND seq = ?",
                (record.store, int(record.seq)),
            )

    def count_withheld_bodies(self) -> int:
        """Return the number of bodies with only an outline."""
        return integer_from_sql(
            self.db.rows("SELECT count(*) FROM body WHERE codec = ? AND bytes IS NOT NULL", (OUTLINE,))[0][0]
        )

    def is_erased_here(self, digest: Digest) -> bool:
        """Return whether a record in a chain of this database erased the body."""
        return bool(
            self.db.rows(
                "SELECT 1 FROM erasure JOIN chain ON chain.store_id = erasure.store_id"
                " WHERE erasure.digest = ? AND chain.owned = 1 LIMIT 1",
                (digest,),
            )
        )

    def find_erasures(self, digests: Collection[Digest]) -> set[Digest]:
        """Return which of these digests a record of any chain erased."""
        found: set[Digest] = set()
        for batch in split_row_batches(sorted(digests), PAGE):
            marks = ", ".join("?" * len(batch))
            rows = self.db.rows(f"SELECT digest FROM erasure WHERE digest IN ({marks})", batch)
            found.update(Digest(bytes_from_sql(row[0])) for row in rows)
        return found

    def has_erasures(self) -> bool:
        """Return whether anything was erased."""
        return bool(self.db.rows("SELECT 1 FROM erasure LIMIT 1"))

    def is_erased(self, digest: Digest) -> bool:
        """Return whether a record of any chain erased the body."""
        return bool(self.db.rows("SELECT 1 FROM erasure WHERE digest = ? LIMIT 1", (digest,)))

    def put_parts(self, held: Iterable[tuple[Digest, Digest]]) -> None:
        """Index which payload has which text."""
        self.db.run_for_each("INSERT INTO part (body, text) VALUES (?, ?) ON CONFLICT DO NOTHING", list(held))

    def put_parts_of(self, record: Record) -> None:
        """Index the texts in a copied record's payload."""
        body = self.bodies([record.entry.digest]).get(record.entry.digest)
        if body is not None and body.data is not None:
            self.put_parts(
                (record.entry.digest, text) for text in list_payload_digests(_parse_stored_payload(body.data))
            )

    def put_erasure(self, digest: Digest, ref: RecordRef) -> None:
        """Index that the record ``ref`` erased ``digest``."""
        self.db.run(
            "INSERT INTO erasure (digest, store_id, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (digest, ref.store, int(ref.seq)),
        )


def erased_digest_from_payload(payload: Json) -> list[Digest]:
    """Return the digest in an ``erased`` record's payload, if it has one, and the mark of an erased span."""
    texts = (payload.get("digest"), payload.get("mark")) if isinstance(payload, dict) else ()
    return [parse_digest(text) for text in texts if isinstance(text, str)]


def split_row_batches(items: Iterable[T], size: int = PAYLOADS) -> Iterator[list[T]]:
    """Yield the items in lists of at most ``size``."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def _record_to_row(record: Record) -> Row:
    entry = record.entry
    return (
        record.store,
        int(record.seq),
        entry.event,
        entry.kind,
        entry.key,
        entry.at_ns,
        entry.digest,
        record.link,
    )


def _record_from_row(row: Row) -> Record:
    store, seq, event, kind, key, at_ns, digest, link = row
    entry = RecordDraft(
        EventId(str(event)), str(kind), NaturalKey(str(key)), integer_from_sql(at_ns), Digest(bytes_from_sql(digest))
    )
    return Record(StoreId(str(store)), Seq(integer_from_sql(seq)), entry, Link(bytes_from_sql(link)))


def _body_from_row(row: Row) -> Body:
    digest, codec, stored = row
    if codec == OUTLINE and stored is not None:
        return Body(Digest(bytes_from_sql(digest)), None, decode_stored_outline(bytes_from_sql(stored)))
    return Body(
        Digest(bytes_from_sql(digest)),
        None if stored is None else decode_stored_body(str(codec), bytes_from_sql(stored)),
    )


def _parse_stored_payload(data: bytes) -> Json:
    try:
        if is_span_batch(data):
            batch: Json = msgspec.json.decode(data)  # canonical, or its digest would not match
            return batch
        return parse_json_bytes(data, bytes_max=BODY_BYTES_MAX)
    except (InputError, msgspec.DecodeError) as error:
        raise DamagedStoreError(f"a record's payload was changed: {error}", hint="run 'custody verify'") from error


def integer_from_sql(value: SqlValue) -> int:
    """Return an integer from a row, or raise a ``DamagedStoreError``."""
    if not isinstance(value, int):
        raise DamagedStoreError("a number is missing from a row", hint="run 'custody verify'")
    return value


def digest_table_key(text: str) -> Digest:
    """Return the digest that a table stores for a text that may be long: a source's key or hint."""
    return digest_from_bytes(text.encode("utf-8", "surrogatepass"))


def bytes_from_sql(value: SqlValue) -> bytes:
    """Return bytes from a row, or raise a ``DamagedStoreError``."""
    if not isinstance(value, bytes):
        raise DamagedStoreError("bytes are missing from a row", hint="run 'custody verify'")
    return value
