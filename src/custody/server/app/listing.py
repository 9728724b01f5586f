"""Lists a page at a time: records, decisions, changes and sources, with their cursors."""

import base64
import binascii
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TypeVar

from custody.cite.app.registry import cite_page
from custody.core.errors import InputError
from custody.core.ids import AgentName, RecordRef, Seq, SessionId, StoreId
from custody.core.record import Record
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import Json, dump, parse
from custody.core.wire.time import text_from
from custody.dupes.app.indexed_changes import list_changes
from custody.dupes.app.report import report_indexed_change
from custody.ledger.queries import SessionRow, first_prompts, session_rows
from custody.server.queries import PageTables
from custody.server.wire.service import (
    ChangesPage,
    ConversationItem,
    ConversationsPage,
    ConversationText,
    DecisionItem,
    DecisionsPage,
    EvidenceItem,
    EvidencePage,
    EvidenceText,
    LinkItem,
    LinksPage,
    PromptItem,
    SourcesPage,
    SpanItem,
    SpansPage,
    TraceItem,
    TracesPage,
)
from custody.store import Store
from custody.workspace.workspace import Workspace

# Cursors: where a page of a list ends, as a word that a caller hands back.


NUMBER_MAX = 2**63 - 1


def cursor(*parts: Json) -> str:
    """Two parts as one word."""
    return base64.urlsafe_b64encode(dump(list(parts))).decode().rstrip("=")


def parts_of(word: str) -> tuple[Json, Json]:
    """The two parts of a cursor, or an ``InputError``."""
    try:
        padded = word + "=" * (-len(word) % 4)
        value = parse(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, InputError) as error:
        raise make_cursor_error() from error
    if isinstance(value, list) and len(value) == 2:
        return value[0], value[1]
    raise make_cursor_error()


def number_behind(word: str | None, what: str) -> int:
    """The number behind which the next page of ``what`` begins; 0 for the first page."""
    if word is None:
        return 0
    kind, number = parts_of(word)
    if kind != what:
        raise make_cursor_error()
    return number_in(number)


def number_in(part: Json) -> int:
    """A part of a cursor that is a number from 1 on, or an ``InputError``."""
    if not isinstance(part, int) or isinstance(part, bool) or not 0 < part <= NUMBER_MAX:
        raise make_cursor_error()
    return part


def is_storable_name(text: str) -> bool:
    """Whether a database can hold this name: no zero character, no half of a surrogate pair."""
    return not any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in text)


def make_cursor_error() -> InputError:
    """The error for what is no cursor."""
    return InputError("'after' is no cursor of ours", hint="take it from 'next' of the page before")


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


# Decisions, indexed changes and sources a page at a time, for a service.


CHANGE, SOURCE = "change", "source"


def decisions(workspace: Workspace, after: str | None, limit: int) -> DecisionsPage:
    """Decisions about every agent, in the order of their records."""

    def item(record: Record, said: Json) -> DecisionItem:
        at = text_from(record.entry.at_ns)
        return DecisionItem(record=str(record.ref), at=at, key=str(record.entry.key), decision=said)

    items, following = list_records(workspace, ("decision",), after, limit, item)
    return DecisionsPage(items=items, next=following)


def changes(workspace: Workspace, after: str | None, limit: int) -> ChangesPage:
    """Changes in the order in which they were indexed."""
    behind = number_behind(after, CHANGE)
    with workspace.reading() as store, store.reading():
        rows = list(islice(list_changes(store, after=behind), limit + 1))
    following = cursor(CHANGE, rows[limit - 1].id) if len(rows) > limit else None
    return ChangesPage(items=[report_indexed_change(row) for row in rows[:limit]], next=following)


def sources(workspace: Workspace, after: str | None, limit: int) -> SourcesPage:
    """Sources by their numbers; one of which nothing is left is passed over."""
    found, last = cite_page(workspace, number_behind(after, SOURCE), limit)
    return SourcesPage(items=found, next=None if last is None else cursor(SOURCE, last))
