"""Where an agent stands, from what was kept and what came since; anything out of order is folded anew.

What is kept is a cache. Whoever decides that a change lands folds the records themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from custody.core.ids import AgentName, RecordRef, Seq, StoreId
from custody.core.views import Decision
from custody.store import ObservedView, Store, StoreUnwritable
from custody.trust.app.decisions import TrustQuery, entries_from, entries_of, read_settled_decisions
from custody.trust.engine import carry, follows, make_empty_fold, standing_at
from custody.trust.model import CurrentModel, DecisionEntry, Entry, FoldState, TrustStanding
from custody.trust.queries import StandingTables, decisions_after
from custody.trust.wire import StoredStanding, decode_standing, encode_standing

VERSION = 1
"""Of the fold: raised when the same entries and rules give another standing."""
TAIL_MAX = 100
"""So many decisions are folded again at each question before where they lead is kept."""


@dataclass(frozen=True, slots=True)
class Position:
    """A fold with how far it read each chain; ``fresh`` decisions of it are not in what is kept."""

    folded: FoldState
    read: Mapping[StoreId, int]
    fresh: int = 0


def read_standing(store: Store, agent: str, asked: TrustQuery) -> TrustStanding:
    """Where ``agent`` stands; what was folded is kept for the next question, where the store can be written."""
    with read_settled_decisions(store):
        generation = StandingTables(store).generation()
        position = position_of(store, agent, asked)
    keep_due(store, agent, asked, position, generation)
    return standing_at(AgentName(agent), position.folded, asked.now_ns, asked.rules)


def position_of(store: Store, agent: str, asked: TrustQuery) -> Position:
    """The fold of everything about ``agent``, from what was kept if that may be carried on. Inside one moment."""
    kept = _read_stored_standing(store, agent, asked)
    return anew(store, agent, asked) if kept is None else carried_on(store, agent, asked, kept)


def anew(
    store: Store,
    agent: str,
    asked: TrustQuery,
    running: CurrentModel | None = None,
    seen: Sequence[ObservedView[Decision]] | None = None,
) -> Position:
    """The fold of everything about ``agent``, whatever was kept; from ``seen`` where all of it was read already."""
    entries = entries_of(store, agent) if seen is None else list(entries_from(seen))
    folded = carry(AgentName(agent), make_empty_fold(asked.rules), entries, asked.rules, running=running).folded
    return Position(folded, _read(store), len(entries))


def carried_on(
    store: Store, agent: str, asked: TrustQuery, position: Position, running: CurrentModel | None = None
) -> Position:
    """The fold of everything, from ``position`` where what came since allows it."""
    read = _read(store)
    if any(seq > read.get(chain, 0) for chain, seq in position.read.items()):
        return anew(store, agent, asked, running)  # a chain was cut, or another one was put in its place
    since = {chain: position.read.get(chain, 0) for chain in read}
    if not StandingTables(store).has_since(agent, since):
        return Position(position.folded, read, position.fresh)
    tail = [entry for chain, seq in since.items() for entry in _entries_behind(store, agent, chain, seq)]
    if not may_follow(store, agent, position.folded, tail):
        return anew(store, agent, asked, running)
    carried = carry(AgentName(agent), position.folded, tail, asked.rules, running=running)
    return Position(carried.folded, read, position.fresh + len(tail))


def may_follow(store: Store, agent: str, folded: FoldState, tail: list[Entry]) -> bool:
    """Whether a fold may be carried on with ``tail``: all of it later, and nothing of it about what was before."""
    return follows(folded, tail) and not _concerns(store, agent, tail)


def _entries_behind(store: Store, agent: str, chain: StoreId, seq: int) -> list[Entry]:
    return list(entries_from(decisions_after(store, agent, chain, seq)))


def _concerns(store: Store, agent: str, tail: list[Entry]) -> bool:
    """Whether something in ``tail`` has a name that an older decision uses: what it does then depends on that one."""
    own = {entry.record for entry in tail}
    ids = {entry.id for entry in tail}
    heads = {name for entry in tail if isinstance(entry, DecisionEntry) and entry.unreviewed for name in entry.names}
    asked = (("id", ids), ("target", ids), ("commit_sha", heads), ("head", heads))
    return any(StandingTables(store).named(agent, column, names) - own for column, names in asked if names)


def _read(store: Store) -> dict[StoreId, int]:
    return {head.store: int(head.seq) for head in store.tables.chains()}


def _read_stored_standing(store: Store, agent: str, asked: TrustQuery) -> Position | None:
    text = StandingTables(store).kept(agent, _rules(asked))
    kept = None if text is None else decode_standing(text)
    if kept is None:
        return None
    waiting = [_decided(store, *place) for place in kept.waiting]
    if None in waiting:
        return None
    folded = FoldState(
        _standing(kept), tuple(entry for entry in waiting if entry is not None), (kept.last_ns, kept.last_ref)
    )
    return Position(folded, {StoreId(chain): seq for chain, seq in kept.read.items()})


def _decided(store: Store, chain: str, seq: int, n: int) -> DecisionEntry | None:
    seen = store.views.at(RecordRef(StoreId(chain), Seq(seq)), n)
    entries = [] if seen is None else list(entries_from([seen]))
    return entries[0] if entries and isinstance(entries[0], DecisionEntry) else None


def keep_due(store: Store, agent: str, asked: TrustQuery, position: Position, generation: int) -> None:
    """Keep where a fold stands once there is enough in it that is not kept; ``generation`` is that of its moment."""
    folded = position.folded
    if folded.last is None or position.fresh < TAIL_MAX:
        return
    standing = folded.standing
    kept = StoredStanding(
        read={str(chain): seq for chain, seq in position.read.items()},
        last_ns=folded.last[0],
        last=(folded.last[1].store, int(folded.last[1].seq)),
        # A decision is the one view of its record.
        waiting=[(entry.record.store, int(entry.record.seq), 0) for entry in folded.waiting],
        score=standing.score,
        earned=standing.earned,
        since_ns=standing.since_ns,
        active_ns=standing.active_ns,
        recovered_ns=standing.recovered_ns,
        accepted=standing.accepted,
        modified=standing.modified,
        rejected=standing.rejected,
    )
    try:
        with store.writing():
            StandingTables(store).keep(agent, _rules(asked), encode_standing(kept), generation=generation)
    except StoreUnwritable:
        return  # the next question folds it again


def _rules(asked: TrustQuery) -> str:
    return f"{VERSION} {asked.digest}"


def _standing(kept: StoredStanding) -> TrustStanding:
    return TrustStanding(
        score=kept.score,
        since_ns=kept.since_ns,
        active_ns=kept.active_ns,
        recovered_ns=kept.recovered_ns,
        accepted=kept.accepted,
        modified=kept.modified,
        rejected=kept.rejected,
        earned=kept.earned,
    )
