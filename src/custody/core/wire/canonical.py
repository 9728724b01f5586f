r"""Strict JSON in, stable bytes out; rules as canonical JSON, with their digest.

Reading refuses what two readers could understand differently: duplicate keys, NaN, numbers beyond a double, bytes
that are not UTF-8. Writing gives the same bytes for the same value: keys sorted, no white space, UTF-8, lone
surrogates (which stand for bytes of odd file names) as ``\udXXX`` escapes.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any, ClassVar, NoReturn, Protocol

from custody.core.errors import InputError
from custody.core.ids import Digest, digest_of

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

EVENT_BYTES_MAX = 16 * 1024 * 1024
NESTING_MAX = 128
DIGITS_MAX = 308
"""A whole number of that many digits is still within a double; how far interpreters would read on differs."""


def parse(data: bytes, *, bytes_max: int = EVENT_BYTES_MAX) -> Json:
    """Read one JSON value, or raise an ``InputError`` that says what is wrong with the bytes."""
    _check_size(data, bytes_max)
    try:
        value: Json = _DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}", hint="JSON is always UTF-8") from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from error
    _check_depth(data, value)
    return value


def dump_readable(value: Json) -> bytes:
    """The canonical form of ``value``, or an ``InputError`` when it is more than ``parse`` would read again."""
    data = dump(value)
    _check_size(data, EVENT_BYTES_MAX)
    _check_depth(data, value)
    return data


def dump(value: Json) -> bytes:
    r"""Write ``value`` as its one canonical form.

    >>> dump({"b": 1, "a": ["é", "\udcff"]})
    b'{"a":["\xc3\xa9","\\udcff"],"b":1}'
    """
    # A lone surrogate can only stand inside a string, where a backslash escape is JSON's own spelling of it.
    return _ENCODER.encode(value).encode("utf-8", "backslashreplace")


def indented(value: Json) -> str:
    """``value`` over several lines, for people; plain ASCII, so that any terminal shows it."""
    return json.dumps(value, indent=2, sort_keys=True)


def shortened(value: Json, limit: int = 400) -> Json:
    """``value`` with its long texts cut, for people."""
    if isinstance(value, str) and len(value) > limit:
        return f"{value[:limit]}… ({len(value):,} characters; --json shows all)"
    if isinstance(value, list):
        return [shortened(item, limit) for item in value]
    return {key: shortened(item, limit) for key, item in value.items()} if isinstance(value, dict) else value


def text_bytes(text: str) -> bytes:
    """The bytes a text is stored and hashed as; lone surrogates survive the way there and back."""
    return text.encode("utf-8", "surrogatepass")


def bytes_text(data: bytes) -> str:
    """The text that ``text_bytes`` stored."""
    return data.decode("utf-8", "surrogatepass")


def problem(error: Exception) -> str:
    """Why msgspec does not take a parsed value, kept short; it stumbles over a lone surrogate in a key or a word."""
    return "a lone surrogate in a key or a word" if isinstance(error, UnicodeEncodeError) else str(error)[:300]


def _no_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(
            f"the key '{twice[:80]}' stands twice in one object", hint="readers would disagree on which counts"
        )
    return made


def _no_constant(name: str) -> NoReturn:
    raise InputError(f"'{name}' is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InputError(f"the number '{text[:40]}' is beyond what a double can hold")
    return value


def _whole(text: str) -> int:
    digits = len(text.removeprefix("-"))
    if digits > DIGITS_MAX:
        raise InputError(f"a number of {digits:,} digits is beyond what a double can hold")
    return int(text)


def _check_size(data: bytes, bytes_max: int) -> None:
    if len(data) > bytes_max:
        raise InputError(
            f"an event of {len(data):,} bytes is over the limit of {bytes_max:,}",
            hint="large outputs belong in a file that the event names",
        )


def _too_deep() -> InputError:
    return InputError(f"nested deeper than {NESTING_MAX} levels")


def _check_depth(data: bytes, value: Json) -> None:
    # Only bytes with that many openers can be that deep, so most events skip the walk.
    if data.count(b"[") + data.count(b"{") <= NESTING_MAX:
        return
    level: list[Json] = [value]
    for _ in range(NESTING_MAX):
        level = [child for item in level for child in _children(item) if isinstance(child, list | dict)]
    if level:
        raise _too_deep()


def _children(item: Json) -> list[Json]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else []


_DECODER = json.JSONDecoder(
    object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
)
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


# Rules as canonical JSON, and the digest under which evidence names the rules that weighed it.
# Equal rules give equal bytes, whatever file, order or spelling they came from: 30 and 30.0 are one number, keys are
# sorted, and where a value was set is no part of it.


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
