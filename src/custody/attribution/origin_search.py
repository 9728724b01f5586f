"""Where the lines come from that a commit added: from captured states, from lines it removed, or from nowhere known.

git carries unchanged lines. For the others, the states after captured calls are donors: the one that explains most
open lines decides first. A line of a donor can be used once and only at its own place among the lines around it, so
that the same boilerplate typed again elsewhere is not taken for the agent's.
"""

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from custody.attribution.carry import (
    MOVED_CHARACTERS_MIN,
    EqualBlock,
    LinePair,
    MovedBlocks,
    SingleOccurrence,
    UnmatchedRange,
    WordShare,
    align_words,
    equal_blocks,
    gaps_of,
    signs_of,
)
from custody.attribution.lineage import UNKNOWN, LineOrigin, TracedText, blended
from custody.attribution.rules import AttributeRules
from custody.attribution.text import bare, is_informative, key_of, keys_of, split_line_words
from custody.core.ids import CommitSha

BETWEEN_LINES_MAX = 3
"""How many lines that say little may stand between two changes and go with them."""

TRAIL_COMMITS_MAX = 64
"""The latest commits of a line's path that are stored: a line that moves with every commit must not grow for ever."""


class VersionLine(NamedTuple):
    """One line of a version of a file.

    ``trail`` are the commits that it came through, the last one introduced this text: None is the work tree. It is
    empty for lines that are older than anything that was looked at.
    """

    key: int
    tells: bool
    """Whether it says enough to lead."""
    origin: LineOrigin
    trail: tuple[CommitSha | None, ...]


class OpenLine(NamedTuple):
    """A line that a commit added and whose origin is being looked for.

    ``kept`` is given for a line that says little between two changes: it may be new as they are, or be the old line.
    """

    key: int
    tells: bool
    text: str
    kept: VersionLine | None = None


@dataclass(frozen=True, slots=True)
class CommitHunk:
    """What a commit changed at one place; lines count from 0."""

    old_first: int
    removed: tuple[str, ...]
    new_first: int
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Donor:
    """A captured state that may explain lines; ``read`` gives its text, which is often not needed.

    ``read_before`` gives the text before its call, as far as that was captured.
    ``absent`` is given for a state of another file: only lines that this other file no longer has can have moved here.
    """

    state: int
    at_ns: int
    keys: Sequence[int]
    origins: Sequence[LineOrigin]
    read: Callable[[], Sequence[str]]
    read_before: Callable[[], Sequence[str]] = tuple
    absent: Callable[[int], bool] | None = None
    withheld: "OwnerFindings | None" = None
    """Given for a state whose text is not here."""


class LineMatch(NamedTuple):
    """That a line of a version is like lines of a state: how like, and whose words it has."""

    state: int
    place: int
    share: float
    origin: LineOrigin


@dataclass(frozen=True, slots=True)
class OwnerFindings:
    """What the owner of a state's text found out from it: keys of the text before, and what a commit has like it."""

    before: Container[int]
    likes: Sequence[LineMatch]


@dataclass(frozen=True, slots=True)
class AddingCommit:
    """The commit that added lines: its id (None for the work tree) and when it was made, as far as is known."""

    id: CommitSha | None
    at_ns: int


@dataclass(frozen=True, slots=True)
class RemovedRun:
    """Lines that a commit took away, with where they came from."""

    known: TracedText
    trails: Sequence[tuple[CommitSha | None, ...]]

    @property
    def is_known(self) -> bool:
        """Whether anything is known of where one of them came from."""
        return any(origin != UNKNOWN for origin in self.known.origins)


NO_LINES = RemovedRun(TracedText((), ()), ())


def removed_by(hunk: CommitHunk, old: Sequence[VersionLine]) -> RemovedRun:
    """The lines that ``hunk`` took out of the version ``old``."""
    return removed_lines(zip(hunk.removed, old[hunk.old_first : hunk.old_first + len(hunk.removed)], strict=False))


def removed_lines(lines: Iterable[tuple[str, VersionLine]]) -> RemovedRun:
    """Lines that were taken away, each given as its text and what was known of it."""
    found = list(lines)
    known = TracedText([text for text, _ in found], [line.origin for _, line in found])
    return RemovedRun(known, [line.trail for _, line in found])


def base_version(lines: Iterable[str]) -> list[VersionLine]:
    """A version of which nothing is known but its text."""
    return [VersionLine(key_of(line), is_informative(line), UNKNOWN, ()) for line in lines]


