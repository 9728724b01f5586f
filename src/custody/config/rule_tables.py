"""Which tables there are: one row per domain."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import Any, get_args, get_origin, get_type_hints

from custody.attribution.rules import AttributeRules
from custody.cite.rules import CiteRules
from custody.config.rule import Rule, kind_of
from custody.core.wire.rules_digest import Rules
from custody.dupes.rules import DedupeRules
from custody.gate.rules import GateRules
from custody.graph.rules import GraphRules
from custody.trust.rules import TrustRules

TABLES: Mapping[str, type[Rules]] = MappingProxyType(
    {
        "attribute": AttributeRules,
        "cite": CiteRules,
        "dedupe": DedupeRules,
        "gate": GateRules,
        "graph": GraphRules,
        "trust": TrustRules,
    }
)
"""The classes of rules by the name of their table, in the order in which they are shown."""


@cache
def rules_of(table: str) -> Mapping[str, Rule]:
    """Every rule of a table by its dotted name; of a mapping, every key is a rule."""
    kind = TABLES[table]
    defaults = kind()
    hints = get_type_hints(kind)
    rules = [rule for field in fields(kind) for rule in _of(table, field.name, hints[field.name], defaults)]
    return MappingProxyType({rule.name: rule for rule in rules})


def known(rule: str) -> Rule:
    """The rule with this dotted name."""
    return rules_of(rule.partition(".")[0])[rule]


def _of(table: str, field: str, hint: Any, defaults: object) -> list[Rule]:
    default = getattr(defaults, field)
    if get_origin(hint) is not Mapping:
        return [Rule(table, field, None, kind_of(hint), default)]
    kind = kind_of(get_args(hint)[1])
    return [Rule(table, field, key, kind, value) for key, value in default.items()]
