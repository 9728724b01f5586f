"""Find the origins of the lines that a commit added: captured states, lines that it removed, or unknown.

git carries unchanged lines. For the others, captured states are donors, and the one that explains most open lines
decides first. A donor's line is used once and only at its own place among the lines around it, so that the same
boilerplate typed elsewhere is not attributed to the agent.
"""

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from msgspec import Struct

from custody.attribution.carry import (
    MOVED_CHARACTERS_MIN,
    EqualBlock,
    LinePair,
    MovedBlocks,
    SingleOccurrence,
    UnmatchedRange,
    WordShare,
    count_informative_characters,
    find_carried_blocks,
    find_gaps_between_blocks,
    group_line_pair_runs,
    trace_carried_words,
)
from custody.attribution.lineage import UNKNOWN, LineOrigin, TracedText, blend_line_origins
from custody.attribution.rules import AttributeRules
from custody.attribution.text import (
    is_import_line,
    is_informative_lineage_line,
    make_lineage_key,
    make_lineage_keys,
    split_lineage_words,
    strip_lineage_whitespace,
)
from custody.core.ids import CommitSha
from custody.core.paths import Hunk

BETWEEN_LINES_MAX = 3
"""Maximum uninformative lines between two changes that may belong to them."""

MOVED_LINES_MIN = 3
"""Minimum distinctive lines of a block that is recognized in another file without further proof."""
SHARED_LINES_MIN = 2
"""Minimum distinctive lines of such a block if the commit removed it there, or one session wrote both files."""

TRAIL_COMMITS_MAX = 64
"""Maximum commits stored for a line, the latest: a line that moves with every commit must not grow without limit."""


class VersionLine(NamedTuple):
    """One line of a version of a file.

    ``trail`` are the commits that it came through (None is the work tree); the last introduced this text. It is empty
    for lines older than all commits that were read.
    """

    key: int
    is_informative: bool
    origin: LineOrigin
    trail: tuple[CommitSha | None, ...]


class OpenLine(NamedTuple):
    """A line that a commit added, with its origin still unknown.

    ``old_line`` is set for an uninformative line between two changes: it may be new, or be that old line.
    """

    key: int
    is_informative: bool
    text: str
    old_line: VersionLine | None = None


class Donor(Struct, frozen=True):
    """A captured state that may explain lines; ``read`` returns its text, which is often not needed.

    ``read_before`` returns the text before its call, as far as captured. ``absent`` is set for a state of another file:
    only lines that the other file no longer has can have moved here. ``is_shared``: the same session wrote this file
    too. ``common`` are lines that calls added to several files. ``withheld`` is set if its text is not here.
    ``is_outlived`` returns whether a commit without the open lines came after it.
    """

    state: int
    at_ns: int
    keys: Sequence[int]
    origins: Sequence[LineOrigin]
    read: Callable[[], Sequence[str]]
    read_before: Callable[[], Sequence[str]] = tuple
    absent: Callable[[int], bool] | None = None
    is_shared: bool = False
    common: Container[int] = ()
    withheld: "OwnerFindings | None" = None
    is_outlived: Callable[[], bool] = bool


class LineMatch(NamedTuple):
    """A line of a version that is similar to lines of a state: the share of common words, and their origin."""

    state: int
    place: int
    share: float
    origin: LineOrigin


class OwnerFindings(Struct, frozen=True):
    """Findings from the store that holds a state's text: keys of the text before, and matches in a commit."""

    before: frozenset[int]
    matches: Sequence[LineMatch]


class AddingCommit(Struct, frozen=True):
    """The commit that added lines: its id (None for the work tree) and its time."""

    id: CommitSha | None
    at_ns: int


class RemovedRun(Struct, frozen=True):
    """Lines that a commit removed, with their origins."""

    known: TracedText
    trails: Sequence[tuple[CommitSha | None, ...]]

    @property
    def is_known(self) -> bool:
        """Whether the origin of any of them is known."""
        return any(origin != UNKNOWN for origin in self.known.origins)


NO_LINES = RemovedRun(TracedText((), ()), ())


