"""What readers of other programs' shapes ask of a value: this type, or nothing."""

from collections.abc import Mapping
from typing import Any

from custody.core.views import Text
from custody.core.wire.event import Erased
from custody.core.wire.event_views import text_view

Fields = Mapping[str, Any]

SYNTHETIC = "<synthetic>"
"""The model name of messages that no model wrote."""


def string(value: object) -> str | None:
    """``value`` if it is a text."""
    return value if isinstance(value, str) else None


def fields(value: object) -> Fields:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> Text | None:
    """A captured text; one that was erased is known to have been there."""
    if isinstance(value, str):
        return text_view(value)
    erased = fields(value).get("$erased")
    return text_view(Erased(erased)) if isinstance(erased, str) else None


def model(value: object) -> str | None:
    """The name of a model; None where no model spoke."""
    named = value.get("id") if isinstance(value, dict) else value
    return named if isinstance(named, str) and named != SYNTHETIC else None


def clean(words: str) -> str:
    """Words without the halves of characters and the NULs that no database keeps."""
    return words.encode("utf-8", "replace").decode().replace("\0", "")
