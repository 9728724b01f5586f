"""One rule, what it takes, and where a value of it was set.

Nothing is converted on the way in but a whole number where any number may stand: a text that looks like a number is a
mistake in the file, and is said to be one.
"""

from dataclasses import dataclass
from datetime import date, time
from typing import Any, Literal, get_args, get_origin

from custody.core.errors import InputError

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
