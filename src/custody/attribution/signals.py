"""Signals in a candidate: one function per signal, one table of signals (document 000, section 5).

A signal knows neither points nor other candidates, so order cannot matter.
"""

from collections.abc import Callable, Iterator
from types import MappingProxyType

from custody.attribution.model import RecordedPlace, Segment, TraceCandidate, TraceEntry
from custody.attribution.rules import AttributeRules
from custody.core.evidence import Evidence, Signal
from custody.core.ids import Digest, RecordRef, content_hashes_match
from custody.core.paths import Lines, format_lines

LEVELS = ("conversation", "change", "file")
"""Levels of a trace's entries, in the order of preference."""

REVISION_DIGITS_MIN = 7
"""Minimum digits of a revision that is compared (document 000)."""
_NS_PER_HOUR = 3_600 * 1_000_000_000
_HEX = frozenset("0123456789abcdef")

SignalCheck = Callable[[Segment, TraceCandidate, AttributeRules], str | None]


def commit_link(_segment: Segment, candidate: TraceCandidate, _rules: AttributeRules) -> str | None:
    """Explain that a record links the trace to the commit; None if none does."""
    return "a record links this trace to the commit" if candidate.linked else None


def content_hash(segment: Segment, candidate: TraceCandidate, _rules: AttributeRules) -> str | None:
    """Explain that the trace stored the segment's hash for this file; None if it did not.

    The entry that covers the line comes first, which decides only the text. If it hid the others, removing its hash
    would reveal them: less evidence would make a better answer.
    """
    for entry in sorted(candidate.entries, key=lambda entry: _rank_entry_nearness(entry, segment.lines.midpoint)):
        if entry.hash is not None and content_hashes_match(entry.hash, segment.hash):
            if entry.recorded is not None:
                return f"the trace has exactly this text in {entry.recorded}"
            return f"the trace stored the hash of exactly this text {_format_entry_location(entry)}"
    return None


def revision_parent(segment: Segment, candidate: TraceCandidate, _rules: AttributeRules) -> str | None:
    """Explain that the trace was recorded on top of the commit's parent; None if it was not."""
    if is_same_trace_revision(candidate.revision, segment.parent):
        return f"the trace was recorded at {_abbreviate_trace_revision(candidate.revision)}, the parent of the commit"
    return None


def revision_ancestor(segment: Segment, candidate: TraceCandidate, _rules: AttributeRules) -> str | None:
    """Explain that the trace was recorded on top of an ancestor other than the parent; None if it was not."""
    if candidate.precedes and not is_same_trace_revision(candidate.revision, segment.parent):
        return f"the trace was recorded at {_abbreviate_trace_revision(candidate.revision)}, an ancestor of the commit"
    return None


def range_match(segment: Segment, candidate: TraceCandidate, _rules: AttributeRules) -> str | None:
    """Explain that the segment's middle line is inside a recorded range; None if it is not."""
    best = select_best_trace_range(segment, candidate)
    if best is not None and segment.lines.midpoint in best:
        recorded = next((entry.recorded for entry in candidate.entries if entry.lines == best), None)
        if recorded is not None:
            return f"the trace recorded an edit of {recorded}{_describe_line_move(recorded, segment)}"
        place = "" if len(best) == 1 else f", which hold line {segment.lines.midpoint}"
        return f"the trace recorded an edit of {_name_trace_file(candidate)}{format_lines([best])}{place}"
    return None


def range_overlap(segment: Segment, candidate: TraceCandidate, rules: AttributeRules) -> str | None:
    """Explain that the segment's middle line is near a recorded range and inside none; None otherwise."""
    best = select_best_trace_range(segment, candidate)
    if best is not None and 0 < _measure_trace_range_gap(best, segment.lines.midpoint) <= rules.near_lines_max:
        where = f"{_name_trace_file(candidate)}{format_lines([best])}"
        return f"the trace recorded an edit of {where}, near line {segment.lines.midpoint}"
    return None


def timestamp_match(segment: Segment, candidate: TraceCandidate, rules: AttributeRules) -> str | None:
    """Explain that the trace's time lies in the window around the commit's author time; None if it does not."""
    if segment.at_ns is None or candidate.at_ns is None:
        return None
    since, until = compute_commit_window_ns(segment.at_ns, rules)
    return "the trace's time lies in the window around the commit" if since <= candidate.at_ns <= until else None


