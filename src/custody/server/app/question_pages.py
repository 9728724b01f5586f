"""Decisions, indexed changes and sources a page at a time, for a service."""

from itertools import islice

from custody.cite.app.registry import cite_page
from custody.core.ids import RecordRef, Seq, StoreId
from custody.core.wire.time import text_from
from custody.dupes.app.change_index import list_changes
from custody.dupes.app.report import report_indexed_change
from custody.server.app.cursor import cursor, make_cursor_error, number_behind, number_in, parts_of
from custody.server.queries.record_pages import PageTables
from custody.server.wire.questions import ChangesPage, DecisionItem, DecisionsPage, SourcesPage
from custody.workspace.workspace import Workspace

CHANGE, SOURCE = "change", "source"


def decisions(workspace: Workspace, after: str | None, limit: int) -> DecisionsPage:
    """Decisions about every agent, in the order of their records."""
    with workspace.reading() as store, store.reading():
        found = PageTables(store).records(("decision",), _place(after), limit + 1)
        payloads = store.tables.payloads(found[:limit])
    last = found[limit - 1].ref if len(found) > limit else None
    return DecisionsPage(
        items=[
            DecisionItem(
                record=str(record.ref),
                at=text_from(record.entry.at_ns),
                key=str(record.entry.key),
                decision=payloads[record.ref],
            )
            for record in found[:limit]
        ],
        next=None if last is None else cursor(str(last.store), int(last.seq)),
    )


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


def _place(word: str | None) -> RecordRef | None:
    if word is None:
        return None
    store, seq = parts_of(word)
    if not isinstance(store, str) or not (store.isalnum() and store.isascii()):
        raise make_cursor_error()
    return RecordRef(StoreId(store), Seq(number_in(seq)))
