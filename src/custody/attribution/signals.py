"""What can be seen in a candidate: one function per signal, one table of signals (document 000, section 5).

A signal only says what it saw; it knows no points and no other candidate, so order cannot matter.
"""

from collections.abc import Callable, Iterator
from types import MappingProxyType

from custody.attribution.model import Segment, TraceCandidate, TraceEntry
from custody.attribution.rules import AttributeRules
from custody.core.evidence import Evidence, Signal
from custody.core.ids import Digest, RecordRef, content_hashes_match
from custody.core.paths import Lines

LEVELS = ("conversation", "change", "file")
"""Where a trace may say something of a stretch, in the order in which it is asked."""

REVISION_DIGITS_MIN = 7
"""The shortest revision that document 000 compares."""
_NS_PER_HOUR = 3_600 * 1_000_000_000
_HEX = frozenset("0123456789abcdef")

See = Callable[[Segment, TraceCandidate, AttributeRules], str | None]


def commit_link(_segment: Segment, candidate: TraceCandidate, _rules: AttributeRules) -> str | None:
    """A record says that the trace made the commit."""
    return "a record links this trace to the commit" if candidate.linked else None


def content_hash(segment: Segment, candidate: TraceCandidate, _rules: AttributeRules) -> str | None:
    """The segment's hash is one that the trace stored for this file.

    The entry that covers the line is asked first, which only decides what the sentence names: were the others silenced
    by it, taking its hash away would bring them back, and less evidence would make a better answer.
    """
    for entry in sorted(candidate.entries, key=lambda entry: _nearness(entry, segment.lines.midpoint)):
        if entry.hash is not None and content_hashes_match(entry.hash, segment.hash):
            return f"the trace stored the hash of exactly this text {_said_at(entry)}"
    return None


def revision_parent(segment: Segment, candidate: TraceCandidate, _rules: AttributeRules) -> str | None:
    """The trace was recorded on top of the commit's parent."""
    if revisions_match(candidate.revision, segment.parent):
        return f"the trace was recorded at {_short(candidate.revision)}, the parent of the commit"
    return None


def revision_ancestor(segment: Segment, candidate: TraceCandidate, _rules: AttributeRules) -> str | None:
    """The trace was recorded on top of an ancestor of the commit other than its parent."""
    if candidate.precedes and not revisions_match(candidate.revision, segment.parent):
        return f"the trace was recorded at {_short(candidate.revision)}, an ancestor of the commit"
    return None


def range_match(segment: Segment, candidate: TraceCandidate, _rules: AttributeRules) -> str | None:
    """The line that stands for the segment is inside a recorded range."""
    best = best_range(segment, candidate)
    if best is not None and segment.lines.midpoint in best:
        return f"the trace recorded an edit of lines {best}, which hold line {segment.lines.midpoint}"
    return None


def range_overlap(segment: Segment, candidate: TraceCandidate, rules: AttributeRules) -> str | None:
    """The line that stands for the segment is near a recorded range, and inside none."""
    best = best_range(segment, candidate)
    if best is not None and 0 < _gap(best, segment.lines.midpoint) <= rules.near_lines_max:
        return f"the trace recorded an edit of lines {best}, near line {segment.lines.midpoint}"
    return None


def timestamp_match(segment: Segment, candidate: TraceCandidate, rules: AttributeRules) -> str | None:
    """The trace's time lies in the window around the commit's author time."""
    if segment.at_ns is None or candidate.at_ns is None:
        return None
    since, until = window_ns(segment.at_ns, rules)
    return "the trace's time lies in the window around the commit" if since <= candidate.at_ns <= until else None


SIGNALS: MappingProxyType[str, See] = MappingProxyType(
    {
        see.__name__: see
        for see in (
            commit_link,
            content_hash,
            revision_parent,
            revision_ancestor,
            range_match,
            range_overlap,
            timestamp_match,
        )
    }
)


def look(segment: Segment, candidate: TraceCandidate, rules: AttributeRules, *, rules_digest: Digest) -> Evidence:
    """Everything that can be seen in ``candidate``, in the table's order."""
    return Evidence(tuple(_collect_signals(segment, candidate, rules)), rules_digest)


def best_range(segment: Segment, candidate: TraceCandidate) -> Lines | None:
    """The smallest recorded range that holds the segment's line, else the one nearest to it (section 9).

    Among equals it is the first in the file.
    """
    line = segment.lines.midpoint
    ranges = (entry.lines for entry in candidate.entries if entry.lines is not None)
    return min(ranges, key=lambda lines: _place(lines, line), default=None)


def revisions_match(text: str | None, other: str | None) -> bool:
    """Whether two revisions agree on the shorter one's digits, which must be at least ``REVISION_DIGITS_MIN``.

    >>> revisions_match("ABCDEF1", "abcdef1234"), revisions_match("abcdef", "abcdef1234")
    (True, False)
    """
    if text is None or other is None:
        return False
    a, b = text.lower(), other.lower()
    shorter = min(len(a), len(b))
    return shorter >= REVISION_DIGITS_MIN and _HEX.issuperset(a + b) and a[:shorter] == b[:shorter]


def window_ns(at_ns: int, rules: AttributeRules) -> tuple[int, int]:
    """The time window around a commit's author time, both ends included.

    >>> [ns // 10**9 for ns in window_ns(100_000 * 10**9, AttributeRules())]
    [13600, 103600]
    """
    before, after = (round(hours * _NS_PER_HOUR) for hours in (rules.window_hours_before, rules.window_hours_after))
    return at_ns - before, at_ns + after


def _collect_signals(segment: Segment, candidate: TraceCandidate, rules: AttributeRules) -> Iterator[Signal]:
    for name, see in SIGNALS.items():
        why = see(segment, candidate, rules)
        if why is not None:
            yield Signal(name, rules.points[name], why, _shown_by(name, candidate))


def _shown_by(name: str, candidate: TraceCandidate) -> tuple[RecordRef, ...]:
    return candidate.link_records if name == commit_link.__name__ else candidate.records


def _place(lines: Lines, line: int) -> tuple[int, int, Lines]:
    gap = _gap(lines, line)
    return gap, len(lines) if gap == 0 else 0, lines


def _gap(lines: Lines, line: int) -> int:
    return lines.gap_to(Lines(line, line))


def _nearness(entry: TraceEntry, line: int) -> tuple[bool, int, int, int]:
    """Covering entries first, then conversation, change, file; a range before none."""
    level = LEVELS.index(entry.level)
    if entry.lines is None:
        return False, level, 1, 0
    return line not in entry.lines, level, 0, entry.lines.first


def _said_at(entry: TraceEntry) -> str:
    where = f"for its {entry.level}" if entry.level != "file" else "for this file"
    return where if entry.lines is None else f"{where}, lines {entry.lines}"


def _short(revision: str | None) -> str:
    return "an unknown commit" if revision is None else revision[:12]
