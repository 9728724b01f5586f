"""Replay captured calls and carry the origin of each line of a file from one to the next.

A captured call has the file before and after it. Its agent wrote the added text. Text that changed between one call's
result and the next call's before-text has another author, even inside text that the agent wrote.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.carry import (
    MOVED_CHARACTERS_MIN,
    UnmatchedRange,
    WordShare,
    find_gaps_between_pairs,
    match_carried_lines,
    match_moved_line_blocks,
    trace_carried_words,
)
from custody.attribution.rules import CALL_WORDS_SHARE_MIN, AttributeRules
from custody.attribution.text import make_lineage_key, split_lineage_lines, split_lineage_words
from custody.core.ids import AgentName, CommitSha, RecordRef, SessionId
from custody.core.patterns import lazy_pattern
from custody.core.views import TRANSCRIPT, FileEdit, FileState, Text

ENGINE_VERSION = 12
"""Increased whenever the same evidence gives other origins, so that stored states are replayed again."""


class LineOrigin(NamedTuple):
    """The origin of a line: the state after the call that wrote it, and the agents' share of the line's words.

    ``state`` is positive for an agent's call. It is 0 in ``UNKNOWN``, -1 in ``BETWEEN`` for text that appeared between
    two calls, and lower for a person named by the record of a state (``make_person_origin``).
    """

    state: int
    share: float = 1.0

    @property
    def is_agent(self) -> bool:
        """Whether an agent's call wrote it."""
        return self.state > 0

    @property
    def is_person(self) -> bool:
        """Whether a record names a person as its author."""
        return self.state < _BETWEEN

    @property
    def record_state(self) -> int | None:
        """The state with the record that shows the origin, if any."""
        if self.state > 0:
            return self.state
        return _BETWEEN - self.state if self.state < _BETWEEN else None


_BETWEEN = -1
UNKNOWN = LineOrigin(0, 0.0)
BETWEEN = LineOrigin(_BETWEEN, 0.0)


def make_person_origin(state: int) -> LineOrigin:
    """Return the origin of a line that a person changed before the call of ``state`` was applied.

    >>> make_person_origin(7).record_state
    7
    """
    return LineOrigin(_BETWEEN - state, 0.0)


class TracedText(Struct, frozen=True):
    """A text with the origin of each of its lines."""

    lines: Sequence[str]
    origins: Sequence[LineOrigin]


NOTHING = TracedText((), ())


class CapturedStep(Struct, frozen=True):
    """One captured step of a file: its text before (if captured) and after.

    ``is_call``: an agent's call made the change; otherwise the file was only observed. ``proposed`` is the agent's text
    if a person changed it before it was applied.
    """

    state: int
    before: Sequence[str] | None
    after: Sequence[str]
    is_call: bool = True
    proposed: Sequence[str] | None = None


def replay_step(step: CapturedStep, previous: TracedText | None, rules: AttributeRules) -> TracedText:
    """Return the text after ``step`` with its origins; ``previous`` is the last known state of the file, if any."""
    default = UNKNOWN if previous is None else BETWEEN
    if step.before is None:
        before = previous or NOTHING
    else:
        before = carry_origins(previous or NOTHING, step.before, default, rules.carry_words_share_min)
    if not step.is_call:
        return carry_origins(before, step.after, default, rules.carry_words_share_min)
    after = carry_origins(before, step.after, LineOrigin(step.state), CALL_WORDS_SHARE_MIN)
    return after if step.proposed is None else _credit_person_lines(after, step)


