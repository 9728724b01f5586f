"""SQL over decisions and stored trust; may touch ``store``."""

from collections.abc import Collection, Mapping, Sequence

from custody.core.ids import AgentName, NaturalKey, RecordRef, Seq, StoreId
from custody.core.record import Record
from custody.core.views import Decision
from custody.store import DerivedTables, ObservedView, Store
from custody.store.db import Row, SqlValue
from custody.store.tables import PAGE, integer, split_batches

# SQL about decisions.


def all_decisions(store: Store) -> list[ObservedView[Decision]]:
    """Return every decision about every agent."""
    return store.views.look_up(Decision, "1 = 1", ())


def decisions_of_agent(store: Store, agent: str) -> list[ObservedView[Decision]]:
    """Return the decisions about an agent."""
    return store.views.look_up(Decision, "agent = ?", (agent,))


def decisions_after(store: Store, agent: str, chain: StoreId, seq: int) -> list[ObservedView[Decision]]:
    """Return the decisions about an agent that a chain records after ``seq``."""
    return store.views.look_up(Decision, "agent = ? AND store_id = ? AND seq > ?", (agent, chain, seq))


def decisions_on_commit(store: Store, name: str) -> list[ObservedView[Decision]]:
    """Return the decisions about a commit, as the commit or as the head of a change."""
    return store.views.look_up(Decision, "commit_sha = ? OR head = ?", (name, name))


def corrections_of_decision(store: Store, agent: str, target: str) -> list[ObservedView[Decision]]:
    """Return the decisions that override or revert a decision about an agent."""
    return store.views.look_up(Decision, "agent = ? AND target = ?", (agent, target))


def unreviewed_decisions(store: Store, since_ns: int) -> list[ObservedView[Decision]]:
    """Return the changes that were merged without review after a time."""
    return store.views.look_up(Decision, "unreviewed = 1 AND at_ns > ?", (since_ns,))


# Where agents stood, kept so that a question need not fold every decision again; and decisions by what they name.
# No truth lives here: a row is a function of decisions and rules. Whoever makes rows of decisions again lets go of
# all.


TRUST = "trust"
"""The watermark's name under which it is counted how often everything was let go of."""

# From one agent's first decision to the next one's: DISTINCT would look at every decision.
_AGENTS = """
    WITH RECURSIVE found (agent) AS (
        SELECT min(agent) FROM decision
        UNION ALL
        SELECT (SELECT min(agent) FROM decision WHERE agent > found.agent) FROM found WHERE found.agent IS NOT NULL
    )
    SELECT agent FROM found WHERE agent IS NOT NULL ORDER BY agent
"""


class StandingTables(DerivedTables):
    """Rows of trust in and out."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    def agents(self) -> list[AgentName]:
        """Everybody about whom a decision was recorded, by name."""
        return [AgentName(str(agent)) for (agent,) in self._db.rows(_AGENTS)]

    def decisions(self, agent: str | None = None) -> int:
        """How many decisions were recorded, about one agent or about whomever."""
        where, values = ("1 = 1", ()) if agent is None else ("agent = ?", (agent,))
        (row,) = self._db.rows(f"SELECT count(*) FROM decision WHERE {where}", values)
        return integer(row[0])

    def kept(self, agent: str, rules: str) -> str | None:
        """What was kept of an agent under these rules."""
        rows = self._db.rows("SELECT folded FROM trust_standing WHERE agent = ? AND rules = ?", (agent, rules))
        return str(rows[0][0]) if rows else None

    def keep(self, agent: str, rules: str, folded: str, *, generation: int) -> None:
        """Inside a write: keep it, unless everything was let go of since ``generation`` was read."""
        if self.generation() != generation:
            return
        self._db.run(
            "INSERT INTO trust_standing (agent, rules, folded) VALUES (?, ?, ?)"
            " ON CONFLICT (agent, rules) DO UPDATE SET folded = excluded.folded",
            (agent, rules, folded),
        )

    def generation(self) -> int:
        """How often everything was let go of."""
        rows = self._db.rows("SELECT seq FROM state WHERE view = ? AND store_id = ''", (TRUST,))
        return integer(rows[0][0]) if rows else 0

    def forget(self) -> None:
        """Inside a write: let go of everything, and of what somebody is about to keep."""
        self._db.run("DELETE FROM trust_standing")
        self._db.run(
            "INSERT INTO state (view, store_id, seq, version) VALUES (?, '', ?, '')"
            " ON CONFLICT (view, store_id) DO UPDATE SET seq = excluded.seq",
            (TRUST, self.generation() + 1),
        )

    def forget_views(self, store: StoreId) -> None:
        """Inside a write: the same when decisions of a chain are about to be made again."""
        self.forget()

    def read_again(self, records: Sequence[Record]) -> None:
        """Inside a write: the same when a decision may have been erased or have come back."""
        self.forget()

    def named(self, agent: str, column: str, names: Collection[str]) -> set[RecordRef]:
        """The records of decisions about ``agent`` with one of ``names`` in a column."""
        found: set[RecordRef] = set()
        for some in split_batches(sorted(names), PAGE):
            marks = ", ".join("?" * len(some))
            values: Sequence[SqlValue] = (agent, *some)
            found |= _refs(
                self._db.rows(f"SELECT store_id, seq FROM decision WHERE agent = ? AND {column} IN ({marks})", values)
            )
        return found

    def has_since(self, agent: str, read: Mapping[StoreId, int]) -> bool:
        """Whether something was decided about ``agent`` behind these places of the chains."""
        return any(
            self._db.rows(
                "SELECT 1 FROM decision WHERE agent = ? AND store_id = ? AND seq > ? LIMIT 1", (agent, store, seq)
            )
            for store, seq in read.items()
        )

    def imported(self, event: str) -> int:
        """How many decisions came from elsewhere: their event's name begins so, or their chain was copied here."""
        rows = self._db.rows(
            "SELECT count(*) FROM decision JOIN record"
            " ON record.store_id = decision.store_id AND record.seq = decision.seq WHERE record.event_id LIKE ?"
            " OR decision.store_id NOT IN (SELECT store_id FROM chain WHERE owned = 1)",
            (f"{event}%",),
        )
        return integer(rows[0][0])

    def erased(self) -> list[tuple[NaturalKey, int]]:
        """The decisions that say nothing any more: the key and the moment of each, which the chain keeps."""
        rows = self._db.rows(
            "SELECT DISTINCT natural_key, at_ns FROM record WHERE kind = 'decision' AND digest IN"
            " (SELECT erasure.digest FROM erasure JOIN body ON body.digest = erasure.digest WHERE body.bytes IS NULL)"
        )
        return [(NaturalKey(str(key)), integer(at_ns)) for key, at_ns in rows]

    def newest_ns(self) -> int:
        """The latest moment that any record claims."""
        rows = self._db.rows("SELECT max(at_ns) FROM record")
        return 0 if rows[0][0] is None else integer(rows[0][0])


def _refs(rows: Sequence[Row]) -> set[RecordRef]:
    return {RecordRef(StoreId(str(store)), Seq(integer(seq))) for store, seq in rows}
