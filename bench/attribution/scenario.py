"""A scenario: a story that actors play in a world, with a name and a description."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.attribution.world import World

Play = Callable[[World], World | None]
"""Plays the story; if it ends in another work tree or clone, returns that one to be queried."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One story; ``unrecorded`` means that no agent wrote anything, so no line may be attributed to one.

    ``by_program`` means that a command wrote lines which its own text does not show: a transcript cannot know them.
    """

    name: str
    what: str
    play: Play
    unrecorded: bool = False
    by_program: bool = False


def scenario(*, unrecorded: bool = False, by_program: bool = False) -> Callable[[Play], Scenario]:
    """Make a scenario from a function: it has the function's name, and its docstring as description."""

    def make(play: Play) -> Scenario:
        name = getattr(play, "__name__", "").replace("_", "-")
        return Scenario(name, (play.__doc__ or "").removesuffix("."), play, unrecorded, by_program)

    return make