def spliced(old: Sequence[VersionLine], hunks: Sequence[CommitHunk]) -> list[VersionLine | OpenLine]:
    """The version after ``hunks``: kept lines as they were, added ones open."""
    new: list[VersionLine | OpenLine] = []
    at = 0
    for hunk in hunks:
        between = old[at : hunk.old_first]
        new.extend(_between(between) if at and len(between) <= BETWEEN_LINES_MAX else between)
        new.extend(OpenLine(key_of(text), is_informative(text), text) for text in hunk.added)
        at = hunk.old_first + len(hunk.removed)
    new.extend(old[at:])
    return new


def _between(lines: Sequence[VersionLine]) -> list[VersionLine | OpenLine]:
    """The few lines between two changes: where none says anything, they may belong to what is new around them."""
    if any(line.tells for line in lines):
        return list(lines)
    return [OpenLine(line.key, False, "", line) for line in lines]


def join_merge_parents(sides: Sequence[list[VersionLine | OpenLine]]) -> list[VersionLine | OpenLine]:
    """A merge: each line as the first parent that has it knows it; open where no parent has it."""
    if len(sides) == 1:
        return sides[0]
    first, *others = sides
    return [
        next((line for line in same_place if isinstance(line, VersionLine)), same_place[0])
        for same_place in zip(first, *others, strict=True)
    ]


class _Texts(dict[int, str]):
    """The texts of open lines by their place; every other line is empty."""

    def __missing__(self, _place: int) -> str:
        return ""