def carry_origins(old: TracedText, new: Sequence[str], default: LineOrigin, words_share_min: float) -> TracedText:
    """Return ``new`` with the origins that its lines have from ``old``; new lines have the origin ``default``."""
    origins: list[LineOrigin | None] = [None] * len(new)
    matches = match_carried_lines(old.lines, new)
    moved = match_moved_line_blocks(old.lines, new, matches, MOVED_CHARACTERS_MIN) if len(matches) < len(new) else {}
    for j, i in (*matches.items(), *moved.items()):
        origins[j] = old.origins[i]
    if len(matches) + len(moved) < len(new):
        pairs = ((i, j) for j, i in sorted(matches.items()))  # rising on both sides
        for gap in find_gaps_between_pairs(list(pairs), UnmatchedRange(0, len(old.lines), 0, len(new))):
            _carry_origins_by_words(old, new, gap, origins, words_share_min)
    return TracedText(new, tuple(default if origin is None else origin for origin in origins))


def _carry_origins_by_words(
    old: TracedText, new: Sequence[str], gap: UnmatchedRange, origins: list[LineOrigin | None], words_share_min: float
) -> None:
    for j, words in trace_carried_words(old.lines, new, gap).items():
        if origins[j] is None and words.share >= words_share_min:
            origins[j] = blend_line_origins(words, old.origins)
    _follow_neighbor_origins(new, gap, origins)


def blend_line_origins(words: WordShare, origins: Sequence[LineOrigin]) -> LineOrigin:
    """Return the origin that most words of a line come from, with the agents' share of all its words."""
    by_origin: Counter[int] = Counter()
    agents = 0.0
    for i, count in words.parts:
        by_origin[origins[i].state] += count
        agents += count * origins[i].share
    most = max(by_origin.values())
    state = min(state for state, count in by_origin.items() if count == most)
    share = agents / words.whole
    return LineOrigin(state, min(1.0, share)) if state > 0 else LineOrigin(state, 0.0)


def _follow_neighbor_origins(new: Sequence[str], gap: UnmatchedRange, origins: list[LineOrigin | None]) -> None:
    """Give lines without words in a replaced block, such as a formatter's bracket, the origin of their neighbors."""
    if gap.old_first == gap.old_end:
        return
    for j in range(gap.new_first, gap.new_end):
        if origins[j] is None and not split_lineage_words(new[j]):
            above = origins[j - 1] if j > gap.new_first else None
            below = next((o for o in origins[j + 1 : gap.new_end] if o is not None), None)
            origins[j] = above if above is not None and (below is None or below.state == above.state) else None


def _credit_person_lines(after: TracedText, step: CapturedStep) -> TracedText:
    """Return ``after`` with the lines that the agent had not proposed credited to the person who changed them."""
    proposed = match_carried_lines(step.proposed or (), after.lines)
    origins = tuple(
        make_person_origin(step.state) if origin.state == step.state and j not in proposed else origin
        for j, origin in enumerate(after.origins)
    )
    return TracedText(after.lines, origins)


# The snapshots of one file, in order: edits and observations, each once even if several records report it.


SHELL = ":shell:"
"""Part of the id of an edit parsed from a shell command; a snapshot of the file around the call replaces it."""
IMPORTED = "import"
"""The kind of imported records, whatever their kind was elsewhere."""
_CLAIMED = frozenset((TRANSCRIPT, IMPORTED, "edit"))
"""The kinds of snapshots that custody did not record itself: imports, and generic edits."""
SNAPSHOT = ":snapshot"
LOOK = ":look"
SAME_LINES_MAX = 20
"""Maximum remembered positions of one line that a call removed."""
_NUMBER = lazy_pattern(r"([0-9]+)")


