"""Who really wrote each line: texts with an author for every line. Every change names its author.

Nothing here compares versions the way custody does. An operation names the block that it replaces and the author of
the new lines. It also names the lines that it keeps.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import takewhile

from bench.bars import BenchError

WORD = re.compile(r"\w+")
SAYING_CHARACTERS_MIN = 4
SAY_LITTLE = frozenset({"return", "pass", "else", "try", "finally", "break", "continue", "end", "done", "then", "None"})


class Kind(Enum):
    """The kind of an author."""

    AGENT = "agent"
    PERSON = "person"
    EITHER = "either"
    """Disputed: the line is counted, but left out of precision and recall."""


@dataclass(frozen=True, slots=True)
class Who:
    """The author of a line; ``session`` is set for agents."""

    kind: Kind
    session: str | None = None


PERSON = Who(Kind.PERSON)
EITHER = Who(Kind.EITHER)


def the_agent(session: str) -> Who:
    """Return the agent of a session as an author."""
    return Who(Kind.AGENT, session)


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its line ending, and its author."""

    text: str
    who: Who


@dataclass(frozen=True, slots=True)
class Page:
    """A text file with the author of each line; ``ended`` is whether the last line has a line ending."""

    lines: tuple[Line, ...] = ()
    eol: str = "\n"
    ended: bool = True

    @property
    def text(self) -> str:
        """Return the file as it is on disk."""
        joined = self.eol.join(line.text for line in self.lines)
        return joined + self.eol if self.lines and self.ended else joined

    def with_lines(self, lines: Iterable[Line]) -> "Page":
        """Return the same file with other lines."""
        return replace(self, lines=tuple(lines))

    def at(self, block: str) -> tuple[int, int]:
        """Find the lines of ``block``, which must occur exactly once; the range is half-open."""
        wanted = block.split("\n")
        texts = [line.text for line in self.lines]
        found = [at for at in range(len(texts)) if texts[at : at + len(wanted)] == wanted]
        if len(found) != 1:
            raise BenchError(f"the block {block!r} occurs {len(found)} times in the file")
        return found[0], found[0] + len(wanted)


@dataclass(frozen=True, slots=True)
class Declared:
    """What an operation declares about its block: lines that it keeps, and lines with a disputed author."""

    keeps: Collection[str] = ()
    either: Collection[str] = ()


NEW = Declared()


def lines_of(text: str, who: Who) -> list[Line]:
    """Split ``text`` into lines, all by ``who``."""
    return [Line(line, who) for line in text.removesuffix("\n").split("\n")] if text else []


def page_of(text: str, who: Who, eol: str = "\n") -> Page:
    """Make a file with all lines by ``who``."""
    return Page(tuple(lines_of(text, who)), eol)


def put(page: Page, span: tuple[int, int], lines: Iterable[Line]) -> Page:
    """Replace the lines of ``page`` in ``span`` by ``lines``."""
    return page.with_lines((*page.lines[: span[0]], *lines, *page.lines[span[1] :]))


def overwritten(old: Sequence[Line], texts: Sequence[str], who: Who, declared: Declared = NEW) -> list[Line]:
    """Return the lines after ``who`` replaced ``old`` by ``texts``.

    Unchanged lines at both ends are context and keep their authors. So do lines declared as kept, in order.
    """
    head = _common([line.text for line in old], texts)
    tail = _common([line.text for line in reversed(old[head:])], list(reversed(texts[head:])))
    middle = old[head : len(old) - tail]
    fresh = _fresh(middle, texts[head : len(texts) - tail], who, declared)
    return [*old[:head], *fresh, *old[len(old) - tail :]]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _fresh(old: Sequence[Line], texts: Sequence[str], who: Who, declared: Declared) -> list[Line]:
    made, seen = [], 0
    for text in texts:
        at = (
            next((at for at in range(seen, len(old)) if old[at].text == text), None) if text in declared.keeps else None
        )
        if at is not None:
            seen = at + 1
            made.append(old[at])
        elif text in declared.keeps and not says_little(text):
            raise BenchError(f"the line {text!r} is declared as kept, but was not there")
        else:
            made.append(Line(text, EITHER if text in declared.either else who))
    return made


def replaced(page: Page, old: str, new: str, who: Who, declared: Declared = NEW) -> Page:
    """Replace the string ``old``, which must occur once, by ``new``, written by ``who``."""
    whole = "\n".join(line.text for line in page.lines)
    if whole.count(old) != 1:
        raise BenchError(f"the text {old!r} occurs {whole.count(old)} times in the file")
    at = whole.index(old)
    first, last = whole[:at].count("\n"), whole[: at + len(old)].count("\n")
    left = whole[:at].rpartition("\n")[2]
    right = whole[at + len(old) :].partition("\n")[0]
    texts = f"{left}{new}{right}".split("\n")
    return put(page, (first, last + 1), overwritten(page.lines[first : last + 1], texts, who, declared))


def says_little(text: str) -> bool:
    """Return whether a line is blank, a bracket or a lone keyword.

    >>> [says_little(line) for line in ("", "    }", "    else:", "x = 1", "total += price")]
    [True, True, True, True, False]
    """
    words = WORD.findall(text)
    return sum(map(len, words)) < SAYING_CHARACTERS_MIN or set(words) <= SAY_LITTLE


def softened(lines: Sequence[Line]) -> list[Line]:
    """Mark low-information lines as disputed unless the nearest ordinary lines on both sides agree."""
    above = _nearest(lines)
    below = list(reversed(_nearest(list(reversed(lines)))))
    return [_soft(line, {above[at], below[at]} - {None}) for at, line in enumerate(lines)]


def told_by_neighbors(lines: Sequence[Line], known: Mapping[str, Collection[Who]]) -> list[Line]:
    """Give low-information lines that several authors wrote to the author of both neighbors, if these agree."""
    above = _nearest(lines)
    below = list(reversed(_nearest(list(reversed(lines)))))
    return [
        Line(line.text, above[at] or EITHER)
        if above[at] == below[at] and above[at] in known.get(line.text, ()) and says_little(line.text)
        else line
        for at, line in enumerate(lines)
    ]


def _nearest(lines: Sequence[Line]) -> list[Who | None]:
    seen: Who | None = None
    found: list[Who | None] = []
    for line in lines:
        found.append(seen)
        if not says_little(line.text):
            seen = line.who
    return found


def _soft(line: Line, around: Collection[Who | None]) -> Line:
    if says_little(line.text) and set(around) != {line.who}:
        return Line(line.text, EITHER)
    return line


Reshaping = Callable[[Page], Page]
"""Changes the shape of a file and returns it with the author of every line."""
