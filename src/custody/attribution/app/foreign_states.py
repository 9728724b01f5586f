"""States of chains whose texts are not here: taken over as their own stores worked them out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from custody.attribution.lineage import BETWEEN, IMPORTED, UNKNOWN, LineOrigin, person_at
from custody.attribution.origin_search import LineMatch, OwnerFindings
from custody.attribution.packing import pack_origins
from custody.attribution.queries.lineage import REDACTED, LineageTables, StateAuthor, StateRow
from custody.attribution.queries.traces import OriginTables
from custody.core.errors import InputError
from custody.core.ids import AgentName, CommitSha, Digest, RecordRef, Seq, SessionId, StoreId
from custody.core.paths import RepoPath
from custody.core.wire.body import digest_text
from custody.store import Store

if TYPE_CHECKING:
    from custody.attribution.wire import StateOrigin
from collections.abc import Collection, Mapping

# Origins of lines by names that mean the same in every store: records and views instead of numbers of states.


NOBODY, AMIDST, PERSON = "", "-", "p"

PlaceOf = Callable[[int], tuple[RecordRef, int] | None]
"""The record and view that show a state."""
StateAt = Callable[[RecordRef, int], int | None]
"""The state that a view of a record shows; None when it is not here."""


def name_of(origin: LineOrigin, place_of: PlaceOf) -> str:
    """The origin's name; that of nobody when its record is gone.

    >>> name_of(LineOrigin(3), lambda _: (RecordRef(StoreId("s"), Seq(7)), 0)), name_of(BETWEEN, lambda _: None)
    ('s:7:0', '-')
    """
    if origin.state == BETWEEN.state:
        return AMIDST
    state = origin.record_state
    place = None if state is None else place_of(state)
    if place is None:
        return NOBODY
    return f"{PERSON if origin.is_person else ''}{place[0].store}:{place[0].seq}:{place[1]}"


def origin_named(name: str, share: float, state_at: StateAt) -> LineOrigin | None:
    """The origin of that name here; None when it is a record that is not here."""
    if name == NOBODY:
        return UNKNOWN
    if name == AMIDST:
        return BETWEEN
    is_person = name.startswith(PERSON)
    store, _, place = name.removeprefix(PERSON).partition(":")
    seq, _, n = place.partition(":")
    if not (seq.isascii() and seq.isdigit() and n.isascii() and n.isdigit() and len(place) < 40):
        raise InputError("an origin of lines is no record", hint="no custody writes this")
    state = state_at(RecordRef(StoreId(store), Seq(int(seq))), int(n))
    if state is None:
        return None
    return person_at(state) if is_person else LineOrigin(state, share)


@dataclass(frozen=True, slots=True)
class _ForeignContext:
    """What came with the states of one file of a chain, beside what is kept of them."""

    before: dict[tuple[int, int], frozenset[int]]
    likes: dict[tuple[CommitSha, int, int], list[tuple[int, float, str, float]]]


class ForeignStates:
    """The states that came with chains, brought up to date."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tables = LineageTables(store)
        self._received = OriginTables(store)
        self._places: dict[StoreId, dict[tuple[int, int], int]] = {}
        self._files: dict[StoreId, dict[RepoPath, Digest]] = {}
        self._beside: dict[tuple[StoreId, RepoPath], _ForeignContext] = {}

    @cached_property
    def _lists(self) -> dict[StoreId, Digest]:
        return self._received.lists()

    @property
    def stores(self) -> frozenset[StoreId]:
        """The chains whose states are not replayed here."""
        return frozenset(self._lists)

    @property
    def is_current(self) -> bool:
        """Whether everything that came is adopted, and nothing else is."""
        done = self._tables.adopted()
        return done.keys() == self._lists.keys() and all(not self._is_behind(store, done) for store in self._lists)

    def catch_up(self) -> set[RepoPath]:
        """Adopt what came since the last time; the files whose own states must be replayed again on top of it."""
        if self.is_current:
            return set()
        again: set[RepoPath] = set()
        with self._store.writing():
            done = self._tables.adopted()
            for store in sorted(done.keys() - self._lists.keys()):
                self._tables.forget_chain(store)
                self._tables.adopt(store, None)
            for store in sorted(store for store in self._lists if self._is_behind(store, done)):
                again |= self._adopt(store)
            for path in again:
                self._tables.forget(path)
        return again

    def withheld(self, state: StateRow, commit: CommitSha | None) -> OwnerFindings:
        """What stands for a state's text."""
        beside = self._read_context(state.ref.store, state.path)
        place = (int(state.ref.seq), state.n)
        lines = () if commit is None else beside.likes.get((commit, *place), ())
        likes = (
            LineMatch(state.id, at, share, origin)
            for at, share, name, part in lines
            if (origin := origin_named(name, part, self._state_at)) is not None
        )
        return OwnerFindings(beside.before.get(place, frozenset()), tuple(likes))

    def _is_behind(self, store: StoreId, done: dict[StoreId, str]) -> bool:
        """Whether a chain's origins changed, or some named records that were not here and may be now."""
        name, _, newest = done.get(store, "").partition("?")
        return name != digest_text(self._lists[store]) or (bool(newest) and newest != str(self._tables.newest()))

    def _adopt(self, store: StoreId) -> set[RepoPath]:
        from custody.attribution.wire import decode_origins, text_keys, unpacked_states  # few stores hold any

        known = self._tables.places(store)
        self._tables.forget_chain(store)
        origin_files = [decode_origins(self._received.read(file)) for file in self._received.files(store).values()]
        states = [
            (state, RepoPath.of(file.path), keys) for file in origin_files for state, keys, _ in unpacked_states(file)
        ]
        # a place tells of one state
        states = list({(state_entry[0].seq, state_entry[0].n): state_entry for state_entry in states}.values())
        states.sort(key=lambda state_entry: state_entry[0].order)
        newest = max((self._tables.newest(), *known.values()))
        fresh = [place for place in dict.fromkeys((s.seq, s.n) for s, _, _ in states) if place not in known]
        self._places[store] = known | {place: newest + number for number, place in enumerate(fresh, start=1)}
        whole, is_claim = True, store not in self._store.tables.pulled()
        for state, path, keys in states:
            origins, complete = self._origins(state.runs)
            whole = whole and complete
            row = StateRow(
                id=self._places[store][state.seq, state.n],
                path=path,
                n=state.n,
                told=_make_state_author(store, state, IMPORTED if is_claim else state.kind),
                text=None,
                keys=tuple(keys),
                origins=pack_origins(origins),
            )
            self._tables.put(row, [*text_keys(state.brought), *([REDACTED] if state.redacted else [])])
        mark = digest_text(self._lists[store])
        self._tables.adopt(store, mark if whole else f"{mark}?{self._tables.newest()}")
        return {path for _, path, _ in states}

    def _origins(self, runs: list[tuple[int, str, float]]) -> tuple[Iterator[LineOrigin], bool]:
        found = [(count, origin_named(name, share, self._state_at)) for count, name, share in runs]
        each = (origin or UNKNOWN for count, origin in found for _ in range(count))
        return each, all(origin is not None for _, origin in found)

    def _state_at(self, ref: RecordRef, n: int) -> int | None:
        if ref.store not in self._places:
            self._places[ref.store] = self._tables.places(ref.store)
        return self._places[ref.store].get((int(ref.seq), n))

    def _read_context(self, store: StoreId, path: RepoPath) -> _ForeignContext:
        if (store, path) not in self._beside:
            self._beside[store, path] = self._read(store, path)
        return self._beside[store, path]

    def _read(self, store: StoreId, path: RepoPath) -> _ForeignContext:
        from custody.attribution.wire import decode_origins, unpacked_states

        if store not in self._files:
            self._files[store] = self._received.files(store)
        digest = self._files[store].get(path)
        if digest is None:
            return _ForeignContext({}, {})
        file = decode_origins(self._received.read(digest))
        return _ForeignContext(
            {(state.seq, state.n): frozenset(before) for state, _, before in unpacked_states(file)},
            {(CommitSha(like.commit), like.seq, like.n): like.lines for like in file.likes},
        )


