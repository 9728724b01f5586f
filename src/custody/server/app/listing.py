"""Paged lists: records, decisions, changes and sources, with their cursors."""

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from custody.cite.app.registry import cite_page
from custody.core.errors import InputError
from custody.core.ids import AgentName, RecordRef, Seq, SessionId, StoreId
from custody.core.record import Record
from custody.core.wire.arrival import SPAN, SPANS
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import Json, dump_canonical_json, parse_json_bytes
from custody.core.wire.time import format_timestamp
from custody.dupes.app.indexed_changes import list_indexed_changes
from custody.dupes.app.report import report_indexed_change
from custody.ledger.queries import SessionRow, list_first_session_prompts, list_session_rows
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

NUMBER_MAX = 2**63 - 1


def encode_page_cursor(*parts: Json) -> str:
    """Encode the parts of a cursor."""
    return base64.urlsafe_b64encode(dump_canonical_json(list(parts))).decode().rstrip("=")


def decode_page_cursor(cursor: str) -> tuple[Json, Json]:
    """Decode a cursor with two parts, or raise an ``InputError``."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        value = parse_json_bytes(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, InputError) as error:
        raise make_cursor_error() from error
    if isinstance(value, list) and len(value) == 2:
        return value[0], value[1]
    raise make_cursor_error()


def parse_cursor_position(cursor: str | None, expected_kind: str) -> int:
    """Return the number after which the next page begins; 0 for the first page."""
    if cursor is None:
        return 0
    kind, number = decode_page_cursor(cursor)
    if kind != expected_kind:
        raise make_cursor_error()
    return check_cursor_number(number)


def check_cursor_number(part: Json) -> int:
    """Return a positive number of a cursor, or raise an ``InputError``."""
    if not isinstance(part, int) or isinstance(part, bool) or not 0 < part <= NUMBER_MAX:
        raise make_cursor_error()
    return part


def is_storable_param(text: str) -> bool:
    """Return whether a database can store this name: no NUL, no lone surrogate."""
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text)


def make_cursor_error() -> InputError:
    """Return the error for an invalid cursor."""
    return InputError("invalid cursor in 'after'", hint="use 'next' of the previous page")


LIMIT_DEFAULT = 100
LIMIT_MAX = 1000
PROMPTS_MAX = 1000
"""Maximum prompts of one conversation; the first ones are returned."""
T = TypeVar("T")
TEXTLESS = frozenset(
    "session link decision duplicate_answer read source change span spans trace trace_link continues erased".split()
)
"""Kinds of records without text of conversations or files."""


def list_traces_page(workspace: Workspace, after: str | None, limit: int) -> TracesPage:
    """List traces as they were sent."""

    def item(record: Record, payload: Json) -> TraceItem:
        name = payload.get("id") if isinstance(payload, dict) else None
        return TraceItem(
            record=str(record.ref),
            at=_format_item_time(record),
            id=str(name or ""),
            trace=_extract_item_payload(payload),
        )

    items, following = list_records_page(workspace, ("trace",), after, limit, item)
    return TracesPage(items=items, next=following)


def list_links_page(workspace: Workspace, after: str | None, limit: int) -> LinksPage:
    """List commit links of other tools as they were sent, and those of recorded sessions."""

    def item(record: Record, payload: Json) -> LinkItem:
        link = _extract_item_payload(payload) if record.entry.kind == "trace_link" else payload
        return LinkItem(record=str(record.ref), at=_format_item_time(record), link=link)

    items, following = list_records_page(workspace, ("trace_link", "link"), after, limit, item)
    return LinksPage(items=items, next=following)


def list_spans_page(workspace: Workspace, after: str | None, limit: int) -> SpansPage:
    """List span events."""
    start, skipped = _parse_span_cursor(after)
    items: list[tuple[SpanItem, str]] = []
    with workspace.reading() as store, store.reading():
        for record in PageTables(store).records((SPAN, SPANS), start, limit + 1):
            for n, span in enumerate(_iterate_record_spans(record, store.tables.payload(record)), 1):
                if n > skipped:
                    item = SpanItem(record=str(record.ref), at=_format_item_time(record), span=span)
                    items.append((item, encode_page_cursor(str(record.store), [int(record.seq), n])))
                if len(items) > limit:
                    break
            skipped = 0
            if len(items) > limit:
                break
    return SpansPage(
        items=[item for item, _ in items[:limit]], next=items[limit - 1][1] if len(items) > limit else None
    )


def _iterate_record_spans(record: Record, payload: Json) -> Iterator[Json]:
    """Yield the spans of a record; an erased one is null."""
    if record.entry.kind == SPAN:
        yield payload
    elif isinstance(payload, dict) and isinstance(spans := payload.get("spans"), list):
        yield from (span[1] if isinstance(span, list) else None for span in spans)


def _parse_span_cursor(after: str | None) -> tuple[RecordRef | None, int]:
    """Return the record before the next page, and how many spans of the following one earlier pages had."""
    if after is None:
        return None, 0
    store, place = decode_page_cursor(after)
    if not isinstance(place, list):
        return _parse_record_cursor(after), 0  # of an earlier version, with one span per record
    if not isinstance(store, str) or not (store.isalnum() and store.isascii()) or len(place) != 2:
        raise make_cursor_error()
    seq, n = map(check_cursor_number, place)
    return RecordRef(StoreId(store), Seq(seq - 1)), n


def list_evidence_page(workspace: Workspace, after: str | None, limit: int) -> EvidencePage:
    """List all records."""
    with workspace.reading() as store, store.reading():
        records = PageTables(store).records((), _parse_record_cursor(after), limit + 1)
    return EvidencePage(
        items=[EvidenceItem(**_make_evidence_item_fields(r)) for r in records[:limit]],
        next=_make_next_page_cursor(records, limit),
    )


def answer_record_request(workspace: Workspace, name: str, *, with_text: bool) -> EvidenceText | None:
    """Return a record; its content only ``with_text`` if it may contain conversations. None if it does not exist."""
    ref = _parse_record_param(name)
    if ref is None:
        return None
    with workspace.reading() as store, store.reading():
        record = store.tables.record(ref)
        if record is None:
            return None
        withheld = not with_text and record.entry.kind not in TEXTLESS
        payload = None if withheld else store.tables.payload(record)
    return EvidenceText(**_make_evidence_item_fields(record), withheld=withheld, payload=payload)


def list_conversations_page(workspace: Workspace, after: str | None, limit: int) -> ConversationsPage:
    """List sessions by id, without their content."""
    with workspace.reading() as store, store.reading():
        rows = PageTables(store).sessions(_parse_session_cursor(after), limit + 1)
    more = len(rows) > limit
    last = rows[limit - 1] if more else None
    following = None if last is None else encode_page_cursor(str(last.session), str(last.agent))
    return ConversationsPage(items=[_make_conversation_item(row) for row in rows[:limit]], next=following)


def answer_conversation_request(
    workspace: Workspace, agent: str, session: str, *, with_text: bool
) -> ConversationText | None:
    """Return a session and its prompts, their text only ``with_text``; None if it is unknown."""
    if not is_storable_param(agent + session):
        return None  # no database can store such a name
    with workspace.reading() as store, store.reading():
        rows = [row for row in list_session_rows(store, limit=PROMPTS_MAX, named=session) if row.agent == agent]
        if not rows:
            return None
        prompts = _list_conversation_prompts(store, rows[0], with_text=with_text)
    return ConversationText(conversation=_make_conversation_item(rows[0]), with_text=with_text, prompts=prompts)


def _list_conversation_prompts(store: Store, row: SessionRow, *, with_text: bool) -> list[PromptItem]:
    return [
        PromptItem(
            record=str(prompt.record.ref),
            id=prompt.view.id,
            at=format_timestamp(prompt.view.at_ns),
            text=prompt.view.text.content if with_text else None,
        )
        for prompt in list_first_session_prompts(store, row.session, PROMPTS_MAX)
        if prompt.view.agent == row.agent
    ]


def list_records_page(
    workspace: Workspace, kinds: Sequence[str], after: str | None, limit: int, item: Callable[[Record, Json], T]
) -> tuple[list[T], str | None]:
    """Return the next records of these kinds, each converted by ``item``, and the cursor of the next page."""
    with workspace.reading() as store, store.reading():
        records = PageTables(store).records(kinds, _parse_record_cursor(after), limit + 1)
        payloads = store.tables.payloads(records[:limit])
    return [item(record, payloads[record.ref]) for record in records[:limit]], _make_next_page_cursor(records, limit)


def _make_next_page_cursor(records: Sequence[Record], limit: int) -> str | None:
    """Return the cursor of the last record of a page, if there are more."""
    if len(records) <= limit:
        return None
    last = records[limit - 1].ref
    return encode_page_cursor(str(last.store), int(last.seq))


def _parse_record_cursor(after: str | None) -> RecordRef | None:
    if after is None:
        return None
    store, seq = decode_page_cursor(after)
    if not isinstance(store, str) or not (store.isalnum() and store.isascii()):
        raise make_cursor_error()
    return RecordRef(StoreId(store), Seq(check_cursor_number(seq)))


def _parse_session_cursor(after: str | None) -> tuple[SessionId, AgentName] | None:
    if after is None:
        return None
    session, agent = decode_page_cursor(after)
    if not isinstance(session, str) or not isinstance(agent, str) or not is_storable_param(session + agent):
        raise make_cursor_error()
    return SessionId(session), AgentName(agent)


def _parse_record_param(name: str) -> RecordRef | None:
    store, _, seq = name.partition(":")
    if not (store.isalnum() and store.isascii() and seq.isdecimal() and seq.isascii()) or len(seq) > 18:
        return None
    return RecordRef(StoreId(store), Seq(int(seq)))


def _extract_item_payload(payload: Json) -> Json:
    return payload.get("payload") if isinstance(payload, dict) else None


def _format_item_time(record: Record) -> str:
    return format_timestamp(record.entry.at_ns)


def _make_evidence_item_fields(record: Record) -> dict[str, str]:
    entry = record.entry
    return {
        "record": str(record.ref),
        "at": _format_item_time(record),
        "kind": entry.kind,
        "key": str(entry.key),
        "event": str(entry.event),
        "digest": format_digest(entry.digest),
    }


def _make_conversation_item(row: SessionRow) -> ConversationItem:
    return ConversationItem(
        agent=str(row.agent),
        session=str(row.session),
        first_at=format_timestamp(row.first_ns),
        last_at=format_timestamp(row.last_ns),
        events=row.events,
    )


CHANGE, SOURCE = "change", "source"


def list_decisions_page(workspace: Workspace, after: str | None, limit: int) -> DecisionsPage:
    """List decisions about all agents, in the order of their records."""

    def item(record: Record, payload: Json) -> DecisionItem:
        at = format_timestamp(record.entry.at_ns)
        return DecisionItem(record=str(record.ref), at=at, key=str(record.entry.key), decision=payload)

    items, following = list_records_page(workspace, ("decision",), after, limit, item)
    return DecisionsPage(items=items, next=following)


def list_changes_page(workspace: Workspace, after: str | None, limit: int) -> ChangesPage:
    """List changes in the order in which they were indexed."""
    position = parse_cursor_position(after, CHANGE)
    with workspace.reading() as store, store.reading():
        rows = list(islice(list_indexed_changes(store, after=position), limit + 1))
    following = encode_page_cursor(CHANGE, rows[limit - 1].id) if len(rows) > limit else None
    return ChangesPage(items=[report_indexed_change(row) for row in rows[:limit]], next=following)


def list_sources_page(workspace: Workspace, after: str | None, limit: int) -> SourcesPage:
    """List sources by number, without erased ones."""
    sources, last = cite_page(workspace, parse_cursor_position(after, SOURCE), limit)
    return SourcesPage(items=sources, next=None if last is None else encode_page_cursor(SOURCE, last))
