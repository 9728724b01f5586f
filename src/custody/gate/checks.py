"""The checks of the gate, one function each, and the verdict from their reasons. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from custody.attribution import Grade, LineOwner
from custody.cite import CitationCode as CiteCode
from custody.cite import Finding
from custody.core.assurance import Assurance, find_lowest_assurance
from custody.core.errors import InputError
from custody.core.evidence import ChangePeriod
from custody.core.paths import Lines
from custody.core.plural import count_noun, noun_for_count
from custody.core.record import RecordingGap
from custody.gate.model import (
    READ_IT,
    AddedRange,
    ChangeSpot,
    ChangeStatement,
    GateEvidence,
    GateVerdict,
    MissingEvidence,
    Reason,
    ReasonCode,
    RecordState,
    TrustAnswer,
    VerdictLevel,
    join_reason_parts,
)
from custody.gate.rules import GateRules
from custody.runs import StatementState, TestState

# Attribution: is it known, with enough evidence, who wrote the added lines?


HOUR_NS = 3_600 * 1_000_000_000
SHOWN_MAX = 3
"""Items named in a sentence; the others are counted."""

RECORD_IT = "run 'custody init' to record agents, or 'custody import' to add their transcripts"

FileRange = tuple[str, AddedRange]
"""A range of added lines with the path of its file."""


def check_attribution(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Yield the reasons about who wrote the added lines, or about other parts without a voucher."""
    yield from _find_missing_voucher_reasons(evidence, rules)
    if not evidence.files:
        return
    yield from _find_missing_evidence_reasons(evidence, rules)
    # Without any records, lines without evidence are not a finding: nothing could be checked.
    if isinstance(evidence.recorded, RecordState):
        file_ranges = evidence.ranges
        yield from _find_unknown_author_reasons(file_ranges, rules)
        yield from _find_self_reported_reasons(file_ranges, rules)
        yield from _find_weak_evidence_reasons(file_ranges, rules)
        yield from _find_agent_share_reasons(file_ranges, rules)


