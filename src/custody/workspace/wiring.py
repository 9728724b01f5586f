"""The table of rules, record readers and derived tables of the packages above; imported when needed.

Names are strings here, so that nothing imports these packages early. A test checks that each of them exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from custody.core.views import View
from custody.core.wire.arrival import REGISTRY, SPANS
from custody.core.wire.canonical import Json
from custody.core.wire.event import GENERIC, DecodedEvent
from custody.core.wire.event_views import (
    HOOK_VERSION,
    READER_VERSION,
    REGISTRY_VERSION,
    TRACES_VERSION,
    TRANSCRIPT_VERSION,
    views_from_event_payload,
    views_from_span_batch,
)
from custody.store import DerivedTables, RecordReader, Store, ViewWiring

if TYPE_CHECKING:
    from custody.config import RuleTables
    from custody.core.ids import StoreId
    from custody.core.record import ChainTip, Record


RULES = MappingProxyType(
    {
        "attribute": "custody.attribution.rules:AttributeRules",
        "cite": "custody.cite.rules:CiteRules",
        "dedupe": "custody.dupes.rules:DedupeRules",
        "gate": "custody.gate.rules:GateRules",
        "graph": "custody.graph.rules:GraphRules",
        "review": "custody.runs.rules:ReviewRules",
        "trust": "custody.trust.rules:TrustRules",
    }
)
"""The class of each table of rules, in the order in which they are shown."""

READER_NAMES = MappingProxyType(
    {
        "hook": (HOOK_VERSION, "custody.capture.hook_reader:hook_views"),
        "snapshot": (HOOK_VERSION, "custody.capture.hook_reader:snapshot_views"),
        "transcript": (TRANSCRIPT_VERSION, "custody.capture.transcript_reader:transcript_views"),
        "trace": (TRACES_VERSION, "custody.capture.claims.traces:foreign_trace_views"),
        "trace_link": (TRACES_VERSION, "custody.capture.claims.traces:commit_link_views"),
        "registry": (REGISTRY_VERSION, "custody.cite.queries.registry_codec:source_registry_views"),
    }
)
"""The version and the function of the reader of each kind of record; most commands need few of them."""


DERIVED: Mapping[str, tuple[str, str] | None] = MappingProxyType(
    {
        "custody.cite.queries.registry:RegistryTables": (REGISTRY, str(REGISTRY_VERSION)),
        "custody.search.queries:SearchTables": None,
        "custody.trust.queries:ScoreTables": None,
    }
)
"""The tables that packages derive from records: the store updates them with its views.

Each with the name and version of its position in a chain, if it reads appended records.
"""


@cache
def import_rule_tables() -> RuleTables:
    """Return all tables of rules."""
    from custody.config import RuleClasses, RuleTables
    from custody.workspace.dropped_rules import DROPPED

    return RuleTables(RuleClasses(RULES), DROPPED)


@cache
def import_wired_name(name: str) -> Any:
    """Import a name such as ``package.module:name``."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def _make_lazy_view_reader(name: str) -> Callable[[Json | DecodedEvent], tuple[View, ...]]:
    """Return a reader that imports its function with the first record."""

    def views(payload: Json | DecodedEvent) -> tuple[View, ...]:
        result: tuple[View, ...] = import_wired_name(name)(payload)
        return result

    return views


READERS = MappingProxyType(
    {SPANS: RecordReader(READER_VERSION, views_from_span_batch)}
    | {str(event.__struct_config__.tag): RecordReader(READER_VERSION, views_from_event_payload) for event in GENERIC}
    | {kind: RecordReader(version, _make_lazy_view_reader(name)) for kind, (version, name) in READER_NAMES.items()}
)
"""The reader of each kind of record."""


class _LazyTables(DerivedTables):
    """The derived tables of a package, which is imported when their rows have to change."""

    def __init__(self, name: str, position: tuple[str, str] | None, store: Store) -> None:
        self._name, self._position, self._store = name, position, store

    @cached_property
    def _tables(self) -> DerivedTables:
        tables: DerivedTables = import_wired_name(self._name)(self._store)
        return tables

    def catch_up(self, head: ChainTip) -> None:
        """Bring the rows of one chain up to its head."""
        if not self.is_current(head):
            self._tables.catch_up(head)

    def is_current(self, head: ChainTip) -> bool:
        """Return whether the rows of one chain reach its head."""
        if self._position is None:
            return True
        view, version = self._position
        return self._store.tables.read_view_position(view, head.store) == (head.seq, version)

    def read_on(self, store: StoreId) -> None:
        """Read the records that were appended to a chain."""
        if self._position is not None:
            self._tables.read_on(store)

    def read_again(self, records: Sequence[Record]) -> None:
        """Update the rows derived from these records."""
        self._tables.read_again(records)

    def forget_views(self, store: StoreId) -> None:
        """Drop the rows derived from the views of a chain."""
        self._tables.forget_views(store)

    def forget(self) -> None:
        """Drop every row."""
        self._tables.forget()


VIEWS = ViewWiring(READERS, tuple(partial(_LazyTables, name, position) for name, position in DERIVED.items()))
"""The views of every store of the workspace."""
