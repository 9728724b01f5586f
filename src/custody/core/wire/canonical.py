r"""Strict JSON parsing, canonical JSON output, and the digest of rules.

Parsing rejects ambiguous input: duplicate keys, NaN, numbers beyond a double, bytes that are not UTF-8. Equal values
are written as equal bytes: sorted keys, no white space, UTF-8. Lone surrogates, which encode bytes of file names that
are not UTF-8, are written as ``\udXXX`` escapes.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import ClassVar, NamedTuple, NoReturn, Protocol

import msgspec

from custody.core.errors import InputError
from custody.core.ids import Digest, digest_from_bytes

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

EVENT_BYTES_MAX = 16 * 1024 * 1024
NESTING_MAX = 128
DIGITS_MAX = 308
"""Maximum digits of an integer: within a double, and independent of the interpreter's own limit."""


def parse_json_bytes(data: bytes, *, bytes_max: int = EVENT_BYTES_MAX) -> Json:
    """Read one JSON value, or raise an ``InputError`` with the problem."""
    _check_json_size(data, bytes_max)
    try:
        value: Json = _DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}", hint="JSON is always UTF-8") from error
    except RecursionError as error:
        raise _make_json_depth_error() from error
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from error
    _check_json_depth(data, value)
    return value


def dump_readable_json(value: Json) -> bytes:
    """Write ``value`` in canonical form; raise an ``InputError`` if ``parse_json_bytes`` could not read it again."""
    data = dump_canonical_json(value)
    check_readable_json(data, value)
    return data


def check_readable_json(data: bytes, value: Json) -> None:
    """Raise an ``InputError`` if ``parse_json_bytes`` could not read ``data``, the canonical form of ``value``."""
    _check_json_size(data, EVENT_BYTES_MAX)
    _check_json_depth(data, value)


def dump_canonical_json(value: Json) -> bytes:
    r"""Write ``value`` in canonical form.

    >>> dump_canonical_json({"b": 1, "a": ["é", "\udcff"]})
    b'{"a":["\xc3\xa9","\\udcff"],"b":1}'
    """
    # A lone surrogate can only be in a string, and there JSON allows a backslash escape.
    return _ENCODER.encode(value).encode("utf-8", "backslashreplace")


class PlainJson(NamedTuple):
    """An object in canonical form, and as read from there: with sorted keys."""

    data: bytes
    value: dict[str, Json]


def dump_plain_json(value: dict[str, Json]) -> PlainJson | None:
    """Write an object as ``dump_canonical_json`` does, but in C; None if msgspec could write other bytes."""
    try:
        data = _SORTED_ENCODER.encode(value)
        same: dict[str, Json] = msgspec.json.decode(data)
    except (TypeError, ValueError, RecursionError):
        return None  # a lone surrogate, a key or a value that is not JSON, or too deep
    # Doubles are written in other ways, and msgspec also writes bytes, times and NaN, as other values.
    return None if same != value or _match_double()(data) else PlainJson(data, same)


def dump_numberless_json(value: dict[str, Json]) -> bytes | None:
    """Write an object of JSON values without doubles as ``dump_canonical_json`` does, in C; None if it may have one."""
    try:
        data = _SORTED_ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        return None  # a lone surrogate, or too deep
    return None if _match_double()(data) else data


@cache
def _match_double() -> Callable[[bytes], re.Match[bytes] | None]:
    """Return the search for a number with a point or an exponent; it also finds some that are inside texts."""
    return re.compile(rb"[:,\[]-?[0-9]+(?:\.[0-9]+(?:e[-+]?[0-9]+)?|e[-+]?[0-9]+)[,\]}]").search


def indent_json(value: Json) -> str:
    """Write ``value`` on several lines for people, in ASCII for any terminal."""
    return json.dumps(value, indent=2, sort_keys=True)


def shorten_json_texts(value: Json, limit: int = 400) -> Json:
    """Return ``value`` with its long texts cut, for people."""
    if isinstance(value, str) and len(value) > limit:
        return f"{value[:limit]}… ({len(value):,} characters; --json shows all)"
    if isinstance(value, list):
        return [shorten_json_texts(item, limit) for item in value]
    return {key: shorten_json_texts(item, limit) for key, item in value.items()} if isinstance(value, dict) else value


