"""The tables of rules: one class for each domain, handed in by whoever knows them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, get_args, get_origin, get_type_hints

from custody.config.rule import Rule, kind_of
from custody.core.wire.rules_digest import Rules


@dataclass(frozen=True)
class RuleTables:
    """The classes of rules by the name of their table, in the order in which they are shown."""

    classes: Mapping[str, type[Rules]]
    dropped: Mapping[str, str] = field(default_factory=dict)
    """The constant behind each dotted name that is no longer settable; of a mapping, its own name may stand for all."""

    def __iter__(self) -> Iterator[str]:
        return iter(self.classes)

    def rules_of(self, table: str) -> Mapping[str, Rule]:
        """Every rule of a table by its dotted name; of a mapping, every key is a rule."""
        return self._by_table[table]

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        """Every rule of all tables by its dotted name."""
        return MappingProxyType({name: rule for rules in self._by_table.values() for name, rule in rules.items()})

    @cached_property
    def _by_table(self) -> dict[str, Mapping[str, Rule]]:
        return {table: MappingProxyType(_rules(table, kind)) for table, kind in self.classes.items()}


def _rules(table: str, kind: type[Rules]) -> dict[str, Rule]:
    defaults = kind()
    hints = get_type_hints(kind)
    rules = [rule for each in fields(kind) for rule in _of(table, each.name, hints[each.name], defaults)]
    return {rule.name: rule for rule in rules}


def _of(table: str, field: str, hint: Any, defaults: object) -> list[Rule]:
    default = getattr(defaults, field)
    if get_origin(hint) is not Mapping:
        return [Rule(table, field, None, kind_of(hint), default)]
    kind = kind_of(get_args(hint)[1])
    return [Rule(table, field, key, kind, value) for key, value in default.items()]