SIGNALS: MappingProxyType[str, SignalCheck] = MappingProxyType(
    {
        check.__name__: check
        for check in (
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


def collect_trace_evidence(
    segment: Segment, candidate: TraceCandidate, rules: AttributeRules, *, rules_digest: Digest
) -> Evidence:
    """Return all signals of ``candidate``, in the table's order."""
    return Evidence(tuple(_collect_signals(segment, candidate, rules)), rules_digest)


def select_best_trace_range(segment: Segment, candidate: TraceCandidate) -> Lines | None:
    """Return the smallest recorded range that holds the segment's middle line, else the nearest one (section 9).

    Among equals it is the first in the file.
    """
    line = segment.lines.midpoint
    ranges = (entry.lines for entry in candidate.entries if entry.lines is not None)
    return min(ranges, key=lambda lines: _rank_trace_range(lines, line), default=None)


def is_same_trace_revision(text: str | None, other: str | None) -> bool:
    """Return whether two revisions agree in the shorter one's digits, at least ``REVISION_DIGITS_MIN``.

    >>> is_same_trace_revision("ABCDEF1", "abcdef1234"), is_same_trace_revision("abcdef", "abcdef1234")
    (True, False)
    """
    if text is None or other is None:
        return False
    a, b = text.lower(), other.lower()
    shorter = min(len(a), len(b))
    return shorter >= REVISION_DIGITS_MIN and _HEX.issuperset(a + b) and a[:shorter] == b[:shorter]


def compute_commit_window_ns(at_ns: int, rules: AttributeRules) -> tuple[int, int]:
    """Return the time window around a commit's author time, both ends included.

    >>> [ns // 10**9 for ns in compute_commit_window_ns(100_000 * 10**9, AttributeRules())]
    [13600, 103600]
    """
    before, after = (round(hours * _NS_PER_HOUR) for hours in (rules.window_hours_before, rules.window_hours_after))
    return at_ns - before, at_ns + after


def _collect_signals(segment: Segment, candidate: TraceCandidate, rules: AttributeRules) -> Iterator[Signal]:
    for name, check in SIGNALS.items():
        why = check(segment, candidate, rules)
        if why is not None:
            yield Signal(name, rules.points[name], why, _list_signal_records(name, candidate))


def _list_signal_records(name: str, candidate: TraceCandidate) -> tuple[RecordRef, ...]:
    return candidate.link_records if name == commit_link.__name__ else candidate.records


def _rank_trace_range(lines: Lines, line: int) -> tuple[int, int, Lines]:
    gap = _measure_trace_range_gap(lines, line)
    return gap, len(lines) if gap == 0 else 0, lines


def _measure_trace_range_gap(lines: Lines, line: int) -> int:
    return lines.gap_to(Lines(line, line))


def _rank_entry_nearness(entry: TraceEntry, line: int) -> tuple[bool, int, int, int]:
    """Return a sort key: covering entries first, then by level, those with a range first."""
    level = LEVELS.index(entry.level)
    if entry.lines is None:
        return False, level, 1, 0
    return line not in entry.lines, level, 0, entry.lines.first


def _format_entry_location(entry: TraceEntry) -> str:
    where = f"for its {entry.level}" if entry.level != "file" else "for this file"
    return where if entry.lines is None else f"{where}, {format_lines([entry.lines])}"


def _name_trace_file(candidate: TraceCandidate) -> str:
    """Return the file as the trace names it, for the lines that follow."""
    return "" if candidate.named is None else f"'{candidate.named.display}', "


def _describe_line_move(recorded: RecordedPlace, segment: Segment) -> str:
    """Return where recorded lines are now, if they are elsewhere."""
    if recorded.path != segment.path:
        return f", which moved to '{segment.path.display}', {format_lines([segment.lines])}"
    return "" if recorded.lines in ((segment.lines,), ()) else f", now {format_lines([segment.lines])}"


def _abbreviate_trace_revision(revision: str | None) -> str:
    return "an unknown commit" if revision is None else revision[:12]
