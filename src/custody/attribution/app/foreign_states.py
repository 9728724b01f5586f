"""States of chains without their texts, adopted as the stores that hold the texts computed them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from custody.attribution.lineage import BETWEEN, UNKNOWN, LineOrigin, make_person_origin
from custody.attribution.origin_search import LineMatch, OwnerFindings
from custody.attribution.packing import pack_line_origins
from custody.attribution.queries.lineage import REDACTED, LineageTables, StateAuthor, StateRow
from custody.attribution.queries.traces import OriginTables
from custody.core.errors import InputError
from custody.core.ids import AgentName, CommitSha, Digest, RecordRef, Seq, SessionId, StoreId
from custody.core.paths import RepoPath
from custody.core.wire.body import format_digest
from custody.store import Store

if TYPE_CHECKING:
    from custody.attribution.wire import StateOrigin

# Names of line origins that mean the same in every store: records and views instead of state ids.


UNKNOWN_NAME, BETWEEN_NAME, PERSON_PREFIX = "", "-", "p"

PlaceOf = Callable[[int], tuple[RecordRef, int] | None]
"""Returns the record and view of a state."""
StateAt = Callable[[RecordRef, int], int | None]
"""Returns the state of a record's view; None if it is not stored."""


def line_origin_to_name(origin: LineOrigin, place_of: PlaceOf) -> str:
    """Return the origin's name; that of an unknown origin if its record is missing.

    >>> line_origin_to_name(LineOrigin(3), lambda _: (RecordRef(StoreId("s"), Seq(7)), 0))
    's:7:0'
    >>> line_origin_to_name(BETWEEN, lambda _: None)
    '-'
    """
    if origin.state == BETWEEN.state:
        return BETWEEN_NAME
    state = origin.record_state
    place = None if state is None else place_of(state)
    if place is None:
        return UNKNOWN_NAME
    return f"{PERSON_PREFIX if origin.is_person else ''}{place[0].store}:{place[0].seq}:{place[1]}"


def line_origin_from_name(name: str, share: float, state_at: StateAt) -> LineOrigin | None:
    """Return the origin of that name here; None if its record is not here."""
    if name == UNKNOWN_NAME:
        return UNKNOWN
    if name == BETWEEN_NAME:
        return BETWEEN
    is_person = name.startswith(PERSON_PREFIX)
    store, _, place = name.removeprefix(PERSON_PREFIX).partition(":")
    seq, _, n = place.partition(":")
    if not (seq.isascii() and seq.isdigit() and n.isascii() and n.isdigit() and len(place) < 40):
        raise InputError(
            f"invalid line origin '{name[:80]}'",
            hint="custody did not write this file; it was made or changed by something else",
        )
    state = state_at(RecordRef(StoreId(store), Seq(int(seq))), int(n))
    if state is None:
        return None
    return make_person_origin(state) if is_person else LineOrigin(state, share)


class _ForeignContext(Struct, frozen=True):
    """Received data about the states of one file of a chain that is not stored with the states."""

    before: dict[tuple[int, int], frozenset[int]]
    matches: dict[tuple[CommitSha, int, int], list[tuple[int, float, str, float]]]


