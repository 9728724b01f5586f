"""What a store tells others of where lines come from, so that they need not have the texts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from custody.attribution.app.context import AttributionContext
from custody.attribution.app.foreign_states import name_of
from custody.attribution.app.history import History
from custody.attribution.app.replay import Lineage
from custody.attribution.carry import equal_blocks
from custody.attribution.origin_search import LineMatch
from custody.attribution.packing import unpack_origins
from custody.attribution.queries.lineage import REDACTED, StateRow
from custody.attribution.text import keys_of
from custody.attribution.wire import FileOrigins, Run, StateOrigin, decode_origins, encode_origins, keys_text, pack_keys
from custody.attribution.wire import MatchedLines as LikeTold
from custody.core.ids import CommitSha, RecordRef, StoreId
from custody.core.paths import RepoPath
from custody.git import Comparison, NoObject, Repository, Walk


@dataclass(frozen=True, slots=True)
class PreviousOrigins:
    """What was told the last time: where history ended then, and of each file what was said."""

    ends: tuple[CommitSha, ...]
    read: Callable[[RepoPath], bytes | None]


@dataclass(slots=True)
class _StateNames:
    """Names of states, each looked up once."""

    lineage: Lineage
    places: dict[int, tuple[RecordRef, int] | None] = field(default_factory=dict)

    def place(self, state: int) -> tuple[RecordRef, int] | None:
        """The record and view that show a state."""
        if state not in self.places:
            self.places[state] = self.lineage.tables.place(state)
        return self.places[state]


def origin_files(
    evidence: AttributionContext, store: StoreId, ends: Sequence[CommitSha], earlier: PreviousOrigins | None = None
) -> dict[RepoPath, bytes]:
    """Every file of which a chain captured a state, as others are told of it.

    History is read from ``ends``; of files that no commit changed since ``earlier``, what was found then still holds.
    """
    touched = None if earlier is None else _touched(evidence.repository, ends, earlier.ends)
    by_path: dict[RepoPath, list[StateRow]] = {}
    for row in evidence.lineage.tables.of_chain(store):
        by_path.setdefault(row.path, []).append(row)
    naming = _StateNames(evidence.lineage)
    evidence.workspace.progress.start("comparing", len(by_path))
    made: dict[RepoPath, bytes] = {}
    for path, rows in sorted(by_path.items()):
        states = list(_states(evidence.lineage, rows, naming))
        known = None if earlier is None or touched is None or path in touched else earlier.read(path)
        told = None if known is None else decode_origins(known)
        if told is None or told.states != states:
            likes = list(_likes(evidence, path, {row.id: row for row in rows}, ends, naming))
            told = FileOrigins(version=1, path=str(path), states=states, likes=likes)
        made[path] = encode_origins(told)
        evidence.workspace.progress.step(1)
    return made


def _touched(repository: Repository, ends: Sequence[CommitSha], before: Sequence[CommitSha]) -> set[RepoPath] | None:
    """The files that commits changed since history was last read; None when it cannot be told."""
    if sorted(ends) == sorted(before):
        return set()
    if any(isinstance(found, NoObject) for found in repository.look_up(before)):
        return None
    since = [commit.id for commit in repository.log(ends, walk=Walk(without=before))]
    answers = repository.changes([Comparison(commit) for commit in since], renames=False)
    return {change.path for answer in answers for change in answer.files}


def _states(lineage: Lineage, rows: Iterable[StateRow], naming: _StateNames) -> Iterator[StateOrigin]:
    last: Sequence[int] = ()
    for row in rows:
        brought = lineage.tables.brought(row.id)
        # Of a file that was there and that nobody captured, everything may have been there.
        before = row.keys if lineage.overwrites(row) else keys_of(lineage.text_before_state(row))
        yield StateOrigin(
            seq=int(row.ref.seq),
            n=row.n,
            at_ns=row.at_ns,
            observed=row.told.observed,
            agent=row.told.agent,
            session=row.told.session,
            call=row.told.call,
            revision=row.told.revision,
            kind=row.told.kind,
            keys=pack_keys(row.keys, equal_blocks(last, row.keys)),
            before=pack_keys(before, equal_blocks(last, before)),
            runs=list(_runs(row, naming)),
            brought=keys_text([key for key in brought if key != REDACTED]),
            order=row.id,
            redacted=REDACTED in brought,
        )
        last = row.keys


def _runs(row: StateRow, naming: _StateNames) -> Iterator[Run]:
    run: Run | None = None
    for origin in unpack_origins(row.origins):
        name = name_of(origin, naming.place)
        share = origin.share if name else 0.0
        if run is not None and run[1:] == (name, share):
            run = (run[0] + 1, name, share)
            continue
        if run is not None:
            yield run
        run = (1, name, share)
    if run is not None:
        yield run


def _likes(
    evidence: AttributionContext,
    path: RepoPath,
    rows: Mapping[int, StateRow],
    ends: Sequence[CommitSha],
    naming: _StateNames,
) -> Iterator[LikeTold]:
    """What commits have like states of a file; found by reading its history anew."""
    heard: dict[tuple[CommitSha, int], list[LineMatch]] = {}

    def hear(commit: CommitSha, of: RepoPath, likes: Sequence[LineMatch]) -> None:
        for like in likes if of == path else ():
            if like.state in rows and like not in heard.setdefault((commit, like.state), []):
                heard[commit, like.state].append(like)

    history = History(evidence.repository, evidence.objects, evidence.lineage, evidence.gone)
    history.liked = hear
    for end in ends:
        history.walked(end, path)
    for (commit, state), likes in sorted(heard.items()):
        lines = [(like.place, like.share, name_of(like.origin, naming.place), like.origin.share) for like in likes]
        if likes:
            yield LikeTold(commit=commit, seq=int(rows[state].ref.seq), n=rows[state].n, lines=lines)