def encode_json_text(text: str) -> bytes:
    """Encode a text for storing and hashing; lone surrogates are preserved."""
    return text.encode("utf-8", "surrogatepass")


def decode_json_text(data: bytes) -> str:
    """Decode the output of ``encode_json_text``."""
    return data.decode("utf-8", "surrogatepass")


def describe_conversion_error(error: Exception) -> str:
    """Describe why msgspec rejects a parsed value; it cannot handle a lone surrogate in a key or a name."""
    return "a lone surrogate in a key or a name" if isinstance(error, UnicodeEncodeError) else str(error)[:300]


def _reject_duplicate_json_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(
            f"duplicate key '{repeated[:80]}' in one object", hint="JSON readers disagree on which value counts"
        )
    return members


def _reject_json_constant(name: str) -> NoReturn:
    raise InputError(f"'{name}' is not a JSON number")


def _parse_json_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InputError(f"the number '{text[:40]}' is beyond what a double can hold")
    return value


def _parse_json_integer(text: str) -> int:
    digits = len(text.removeprefix("-"))
    if digits > DIGITS_MAX:
        raise InputError(f"a number of {digits:,} digits is beyond what a double can hold")
    return int(text)


def _check_json_size(data: bytes, bytes_max: int) -> None:
    if len(data) > bytes_max:
        raise InputError(
            f"an event of {len(data):,} bytes is over the limit of {bytes_max:,}",
            hint="store large outputs in a file, and name it in the event",
        )


def _make_json_depth_error() -> InputError:
    return InputError(f"nested deeper than {NESTING_MAX} levels")


def _check_json_depth(data: bytes, value: Json) -> None:
    # Only input with that many brackets can be that deep, so most events skip the walk.
    if data.count(b"[") + data.count(b"{") <= NESTING_MAX:
        return
    level: list[list[Json] | dict[str, Json]] = [value] if isinstance(value, (list, dict)) else []
    for _ in range(NESTING_MAX):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, (list, dict))
        ]
        if not level:
            return
    raise _make_json_depth_error()


_DECODER = json.JSONDecoder(
    object_pairs_hook=_reject_duplicate_json_keys,
    parse_constant=_reject_json_constant,
    parse_float=_parse_json_float,
    parse_int=_parse_json_integer,
)
_SORTED_ENCODER = msgspec.json.Encoder(order="sorted")
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


# Rules as canonical JSON, and their digest for evidence.
# Equal rules give equal bytes, independent of file, order and spelling: 30 and 30.0 are the same number, keys are
# sorted, and origins are not included.


class Rules(Protocol):
    """A domain's frozen struct of numbers, strings, and tuples and mappings of these."""

    __struct_fields__: ClassVar[tuple[str, ...]]


def rules_to_json(rules: Rules) -> dict[str, Json]:
    """Return every rule of a domain by name, as JSON."""
    return {name: rule_value_to_json(getattr(rules, name)) for name in rules.__struct_fields__}


def rule_value_to_json(value: object) -> Json:
    """Return a rule's value as JSON; equal values give equal JSON.

    >>> rule_value_to_json((30, 30.0, -0.0, 0.5)), rule_value_to_json({"a": True})
    ([30, 30, 0, 0.5], {'a': True})
    """
    match value:
        case bool() | int() | str():
            return value
        case float():
            return int(value) if value.is_integer() else value
        case tuple() | list():
            return [rule_value_to_json(item) for item in value]
        case Mapping():
            return {str(key): rule_value_to_json(item) for key, item in value.items()}
        case _:
            raise TypeError(f"a rule cannot be a {type(value).__name__}")


def encode_rule_tables(tables: Mapping[str, Rules]) -> bytes:
    """Encode the rules of some domains, by name, as canonical JSON."""
    return dump_canonical_json({table: rules_to_json(rules) for table, rules in tables.items()})


def digest_rule_tables(tables: Mapping[str, Rules]) -> Digest:
    """Return the SHA-256 of these rules, including the names of the domains."""
    return digest_from_bytes(encode_rule_tables(tables))
