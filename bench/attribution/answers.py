"""Tools that are asked who wrote the lines of a file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench.attribution.score import NOTHING, Said
from bench.attribution.telling import CUSTODY, ran
from bench.attribution.truth import Kind, Line
from bench.attribution.world import World

GIVEN = frozenset({"agent", "mixed"})
"""Classes that give a line to the session they name."""


@dataclass(frozen=True, slots=True)
class Question:
    """One file of one state: that of the commit HEAD, or the work tree."""

    world: World
    path: str
    lines: Sequence[Line]
    committed: bool


class Answerer(Protocol):
    """Says who wrote each line of a file."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""

    def answer(self, question: Question) -> Sequence[Said]:
        """One answer per line, in order."""


@dataclass(frozen=True, slots=True)
class Nobody:
    """Gives no line to anybody."""

    name: str = "none"

    def answer(self, question: Question) -> Sequence[Said]:
        """Nothing, for every line."""
        return [NOTHING for _ in question.lines]


@dataclass(frozen=True, slots=True)
class Oracle:
    """Knows the truth."""

    name: str = "oracle"

    def answer(self, question: Question) -> Sequence[Said]:
        """The truth; lines on which people disagree are given to nobody."""
        return [
            Said(line.who.session, 1, "agent") if line.who.kind is Kind.AGENT else NOTHING for line in question.lines
        ]


@dataclass(frozen=True, slots=True)
class Custody:
    """Our own command, in one of its profiles."""

    profile: str = ""

    @property
    def name(self) -> str:
        """The product, and the profile if it is not the usual one."""
        return f"custody-{self.profile}" if self.profile else "custody"

    def answer(self, question: Question) -> Sequence[Said]:
        """What ``custody blame`` says."""
        argv = [CUSTODY, "blame", question.path, *(["HEAD"] if question.committed else []), "--json"]
        if self.profile:
            argv += ["--profile", self.profile]
        said = json.loads(ran(argv, question.world.folder, question.world.environment))
        return spread_out(map(_of_custody, said["attributions"]), len(question.lines))


Stretch = tuple[int, int, Said]


def _of_custody(one: Mapping[str, Any]) -> Stretch:
    name = str(one["class"])
    session = one.get("session_id") if name in GIVEN else None
    return int(one["start_line"]), int(one["end_line"]), Said(session, one.get("tier"), name)


def spread_out(stretches: Iterable[Stretch], count: int) -> list[Said]:
    """Answers for stretches of lines as answers for ``count`` single lines.

    >>> [one.session for one in spread_out([(2, 3, Said("s"))], 4)]
    [None, 's', 's', None]
    """
    found = [NOTHING] * count
    for first, last, said in stretches:
        for number in range(max(1, first), min(count, last) + 1):
            found[number - 1] = said
    return found
