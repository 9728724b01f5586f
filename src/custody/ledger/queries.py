"""SQL over records that several questions need, typed rows out.

May touch the open database of its caller.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from custody.core.ids import (
    AgentName,
    CallId,
    Digest,
    NaturalKey,
    RecordRef,
    Seq,
    SessionId,
    StoreId,
)
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, FileState, Observation, Prompt, Session, SourceAccess, ToolCall, TracedFile
from custody.store import EVERYTHING, ObservedView, RecordFilter, Store, make_sql_placeholders
from custody.store.db import SqlValue
from custody.store.tables import bytes_from_sql, integer_from_sql

# SQL about the tool calls of sessions.


def find_session_call(store: Store, session: SessionId, call: str) -> list[ObservedView[ToolCall]]:
    """Return the captured events of one tool call, of any agent."""
    return store.views.look_up(ToolCall, "session = ? AND call = ?", (session, call))


def list_call_models(
    store: Store, agent: AgentName, session: SessionId, call: str, only: RecordFilter = EVERYTHING
) -> list[str]:
    """Return the models that the captured events of one tool call name; an empty one must be read from its view."""
    where = "agent = ? AND session = ? AND call = ? AND model IS NOT NULL" + only.make_condition("tool_call")
    return [
        str(model) for model in store.views.distinct(ToolCall, "model", where, (agent, session, call, *only.values))
    ]


def list_session_call_ids(store: Store, session: SessionId) -> list[CallId]:
    """Return the ids of the tool calls of a session, of any agent."""
    return [CallId(str(call)) for call in store.views.distinct(ToolCall, "call", "session = ?", (session,))]


def list_last_session_calls_with_model(store: Store, session: SessionId, limit: int) -> list[ObservedView[ToolCall]]:
    """Return the last records about tool calls of a session that name a model, of any agent."""
    where = f"session = ? AND model IS NOT NULL ORDER BY started_ns DESC LIMIT {int(limit)}"
    return store.views.look_up(ToolCall, where, (session,))


# A conversation has the prompts of a session, and its records that support no conclusion. Only this file decides which
# records support one: an edit, a state of a file, a commit, a source, a decision, a call.


_CONCLUSIONS = (
    "file_edit file_state traced_file commit_link commit_seen pull_request_fact source_read tool_call"
    " decision duplicate_answer hunk_read author_claim source change span"
).split()
"""Views that support a conclusion: a record with one of them is not erased."""


class ConversationTables:
    """Old conversations, found by the views of their records."""

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._tables = store.tables

    def bodies_before(self, at_ns: int) -> list[Digest]:
        """Return the bodies, not erased yet, that only conversations before a time use; in order."""
        old = self._records_before(at_ns)
        digests = {digest for ref in old for digest in self._bodies_of(ref)}
        return sorted(d for d in digests if all(record.ref in old for record in self._tables.records_holding(d)))

    def list_erased(self, after_ns: int, until_ns: int) -> list[tuple[NaturalKey, RecordRef]]:
        """Return the erased records of a period by their keys, the latest first."""
        rows = self._db.rows(
            "SELECT natural_key, store_id, seq FROM record WHERE at_ns > ? AND at_ns <= ? AND digest IN"
            " (SELECT erasure.digest FROM erasure JOIN body ON body.digest = erasure.digest WHERE body.bytes IS NULL)"
            " ORDER BY at_ns DESC, store_id DESC, seq DESC",
            (after_ns, until_ns),
        )
        return [
            (NaturalKey(str(key)), RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq))))
            for key, store, seq in rows
        ]

    def _records_before(self, at_ns: int) -> set[RecordRef]:
        # The start of a session has no text, unless the same record has a prompt.
        rows = (
            *self._find_records_in("prompt", _CONCLUSIONS, at_ns),
            *self._find_records_in("observation", ("session", *_CONCLUSIONS), at_ns),
        )
        return set(rows)

    def _find_records_in(self, table: str, views: tuple[str, ...] | list[str], at_ns: int) -> Iterator[RecordRef]:
        without_views = " AND ".join(
            f"NOT EXISTS (SELECT 1 FROM {name} AS other WHERE other.store_id = it.store_id AND other.seq = it.seq)"
            for name in views
        )
        rows = self._db.rows(
            f"SELECT DISTINCT store_id, seq FROM {table} AS it WHERE at_ns < ? AND {without_views}", (at_ns,)
        )
        for store, seq in rows:
            yield RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq)))

    def _bodies_of(self, ref: RecordRef) -> list[Digest]:
        rows = self._db.rows(
            "SELECT body.digest FROM body JOIN record ON record.digest = body.digest"
            " WHERE store_id = ? AND seq = ? AND bytes IS NOT NULL"
            " UNION SELECT body.digest FROM body JOIN part ON part.text = body.digest"
            " JOIN record ON record.digest = part.body WHERE store_id = ? AND seq = ? AND bytes IS NOT NULL",
            (ref.store, int(ref.seq), ref.store, int(ref.seq)),
        )
        return [Digest(bytes_from_sql(digest)) for (digest,) in rows]


# SQL about the edits of files.


def list_session_edits(store: Store, session: SessionId) -> list[ObservedView[FileEdit]]:
    """Return the edits of a session, of any agent."""
    return store.views.look_up(FileEdit, "session = ?", (session,))


def list_session_paths(store: Store, session: SessionId) -> set[RepoPath]:
    """Return the files that a session edited, of any agent."""
    paths = store.views.distinct(FileEdit, "path", "session = ?", (session,))
    return {RepoPath(path) for path in paths if isinstance(path, bytes)}


def list_recorded_paths(store: Store, kinds: Collection[type[FileEdit | FileState | TracedFile]]) -> set[RepoPath]:
    """Return every file that any view of these kinds names."""
    return {RepoPath(path) for kind in kinds for path in store.views.distinct(kind, "path") if isinstance(path, bytes)}


# SQL about the sources that sessions read.


class ReadRows(Struct, frozen=True):
    """Sources by their locators, the last read first, and their total number."""

    locators: tuple[str, ...]
    total: int


def list_session_source_locators(store: Store, sessions: Collection[SessionId], until_ns: int, limit: int) -> ReadRows:
    """Return the sources that these sessions read up to a time, without reading any record."""
    where = f"FROM source_read WHERE session IN ({make_sql_placeholders(sessions)}) AND at_ns <= ?"
    values: list[SqlValue] = [*sessions, until_ns]
    rows = store.db.rows(
        f"SELECT locator {where} GROUP BY locator ORDER BY max(at_ns) DESC, locator LIMIT {int(limit)}", values
    )
    total = store.db.rows(f"SELECT count(DISTINCT locator) {where}", values)
    return ReadRows(tuple(str(locator) for (locator,) in rows), integer_from_sql(total[0][0]))


# SQL about sessions.


SESSIONS_READ_MAX: Final = 20
"""Maximum records of one session that are read for the session as a whole."""

SessionView = Session | Prompt | ToolCall | FileEdit | SourceAccess
"""Views that belong to one session of one agent."""

V = TypeVar("V", bound=SessionView)


class SessionRow(Struct, frozen=True):
    """A session with the times of its first message, last event and last message, and the number of events.

    A link to a commit is an event and not a message: it may be made long after the session, by an import.
    ``is_imported`` holds if transcripts are all that there is of the session.
    """

    agent: AgentName
    session: SessionId
    first_ns: int
    last_ns: int
    events: int
    ended_ns: int
    is_imported: bool


SESSION_TIMES: Final = (
    "coalesce(min(CASE WHEN event <> 'link' THEN at_ns END), min(at_ns)), max(at_ns), count(*),"
    " coalesce(max(CASE WHEN event <> 'link' THEN at_ns END), max(at_ns)) AS ended_ns,"
    " coalesce(min(CASE event WHEN 'transcript' THEN 1 WHEN 'link' THEN NULL ELSE 0 END), 0)"
)
"""The columns of a ``SessionRow`` after its names, grouped by session and agent."""


def list_session_rows(store: Store, *, limit: int, starting: str = "", named: str | None = None) -> list[SessionRow]:
    """Return the sessions with an id that starts with ``starting`` or equals ``named``, the last active first."""
    least, most = (starting, starting + chr(0x10FFFF)) if named is None else (named, named)
    rows = store.db.rows(
        f"SELECT agent, session, {SESSION_TIMES} FROM observation"
        " WHERE session >= ? AND session <= ? GROUP BY agent, session"
        " ORDER BY ended_ns DESC, agent, session LIMIT ?",
        (least, most, limit),
    )
    return [session_row_from_sql(agent, session, numbers) for agent, session, *numbers in rows]


def session_row_from_sql(agent: SqlValue, session: SqlValue, numbers: Sequence[SqlValue]) -> SessionRow:
    """Return the session with these names and the ``SESSION_TIMES`` of a row."""
    first_ns, last_ns, events, ended_ns, is_imported = map(integer_from_sql, numbers)
    names = AgentName(str(agent)), SessionId(str(session))
    return SessionRow(*names, first_ns, last_ns, events, ended_ns, bool(is_imported))


def list_recorded_session_ids(store: Store) -> list[SessionId]:
    """Return the ids of all sessions, of any agent, in order."""
    return sorted(SessionId(str(session)) for session in store.views.distinct(Observation, "session"))


def count_recorded_sessions(store: Store) -> int:
    """Return how many sessions have a captured event."""
    rows = store.db.rows("SELECT count(*) FROM (SELECT DISTINCT agent, session FROM observation) AS seen")
    return integer_from_sql(rows[0][0])


def list_session_agents(store: Store, session: SessionId) -> list[AgentName]:
    """Return the agents with a session of this id, by name."""
    return [AgentName(str(agent)) for agent in store.views.distinct(Observation, "agent", "session = ?", (session,))]


def list_session_views_by_kind(store: Store, session: SessionId, kinds: Collection[type[V]]) -> list[ObservedView[V]]:
    """Return all views of these kinds of a session, of any agent."""
    return store.views.look_up_in(kinds, "session = ?", (session,))


def list_session_views(store: Store, session: SessionId) -> list[ObservedView[Session]]:
    """Return all views of a session as a whole, of any agent."""
    return store.views.look_up(Session, "session = ?", (session,))


def list_first_session_views(store: Store, session: SessionId, limit: int) -> list[ObservedView[Session]]:
    """Return the first records about a session as a whole, of any agent."""
    return store.views.look_up(Session, f"session = ? ORDER BY started_ns LIMIT {int(limit)}", (session,))


def list_last_session_views(store: Store, session: SessionId, limit: int) -> list[ObservedView[Session]]:
    """Return the last records about a session as a whole, of any agent."""
    return store.views.look_up(Session, f"session = ? ORDER BY started_ns DESC LIMIT {int(limit)}", (session,))


def list_session_views_before(
    store: Store, agent: AgentName, session: SessionId, at_ns: int, only: RecordFilter = EVERYTHING
) -> list[ObservedView[Session]]:
    """Return the last ``SESSIONS_READ_MAX`` records about a session up to a time."""
    where = (
        f"session = ? AND agent = ? AND started_ns <= ?{only.make_condition('session')}"
        f" ORDER BY started_ns DESC LIMIT {SESSIONS_READ_MAX}"
    )
    return store.views.look_up(Session, where, (session, agent, at_ns, *only.values))


def list_session_models_before(
    store: Store, agent: AgentName, session: SessionId, at_ns: int, only: RecordFilter = EVERYTHING
) -> list[tuple[int, str | None]]:
    """Return the start and model of the views that ``list_session_views_before`` returns, without reading a record.

    An empty model must be read from its view.
    """
    rows = store.db.rows(
        f"SELECT started_ns, model FROM session WHERE session = ? AND agent = ? AND started_ns <= ?"
        f"{only.make_condition('session')} ORDER BY started_ns DESC LIMIT {SESSIONS_READ_MAX}",
        (session, agent, at_ns, *only.values),
    )
    return [(integer_from_sql(started), None if model is None else str(model)) for started, model in rows]


def was_session_open(
    store: Store, agent: AgentName, session: SessionId, at_ns: int, within_ns: int, only: RecordFilter = EVERYTHING
) -> bool:
    """Return whether the last event of a session within ``within_ns`` before a time is not its end."""
    last = store.db.rows(
        "SELECT event FROM observation WHERE session = ? AND agent = ? AND at_ns <= ? AND at_ns > ?"
        f"{only.make_condition('observation')} ORDER BY at_ns DESC, store_id DESC, seq DESC, n DESC LIMIT 1",
        (session, agent, at_ns, at_ns - within_ns, *only.values),
    )
    return bool(last) and str(last[0][0]).lower() != "sessionend"


def list_session_work_trees(
    store: Store, agent: AgentName, session: SessionId, only: RecordFilter = EVERYTHING
) -> set[str]:
    """Return the work trees in which a session started or resumed."""
    where = (
        f"session = ? AND agent = ?{only.make_condition('session')}"
        f" ORDER BY started_ns, store_id, seq, n LIMIT {SESSIONS_READ_MAX}"
    )
    views = (row.view for row in store.views.look_up(Session, where, (session, agent, *only.values)))
    return {view.worktree for view in views if view.agent == agent and view.worktree is not None}


# SQL about the prompts of sessions.


def list_session_prompts(store: Store, session: SessionId) -> list[ObservedView[Prompt]]:
    """Return the prompts of a session, of any agent."""
    return store.views.look_up(Prompt, "session = ?", (session,))


def list_prompts_of_sessions(store: Store, sessions: Collection[SessionId]) -> list[ObservedView[Prompt]]:
    """Return the prompts of these sessions, of any agent."""
    return store.views.look_up(Prompt, f"session IN ({make_sql_placeholders(sessions)})", sorted(sessions))


def list_first_session_prompts(store: Store, session: SessionId, limit: int) -> list[ObservedView[Prompt]]:
    """Return the first prompts of a session, of any agent."""
    return store.views.look_up(Prompt, f"session = ? ORDER BY at_ns LIMIT {int(limit)}", (session,))


def list_session_prompts_until(
    store: Store, session: SessionId, until_ns: int, limit: int
) -> list[ObservedView[Prompt]]:
    """Return the last prompts of a session up to a time, of any agent."""
    where = f"session = ? AND at_ns <= ? ORDER BY at_ns DESC LIMIT {int(limit)}"
    return store.views.look_up(Prompt, where, (session, until_ns))


def find_first_session_prompt(store: Store, agent: AgentName, session: SessionId) -> ObservedView[Prompt] | None:
    """Return the first prompt of an agent's session; another agent may have a session of the same id."""
    for limit in (1, SESSIONS_READ_MAX):  # the first row is nearly always the agent's own
        where = f"session = ? ORDER BY at_ns, store_id, seq, n LIMIT {limit}"
        own = [prompt for prompt in store.views.look_up(Prompt, where, (session,)) if prompt.view.agent == agent]
        if own:
            return min(own, key=lambda prompt: prompt.view.at_ns)
    return None


