"""What readers of other programs' shapes ask of a value: this type, or nothing."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.views import Text
from custody.core.wire.canonical import Json, parse
from custody.core.wire.event import ErasedText
from custody.core.wire.event_views import text_view

Fields = Mapping[str, Any]

SYNTHETIC = "<synthetic>"
"""The model name of messages that no model wrote."""

_FULL_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def get_string(value: object) -> str | None:
    """``value`` if it is a text."""
    return value if isinstance(value, str) else None


def fields(value: object) -> Fields:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def get_int(value: object) -> int | None:
    """``value`` if it is a whole number; true and false are not."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def milliseconds(value: object) -> int:
    """``value`` if it is a time in milliseconds, else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < 2**53 else 0


def first_string(given: Fields, names: Iterable[str]) -> str | None:
    """The first of these fields that is a text."""
    return next((given[name] for name in names if isinstance(given.get(name), str)), None)


def items(value: object) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> Text | None:
    """A captured text; one that was erased is known to have been there."""
    if isinstance(value, str):
        return text_view(value)
    erased = fields(value).get("$erased")
    return text_view(ErasedText(erased)) if isinstance(erased, str) else None


def model(value: object) -> str | None:
    """The name of a model; None where no model spoke."""
    named = value.get("id") if isinstance(value, dict) else value
    return named if isinstance(named, str) and named != SYNTHETIC else None


def full_sha(value: object) -> CommitSha | None:
    """``value`` if it is the full id of a commit."""
    return CommitSha(value) if isinstance(value, str) and _FULL_SHA.fullmatch(value) else None


def json_in(words: str, errors: str = "replace") -> Json:
    """The object or list that a text is as JSON; None for other texts."""
    try:
        return parse(words.encode("utf-8", errors)) if words.lstrip()[:1] in ("[", "{") else None
    except InputError:
        return None  # words that only begin like JSON


def clean(words: str) -> str:
    """Words without the halves of characters and the NULs that no database keeps."""
    return words.encode("utf-8", "replace").decode().replace("\0", "")
