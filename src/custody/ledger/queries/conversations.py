"""Which bodies are texts of conversations and of nothing else.

A conversation is what was asked, and what records of a session hold that nothing rests on. This file is the only one
that says what rests on a record: an edit, a state of a file, a commit, a source, a decision, a call.
"""

from collections.abc import Iterator

from custody.core.ids import Digest, NaturalKey, RecordRef, Seq, StoreId
from custody.store import Store
from custody.store.tables import integer, raw

_RESTS = (
    "file_edit file_state traced_file edit_hash commit_link commit_seen pull_request_fact source_read tool_call"
    " decision duplicate_answer source change span"
).split()
"""Views by which something is concluded: a record that gives one of them stays."""


class ConversationTables:
    """Old conversations, found by the views of their records."""

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._tables = store.tables

    def bodies_before(self, at_ns: int) -> list[Digest]:
        """The bodies, not erased yet, that only records of conversations from before a moment hold; in order."""
        old = self._records_before(at_ns)
        wanted = {digest for ref in old for digest in self._bodies_of(ref)}
        return sorted(d for d in wanted if all(held.ref in old for held in self._tables.records_holding(d)))

    def erased(self, after_ns: int, until_ns: int) -> list[tuple[NaturalKey, RecordRef]]:
        """The records of a time that say nothing any more, by their keys, the latest first."""
        rows = self._db.rows(
            "SELECT natural_key, store_id, seq FROM record WHERE at_ns > ? AND at_ns <= ? AND digest IN"
            " (SELECT erasure.digest FROM erasure JOIN body ON body.digest = erasure.digest WHERE body.bytes IS NULL)"
            " ORDER BY at_ns DESC, store_id DESC, seq DESC",
            (after_ns, until_ns),
        )
        return [(NaturalKey(str(key)), RecordRef(StoreId(str(store)), Seq(integer(seq)))) for key, store, seq in rows]

    def _records_before(self, at_ns: int) -> set[RecordRef]:
        # Who opened a session is no text, unless the same record holds what was asked.
        rows = (*self._told_in("prompt", _RESTS, at_ns), *self._told_in("observation", ("session", *_RESTS), at_ns))
        return set(rows)

    def _told_in(self, table: str, rests: tuple[str, ...] | list[str], at_ns: int) -> Iterator[RecordRef]:
        alone = " AND ".join(
            f"NOT EXISTS (SELECT 1 FROM {name} AS rest WHERE rest.store_id = told.store_id AND rest.seq = told.seq)"
            for name in rests
        )
        rows = self._db.rows(
            f"SELECT DISTINCT store_id, seq FROM {table} AS told WHERE at_ns < ? AND {alone}", (at_ns,)
        )
        for store, seq in rows:
            yield RecordRef(StoreId(str(store)), Seq(integer(seq)))

    def _bodies_of(self, ref: RecordRef) -> list[Digest]:
        rows = self._db.rows(
            "SELECT body.digest FROM body JOIN record ON record.digest = body.digest"
            " WHERE store_id = ? AND seq = ? AND bytes IS NOT NULL"
            " UNION SELECT body.digest FROM body JOIN part ON part.text = body.digest"
            " JOIN record ON record.digest = part.body WHERE store_id = ? AND seq = ? AND bytes IS NOT NULL",
            (ref.store, int(ref.seq), ref.store, int(ref.seq)),
        )
        return [Digest(raw(digest)) for (digest,) in rows]
