"""Build the line origins that a store shares, so that other stores do not need the texts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from custody.attribution.app.context import AttributionContext
from custody.attribution.app.foreign_states import line_origin_to_name
from custody.attribution.app.history import History
from custody.attribution.app.replay import Lineage
from custody.attribution.carry import find_carried_blocks
from custody.attribution.origin_search import LineMatch
from custody.attribution.packing import unpack_line_origins
from custody.attribution.queries.lineage import REDACTED, StateRow
from custody.attribution.wire import (
    FileOrigins,
    MatchedLines,
    Run,
    StateOrigin,
    decode_line_origins,
    encode_line_origins,
    origin_keys_to_text,
    pack_origin_keys,
)
from custody.core.ids import CommitSha, RecordRef, StoreId
from custody.core.paths import RepoPath
from custody.git import Comparison, NoObject, Repository, Walk


class PreviousOrigins(Struct, frozen=True):
    """The origins shared the last time: the tips of history then, and the bytes of each file."""

    ends: tuple[CommitSha, ...]
    read: Callable[[RepoPath], bytes | None]


class _StateNames(Struct):
    """The records and views of states, each looked up once."""

    lineage: Lineage
    places: dict[int, tuple[RecordRef, int] | None] = field(default_factory=dict)

    def place(self, state: int) -> tuple[RecordRef, int] | None:
        """Return the record and view of a state."""
        if state not in self.places:
            self.places[state] = self.lineage.tables.place(state)
        return self.places[state]


def build_line_origin_files(
    evidence: AttributionContext, store: StoreId, ends: Sequence[CommitSha], earlier: PreviousOrigins | None = None
) -> dict[RepoPath, bytes]:
    """Return the origins of every file with a captured state in a chain, encoded for other stores.

    History is read from ``ends``; files that no commit changed since ``earlier`` reuse the origins of then.
    """
    touched = None if earlier is None else _find_outdated_origin_paths(evidence.repository, ends, earlier.ends)
    by_path: dict[RepoPath, list[StateRow]] = {}
    for row in evidence.lineage.tables.of_chain(store):
        by_path.setdefault(row.path, []).append(row)
    names = _StateNames(evidence.lineage)
    evidence.workspace.progress.start("comparing", len(by_path))
    encoded: dict[RepoPath, bytes] = {}
    for path, rows in sorted(by_path.items()):
        states = list(_build_state_origins(evidence.lineage, rows, names))
        known = None if earlier is None or touched is None or path in touched else earlier.read(path)
        file_origins = None if known is None else decode_line_origins(known)
        if file_origins is None or file_origins.states != states:
            matches = list(_find_matched_commit_lines(evidence, path, {row.id: row for row in rows}, ends, names))
            file_origins = FileOrigins(version=1, path=str(path), states=states, likes=matches)
        encoded[path] = encode_line_origins(file_origins)
        evidence.workspace.progress.step(1)
    return encoded


def _find_outdated_origin_paths(
    repository: Repository, ends: Sequence[CommitSha], before: Sequence[CommitSha]
) -> set[RepoPath] | None:
    """Return the files that commits changed since history was last read; None if unknown."""
    if sorted(ends) == sorted(before):
        return set()
    if any(isinstance(tip, NoObject) for tip in repository.look_up(before)):
        return None
    since = [commit.id for commit in repository.log(ends, walk=Walk(without=before))]
    changes = repository.changes([Comparison(commit) for commit in since], renames=False)
    return {file.path for change in changes for file in change.files}


def _build_state_origins(lineage: Lineage, rows: Iterable[StateRow], names: _StateNames) -> Iterator[StateOrigin]:
    last: Sequence[int] = ()
    for row in rows:
        added = lineage.tables.brought(row.id)
        # An overwritten file with an uncaptured text may have had every line.
        before = row.keys if lineage.overwrites(row) else lineage.make_keys(lineage.text_before_state(row))
        yield StateOrigin(
            seq=int(row.ref.seq),
            n=row.n,
            at_ns=row.at_ns,
            observed=row.author.observed,
            agent=row.author.agent,
            session=row.author.session,
            call=row.author.call,
            revision=row.author.revision,
            kind=row.author.kind,
            keys=pack_origin_keys(row.keys, find_carried_blocks(last, row.keys)),
            before=pack_origin_keys(before, find_carried_blocks(last, before)),
            runs=list(_group_line_origin_runs(row, names)),
            brought=origin_keys_to_text([key for key in added if key != REDACTED]),
            order=row.id,
            redacted=REDACTED in added,
        )
        last = row.keys


def _group_line_origin_runs(row: StateRow, names: _StateNames) -> Iterator[Run]:
    run: Run | None = None
    for origin in unpack_line_origins(row.origins):
        name = line_origin_to_name(origin, names.place)
        share = origin.share if name else 0.0
        if run is not None and run[1:] == (name, share):
            run = (run[0] + 1, name, share)
            continue
        if run is not None:
            yield run
        run = (1, name, share)
    if run is not None:
        yield run


def _find_matched_commit_lines(
    evidence: AttributionContext,
    path: RepoPath,
    rows: Mapping[int, StateRow],
    ends: Sequence[CommitSha],
    names: _StateNames,
) -> Iterator[MatchedLines]:
    """Yield the lines of commits that are similar to states of a file, by reading its history again."""
    collected: dict[tuple[CommitSha, int], list[LineMatch]] = {}

    def collect_matches(commit: CommitSha, matched_path: RepoPath, matches: Sequence[LineMatch]) -> None:
        for match in matches if matched_path == path else ():
            if match.state in rows and match not in collected.setdefault((commit, match.state), []):
                collected[commit, match.state].append(match)

    history = History(evidence.repository, evidence.objects, evidence.lineage, evidence.gone)
    history.on_matches = collect_matches
    for end in ends:
        history.walk_file(end, path)
    for (commit, state), matches in sorted(collected.items()):
        lines = [
            (match.place, match.share, line_origin_to_name(match.origin, names.place), match.origin.share)
            for match in matches
        ]
        if matches:
            yield MatchedLines(commit=commit, seq=int(rows[state].ref.seq), n=rows[state].n, lines=lines)
