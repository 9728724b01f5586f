"""What a tool's answers are worth against the truth, line by line. Plain values in, plain values out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from bench.attribution.truth import Kind, Line, says_little, softened


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool says of one line: ``session`` is None where it gives the line to no agent."""

    session: str | None = None
    tier: int | None = None
    name: str = "none"
    """The class as the tool calls it."""


NOTHING = Said()


class Outcome(Enum):
    """What one answer is."""

    RIGHT = "right"
    """An agent's line given to its session."""
    STOLEN = "stolen"
    """A person's line given to an agent."""
    MISTAKEN = "mistaken"
    """An agent's line given to another session."""
    MISSED = "missed"
    """An agent's line given to nobody."""
    CLEAR = "clear"
    """A person's line given to nobody."""
    LEFT_OUT = "left out"
    """Honest people may disagree."""


class Sort(Enum):
    """What kind of line it is."""

    ORDINARY = "ordinary"
    BOILERPLATE = "boilerplate"
    """The same text stands more than once in the file, white space aside."""
    SAYS_LITTLE = "low-information"


@dataclass(frozen=True, slots=True)
class Judged:
    """One line with its truth, what was said of it, and what that makes."""

    path: str
    number: int
    line: Line
    said: Said
    outcome: Outcome
    sort: Sort


def judged(path: str, lines: Sequence[Line], answers: Sequence[Said]) -> list[Judged]:
    """Every line of one file; a missing answer gives the line to nobody."""
    padded = [*answers[: len(lines)], *[NOTHING] * (len(lines) - len(answers))]
    often = Counter("".join(line.text.split()) for line in lines)
    soft = softened(lines)
    return [
        Judged(path, at + 1, line, said, outcome(line, said), sort_of(line.text, often))
        for at, (line, said) in enumerate(zip(soft, padded, strict=True))
    ]


def outcome(line: Line, said: Said) -> Outcome:
    """What an answer is worth."""
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
    """What kind of line ``text`` is among those counted in ``often``."""
    if says_little(text):
        return Sort.SAYS_LITTLE
    return Sort.BOILERPLATE if often["".join(text.split())] > 1 else Sort.ORDINARY


@dataclass
class Tally:
    """Outcomes counted.

    >>> tally = Tally(Counter({Outcome.RIGHT: 9, Outcome.STOLEN: 1, Outcome.MISSED: 3}))
    >>> tally.precision, tally.recall, tally.exact
    (0.9, 0.75, False)
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)

    def add(self, lines: Iterable[Judged]) -> None:
        """Count them too."""
        self.outcomes.update(line.outcome for line in lines)

    def count(self, *outcomes: Outcome) -> int:
        """How many lines came out as one of these."""
        return sum(self.outcomes[one] for one in outcomes)

    @property
    def wrong(self) -> int:
        """Lines given to a session that did not write them."""
        return self.count(Outcome.STOLEN, Outcome.MISTAKEN)

    @property
    def lost(self) -> int:
        """Agents' lines that were not given to their session."""
        return self.count(Outcome.MISSED, Outcome.MISTAKEN)

    @property
    def precision(self) -> float:
        """The share of the lines given to an agent that are rightly given; 1 where none is."""
        given = self.count(Outcome.RIGHT) + self.wrong
        return self.count(Outcome.RIGHT) / given if given else 1.0

    @property
    def recall(self) -> float:
        """The share of the agents' lines that were found; 1 where there is none."""
        there = self.count(Outcome.RIGHT) + self.lost
        return self.count(Outcome.RIGHT) / there if there else 1.0

    @property
    def exact(self) -> bool:
        """Whether no line is wrong and none is lost."""
        return not self.wrong and not self.lost


def tally_of(lines: Iterable[Judged]) -> Tally:
    """The outcomes of ``lines``."""
    tally = Tally()
    tally.add(lines)
    return tally


def calibration(lines: Iterable[Judged]) -> dict[tuple[int | None, str], Tally]:
    """Outcomes of the lines given to an agent, by the tier and class that the tool names."""
    found: dict[tuple[int | None, str], Tally] = {}
    for line in lines:
        if line.said.session is not None:
            found.setdefault((line.said.tier, line.said.name), Tally()).add([line])
    return found


def by_sort(lines: Iterable[Judged]) -> dict[Sort, Tally]:
    """Outcomes by kind of line."""
    found = {sort: Tally() for sort in Sort}
    for line in lines:
        found[line.sort].add([line])
    return found
