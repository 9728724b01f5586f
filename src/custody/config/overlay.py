"""Weaker values under stronger ones, every one with where it was set."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from custody.config.rule import DEFAULT, Assignment, IgnoredKey, Rule, RuleOrigin, RuleValue, default_text
from custody.config.rule_tables import RuleTables
from custody.core.errors import InputError, RulesError
from custody.core.wire.rules_digest import Rules

R = TypeVar("R", bound=Rules)


@dataclass(frozen=True, slots=True)
class Setting:
    """A rule with the value in force; more than one origin, the strongest first, if entries come from several."""

    rule: Rule
    value: RuleValue
    origins: tuple[RuleOrigin, ...] = (DEFAULT,)

    def under(self, stronger: Assignment) -> "Setting":
        """This setting with a stronger one on top."""
        if stronger.entry is None:
            return Setting(self.rule, stronger.value, (stronger.origin,))
        assert isinstance(self.value, tuple)
        assert not isinstance(stronger.value, tuple)
        entries = list(self.value)
        if stronger.entry < len(entries):  # else the list is too short, and its rules will say so
            entries[stronger.entry] = stronger.value
        place = RuleOrigin(f"{stronger.origin} (entry {stronger.entry + 1})")
        return Setting(self.rule, tuple(entries), (place, *self.origins))


@dataclass(frozen=True, slots=True)
class EffectiveRules:
    """The rules in force, and where each was set."""

    tables: Mapping[str, Rules]
    settings: tuple[Setting, ...]
    ignored: tuple[IgnoredKey, ...] = ()

    def of(self, kind: type[R]) -> R:
        """The rules of one domain, by their class."""
        return next(rules for rules in self.tables.values() if isinstance(rules, kind))


def overlay(tables: RuleTables, entries: Iterable[Assignment | IgnoredKey]) -> EffectiveRules:
    """Put the assignments of ``entries``, weakest first, over the defaults.

    Relations between rules are checked once all are in.
    """
    settings = {name: Setting(rule, rule.default) for name, rule in tables.rules.items()}
    ignored: list[IgnoredKey] = []
    for entry in entries:
        if isinstance(entry, IgnoredKey):
            ignored.append(entry)
        else:
            settings[entry.rule] = settings[entry.rule].under(entry)
    made = {table: _made(tables, table, settings) for table in tables}
    return EffectiveRules(MappingProxyType(made), tuple(settings.values()), tuple(ignored))


def _made(tables: RuleTables, table: str, settings: Mapping[str, Setting]) -> Rules:
    values: dict[str, object] = {}
    for name in tables.rules_of(table):
        rule, value = settings[name].rule, settings[name].value
        if rule.key is None:
            values[rule.field] = value
        else:
            mapping = values.setdefault(rule.field, {})
            assert isinstance(mapping, dict)
            mapping[rule.key] = value
    try:
        return tables.classes[table](**values)
    except RulesError as error:
        raise InputError(f"{error.message}; {_blame(error, settings)}", hint=_defaults(error, settings)) from error


def _concerned(error: RulesError, settings: Mapping[str, Setting]) -> list[Setting]:
    """The rules that an error names; of a mapping that is named as a whole, every key."""
    named = re.findall(r"'([a-z_.]+)'", error.message)
    return [s for name, s in settings.items() if any(name == n or name.startswith(f"{n}.") for n in named)]


def _blame(error: RulesError, settings: Mapping[str, Setting]) -> str:
    origins = (origin for setting in _concerned(error, settings) for origin in setting.origins)
    return "set by " + ", ".join(dict.fromkeys(str(origin) for origin in origins if origin != DEFAULT))


def _defaults(error: RulesError, settings: Mapping[str, Setting]) -> str:
    concerned = _concerned(error, settings)[:2]
    return "; ".join(f"the default of '{s.rule.name}' is {default_text(s.rule.default)}" for s in concerned)