class FileSnapshot(Struct, frozen=True):
    """A file at one captured time; ``observed`` identifies the observation, so that two records of it count once.

    ``after`` is None if the text was erased or never captured: then the snapshot cannot be replayed.
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
    source_rank: int = 0
    """The rank of its source: of two snapshots of one call, the higher rank gives the text."""

    @property
    def is_claim(self) -> bool:
        """Whether it was imported, or is a generic event."""
        return self.kind in _CLAIMED


def file_snapshot_from_view(view: FileEdit | FileState, ref: RecordRef, n: int, kind: str = "") -> FileSnapshot:
    """Return the snapshot of a view; ``kind`` is that of its record and ranks recorded above claimed sources."""
    if isinstance(view, FileState):
        return replace(_file_snapshot_from_state(view, ref, n), kind=kind)
    return FileSnapshot(
        observed=f"{view.agent} {view.session} {view.id}",
        at_ns=view.at_ns,
        ref=ref,
        n=n,
        agent=view.agent,
        session=view.session,
        call=view.call,
        before=None if view.before is None else view.before.content,
        after=None if view.after is None or _is_snapshot_text_erased(view.before) else view.after.content,
        part=view.part,
        proposed=None if view.proposed is None else view.proposed.content,
        revision=view.revision,
        kind=kind,
        source_rank=int(kind not in _CLAIMED),
    )


def _is_snapshot_text_erased(text: Text | None) -> bool:
    """Return whether a captured text was erased; without the text before, all text would look like the call's."""
    return text is not None and text.content is None


