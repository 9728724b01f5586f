"""Reports of changes and evidence, as they are shown and stored."""

from custody.core.wire.time import format_timestamp
from custody.dupes.app.change_reader import ReadChange
from custody.dupes.app.search import DuplicateCheck, DuplicateMatch
from custody.dupes.decision import PersonAnswer
from custody.dupes.evidence import Overlap, SharedNames
from custody.dupes.model import ChangeSummary
from custody.dupes.signature import SIGNATURE_VERSION
from custody.dupes.wire import (
    AccountLine,
    AnswerReport,
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
    """Return the report of a change that was read from git."""
    change = read.description
    return ChangeRefReport(
        base=change.base,
        head=change.head,
        name=read.ref.name,
        title=escape_change_name(change.title),
        opened=format_timestamp(change.opened_ns),
        on_main=read.ref.on_main,
        author=escape_change_name(change.author),
    )


def report_indexed_change(row: ChangeSummary) -> ChangeRefReport:
    """Return the report of an indexed change."""
    return ChangeRefReport(
        base=row.base,
        head=row.head,
        name=row.name,
        title=escape_change_name(row.title),
        opened=format_timestamp(row.opened_ns),
        on_main=row.on_main,
        author=escape_change_name(row.author),
        state=row.state,
        merged=row.merged,
    )


def report_evidence(check: DuplicateCheck, match: DuplicateMatch) -> DupesEvidence:
    """Return the evidence of a match; ``overlap_missing`` says why there is no ``overlap``."""
    candidate, score, overlap, decision = match.candidate, match.candidate.score, match.overlap, match.decision
    return DupesEvidence(
        this=report_change(check.change),
        other=report_indexed_change(candidate.change),
        says=decision.verdict.value,
        duplicate=decision.is_duplicate,
        category=decision.category.value,
        rule=decision.rule,
        by_document=score.category.value,
        prod_score=score.prod_score,
        final_score=score.final_score,
        signals=dict(score.similarities),
        exact=sorted(str(kind) for kind in candidate.exact),
        chance=decision.probability,
        low=decision.low,
        model_chance=candidate.chance.probability,
        account=[AccountLine(line.name, line.weight, line.value) for line in candidate.chance.account],
        relations=[RelationReport(relation.value, why) for relation, why in decision.relations],
        answer=None if decision.answer is None else report_answer(decision.answer),
        overlap=None if isinstance(overlap, str) else report_overlap(overlap),
        overlap_missing=overlap if isinstance(overlap, str) else None,
        as_of=check.result.until,
        terms=[TermCount(term, changes) for term, changes in sorted(check.result.search.counts.items())],
        shared_weight=candidate.shared_weight,
        signature_version=SIGNATURE_VERSION,
        model_version=check.model_version,
        rules_digest=check.rules_digest,
    )


def report_answer(answer: PersonAnswer) -> AnswerReport:
    """Return the report of a person's answer."""
    return AnswerReport(
        answer=answer.answer,
        actor=escape_change_name(answer.actor),
        at=format_timestamp(answer.at_ns),
        disputed=answer.is_disputed,
    )


def report_overlap(overlap: Overlap) -> OverlapReport:
    """Return the report of what two changes share."""
    return OverlapReport(
        files=_report_shared_names(overlap.files),
        folders=_report_shared_names(overlap.folders),
        symbols=_report_shared_names(overlap.symbols),
        exports=_report_shared_names(overlap.exports),
        tests=_report_shared_names(overlap.tests),
        headings=_report_shared_names(overlap.headings),
        blocks=_report_shared_names(overlap.blocks),
        references=_report_shared_names(overlap.references),
        places=[
            SharedLinesReport(
                place.sign,
                escape_change_name(place.path),
                place.line,
                escape_change_name(place.other_path),
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


def escape_change_name(text: str) -> str:
    """Return a name that JSON can hold: invalid UTF-8 is escaped, and the length is limited."""
    return text.encode("utf-8", "backslashreplace").decode()[:NAME_CHARS_MAX]


def _report_shared_names(names: SharedNames) -> SharedNamesReport:
    return SharedNamesReport([escape_change_name(name) for name in names.some], names.count)
