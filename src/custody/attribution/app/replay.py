"""Replay what was captured, file by file, and keep where each line of each state comes from."""

from collections.abc import Callable, Collection, Sequence

from custody.attribution.app.foreign_states import ForeignStates
from custody.attribution.lineage import (
    ENGINE_VERSION,
    IMPORTED,
    NOTHING,
    UNKNOWN,
    CapturedStep,
    FileSnapshot,
    TracedText,
    apply_moment,
    merge_moments,
    moment_of,
    replay_step,
    with_taken,
)
from custody.attribution.origin_search import OwnerFindings
from custody.attribution.packing import pack_origins, unpack_origins
from custody.attribution.queries.lineage import REDACTED, LineageTables, StateAuthor, StateRow
from custody.attribution.rules import AttributeRules
from custody.attribution.text import is_informative, keys_of, lines_of, text_of
from custody.core.ids import CommitSha, RecordRef, StoreId
from custody.core.paths import RepoPath
from custody.core.record import Record
from custody.core.views import FileEdit, FileState
from custody.git import FileAt, Object, ObjectReader
from custody.ledger.records import is_imported, list_trusted_chains
from custody.store import Store

MARKER = "[redacted:"
"""How what stands for a secret begins."""
RENAMED_LINES_MAX = 200
"""How many lines of a file without a history of its own are asked for where they come from."""
_FORMER_RULES = "0.95,24,2.0,8,5000,64"
"""What is constant now and once was settable: without it, every store of an earlier version would be replayed again."""
TEXTS_KEPT = 256
"""States whose text is held while one question is answered."""


def lineage_version(rules: AttributeRules) -> str:
    """What made the states that are kept: another engine, or other rules of lineage, make them again."""
    return f"{ENGINE_VERSION}:{rules.carry_words_share_min},{_FORMER_RULES}"