class ForeignStates:
    """The received states of chains, brought up to date."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tables = LineageTables(store)
        self._received = OriginTables(store)
        self._places: dict[StoreId, dict[tuple[int, int], int]] = {}
        self._files: dict[StoreId, dict[RepoPath, Digest]] = {}
        self._contexts: dict[tuple[StoreId, RepoPath], _ForeignContext] = {}

    @cached_property
    def _lists(self) -> dict[StoreId, Digest]:
        return self._received.lists()

    @property
    def stores(self) -> frozenset[StoreId]:
        """The chains with states that are not replayed here."""
        return frozenset(self._lists)

    @property
    def is_current(self) -> bool:
        """Whether exactly the received states are adopted."""
        adopted = self._tables.adopted()
        if adopted.keys() != self._lists.keys():
            return False
        return all(not self._is_behind(store, adopted) for store in self._lists)

    def catch_up(self) -> set[RepoPath]:
        """Adopt newly received states; return the files with own states that must be replayed again."""
        if self.is_current:
            return set()
        outdated: set[RepoPath] = set()
        with self._store.writing():
            adopted = self._tables.adopted()
            for store in sorted(adopted.keys() - self._lists.keys()):
                self._tables.forget_chain(store)
                self._tables.adopt(store, None)
            for store in sorted(store for store in self._lists if self._is_behind(store, adopted)):
                outdated |= self._adopt(store)
            for path in outdated:
                self._tables.forget(path)
        return outdated

    def withheld(self, state: StateRow, commit: CommitSha | None) -> OwnerFindings:
        """Return the findings that replace a state's text."""
        context = self._read_context(state.ref.store, state.path)
        place = (int(state.ref.seq), state.n)
        lines = () if commit is None else context.matches.get((commit, *place), ())
        matches = (
            LineMatch(state.id, at, share, origin)
            for at, share, name, part in lines
            if (origin := line_origin_from_name(name, part, self._state_at)) is not None
        )
        return OwnerFindings(context.before.get(place, frozenset()), tuple(matches))

    def _is_behind(self, store: StoreId, adopted: dict[StoreId, str]) -> bool:
        """Return whether a chain's origins changed, or referred to missing records that may be here now."""
        name, _, newest = adopted.get(store, "").partition("?")
        return name != format_digest(self._lists[store]) or (bool(newest) and newest != str(self._tables.newest()))

    def _adopt(self, store: StoreId) -> set[RepoPath]:
        from custody.attribution.wire import (
            decode_line_origins,
            origin_keys_from_text,
            unpack_state_origins,
        )  # few stores hold any

        known = self._tables.places(store)
        self._tables.forget_chain(store)
        origin_files = [decode_line_origins(self._received.read(file)) for file in self._received.files(store).values()]
        states = [
            (state, RepoPath.of(file.path), keys)
            for file in origin_files
            for state, keys, _ in unpack_state_origins(file)
        ]
        # A record's view has one state; the last one counts.
        states = list({(state_entry[0].seq, state_entry[0].n): state_entry for state_entry in states}.values())
        states.sort(key=lambda state_entry: state_entry[0].order)
        newest = max((self._tables.newest(), *known.values()))
        fresh = [place for place in dict.fromkeys((s.seq, s.n) for s, _, _ in states) if place not in known]
        self._places[store] = known | {place: newest + number for number, place in enumerate(fresh, start=1)}
        whole = True
        for state, path, keys in states:
            origins, complete = self._origins(state.runs)
            whole = whole and complete
            row = StateRow(
                id=self._places[store][state.seq, state.n],
                path=path,
                n=state.n,
                author=_state_author_from_origin(store, state, state.kind),
                text=None,
                keys=tuple(keys),
                origins=pack_line_origins(origins),
            )
            self._tables.put(row, [*origin_keys_from_text(state.brought), *([REDACTED] if state.redacted else [])])
        mark = format_digest(self._lists[store])
        self._tables.adopt(store, mark if whole else f"{mark}?{self._tables.newest()}")
        return {path for _, path, _ in states}

    def _origins(self, runs: list[tuple[int, str, float]]) -> tuple[Iterator[LineOrigin], bool]:
        origin_runs = [(count, line_origin_from_name(name, share, self._state_at)) for count, name, share in runs]
        origins = (origin or UNKNOWN for count, origin in origin_runs for _ in range(count))
        return origins, all(origin is not None for _, origin in origin_runs)

    def _state_at(self, ref: RecordRef, n: int) -> int | None:
        if ref.store not in self._places:
            self._places[ref.store] = self._tables.places(ref.store)
        return self._places[ref.store].get((int(ref.seq), n))

    def _read_context(self, store: StoreId, path: RepoPath) -> _ForeignContext:
        if (store, path) not in self._contexts:
            self._contexts[store, path] = self._read(store, path)
        return self._contexts[store, path]

    def _read(self, store: StoreId, path: RepoPath) -> _ForeignContext:
        from custody.attribution.wire import decode_line_origins, unpack_state_origins

        if store not in self._files:
            self._files[store] = self._received.files(store)
        digest = self._files[store].get(path)
        if digest is None:
            return _ForeignContext({}, {})
        file = decode_line_origins(self._received.read(digest))
        return _ForeignContext(
            {(state.seq, state.n): frozenset(before) for state, _, before in unpack_state_origins(file)},
            {(CommitSha(match.commit), match.seq, match.n): match.lines for match in file.likes},
        )


def _state_author_from_origin(store: StoreId, state: "StateOrigin", kind: str) -> StateAuthor:
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


# Origins of lines received with chains without texts: stored unchanged, by chain and file.


def list_line_origin_chains(store: Store) -> dict[StoreId, Digest]:
    """Return the chains with received origins, each with the digest of its list."""
    return OriginTables(store).lists()


def list_line_origin_digests(store: Store, chain: StoreId) -> dict[RepoPath, Digest]:
    """Return the digest of each file's origins; none for a chain without any."""
    return OriginTables(store).files(chain)


def read_line_origins(store: Store, digest: Digest) -> bytes:
    """Return the received origins of one file, unchanged."""
    return OriginTables(store).read(digest)


def read_chain_line_origins(store: Store, chain: StoreId) -> dict[RepoPath, bytes]:
    """Return the received origins of every file of a chain, unchanged."""
    tables = OriginTables(store)
    return {path: tables.read(digest) for path, digest in tables.files(chain).items()}


def has_changed_line_origins(store: Store, chain: StoreId, files: Mapping[RepoPath, bytes]) -> bool:
    """Return whether ``files`` differ from the stored origins of a chain."""
    return OriginTables(store).differ(chain, files)


def put_line_origins(store: Store, chain: StoreId, files: Mapping[RepoPath, bytes]) -> None:
    """Replace the stored origins of a chain; call it inside a write."""
    OriginTables(store).put(chain, files)


def drop_line_origins(store: Store, chain: StoreId) -> None:
    """Drop the origins of a chain once its texts are here; call it inside a write."""
    OriginTables(store).drop(chain)


def copy_line_origins(source: Store, chains: Collection[StoreId], into: Store) -> None:
    """Copy the received origins of these chains into a store that holds the chains."""
    with into.writing():
        for chain in list_line_origin_chains(source).keys() & set(chains):
            put_line_origins(into, chain, read_chain_line_origins(source, chain))
