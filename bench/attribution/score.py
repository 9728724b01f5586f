"""Scores a tool's answers against the truth, line by line. No files, no processes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from bench.attribution.truth import Kind, Line, says_little, softened


@dataclass(frozen=True, slots=True)
class Said:
    """A tool's answer for one line; ``session`` is None unless it names an agent."""

    session: str | None = None
    tier: int | None = None
    name: str = "none"
    """The class as the tool calls it."""


NOTHING = Said()


class Outcome(Enum):
    """How an answer compares with the truth."""

    RIGHT = "right"
    """An agent's line, attributed to its session."""
    STOLEN = "stolen"
    """A person's line, attributed to an agent."""
    MISTAKEN = "mistaken"
    """An agent's line, attributed to another session."""
    MISSED = "missed"
    """An agent's line, not attributed."""
    CLEAR = "clear"
    """A person's line, not attributed."""
    LEFT_OUT = "left out"
    """A line with a disputed author."""


class Sort(Enum):
    """The kind of a line."""

    ORDINARY = "ordinary"
    BOILERPLATE = "boilerplate"
    """The same text occurs more than once in the file, ignoring white space."""
    SAYS_LITTLE = "low-information"


@dataclass(frozen=True, slots=True)
class Judged:
    """A line with its true author, the tool's answer and the outcome."""

    path: str
    number: int
    line: Line
    said: Said
    outcome: Outcome
    sort: Sort


def judged(path: str, lines: Sequence[Line], answers: Sequence[Said]) -> list[Judged]:
    """Score every line of a file; a missing answer counts as not attributed."""
    padded = [*answers[: len(lines)], *[NOTHING] * (len(lines) - len(answers))]
    often = Counter("".join(line.text.split()) for line in lines)
    soft = softened(lines)
    return [
        Judged(path, at + 1, line, said, outcome(line, said), sort_of(line.text, often))
        for at, (line, said) in enumerate(zip(soft, padded, strict=True))
    ]


def outcome(line: Line, said: Said) -> Outcome:
    """Compare an answer with the truth."""
    match line.who.kind, said.session:
        case Kind.EITHER, _:
            return Outcome.LEFT_OUT
        case Kind.PERSON, None:
            return Outcome.CLEAR
        case Kind.PERSON, _:
            return Outcome.STOLEN
        case Kind.AGENT, None:
            return Outcome.MISSED
        case _:
            return Outcome.RIGHT if said.session == line.who.session else Outcome.MISTAKEN


def sort_of(text: str, often: Mapping[str, int]) -> Sort:
    """Return the kind of the line ``text``; ``often`` counts the lines of its file."""
    if says_little(text):
        return Sort.SAYS_LITTLE
    return Sort.BOILERPLATE if often["".join(text.split())] > 1 else Sort.ORDINARY


@dataclass
class Tally:
    """Counts of outcomes.

    >>> tally = Tally(Counter({Outcome.RIGHT: 9, Outcome.STOLEN: 1, Outcome.MISSED: 3}))
    >>> tally.precision, tally.recall, tally.exact
    (0.9, 0.75, False)
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)

    def add(self, lines: Iterable[Judged]) -> None:
        """Add the outcomes of ``lines``."""
        self.outcomes.update(line.outcome for line in lines)

    def count(self, *outcomes: Outcome) -> int:
        """Return how many lines have one of these outcomes."""
        return sum(self.outcomes[one] for one in outcomes)

    @property
    def wrong(self) -> int:
        """Return how many lines are attributed to a session that did not write them."""
        return self.count(Outcome.STOLEN, Outcome.MISTAKEN)

    @property
    def lost(self) -> int:
        """Return how many agents' lines are not attributed to their session."""
        return self.count(Outcome.MISSED, Outcome.MISTAKEN)

    @property
    def precision(self) -> float:
        """Return the correct share of the lines attributed to agents; 1 if there are none."""
        given = self.count(Outcome.RIGHT) + self.wrong
        return self.count(Outcome.RIGHT) / given if given else 1.0

    @property
    def recall(self) -> float:
        """Return the share of agents' lines that were found; 1 if there are none."""
        there = self.count(Outcome.RIGHT) + self.lost
        return self.count(Outcome.RIGHT) / there if there else 1.0

    @property
    def exact(self) -> bool:
        """Return whether no line is wrong and none is lost."""
        return not self.wrong and not self.lost


def tally_of(lines: Iterable[Judged]) -> Tally:
    """Count the outcomes of ``lines``."""
    tally = Tally()
    tally.add(lines)
    return tally


def calibration(lines: Iterable[Judged]) -> dict[tuple[int | None, str], Tally]:
    """Count the outcomes of lines attributed to an agent, by tier and class."""
    found: dict[tuple[int | None, str], Tally] = {}
    for line in lines:
        if line.said.session is not None:
            found.setdefault((line.said.tier, line.said.name), Tally()).add([line])
    return found


def by_sort(lines: Iterable[Judged]) -> dict[Sort, Tally]:
    """Count the outcomes by kind of line."""
    found = {sort: Tally() for sort in Sort}
    for line in lines:
        found[line.sort].add([line])
    return found
