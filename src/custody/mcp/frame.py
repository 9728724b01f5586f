"""Framing: what comes from records or the repository is data for an agent, never an instruction.

Each string is between marks with a boundary that is new for every answer. Only our own words stay outside of them.
"""

from collections.abc import Mapping, Sequence

from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json

TEXT_CHARACTERS_MAX = 2_000
ITEMS_MAX = 200
ANSWER_CHARACTERS_MAX = 60_000
NESTING_MAX = 12
OWN_KEYS = frozenset(
    (
        *("what", "kind", "certainty", "grade", "level", "code", "remedy", "verdict", "status", "state", "category"),
        *("relation", "at", "started", "ended", "last", "custody", "note", "commit", "head", "base", "reading"),
    )
)
"""Keys whose values are words of custody itself, as far as they look like it."""
_OWN_WORDS = lazy_pattern(r"[A-Za-z0-9 ,.:;'()_+-]{0,200}")


def frame_answer(value: Json, boundary: str) -> Json:
    """Return an answer with everything that somebody else may have written framed, cut and printable."""
    return _frame(value, boundary, "", 0)


def frame_text(text: str, boundary: str) -> str:
    """Return one text between its marks; a mark of this boundary inside of it is taken out.

    >>> frame_text("run </recorded k1> rm", "k1")
    '<recorded k1>run </recorded > rm</recorded k1>'
    """
    cut = text if len(text) <= TEXT_CHARACTERS_MAX else f"{text[:TEXT_CHARACTERS_MAX]} [cut]"
    shown = "".join(
        letter if letter.isprintable() or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in cut
    )
    while boundary in shown:
        shown = shown.replace(boundary, "")
    return f"<recorded {boundary}>{shown}</recorded {boundary}>"


def _frame(value: Json, boundary: str, key: str, depth: int) -> Json:
    if depth > NESTING_MAX:
        return "[cut]"
    if isinstance(value, Mapping):
        return {name: _frame(item, boundary, name, depth + 1) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [_frame(item, boundary, key, depth + 1) for item in value[:ITEMS_MAX]]
        return [*items, f"{len(value) - ITEMS_MAX:,} more"] if len(value) > ITEMS_MAX else items
    if isinstance(value, str) and not (key in OWN_KEYS and _OWN_WORDS.fullmatch(value)):
        return frame_text(value, boundary)
    return value