def removed_run_from_hunk(hunk: Hunk[str], old: Sequence[VersionLine]) -> RemovedRun:
    """Return the lines that ``hunk`` removed from the version ``old``."""
    return removed_run_from_lines(
        zip(hunk.removed, old[hunk.old_index : hunk.old_index + len(hunk.removed)], strict=False)
    )


def removed_run_from_lines(lines: Iterable[tuple[str, VersionLine]]) -> RemovedRun:
    """Return removed lines, each passed as its text and its version line."""
    removed = list(lines)
    known = TracedText([text for text, _ in removed], [line.origin for _, line in removed])
    return RemovedRun(known, [line.trail for _, line in removed])


def make_unknown_origin_lines(lines: Iterable[str]) -> list[VersionLine]:
    """Return the lines of a version without known origins."""
    return [VersionLine(make_lineage_key(line), is_informative_lineage_line(line), UNKNOWN, ()) for line in lines]


def splice_commit_hunks(old: Sequence[VersionLine], hunks: Sequence[Hunk[str]]) -> list[VersionLine | OpenLine]:
    """Return the version after ``hunks``: unchanged lines as they were, added ones open."""
    new: list[VersionLine | OpenLine] = []
    at = 0
    for hunk in hunks:
        between = old[at : hunk.old_index]
        new.extend(_open_uninformative_lines(between) if at and len(between) <= BETWEEN_LINES_MAX else between)
        new.extend(OpenLine(make_lineage_key(text), is_informative_lineage_line(text), text) for text in hunk.added)
        at = hunk.old_index + len(hunk.removed)
    new.extend(old[at:])
    return new


def _open_uninformative_lines(lines: Sequence[VersionLine]) -> list[VersionLine | OpenLine]:
    """Return the lines between two changes, open if none is informative: they may belong to the changes."""
    if any(line.is_informative for line in lines):
        return list(lines)
    return [OpenLine(line.key, False, "", line) for line in lines]


def join_merge_parents(sides: Sequence[list[VersionLine | OpenLine]]) -> list[VersionLine | OpenLine]:
    """Return each line of a merge from the first parent that has it; open if no parent has it."""
    if len(sides) == 1:
        return sides[0]
    first, *others = sides
    return [
        next((line for line in same_place if isinstance(line, VersionLine)), same_place[0])
        for same_place in zip(first, *others, strict=True)
    ]


class _Texts(dict[int, str]):
    """The texts of open lines by position; every other line is empty."""

    def __missing__(self, _position: int) -> str:
        return ""


