"""The one store class: append, read, erase, copy chains, keep views current.

It speaks the SQL that SQLite and PostgreSQL share; what differs is in ``db``. This file is the only one that decides
which chain a database may append to.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from custody.core.digest import content_hashes_match
from custody.core.ids import (
    PENDING,
    AgentName,
    CommitSha,
    ContentHash,
    Digest,
    EventId,
    ExecutionId,
    SessionId,
    SpanId,
    StoreId,
)
from custody.core.paths import RepoPath
from custody.core.record import Head, Record, chained, head_at
from custody.core.views import FileEdit, Session
from custody.core.wire.arrival import CONTINUES, ERASED, Arrival, continues, erased
from custody.core.wire.canonical import Json
from custody.store.db import Db, Value
from custody.store.heads import Heads
from custody.store.migrate import migrate
from custody.store.projection import DerivedTables, Progress, Projection, Reader, Seen
from custody.store.record_filter import EVERYTHING, Only
from custody.store.rows import hash_digits
from custody.store.tables import Body, Tables, erased_digest, integer

_HASH_PREFIX_DIGITS = 8
MARKS_MAX = 500
"""So many values stand in one question."""
SESSIONS_READ_MAX = 20
"""Records of one session that are read for what they say of it as a whole."""
_AFTER_HEX = "g"
_APART = (
    "SELECT 1 FROM observation WHERE observation.store_id = traced_file.store_id"
    " AND observation.seq = traced_file.seq AND observation.event = 'trace'"
)
"""A trace that is about a commit's lines is no sign that its session was seen at work."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the store is handed instead of reaching for it: moments, chance, the head files if there are any."""

    now_ns: Callable[[], int]
    token: Callable[[], str]
    heads: Heads | None


@dataclass(frozen=True, slots=True)
class ViewWiring:
    """What views are made by: a reader for each kind of record, and the tables that packages derive from records."""

    readers: Mapping[str, Reader]
    derived: tuple[Callable[["Store"], DerivedTables], ...] = ()


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did: the records it made, and the events that were there already."""

    made: tuple[Record, ...]
    known: tuple[EventId, ...]


@dataclass(frozen=True, slots=True)
class Copied:
    """What copying a chain did: records that are new here, known already, and in conflict with one that is here."""

    store: StoreId
    new: int
    known: int
    forked: int


@dataclass(frozen=True, slots=True)
class Fork:
    """A record that claims a place which another record has, as an export lists it."""

    record: Record


@dataclass(slots=True)
class _Copying:
    """How far copying one chain has come."""

    held: Head
    until: int | None
    """How far the chain may grow by copying: our own only as far as we remember to have written it."""
    new: int = 0
    known: int = 0
    forked: int = 0


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Sources by their locators, those read last first, and how many there are in all."""

    locators: tuple[str, ...]
    total: int


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session by what was captured of it: when first, when last, how many events."""

    agent: AgentName
    session: SessionId
    first_ns: int
    last_ns: int
    events: int


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent by what was captured of it; ``live_ns`` is when something last came as it happened."""

    agent: AgentName
    last_ns: int
    live_ns: int | None
    sessions: int


