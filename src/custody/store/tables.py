"""The tables that hold the truth: chains, records, bodies. Nothing here decides anything."""

import hashlib
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from custody.core.errors import InputError
from custody.core.ids import Digest, EventId, Link, NaturalKey, RecordRef, Seq, StoreId, digest_of
from custody.core.record import ChainTip, Record, RecordDraft, empty_head
from custody.core.wire.arrival import ERASED, LOST
from custody.core.wire.body import digest_from, join, parts
from custody.core.wire.canonical import Json, parse
from custody.store.db import DamagedStoreError, Db, Row, SqlValue

# How body bytes are kept: as they are, or compressed when that is smaller.
# A body whose texts another store withheld is kept as an outline: not the bytes of its digest, so with a digest of
# its own before them.


PLAIN, ZLIB, OUTLINE = "plain", "zlib", "outline"
BODY_BYTES_MAX = 64 * 1024 * 1024
"""No body that custody writes is as large; anything that unpacks to more is damaged or hostile."""

_DIGEST_BYTES = 32
_WORTH_BYTES_MIN = 256
_LEVEL = 1


def encode(data: bytes) -> tuple[str, bytes]:
    """The codec and the bytes to keep."""
    if len(data) >= _WORTH_BYTES_MIN:
        packed = zlib.compress(data, _LEVEL)
        if len(packed) < len(data):
            return ZLIB, packed
    return PLAIN, data


def decode(codec: str, kept: bytes) -> bytes:
    """The bytes that were encoded; ``DamagedStoreError`` when they cannot be."""
    if codec == PLAIN:
        return kept
    if codec != ZLIB:
        raise DamagedStoreError(
            f"unknown codec '{codec}' of a body", hint="the store is damaged or from a newer custody"
        )
    return _unpacked(kept)


def encode_outline(outline: bytes) -> bytes:
    """The bytes to keep for what a payload says without its texts."""
    return hashlib.sha256(outline).digest() + zlib.compress(outline, _LEVEL)


def decode_outline(kept: bytes) -> bytes:
    """The outline that was encoded; ``DamagedStoreError`` when it is not that any more."""
    outline = _unpacked(kept[_DIGEST_BYTES:])
    if hashlib.sha256(outline).digest() != kept[:_DIGEST_BYTES]:
        raise DamagedStoreError("the outline of a record is not the one that came", hint="run 'custody verify'")
    return outline