class OpenVersion:
    """A version of a file while its open lines are being explained; ``removed`` are those that its commit took away.

    ``overwrote`` tells of a state when its call wrote over a text that nobody captured; None where that was captured.
    """

    def __init__(
        self,
        lines: Sequence[VersionLine | OpenLine],
        commit: AddingCommit,
        rules: AttributeRules,
        *,
        removed: Sequence[str] = (),
        overwrote: Callable[[int], int | None] = lambda _state: None,
    ) -> None:
        self._lines = list(lines)
        self._commit = commit
        self._rules = rules
        self._keys = [line.key for line in lines]
        self._first_open = [j for j, line in enumerate(lines) if isinstance(line, OpenLine)]
        self._open = set(self._first_open)
        opened = ((j, lines[j]) for j in self._first_open)
        self._texts = _Texts({j: line.text for j, line in opened if isinstance(line, OpenLine)})
        self._aligned: dict[int, list[EqualBlock]] = {}
        self._found: dict[int, Container[int]] = {}
        self._removed = removed
        self._overwrote = overwrote
        self._guesses: dict[int, Container[int]] = {}
        self.likes: list[LineMatch] = []
        """What was found to be like lines of donors, for those who will not have the donors' texts."""

    @property
    def open_keys(self) -> list[int]:
        """The keys of open lines that say something."""
        return list(dict.fromkeys(self._keys[j] for j in sorted(self._open) if self._lines[j].tells))

    @property
    def is_closed(self) -> bool:
        """Whether no line at all is open."""
        return not self._open

    @property
    def is_settled(self) -> bool:
        """Whether no line that says something is open."""
        return not any(self._lines[j].tells for j in self._open)

    def take_from(self, donors: Sequence[Donor]) -> None:
        """Let donors explain open lines by equal lines at their place, the one that explains most first."""
        left = {donor.state: (donor, offer) for donor, offer in self._offers(donors)}
        while left and self._open:
            best = max(left.values(), key=self._standing)
            donor, offer = best
            gain = [(i, j) for i, j in offer if j in self._open]
            if not any(self._lines[j].tells for _, j in gain):
                break
            for i, j in gain:
                self._settle(j, donor.origins[i], ())
            del left[donor.state]

    def take_whole(self, donors: Sequence[Donor]) -> None:
        """Let a donor explain a file in which no line says much, where all of it is as the donor's call left it."""
        if any(line.tells for line in self._lines):
            return
        same = [donor for donor in donors if donor.absent is None and list(donor.keys) == self._keys]
        if same:
            donor = max(same, key=self._preference)
            for j in [j for j in self._first_open if j in self._open]:
                if donor.origins[j] != UNKNOWN and not self._is_older(donor, j):
                    self._settle(j, donor.origins[j], ())

    def _offers(self, donors: Sequence[Donor]) -> Iterator[tuple[Donor, list[LinePair]]]:
        """What donors offer, those that would win a tie first: one that explains everything needs no others."""
        telling = sum(1 for j in self._open if self._lines[j].tells)
        for donor in sorted(donors, key=self._preference, reverse=True):
            offer = self._offer(donor)
            yield donor, offer
            if sum(1 for _, j in offer if self._lines[j].tells) == telling:
                return

    def take_moved(self, removed: RemovedRun) -> None:
        """Let lines that this commit removed somewhere explain open ones as moved blocks."""
        if not self._open or not removed.known.lines:
            return
        gone = keys_of(removed.known.lines)
        for j, i in self._moved(dict(enumerate(gone)), gone).items():
            self._settle(j, removed.known.origins[i], removed.trails[i])

    def take_words(self, replaced: Iterable[tuple[CommitHunk, RemovedRun]], donors: Sequence[Donor]) -> None:
        """Let the words of replaced lines and of donors' lines at the same place explain lines that are like them."""
        offers: dict[int, tuple[float, LineOrigin, tuple[CommitSha | None, ...]]] = {}
        for hunk, removed in replaced:
            for j, share, origin, trail in self._like_replaced(hunk, removed):
                offers[j] = (share, origin, trail)
        # What was written after the commit may be like its lines, but they were there before.
        for donor in (donor for donor in donors if donor.at_ns <= self._commit.at_ns):
            for state, j, share, origin in self._likes_of(donor):
                self.likes.append(LineMatch(state, j, share, origin))
                if j not in offers or share > offers[j][0]:
                    offers[j] = (share, origin, ())
        # A line that a call found there is older than that call, however like it what the call made of it is.
        calls = {donor.state: donor for donor in donors}
        for j, (_, origin, trail) in offers.items():
            if origin.state not in calls or self._keys[j] not in self._before(calls[origin.state]):
                self._settle(j, origin, trail)

    def follow(self) -> None:
        """Let lines that say little go with their neighbours among the added lines, where both agree.

        A lone bracket at the end of what was added goes with what it closes.
        """
        added = set(self._first_open)
        for j in self._first_open:
            if j in self._open and not self._lines[j].tells:
                above, below = self._neighbour(j, -1, added), self._neighbour(j, 1, added)
                closes = bool(self._texts[j].strip()) and not split_line_words(self._texts[j]) and j + 1 not in added
                if above is not None and (closes or (below is not None and above.state == below.state)):
                    self._settle(j, above, ())

    def closed(self) -> list[VersionLine]:
        """The version with every line settled: what is still open has no known origin."""
        for j in sorted(self._open):
            line = self._lines[j]
            if isinstance(line, OpenLine) and line.kept is not None:
                self._lines[j] = line.kept
            else:
                self._settle(j, UNKNOWN, ())
        self._open.clear()
        return cast("list[VersionLine]", self._lines)  # nothing is open any more

    def _offer(self, donor: Donor) -> list[LinePair]:
        """The open lines that a donor explains, as pairs (its line, ours)."""
        held = set(donor.keys)
        if not any(self._keys[j] in held for j in self._open):
            return []
        blocks = self._blocks(donor)
        believed = [block for block in blocks if self._is_telling(block, donor)]
        offered = [(block.old + j - block.new, j) for block in believed for j in self._open_in(block)]
        offered += self._moved_from(donor, blocks) if donor.absent is None else []
        return [(i, j) for i, j in offered if donor.origins[i] != UNKNOWN and not self._is_older(donor, i)]

    def _is_older(self, donor: Donor, i: int) -> bool:
        """Whether a call that came after the commit found such a line there: then it did not write the commit's."""
        state, key = donor.origins[i].state, donor.keys[i]
        if state == donor.state and donor.at_ns > self._commit.at_ns and key in self._before(donor):
            return True
        return state > 0 and key in self._guessed(state)

    def _guessed(self, state: int) -> Container[int]:
        """What a call that wrote over an unknown text found there, as far as this commit tells.

        After the commit it found what the commit has. Before it, at least what the commit took away. Nothing is later
        than the work tree, whatever a clock says.
        """
        if state not in self._guesses:
            at_ns = self._overwrote(state)
            is_later = at_ns is not None and self._commit.id is not None and at_ns > self._commit.at_ns
            found = () if at_ns is None else self._keys if is_later else keys_of(self._removed)
            self._guesses[state] = frozenset(found)
        return self._guesses[state]

    def _before(self, donor: Donor) -> Container[int]:
        if donor.withheld is not None:
            return donor.withheld.before
        if donor.state not in self._found:
            self._found[donor.state] = set(keys_of(donor.read_before()))
        return self._found[donor.state]

    def _blocks(self, donor: Donor) -> list[EqualBlock]:
        """Where a donor's lines stand here; remembered, since donors are asked more than once."""
        if donor.state not in self._aligned:
            self._aligned[donor.state] = equal_blocks(donor.keys, self._keys)
        return self._aligned[donor.state]

    def _open_in(self, block: EqualBlock) -> Iterator[int]:
        """The open lines inside a block."""
        at = bisect_left(self._first_open, block.new)
        while at < len(self._first_open) and self._first_open[at] < block.new + block.length:
            if self._first_open[at] in self._open:
                yield self._first_open[at]
            at += 1

    def _moved_from(self, donor: Donor, blocks: Sequence[EqualBlock]) -> list[LinePair]:
        """Open lines that stand elsewhere in the donor, in blocks; a line of it that is at its place is not moved."""
        free = {
            i: donor.keys[i]
            for gap in gaps_of(blocks, UnmatchedRange(0, len(donor.keys), 0, len(self._keys)))
            for i in range(gap.old_first, gap.old_end)
        }
        placed = {j for block in blocks for j in self._open_in(block)}
        return [(i, j) for j, i in self._moved(free, donor.keys, placed).items()]

    def _moved(self, free: Mapping[int, int], whole: Sequence[int], placed: Container[int] = ()) -> dict[int, int]:
        """Open lines that are free lines of another text, in blocks that are known again."""
        here = {j: self._keys[j] for j in self._first_open if j in self._open and j not in placed}
        return MovedBlocks(free, here, lambda j: signs_of(self._texts[j]), SingleOccurrence(whole, self._keys)).blocks(
            MOVED_CHARACTERS_MIN
        )

    def _is_telling(self, block: EqualBlock, donor: Donor) -> bool:
        """Whether a run of equal lines is enough to believe: it says something, and of another file, enough."""
        places = range(block.new, block.new + block.length)
        if donor.absent is None:
            return any(self._lines[j].tells for j in places)
        signs = sum(len(bare(self._texts[j])) for j in places if donor.absent(self._keys[j]))
        return signs >= MOVED_CHARACTERS_MIN

    def _standing(self, offered: tuple[Donor, list[LinePair]]) -> tuple[int, bool, int, int]:
        donor, offer = offered
        explains = sum(1 for _, j in offer if j in self._open and self._lines[j].tells)
        return explains, *self._preference(donor)

    def _preference(self, donor: Donor) -> tuple[bool, int, int]:
        return donor.at_ns <= self._commit.at_ns, donor.at_ns, donor.state

    def _like_replaced(
        self, hunk: CommitHunk, removed: RemovedRun
    ) -> Iterator[tuple[int, float, LineOrigin, tuple[CommitSha | None, ...]]]:
        gap = UnmatchedRange(0, len(removed.known.lines), hunk.new_first, hunk.new_first + len(hunk.added))
        for j, words in self._shared(removed.known.lines, gap).items():
            if words.share >= self._rules.carry_words_share_min:
                generous = words.parts[0][0]
                yield j, words.share, blended(words, removed.known.origins), removed.trails[generous]

    def _likes_of(self, donor: Donor) -> Iterable[LineMatch]:
        if donor.withheld is not None:
            return [like for like in donor.withheld.likes if like.place in self._open]
        return [LineMatch(donor.state, j, share, origin) for j, share, origin in self._like_donor(donor)]

    def _like_donor(self, donor: Donor) -> Iterator[tuple[int, float, LineOrigin]]:
        if donor.absent is not None or not self._is_unused(donor):
            return
        for gap in gaps_of(self._blocks(donor), UnmatchedRange(0, len(donor.keys), 0, len(self._keys))):
            if gap.old_first < gap.old_end and not self._open.isdisjoint(range(gap.new_first, gap.new_end)):
                for j, words in self._shared(donor.read(), gap).items():
                    if words.share >= self._rules.carry_words_share_min:
                        yield j, words.share, blended(words, donor.origins)

    def _is_unused(self, donor: Donor) -> bool:
        """Whether an agent's line of a donor is not at its place here: only then can an open line be like it."""
        return any(
            donor.origins[i].is_agent
            for gap in gaps_of(self._blocks(donor), UnmatchedRange(0, len(donor.keys), 0, len(self._keys)))
            for i in range(gap.old_first, gap.old_end)
        )

    def _shared(self, old: Sequence[str], gap: UnmatchedRange) -> dict[int, WordShare]:
        return {j: words for j, words in align_words(old, self._texts, gap).items() if j in self._open}

    def _neighbour(self, j: int, step: int, added: set[int]) -> LineOrigin | None:
        """The origin of the next added line in one direction that says something; None at the end of the hunk."""
        j += step
        while j in added:
            line = self._lines[j]
            if isinstance(line, VersionLine) and (line.tells or j not in self._open):
                return line.origin
            if line.tells:
                return None
            j += step
        return None

    def _settle(self, j: int, origin: LineOrigin, trail: tuple[CommitSha | None, ...]) -> None:
        line = self._lines[j]
        come = (*trail, self._commit.id)[-TRAIL_COMMITS_MAX:]
        self._lines[j] = VersionLine(line.key, line.tells, origin, come)
        self._open.discard(j)
        self._texts.pop(j, None)
