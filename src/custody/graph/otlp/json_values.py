"""Values of OTLP's JSON: attributes, numbers, ids, as protobuf's JSON and the common exporters write them."""

import base64
import binascii
import math
import re
from collections.abc import Iterable, Mapping

from custody.core.wire.canonical import Json
from custody.graph.wire.otlp_span import COUNT_MAX, OtlpValue, id_of

OtlpFields = Mapping[str, Json]

VALUES_DEPTH_MAX = 32
_WHOLE = re.compile(r"\s*[+-]?\d{1,40}\s*", re.ASCII)


def attributes_of(value: Json) -> dict[str, OtlpValue]:
    """Attributes as OTLP lists them, or as a plain object."""
    if isinstance(value, dict):
        return {key: _plain(said) for key, said in value.items()}
    attributes: dict[str, OtlpValue] = {}
    for pair in map(object_of, list_of(value)):
        if isinstance(key := pair.get("key"), str):
            attributes[key] = _any_value(pair.get("value"), 0)
    return attributes


def _plain(value: Json) -> OtlpValue:
    if isinstance(value, list):
        return [_plain(child) for child in value]
    return {key: _plain(child) for key, child in value.items()} if isinstance(value, dict) else value


def _any_value(value: Json, depth: int) -> OtlpValue:
    fields = object_of(value)
    if depth > VALUES_DEPTH_MAX or not fields:
        return None
    name, said = next(iter(fields.items()))
    match name.replace("_", "").lower():
        case "stringvalue":
            return said if isinstance(said, str) else None
        case "boolvalue":
            return said if isinstance(said, bool) else None
        case "intvalue":
            return whole_or_none(said)
        case "doublevalue":
            return _double(said)
        case "bytesvalue":
            return _bytes(said)
        case "arrayvalue":
            return [_any_value(json, depth + 1) for json in list_of(object_of(said).get("values"))]
        case "kvlistvalue":
            pairs = map(object_of, list_of(object_of(said).get("values")))
            return {str(pair.get("key")): _any_value(pair.get("value"), depth + 1) for pair in pairs}
        case _:
            return None


def whole(value: Json) -> int:
    """A whole number as JSON or a text has it; a ``ValueError`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("no number")
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise ValueError("no number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("no number")
    return int(value)


def whole_or_none(value: Json) -> int | None:
    """A whole number, or None for what is none."""
    try:
        return whole(value)
    except ValueError:
        return None


def _double(value: Json) -> OtlpValue:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else str(value)


def _bytes(value: Json) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except binascii.Error:
        return None


def count_of(value: Json) -> int:
    """A count that protobuf could hold, else none."""
    number = whole_or_none(value)
    return number if number is not None and 0 <= number <= COUNT_MAX else 0


def json_id(value: Json, size: int) -> str | None:
    """An id, or None for what is none."""
    return id_of(value, size) if isinstance(value, str) else None


def text_of(value: Json) -> str | None:
    """A text, or None for what is none."""
    return value if isinstance(value, str) else None


def first_of(fields: OtlpFields, names: Iterable[str]) -> Json:
    """The first of these fields that says something."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def object_of(value: Json) -> dict[str, Json]:
    """An object, or an empty one for what is none."""
    return value if isinstance(value, dict) else {}


def list_of(value: Json) -> list[Json]:
    """A list, or an empty one for what is none."""
    return value if isinstance(value, list) else []
