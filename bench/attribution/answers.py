"""Tools that report who wrote the lines of a file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench.attribution.score import NOTHING, Said
from bench.attribution.telling import CUSTODY, ran
from bench.attribution.truth import Kind, Line
from bench.attribution.world import World

GIVEN = frozenset({"agent", "mixed"})
"""Classes that attribute a line to the session they name."""


@dataclass(frozen=True, slots=True)
class Question:
    """A file to attribute, as committed at HEAD or as in the work tree."""

    world: World
    path: str
    lines: Sequence[Line]
    committed: bool


class Answerer(Protocol):
    """A tool that reports who wrote each line of a file."""

    @property
    def name(self) -> str:
        """Return its name on the command line."""

    def answer(self, question: Question) -> Sequence[Said]:
        """Return one answer per line, in order."""


@dataclass(frozen=True, slots=True)
class Nobody:
    """A stand-in that attributes no line."""

    name: str = "none"

    def answer(self, question: Question) -> Sequence[Said]:
        """Return no author for every line."""
        return [NOTHING for _ in question.lines]


@dataclass(frozen=True, slots=True)
class Oracle:
    """A stand-in that knows the truth."""

    name: str = "oracle"

    def answer(self, question: Question) -> Sequence[Said]:
        """Return the truth; disputed lines get no author."""
        return [
            Said(line.who.session, 1, "agent") if line.who.kind is Kind.AGENT else NOTHING for line in question.lines
        ]


@dataclass(frozen=True, slots=True)
class Custody:
    """The command ``custody``, in one of its profiles."""

    profile: str = ""

    @property
    def name(self) -> str:
        """Return ``custody``, with the profile unless it is the default."""
        return f"custody-{self.profile}" if self.profile else "custody"

    def answer(self, question: Question) -> Sequence[Said]:
        """Return the answers of ``custody blame``."""
        argv = [CUSTODY, "blame", question.path, *(["HEAD"] if question.committed else []), "--json"]
        if self.profile:
            argv += ["--profile", self.profile]
        said = json.loads(ran(argv, question.world.folder, question.world.environment))
        return spread_out(map(_of_custody, said["attributions"]), len(question.lines))


Block = tuple[int, int, Said]
"""First line, last line, and the answer for both and every line between."""


def _of_custody(one: Mapping[str, Any]) -> Block:
    name = str(one["class"])
    session = one.get("session_id") if name in GIVEN else None
    return int(one["start_line"]), int(one["end_line"]), Said(session, one.get("tier"), name)


def spread_out(blocks: Iterable[Block], count: int) -> list[Said]:
    """Turn answers for blocks of lines into answers for ``count`` single lines.

    >>> [one.session for one in spread_out([(2, 3, Said("s"))], 4)]
    [None, 's', 's', None]
    """
    found = [NOTHING] * count
    for first, last, said in blocks:
        for number in range(max(1, first), min(count, last) + 1):
            found[number - 1] = said
    return found
