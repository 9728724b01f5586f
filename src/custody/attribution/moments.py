"""What was captured of one file, in order: edits and looks, each once however many records tell of it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from custody.attribution.text import key_of, lines_of
from custody.core.ids import AgentName, CommitSha, RecordRef, SessionId
from custody.core.views import TRANSCRIPT, FileEdit, FileState, Text

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
