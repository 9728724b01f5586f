"""One rule, what it takes, and where a value of it was set.

Nothing is converted on the way in but a whole number where any number may stand: a text that looks like a number is a
mistake in the file, and is said to be one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, time
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from custody.core.errors import InputError, RulesError
from custody.core.wire.canonical import Rules

Scalar = bool | int | float | str
RuleValue = Scalar | tuple[Scalar, ...]

WHOLE_MAX = 2**63 - 1
SHOWN_CHARACTERS_MAX = 60

_WORDS = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}


@dataclass(frozen=True, slots=True)
class RuleOrigin:
    """Where a value was set: a file and its key, a variable, or nowhere (``default``)."""

    source: str
    key: str | None = None

    def __str__(self) -> str:
        return self.source if self.key is None else f"{self.source}: {self.key}"


DEFAULT = RuleOrigin("default")


@dataclass(frozen=True, slots=True)
class RuleKind:
    """What a rule takes: one value, or a list of them; a word may have to be one of a few."""

    of: type[bool] | type[int] | type[float] | type[str]
    words: tuple[str, ...] = ()
    many: bool = False

    def __str__(self) -> str:
        description = f"one of {', '.join(self.words)}" if self.words else _WORDS[self.of]
        return f"a list, each {description}" if self.many else description


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a table: a field of its class, or one key of a field that is a mapping."""

    table: str
    field: str
    key: str | None
    kind: RuleKind
    default: RuleValue

    @property
    def name(self) -> str:
        """The rule's dotted name."""
        return ".".join(filter(None, (self.table, self.field, self.key)))

    def read(self, value: object, origin: RuleOrigin) -> RuleValue:
        """``value`` as this rule holds it, or an ``InputError`` that says what should stand at ``origin``."""
        items = value if self.kind.many else [value]
        if not isinstance(items, list):
            raise self._mismatch(value, origin)
        taken = tuple(_accept_value(self.kind, item) for item in items)
        for item, accepted in zip(items, taken, strict=True):
            if accepted is None:
                raise self._mismatch(item, origin)
        kept = tuple(item for item in taken if item is not None)
        return kept if self.kind.many else kept[0]

    def _mismatch(self, value: object, origin: RuleOrigin) -> InputError:
        return InputError(
            f"{quote_place(origin)} should be {self.kind}, not {format_value(value)}",
            hint=f"the default is {default_text(self.default)}; 'custody rules {self.table}' shows what is in force",
        )


@dataclass(frozen=True, slots=True)
class Assignment:
    """One value set for one rule somewhere; ``entry`` is set when only that entry of a list is meant."""

    rule: str
    value: RuleValue
    origin: RuleOrigin
    entry: int | None = None


@dataclass(frozen=True, slots=True)
class IgnoredKey:
    """A key of a file that was a rule once and has no effect now; ``constant`` holds the value instead."""

    origin: RuleOrigin
    constant: str
    """A module and a name in it, as ``custody.package.module:NAME``; empty if nothing uses the value any more."""

    def __str__(self) -> str:
        what = f"{printable(self.origin.key or '')} in {printable(self.origin.source)} has no effect"
        if not self.constant:
            return f"{what}: no longer used"
        module, _, name = self.constant.partition(":")
        return f"{what}: no longer settable (constant {name} in {module.replace('.', '/')}.py)"


def kind_of(hint: Any) -> RuleKind:
    """What a field of this type takes."""
    if get_origin(hint) is Literal:
        return RuleKind(str, words=get_args(hint))
    if get_origin(hint) is tuple:
        return RuleKind(get_args(hint)[0], many=True)
    return RuleKind(hint)


def quote_place(origin: RuleOrigin) -> str:
    """A place, quoted for a message."""
    if origin.key is None:
        return f"'{printable(origin.source)}'"
    return f"'{printable(origin.key)}' in '{printable(origin.source)}'"


def printable(text: str) -> str:
    r"""Somebody else's text for a message: short, and without what a terminal would obey.

    >>> printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    cut = text if len(text) <= SHOWN_CHARACTERS_MAX else text[: SHOWN_CHARACTERS_MAX - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def format_value(value: object) -> str:
    """A value of a file, for a message."""
    match value:
        case bool():
            return str(value).lower()
        case int() if abs(value) > WHOLE_MAX:  # printing it could take for ever
            return "a number beyond 64 bits"
        case int() | float():
            return str(value)
        case str():
            return f"the text '{printable(value)}'"
        case dict():
            return "a table"
        case list():
            return "a list"
        case date() | time():
            return "a date or time"
        case _:
            return "nothing"


def default_text(value: RuleValue) -> str:
    """A default as a person would write it.

    >>> default_text(False), default_text((0.2, 1.0)), default_text(())
    ('false', '0.2, 1.0', 'an empty list')
    """
    if isinstance(value, tuple):
        return ", ".join(map(default_text, value)) or "an empty list"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _accept_value(kind: RuleKind, value: object) -> Scalar | None:
    """``value`` if the rule takes it; ``True`` is no number here, though Python counts it as one."""
    if kind.of is bool or isinstance(value, bool):
        return value if kind.of is bool and isinstance(value, bool) else None
    if kind.of is str:
        return value if isinstance(value, str) and (not kind.words or value in kind.words) else None
    if not isinstance(value, int | float) or not abs(value) <= WHOLE_MAX:  # which NaN is not either
        return None
    if kind.of is int:
        return value if isinstance(value, int) else None
    return float(value)


# The tables of rules: one class for each domain, handed in by whoever knows them.


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


# Weaker values under stronger ones, every one with where it was set.


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