class OpenVersion:
    """A version of a file while its open lines are being explained; ``removed`` are the lines that its commit removed.

    ``overwrote`` returns the time of a state if its call overwrote an uncaptured text, else None.
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
        open_lines = ((j, lines[j]) for j in self._first_open)
        self._texts = _Texts({j: line.text for j, line in open_lines if isinstance(line, OpenLine)})
        self._aligned: dict[int, list[EqualBlock]] = {}
        self._keys_before: dict[int, Container[int]] = {}
        self._removed = removed
        self._overwrote = overwrote
        self._guesses: dict[int, Container[int]] = {}
        self.matches: list[LineMatch] = []
        """Lines similar to lines of donors, for stores that do not have the donors' texts."""

    @property
    def open_keys(self) -> list[int]:
        """The keys of informative open lines."""
        return list(dict.fromkeys(self._keys[j] for j in sorted(self._open) if self._lines[j].is_informative))

    @property
    def is_closed(self) -> bool:
        """Whether no line is open."""
        return not self._open

    @property
    def is_settled(self) -> bool:
        """Whether no informative line is open."""
        return not any(self._lines[j].is_informative for j in self._open)

    def take_from(self, donors: Sequence[Donor]) -> None:
        """Explain open lines by equal lines of donors at their place, the donor that explains most first."""
        offers = {donor.state: (donor, offer) for donor, offer in self._offers(donors)}
        while offers and self._open:
            donor, offer = max(offers.values(), key=self._rank_offer)
            gain = [(i, j) for i, j in offer if j in self._open]
            if not any(self._lines[j].is_informative for _, j in gain):
                break
            for i, j in gain:
                self._settle(j, donor.origins[i], ())
            del offers[donor.state]

    def take_whole(self, donors: Sequence[Donor]) -> None:
        """Explain a file without informative lines by a donor with exactly the same lines."""
        if any(line.is_informative for line in self._lines):
            return
        same = [donor for donor in donors if donor.absent is None and list(donor.keys) == self._keys]
        if same:
            donor = max(same, key=self._preference)
            for j in [j for j in self._first_open if j in self._open]:
                if donor.origins[j] != UNKNOWN and not self._is_older(donor, j):
                    self._settle(j, donor.origins[j], ())

    def _offers(self, donors: Sequence[Donor]) -> Iterator[tuple[Donor, list[LinePair]]]:
        """Yield the offers of donors in order of preference, up to one that explains everything."""
        informative = sum(1 for j in self._open if self._lines[j].is_informative)
        for donor in sorted(donors, key=self._preference, reverse=True):
            offer = self._offer(donor)
            yield donor, offer
            if sum(1 for _, j in offer if self._lines[j].is_informative) == informative:
                return

    def take_moved(self, removed: RemovedRun, *, lines_min: int = 1) -> None:
        """Explain open lines by lines that this commit removed elsewhere, as moved blocks.

        A block needs at least ``lines_min`` distinctive lines: more from another file, where one may be chance.
        """
        if not self._open or not removed.known.lines:
            return
        keys = make_lineage_keys(removed.known.lines)
        moved = self._match_moved_lines(dict(enumerate(keys)), keys)
        for run in group_line_pair_runs(sorted((i, j) for j, i in moved.items())):
            if lines_min == 1 or self._count_distinctive_lines(j for _, j in run) >= lines_min:
                for i, j in run:
                    self._settle(j, removed.known.origins[i], removed.trails[i])

    def take_words(self, replaced: Iterable[tuple[Hunk[str], RemovedRun]], donors: Sequence[Donor]) -> None:
        """Explain open lines by the words of replaced lines and of donors' lines at the same place."""
        offers: dict[int, tuple[float, LineOrigin, tuple[CommitSha | None, ...]]] = {}
        for hunk, removed in replaced:
            for j, share, origin, trail in self._match_replaced_words(hunk, removed):
                offers[j] = (share, origin, trail)
        # Text written after the commit may be similar to its lines, but did not cause them.
        for donor in (donor for donor in donors if donor.at_ns <= self._commit.at_ns):
            for state, j, share, origin in self._find_donor_matches(donor):
                self.matches.append(LineMatch(state, j, share, origin))
                if j not in offers or share > offers[j][0]:
                    offers[j] = (share, origin, ())
        # A line in the text before a call is older than the call, even if the call wrote a similar one.
        calls = {donor.state: donor for donor in donors}
        for j, (_, origin, trail) in offers.items():
            if origin.state not in calls or self._keys[j] not in self._read_keys_before_call(calls[origin.state]):
                self._settle(j, origin, trail)

    def follow(self) -> None:
        """Give uninformative lines the origin of their neighbors among the added lines, if both agree.

        A lone bracket at the end of the added lines follows the line above it.
        """
        added = set(self._first_open)
        for j in self._first_open:
            if j in self._open and not self._lines[j].is_informative:
                above, below = self._find_neighbor_origin(j, -1, added), self._find_neighbor_origin(j, 1, added)
                closes = bool(self._texts[j].strip()) and not split_lineage_words(self._texts[j]) and j + 1 not in added
                if above is not None and (closes or (below is not None and above.state == below.state)):
                    self._settle(j, above, ())

    def closed(self) -> list[VersionLine]:
        """Return the version with every line settled; lines that are still open have no known origin."""
        for j in sorted(self._open):
            line = self._lines[j]
            if isinstance(line, OpenLine) and line.old_line is not None:
                self._lines[j] = line.old_line
            else:
                self._settle(j, UNKNOWN, ())
        self._open.clear()
        return cast("list[VersionLine]", self._lines)  # no line is open now

    def _offer(self, donor: Donor) -> list[LinePair]:
        """Return the open lines that a donor explains, as pairs (donor's line, open line)."""
        donor_keys = set(donor.keys)
        if not any(self._keys[j] in donor_keys for j in self._open):
            return []
        blocks = self._blocks(donor)
        credible = [block for block in blocks if self._is_credible(block, donor)]
        pairs = [(block.old + j - block.new, j) for block in credible for j in self._open_in(block)]
        pairs += self._match_lines_moved_within(donor, blocks) if donor.absent is None else []
        return [(i, j) for i, j in pairs if donor.origins[i] != UNKNOWN and not self._is_older(donor, i)]

    def _is_older(self, donor: Donor, i: int) -> bool:
        """Return whether the line was there before its call, so that the call did not write the commit's line."""
        state, key = donor.origins[i].state, donor.keys[i]
        if state == donor.state and donor.at_ns > self._commit.at_ns and key in self._read_keys_before_call(donor):
            return True
        return state > 0 and key in self._guess_overwritten_keys(state)

    def _guess_overwritten_keys(self, state: int) -> Container[int]:
        """Return the keys of the text that a call overwrote, as far as this commit shows.

        A call after the commit overwrote the commit's lines. A call before it overwrote at least the lines that the
        commit removed. No call is later than the work tree, whatever its clock.
        """
        if state not in self._guesses:
            at_ns = self._overwrote(state)
            is_later = at_ns is not None and self._commit.id is not None and at_ns > self._commit.at_ns
            keys = () if at_ns is None else self._keys if is_later else make_lineage_keys(self._removed)
            self._guesses[state] = frozenset(keys)
        return self._guesses[state]

    def _read_keys_before_call(self, donor: Donor) -> Container[int]:
        if donor.withheld is not None:
            return donor.withheld.before
        if donor.state not in self._keys_before:
            self._keys_before[donor.state] = set(make_lineage_keys(donor.read_before()))
        return self._keys_before[donor.state]

    def _blocks(self, donor: Donor) -> list[EqualBlock]:
        """Return the blocks that a donor shares with this version, computed once per donor."""
        if donor.state not in self._aligned:
            self._aligned[donor.state] = find_carried_blocks(donor.keys, self._keys)
        return self._aligned[donor.state]

    def _open_in(self, block: EqualBlock) -> Iterator[int]:
        """Yield the open lines inside a block."""
        at = bisect_left(self._first_open, block.new)
        while at < len(self._first_open) and self._first_open[at] < block.new + block.length:
            if self._first_open[at] in self._open:
                yield self._first_open[at]
            at += 1

    def _match_lines_moved_within(self, donor: Donor, blocks: Sequence[EqualBlock]) -> list[LinePair]:
        """Return open lines that are elsewhere in the donor, in blocks; donor lines at their place are excluded.

        A single line that a commit lacked in between was discarded, and an equal one elsewhere may be typed again.
        """
        unmatched = {
            i: donor.keys[i]
            for gap in find_gaps_between_blocks(blocks, UnmatchedRange(0, len(donor.keys), 0, len(self._keys)))
            for i in range(gap.old_first, gap.old_end)
        }
        placed = {j for block in blocks for j in self._open_in(block)}
        pairs = sorted((i, j) for j, i in self._match_moved_lines(unmatched, donor.keys, placed).items())
        return [
            pair
            for run in group_line_pair_runs(pairs)
            if self._count_distinctive_lines(j for _, j in run) >= SHARED_LINES_MIN or not donor.is_outlived()
            for pair in run
        ]

    def _match_moved_lines(
        self, unmatched: Mapping[int, int], whole: Sequence[int], placed: Container[int] = ()
    ) -> dict[int, int]:
        """Return open lines that are unmatched lines of another text, in recognized blocks."""
        open_keys = {j: self._keys[j] for j in self._first_open if j in self._open and j not in placed}
        return MovedBlocks(
            unmatched,
            open_keys,
            lambda j: count_informative_characters(self._texts[j]),
            SingleOccurrence(whole, self._keys),
        ).blocks(MOVED_CHARACTERS_MIN)

    def _is_credible(self, block: EqualBlock, donor: Donor) -> bool:
        """Return whether a block has an informative line or, from another file, enough to be the same text.

        That takes several distinctive lines, and fewer if one session wrote both files.
        """
        positions = range(block.new, block.new + block.length)
        if donor.absent is None:
            return any(self._lines[j].is_informative for j in positions)
        moved = [j for j in positions if donor.absent(self._keys[j])]
        lines_min = SHARED_LINES_MIN if donor.is_shared else MOVED_LINES_MIN
        characters = sum(len(strip_lineage_whitespace(self._texts[j])) for j in moved)
        distinctive = [j for j in moved if self._keys[j] not in donor.common]
        return characters >= MOVED_CHARACTERS_MIN and self._count_distinctive_lines(distinctive) >= lines_min

    def _count_distinctive_lines(self, positions: Iterable[int]) -> int:
        """Return how many different lines identify their text: informative ones that import nothing."""
        texts = {self._keys[j]: self._texts[j] for j in positions if self._lines[j].is_informative and j in self._open}
        return sum(not is_import_line(text) for text in texts.values())

    def _rank_offer(self, donor_offer: tuple[Donor, list[LinePair]]) -> tuple[int, bool, int, int]:
        donor, offer = donor_offer
        explained = sum(1 for _, j in offer if j in self._open and self._lines[j].is_informative)
        return explained, *self._preference(donor)

    def _preference(self, donor: Donor) -> tuple[bool, int, int]:
        return donor.at_ns <= self._commit.at_ns, donor.at_ns, donor.state

    def _match_replaced_words(
        self, hunk: Hunk[str], removed: RemovedRun
    ) -> Iterator[tuple[int, float, LineOrigin, tuple[CommitSha | None, ...]]]:
        gap = UnmatchedRange(0, len(removed.known.lines), hunk.new_index, hunk.new_index + len(hunk.added))
        for j, words in self._align_open_words(removed.known.lines, gap).items():
            if words.share >= self._rules.carry_words_share_min:
                main_source = words.parts[0][0]
                yield j, words.share, blend_line_origins(words, removed.known.origins), removed.trails[main_source]

    def _find_donor_matches(self, donor: Donor) -> Iterable[LineMatch]:
        if donor.withheld is not None:
            return [match for match in donor.withheld.matches if match.place in self._open]
        return [LineMatch(donor.state, j, share, origin) for j, share, origin in self._match_donor_words(donor)]

    def _match_donor_words(self, donor: Donor) -> Iterator[tuple[int, float, LineOrigin]]:
        if donor.absent is not None or not self._is_unused(donor):
            return
        for gap in find_gaps_between_blocks(
            self._blocks(donor), UnmatchedRange(0, len(donor.keys), 0, len(self._keys))
        ):
            if gap.old_first < gap.old_end and not self._open.isdisjoint(range(gap.new_first, gap.new_end)):
                for j, words in self._align_open_words(donor.read(), gap).items():
                    if words.share >= self._rules.carry_words_share_min:
                        yield j, words.share, blend_line_origins(words, donor.origins)

    def _is_unused(self, donor: Donor) -> bool:
        """Return whether an agent's line of a donor is not at its place here, so that an open line may resemble it."""
        return any(
            donor.origins[i].is_agent
            for gap in find_gaps_between_blocks(
                self._blocks(donor), UnmatchedRange(0, len(donor.keys), 0, len(self._keys))
            )
            for i in range(gap.old_first, gap.old_end)
        )

    def _align_open_words(self, old: Sequence[str], gap: UnmatchedRange) -> dict[int, WordShare]:
        return {j: words for j, words in trace_carried_words(old, self._texts, gap).items() if j in self._open}

    def _find_neighbor_origin(self, j: int, step: int, added: set[int]) -> LineOrigin | None:
        """Return the origin of the next informative added line in one direction; None at the end of the hunk."""
        j += step
        while j in added:
            line = self._lines[j]
            if isinstance(line, VersionLine) and (line.is_informative or j not in self._open):
                return line.origin
            if line.is_informative:
                return None
            j += step
        return None

    def _settle(self, j: int, origin: LineOrigin, trail: tuple[CommitSha | None, ...]) -> None:
        line = self._lines[j]
        full_trail = (*trail, self._commit.id)[-TRAIL_COMMITS_MAX:]
        self._lines[j] = VersionLine(line.key, line.is_informative, origin, full_trail)
        self._open.discard(j)
        self._texts.pop(j, None)
