"""Rules: their types, and where each value was set.

Only a whole number is converted, to any number. A text that looks like a number is an error.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct, field

from custody.core.errors import InputError, RulesError
from custody.core.wire.canonical import Rules

Scalar = bool | int | float | str
RuleValue = Scalar | tuple[Scalar, ...]

WHOLE_MAX = 2**63 - 1
SHOWN_CHARACTERS_MAX = 60

_WORDS = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}


class RuleOrigin(Struct, frozen=True):
    """Where a value was set: a file and its key, a variable, or nowhere (``default``)."""

    source: str
    key: str | None = None

    def __str__(self) -> str:
        return self.source if self.key is None else f"{self.source}: {self.key}"


DEFAULT = RuleOrigin("default")


class RuleKind(Struct, frozen=True):
    """The type of a rule: one value or a list; a text may be limited to some words."""

    of: type[bool] | type[int] | type[float] | type[str]
    words: tuple[str, ...] = ()
    many: bool = False

    def __str__(self) -> str:
        description = f"one of {', '.join(self.words)}" if self.words else _WORDS[self.of]
        return f"a list, each {description}" if self.many else description


class Rule(Struct, frozen=True):
    """One rule of a table: a field of its class, or one key of a field that is a mapping."""

    table: str
    field: str
    key: str | None
    kind: RuleKind
    default: RuleValue

    @property
    def name(self) -> str:
        """Return the rule's dotted name."""
        return ".".join(filter(None, (self.table, self.field, self.key)))

    def read(self, value: object, origin: RuleOrigin) -> RuleValue:
        """Return ``value`` in the type of this rule, or raise an ``InputError`` with the expected type."""
        items = value if self.kind.many else [value]
        if not isinstance(items, list):
            raise self._mismatch(value, origin)
        accepted = tuple(_accept_rule_value(self.kind, item) for item in items)
        for item, accepted_value in zip(items, accepted, strict=True):
            if accepted_value is None:
                raise self._mismatch(item, origin)
        values = tuple(item for item in accepted if item is not None)
        return values if self.kind.many else values[0]

    def _mismatch(self, value: object, origin: RuleOrigin) -> InputError:
        return InputError(
            f"{quote_rule_origin(origin)} must be {self.kind}, not {format_rule_value(value)}",
            hint=f"the default is {format_rule_default(self.default)}; 'custody rules {self.table}' shows all values",
        )


class Assignment(Struct, frozen=True):
    """One value of one rule with its origin; ``entry`` is set if it is only one entry of a list."""

    rule: str
    value: RuleValue
    origin: RuleOrigin
    entry: int | None = None


class IgnoredKey(Struct, frozen=True):
    """A key of a file that was a rule once and has no effect now; ``constant`` has the value instead."""

    origin: RuleOrigin
    constant: str
    """A module and a name in it, as ``custody.package.module:NAME``; empty if nothing uses the value any more."""

    def __str__(self) -> str:
        what = f"{escape_rule_text(self.origin.key or '')} in {escape_rule_text(self.origin.source)} has no effect"
        if not self.constant:
            return f"{what}: no longer used"
        module, _, name = self.constant.partition(":")
        return f"{what}: no longer settable (constant {name} in {module.replace('.', '/')}.py)"


def rule_kind_from_hint(hint: Any) -> RuleKind:
    """Return the kind of a field of this type."""
    if get_origin(hint) is Literal:
        return RuleKind(str, words=get_args(hint))
    if get_origin(hint) is tuple:
        return RuleKind(get_args(hint)[0], many=True)
    return RuleKind(hint)


def quote_rule_origin(origin: RuleOrigin) -> str:
    """Return an origin, quoted for a message."""
    if origin.key is None:
        return f"'{escape_rule_text(origin.source)}'"
    return f"'{escape_rule_text(origin.key)}' in '{escape_rule_text(origin.source)}'"


