"""Which spans and which observations a store has, asked for many at once."""

from collections.abc import Collection, Iterator

from custody.core.ids import Digest, ExecutionId, NaturalKey, RecordRef, Seq, StoreId
from custody.store import Store
from custody.store.db import SqlValue
from custody.store.tables import integer, raw, split_batches

PAIRS = 250
"""Spans asked for at a time: a statement may hold 999 values."""

SpanObservations = dict[NaturalKey, dict[Digest, list[RecordRef]]]
"""The records of an observation by what they say."""


class SpanTables:
    """Rows of spans, read."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    def there(self, spans: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
        """Which of these spans, by execution and id, anything was recorded of."""
        found: set[tuple[str, str]] = set()
        for some in split_batches(sorted(spans), PAIRS):
            marks = ", ".join(["(?, ?)"] * len(some))
            values: list[SqlValue] = [part for pair in some for part in pair]
            # A plain IN over pairs would look at every span there is.
            rows = self._db.rows(
                f"WITH wanted (of, id) AS (VALUES {marks}) SELECT of, id FROM wanted"
                " WHERE EXISTS (SELECT 1 FROM span WHERE execution = wanted.of AND span = wanted.id)",
                values,
            )
            found.update((str(execution), str(span)) for execution, span in rows)
        return found

    def observed(self, keys: Collection[NaturalKey]) -> SpanObservations:
        """What was recorded under these natural keys."""
        found: SpanObservations = {}
        for some in split_batches(sorted(keys), 2 * PAIRS):
            marks = ", ".join("?" * len(some))
            sql = f"SELECT natural_key, digest, store_id, seq FROM record WHERE natural_key IN ({marks})"
            for key, digest, store, seq in self._db.rows(sql, some):
                refs = found.setdefault(NaturalKey(str(key)), {}).setdefault(Digest(raw(digest)), [])
                refs.append(RecordRef(StoreId(str(store)), Seq(integer(seq))))
        return found

    def executions(self) -> Iterator[ExecutionId]:
        """Every execution, in order, one question for each."""
        last = ""
        while rows := self._db.rows("SELECT min(execution) FROM span WHERE execution > ?", (last,)):
            if rows[0][0] is None:
                return
            last = str(rows[0][0])
            yield ExecutionId(last)

    def count(self) -> int:
        """How many records tell of spans."""
        return integer(self._db.rows("SELECT count(*) FROM span")[0][0])
