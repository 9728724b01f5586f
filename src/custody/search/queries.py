"""The index of searchable texts: rows in and out, derived from views, and from transcripts for agents' answers.

The index is behind the records until a search needs it. An erased text leaves it at once.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from custody.capture.transcript_reader import find_transcript_answer
from custody.core.errors import InputError
from custody.core.ids import AgentName, CommitSha, RecordRef, Seq, SessionId, StoreId
from custody.core.record import Record
from custody.core.views import TRANSCRIPT, CommitLink, FileEdit, Observation, Prompt, ToolCall
from custody.core.wire.canonical import Json
from custody.core.wire.event import TranscriptEvent, event_from_json
from custody.core.wire.time import parse_timestamp
from custody.search.model import SearchCorpus, SearchTerm, SessionKey, TextKind, split_search_words
from custody.store import DerivedTables, ObservedView, Store, make_sql_placeholders
from custody.store.db import SqlValue
from custody.store.tables import integer_from_sql, split_row_batches

SEARCH = "search"
"""The name of the index in the table of positions."""
INDEX_VERSION = 2
"""The version of the words; another one indexes everything again."""
RECORDS_STEP = 2000
"""Records that one transaction indexes, so that a killed run continues."""

IndexedView = Prompt | ToolCall | FileEdit | CommitLink
_KINDS = (Prompt, ToolCall, FileEdit, CommitLink)
_ITEM = "item, store_id, seq, n, kind, agent, session, name, at_ns"


class SearchText(Struct, frozen=True):
    """A text to index, and where it is: ``name`` identifies it in its session."""

    ref: RecordRef
    n: int
    kind: TextKind
    session: SessionKey
    name: str
    at_ns: int
    text: str


class SearchItem(Struct, frozen=True):
    """An indexed text, without the text itself."""

    ref: RecordRef
    n: int
    kind: TextKind
    session: SessionKey
    name: str
    at_ns: int


class TextMatch(NamedTuple):
    """An indexed text with a term: its number in the index, its kind, session and time."""

    item: int
    kind: TextKind
    session: SessionKey
    at_ns: int


class SearchFilter(Struct, frozen=True):
    """The texts that a search may find: of these kinds, of one agent, since a time, of sessions that changed a path."""

    kinds: tuple[TextKind, ...]
    agent: str | None = None
    since_ns: int | None = None
    path: bytes | None = None


class SearchTables(DerivedTables):
    """The index of one store."""

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._tables = store.tables
        self._views = store.views

    # --- keep current -------------------------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        """Return the version of the index: of its words and of the views."""
        return f"{INDEX_VERSION} {self._views.version}"

    def list_unread(self) -> list[tuple[StoreId, int, int]]:
        """Return the chains with records that are not indexed, each with the position before them and the last one."""
        unread = []
        for head in self._tables.chains():
            seq, version = self._tables.read_view_position(SEARCH, head.store) or (0, self.version)
            after = seq if version == self.version and seq <= head.seq else 0
            if after < head.seq or version != self.version:
                unread.append((head.store, after, int(head.seq)))
        return unread

    def read_texts(self, store: StoreId, after: int, until: int) -> list[SearchText]:
        """Return the texts of these records to index; that of a commit is empty, since only git has it."""
        views: list[ObservedView[IndexedView]] = self._views.look_up_in(
            _KINDS, "store_id = ? AND seq > ? AND seq <= ?", (store, after, until)
        )
        texts = [text for seen in views if (text := _search_text_from_view(seen)) is not None]
        records = self._tables.records_after(store, after, until - after)
        answers = [record for record in records if record.entry.kind == TRANSCRIPT and record.seq <= until]
        for page in split_row_batches(answers):
            payloads = self._tables.payloads(page)
            texts += [text for record in page if (text := _search_answer(record, payloads[record.ref])) is not None]
        return texts

    def put(self, store: StoreId, texts: Sequence[SearchText], after: int, until: int) -> None:
        """Index these texts of the records of a chain from ``after`` to ``until``, inside a write."""
        if after == 0:
            self.forget_views(store)
        elif (self._tables.read_view_position(SEARCH, store) or (0, ""))[0] != after:
            return  # another process has indexed these records
        self._insert(texts)
        self._db.run(
            "INSERT INTO state (view, store_id, seq, version) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (view, store_id) DO UPDATE SET seq = excluded.seq, version = excluded.version",
            (SEARCH, store, until, self.version),
        )

    def read_again(self, records: Sequence[Record]) -> None:
        """Remove the texts of these records, and index what is still there."""
        refs = [record.ref for record in records]
        self._delete("store_id = ? AND seq = ?", [(ref.store, int(ref.seq)) for ref in refs])
        for ref in refs:
            done, version = self._tables.read_view_position(SEARCH, ref.store) or (0, "")
            if ref.seq <= done and version == self.version:
                texts = self.read_texts(ref.store, ref.seq - 1, ref.seq)
                self._insert([text for text in texts if text.kind is not TextKind.COMMIT])

    def forget_views(self, store: StoreId) -> None:
        """Drop the index of a chain before its views are rebuilt."""
        self._delete("store_id = ?", [(store,)])
        self._db.run("DELETE FROM state WHERE view = ? AND store_id = ?", (SEARCH, store))

    def forget(self) -> None:
        """Drop the index before everything is rebuilt."""
        self._delete("1 = 1", [()])
        self._db.run("DELETE FROM state WHERE view = ?", (SEARCH,))

    def _insert(self, texts: Sequence[SearchText]) -> None:
        ((last,),) = self._db.rows("SELECT coalesce(max(item), 0) FROM search_item")
        rows = [
            (item, text, words)
            for item, (text, words) in enumerate(_list_texts_with_words(texts), integer_from_sql(last) + 1)
        ]
        self._db.run_for_each(
            f"INSERT INTO search_item ({_ITEM}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (item, t.ref.store, int(t.ref.seq), t.n, t.kind.value, *t.session, t.name, t.at_ns)
                for item, t, _ in rows
            ],
        )
        self._db.index_words([(item, words) for item, _, words in rows])

    def _delete(self, where: str, values: Iterable[Sequence[SqlValue]]) -> None:
        items: list[int] = []
        for value in values:
            items += [
                integer_from_sql(item)
                for (item,) in self._db.rows(f"SELECT item FROM search_item WHERE {where}", value)
            ]
            self._db.run(f"DELETE FROM search_item WHERE {where}", value)
        if items:
            self._db.drop_words(items)

    # --- look up ------------------------------------------------------------------------------------------------------

    def read_corpus(self) -> SearchCorpus:
        """Return every indexed session with the number of its texts by kind."""
        texts: dict[SessionKey, dict[TextKind, int]] = {}
        for agent, session, kind, count in self._db.rows(
            "SELECT agent, session, kind, count(*) FROM search_item GROUP BY agent, session, kind"
        ):
            texts.setdefault((str(agent), str(session)), {})[TextKind(str(kind))] = integer_from_sql(count)
        return SearchCorpus(texts)

    def count_matches(self, term: SearchTerm, only: SearchFilter) -> dict[SessionKey, dict[TextKind, int]]:
        """Return the texts with a term, counted by session and kind; a text that was recorded twice counts once."""
        if not self._db.rows("SELECT 1 FROM search_item LIMIT 1"):
            return {}  # the full-text index is made with the first text
        query, value = self._db.match_words(term.words, is_prefix=term.is_prefix)
        where, values = _make_filter_condition(only)
        matches: dict[SessionKey, dict[TextKind, int]] = {}
        for agent, session, kind, count in self._db.rows(
            "SELECT agent, session, kind, count(DISTINCT name) FROM search_item"
            f" WHERE item IN ({query}){where} GROUP BY agent, session, kind",
            (value, *values),
        ):
            matches.setdefault((str(agent), str(session)), {})[TextKind(str(kind))] = integer_from_sql(count)
        return matches

    def list_matches(self, term: SearchTerm, only: SearchFilter, sessions: Sequence[SessionKey]) -> Iterator[TextMatch]:
        """Yield the texts of these sessions with a term."""
        query, value = self._db.match_words(term.words, is_prefix=term.is_prefix)
        where, values = _make_filter_condition(only)
        names = sorted({session for _, session in sessions})
        rows = self._db.rows(
            f"SELECT item, kind, agent, session, at_ns FROM search_item WHERE item IN ({query}){where}"
            f" AND session IN ({make_sql_placeholders(names)}) ORDER BY item",
            (value, *values, *names),
        )
        kinds = {kind.value: kind for kind in TextKind}
        for item, kind, agent, session, at_ns in rows:  # thousands: no conversion that the driver has made
            yield TextMatch(item, kinds[kind], (agent, session), at_ns)  # type: ignore[index,arg-type]

    def read_items(self, items: Collection[int]) -> dict[int, SearchItem]:
        """Return indexed texts by their number."""
        rows = self._db.rows(
            f"SELECT {_ITEM} FROM search_item WHERE item IN ({make_sql_placeholders(items)})", [*items]
        )
        return {
            integer_from_sql(item): SearchItem(
                RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq))),
                integer_from_sql(n),
                TextKind(str(kind)),
                (str(agent), str(session)),
                str(name),
                integer_from_sql(at_ns),
            )
            for item, store, seq, n, kind, agent, session, name, at_ns in rows
        }

    def list_session_ids(self) -> list[str]:
        """Return the ids of all recorded sessions, of any agent, in order."""
        return sorted(str(session) for session in self._views.distinct(Observation, "session"))

    def list_session_commits(self, sessions: Sequence[SessionKey]) -> Mapping[SessionKey, list[CommitSha]]:
        """Return the commits that these sessions made, as far as they are indexed, oldest first."""
        names = sorted({session for _, session in sessions})
        commits: dict[SessionKey, dict[CommitSha, None]] = {}
        for agent, session, name in self._db.rows(
            "SELECT agent, session, name FROM search_item WHERE kind = 'commit'"
            f" AND session IN ({make_sql_placeholders(names)}) ORDER BY at_ns, item",
            names,
        ):
            commits.setdefault((str(agent), str(session)), {})[CommitSha(str(name))] = None
        return {session: list(found) for session, found in commits.items()}

    def read_text(self, item: SearchItem) -> str | None:
        """Return the text of an item; None for the subject of a commit, and after it was erased."""
        if item.kind is TextKind.ANSWER:
            record = self._tables.record(item.ref)
            answer = None if record is None else _search_answer(record, self._tables.payload(record))
            return None if answer is None else answer.text
        seen = self._views.read_view_at(item.ref, item.n)
        if seen is None or not isinstance(seen.view, Prompt | ToolCall | FileEdit):
            return None
        return _describe_text(seen.view)[3]


def _search_text_from_view(seen: ObservedView[IndexedView]) -> SearchText | None:
    view = seen.view
    kind, name, at_ns, content = _describe_text(view)
    if content is None:
        return None
    return SearchText(seen.record.ref, seen.n, kind, (view.agent, view.session), name, at_ns, content)


def _search_answer(record: Record, payload: Json) -> SearchText | None:
    """Return what an agent said on a line of its transcript; None without a text, or if it was erased."""
    try:
        event = event_from_json(payload)
        text = find_transcript_answer(event) if isinstance(event, TranscriptEvent) else None
    except InputError:
        return None  # of a copied chain: not a line of a transcript
    if text is None or not isinstance(event, TranscriptEvent):
        return None
    session = (AgentName(event.agent), SessionId(event.session))
    return SearchText(record.ref, 0, TextKind.ANSWER, session, event.id, parse_timestamp(event.at), text)


def _describe_text(view: IndexedView) -> tuple[TextKind, str, int, str | None]:
    """Return the kind, the name, the time and the text of a view."""
    match view:
        case Prompt():
            return TextKind.PROMPT, view.id, view.at_ns, view.text.content
        case ToolCall():
            return TextKind.COMMAND, view.id, view.started_ns, view.about
        case FileEdit():
            return TextKind.FILE, view.path.display, view.at_ns, view.path.display
        case CommitLink():
            return TextKind.COMMIT, view.commit, view.at_ns, ""


def _list_texts_with_words(texts: Iterable[SearchText]) -> Iterator[tuple[SearchText, list[str]]]:
    for text in texts:
        if words := split_search_words(text.text):
            yield text, words


def _make_filter_condition(only: SearchFilter) -> tuple[str, list[SqlValue]]:
    where = f" AND kind IN ({make_sql_placeholders(only.kinds)})"
    values: list[SqlValue] = [kind.value for kind in only.kinds]
    if only.agent is not None:
        where, values = f"{where} AND agent = ?", [*values, only.agent]
    if only.since_ns is not None:
        where, values = f"{where} AND at_ns >= ?", [*values, only.since_ns]
    if only.path is not None:
        folder = only.path.rstrip(b"/") + b"/"
        where += " AND session IN (SELECT session FROM file_edit WHERE path = ? OR (path >= ? AND path < ?))"
        values += [only.path, folder, folder[:-1] + b"0"]
    return where, values


def split_search_batches(unread: tuple[StoreId, int, int]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a chain's unread records, each with the position before it and its last one."""
    _, after, until = unread
    while after < until:
        end = min(after + RECORDS_STEP, until)
        yield after, end
        after = end
