"""Replay captured snapshots file by file, and store the origin of each line of each state."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from itertools import groupby

from custody.attribution.app.foreign_states import ForeignStates
from custody.attribution.carry import find_carried_blocks
from custody.attribution.lineage import (
    BETWEEN,
    ENGINE_VERSION,
    IMPORTED,
    LOOK,
    NOTHING,
    UNKNOWN,
    CapturedStep,
    FileSnapshot,
    TracedText,
    apply_file_snapshot,
    attach_moved_lines,
    carry_origins,
    file_snapshot_from_view,
    merge_file_snapshots,
    replay_step,
)
from custody.attribution.origin_search import OwnerFindings
from custody.attribution.packing import pack_line_origins, unpack_line_origins
from custody.attribution.queries.lineage import REDACTED, DonorPlace, LaterStates, LineageTables, StateAuthor, StateRow
from custody.attribution.rules import AttributeRules
from custody.attribution.text import (
    decode_lineage_text,
    is_import_line,
    is_informative_lineage_line,
    make_lineage_key,
    split_lineage_lines,
)
from custody.core.ids import CommitSha, RecordRef, StoreId
from custody.core.paths import RepoPath
from custody.core.record import Record
from custody.core.views import FileEdit, FileState, View
from custody.core.wire.claims import is_imported_record
from custody.git import FileAt, Object, ObjectReader
from custody.store import Store

MARKER = "[redacted:"
"""The beginning of the text that replaces a secret."""
RESTORED_LINES_MIN = 3
"""Minimum distinctive lines of a block that came back from an earlier state."""
RESTORING_STATES_MAX = 8
"""Maximum earlier states that are compared with text that came back."""
RENAMED_LINES_MIN = 3
"""Minimum lines of a file that are in another file for it to be that file under a new name."""
RENAMED_LINES_MAX = 200
"""Maximum lines of a file without a history that are searched for in other files."""
_FORMER_RULES = "0.95,24,2.0,8,5000,64"
"""Former settings that are constants now; without them, stores of earlier versions would be replayed again."""
CACHED_TEXTS_MAX = 256
"""Maximum texts of states in memory."""
CACHED_RECORDS_MAX = 64
"""Maximum records with their views in memory."""
CACHED_KEYS_MAX = 1 << 16
"""Maximum keys of lines in memory."""


def compute_lineage_version(rules: AttributeRules) -> str:
    """Return the version of stored states; with another engine or other rules of lineage they are replayed again."""
    return f"{ENGINE_VERSION}:{rules.carry_words_share_min},{_FORMER_RULES}"


class Lineage:
    """The replayed states of one store, brought up to date."""

    def __init__(self, store: Store, objects: ObjectReader[Object], rules: AttributeRules) -> None:
        self.store = store
        self.tables = LineageTables(store)
        self.rules = rules
        self._objects = objects
        self.version = f"{compute_lineage_version(rules)}:{store.views.version}"
        self._texts: dict[int, list[str]] = {}
        # Consecutive states share most lines. The cache lives as long as this object, and so does the text in it.
        self._make_key = lru_cache(maxsize=CACHED_KEYS_MAX)(make_lineage_key)
        self._ids: dict[str, int] = {}
        self._newest = 0
        self._call: tuple[RecordRef, str | None] | None = None
        self._text_before_call: TracedText | None = None
        """The text before the call that is being replayed, without any of its pieces."""
        self._adopted = ForeignStates(store)
        self._later: tuple[int, LaterStates] | None = None
        self._votes: dict[int, tuple[int, ...]] = {}
        self._places: dict[int, DonorPlace] = {}
        self._views: dict[RecordRef, tuple[View, ...]] = {}
        self._line_keys: tuple[RepoPath, list[tuple[StateRow, frozenset[int]]]] | None = None
        """The states of the file that was asked about last, with the keys of their lines."""

    def read_later_states(self, newest: int) -> LaterStates:
        """Return at least the states after ``newest``, read once."""
        if self._later is None or newest < self._later[0]:
            self._later = newest, self.tables.read_later_states(newest)
        return self._later[1]

    def make_keys(self, lines: Iterable[str]) -> list[int]:
        """Return the key of every line, computed once per line."""
        return [self._make_key(line) for line in lines]

    def count_line_votes(self, keys: Iterable[int]) -> Counter[int]:
        """Return the states that added lines with these keys, with the count of such lines."""
        if len(self._votes) >= CACHED_KEYS_MAX:
            self._votes.clear()
        votes: Counter[int] = Counter()
        for key in keys:
            if key not in self._votes:
                self._votes[key] = self.tables.list_line_voters(key)
            votes.update(self._votes[key])
        return votes

    def find_common_lines(self, keys: Iterable[int]) -> frozenset[int]:
        """Return those of the keys whose lines calls added to more than one file."""
        unique = list(dict.fromkeys(keys))
        files = {place.id: place.path for place in self.list_state_places(self.count_line_votes(unique))}
        return frozenset(
            key for key in unique if len({files[state] for state in self._votes[key] if state in files}) > 1
        )

    def list_state_places(self, states: Iterable[int]) -> list[DonorPlace]:
        """Return the file and time of these states, read once."""
        ids = list(states)
        unread = [state for state in ids if state not in self._places]
        self._places.update((place.id, place) for place in self.tables.list_state_places(unread))
        return [self._places[state] for state in ids if state in self._places]

    def catch_up(self, start: Callable[[str, int | None], None], step: Callable[[int], None]) -> None:
        """Replay new records; after an interruption, the next call continues."""
        spans = self.tables.unread(self.version)
        if not spans and self._adopted.is_current:
            return
        if not self.tables.is_of(self.version) or any(self.tables.has_erasures(*span) for span in spans):
            with self.store.writing():
                self.tables.forget_all()
        outdated = self._adopted.catch_up()
        spans = self.tables.unread(self.version)
        after = {store: first for store, first, _ in spans}
        own = [span for span in spans if span[0] not in self._adopted.stores]
        # A file with lines from another file is replayed after it.
        touched = (path for span in own for path in self.tables.touched(*span))
        paths = self.tables.by_first_snapshot({*outdated, *touched})
        start("replaying", len(paths))
        for path in paths:
            with self.store.writing():
                self._replay(path, after, is_outdated=path in outdated)
            step(1)
        with self.store.writing():
            for store, _, until in spans:
                self.tables.read_until(store, until, self.version)

    def known(self, state: StateRow, beside: Sequence[str] = ()) -> TracedText:
        """Return a state's lines with their origins; of a withheld text, only the lines that are in ``beside`` too."""
        if state.ref.store not in self._adopted.stores:
            return TracedText(self.text_of_state(state), unpack_line_origins(state.origins))
        texts = dict(zip(self.make_keys(beside), beside, strict=True))
        lines = [texts.get(key, f"\0{n}") for n, key in enumerate(state.keys)]
        return TracedText(lines, unpack_line_origins(state.origins))

    def withheld(self, state: StateRow, commit: CommitSha | None) -> OwnerFindings | None:
        """Return the findings that replace a state's withheld text; None if the text is here."""
        return self._adopted.withheld(state, commit) if state.ref.store in self._adopted.stores else None

    def _replay(self, path: RepoPath, after: dict[StoreId, int], *, is_outdated: bool) -> None:
        """Replay a file's new snapshots; all of them if a new one is not the latest or reports a known call again."""
        rows = [row for row in self.tables.snapshots(path) if row[2].store not in self._adopted.stores]
        replayed = self.tables.replayed(path)
        late = [row for row in rows if is_outdated or row[2].seq > after.get(row[2].store, row[2].seq)]
        new = [row for row in late if (row[2], row[3]) not in replayed]
        last = self.tables.last_of(path)
        snapshots = self._load_snapshots(new)
        is_in_order = last is None or all(snapshot.at_ns > last.at_ns for snapshot in snapshots)
        known_calls = {_extract_snapshot_call(call) for call in replayed.values()}
        new_calls = {_extract_snapshot_call(snapshot.observed) for snapshot in snapshots}
        if replayed and not (is_in_order and known_calls.isdisjoint(new_calls)):
            # States of other files may refer to these, so the same call keeps its state id.
            self._ids, self._newest = self.tables.ids(path), self.tables.newest()
            self.tables.forget(path)
            snapshots = self._load_snapshots(rows)
        for snapshot, moved_lines in attach_moved_lines(merge_file_snapshots(snapshots)):
            self._replay_snapshot(path, snapshot, moved_lines)

    def _load_snapshots(self, rows: Sequence[tuple[int, str, RecordRef, int]]) -> list[FileSnapshot]:
        snapshots = []
        # This only ranks two recordings of one call; who is believed is decided by the policy of each question.
        near = self.store.tables.list_owned_chains() | self.store.tables.list_pulled_chains()
        for ref, same in groupby(rows, key=lambda row: row[2]):
            record = self.store.tables.record(ref)
            views = () if record is None else self.store.views.read_views(record)
            for _, _, _, n in same:
                view = views[n] if n < len(views) else None
                if record is not None and isinstance(view, FileEdit | FileState):
                    kind = _classify_snapshot_record(record, near)
                    snapshots.append(file_snapshot_from_view(view, ref, n, kind))
        return snapshots

    def _replay_snapshot(self, path: RepoPath, snapshot: FileSnapshot, moved_lines: Sequence[str]) -> None:
        """Replay one snapshot onto the state before it; its call removed ``moved_lines`` at other places."""
        before = None if snapshot.before is None or snapshot.part else split_lineage_lines(snapshot.before)
        previous, row = self._previous(path, snapshot, before)
        applied = apply_file_snapshot(snapshot, None if previous is None else previous.lines)
        if applied is None:
            return  # erased, binary or never captured
        lines, is_whole = applied
        state = self._ids.get(snapshot.observed) or max(self._newest, self.tables.newest()) + 1
        if self._call != (snapshot.ref, snapshot.call):
            self._call, self._text_before_call = (snapshot.ref, snapshot.call), previous
        if not is_whole:
            previous, before = None, [*split_lineage_lines(snapshot.before or ""), *moved_lines]
        elif moved_lines and previous is not None:
            previous = self._append_moved_line_origins(previous, self._text_before_call or NOTHING, moved_lines)
        proposed = None if snapshot.proposed is None else split_lineage_lines(snapshot.proposed)
        if before is not None and previous is not None:
            previous = self._restore_origins(path, previous, before)
        known = replay_step(CapturedStep(state, before, lines, snapshot.is_call, proposed), previous, self.rules)
        if row is not None and not snapshot.is_call and list(known.lines) == self.text_of_state(row):
            return  # an observation without a change
        self._put(path, snapshot, state, known)

    def _put(self, path: RepoPath, snapshot: FileSnapshot, state: int, known: TracedText) -> None:
        text = "\n".join(known.lines) if snapshot.part else None
        row = StateRow(
            id=state,
            path=path,
            n=snapshot.n,
            author=_state_author_from_snapshot(snapshot),
            text=text,
            keys=tuple(self.make_keys(known.lines)),
            origins=pack_line_origins(known.origins),
        )
        lines = zip(row.keys, known.lines, known.origins, strict=True)
        added = [key for key, line, origin in lines if origin.state == state and is_informative_lineage_line(line)]
        if any(MARKER in line for line in known.lines):
            added.append(REDACTED)
        self.tables.put(row, added)
        self._cache_text(state, list(known.lines) if text is None else split_lineage_lines(text))

    def _previous(
        self, path: RepoPath, snapshot: FileSnapshot, before: Sequence[str] | None
    ) -> tuple[TracedText | None, StateRow | None]:
        """Return the text and state before a snapshot: the file's last state, or an earlier one with the same text."""
        row = None if before is None else self.tables.same_text(path, self.make_keys(before))
        row = row or self.tables.last_of(path, snapshot.at_ns)
        if row is None and before:
            row = self._find_renamed_state(path, snapshot, before)
        beside = split_lineage_lines(snapshot.after or "") if before is None else before
        previous = self._find_renamed_text(snapshot) if row is None else self.known(row, beside)
        if snapshot.before is None and snapshot.after is not None:
            committed = self._read_committed_lines(path, snapshot.revision)
            after = split_lineage_lines(snapshot.after)
            if committed is not None and self._is_commit_nearer_snapshot(committed, previous, after):
                return self._carry_origins_to(committed, previous), row
        return previous, row

    def _carry_origins_to(self, lines: Sequence[str], previous: TracedText | None) -> TracedText:
        return replay_step(CapturedStep(0, None, lines, is_call=False), previous, self.rules)

    def _restore_origins(self, path: RepoPath, previous: TracedText, before: Sequence[str]) -> TracedText:
        """Return the text before a call with the origins of blocks that came back from an earlier state of the file.

        A rebase, a stash or another branch takes text away and brings it back between two calls. A block of several
        distinctive lines was not typed again.
        """
        carried = carry_origins(previous, before, BETWEEN, self.rules.carry_words_share_min)
        keys = self.make_keys(before)
        known = set(self.make_keys(previous.lines))
        fresh = {j for j, origin in enumerate(carried.origins) if origin == BETWEEN and keys[j] not in known}
        distinctive = {keys[j] for j in fresh if _is_distinctive_line(before[j])}
        if len(distinctive) < RESTORED_LINES_MIN:
            return previous
        origins = list(carried.origins)
        for donor in self._find_restoring_states(path, distinctive):
            donor_origins = unpack_line_origins(donor.origins)
            for block in find_carried_blocks(donor.keys, keys):
                restored = [(i, j) for i, j in block.pairs if j in fresh and donor_origins[i].is_agent]
                if len({keys[j] for _, j in restored} & distinctive) >= RESTORED_LINES_MIN:
                    for i, j in restored:
                        origins[j] = donor_origins[i]
                    fresh.difference_update(j for _, j in restored)
        return TracedText(before, origins)

    def _find_restoring_states(self, path: RepoPath, keys: Iterable[int]) -> list[StateRow]:
        """Return the states of a file that added most of these lines, the later of equals first."""
        votes = self.tables.count_line_votes(keys)
        places = [place for place in self.tables.list_state_places(votes) if place.path == path]
        places.sort(key=lambda place: (-votes[place.id], -place.at_ns, -place.id))
        return self.tables.states(place.id for place in places[:RESTORING_STATES_MAX])

    def _read_committed_lines(self, path: RepoPath, revision: CommitSha | None) -> list[str] | None:
        """Return the file in the commit that the agent worked on top of."""
        if revision is None:
            return None
        blob = self._objects.read(FileAt(revision, path))
        return (
            split_lineage_lines(decode_lineage_text(blob.content))
            if isinstance(blob, Object) and blob.info.kind == "blob"
            else None
        )

    def _find_renamed_state(self, path: RepoPath, snapshot: FileSnapshot, before: Sequence[str]) -> StateRow | None:
        """Return the state of a file under another name if most lines of this file are from there."""
        informative = (line for line in before if is_informative_lineage_line(line))
        keys = list(dict.fromkeys(self.make_keys(informative)))[:RENAMED_LINES_MAX]
        for state, votes in self.tables.count_line_votes(keys).most_common(1):
            (row,) = self.tables.states([state])
            if votes >= RENAMED_LINES_MIN and votes * 2 > len(keys) and row.path != path:
                return self.tables.last_of(row.path, snapshot.at_ns)
        return None

    def _find_renamed_text(self, snapshot: FileSnapshot) -> TracedText | None:
        """Return the text of a file that the same call deleted if most lines of the new file are from there."""
        record = self.store.tables.record(snapshot.ref) if snapshot.before is None else None
        views = () if record is None or snapshot.after is None else self.store.views.read_views(record)
        after = split_lineage_lines(snapshot.after or "")
        keys = set(self.make_keys(line for line in after if is_informative_lineage_line(line)))
        for view in views:
            if isinstance(view, FileState) and view.gone:
                row = self.tables.last_of(view.path, snapshot.at_ns - 1)
                committed = self._read_committed_lines(view.path, view.revision)
                known = self.known(row, after) if row is not None else None
                if known is None or not known.lines:
                    known = None if committed is None else self._carry_origins_to(committed, None)
                if known is not None and len(keys.intersection(self.make_keys(known.lines))) * 2 > len(keys):
                    return known
        return None

    def _append_moved_line_origins(
        self, previous: TracedText, text_before_call: TracedText, moved_lines: Sequence[str]
    ) -> TracedText:
        """Return ``previous`` with ``moved_lines`` at its end, which have their origins from the text before."""
        keys_before = self.make_keys(text_before_call.lines)
        origins = dict(zip(reversed(keys_before), reversed(text_before_call.origins), strict=True))
        moved = (origins.get(key, UNKNOWN) for key in self.make_keys(moved_lines))
        return TracedText((*previous.lines, *moved_lines), (*previous.origins, *moved))

    def _is_commit_nearer_snapshot(
        self, committed: Sequence[str], previous: TracedText | None, after: Sequence[str]
    ) -> bool:
        """Return whether ``after`` shares more lines with the committed text than with the last captured one."""
        if previous is None:
            return True
        keys = set(self.make_keys(after))
        shared_with_commit = keys.intersection(self.make_keys(committed))
        return len(shared_with_commit) > len(keys.intersection(self.make_keys(previous.lines)))

    def text_of_state(self, state: StateRow) -> list[str]:
        """Return the lines of a state."""
        if state.id not in self._texts:
            self._cache_text(state.id, self._read(state))
        return self._texts[state.id]

    def _cache_text(self, state: int, lines: list[str]) -> None:
        if len(self._texts) >= CACHED_TEXTS_MAX:
            self._texts.clear()
        self._texts[state] = lines

    def text_before_state(self, state: StateRow) -> list[str]:
        """Return the lines before a state's call, as far as its record holds them."""
        view = self._read_view(state.ref, state.n)
        before = view.before if isinstance(view, FileEdit) else None
        return [] if before is None else split_lineage_lines(before.content or "")

    def find_line_offset(self, state: StateRow) -> int | None:
        """Return the lines above a state's text in its file: None for a piece at an unknown place."""
        if state.text is None:
            return 0
        view = self._read_view(state.ref, state.n)
        if not isinstance(view, FileEdit) or view.after is None:
            return None
        if split_lineage_lines(view.after.content or "") != split_lineage_lines(state.text):
            return 0
        is_placed = len(view.lines) == 1 and len(view.lines[0]) == len(state.keys)
        return view.lines[0].first - 1 if is_placed else None

    def find_keys_before(self, state: StateRow) -> list[int]:
        """Return the keys of the lines before a state's call, which are known even where the text is withheld."""
        withheld = self.withheld(state, None)
        return self.make_keys(self.find_text_before(state)) if withheld is None else sorted(withheld.before)

    def find_text_before(self, state: StateRow) -> Sequence[str]:
        """Return the lines before a state's call: as captured, else those of the file's last state or commit."""
        view = self._read_view(state.ref, state.n)
        if isinstance(view, FileEdit) and view.before is not None:
            old = (view.before.content or "").replace("\r\n", "\n")
            new = "" if view.after is None else (view.after.content or "").replace("\r\n", "\n")
            is_piece = state.text is None or split_lineage_lines(state.text) == split_lineage_lines(new)
            whole = old if is_piece or not view.part else (state.text or "").replace(new, old, 1)
            return split_lineage_lines(whole)
        last = self.tables.last_of(state.path, state.at_ns - 1)
        if last is not None:
            return self.text_of_state(last)
        return self._read_committed_lines(state.path, state.author.revision) or ()

    def find_lines_of_calls(self, path: RepoPath, keys: Collection[int], until_ns: int) -> dict[int, bool]:
        """Return those of the keys whose lines first appeared within a call, and whether they were gone after it.

        Only texts of the file until a time count. A line that has another origin was written with older words.
        """
        if not keys:
            return {}
        if self._line_keys is None or self._line_keys[0] != path:
            states = self.tables.list_states(path)
            self._line_keys = path, [(state, frozenset(state.keys)) for state in states]
        found: dict[int, bool] = {}
        previous = frozenset[int]()
        for state, state_keys in self._line_keys[1]:
            if state.at_ns > until_ns:
                break
            present = state_keys.intersection(keys)
            fresh = present - previous - found.keys()
            if fresh and LOOK not in state.author.observed:
                found.update(dict.fromkeys(fresh.difference(self.find_keys_before(state)), False))
            found.update(dict.fromkeys(found.keys() - present, True))
            previous = present
        return found

    def overwrites(self, state: StateRow) -> bool:
        """Return whether a state's call overwrote a file with an uncaptured text."""
        view = self._read_view(state.ref, state.n)
        return isinstance(view, FileEdit) and view.overwrites

    def _read_view(self, ref: RecordRef, n: int) -> View | None:
        """Return one view of a record; the last records are cached, since all states of one call share a record."""
        if ref not in self._views:
            if len(self._views) >= CACHED_RECORDS_MAX:
                self._views.clear()
            record = self.store.tables.record(ref)
            self._views[ref] = () if record is None else self.store.views.read_views(record)
        views = self._views[ref]
        return views[n] if n < len(views) else None

    def _read(self, state: StateRow) -> list[str]:
        """Return the lines of a state as stored beside it, or those of its record."""
        if state.text is not None:
            return split_lineage_lines(state.text)
        view = self._read_view(state.ref, state.n)
        if not isinstance(view, FileEdit | FileState):
            return []
        applied = apply_file_snapshot(file_snapshot_from_view(view, state.ref, state.n), None)
        return [] if applied is None else applied[0]


def _is_distinctive_line(line: str) -> bool:
    return is_informative_lineage_line(line) and not is_import_line(line)


def _state_author_from_snapshot(snapshot: FileSnapshot) -> StateAuthor:
    return StateAuthor(
        ref=snapshot.ref,
        at_ns=snapshot.at_ns,
        observed=snapshot.observed,
        agent=snapshot.agent,
        session=snapshot.session,
        call=snapshot.call,
        revision=snapshot.revision,
        kind=snapshot.kind,
    )


def _classify_snapshot_record(record: Record, near: Collection[StoreId]) -> str:
    """Return the record's kind, or ``IMPORTED`` for any imported record."""
    return IMPORTED if is_imported_record(record, near) else record.entry.kind


def _extract_snapshot_call(observed: str) -> str:
    """Return the name of the call in the name of an observation."""
    return observed.partition(":shell:")[0].removesuffix(":snapshot")
