"""Kinds that are one token: a few literal parts and a few drawn ones, in given surroundings."""

from collections.abc import Callable

from bench.redaction_corpus.draw import Draw
from bench.redaction_corpus.frame import Kind, Places, in_places

Part = str | tuple[str, int] | Callable[[Draw], str]
"""A literal, an alphabet with a length, or a function that draws."""


def drawn(draw: Draw, part: Part) -> str:
    """One part of a token."""
    if isinstance(part, str):
        return part
    return draw.chars(*part) if isinstance(part, tuple) else part(draw)


def tokens(places: Places, family: str, *rows: tuple[str, str, bool, tuple[Part, ...]]) -> tuple[Kind, ...]:
    """Kinds of one family: name, variable, whether the shape alone tells, the parts."""

    def kind(name: str, variable: str, alone: bool, parts: tuple[Part, ...]) -> Kind:
        def make(draw: Draw) -> str:
            return "".join(drawn(draw, part) for part in parts)

        return in_places(family, name, places, variable, make, alone=alone)

    return tuple(kind(*row) for row in rows)
