"""Where each line of a file comes from, through every captured call: replay and carry.

A captured call gives a file before and after. What the call added is its agent's. What changed between one call's
result and the next call's before-text was somebody else's, even where it sits inside the text that the agent wrote.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from custody.attribution.carry import (
    MOVED_CHARACTERS_MIN,
    UnmatchedRange,
    WordShare,
    align_words,
    gaps_between,
    matched_lines,
    moved_blocks,
)
from custody.attribution.rules import CALL_WORDS_SHARE_MIN, AttributeRules
from custody.attribution.text import split_line_words

ENGINE_VERSION = 5
"""Raised whenever the same evidence gives other origins; what was kept is then made again."""


class LineOrigin(NamedTuple):
    """Where a line comes from: the state whose call wrote it, and which share of the line's words is an agent's.

    ``state`` is positive for an agent's call; ``UNKNOWN`` where nothing tells; ``BETWEEN`` for text that appeared
    between two calls; below that a person whom the record of a state names (``person_at``).
    """

    state: int
    share: float = 1.0

    @property
    def is_agent(self) -> bool:
        """Whether an agent's call wrote it."""
        return self.state > 0

    @property
    def is_person(self) -> bool:
        """Whether a record names a person as its writer."""
        return self.state < _BETWEEN

    @property
    def record_state(self) -> int | None:
        """The state whose record tells where the line comes from."""
        if self.state > 0:
            return self.state
        return _BETWEEN - self.state if self.state < _BETWEEN else None


_BETWEEN = -1
UNKNOWN = LineOrigin(0, 0.0)
BETWEEN = LineOrigin(_BETWEEN, 0.0)


def person_at(state: int) -> LineOrigin:
    """The origin of a line that a person changed before the call of ``state`` was applied.

    >>> person_at(7).record_state
    7
    """
    return LineOrigin(_BETWEEN - state, 0.0)


@dataclass(frozen=True, slots=True)
class TracedText:
    """A text with the origin of each of its lines."""

    lines: Sequence[str]
    origins: Sequence[LineOrigin]


NOTHING = TracedText((), ())


@dataclass(frozen=True, slots=True)
class CapturedStep:
    """One captured moment of a file: its text before (if that was captured) and after.

    ``is_call``: an agent's call made the difference; otherwise somebody just looked. ``proposed`` is what the agent had
    written where a person changed it before it was applied.
    """

    state: int
    before: Sequence[str] | None
    after: Sequence[str]
    is_call: bool = True
    proposed: Sequence[str] | None = None


def replay_step(step: CapturedStep, previous: TracedText | None, rules: AttributeRules) -> TracedText:
    """The text after ``step`` with its origins; ``previous`` is the last known state of the file, if there is one."""
    newcomers = UNKNOWN if previous is None else BETWEEN
    if step.before is None:
        before = previous or NOTHING
    else:
        before = carry_origins(previous or NOTHING, step.before, newcomers, rules.carry_words_share_min)
    if not step.is_call:
        return carry_origins(before, step.after, newcomers, rules.carry_words_share_min)
    after = carry_origins(before, step.after, LineOrigin(step.state), CALL_WORDS_SHARE_MIN)
    return after if step.proposed is None else _with_person(after, step)


def carry_origins(old: TracedText, new: Sequence[str], newcomers: LineOrigin, words_share_min: float) -> TracedText:
    """``new`` with the origins that its lines have from ``old``; lines that come from nowhere are ``newcomers``."""
    origins: list[LineOrigin | None] = [None] * len(new)
    found = matched_lines(old.lines, new)
    moved = moved_blocks(old.lines, new, found, MOVED_CHARACTERS_MIN) if len(found) < len(new) else {}
    for j, i in (*found.items(), *moved.items()):
        origins[j] = old.origins[i]
    if len(found) + len(moved) < len(new):
        pairs = ((i, j) for j, i in sorted(found.items()))  # rising on both sides
        for gap in gaps_between(list(pairs), UnmatchedRange(0, len(old.lines), 0, len(new))):
            _carry_by_words(old, new, gap, origins, words_share_min)
    return TracedText(new, tuple(newcomers if origin is None else origin for origin in origins))


def _carry_by_words(
    old: TracedText, new: Sequence[str], gap: UnmatchedRange, origins: list[LineOrigin | None], words_share_min: float
) -> None:
    for j, words in align_words(old.lines, new, gap).items():
        if origins[j] is None and words.share >= words_share_min:
            origins[j] = blended(words, old.origins)
    _follow(new, gap, origins)


def blended(words: WordShare, origins: Sequence[LineOrigin]) -> LineOrigin:
    """The origin of a line that is made of others' words: that of the most generous, with the agents' share."""
    by_origin: Counter[int] = Counter()
    agents = 0.0
    for i, count in words.parts:
        by_origin[origins[i].state] += count
        agents += count * origins[i].share
    most = max(by_origin.values())
    state = min(state for state, count in by_origin.items() if count == most)
    share = agents / words.total
    return LineOrigin(state, min(1.0, share)) if state > 0 else LineOrigin(state, 0.0)


def _follow(new: Sequence[str], gap: UnmatchedRange, origins: list[LineOrigin | None]) -> None:
    """A wordless line of a replaced stretch (a bracket that a formatter put there) goes with its neighbours."""
    if gap.old_first == gap.old_end:
        return
    for j in range(gap.new_first, gap.new_end):
        if origins[j] is None and not split_line_words(new[j]):
            above = origins[j - 1] if j > gap.new_first else None
            below = next((o for o in origins[j + 1 : gap.new_end] if o is not None), None)
            origins[j] = above if above is not None and (below is None or below.state == above.state) else None


def _with_person(after: TracedText, step: CapturedStep) -> TracedText:
    """The lines that the agent had not proposed are the person's who changed them."""
    proposed = matched_lines(step.proposed or (), after.lines)
    origins = tuple(
        person_at(step.state) if origin.state == step.state and j not in proposed else origin
        for j, origin in enumerate(after.origins)
    )
    return TracedText(after.lines, origins)