# SQL about contradictory recordings of edits.


def list_conflicting_session_edits(store: Store, session: SessionId) -> list[ObservedView[FileEdit]]:
    """Return the edits of a session that were recorded more than once with different content."""
    other = "SELECT 1 FROM record a JOIN record b ON b.natural_key = a.natural_key AND b.digest <> a.digest"
    here = "a.store_id = file_edit.store_id AND a.seq = file_edit.seq"
    return store.views.look_up(FileEdit, f"session = ? AND EXISTS ({other} WHERE {here})", (session,))


# SQL about the sources behind a line.


def list_session_source_readings(
    store: Store, sessions: Collection[SessionId], locator: str, until_ns: int, limit: int
) -> list[ObservedView[SourceAccess]]:
    """Return the last readings of a source by these sessions up to a time."""
    where = f"session IN ({make_sql_placeholders(sessions)}) AND locator = ? AND at_ns <= ?"
    return store.views.look_up(
        SourceAccess, f"{where} ORDER BY at_ns DESC LIMIT {int(limit)}", (*sessions, locator, until_ns)
    )


# SQL about signed statements of chain heads.


class HeadStatement(Struct, frozen=True):
    """A signed statement that a chain reached ``seq``: its bytes, the signer's public key and the signature."""

    store: StoreId
    seq: int
    signer: str
    statement: bytes
    signature: str


