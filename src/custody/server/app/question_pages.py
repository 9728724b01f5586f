"""Decisions, indexed changes and sources a page at a time, for a service."""

from itertools import islice

from custody.cite.app.registry import cite_page
from custody.core.record import Record
from custody.core.wire.canonical import Json
from custody.core.wire.time import text_from
from custody.dupes.app.change_index import list_changes
from custody.dupes.app.report import report_indexed_change
from custody.server.app.cursor import cursor, number_behind
from custody.server.app.listing import list_records
from custody.server.wire.questions import ChangesPage, DecisionItem, DecisionsPage, SourcesPage
from custody.workspace.workspace import Workspace

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