def escape_rule_text(text: str) -> str:
    r"""Return a foreign text for a message: short, and without control characters.

    >>> escape_rule_text("a\x1b[2J")
    'a\\x1b[2J'
    """
    cut = text if len(text) <= SHOWN_CHARACTERS_MAX else text[: SHOWN_CHARACTERS_MAX - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def format_rule_value(value: object) -> str:
    """Return a value of a file, for a message."""
    match value:
        case bool():
            return str(value).lower()
        case int() if abs(value) > WHOLE_MAX:  # printing it could take very long
            return "a number beyond 64 bits"
        case int() | float():
            return str(value)
        case str():
            return f"the text '{escape_rule_text(value)}'"
        case dict():
            return "a table"
        case list():
            return "a list"
        case date() | time():
            return "a date or time"
        case _:
            return "nothing"


def format_rule_default(value: RuleValue) -> str:
    """Return a default as a person would write it.

    >>> format_rule_default(False), format_rule_default((0.2, 1.0)), format_rule_default(())
    ('false', '0.2, 1.0', 'an empty list')
    """
    if isinstance(value, tuple):
        return ", ".join(map(format_rule_default, value)) or "an empty list"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _accept_rule_value(kind: RuleKind, value: object) -> Scalar | None:
    """Return ``value`` if the rule accepts it; ``True`` is not a number here, though it is one for Python."""
    if kind.of is bool or isinstance(value, bool):
        return value if kind.of is bool and isinstance(value, bool) else None
    if kind.of is str:
        return value if isinstance(value, str) and (not kind.words or value in kind.words) else None
    if not isinstance(value, int | float) or not abs(value) <= WHOLE_MAX:  # which NaN is not either
        return None
    if kind.of is int:
        return value if isinstance(value, int) else None
    return float(value)


class RuleClasses(Mapping[str, type[Rules]]):
    """The class of each table of rules, named as ``package.module:Class`` and imported when it is asked for."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def __getitem__(self, table: str) -> type[Rules]:
        module, _, name = self._names[table].partition(":")
        kind: type[Rules] = getattr(import_module(module), name)
        return kind

    def __contains__(self, table: object) -> bool:
        return table in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def find_table(self, kind: type[Rules]) -> str:
        """Return the table of a class, without importing another."""
        name = f"{kind.__module__}:{kind.__qualname__}"
        return next(table for table, each in self._names.items() if each == name)


class RuleTables(Struct, frozen=True, dict=True):
    """The classes of rules by the name of their table, in the order in which they are shown."""

    classes: RuleClasses
    dropped: Mapping[str, str] = field(default_factory=dict)
    """The constant of each dotted name that is no longer settable; the name of a mapping can cover all its keys."""

    def __iter__(self) -> Iterator[str]:
        return iter(self.classes)

    def rules_of(self, table: str) -> Mapping[str, Rule]:
        """Return every rule of a table by its dotted name; every key of a mapping is a rule."""
        if table not in self._by_table:
            self._by_table[table] = MappingProxyType(_rules_from_class(table, self.classes[table]))
        return self._by_table[table]

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        """Return every rule of all tables by its dotted name."""
        return MappingProxyType({name: rule for table in self for name, rule in self.rules_of(table).items()})

    @cached_property
    def _by_table(self) -> dict[str, Mapping[str, Rule]]:
        return {}


def _rules_from_class(table: str, kind: type[Rules]) -> dict[str, Rule]:
    defaults = kind()
    hints = get_type_hints(kind)
    rules = [rule for name in kind.__struct_fields__ for rule in _rules_from_field(table, name, hints[name], defaults)]
    return {rule.name: rule for rule in rules}


def _rules_from_field(table: str, field: str, hint: Any, defaults: object) -> list[Rule]:
    default = getattr(defaults, field)
    if get_origin(hint) is not Mapping:
        return [Rule(table, field, None, rule_kind_from_hint(hint), default)]
    kind = rule_kind_from_hint(get_args(hint)[1])
    return [Rule(table, field, key, kind, value) for key, value in default.items()]


R = TypeVar("R", bound=Rules)


class Setting(Struct, frozen=True):
    """A rule with the value in force; more than one origin, the strongest first, if entries come from several."""

    rule: Rule
    value: RuleValue
    origins: tuple[RuleOrigin, ...] = (DEFAULT,)

    def under(self, stronger: Assignment) -> "Setting":
        """Return this setting with a stronger assignment applied."""
        if stronger.entry is None:
            return Setting(self.rule, stronger.value, (stronger.origin,))
        assert isinstance(self.value, tuple)
        assert not isinstance(stronger.value, tuple)
        entries = list(self.value)
        if stronger.entry < len(entries):  # else the list is too short, and the rules' own check reports it
            entries[stronger.entry] = stronger.value
        place = RuleOrigin(f"{stronger.origin} (entry {stronger.entry + 1})")
        return Setting(self.rule, tuple(entries), (place, *self.origins))


class EffectiveRules(Struct, frozen=True, dict=True):
    """The rules in force, and where each was set. Only the tables that are asked for are imported."""

    known: RuleTables
    assignments: tuple[Assignment, ...] = ()
    """All assignments, the weakest first."""
    ignored: tuple[IgnoredKey, ...] = ()

    def of(self, kind: type[R]) -> R:
        """Return the rules of one class."""
        rules = self.table(self.known.classes.find_table(kind))
        assert isinstance(rules, kind)
        return rules

    def table(self, name: str) -> Rules:
        """Return the rules of one table."""
        if name not in self._built:
            self._built[name] = _build_rule_table(self, name) if self.is_set(name) else self.known.classes[name]()
        return self._built[name]

    @cached_property
    def tables(self) -> Mapping[str, Rules]:
        """Return the rules of all tables."""
        return {table: self.table(table) for table in self.known}

    def is_set(self, table: str) -> bool:
        """Return whether a rule of a table was set anywhere."""
        return any(assignment.rule.startswith(f"{table}.") for assignment in self.assignments)

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Return every rule of all tables with its value and origin."""
        return tuple(setting for table in self.known for setting in self.settings_of(table).values())

    def settings_of(self, table: str) -> dict[str, Setting]:
        """Return every rule of a table with its value and origin, by name."""
        settings = {name: Setting(rule, rule.default) for name, rule in self.known.rules_of(table).items()}
        for assignment in self.assignments:
            if assignment.rule in settings:
                settings[assignment.rule] = settings[assignment.rule].under(assignment)
        return settings

    @cached_property
    def _built(self) -> dict[str, Rules]:
        return {}


def overlay_rule_assignments(tables: RuleTables, entries: Iterable[Assignment | IgnoredKey]) -> EffectiveRules:
    """Apply the assignments of ``entries``, weakest first, to the defaults.

    Relations between rules are checked at the end.
    """
    entries = list(entries)
    effective = EffectiveRules(
        tables,
        tuple(entry for entry in entries if isinstance(entry, Assignment)),
        tuple(entry for entry in entries if isinstance(entry, IgnoredKey)),
    )
    for table in filter(effective.is_set, tables):
        effective.table(table)
    return effective


def _build_rule_table(effective: EffectiveRules, table: str) -> Rules:
    settings = effective.settings_of(table)
    values: dict[str, object] = {}
    for setting in settings.values():
        rule, value = setting.rule, setting.value
        if rule.key is None:
            values[rule.field] = value
        else:
            mapping = values.setdefault(rule.field, {})
            assert isinstance(mapping, dict)
            mapping[rule.key] = value
    try:
        return effective.known.classes[table](**values)
    except RulesError as error:
        raise InputError(
            f"{error.message}; {_describe_setting_origins(error, settings)}",
            hint=_describe_setting_defaults(error, settings),
        ) from error


def _find_error_settings(error: RulesError, settings: Mapping[str, Setting]) -> list[Setting]:
    """Return the rules that an error names; every key of a mapping."""
    named = re.findall(r"'([a-z_.]+)'", error.message)
    return [s for name, s in settings.items() if any(name == n or name.startswith(f"{n}.") for n in named)]


def _describe_setting_origins(error: RulesError, settings: Mapping[str, Setting]) -> str:
    origins = (origin for setting in _find_error_settings(error, settings) for origin in setting.origins)
    return "set by " + ", ".join(dict.fromkeys(str(origin) for origin in origins if origin != DEFAULT))


def _describe_setting_defaults(error: RulesError, settings: Mapping[str, Setting]) -> str:
    concerned = _find_error_settings(error, settings)[:2]
    return "; ".join(f"the default of '{s.rule.name}' is {format_rule_default(s.rule.default)}" for s in concerned)