def _file_snapshot_from_state(view: FileState, ref: RecordRef, n: int) -> FileSnapshot:
    is_call = view.phase == "after" and view.session is not None
    suffix = SNAPSHOT if is_call else LOOK
    text = "" if view.gone else (None if view.text is None else view.text.content)
    return FileSnapshot(
        observed=f"{view.agent} {view.session} {view.call}{suffix}" + ("" if is_call else f" {view.at_ns}"),
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


def merge_file_snapshots(snapshots: Iterable[FileSnapshot]) -> list[FileSnapshot]:
    """Return each observation once, oldest first, with the text of its most detailed source and its earliest time."""
    by_observation: dict[str, list[FileSnapshot]] = {}
    for snapshot in snapshots:
        by_observation.setdefault(snapshot.observed, []).append(snapshot)
    merged = {
        name: reduce(_merge_snapshot_pair, sorted(same, key=_rank_snapshot_detail, reverse=True))
        for name, same in by_observation.items()
    }
    current = [snapshot for snapshot in merged.values() if not _is_snapshot_superseded(snapshot, merged)]
    return sorted(
        current,
        key=lambda snapshot: (snapshot.at_ns, make_snapshot_order_key(snapshot.observed, snapshot.kind, snapshot.ref)),
    )


def make_snapshot_order_key(observed: str, kind: str, ref: RecordRef) -> tuple[bool, str, int, tuple[str | int, ...]]:
    """Return a sort key for observations of the same time: calls first, a transcript's in its order, others by name.

    Records of hooks have the order of arrival, which is arbitrary. Numbers in names sort by their value.

    >>> from custody.core.ids import Seq, StoreId
    >>> names, ref = ("a s c:shell:10", "a s c:look 1", "a s c:shell:9"), RecordRef(StoreId("a" * 32), Seq(1))
    >>> sorted(names, key=lambda name: make_snapshot_order_key(name, "hook", ref))
    ['a s c:shell:9', 'a s c:shell:10', 'a s c:look 1']
    """
    store, seq = (str(ref.store), int(ref.seq)) if kind in (TRANSCRIPT, IMPORTED) else ("", 0)
    pieces = _NUMBER.split(observed)
    return LOOK in observed, store, seq, tuple(int(piece) if n % 2 else piece for n, piece in enumerate(pieces))


def _merge_snapshot_pair(better: FileSnapshot, worse: FileSnapshot) -> FileSnapshot:
    proposed = better.proposed if better.proposed is not None else worse.proposed
    if worse.is_claim and not better.is_claim:
        # The hook saw time, base and before-text itself: a claim must not fill them in.
        return replace(better, proposed=proposed)
    return replace(
        better,
        at_ns=min(better.at_ns, worse.at_ns),
        before=better.before if better.before is not None or better.part != worse.part else worse.before,
        proposed=proposed,
        revision=better.revision or worse.revision,
    )


def _rank_snapshot_detail(snapshot: FileSnapshot) -> tuple[bool, bool, bool, int, tuple[str, ...], RecordRef, int]:
    """Return a sort key, most detailed last; texts decide among equals, since the order of records is arbitrary."""
    texts = tuple(text or "" for text in (snapshot.after, snapshot.before, snapshot.proposed, snapshot.revision))
    detail = snapshot.after is not None, not snapshot.part, snapshot.before is not None
    return *detail, snapshot.source_rank, texts, snapshot.ref, snapshot.n


def _is_snapshot_superseded(snapshot: FileSnapshot, merged: dict[str, FileSnapshot]) -> bool:
    """Return whether an edit parsed from a command was also captured on disk."""
    call, separator, _ = snapshot.observed.partition(SHELL)
    return bool(separator) and f"{call}{SNAPSHOT}" in merged


def attach_moved_lines(snapshots: Sequence[FileSnapshot]) -> Iterator[tuple[FileSnapshot, tuple[str, ...]]]:
    """Yield each snapshot of a file with those of its new lines that other pieces of the same call removed.

    An agent that reports only changed pieces moves a block by removing it in one and adding it in another.
    """
    calls: dict[tuple[RecordRef, str | None], list[FileSnapshot]] = {}
    for snapshot in snapshots:
        if snapshot.part and snapshot.after is not None:
            calls.setdefault((snapshot.ref, snapshot.call), []).append(snapshot)
    removed = {call: _index_removed_snapshot_lines(pieces) for call, pieces in calls.items() if len(pieces) > 1}
    for snapshot in snapshots:
        transfers = removed.get((snapshot.ref, snapshot.call)) if snapshot.part else None
        yield snapshot, () if transfers is None else tuple(_match_reinserted_lines(snapshot, transfers))


LineTransfers = dict[int, list[tuple[int, int, str]]]
"""For the key of a removed line, its pieces and positions, and its text."""


def _index_removed_snapshot_lines(pieces: Iterable[FileSnapshot]) -> LineTransfers:
    removed: LineTransfers = {}
    for piece in pieces:
        for position, line in _find_extra_snapshot_lines(piece.before, piece.after):
            transfers = removed.setdefault(make_lineage_key(line), [])
            if len(transfers) < SAME_LINES_MAX:
                transfers.append((piece.n, position, line))
    return removed


def _match_reinserted_lines(snapshot: FileSnapshot, removed: LineTransfers) -> list[str]:
    new = {make_lineage_key(line) for _, line in _find_extra_snapshot_lines(snapshot.after, snapshot.before)}
    transfers = sorted(transfer for key in new for transfer in removed.get(key, ()))
    return [line for piece, _, line in transfers if piece != snapshot.n]


def _find_extra_snapshot_lines(text: str | None, other: str | None) -> Iterator[tuple[int, str]]:
    """Yield the lines that ``text`` has more often than ``other``, each with its position."""
    remaining = Counter(map(make_lineage_key, split_lineage_lines(other or "")))
    for position, line in enumerate(split_lineage_lines(text or "")):
        key = make_lineage_key(line)
        remaining[key] -= 1
        if remaining[key] < 0:
            yield position, line


def apply_file_snapshot(snapshot: FileSnapshot, whole: Sequence[str] | None) -> tuple[list[str], bool] | None:
    """Return the lines after a snapshot, and whether they are the whole file; None if its text is unknown.

    ``whole`` is the file before, if known: an edit of a piece is applied to it.
    """
    if snapshot.after is None:
        return None
    if not snapshot.part:
        return split_lineage_lines(snapshot.after), True
    if whole is not None:
        text = "\n".join(whole) + ("\n" if whole else "")
        old, new = (snapshot.before or "").replace("\r\n", "\n"), snapshot.after.replace("\r\n", "\n")
        if not old:
            return split_lineage_lines(text + new), True
        if old in text:
            return split_lineage_lines(text.replace(old, new, 1)), True
    return split_lineage_lines(snapshot.after), False