def _unpacked(kept: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(kept, BODY_BYTES_MAX)
    except zlib.error as error:
        raise DamagedStoreError(f"a body cannot be unpacked: {error}", hint="run 'custody verify'") from error
    if not unpacker.eof or unpacker.unused_data:
        raise DamagedStoreError(
            "a body is cut short, too large or has bytes behind its end", hint="run 'custody verify'"
        )
    return data


PAGE = 500
"""Rows read at a time: bounds memory, not answers."""
NAMES = 400
"""Records asked for by two values each at a time: a statement of SQLite may hold 999."""
BODY_BYTES_TOGETHER = 65_536
"""Bodies up to this long are put together; a longer one has a statement of its own."""
PAYLOADS = 50
"""Payloads read at a time; one may be as large as an event may be."""

PULLED = "pulled:"
"""How the names of settings begin that say of a chain that it was pulled."""

T = TypeVar("T")

# From one store's first record to the next one's: DISTINCT would look at every record.
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


@dataclass(frozen=True, slots=True)
class Body:
    """Stored bytes by digest; None when erased, or when another store withheld them and gave an ``outline``."""

    digest: Digest
    data: bytes | None
    outline: bytes | None = None


@dataclass(frozen=True, slots=True)
class KnownEvents:
    """Events and observations with their content that are in a chain already."""

    events: set[EventId]
    contents: set[tuple[NaturalKey, Digest]]

    def holds(self, entry: RecordDraft) -> bool:
        """Whether this very event, or the same observation with the same content, is among them."""
        return entry.event in self.events or (entry.key, entry.digest) in self.contents

    def add(self, entry: RecordDraft) -> None:
        """One more."""
        self.events.add(entry.event)
        self.contents.add((entry.key, entry.digest))


class Tables:
    """Rows in and out, in the model's types."""

    def __init__(self, db: Db) -> None:
        self.db = db

    def chains(self) -> list[ChainTip]:
        """The head of every chain that holds a record, by store id."""
        stores = self.db.rows(_STORES)
        heads = (self.head(StoreId(str(store))) for (store,) in stores)
        return [head for head in heads if head.seq > 0]

    def head(self, store: StoreId) -> ChainTip:
        """How far ``store``'s chain reaches here."""
        last = self.db.rows("SELECT seq, link FROM record WHERE store_id = ? ORDER BY seq DESC LIMIT 1", (store,))
        return ChainTip(store, Seq(integer(last[0][0])), Link(raw(last[0][1]))) if last else empty_head(store)

    def records(self, store: StoreId, *, after: int = 0) -> Iterator[Record]:
        """The records of one chain in order, from the one behind ``after``."""
        while page := self.records_after(store, after, PAGE):
            yield from page
            after = page[-1].seq

    def records_where(self, where: str, values: Sequence[SqlValue]) -> list[Record]:
        """The records for which one of this package's own conditions holds."""
        return [_record(row) for row in self.db.rows(f"SELECT {_RECORD} FROM record WHERE {where}", values)]

    def forks(self) -> list[Record]:
        """Records that claim a place which another record has."""
        return [_record(row) for row in self.db.rows(f"SELECT {_RECORD} FROM fork ORDER BY store_id, seq, link")]

    def record(self, ref: RecordRef) -> Record | None:
        """One record by its place."""
        found = self.db.rows(f"SELECT {_RECORD} FROM record WHERE store_id = ? AND seq = ?", (ref.store, int(ref.seq)))
        return _record(found[0]) if found else None

    def records_after(self, store: StoreId, seq: int, limit: int) -> list[Record]:
        """The next records of a chain behind ``seq``, at most ``limit``."""
        rows = self.db.rows(
            f"SELECT {_RECORD} FROM record WHERE store_id = ? AND seq > ? ORDER BY seq LIMIT ?", (store, seq, limit)
        )
        return [_record(row) for row in rows]

    def owned(self) -> set[StoreId]:
        """The chains that this database appends to or once appended to."""
        return {StoreId(str(row[0])) for row in self.db.rows("SELECT store_id FROM chain WHERE owned = 1")}

    def pulled(self) -> set[StoreId]:
        """The chains that came from a remote that the user named, not from a file."""
        rows = self.db.rows("SELECT name FROM setting WHERE name LIKE ?", (f"{PULLED}%",))
        return {StoreId(str(name).removeprefix(PULLED)) for (name,) in rows}

    def mark_pulled(self, store: StoreId) -> None:
        """Inside a write: remember that a chain came from a remote."""
        self.db.run(
            "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (f"{PULLED}{store}", "1")
        )

    def newest(self, limit: int, kind: str | None) -> list[Record]:
        """The records that claim the latest moments, latest first, perhaps only of one kind."""
        where, values = ("WHERE kind = ?", (kind,)) if kind is not None else ("", ())
        rows = self.db.rows(
            f"SELECT {_RECORD} FROM record {where} ORDER BY at_ns DESC, store_id DESC, seq DESC LIMIT ?",
            (*values, limit),
        )
        return [_record(row) for row in rows]

    def reindex(self, record: Record, payload: Json) -> None:
        """Note again what a record says about bodies: the texts that it holds, and the one that it erased."""
        self.put_parts_of(record)
        if record.entry.kind == ERASED:
            for digest in read_erased_digest(payload):
                self.put_erasure(digest, record.ref)

    def records_of_kind(self, kind: str) -> Iterator[Record]:
        """The records of one kind, chain by chain."""
        for head in self.chains():
            yield from (record for record in self.records(head.store) if record.entry.kind == kind)

    def records_lost(self) -> list[Record]:
        """The records that say that something could not be recorded."""
        return self.records_where("natural_key >= ? AND natural_key < ?", (f"{LOST}:", f"{LOST};"))

    def records_holding(self, digest: Digest) -> list[Record]:
        """The records whose payload is this body or holds it as a text."""
        rows = self.db.rows(
            f"SELECT {_RECORD} FROM record WHERE digest = ? OR digest IN (SELECT body FROM part WHERE text = ?)",
            (digest, digest),
        )
        return [_record(row) for row in rows]

    def is_known(self, entry: RecordDraft) -> bool:
        """Whether this very event, or the same observation with the same content, is in a chain already."""
        return bool(
            self.db.rows("SELECT 1 FROM record WHERE event_id = ? LIMIT 1", (entry.event,))
            or self.db.rows(
                "SELECT 1 FROM record WHERE natural_key = ? AND digest = ? LIMIT 1", (entry.key, entry.digest)
            )
        )

    def known_among(self, entries: Iterable[RecordDraft]) -> KnownEvents:
        """Which of these events and observations are in a chain already: ``is_known`` for many."""
        known = KnownEvents(set(), set())
        for batch in split_batches(entries, NAMES):
            events, keys, digests = zip(*((draft.event, draft.key, draft.digest) for draft in batch), strict=True)
            marks = ", ".join("?" * len(batch))
            for (event,) in self.db.rows(f"SELECT event_id FROM record WHERE event_id IN ({marks})", events):
                known.events.add(EventId(str(event)))
            for key, digest in self.db.rows(
                f"SELECT natural_key, digest FROM record WHERE natural_key IN ({marks}) AND digest IN ({marks})",
                (*keys, *digests),
            ):
                known.contents.add((NaturalKey(str(key)), Digest(raw(digest))))
        return known

    def records_named(self, name: str) -> list[Record]:
        """The records with this event id or this natural key, oldest first."""
        found = self.db.rows(f"SELECT {_RECORD} FROM record WHERE event_id = ?", (name,)) or self.db.rows(
            f"SELECT {_RECORD} FROM record WHERE natural_key = ?", (name,)
        )
        return sorted((_record(row) for row in found), key=lambda record: (record.entry.at_ns, record.ref))

    def bodies(self, digests: Collection[Digest]) -> dict[Digest, Body]:
        """The bodies with these digests, as far as they are held here."""
        found: dict[Digest, Body] = {}
        for some in split_batches(sorted(digests), PAGE):
            marks = ", ".join("?" * len(some))
            for row in self.db.rows(f"SELECT digest, codec, bytes FROM body WHERE digest IN ({marks})", some):
                body = _body(row)
                found[body.digest] = body
        return found

    def parts_of(self, payloads: Collection[Digest]) -> set[Digest]:
        """The texts that these payloads hold, as the index of bodies has it."""
        found: set[Digest] = set()
        for some in split_batches(sorted(payloads), PAGE):
            marks = ", ".join("?" * len(some))
            rows = self.db.rows(f"SELECT text FROM part WHERE body IN ({marks})", some)
            found.update(Digest(raw(row[0])) for row in rows)
        return found

    def held(self, digests: Collection[Digest]) -> set[Digest]:
        """Which of these bodies have a row, erased or not."""
        found: set[Digest] = set()
        for some in split_batches(sorted(digests), PAGE):
            marks = ", ".join("?" * len(some))
            rows = self.db.rows(f"SELECT digest FROM body WHERE digest IN ({marks})", some)
            found.update(Digest(raw(row[0])) for row in rows)
        return found

    def body_count(self) -> int:
        """How many bodies there are, erased ones too."""
        return integer(self.db.rows("SELECT count(*) FROM body")[0][0])

    def record_count(self) -> int:
        """How many records there are, in all chains."""
        return integer(self.db.rows("SELECT count(*) FROM record")[0][0])

    def count_after(self, at_ns: int) -> int:
        """How many records claim a later moment."""
        return integer(self.db.rows("SELECT count(*) FROM record WHERE at_ns > ?", (at_ns,))[0][0])

    def second_observations(self, limit: int) -> list[tuple[NaturalKey, int]]:
        """What was observed more than once with different content, and how often."""
        rows = self.db.rows(
            "SELECT natural_key, count(DISTINCT digest) FROM record GROUP BY natural_key"
            " HAVING count(DISTINCT digest) > 1 ORDER BY natural_key LIMIT ?",
            (limit,),
        )
        return [(NaturalKey(str(key)), integer(count)) for key, count in rows]

    def digests_like(self, digits: str) -> list[Digest]:
        """The bodies whose digest begins with these hex digits, at most a few."""
        low = bytes.fromhex(digits.ljust(64, "0"))
        high = bytes.fromhex(digits.ljust(64, "f"))
        rows = self.db.rows("SELECT digest FROM body WHERE digest BETWEEN ? AND ? ORDER BY digest LIMIT 5", (low, high))
        return [Digest(raw(row[0])) for row in rows]

    def body_digests(self) -> Iterator[Digest]:
        """The digest of every body, in order."""
        after = b""
        while page := self.db.rows("SELECT digest FROM body WHERE digest > ? ORDER BY digest LIMIT ?", (after, PAGE)):
            digests = [Digest(raw(row[0])) for row in page]
            yield from digests
            after = digests[-1]

    def payload(self, record: Record) -> Json:
        """What a record says, its long texts in place; None when it was erased."""
        return self.payloads([record])[record.ref]

    def payloads(self, records: Sequence[Record]) -> dict[RecordRef, Json]:
        """What each of these records says, in their order."""
        bodies = self.bodies({record.entry.digest for record in records})
        values = {digest: None if body.data is None else _payload(body.data) for digest, body in bodies.items()}
        texts = self.bodies({text for value in values.values() for text in parts(value)})
        contents = {digest: body.data for digest, body in texts.items()}
        return {record.ref: join(values.get(record.entry.digest), contents) for record in records}

    def put_record(self, record: Record) -> None:
        """Add a record at its place."""
        self.db.run(_PUT_RECORD, _record_row(record))

    def put_records(self, records: Sequence[Record]) -> None:
        """Add records at their places."""
        self.db.many(_PUT_RECORD, [_record_row(record) for record in records])

    def put_fork(self, record: Record) -> None:
        """Keep a record whose place is taken."""
        self.db.run(
            f"INSERT INTO fork ({_RECORD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", _record_row(record)
        )

    def put_body(self, digest: Digest, data: bytes | None) -> bool:
        """Keep bytes by their digest; what was erased here stays erased. True when bytes came back that were gone."""
        codec, kept = (PLAIN, None) if data is None else encode(data)
        return self._put_body(digest, codec, kept)

    def put_bodies(self, bodies: Mapping[Digest, bytes]) -> list[Digest]:
        """Keep bytes by their digests, as ``put_body`` does; those of which bytes came back that were gone."""
        held = self.held(bodies)
        rows: list[Row] = []
        returned: list[Digest] = []
        for digest, data in bodies.items():
            if digest not in held and len(data) <= BODY_BYTES_TOGETHER:
                rows.append((digest, *encode(data)))
            elif self.put_body(digest, data):
                returned.append(digest)
        for some in split_batches(rows, PAGE):
            self.db.many("INSERT INTO body (digest, codec, bytes) VALUES (?, ?, ?)", some)
        return returned

    def put_outline(self, digest: Digest, outline: bytes) -> bool:
        """Keep what a withheld body says without its texts, unless more of it is here; as ``put_body`` else."""
        return self._put_body(digest, OUTLINE, encode_outline(outline))

    def _put_body(self, digest: Digest, codec: str, kept: bytes | None) -> bool:
        there = self.db.rows("SELECT bytes IS NULL, codec FROM body WHERE digest = ?", (digest,))
        if not there:
            self.db.run("INSERT INTO body (digest, codec, bytes) VALUES (?, ?, ?)", (digest, codec, kept))
            return False
        is_less = there[0][0] or (there[0][1] == OUTLINE and codec != OUTLINE)
        if is_less and kept is not None and not self.erased_here(digest):
            self.db.run("UPDATE body SET codec = ?, bytes = ? WHERE digest = ?", (codec, kept, digest))
            return True
        return False

    def outline(self, digest: Digest) -> bytes | None:
        """What a withheld body says without its texts; None of every other body."""
        rows = self.db.rows("SELECT bytes FROM body WHERE digest = ? AND codec = ?", (digest, OUTLINE))
        return decode_outline(raw(rows[0][0])) if rows and rows[0][0] is not None else None

    def drop_outline(self, digest: Digest) -> bool:
        """Empty a withheld body; False when it is none."""
        if self.outline(digest) is None:
            return False
        self.db.run("UPDATE body SET bytes = NULL WHERE digest = ?", (digest,))
        return True

    def withheld_count(self) -> int:
        """Of how many bodies only an outline is here."""
        return integer(
            self.db.rows("SELECT count(*) FROM body WHERE codec = ? AND bytes IS NOT NULL", (OUTLINE,))[0][0]
        )

    def erased_here(self, digest: Digest) -> bool:
        """Whether a chain of this database's own says that the body was erased."""
        return bool(
            self.db.rows(
                "SELECT 1 FROM erasure JOIN chain ON chain.store_id = erasure.store_id"
                " WHERE erasure.digest = ? AND chain.owned = 1 LIMIT 1",
                (digest,),
            )
        )

    def is_erased(self, digest: Digest) -> bool:
        """Whether a record of any chain says that the body was erased."""
        return bool(self.db.rows("SELECT 1 FROM erasure WHERE digest = ? LIMIT 1", (digest,)))

    def put_parts(self, held: Iterable[tuple[Digest, Digest]]) -> None:
        """Note which payload holds which text."""
        self.db.many("INSERT INTO part (body, text) VALUES (?, ?) ON CONFLICT DO NOTHING", list(held))

    def put_parts_of(self, record: Record) -> None:
        """Note which texts a copied record's payload holds."""
        body = self.bodies([record.entry.digest]).get(record.entry.digest)
        if body is not None and body.data is not None:
            self.put_parts((record.entry.digest, text) for text in parts(_payload(body.data)))

    def put_erasure(self, digest: Digest, ref: RecordRef) -> None:
        """Note that the record ``ref`` says ``digest`` was erased."""
        self.db.run(
            "INSERT INTO erasure (digest, store_id, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (digest, ref.store, int(ref.seq)),
        )


def read_erased_digest(payload: Json) -> list[Digest]:
    """The digest that an ``erased`` record's payload names, if it names one."""
    if isinstance(payload, dict) and isinstance(digest := payload.get("digest"), str):
        return [digest_from(digest)]
    return []


def split_batches(items: Iterable[T], size: int = PAYLOADS) -> Iterator[list[T]]:
    """The items in lists of at most ``size``."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def _record_row(record: Record) -> Row:
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


def _record(row: Row) -> Record:
    store, seq, event, kind, key, at_ns, digest, link = row
    entry = RecordDraft(EventId(str(event)), str(kind), NaturalKey(str(key)), integer(at_ns), Digest(raw(digest)))
    return Record(StoreId(str(store)), Seq(integer(seq)), entry, Link(raw(link)))


def _body(row: Row) -> Body:
    digest, codec, kept = row
    if codec == OUTLINE and kept is not None:
        return Body(Digest(raw(digest)), None, decode_outline(raw(kept)))
    return Body(Digest(raw(digest)), None if kept is None else decode(str(codec), raw(kept)))


def _payload(data: bytes) -> Json:
    try:
        return parse(data, bytes_max=BODY_BYTES_MAX)
    except InputError as error:
        raise DamagedStoreError(
            f"a record's payload is not what was stored: {error}", hint="run 'custody verify'"
        ) from error


def integer(value: SqlValue) -> int:
    """A number from a row."""
    if not isinstance(value, int):
        raise DamagedStoreError("a number is missing from a row", hint="run 'custody verify'")
    return value


def key_digest(text: str) -> Digest:
    """What stands in a table for a text that may be long: a key or a hint of a source."""
    return digest_of(text.encode("utf-8", "surrogatepass"))


def raw(value: SqlValue) -> bytes:
    """Bytes from a row."""
    if not isinstance(value, bytes):
        raise DamagedStoreError("bytes are missing from a row", hint="run 'custody verify'")
    return value