class Lineage:
    """The replayed states of one store, brought up to date."""

    def __init__(self, store: Store, objects: ObjectReader[Object], rules: AttributeRules) -> None:
        self.store = store
        self.tables = LineageTables(store)
        self.rules = rules
        self._objects = objects
        self.version = f"{lineage_version(rules)}:{store.views.version}"
        self._texts: dict[int, list[str]] = {}
        self._ids: dict[str, int] = {}
        self._newest = 0
        self._call: tuple[RecordRef, str | None] | None = None
        self._found: TracedText | None = None
        """What the call that is being replayed found, before the first of its pieces was put in."""
        self._adopted = ForeignStates(store)

    def catch_up(self, start: Callable[[str, int | None], None], step: Callable[[int], None]) -> None:
        """Replay what arrived since the last time; killed anywhere, the next time finishes it."""
        spans = self.tables.unread(self.version)
        if not spans and self._adopted.is_current:
            return
        if not self.tables.is_of(self.version) or any(self.tables.has_erasures(*span) for span in spans):
            with self.store.writing():
                self.tables.forget_all()
        again = self._adopted.catch_up()
        spans = self.tables.unread(self.version)
        after = {store: first for store, first, _ in spans}
        own = [span for span in spans if span[0] not in self._adopted.stores]
        # A file that took another's lines is replayed after it.
        paths = self.tables.by_first_moment({*again, *(path for span in own for path in self.tables.touched(*span))})
        start("replaying", len(paths))
        for path in paths:
            with self.store.writing():
                self._replay(path, after, anew=path in again)
            step(1)
        with self.store.writing():
            for store, _, until in spans:
                self.tables.read_until(store, until, self.version)

    def known(self, state: StateRow, beside: Sequence[str] = ()) -> TracedText:
        """A state's lines with their origins; of a withheld text those lines that ``beside`` has too."""
        if state.ref.store not in self._adopted.stores:
            return TracedText(self.text_of_state(state), unpack_origins(state.origins))
        texts = dict(zip(keys_of(beside), beside, strict=True))
        lines = [texts.get(key, f"\0{n}") for n, key in enumerate(state.keys)]
        return TracedText(lines, unpack_origins(state.origins))

    def withheld(self, state: StateRow, commit: CommitSha | None) -> OwnerFindings | None:
        """What stands for the text of a state that its store withheld; None where the text is here."""
        return self._adopted.withheld(state, commit) if state.ref.store in self._adopted.stores else None

    def _replay(self, path: RepoPath, after: dict[StoreId, int], *, anew: bool) -> None:
        """Replay a file's new moments; all of them when some are not the latest or tell of a known call again."""
        moments = [moment for moment in self.tables.moments(path) if moment[2].store not in self._adopted.stores]
        done = self.tables.replayed(path)
        late = [m for m in moments if anew or m[2].seq > after.get(m[2].store, m[2].seq)]
        new = [m for m in late if (m[2], m[3]) not in done]
        last = self.tables.last_of(path)
        fresh = self._loaded(new)
        in_order = last is None or all(moment.at_ns > last.at_ns for moment in fresh)
        calls = {_base(call) for call in done.values()}
        if done and not (in_order and calls.isdisjoint(_base(moment.observed) for moment in fresh)):
            # States of other files may speak of these: the same call stays the same state.
            self._ids, self._newest = self.tables.ids(path), self.tables.newest()
            self.tables.forget(path)
            fresh = self._loaded(moments)
        for moment, taken in with_taken(merge_moments(fresh)):
            self._keep(path, moment, taken)

    def _loaded(self, moments: Sequence[tuple[int, str, RecordRef, int]]) -> list[FileSnapshot]:
        found = []
        owned = list_trusted_chains(self.store)
        for _, _, ref, n in moments:
            seen = self.store.views.at(ref, n)
            if seen is not None and isinstance(seen.view, FileEdit | FileState):
                found.append(moment_of(seen.view, ref, n, _kind(seen.record, owned)))
        return found

    def _keep(self, path: RepoPath, moment: FileSnapshot, taken: Sequence[str]) -> None:
        """Replay one moment onto what is known of the file before it; its call took ``taken`` out at other places."""
        before = None if moment.before is None or moment.part else lines_of(moment.before)
        previous, row = self._previous(path, moment, before)
        done = apply_moment(moment, None if previous is None else previous.lines)
        if done is None:
            return  # erased, binary or never captured: there is nothing to replay
        lines, is_whole = done
        state = self._ids.get(moment.observed) or max(self._newest, self.tables.newest()) + 1
        if self._call != (moment.ref, moment.call):
            self._call, self._found = (moment.ref, moment.call), previous
        if not is_whole:
            previous, before = None, [*lines_of(moment.before or ""), *taken]
        elif taken and previous is not None:
            previous = _with_taken(previous, self._found or NOTHING, taken)
        proposed = None if moment.proposed is None else lines_of(moment.proposed)
        known = replay_step(CapturedStep(state, before, lines, moment.is_call, proposed), previous, self.rules)
        if row is not None and not moment.is_call and list(known.lines) == self.text_of_state(row):
            return  # somebody looked and saw nothing new
        self._put(path, moment, state, known)

    def _put(self, path: RepoPath, moment: FileSnapshot, state: int, known: TracedText) -> None:
        text = "\n".join(known.lines) if moment.part else None
        row = StateRow(
            id=state,
            path=path,
            n=moment.n,
            told=_make_state_author(moment),
            text=text,
            keys=tuple(keys_of(known.lines)),
            origins=pack_origins(known.origins),
        )
        told = zip(row.keys, known.lines, known.origins, strict=True)
        brought = [key for key, line, origin in told if origin.state == state and is_informative(line)]
        if any(MARKER in line for line in known.lines):
            brought.append(REDACTED)
        self.tables.put(row, brought)

    def _previous(
        self, path: RepoPath, moment: FileSnapshot, before: Sequence[str] | None
    ) -> tuple[TracedText | None, StateRow | None]:
        """What is known of the file before a moment: its last state, or the one that it went back to."""
        row = None if before is None else self.tables.same_text(path, keys_of(before))
        row = row or self.tables.last_of(path, moment.at_ns)
        if row is None and before:
            row = self._under_another_name(path, moment, before)
        beside = lines_of(moment.after or "") if before is None else before
        previous = self._renamed_by(moment) if row is None else self.known(row, beside)
        if moment.before is None and moment.after is not None:
            committed = self._committed(path, moment.revision)
            if committed is not None and _is_nearer(committed, previous, lines_of(moment.after)):
                return self._carried_to(committed, previous), row
        return previous, row

    def _carried_to(self, lines: Sequence[str], previous: TracedText | None) -> TracedText:
        return replay_step(CapturedStep(0, None, lines, is_call=False), previous, self.rules)

    def _committed(self, path: RepoPath, revision: CommitSha | None) -> list[str] | None:
        """The file in the commit that the agent worked on top of."""
        if revision is None:
            return None
        found = self._objects.read(FileAt(revision, path))
        return lines_of(text_of(found.content)) if isinstance(found, Object) and found.info.kind == "blob" else None

    def _under_another_name(self, path: RepoPath, moment: FileSnapshot, before: Sequence[str]) -> StateRow | None:
        """The state of a file that was called otherwise, if most of this one's lines are from there."""
        telling = list(dict.fromkeys(keys_of(line for line in before if is_informative(line))))[:RENAMED_LINES_MAX]
        for state, votes in self.tables.voted(telling).most_common(1):
            (row,) = self.tables.states([state])
            if votes * 2 > len(telling) and row.path != path:
                return self.tables.last_of(row.path, moment.at_ns)
        return None

    def _renamed_by(self, moment: FileSnapshot) -> TracedText | None:
        """A file that the same call made vanish, if most of the new one's lines are from there."""
        record = self.store.tables.record(moment.ref) if moment.before is None else None
        gone = () if record is None or moment.after is None else self.store.views.of(record)
        wanted = set(keys_of(line for line in lines_of(moment.after or "") if is_informative(line)))
        for view in gone:
            if isinstance(view, FileState) and view.gone:
                row = self.tables.last_of(view.path, moment.at_ns - 1)
                committed = self._committed(view.path, view.revision)
                known = self.known(row, lines_of(moment.after or "")) if row is not None else None
                if known is None or not known.lines:
                    known = None if committed is None else self._carried_to(committed, None)
                if known is not None and len(wanted.intersection(keys_of(known.lines))) * 2 > len(wanted):
                    return known
        return None

    def text_of_state(self, state: StateRow) -> list[str]:
        """The lines of a state."""
        if state.id not in self._texts:
            if len(self._texts) >= TEXTS_KEPT:
                self._texts.clear()
            self._texts[state.id] = self._read(state)
        return self._texts[state.id]

    def text_before_state(self, state: StateRow) -> list[str]:
        """The lines that a state's call found, as far as its record holds them."""
        seen = self.store.views.at(state.ref, state.n)
        before = seen.view.before if seen is not None and isinstance(seen.view, FileEdit) else None
        return [] if before is None else lines_of(before.content or "")

    def overwrites(self, state: StateRow) -> bool:
        """Whether a state's call wrote over a file of which nobody told what was in it."""
        seen = self.store.views.at(state.ref, state.n)
        return seen is not None and isinstance(seen.view, FileEdit) and seen.view.overwrites

    def _read(self, state: StateRow) -> list[str]:
        """The lines of a state as they were kept beside it, or those of its record."""
        if state.text is not None:
            return lines_of(state.text)
        seen = self.store.views.at(state.ref, state.n)
        if seen is None or not isinstance(seen.view, FileEdit | FileState):
            return []
        done = apply_moment(moment_of(seen.view, state.ref, state.n), None)
        return [] if done is None else done[0]


