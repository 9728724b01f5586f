"""Where each line of a file comes from, through every captured call: replay and carry.

A captured call gives a file before and after. What the call added is its agent's. What changed between one call's
result and the next call's before-text was somebody else's, even where it sits inside the text that the agent wrote.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
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
from custody.attribution.text import key_of, lines_of, split_line_words
from custody.core.ids import AgentName, CommitSha, RecordRef, SessionId
from custody.core.views import TRANSCRIPT, FileEdit, FileState, Text

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


# What was captured of one file, in order: edits and looks, each once however many records tell of it.


SHELL = ":shell:"
"""In the id of an edit that was read out of a shell command: what was seen on disk around the call says more."""
IMPORTED = "import"
"""The kind of what was brought in from elsewhere, whatever it had been there."""
SNAPSHOT = ":snapshot"
LOOK = ":look"
SAME_LINES_MAX = 20
"""Of a line that a call took out more often than this, so many places are remembered."""
_NUMBER = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """One captured moment of a file; ``observed`` names what was seen, so that two records of it count once.

    ``after`` is None when the text was erased or never captured: then nothing can be replayed from it.
    """

    observed: str
    at_ns: int
    ref: RecordRef
    n: int
    agent: AgentName
    session: SessionId | None
    call: str | None
    before: str | None
    after: str | None
    is_call: bool = True
    part: bool = False
    proposed: str | None = None
    revision: CommitSha | None = None
    kind: str = ""
    standing: int = 0
    """How much its source says: of two observations of one call the higher one gives the text."""

    @property
    def is_claim(self) -> bool:
        """Whether somebody brought it afterwards."""
        return self.kind in (TRANSCRIPT, IMPORTED)


def moment_of(view: FileEdit | FileState, ref: RecordRef, n: int, kind: str = "") -> FileSnapshot:
    """The moment that a view tells of; ``kind`` is that of its record: what our hook saw outdoes what was imported."""
    if isinstance(view, FileState):
        return replace(_look(view, ref, n), kind=kind)
    return FileSnapshot(
        observed=f"{view.agent} {view.session} {view.id}",
        at_ns=view.at_ns,
        ref=ref,
        n=n,
        agent=view.agent,
        session=view.session,
        call=view.call,
        before=None if view.before is None else view.before.content,
        after=None if view.after is None or _is_erased(view.before) else view.after.content,
        part=view.part,
        proposed=None if view.proposed is None else view.proposed.content,
        revision=view.revision,
        kind=kind,
        standing=int(kind not in (TRANSCRIPT, IMPORTED)),
    )


def _is_erased(text: Text | None) -> bool:
    """Whether a text was captured and is gone: without what was there before, all of it would look like the call's."""
    return text is not None and text.content is None


def _look(view: FileState, ref: RecordRef, n: int) -> FileSnapshot:
    is_call = view.phase == "after" and view.session is not None
    what = SNAPSHOT if is_call else LOOK
    text = "" if view.gone else (None if view.text is None else view.text.content)
    return FileSnapshot(
        observed=f"{view.agent} {view.session} {view.call}{what}" + ("" if is_call else f" {view.at_ns}"),
        at_ns=view.at_ns,
        ref=ref,
        n=n,
        agent=view.agent,
        session=view.session,
        call=view.call,
        before=None,
        after=text,
        is_call=is_call,
        revision=view.revision,
    )


def merge_moments(moments: Iterable[FileSnapshot]) -> list[FileSnapshot]:
    """Each observed thing once, oldest first: the text of the source that says most, the earliest time of its like."""
    seen: dict[str, list[FileSnapshot]] = {}
    for moment in moments:
        seen.setdefault(moment.observed, []).append(moment)
    found = {name: reduce(_merge_pair, sorted(same, key=_worth, reverse=True)) for name, same in seen.items()}
    whole = [moment for moment in found.values() if not _is_outdone(moment, found)]
    return sorted(whole, key=lambda moment: (moment.at_ns, place_of(moment.observed)))


def place_of(observed: str) -> tuple[bool, tuple[str | int, ...]]:
    """Where something observed stands among others of the same moment: looks after calls, numbers by their value.

    >>> sorted(["a s c:shell:10", "a s c:look 1", "a s c:shell:9"], key=place_of)
    ['a s c:shell:9', 'a s c:shell:10', 'a s c:look 1']
    """
    pieces = _NUMBER.split(observed)
    return LOOK in observed, tuple(int(piece) if n % 2 else piece for n, piece in enumerate(pieces))