def _find_missing_voucher_reasons(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Yield a reason for files with removed or moved lines, new names or modes that no recorded edit explains."""
    doubted = {path for path, added_range in evidence.ranges if not rules.counts(added_range.rated)}
    missing = [voucher.path for voucher in evidence.vouchers if not rules.counts(voucher.assurance)]
    # Another reason, at least as strict, is about files with lines of doubted authors.
    if paths := [path for path in missing if path not in doubted]:
        named = join_reason_parts([f"'{path}'" for path in paths], SHOWN_MAX)
        yield rules.reason(
            ReasonCode.ATTR_NONE,
            f"no recorded edit made these files what they are ({_name_assurance_rule(rules)}): {named}",
            READ_IT,
            [ChangeSpot(path) for path in paths],
        )


def _find_missing_evidence_reasons(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    if evidence.recorded is None:
        yield rules.reason(ReasonCode.ATTR_UNSEEN, "no agent activity has been recorded in this repository", RECORD_IT)
    elif isinstance(evidence.recorded, MissingEvidence):
        yield rules.reason(ReasonCode.ATTR_UNSEEN, evidence.recorded.why, evidence.recorded.remedy)
    else:
        yield from _find_gap_reasons(
            [gap for gap in evidence.recorded.gaps if _overlaps_change_period(gap, evidence.period, rules)], rules
        )
    yield from _find_unread_file_reasons(evidence, rules)


def _overlaps_change_period(gap: RecordingGap, period: ChangePeriod | None, rules: GateRules) -> bool:
    """Return whether a gap may fall into the time of the change; true when either time is unknown."""
    if gap.at_ns is None or period is None:
        return True
    first_ns = min(period.base_ns, period.first_ns - int(rules.gap_hours_before * HOUR_NS))
    return first_ns <= gap.at_ns <= period.last_ns + int(rules.gap_hours_after * HOUR_NS)


def _find_gap_reasons(gaps: Sequence[RecordingGap], rules: GateRules) -> Iterator[Reason]:
    if gaps:
        last = max(gaps, key=lambda gap: (gap.at_ns or 0, gap.what))
        yield rules.reason(
            ReasonCode.ATTR_UNSEEN,
            f"recording failed {count_noun(len(gaps), 'time')} while the change was made; last: {last.what}",
            "have a person read the change; 'custody doctor' names the log of failures, delete the entries you checked",
        )


def _find_unread_file_reasons(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    unread = [(file.path, file.authorship) for file in evidence.files if isinstance(file.authorship, MissingEvidence)]
    if unread:
        named = join_reason_parts([f"'{path}' {missing.why}" for path, missing in unread], SHOWN_MAX)
        remedies = dict.fromkeys(missing.remedy for _, missing in unread)
        yield rules.reason(
            ReasonCode.ATTR_UNSEEN,
            f"cannot check who wrote the additions to {count_noun(len(unread), 'file')}: {named}",
            "; ".join(list(remedies)[:SHOWN_MAX]),
            [ChangeSpot(path) for path, _ in unread],
        )


def _find_unknown_author_reasons(file_ranges: Sequence[FileRange], rules: GateRules) -> Iterator[Reason]:
    unknown = [file_range for file_range in file_ranges if file_range[1].whose is LineOwner.NONE]
    if unknown:
        yield rules.reason(
            ReasonCode.ATTR_NONE,
            f"nothing shows who wrote {_describe_line_share(unknown, file_ranges)}{_describe_first_place(unknown)}",
            spots=_reason_spots_from_ranges(unknown),
        )


def _find_self_reported_reasons(file_ranges: Sequence[FileRange], rules: GateRules) -> Iterator[Reason]:
    """Yield a reason for a person's lines that count as unknown, since no other party vouches for the person."""
    some = [file_range for file_range in file_ranges if _is_unvouched_person(file_range[1], rules)]
    if some:
        share = _describe_line_share(some, file_ranges)
        verb = noun_for_count(_count_lines(some), "is", "are")
        reason = rules.reason(
            ReasonCode.ATTR_SELF,
            f"{share} {verb} a person's only by {_describe_lowest_assurance(some)} evidence"
            f" ({_name_assurance_rule(rules)}){_describe_first_place(some)}",
            spots=_reason_spots_from_ranges(some),
        )
        yield replace(reason, level=rules.stricter(ReasonCode.ATTR_SELF, ReasonCode.ATTR_NONE))


def _is_unvouched_person(added_range: AddedRange, rules: GateRules) -> bool:
    return added_range.whose is LineOwner.PERSON and not rules.counts(added_range.rated)


def _describe_lowest_assurance(file_ranges: Sequence[FileRange]) -> str:
    lowest = find_lowest_assurance(added_range.rated for _, added_range in file_ranges)
    return (lowest or Assurance.SELF_REPORTED).value


def _name_assurance_rule(rules: GateRules) -> str:
    return f"gate.assurance_min = {rules.assurance_min}"


def _find_weak_evidence_reasons(file_ranges: Sequence[FileRange], rules: GateRules) -> Iterator[Reason]:
    weak = [
        file_range
        for file_range in file_ranges
        if file_range[1].whose is not LineOwner.NONE
        and not _is_unvouched_person(file_range[1], rules)
        and _has_weak_evidence(file_range[1], rules)
    ]
    claimed = [file_range for file_range in weak if file_range[1].grade is None or file_range[1].grade is Grade.CLAIMED]
    strict = rules.stricter(ReasonCode.ATTR_WEAK, ReasonCode.ATTR_NONE)
    # Anybody can write a claim, so a claimed line must not be milder than a line without any evidence.
    by_level = [
        (claimed, strict),
        ([file_range for file_range in weak if file_range not in claimed], rules.level(ReasonCode.ATTR_WEAK)),
    ]
    for some, level in by_level if strict is not rules.level(ReasonCode.ATTR_WEAK) else [(weak, strict)]:
        if some:
            verb = noun_for_count(_count_lines(some), "has", "have")
            share = _describe_line_share(some, file_ranges)
            reason = rules.reason(
                ReasonCode.ATTR_WEAK,
                f"{share} {verb} weak evidence ({_describe_weakness(some, rules)}){_describe_first_place(some)}",
                spots=_reason_spots_from_ranges(some),
            )
            yield replace(reason, level=level)


def _describe_weakness(weak: Sequence[FileRange], rules: GateRules) -> str:
    if all(added_range.grade is Grade.CLAIMED for _, added_range in weak):
        return "imported, not recorded live"
    return f"required: tier {rules.tier_max} or better, grade '{rules.grade_min}' or better"


def _has_weak_evidence(added_range: AddedRange, rules: GateRules) -> bool:
    """Return whether evidence misses the required tier or grade; a person's lines have a grade only."""
    if added_range.whose.is_agent and (added_range.tier is None or added_range.tier > rules.tier_max):
        return True
    return added_range.grade is None or added_range.grade.standing < Grade(rules.grade_min).standing


def _find_agent_share_reasons(file_ranges: Sequence[FileRange], rules: GateRules) -> Iterator[Reason]:
    """Yield a reason if agents wrote too much; mixed lines count whole, so that a lost edit never lowers the share."""
    agents = [file_range for file_range in file_ranges if file_range[1].whose.is_agent]
    if agents and (share := _count_lines(agents) / _count_lines(file_ranges)) > rules.agent_share_max:
        yield rules.reason(
            ReasonCode.ATTR_SHARE,
            f"agents wrote {share:.1%} of the added lines, more than {rules.agent_share_max:.1%}:"
            f" {_describe_line_share(agents, file_ranges)}{_describe_first_place(agents)}",
            spots=_reason_spots_from_ranges(agents),
        )


def _reason_spots_from_ranges(file_ranges: Sequence[FileRange]) -> Iterator[ChangeSpot]:
    return (ChangeSpot(path, added_range.lines) for path, added_range in file_ranges)


def _count_lines(file_ranges: Sequence[FileRange]) -> int:
    return sum(len(added_range.lines) for _, added_range in file_ranges)


def _describe_line_share(some: Sequence[FileRange], every: Sequence[FileRange]) -> str:
    return f"{_count_lines(some):,} of {count_noun(_count_lines(every), 'added line')}"


def _describe_first_place(file_ranges: Sequence[FileRange]) -> str:
    path, added_range = file_ranges[0]
    return f", first at '{path}:{added_range.lines.first}'"


# Calls: did an agent do something unusual before it changed a risky file?


def check_calls(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Yield one reason for each risky file that was changed after unusual calls; none if the check is off."""
    if evidence.calls is None:
        return
    if isinstance(evidence.calls, MissingEvidence):
        yield rules.reason(ReasonCode.GRAPH_UNSEEN, evidence.calls.why, evidence.calls.remedy)
        return
    for before in evidence.calls:
        if before.chance < rules.call_chance_min:
            named = ", ".join(before.calls)
            sentence = f"before '{before.path}' was changed, session {before.session} called {named}"
            rarity = f"such calls have a probability of {before.chance:.2%}"
            yield rules.reason(ReasonCode.GRAPH_UNUSUAL, f"{sentence}; {rarity}", spots=[ChangeSpot(before.path)])


# Tests: was code that agents wrote tested after its last edit?


TEST_CODES: Mapping[TestState, ReasonCode] = MappingProxyType(
    {
        TestState.NONE: ReasonCode.TEST_NONE,
        TestState.UNKNOWN: ReasonCode.TEST_NONE,
        TestState.STALE: ReasonCode.TEST_STALE,
        TestState.FAILED: ReasonCode.TEST_FAILED,
    }
)
TEST_SENTENCES: Mapping[TestState, str] = MappingProxyType(
    {
        TestState.NONE: "no test run is recorded for {}",
        TestState.UNKNOWN: "nothing shows that tests passed after the last edit of {}",
        TestState.STALE: "the last passing test run came before the last edit of {}",
        TestState.FAILED: "the last test run failed for {}",
    }
)
TEST_FILES_SHOWN_MAX = 5


def check_tests(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Yield one reason for each state of files that were not tested after their last edit; none if the check is off."""
    if rules.tests == "off":
        return
    for state, code in TEST_CODES.items():
        files = [file for file in evidence.tests if file.evidence.state is state]
        if not files:
            continue
        named = join_reason_parts([f"'{file.path}'" for file in files], TEST_FILES_SHOWN_MAX)
        spots = [ChangeSpot(file.path, lines) for file in files for lines in file.lines]
        reason = rules.reason(code, TEST_SENTENCES[state].format(named), spots=spots)
        # Anybody can record a failing run: that must not replace a stricter reason.
        yield replace(reason, level=rules.stricter(code, ReasonCode.TEST_NONE)) if state is TestState.FAILED else reason


# Statements: do records back what the texts of the change say?


STATEMENTS_SHOWN_MAX = 20
"""Reasons with one code; more statements are counted."""
STATEMENT_CODES: Mapping[StatementState, ReasonCode] = MappingProxyType(
    {
        StatementState.CONTRADICTED: ReasonCode.STATEMENT_CONTRADICTED,
        StatementState.UNBACKED: ReasonCode.STATEMENT_UNBACKED,
    }
)


def check_statements(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Yield one reason for each statement that records contradict or do not back; none if the check is off."""
    if rules.statements == "off":
        return
    for state, code in STATEMENT_CODES.items():
        found = [each for each in evidence.statements if each.compared.state is state]
        for each in found[:STATEMENTS_SHOWN_MAX]:
            spots = [ChangeSpot(path) for path in each.compared.paths]
            yield _make_statement_reason(rules, code, describe_statement(each), spots)
        if len(found) > STATEMENTS_SHOWN_MAX:
            rest = count_noun(len(found) - STATEMENTS_SHOWN_MAX, "more statement")
            yield _make_statement_reason(rules, code, f"{rest} with this code", [])


def _make_statement_reason(rules: GateRules, code: ReasonCode, sentence: str, spots: Sequence[ChangeSpot]) -> Reason:
    reason = rules.reason(code, sentence, spots=spots)
    # Anybody can record a failing run: that must not replace a stricter reason.
    return replace(reason, level=rules.stricter(code, ReasonCode.STATEMENT_UNBACKED))


def describe_statement(found: ChangeStatement) -> str:
    """Return a statement as written with its place, and what records say."""
    statement = found.compared.statement
    return f"{found.source}, line {statement.line}, says “{statement.text}”, but {found.record}"


# Citations: do the texts of the change cite sources that hold?


_CODES = {
    **dict.fromkeys((CiteCode.NONE, CiteCode.COVERAGE), ReasonCode.CITE_UNCITED),
    **dict.fromkeys((CiteCode.UNREAD, CiteCode.LATE, CiteCode.SUMMARY, CiteCode.SUPPORT), ReasonCode.CITE_UNREAD),
    **dict.fromkeys(
        (CiteCode.NOFILE, CiteCode.NOSYMBOL, CiteCode.NOISSUE, CiteCode.NOPACKAGE), ReasonCode.CITE_MISSING
    ),
}
"""The reason for each finding of the audit; any other finding is a broken citation."""


def check_citations(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Yield at most one reason of each code for a text, with its first places."""
    for text in evidence.texts:
        if isinstance(text.findings, MissingEvidence):
            spots = [ChangeSpot(text.name)] if text.is_file else []
            yield rules.reason(ReasonCode.CITE_UNSEEN, f"{text.name} {text.findings.why}", text.findings.remedy, spots)
            continue
        by_code = defaultdict[ReasonCode, list[Finding]](list)
        for finding in text.findings:
            by_code[_CODES.get(finding.code, ReasonCode.CITE_BROKEN)].append(finding)
        for code, findings in by_code.items():
            spots = (
                [ChangeSpot(text.name, Lines(finding.line, finding.line)) for finding in findings]
                if text.is_file
                else []
            )
            yield rules.reason(code, f"{text.name}: {_describe_citation_reason(findings)}", spots=spots)


def _describe_citation_reason(findings: Sequence[Finding]) -> str:
    return join_reason_parts(
        [f"line {finding.line}: {finding.message} ({finding.code.value})" for finding in findings], SHOWN_MAX
    )


# Duplicates: does the same change exist already?


def check_duplicates(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Yield one reason for each change that this one duplicates or competes with; none if the check is off."""
    if evidence.duplicates is None:
        return
    if isinstance(evidence.duplicates, MissingEvidence):
        yield rules.reason(ReasonCode.DUPE_UNSEEN, evidence.duplicates.why, evidence.duplicates.remedy)
        return
    for duplicate in evidence.duplicates:
        yield rules.reason(duplicate.code, f"{duplicate.name}: {duplicate.why}", spots=duplicate.spots)


# Reads: did a person who did not write the change read all of it?


def check_reads(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Yield one reason for the hunks that no second person has read; none if the check is off."""
    reads = evidence.reads
    if reads is None:
        return
    if isinstance(reads, MissingEvidence):
        yield rules.reason(ReasonCode.REVIEW_UNREAD, reads.why, reads.remedy)
    elif reads.unread:
        named = join_reason_parts(
            [f"'{path}'" for path in dict.fromkeys(spot.path for spot in reads.unread)], SHOWN_MAX
        )
        yield rules.reason(
            ReasonCode.REVIEW_UNREAD,
            f"no second person has read {len(reads.unread):,} of {count_noun(reads.hunks, 'hunk')}"
            f" ({_name_assurance_rule(rules)}): {named}",
            spots=reads.unread,
        )


# Integrity: are the records that the answers rest on unchanged?


def check_integrity(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Yield a reason if the store is damaged or unreadable; none where nothing has been recorded."""
    if evidence.recorded is None:
        return
    if isinstance(evidence.recorded, MissingEvidence):
        yield rules.reason(ReasonCode.INTEG_UNSEEN, evidence.recorded.why, evidence.recorded.remedy)
        return
    damage = evidence.recorded.damage
    if damage:
        named = join_reason_parts(damage, SHOWN_MAX)
        yield rules.reason(ReasonCode.INTEG_DAMAGE, f"the store was changed after recording: {named}")


# Policy: does the change edit the rules that judge it?


POLICY_PATHS_SHOWN_MAX = 5


def check_policy(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Yield one reason with the first changed rules, and one with the first edited files; no level approves them."""
    level = max(rules.level(ReasonCode.POLICY_CHANGED), VerdictLevel.REVIEW, key=lambda each: each.strictness)
    for what, changed in (("rules", evidence.policy), ("files that decide what may merge", evidence.guarded)):
        if changed:
            named = join_reason_parts(changed, POLICY_PATHS_SHOWN_MAX)
            yield replace(rules.reason(ReasonCode.POLICY_CHANGED, f"the change edits {what}: {named}"), level=level)


# Trust: do the records of the agents that wrote the added lines allow a merge without review?
# Lines of unknown authors belong to the attribution check; its reasons are never milder than these.


def check_trust(evidence: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Yield the reasons from the agents' records, or from the rejection of a change that agents wrote no lines of."""
    if evidence.rejected_by is not None:
        sentence = f"this change was already rejected or reverted by {evidence.rejected_by}"
        yield rules.reason(ReasonCode.TRUST_REJECTED, sentence)
    file_ranges = [(path, added_range) for path, added_range in evidence.ranges if added_range.whose.is_agent]
    if not file_ranges:
        return
    yield from _find_unvouched_agent_reasons(file_ranges, rules)
    if isinstance(evidence.trust, MissingEvidence):
        yield rules.reason(ReasonCode.TRUST_UNKNOWN, evidence.trust.why, evidence.trust.remedy)
        return
    yield from _find_unanswered_trust_reasons(file_ranges, evidence.trust, rules)
    authors = {added_range.author for _, added_range in file_ranges}
    for answer in (trust_answer for trust_answer in evidence.trust if trust_answer.author in authors):
        for against in answer.approval.against:
            yield rules.reason(ReasonCode(against.code.value), f"{answer.author.agent}: {against.sentence}")
        if answer.approval and not rules.counts(answer.assurance):
            sentence = f"its reviews are only {answer.assurance.value} ({_name_assurance_rule(rules)})"
            yield rules.reason(ReasonCode.TRUST_SAMPLES, f"{answer.author.agent}: {sentence}")


def _find_unanswered_trust_reasons(
    file_ranges: Sequence[tuple[str, AddedRange]], answers: Sequence[TrustAnswer], rules: GateRules
) -> Iterator[Reason]:
    """Yield a reason for lines of agents that have no name or no approval decision."""
    known = {answer.author for answer in answers}
    unanswered = [
        (path, added_range)
        for path, added_range in file_ranges
        if added_range.author is None or added_range.author not in known
    ]
    if unanswered:
        lines = count_noun(_count_lines(unanswered), "added line")
        yield rules.reason(
            ReasonCode.TRUST_UNKNOWN, f"cannot tell which agent wrote {lines}{_describe_first_place(unanswered)}"
        )


def _find_unvouched_agent_reasons(file_ranges: Sequence[FileRange], rules: GateRules) -> Iterator[Reason]:
    """Yield a reason for lines of agents whose name counts as unknown; their reasons count all the same."""
    some = [file_range for file_range in file_ranges if not rules.counts(file_range[1].rated)]
    if some:
        reason = rules.reason(
            ReasonCode.TRUST_UNKNOWN,
            f"only {_describe_lowest_assurance(some)} evidence says which agent wrote"
            f" {count_noun(_count_lines(some), 'added line')} ({_name_assurance_rule(rules)})"
            f"{_describe_first_place(some)}",
            f"{READ_IT}; 'custody store' shows how to enroll the store that recorded them",
        )
        # Without the evidence, the author of these lines would be unknown.
        yield replace(reason, level=rules.stricter(ReasonCode.TRUST_UNKNOWN, ReasonCode.ATTR_NONE))


# From the evidence to the verdict.


GateCheck = Callable[[GateEvidence, GateRules], Iterable[Reason]]
"""Yields the reasons against a change; none means pass."""

_ORDER = tuple(ReasonCode)


def judge(evidence: GateEvidence, checks: Sequence[GateCheck], rules: GateRules) -> GateVerdict:
    """Return the verdict of all ``checks``: as strict as the strictest reason, whatever their order."""
    if not checks:
        raise InputError("cannot judge a change without checks", hint="name at least one check")
    reasons = sorted((reason for check in checks for reason in check(evidence, rules)), key=_reason_sort_key)
    return GateVerdict(reasons[0].level if reasons else VerdictLevel.APPROVE, tuple(reasons))


def _reason_sort_key(reason: Reason) -> tuple[int, int, str]:
    """Sort by strictness, then by the table's order, then by text."""
    return -reason.level.strictness, _ORDER.index(reason.code), reason.sentence