def _make_state_author(store: StoreId, state: "StateOrigin", kind: str) -> StateAuthor:
    return StateAuthor(
        ref=RecordRef(store, Seq(state.seq)),
        at_ns=state.at_ns,
        observed=state.observed,
        agent=AgentName(state.agent),
        session=None if state.session is None else SessionId(state.session),
        call=state.call,
        revision=None if state.revision is None else CommitSha(state.revision),
        kind=kind,
    )


# Origins of lines that came with chains whose texts did not: stored as they came, by chain and file.


def origin_lists(store: Store) -> dict[StoreId, Digest]:
    """Return the chains that origins came with, each with the digest of its list."""
    return OriginTables(store).lists()


def origin_digests(store: Store, chain: StoreId) -> dict[RepoPath, Digest]:
    """Return the digest of each file's origins; none for a chain without any."""
    return OriginTables(store).files(chain)


def read_origins(store: Store, digest: Digest) -> bytes:
    """Return the origins of one file as they came."""
    return OriginTables(store).read(digest)


def chain_origins(store: Store, chain: StoreId) -> dict[RepoPath, bytes]:
    """Return the origins of every file of a chain as they came."""
    tables = OriginTables(store)
    return {path: tables.read(digest) for path, digest in tables.files(chain).items()}


def have_origins_changed(store: Store, chain: StoreId, files: Mapping[RepoPath, bytes]) -> bool:
    """Return whether ``files`` are other origins of a chain than the stored ones."""
    return OriginTables(store).differ(chain, files)


def put_origins(store: Store, chain: StoreId, files: Mapping[RepoPath, bytes]) -> None:
    """Inside a write: store these origins of a chain instead of those that were there."""
    OriginTables(store).put(chain, files)


def drop_origins(store: Store, chain: StoreId) -> None:
    """Inside a write: drop the origins of a chain whose texts are here now."""
    OriginTables(store).drop(chain)


def copy_origins(source: Store, chains: Collection[StoreId], into: Store) -> None:
    """Copy the origins that came with these chains into a store that holds the chains."""
    with into.writing():
        for chain in origin_lists(source).keys() & set(chains):
            put_origins(into, chain, chain_origins(source, chain))