def find_head_statements(store: Store, chain: StoreId, seq: int) -> list[HeadStatement]:
    """Return the statements that a chain reached ``seq`` or beyond."""
    rows = store.db.rows(
        "SELECT seq, signer, statement, signature FROM head_statement WHERE store_id = ? AND seq >= ?"
        " ORDER BY seq, signer",
        (chain, seq),
    )
    return [
        HeadStatement(chain, integer_from_sql(at), str(signer), bytes_from_sql(text), str(signature))
        for at, signer, text, signature in rows
    ]


# Excerpts of prompts: which prompts may be published, and what other stores published of theirs.


_EXCERPTS = "prompt-excerpts:"
"""The prefix of the settings with the excerpts of a chain."""


def list_linked_prompts(store: Store, chain: StoreId, count_max: int) -> list[ObservedView[Prompt]]:
    """Return the latest prompts in a chain of sessions that are linked to a commit, of any agent."""
    where = f"store_id = ? AND session IN (SELECT session FROM commit_link) ORDER BY at_ns DESC LIMIT {int(count_max)}"
    return store.views.look_up(Prompt, where, (chain,))


def read_prompt_excerpts(store: Store, chain: StoreId) -> bytes:
    """Return the stored excerpts of a chain's prompts; none is empty."""
    rows = store.db.rows("SELECT value FROM setting WHERE name = ?", (f"{_EXCERPTS}{chain}",))
    return str(rows[0][0]).encode() if rows else b""


def put_prompt_excerpts(store: Store, chain: StoreId, excerpts: bytes) -> None:
    """Replace the stored excerpts of a chain's prompts, inside a write."""
    store.db.run("DELETE FROM setting WHERE name = ?", (f"{_EXCERPTS}{chain}",))
    if excerpts:
        store.db.run(
            "INSERT INTO setting (name, value) VALUES (?, ?)", (f"{_EXCERPTS}{chain}", excerpts.decode("utf-8"))
        )