class Store:
    """Records, bodies and views in one database."""

    def __init__(self, db: Db, wiring: ViewWiring, surroundings: Surroundings) -> None:
        try:
            migrate(db)
        except BaseException:
            db.close()
            raise
        self.db = db
        self.tables = Tables(db)
        self.views = Projection(self.tables, wiring.readers, [make(self) for make in wiring.derived])
        self._around = surroundings

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.db.close()

    @property
    def heads(self) -> Heads | None:
        """The head files beside the database, if it has a folder."""
        return self._around.heads

    # --- write --------------------------------------------------------------------------------------------------------

    def append(self, arrivals: Sequence[Arrival], *, chain: StoreId | None = None) -> Appended:
        """Chain what is new, in the order given; after this returns it is durable, and the head beside it says so."""
        return self.append_what(lambda: arrivals, chain=chain)

    def append_what(self, look: Callable[[], Sequence[Arrival]], *, chain: StoreId | None = None) -> Appended:
        """The same for what ``look`` gives, which looks alone among writers: what it saw still holds then."""
        made: list[Record] = []
        known: list[EventId] = []
        with self.db.writing():
            arrivals = look()
            if not arrivals:
                return Appended((), ())
            head = self._own_head() if chain is None else self._chain(chain, owned=True)
            fresh, again = self._parted(arrivals)
            for arrival in fresh:
                made.append(chained(head, arrival.entry))
                head = head_at(made[-1])
            self._keep_all(fresh, made)
            for arrival in again:
                self._keep_bodies(arrival)
                known.append(arrival.entry.event)
            self.views.read_on(head.store)
        self._remember(head)
        return Appended(tuple(made), tuple(known))

    def erase(self, digests: Sequence[Digest], *, who: str, why: str) -> Appended:
        """Forget these bodies for good: a record says who and why, digests and links still check, views let go."""
        made: list[Record] = []
        with self.db.writing():
            head = self._own_head()
            for digest in digests:
                event = EventId(f"{ERASED}-{self._around.token()}")
                record = self._keep(head, erased(event, digest, who=who, why=why, at_ns=self._around.now_ns()))
                head = head_at(record)
                made.append(record)
                self.db.run("UPDATE body SET bytes = NULL WHERE digest = ?", (digest,))
                self.tables.put_erasure(digest, record.ref)
                self.views.read_again(digest)
            self.views.read_on(head.store)
        self._remember(head)
        self.db.scrub()
        return Appended(tuple(made), ())

    def copy(self, items: Iterable[Record | Body | Fork]) -> list[Copied]:
        """Copy verified chains verbatim, all or none: what is here is passed over, a place taken makes a fork."""
        copying: dict[StoreId, _Copying] = {}
        returned: list[Digest] = []
        with self.db.writing():
            for item in items:
                if isinstance(item, Body):
                    returned += [item.digest] if self._copy_body(item) else []
                elif isinstance(item, Fork):
                    self.tables.put_fork(item.record)
                else:
                    if item.store not in copying:
                        held = self._chain(item.store, owned=False)
                        copying[item.store] = _Copying(held, self._written_until(item.store))
                    self._copy_record(item, copying[item.store])
            for store in copying:
                self.views.read_on(store)
            self._read_returned(returned)
        for store in copying:
            self._remember(self.tables.head(store))
        return [Copied(store, c.new, c.known, c.forked) for store, c in copying.items()]

    def _copy_body(self, body: Body) -> bool:
        """Keep copied bytes or their outline; True when more of a body is here now than was before."""
        if body.outline is not None:
            return self.tables.put_outline(body.digest, body.outline)
        return self.tables.put_body(body.digest, body.data)

    def _read_returned(self, digests: Iterable[Digest]) -> None:
        """Inside a write: read records again of which more is here than before."""
        for digest in digests:
            for record in self.tables.records_holding(digest):
                self.tables.reindex(record, self.tables.payload(record))
            self.views.read_again(digest)

    def _let_go(self, payload: Json) -> None:
        """Inside a write: drop the outlines of what another store erased; they were its word, and it took it back."""
        for digest in erased_digest(payload):
            if self.tables.drop_outline(digest):
                self.views.read_again(digest)

    def _copy_record(self, record: Record, chain: "_Copying") -> None:
        there = self.tables.record(record.ref) if record.seq <= chain.held.seq else None
        if there is not None and there.link == record.link:
            chain.known += 1
        elif there is None and not chain.forked and (chain.until is None or record.seq <= chain.until):
            self.tables.put_record(record)
            payload = self.tables.payload(record)
            self.tables.reindex(record, payload)
            if record.entry.kind == ERASED:
                self._let_go(payload)
            chain.new += 1
        else:
            self.tables.put_fork(record)
            chain.forked += 1

    def catch_up(self, progress: Progress = lambda _: None) -> None:
        """Bring every view up to the chains' heads."""
        self.views.catch_up(progress)

    # --- look up ------------------------------------------------------------------------------------------------------

    def own(self) -> StoreId | None:
        """The chain that this database appends to; None before its first record."""
        found = self.db.rows("SELECT value FROM setting WHERE name = 'store_id'")
        return StoreId(str(found[0][0])) if found else None

    def sessions_at(self, revision: CommitSha) -> list[Seen]:
        """The sessions that worked on top of ``revision``."""
        return self.views.look_up("session", "revision = ?", (revision,))

    def edits_at(self, revision: CommitSha) -> list[Seen]:
        """The edits made while HEAD was ``revision``."""
        return self.views.look_up("file_edit", "revision = ?", (revision,))

    def edits_of(self, path: RepoPath, *, since_ns: int, until_ns: int) -> list[Seen]:
        """The edits of one file in a window of time, both ends included."""
        return self.views.look_up("file_edit", "path = ? AND at_ns BETWEEN ? AND ?", (path.raw, since_ns, until_ns))

    def sessions_with_files(self) -> list[SessionId]:
        """The sessions and traces that touched any file."""
        rows = self.db.rows("SELECT session FROM file_edit UNION SELECT session FROM traced_file ORDER BY 1")
        return [SessionId(str(session)) for (session,) in rows]

    def edits_of_at(self, path: RepoPath, revision: CommitSha) -> list[Seen]:
        """The edits of one file made while HEAD was ``revision``."""
        return self.views.look_up("file_edit", "path = ? AND revision = ?", (path.raw, revision))

    def edits_by(self, session: SessionId, path: RepoPath) -> list[Seen]:
        """The edits that a session made to one file."""
        return self.views.look_up("file_edit", "path = ? AND session = ?", (path.raw, session))

    def traced_at(self, revision: CommitSha, digits_min: int) -> list[Seen]:
        """The files of traces recorded at ``revision``, which a trace may have written with fewer digits."""
        written = [revision[:digits] for digits in range(digits_min, len(revision) + 1)]
        return self.views.look_up("traced_file", f"revision IN ({_marks(written)})", written)

    def traced_of_commits(self, commits: Sequence[CommitSha]) -> list[Seen]:
        """The files of traces that name one of these commits."""
        found: list[Seen] = []
        for at in range(0, len(commits), MARKS_MAX):
            some = commits[at : at + MARKS_MAX]
            found.extend(self.views.look_up("traced_file", f"revision IN ({_marks(some)})", some))
        return found

    def traced_apart(self, path: RepoPath) -> list[Seen]:
        """What traces say of a file that are not about the lines of a commit."""
        return self.views.look_up("traced_file", f"path = ? AND EXISTS ({_APART})", (path.raw,))

    def first_trace_ns(self) -> int | None:
        """When the first trace was made that is not about the lines of a commit."""
        (row,) = self.db.rows(f"SELECT min(at_ns) FROM traced_file WHERE EXISTS ({_APART})")
        return None if row[0] is None else integer(row[0])

    def traced_by(self, trace: SessionId) -> list[Seen]:
        """The files of one trace."""
        return self.views.look_up("traced_file", "session = ?", (trace,))

    def traced_of(self, paths: Collection[RepoPath], *, since_ns: int, until_ns: int) -> list[Seen]:
        """What traces say of these paths in a window of time, both ends included."""
        values: list[Value] = [*(path.raw for path in paths), since_ns, until_ns]
        return self.views.look_up("traced_file", f"path IN ({_marks(paths)}) AND at_ns BETWEEN ? AND ?", values)

    def edits_told_twice(self, session: SessionId) -> list[Seen]:
        """The edits of a session whose observation was recorded more than once, with different content."""
        other = "SELECT 1 FROM record a JOIN record b ON b.natural_key = a.natural_key AND b.digest <> a.digest"
        here = "a.store_id = file_edit.store_id AND a.seq = file_edit.seq"
        return self.views.look_up("file_edit", f"session = ? AND EXISTS ({other} WHERE {here})", (session,))

    def edits_with(self, content_hash: ContentHash) -> list[Seen]:
        """The edits that carry this content hash, compared on the shorter length as document 000 says."""
        start = hash_digits(content_hash)[:_HASH_PREFIX_DIGITS]
        near = self.views.look_up("edit_hash", "hash >= ? AND hash < ?", (start, start + _AFTER_HEX))
        return [
            seen
            for seen in near
            if isinstance(seen.view, FileEdit) and any(content_hashes_match(content_hash, h) for h in seen.view.hashes)
        ]

    def links_of(self, commit: CommitSha) -> list[Seen]:
        """The sessions that are said to have made ``commit``."""
        return self.views.look_up("commit_link", "commit_sha = ?", (commit,))

    def commits_seen(self, commit: CommitSha) -> list[Seen]:
        """What git's own hooks told of ``commit``."""
        return self.views.look_up("commit_seen", "commit_sha = ?", (commit,))

    def pull_request_facts(self, number: int) -> list[Seen]:
        """The sessions that spoke of this pull request."""
        return self.views.look_up("pull_request_fact", "number = ?", (number,))

    def was_open(
        self, agent: AgentName, session: SessionId, at_ns: int, within_ns: int, only: Only = EVERYTHING
    ) -> bool:
        """Whether something of a session was captured shortly before a moment, and not its end."""
        last = self.db.rows(
            "SELECT event FROM observation WHERE session = ? AND agent = ? AND at_ns <= ? AND at_ns > ?"
            f"{only.where('observation')} ORDER BY at_ns DESC, store_id DESC, seq DESC, n DESC LIMIT 1",
            (session, agent, at_ns, at_ns - within_ns, *only.values),
        )
        return bool(last) and str(last[0][0]).lower() != "sessionend"

    def work_trees_of(self, agent: AgentName, session: SessionId, only: Only = EVERYTHING) -> set[str]:
        """The work trees in which a session was seen to begin, again or for the first time."""
        where = (
            f"session = ? AND agent = ?{only.where('session')}"
            f" ORDER BY started_ns, store_id, seq, n LIMIT {SESSIONS_READ_MAX}"
        )
        found = self.views.look_up("session", where, (session, agent, *only.values))
        views = (seen.view for seen in found)
        return {v.worktree for v in views if isinstance(v, Session) and v.agent == agent and v.worktree is not None}

    def sessions_before(self, agent: AgentName, session: SessionId, at_ns: int, only: Only = EVERYTHING) -> list[Seen]:
        """What was last said of a session up to a moment, in at most so many records as one looks at."""
        where = (
            f"session = ? AND agent = ? AND started_ns <= ?{only.where('session')}"
            f" ORDER BY started_ns DESC LIMIT {SESSIONS_READ_MAX}"
        )
        return self.views.look_up("session", where, (session, agent, at_ns, *only.values))

    def first_prompt(self, agent: AgentName, session: SessionId) -> Seen | None:
        """The first thing that an agent was asked in a session; another agent may have one of the same id."""
        for limit in (1, SESSIONS_READ_MAX):  # the first row nearly always is the agent's own
            found = self.views.look_up(
                "prompt", f"session = ? ORDER BY at_ns, store_id, seq, n LIMIT {limit}", (session,)
            )
            own = [seen for seen in found if getattr(seen.view, "agent", None) == agent]
            if own:
                return min(own, key=lambda seen: getattr(seen.view, "at_ns", 0))
        return None

    def calls_of(self, session: SessionId, call: str) -> list[Seen]:
        """What was seen of one call."""
        return self.views.look_up("tool_call", "session = ? AND call = ?", (session, call))

    def spans_of(self, execution: ExecutionId) -> list[Seen]:
        """What was recorded of the spans of one execution."""
        return self.views.look_up("span", "execution = ?", (execution,))

    def spans_in(self, session: SessionId) -> list[Seen]:
        """What was recorded of the spans of an agent's session."""
        return self.views.look_up("span", "session = ?", (session,))

    def spans_under(self, execution: ExecutionId, parent: SpanId) -> list[Seen]:
        """What was recorded of the spans that ran directly inside one."""
        return self.views.look_up("span", "parent = ? AND execution = ?", (parent, execution))

    def read_by(self, sessions: Collection[SessionId], until_ns: int, limit: int) -> ReadRows:
        """What these sessions had read by a moment, without reading any record."""
        where = f"FROM source_read WHERE session IN ({_marks(sessions)}) AND at_ns <= ?"
        values: list[Value] = [*sessions, until_ns]
        rows = self.db.rows(
            f"SELECT locator {where} GROUP BY locator ORDER BY max(at_ns) DESC, locator LIMIT {int(limit)}", values
        )
        total = self.db.rows(f"SELECT count(DISTINCT locator) {where}", values)
        return ReadRows(tuple(str(locator) for (locator,) in rows), integer(total[0][0]))

    def sessions(self, *, limit: int, starting: str = "", named: str | None = None) -> list[SessionRow]:
        """The sessions whose id begins so, or is exactly so; those active last first."""
        least, most = (starting, starting + chr(0x10FFFF)) if named is None else (named, named)
        rows = self.db.rows(
            "SELECT agent, session, min(at_ns), max(at_ns), count(*) FROM observation"
            " WHERE session >= ? AND session <= ? GROUP BY agent, session"
            " ORDER BY max(at_ns) DESC, agent, session LIMIT ?",
            (least, most, limit),
        )
        return [
            SessionRow(AgentName(str(a)), SessionId(str(s)), integer(first), integer(last), integer(count))
            for a, s, first, last, count in rows
        ]

    def agents(self) -> list[AgentRow]:
        """Every agent of which anything was captured: when last, when last live, and of how many sessions."""
        rows = self.db.rows(
            "SELECT agent, max(at_ns), max(CASE WHEN event <> 'transcript' THEN at_ns END), count(DISTINCT session)"
            " FROM observation GROUP BY agent ORDER BY agent"
        )
        return [
            AgentRow(AgentName(str(a)), integer(last), None if live is None else integer(live), integer(count))
            for a, last, live, count in rows
        ]

    def session_names(self) -> list[tuple[str, str]]:
        """Every session with its agent."""
        return [(str(a), str(s)) for a, s in self.db.rows("SELECT DISTINCT agent, session FROM observation")]

    def session_count(self) -> int:
        """How many sessions anything was captured of."""
        found = self.db.rows("SELECT count(*) FROM (SELECT DISTINCT agent, session FROM observation) AS seen")
        return integer(found[0][0])

    # --- which chain --------------------------------------------------------------------------------------------------

    def _own_head(self) -> Head:
        """The head to append to; a new chain when this database finds itself copied, restored or cut short."""
        settings = {str(name): str(value) for name, value in self.db.rows("SELECT name, value FROM setting")}
        stamp = self.db.stamp()
        if "store_id" not in settings:
            return self._begin(stamp)
        own = self.tables.head(StoreId(settings["store_id"]))
        if settings.get("stamp") == stamp and self._reaches_its_head(own):
            return own
        fresh = self._begin(stamp)
        event = EventId(f"{CONTINUES}-{fresh.store}")
        return head_at(self._keep(fresh, continues(event, own, self._around.now_ns())))

    def _reaches_its_head(self, own: Head) -> bool:
        """Whether the table still holds what the head file remembers: appending to less would make a fork."""
        if self._around.heads is None:
            return True
        known = self._around.heads.read(own.store)
        if known is None:
            # A head beside its database is written before the first record; a team's may be new to this machine.
            return bool(self.db.place)
        if known.seq == 0:
            return True
        there = self.db.rows("SELECT link FROM record WHERE store_id = ? AND seq = ?", (own.store, int(known.seq)))
        return there == [(known.link,)]

    def _written_until(self, store: StoreId) -> int | None:
        """How far a chain was written here if it is the one we append to: beyond that nobody else may continue it."""
        settings = {str(name): str(value) for name, value in self.db.rows("SELECT name, value FROM setting")}
        if settings.get("store_id") != store or settings.get("stamp") != self.db.stamp():
            return None
        known = self._around.heads.read(store) if self._around.heads else None
        return max(self.tables.head(store).seq, known.seq if known else 0)

    def _begin(self, stamp: str) -> Head:
        store = StoreId(self._around.token())
        for name, value in (("store_id", store), ("stamp", stamp)):
            self.db.run(
                "INSERT INTO setting (name, value) VALUES (?, ?)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, value),
            )
        return self._chain(store, owned=True)

    def _chain(self, store: StoreId, *, owned: bool) -> Head:
        head = self.tables.head(store)
        if head.seq == 0:
            self.db.run("INSERT INTO chain (store_id, owned) VALUES (?, ?) ON CONFLICT DO NOTHING", (store, int(owned)))
            # Before the first record is committed, so that a chain without a head file is one that somebody deleted.
            self._remember(head)
        return head

    def _keep(self, head: Head, arrival: Arrival) -> Record:
        record = chained(head, arrival.entry)
        self._keep_bodies(arrival)
        self.tables.put_record(record)
        return record

    def _parted(self, arrivals: Sequence[Arrival]) -> tuple[list[Arrival], list[Arrival]]:
        """What is new, each thing once, and what is there already or came a second time."""
        known = self.tables.known_among([arrival.entry for arrival in arrivals])
        fresh: list[Arrival] = []
        again: list[Arrival] = []
        for arrival in arrivals:
            if known.holds(arrival.entry):
                again.append(arrival)
            else:
                known.add(arrival.entry)
                fresh.append(arrival)
        return fresh, again

    def _keep_all(self, arrivals: Sequence[Arrival], records: Sequence[Record]) -> None:
        """Keep new records with the bytes of their arrivals, in few statements: each is a way to a server and back."""
        returned = self.tables.put_bodies({d: data for one in arrivals for d, data in _bodies(one).items()})
        self.tables.put_parts((one.entry.digest, text) for one in arrivals for text in one.texts)
        self.tables.put_records(records)
        for digest in returned:
            self.views.read_again(digest)

    def _keep_bodies(self, arrival: Arrival) -> None:
        """Keep the bytes of an arrival, also where a chain knew it but another store's erasure had emptied it."""
        returned = [digest for digest, data in _bodies(arrival).items() if self.tables.put_body(digest, data)]
        self.tables.put_parts((arrival.entry.digest, text) for text in arrival.texts)
        for digest in returned:
            self.views.read_again(digest)

    def _remember(self, head: Head) -> None:
        # The pending chain lives in a private copy and vanishes with it: nothing on disk may speak of it.
        if self._around.heads is not None and head.store != PENDING:
            self._around.heads.advance(head)


def _bodies(arrival: Arrival) -> dict[Digest, bytes]:
    return {arrival.entry.digest: arrival.payload, **arrival.texts}


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))
