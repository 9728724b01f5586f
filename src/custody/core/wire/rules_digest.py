"""Rules as canonical JSON, and the digest under which evidence names the rules that weighed it.

Equal rules give equal bytes, whatever file, order or spelling they came from: 30 and 30.0 are one number, keys are
sorted, and where a value was set is no part of it.
"""

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any, ClassVar, Protocol

from custody.core.digest import digest_of
from custody.core.ids import Digest
from custody.core.wire.canonical import Json, dump


class Rules(Protocol):
    """A domain's frozen dataclass of numbers, words, and tuples and mappings of these."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def rules_values(rules: Rules) -> dict[str, Json]:
    """Every rule of a domain by its name, as JSON."""
    return {field.name: rule_value(getattr(rules, field.name)) for field in fields(rules)}


def rule_value(value: object) -> Json:
    """One rule's value as JSON; equal values are written alike.

    >>> rule_value((30, 30.0, -0.0, 0.5)), rule_value({"a": True})
    ([30, 30, 0, 0.5], {'a': True})
    """
    match value:
        case bool() | int() | str():
            return value
        case float():
            return int(value) if value.is_integer() else value
        case tuple() | list():
            return [rule_value(item) for item in value]
        case Mapping():
            return {str(key): rule_value(item) for key, item in value.items()}
        case _:
            raise TypeError(f"a rule cannot be a {type(value).__name__}")


def encode_rules(tables: Mapping[str, Rules]) -> bytes:
    """The rules of some domains, by name, as canonical JSON."""
    return dump({table: rules_values(rules) for table, rules in tables.items()})


def rules_digest(tables: Mapping[str, Rules]) -> Digest:
    """The SHA-256 that names these rules; the domains' names are part of it."""
    return digest_of(encode_rules(tables))
