"""The checks of the gate, one function each, and the verdict that follows from their reasons. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from custody.attribution import Grade, LineOwner
from custody.cite import CitationCode as CiteCode
from custody.cite import Finding
from custody.core.errors import InputError
from custody.core.evidence import ChangePeriod
from custody.core.paths import Lines
from custody.core.record import RecordingGap
from custody.dupes import Category, DuplicateVerdict
from custody.gate.model import (
    AddedRange,
    ChangeSpot,
    GateEvidence,
    GateVerdict,
    MissingEvidence,
    Reason,
    ReasonCode,
    RecordState,
    SimilarChange,
    TrustAnswer,
    VerdictLevel,
    join_first,
)
from custody.gate.rules import GateRules

# The check of attribution: can it be shown, and well enough, who wrote the added lines?


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


# The check of calls: did an agent do something unusual before it changed a risky file?


def calls(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """One reason for each risky file before whose change unusual calls were made; nothing where nobody was to look."""
    if seen.befores is None:
        return
    if isinstance(seen.befores, MissingEvidence):
        yield rules.reason(ReasonCode.GRAPH_UNSEEN, seen.befores.why, seen.befores.remedy)
        return
    for before in seen.befores:
        if before.chance < rules.call_chance_min:
            named = ", ".join(before.calls)
            sentence = f"before '{before.path}' was changed, session {before.session} called {named}"
            chance = f"calls like these have a chance of {before.chance:.2%}"
            yield rules.reason(ReasonCode.GRAPH_UNUSUAL, f"{sentence}; {chance}", spots=[ChangeSpot(before.path)])


# The check of citations: does what the change says rest on something?


"""A reason names so many places; the audit names them all."""

_CODES = {
    **dict.fromkeys((CiteCode.NONE, CiteCode.COVERAGE), ReasonCode.CITE_UNCITED),
    **dict.fromkeys((CiteCode.UNREAD, CiteCode.LATE, CiteCode.SUMMARY, CiteCode.SUPPORT), ReasonCode.CITE_UNREAD),
    **dict.fromkeys(
        (CiteCode.NOFILE, CiteCode.NOSYMBOL, CiteCode.NOISSUE, CiteCode.NOPACKAGE), ReasonCode.CITE_MISSING
    ),
}
"""What the gate says about a finding; any other is a citation that does not hold."""


def citations(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """At most one reason of each code for a text, with the first places."""
    for text in seen.texts:
        if isinstance(text.lacks, MissingEvidence):
            spots = [ChangeSpot(text.name)] if text.is_file else []
            yield rules.reason(ReasonCode.CITE_UNSEEN, f"{text.name} {text.lacks.why}", text.lacks.remedy, spots)
            continue
        by_code = defaultdict[ReasonCode, list[Finding]](list)
        for lack in text.lacks:
            by_code[_CODES.get(lack.code, ReasonCode.CITE_BROKEN)].append(lack)
        for code, lacks in by_code.items():
            spots = [ChangeSpot(text.name, Lines(lack.line, lack.line)) for lack in lacks] if text.is_file else []
            yield rules.reason(code, f"{text.name}: {_describe_lacks(lacks)}", spots=spots)


def _describe_lacks(lacks: Sequence[Finding]) -> str:
    return join_first([f"line {lack.line}: {lack.message} ({lack.code.value})" for lack in lacks], SHOWN_MAX)


# The check of duplicates: is the change already there?


def duplicates(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """One reason for each change that should not land beside this one; nothing where nobody was to look."""
    if seen.twins is None:
        return
    if isinstance(seen.twins, MissingEvidence):
        yield rules.reason(ReasonCode.DUPE_UNSEEN, seen.twins.why, seen.twins.remedy)
        return
    for twin in seen.twins:
        yield rules.reason(_code(twin), f"{twin.name}: {twin.why}")


def _code(twin: SimilarChange) -> ReasonCode:
    if twin.says is DuplicateVerdict.COMPETING:
        return ReasonCode.DUPE_COMPETING
    return ReasonCode.DUPE_SAME if twin.category is Category.SAME_CHANGE else ReasonCode.DUPE_LIKELY


# The check of integrity: is what the answers rest on as it was written?


def integrity(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Nothing where nothing was ever recorded: then there is nothing that could be damaged."""
    if seen.recorded is None:
        return
    if isinstance(seen.recorded, MissingEvidence):
        yield rules.reason(ReasonCode.INTEG_UNSEEN, seen.recorded.why, seen.recorded.remedy)
        return
    damage = seen.recorded.damage
    if damage:
        named = join_first(damage, SHOWN_MAX)
        yield rules.reason(ReasonCode.INTEG_DAMAGE, f"the store is not as it was written: {named}")


# The check of the policy: does the change edit the rules by which it is judged?


POLICY_PATHS_SHOWN_MAX = 5


def policy(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """One reason, with the first of the rules that would be others."""
    if seen.policy:
        yield rules.reason(
            ReasonCode.POLICY_CHANGED, f"the change sets rules: {join_first(seen.policy, POLICY_PATHS_SHOWN_MAX)}"
        )


# The check of trust: do the records of the agents that wrote the added lines let them land without a person looking?
# It says nothing of lines that no agent wrote. Lines of nobody known are the business of attribution, whose reasons
# are never milder than these.


def trust(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """What the agents' records have against the change; nothing where agents wrote none of it."""
    placed = [(path, stretch) for path, stretch in seen.ranges if stretch.whose.is_agent]
    if not placed:
        return
    if isinstance(seen.trust, MissingEvidence):
        yield rules.reason(ReasonCode.TRUST_UNKNOWN, seen.trust.why, seen.trust.remedy)
        return
    yield from _unanswered(placed, seen.trust, rules)
    authors = {stretch.author for _, stretch in placed}
    for answer in (trust_answer for trust_answer in seen.trust if trust_answer.author in authors):
        for against in answer.approval.against:
            yield rules.reason(ReasonCode(against.code.value), f"{answer.author.agent}: {against.sentence}")


def _unanswered(
    placed: Sequence[tuple[str, AddedRange]], answers: Sequence[TrustAnswer], rules: GateRules
) -> Iterator[Reason]:
    """Lines of an agent whose name is not known, or whose record nobody asked about."""
    known = {answer.author for answer in answers}
    open_ = [(path, stretch) for path, stretch in placed if stretch.author is None or stretch.author not in known]
    if open_:
        lines = sum(len(stretch.lines) for _, stretch in open_)
        path, first = open_[0]
        yield rules.reason(
            ReasonCode.TRUST_UNKNOWN,
            f"it is not known whose record speaks for {lines} added line(s), the first at '{path}:{first.lines.first}'",
        )


# From what was seen of a change to the verdict on it.


GateCheck = Callable[[GateEvidence, GateRules], Iterable[Reason]]
"""Says what it has to say about a change; nothing if all is well."""

_ORDER = tuple(ReasonCode)


def judge(seen: GateEvidence, checks: Sequence[GateCheck], rules: GateRules) -> GateVerdict:
    """The verdict of all ``checks`` together: as strict as the strictest reason, whatever their order."""
    if not checks:
        raise InputError("a change cannot be judged by no check at all", hint="name at least one check")
    reasons = sorted((reason for check in checks for reason in check(seen, rules)), key=_standing)
    return GateVerdict(reasons[0].level if reasons else VerdictLevel.APPROVE, tuple(reasons))


def _standing(reason: Reason) -> tuple[int, int, str]:
    """Reasons stand by strictness, then in the table's order, then by their words."""
    return -reason.level.strictness, _ORDER.index(reason.code), reason.sentence
