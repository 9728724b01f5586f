"""The score of an agent from the cache and the decisions since; anything out of order is folded again.

Approvals do not use the cache: they fold the records themselves.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from custody.core.ids import AgentName, RecordRef, Seq, StoreId
from custody.store import Store, StoreUnwritable
from custody.trust.app.decisions import (
    TrustQuery,
    decision_entries_from_views,
    read_decision_entries,
    read_settled_decisions,
)
from custody.trust.engine import can_follow_fold, fold_entries, make_empty_fold, settle_score_state
from custody.trust.model import CurrentModel, DecisionEntry, Entry, FoldState, ScoreState
from custody.trust.queries import ScoreTables, list_decisions_after
from custody.trust.wire import StoredScore, decode_stored_score, encode_stored_score

VERSION = 1
"""The version of the fold: raised when the same entries and rules give another state."""
TAIL_MAX = 100
"""The number of decisions folded again at each query before the result is stored."""


class Position(Struct, frozen=True):
    """A fold with its position in each chain; ``fresh`` counts decisions that are not in the cache."""

    folded: FoldState
    read: Mapping[StoreId, int]
    fresh: int = 0


def read_score_state(store: Store, agent: str, query: TrustQuery) -> ScoreState:
    """Return the score of ``agent``; the fold is stored for the next query if the store is writable."""
    with read_settled_decisions(store):
        generation = ScoreTables(store).generation()
        position = read_fold_position(store, agent, query)
    store_due_score(store, agent, query, position, generation)
    return settle_score_state(AgentName(agent), position.folded, query.now_ns, query.rules)


def read_fold_position(store: Store, agent: str, query: TrustQuery) -> Position:
    """Fold all decisions about ``agent``, from the cache if possible; call it inside one read transaction."""
    stored = _read_stored_score(store, agent, query)
    return fold_agent_decisions(store, agent, query) if stored is None else continue_fold(store, agent, query, stored)


def fold_agent_decisions(
    store: Store,
    agent: str,
    query: TrustQuery,
    running: CurrentModel | None = None,
    counting: Sequence[Entry] | None = None,
) -> Position:
    """Fold all decisions about ``agent`` without the cache, or only those that are ``counting``."""
    entries = read_decision_entries(store, agent) if counting is None else counting
    folded = fold_entries(AgentName(agent), make_empty_fold(query.rules), entries, query.rules, running=running).folded
    return Position(folded, _read_decision_chains(store), len(entries))


def continue_fold(
    store: Store, agent: str, query: TrustQuery, position: Position, running: CurrentModel | None = None
) -> Position:
    """Fold all decisions, starting from ``position`` if the decisions since allow it."""
    read = _read_decision_chains(store)
    if any(seq > read.get(chain, 0) for chain, seq in position.read.items()):
        # A chain was truncated or replaced.
        return fold_agent_decisions(store, agent, query, running)
    since = {chain: position.read.get(chain, 0) for chain in read}
    if not ScoreTables(store).has_since(agent, since):
        return Position(position.folded, read, position.fresh)
    tail = [entry for chain, seq in since.items() for entry in _read_entries_after(store, agent, chain, seq)]
    if not can_continue_fold(store, agent, position.folded, tail):
        return fold_agent_decisions(store, agent, query, running)
    carried = fold_entries(AgentName(agent), position.folded, tail, query.rules, running=running)
    return Position(carried.folded, read, position.fresh + len(tail))


def is_position_current(store: Store, agent: str, position: Position) -> bool:
    """Return whether a fold still covers all decisions about ``agent``."""
    read = _read_decision_chains(store)
    if any(seq > read.get(chain, 0) for chain, seq in position.read.items()):
        return False  # a chain was truncated or replaced
    return not ScoreTables(store).has_since(agent, {chain: position.read.get(chain, 0) for chain in read})


def can_continue_fold(store: Store, agent: str, folded: FoldState, tail: list[Entry]) -> bool:
    """Return whether a fold can be continued with ``tail``: all entries are later and concern no earlier decision."""
    return can_follow_fold(folded, tail) and not _has_earlier_decision(store, agent, tail)


def _read_entries_after(store: Store, agent: str, chain: StoreId, seq: int) -> list[Entry]:
    return list(decision_entries_from_views(list_decisions_after(store, agent, chain, seq)))


def _has_earlier_decision(store: Store, agent: str, tail: list[Entry]) -> bool:
    """Return whether an entry of ``tail`` shares an id or commit with an older decision and so depends on it."""
    own = {entry.record for entry in tail}
    ids = {entry.id for entry in tail}
    heads = {name for entry in tail if isinstance(entry, DecisionEntry) and entry.unreviewed for name in entry.names}
    columns = (("id", ids), ("target", ids), ("commit_sha", heads), ("head", heads))
    return any(
        ScoreTables(store).find_decision_records(agent, column, names) - own for column, names in columns if names
    )


def _read_decision_chains(store: Store) -> dict[StoreId, int]:
    return {head.store: int(head.seq) for head in store.tables.chains()}


def _read_stored_score(store: Store, agent: str, query: TrustQuery) -> Position | None:
    text = ScoreTables(store).find_score(agent, _make_score_key(query))
    stored = None if text is None else decode_stored_score(text)
    if stored is None:
        return None
    waiting = [_read_waiting_decision(store, *place) for place in stored.waiting]
    if None in waiting:
        return None
    folded = FoldState(
        _to_score_state(stored),
        tuple(entry for entry in waiting if entry is not None),
        (stored.last_ns, stored.last_ref),
    )
    return Position(folded, {StoreId(chain): seq for chain, seq in stored.read.items()})


def _read_waiting_decision(store: Store, chain: str, seq: int, n: int) -> DecisionEntry | None:
    observed = store.views.read_view_at(RecordRef(StoreId(chain), Seq(seq)), n)
    entries = [] if observed is None else list(decision_entries_from_views([observed]))
    return entries[0] if entries and isinstance(entries[0], DecisionEntry) else None


def store_due_score(store: Store, agent: str, query: TrustQuery, position: Position, generation: int) -> None:
    """Store a fold once it has enough new decisions, unless the cache was cleared since ``generation``."""
    folded = position.folded
    if folded.last is None or position.fresh < TAIL_MAX:
        return
    state = folded.state
    stored = StoredScore(
        read={str(chain): seq for chain, seq in position.read.items()},
        last_ns=folded.last[0],
        last=(folded.last[1].store, int(folded.last[1].seq)),
        # A decision is the only view of its record.
        waiting=[(entry.record.store, int(entry.record.seq), 0) for entry in folded.waiting],
        score=state.score,
        earned=state.earned,
        since_ns=state.since_ns,
        active_ns=state.active_ns,
        recovered_ns=state.recovered_ns,
        accepted=state.accepted,
        modified=state.modified,
        rejected=state.rejected,
    )
    try:
        with store.writing():
            ScoreTables(store).store_score(
                agent, _make_score_key(query), encode_stored_score(stored), generation=generation
            )
    except StoreUnwritable:
        return  # the next query folds it again


def _make_score_key(query: TrustQuery) -> str:
    return f"{VERSION} {query.digest}"


def _to_score_state(stored: StoredScore) -> ScoreState:
    return ScoreState(
        score=stored.score,
        since_ns=stored.since_ns,
        active_ns=stored.active_ns,
        recovered_ns=stored.recovered_ns,
        accepted=stored.accepted,
        modified=stored.modified,
        rejected=stored.rejected,
        earned=stored.earned,
    )
