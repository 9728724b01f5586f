"""The one table of what packages above bring: rules, readers of records, derived tables; imported when needed.

Nothing below names these packages: their names are texts here, and a test holds that each of them is there.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

from custody.config import RuleTables
from custody.core.views import View
from custody.core.wire.canonical import Json
from custody.core.wire.event import GENERIC
from custody.core.wire.event_views import (
    HOOK_VERSION,
    READER_VERSION,
    REGISTRY_VERSION,
    TRACES_VERSION,
    TRANSCRIPT_VERSION,
    views_of,
)
from custody.store import DerivedTables, RecordReader, Store, ViewWiring
from custody.workspace.dropped_rules import DROPPED

RULES = MappingProxyType(
    {
        "attribute": "custody.attribution.rules:AttributeRules",
        "cite": "custody.cite.rules:CiteRules",
        "dedupe": "custody.dupes.rules:DedupeRules",
        "gate": "custody.gate.rules:GateRules",
        "graph": "custody.graph.rules:GraphRules",
        "trust": "custody.trust.rules:TrustRules",
    }
)
"""The class of each table of rules, in the order in which they are shown."""

READER_NAMES = MappingProxyType(
    {
        "hook": (HOOK_VERSION, "custody.capture.hook_reader:hook_views"),
        "snapshot": (HOOK_VERSION, "custody.capture.hook_reader:snapshot_views"),
        "transcript": (TRANSCRIPT_VERSION, "custody.capture.transcript_reader:transcript_views"),
        "trace": (TRACES_VERSION, "custody.capture.claims.traces:trace_views"),
        "trace_link": (TRACES_VERSION, "custody.capture.claims.traces:link_views"),
        "registry": (REGISTRY_VERSION, "custody.cite.queries.registry_codec:registry_views"),
    }
)
"""The version and the function of the reader of each kind of record; most questions read no record of most kinds."""


DERIVED = ("custody.cite.queries.registry:RegistryTables", "custody.trust.queries:StandingTables")
"""The tables that packages derive from records: the store keeps each current with its views."""


@cache
def rule_tables() -> RuleTables:
    """The tables of rules that there are."""
    return RuleTables(MappingProxyType({table: import_name(name) for table, name in RULES.items()}), DROPPED)


@cache
def import_name(name: str) -> Any:
    """What a name such as ``package.module:name`` stands for."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def _views_by(name: str) -> Callable[[Json], tuple[View, ...]]:
    """The function of this name, imported with the first record that it reads."""

    def views(payload: Json) -> tuple[View, ...]:
        made: tuple[View, ...] = import_name(name)(payload)
        return made

    return views


READERS = MappingProxyType(
    {str(event.__struct_config__.tag): RecordReader(READER_VERSION, views_of) for event in GENERIC}
    | {kind: RecordReader(version, _views_by(name)) for kind, (version, name) in READER_NAMES.items()}
)
"""The reader of each kind of record."""


def _make_derived(name: str, store: Store) -> DerivedTables:
    tables: DerivedTables = import_name(name)(store)
    return tables


VIEWS = ViewWiring(READERS, tuple(partial(_make_derived, name) for name in DERIVED))
"""What every store of the workspace is made with."""
