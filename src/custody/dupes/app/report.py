"""What a search found, in the shape that is shown and stored."""

from custody.core.wire.time import text_from
from custody.dupes.app.change_reader import ReadChange
from custody.dupes.app.search import DuplicateCheck, DuplicateMatch
from custody.dupes.evidence import Overlap, SharedNames
from custody.dupes.model import ChangeSummary
from custody.dupes.signature import SIGNATURE_VERSION
from custody.dupes.wire import (
    AccountLine,
    ChangeRefReport,
    DupesEvidence,
    OverlapReport,
    RelationReport,
    SharedLinesReport,
    SharedNamesReport,
    TermCount,
)

NAME_CHARS_MAX = 400


def report_change(read: ReadChange) -> ChangeRefReport:
    """A change that was read."""
    change = read.described
    return ChangeRefReport(
        base=change.base,
        head=change.head,
        name=read.asked.name,
        title=escape_name(change.title),
        opened=text_from(change.opened_ns),
        on_main=read.asked.on_main,
    )


def report_indexed_change(row: ChangeSummary) -> ChangeRefReport:
    """A change of the index."""
    return ChangeRefReport(
        base=row.base,
        head=row.head,
        name=row.name,
        title=escape_name(row.title),
        opened=text_from(row.opened_ns),
        on_main=row.on_main,
    )


def report_evidence(checked: DuplicateCheck, match: DuplicateMatch) -> DupesEvidence:
    """Everything that a suggestion rests on; without ``overlap`` the sketch had to do, and it says why."""
    like, scored, overlap = match.like, match.like.scored, match.overlap
    return DupesEvidence(
        this=report_change(checked.read),
        other=report_indexed_change(like.change),
        says=match.says.value,
        category=scored.category.value,
        rule=scored.rule,
        prod_score=scored.prod_score,
        final_score=scored.final_score,
        signals=dict(scored.similarities),
        exact=sorted(str(kind) for kind in like.exact),
        chance=like.chance.probability,
        low=like.chance.low,
        account=[AccountLine(line.name, line.weight, line.value) for line in like.chance.account],
        relations=[RelationReport(relation.value, why) for relation, why in match.related],
        overlap=None if isinstance(overlap, str) else report_overlap(overlap),
        overlap_missing=overlap if isinstance(overlap, str) else None,
        as_of=checked.found.until,
        terms=[TermCount(term, changes) for term, changes in sorted(checked.found.search.counts.items())],
        shared_weight=like.shared,
        signature_version=SIGNATURE_VERSION,
        model_version=checked.model_version,
        rules_digest=checked.rules_digest,
    )


def report_overlap(overlap: Overlap) -> OverlapReport:
    """What two changes have in common."""
    return OverlapReport(
        files=_names(overlap.files),
        folders=_names(overlap.folders),
        symbols=_names(overlap.symbols),
        exports=_names(overlap.exports),
        tests=_names(overlap.tests),
        headings=_names(overlap.headings),
        blocks=_names(overlap.blocks),
        references=_names(overlap.references),
        places=[
            SharedLinesReport(
                place.sign,
                escape_name(place.path),
                place.line,
                escape_name(place.other_path),
                place.other_line,
                place.lines,
            )
            for place in overlap.places
        ],
        lines=overlap.lines,
        shingles=overlap.shingles,
        contained=overlap.contained,
        contains=overlap.contains,
    )


def escape_name(text: str) -> str:
    """A name as JSON can hold it: bytes that are no UTF-8 are shown by their numbers, and it is not endless."""
    return text.encode("utf-8", "backslashreplace").decode()[:NAME_CHARS_MAX]


def _names(names: SharedNames) -> SharedNamesReport:
    return SharedNamesReport([escape_name(name) for name in names.some], names.count)
