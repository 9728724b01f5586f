"""The check of attribution: can it be shown, and well enough, who wrote the added lines?"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from custody.attribution import Grade, LineOwner
from custody.gate.codes import ChangeSpot, Reason, ReasonCode, join_first
from custody.gate.model import AddedRange, GateEvidence, MissingEvidence, RecordState
from custody.gate.rules import GateRules
from custody.ledger.gap import RecordingGap
from custody.workspace.period import ChangePeriod

HOUR_NS = 3_600 * 1_000_000_000
SHOWN_MAX = 3
"""Files that a sentence names; it counts the others."""

RECORD_IT = "run 'custody init' so that agents' work is recorded, or 'custody import' what was recorded elsewhere"

FileRange = tuple[str, AddedRange]
"""A stretch with the path of its file."""


def attribution(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """What is to be said about who wrote the added lines; nothing about a change that adds none."""
    if not seen.files:
        return
    yield from _unseen(seen, rules)
    # Where nothing was recorded, that no line has evidence is no finding: nobody looked.
    if isinstance(seen.recorded, RecordState):
        placed = seen.ranges
        yield from _none(placed, rules)
        yield from _weak(placed, rules)
        yield from _share(placed, rules)


def _unseen(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    if seen.recorded is None:
        yield rules.reason(ReasonCode.ATTR_UNSEEN, "nothing was ever recorded here", RECORD_IT)
    elif isinstance(seen.recorded, MissingEvidence):
        yield rules.reason(ReasonCode.ATTR_UNSEEN, seen.recorded.why, seen.recorded.remedy)
    else:
        yield from _gaps([gap for gap in seen.recorded.gaps if _concerns(gap, seen.period, rules)], rules)
    yield from _unread(seen, rules)


def _concerns(gap: RecordingGap, period: ChangePeriod | None, rules: GateRules) -> bool:
    """Whether a gap may belong to the change: unless it surely does not."""
    if gap.at_ns is None or period is None:
        return True
    first_ns = min(period.base_ns, period.first_ns - int(rules.gap_hours_before * HOUR_NS))
    return first_ns <= gap.at_ns <= period.last_ns + int(rules.gap_hours_after * HOUR_NS)


def _gaps(gaps: Sequence[RecordingGap], rules: GateRules) -> Iterator[Reason]:
    if gaps:
        last = max(gaps, key=lambda gap: (gap.at_ns or 0, gap.what))
        yield rules.reason(
            ReasonCode.ATTR_UNSEEN,
            f"{len(gaps)} gap(s) while the change was made: something could not be recorded; the last one: {last.what}",
            "have a person read the change; 'custody doctor' names the file; delete from it what you have seen",
        )


def _unread(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    unread = [(file.path, file.found) for file in seen.files if isinstance(file.found, MissingEvidence)]
    if unread:
        named = join_first([f"'{path}' {found.why}" for path, found in unread], SHOWN_MAX)
        remedies = dict.fromkeys(found.remedy for _, found in unread)
        yield rules.reason(
            ReasonCode.ATTR_UNSEEN,
            f"nothing is known of what {len(unread)} file(s) got: {named}",
            "; ".join(list(remedies)[:SHOWN_MAX]),
            [ChangeSpot(path) for path, _ in unread],
        )


def _none(placed: Sequence[FileRange], rules: GateRules) -> Iterator[Reason]:
    unknown = [file_range for file_range in placed if file_range[1].whose is LineOwner.NONE]
    if unknown:
        yield rules.reason(
            ReasonCode.ATTR_NONE, f"nothing shows who wrote {_counted(unknown, placed)}", spots=_spots(unknown)
        )


def _weak(placed: Sequence[FileRange], rules: GateRules) -> Iterator[Reason]:
    weak = [
        file_range
        for file_range in placed
        if file_range[1].whose is not LineOwner.NONE and _is_weak(file_range[1], rules)
    ]
    claimed = [file_range for file_range in weak if file_range[1].grade is None or file_range[1].grade is Grade.CLAIMED]
    strict = rules.stricter(ReasonCode.ATTR_WEAK, ReasonCode.ATTR_NONE)
    # Without its claim a line would be nobody's: a claim, which anybody can write, must not be milder than none.
    stood = [
        (claimed, strict),
        ([file_range for file_range in weak if file_range not in claimed], rules.level(ReasonCode.ATTR_WEAK)),
    ]
    for file_ranges, level in stood if strict is not rules.level(ReasonCode.ATTR_WEAK) else [(weak, strict)]:
        if file_ranges:
            sentence = f"the evidence is weaker than tier {rules.tier_max} and grade '{rules.grade_min}' for"
            reason = rules.reason(
                ReasonCode.ATTR_WEAK, f"{sentence} {_counted(file_ranges, placed)}", spots=_spots(file_ranges)
            )
            yield replace(reason, level=level)


def _is_weak(stretch: AddedRange, rules: GateRules) -> bool:
    """A person's lines have no tier, but that a record names a person may be no more than a claim as well."""
    if stretch.whose.is_agent and (stretch.tier is None or stretch.tier > rules.tier_max):
        return True
    return stretch.grade is None or stretch.grade.standing < Grade(rules.grade_min).standing


def _share(placed: Sequence[FileRange], rules: GateRules) -> Iterator[Reason]:
    """A mixed line counts whole: by its share, an edit that was lost would make agents' part of the change smaller."""
    agents = [file_range for file_range in placed if file_range[1].whose.is_agent]
    if agents and (share := _lines(agents) / _lines(placed)) > rules.agent_share_max:
        yield rules.reason(
            ReasonCode.ATTR_SHARE,
            f"agents wrote {share:.1%} of the added lines, more than {rules.agent_share_max:.1%}:"
            f" {_counted(agents, placed)}",
            spots=_spots(agents),
        )


def _spots(placed: Sequence[FileRange]) -> Iterator[ChangeSpot]:
    return (ChangeSpot(path, stretch.lines) for path, stretch in placed)


def _lines(placed: Sequence[FileRange]) -> int:
    return sum(len(stretch.lines) for _, stretch in placed)


def _counted(some: Sequence[FileRange], every: Sequence[FileRange]) -> str:
    path, stretch = some[0]
    return f"{_lines(some)} of {_lines(every)} added line(s), the first at '{path}:{stretch.lines.first}'"
