"""Typed access to fields of other programs' data: a value of the expected type, or nothing."""

from collections.abc import Iterable, Mapping
from typing import Any

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.patterns import lazy_pattern
from custody.core.views import Text
from custody.core.wire.canonical import Json, parse_json_bytes
from custody.core.wire.event import ErasedText
from custody.core.wire.event_views import text_view_from_field

Fields = Mapping[str, Any]

SYNTHETIC = "<synthetic>"
"""The model name of messages without a model."""

_FULL_SHA = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")


def get_string(value: object) -> str | None:
    """Return ``value`` if it is a text."""
    return value if isinstance(value, str) else None


def get_fields(value: object) -> Fields:
    """Return ``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def get_int(value: object) -> int | None:
    """Return ``value`` if it is a whole number; true and false are not."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def get_milliseconds(value: object) -> int:
    """Return ``value`` if it is a time in milliseconds, else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < 2**53 else 0


def first_payload_string(fields: Fields, names: Iterable[str]) -> str | None:
    """Return the first of these fields that is a text."""
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), None)


def get_items(value: object) -> list[Any]:
    """Return ``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def get_captured_text(value: object) -> Text | None:
    """Return a captured text; one that was erased is known to have been there."""
    if isinstance(value, str):
        return text_view_from_field(value)
    erased = get_fields(value).get("$erased")
    return text_view_from_field(ErasedText(erased)) if isinstance(erased, str) else None


def get_agent_model(value: object) -> str | None:
    """Return the name of a model; None where no model spoke."""
    name = value.get("id") if isinstance(value, dict) else value
    return name if isinstance(name, str) and name != SYNTHETIC else None


def get_full_sha(value: object) -> CommitSha | None:
    """Return ``value`` if it is the full id of a commit."""
    return CommitSha(value) if isinstance(value, str) and _FULL_SHA.fullmatch(value) else None


def parse_payload_json(text: str, errors: str = "replace") -> Json:
    """Return the object or list that a text is as JSON; None for other texts."""
    try:
        return parse_json_bytes(text.encode("utf-8", errors)) if text.lstrip()[:1] in ("[", "{") else None
    except InputError:
        return None  # words that only begin like JSON


def strip_unstorable_characters(text: str) -> str:
    """Return words without the halves of characters and the NULs that no database keeps."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")