def _merge_pair(better: FileSnapshot, worse: FileSnapshot) -> FileSnapshot:
    proposed = better.proposed if better.proposed is not None else worse.proposed
    if worse.is_claim and not better.is_claim:
        # When it was, on what and instead of what is part of what our hook saw: a claim does not fill it in.
        return replace(better, proposed=proposed)
    return replace(
        better,
        at_ns=min(better.at_ns, worse.at_ns),
        before=better.before if better.before is not None or better.part != worse.part else worse.before,
        proposed=proposed,
        revision=better.revision or worse.revision,
    )


def _worth(moment: FileSnapshot) -> tuple[bool, bool, bool, int, tuple[str, ...], RecordRef, int]:
    """The greater, the better; among equals the texts decide, since which record came first is chance."""
    texts = tuple(text or "" for text in (moment.after, moment.before, moment.proposed, moment.revision))
    told = moment.after is not None, not moment.part, moment.before is not None
    return *told, moment.standing, texts, moment.ref, moment.n


def _is_outdone(moment: FileSnapshot, found: dict[str, FileSnapshot]) -> bool:
    """Whether an edit that was only read out of a command's text was also seen on disk."""
    call, mark, _ = moment.observed.partition(SHELL)
    return bool(mark) and f"{call}{SNAPSHOT}" in found


def with_taken(moments: Sequence[FileSnapshot]) -> Iterator[tuple[FileSnapshot, tuple[str, ...]]]:
    """Each moment of a file with the lines among its new ones that other pieces of the same call took out.

    An agent that tells only the pieces it changed moves a block by taking it out in one and putting it in in another.
    """
    calls: dict[tuple[RecordRef, str | None], list[FileSnapshot]] = {}
    for moment in moments:
        if moment.part and moment.after is not None:
            calls.setdefault((moment.ref, moment.call), []).append(moment)
    places = {call: _taken_out(pieces) for call, pieces in calls.items() if len(pieces) > 1}
    for moment in moments:
        taken = places.get((moment.ref, moment.call)) if moment.part else None
        yield moment, () if taken is None else tuple(_put_back(moment, taken))


LineTransfers = dict[int, list[tuple[int, int, str]]]
"""For the key of a line, the pieces and places from which it was taken, and how it is written."""


def _taken_out(pieces: Iterable[FileSnapshot]) -> LineTransfers:
    taken: LineTransfers = {}
    for piece in pieces:
        for place, line in _only_in(piece.before, piece.after):
            places = taken.setdefault(key_of(line), [])
            if len(places) < SAME_LINES_MAX:
                places.append((piece.n, place, line))
    return taken


def _put_back(moment: FileSnapshot, taken: LineTransfers) -> list[str]:
    new = {key_of(line) for _, line in _only_in(moment.after, moment.before)}
    return [
        line for piece, _, line in sorted(place for key in new for place in taken.get(key, ())) if piece != moment.n
    ]


def _only_in(text: str | None, other: str | None) -> Iterator[tuple[int, str]]:
    """The lines that ``text`` has more often than ``other``, each with its place."""
    left = Counter(map(key_of, lines_of(other or "")))
    for place, line in enumerate(lines_of(text or "")):
        left[key_of(line)] -= 1
        if left[key_of(line)] < 0:
            yield place, line


def apply_moment(moment: FileSnapshot, whole: Sequence[str] | None) -> tuple[list[str], bool] | None:
    """The lines after a moment, and whether they are the whole file; None when its text is not known.

    ``whole`` is the file before, where that is known: an edit of a piece is put into it.
    """
    if moment.after is None:
        return None
    if not moment.part:
        return lines_of(moment.after), True
    if whole is not None:
        text = "\n".join(whole) + ("\n" if whole else "")
        old, new = (moment.before or "").replace("\r\n", "\n"), moment.after.replace("\r\n", "\n")
        if not old:
            return lines_of(text + new), True
        if old in text:
            return lines_of(text.replace(old, new, 1)), True
    return lines_of(moment.after), False
