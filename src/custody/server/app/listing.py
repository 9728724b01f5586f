"""Lists of what is kept, a page at a time, for a service."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from custody.core.ids import AgentName, RecordRef, Seq, SessionId, StoreId
from custody.core.record import Record
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import Json
from custody.core.wire.time import text_from
from custody.ledger.queries.prompts import first_prompts
from custody.ledger.queries.sessions import SessionRow, session_rows
from custody.server.app.cursor import cursor, is_storable_name, make_cursor_error, number_in, parts_of
from custody.server.queries.record_pages import PageTables
from custody.server.wire.service import (
    ConversationItem,
    ConversationsPage,
    ConversationText,
    EvidenceItem,
    EvidencePage,
    EvidenceText,
    LinkItem,
    LinksPage,
    PromptItem,
    SpanItem,
    SpansPage,
    TraceItem,
    TracesPage,
)
from custody.store import Store
from custody.workspace.workspace import Workspace

LIMIT_DEFAULT = 100
LIMIT_MAX = 1000
PROMPTS_MAX = 1000
"""What is shown of one conversation: its first prompts."""
T = TypeVar("T")
TEXTLESS = frozenset(
    "session link decision duplicate_answer source change span trace trace_link continues erased".split()
)
"""Kinds of records that hold no text of a conversation and no file's content."""


def traces(workspace: Workspace, after: str | None, limit: int) -> TracesPage:
    """Traces as they were sent."""

    def item(record: Record, said: Json) -> TraceItem:
        name = said.get("id") if isinstance(said, dict) else None
        return TraceItem(record=str(record.ref), at=_at(record), id=str(name or ""), trace=_payload(said))

    items, following = list_records(workspace, ("trace",), after, limit, item)
    return TracesPage(items=items, next=following)


def links(workspace: Workspace, after: str | None, limit: int) -> LinksPage:
    """Commit links of other tools as they were sent, and those that agents' sessions made."""

    def item(record: Record, said: Json) -> LinkItem:
        link = _payload(said) if record.entry.kind == "trace_link" else said
        return LinkItem(record=str(record.ref), at=_at(record), link=link)

    items, following = list_records(workspace, ("trace_link", "link"), after, limit, item)
    return LinksPage(items=items, next=following)


def spans(workspace: Workspace, after: str | None, limit: int) -> SpansPage:
    """Span events."""

    def item(record: Record, said: Json) -> SpanItem:
        return SpanItem(record=str(record.ref), at=_at(record), span=said)

    items, following = list_records(workspace, ("span",), after, limit, item)
    return SpansPage(items=items, next=following)


def evidence(workspace: Workspace, after: str | None, limit: int) -> EvidencePage:
    """Every record by its name."""
    with workspace.reading() as store, store.reading():
        found = PageTables(store).records((), _place(after), limit + 1)
    return EvidencePage(items=[EvidenceItem(**_named(r)) for r in found[:limit]], next=_following(found, limit))


def one_record(workspace: Workspace, name: str, *, with_text: bool) -> EvidenceText | None:
    """A record with what it says; of one that may hold texts only ``with_text``. None when there is none."""
    ref = _ref(name)
    if ref is None:
        return None
    with workspace.reading() as store, store.reading():
        record = store.tables.record(ref)
        if record is None:
            return None
        withheld = not with_text and record.entry.kind not in TEXTLESS
        payload = None if withheld else store.tables.payload(record)
    return EvidenceText(**_named(record), withheld=withheld, payload=payload)


def conversations(workspace: Workspace, after: str | None, limit: int) -> ConversationsPage:
    """Sessions by their ids, without what was said in them."""
    with workspace.reading() as store, store.reading():
        rows = PageTables(store).sessions(_session(after), limit + 1)
    more = len(rows) > limit
    last = rows[limit - 1] if more else None
    following = None if last is None else cursor(str(last.session), str(last.agent))
    return ConversationsPage(items=[_report_conversation(row) for row in rows[:limit]], next=following)


def conversation(workspace: Workspace, agent: str, session: str, *, with_text: bool) -> ConversationText | None:
    """A session and what was asked in it, with the words only ``with_text``; None when nothing is known of it."""
    if not is_storable_name(agent + session):
        return None  # no database holds such a name
    with workspace.reading() as store, store.reading():
        rows = [row for row in session_rows(store, limit=PROMPTS_MAX, named=session) if row.agent == agent]
        if not rows:
            return None
        prompts = _prompts(store, rows[0], with_text=with_text)
    return ConversationText(conversation=_report_conversation(rows[0]), with_text=with_text, prompts=prompts)


def _prompts(store: Store, row: SessionRow, *, with_text: bool) -> list[PromptItem]:
    return [
        PromptItem(
            record=str(seen.record.ref),
            id=seen.view.id,
            at=text_from(seen.view.at_ns),
            text=seen.view.text.content if with_text else None,
        )
        for seen in first_prompts(store, row.session, PROMPTS_MAX)
        if seen.view.agent == row.agent
    ]


# --- pages ------------------------------------------------------------------------------------------------------------


def list_records(
    workspace: Workspace, kinds: Sequence[str], after: str | None, limit: int, item: Callable[[Record, Json], T]
) -> tuple[list[T], str | None]:
    """The next records of these kinds, each as ``item`` has it, and the cursor of the page behind them."""
    with workspace.reading() as store, store.reading():
        found = PageTables(store).records(kinds, _place(after), limit + 1)
        payloads = store.tables.payloads(found[:limit])
    return [item(record, payloads[record.ref]) for record in found[:limit]], _following(found, limit)


def _following(found: Sequence[Record], limit: int) -> str | None:
    """What stands for the last record of a page, when there is more behind it."""
    if len(found) <= limit:
        return None
    last = found[limit - 1].ref
    return cursor(str(last.store), int(last.seq))


def _place(after: str | None) -> RecordRef | None:
    if after is None:
        return None
    store, seq = parts_of(after)
    if not isinstance(store, str) or not (store.isalnum() and store.isascii()):
        raise make_cursor_error()
    return RecordRef(StoreId(store), Seq(number_in(seq)))


def _session(after: str | None) -> tuple[SessionId, AgentName] | None:
    if after is None:
        return None
    session, agent = parts_of(after)
    if not isinstance(session, str) or not isinstance(agent, str) or not is_storable_name(session + agent):
        raise make_cursor_error()
    return SessionId(session), AgentName(agent)


def _ref(name: str) -> RecordRef | None:
    store, _, seq = name.partition(":")
    if not (store.isalnum() and store.isascii() and seq.isdecimal() and seq.isascii()) or len(seq) > 18:
        return None
    return RecordRef(StoreId(store), Seq(int(seq)))


def _payload(said: Json) -> Json:
    return said.get("payload") if isinstance(said, dict) else None


def _at(record: Record) -> str:
    return text_from(record.entry.at_ns)


def _named(record: Record) -> dict[str, str]:
    entry = record.entry
    return {
        "record": str(record.ref),
        "at": _at(record),
        "kind": entry.kind,
        "key": str(entry.key),
        "event": str(entry.event),
        "digest": digest_text(entry.digest),
    }


def _report_conversation(row: SessionRow) -> ConversationItem:
    return ConversationItem(
        agent=str(row.agent),
        session=str(row.session),
        first_at=text_from(row.first_ns),
        last_at=text_from(row.last_ns),
        events=row.events,
    )
