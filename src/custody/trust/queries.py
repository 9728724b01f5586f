"""SQL over decisions and stored trust; may touch ``store``."""

from collections.abc import Collection, Mapping, Sequence

from custody.core.ids import AgentName, NaturalKey, RecordRef, Seq, StoreId
from custody.core.record import Record
from custody.core.views import Decision
from custody.store import DerivedTables, ObservedView, Store
from custody.store.db import Row, SqlValue
from custody.store.tables import PAGE, integer_from_sql, split_row_batches

# SQL about decisions.


def list_all_decisions(store: Store) -> list[ObservedView[Decision]]:
    """Return every decision about every agent."""
    return store.views.look_up(Decision, "1 = 1", ())


def list_agent_decisions(store: Store, agent: str) -> list[ObservedView[Decision]]:
    """Return the decisions about an agent."""
    return store.views.look_up(Decision, "agent = ?", (agent,))


def list_decisions_after(store: Store, agent: str, chain: StoreId, seq: int) -> list[ObservedView[Decision]]:
    """Return the decisions about an agent that a chain records after ``seq``."""
    return store.views.look_up(Decision, "agent = ? AND store_id = ? AND seq > ?", (agent, chain, seq))


def decisions_on_commit(store: Store, name: str) -> list[ObservedView[Decision]]:
    """Return the decisions about a commit, as the commit or as the head of a change."""
    return store.views.look_up(Decision, "commit_sha = ? OR head = ?", (name, name))


def decisions_with_patch(store: Store, patch: str) -> list[ObservedView[Decision]]:
    """Return the decisions about changes with a patch identity."""
    return store.views.look_up(Decision, "patch = ?", (patch,))


def list_decision_corrections(store: Store, agent: str, target: str) -> list[ObservedView[Decision]]:
    """Return the decisions that override or revert a decision about an agent."""
    return store.views.look_up(Decision, "agent = ? AND target = ?", (agent, target))


def list_unreviewed_decisions(store: Store, since_ns: int) -> list[ObservedView[Decision]]:
    """Return the changes that were merged without review after a time."""
    return store.views.look_up(Decision, "unreviewed = 1 AND at_ns > ?", (since_ns,))


# The cache of scores, so that a query need not fold every decision again, and lookups of decisions. A row is a function
# of decisions and rules; the whole cache is cleared when decisions are indexed again.


TRUST = "trust"
"""The name of the watermark that counts how often the cache was cleared."""

# Jump from one agent's first decision to the next agent's: DISTINCT would read every decision.
_AGENTS = """
    WITH RECURSIVE found (agent) AS (
        SELECT min(agent) FROM decision
        UNION ALL
        SELECT (SELECT min(agent) FROM decision WHERE agent > found.agent) FROM found WHERE found.agent IS NOT NULL
    )
    SELECT agent FROM found WHERE agent IS NOT NULL ORDER BY agent
"""


class ScoreTables(DerivedTables):
    """The stored scores, and lookups of decisions."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    def agents(self) -> list[AgentName]:
        """Return all agents with decisions, by name."""
        return [AgentName(str(agent)) for (agent,) in self._db.rows(_AGENTS)]

    def decisions(self, agent: str | None = None) -> int:
        """Return the number of decisions, about one agent or all."""
        where, values = ("1 = 1", ()) if agent is None else ("agent = ?", (agent,))
        (row,) = self._db.rows(f"SELECT count(*) FROM decision WHERE {where}", values)
        return integer_from_sql(row[0])

    def find_score(self, agent: str, rules: str) -> str | None:
        """Return the stored score of an agent under these rules."""
        rows = self._db.rows("SELECT folded FROM trust_standing WHERE agent = ? AND rules = ?", (agent, rules))
        return str(rows[0][0]) if rows else None

    def store_score(self, agent: str, rules: str, folded: str, *, generation: int) -> None:
        """Store a score inside a write, unless the cache was cleared since ``generation`` was read."""
        if self.generation() != generation:
            return
        self._db.run(
            "INSERT INTO trust_standing (agent, rules, folded) VALUES (?, ?, ?)"
            " ON CONFLICT (agent, rules) DO UPDATE SET folded = excluded.folded",
            (agent, rules, folded),
        )

    def generation(self) -> int:
        """Return how often the cache was cleared."""
        rows = self._db.rows("SELECT seq FROM state WHERE view = ? AND store_id = ''", (TRUST,))
        return integer_from_sql(rows[0][0]) if rows else 0

    def forget(self) -> None:
        """Clear the cache inside a write, so that scores read before are not stored either."""
        self._db.run("DELETE FROM trust_standing")
        self._db.run(
            "INSERT INTO state (view, store_id, seq, version) VALUES (?, '', ?, '')"
            " ON CONFLICT (view, store_id) DO UPDATE SET seq = excluded.seq",
            (TRUST, self.generation() + 1),
        )

    def forget_views(self, store: StoreId) -> None:
        """Clear the cache before decisions of a chain are indexed again."""
        self.forget()

    def read_again(self, records: Sequence[Record]) -> None:
        """Clear the cache when a decision may have been erased or restored."""
        self.forget()

    def find_decision_records(self, agent: str, column: str, names: Collection[str]) -> set[RecordRef]:
        """Return the records of decisions about ``agent`` with one of ``names`` in a column."""
        refs: set[RecordRef] = set()
        for batch in split_row_batches(sorted(names), PAGE):
            marks = ", ".join("?" * len(batch))
            values: Sequence[SqlValue] = (agent, *batch)
            refs |= _decision_refs_from_rows(
                self._db.rows(f"SELECT store_id, seq FROM decision WHERE agent = ? AND {column} IN ({marks})", values)
            )
        return refs

    def has_since(self, agent: str, read: Mapping[StoreId, int]) -> bool:
        """Return whether a decision about ``agent`` was recorded after these positions of the chains."""
        return any(
            self._db.rows(
                "SELECT 1 FROM decision WHERE agent = ? AND store_id = ? AND seq > ? LIMIT 1", (agent, store, seq)
            )
            for store, seq in read.items()
        )

    def list_erased(self) -> list[tuple[NaturalKey, int]]:
        """Return the key and the time of each erased decision, which the chain still has."""
        rows = self._db.rows(
            "SELECT DISTINCT natural_key, at_ns FROM record WHERE kind = 'decision' AND digest IN"
            " (SELECT erasure.digest FROM erasure JOIN body ON body.digest = erasure.digest WHERE body.bytes IS NULL)"
        )
        return [(NaturalKey(str(key)), integer_from_sql(at_ns)) for key, at_ns in rows]

    def newest_ns(self) -> int:
        """Return the latest time that any record claims."""
        rows = self._db.rows("SELECT max(at_ns) FROM record")
        return 0 if rows[0][0] is None else integer_from_sql(rows[0][0])


def _decision_refs_from_rows(rows: Sequence[Row]) -> set[RecordRef]:
    return {RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq))) for store, seq in rows}