def _with_taken(previous: TracedText, found: TracedText, taken: Sequence[str]) -> TracedText:
    """What is known before a piece is put in, and behind it the lines ``taken`` from the text that the call found."""
    origins = dict(zip(reversed(keys_of(found.lines)), reversed(found.origins), strict=True))
    moved = (origins.get(key, UNKNOWN) for key in keys_of(taken))
    return TracedText((*previous.lines, *taken), (*previous.origins, *moved))


def _make_state_author(moment: FileSnapshot) -> StateAuthor:
    return StateAuthor(
        ref=moment.ref,
        at_ns=moment.at_ns,
        observed=moment.observed,
        agent=moment.agent,
        session=moment.session,
        call=moment.call,
        revision=moment.revision,
        kind=moment.kind,
    )


def _kind(record: Record, owned: Collection[StoreId]) -> str:
    """Who told of it: the record's kind, or that it was imported, whatever its kind."""
    return IMPORTED if is_imported(record, owned) else record.entry.kind


def _base(call: str) -> str:
    """A call's own name, without what tells observations of it apart."""
    return call.partition(":shell:")[0].removesuffix(":snapshot")


def _is_nearer(committed: Sequence[str], previous: TracedText | None, after: Sequence[str]) -> bool:
    """Whether more of what came after is in the committed text than in the last captured one."""
    if previous is None:
        return True
    wanted = set(keys_of(after))
    return len(wanted.intersection(keys_of(committed))) > len(wanted.intersection(keys_of(previous.lines)))
