"""Which records were brought in from elsewhere: an import makes them claims, whatever they were there.

This file is the only one that says so.
"""

from collections.abc import Collection

from custody.core.ids import StoreId
from custody.core.record import Record
from custody.store import RecordFilter, Store

IMPORT_EVENT = "import"
"""How the name of an event begins that was not recorded as it happened."""
BROUGHT_KINDS = frozenset(("transcript", "trace", "trace_link"))
"""The kinds of records that only imports make."""


def is_imported(record: Record, owned: Collection[StoreId]) -> bool:
    """Whether a record came by an import: its event's name says so, or it stands in a chain that was copied here."""
    return record.entry.event.startswith(IMPORT_EVENT) or record.store not in owned


def is_claim(record: Record, owned: Collection[StoreId]) -> bool:
    """Whether a record is one that somebody brought afterwards: imported, or a line of another program's file."""
    return record.entry.kind in BROUGHT_KINDS or is_imported(record, owned)


def list_trusted_chains(store: Store) -> set[StoreId]:
    """The chains whose records are what they were at home: the store's own, and those pulled from the team's remote."""
    return store.tables.owned() | store.tables.pulled()


def recorded_only(store: Store) -> RecordFilter:
    """What keeps claims out of a question to the store."""
    return RecordFilter(IMPORT_EVENT, tuple(sorted(BROUGHT_KINDS)), tuple(sorted(list_trusted_chains(store))))
