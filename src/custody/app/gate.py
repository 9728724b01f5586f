"""The verdict on a change: what was seen of it, what the checks say, and the report."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from custody.app.attributing import attributing
from custody.app.blame import Reporting
from custody.app.change import Addition, Change, change_of
from custody.app.desk import Desk
from custody.app.gaps import gaps
from custody.app.rules import loaded
from custody.app.verify import verify
from custody.attribute.model import Grade
from custody.gate.checks.attribution import attribution
from custody.gate.codes import Level
from custody.gate.engine import Check, judge
from custody.gate.model import AddedTo, Recorded, Seen, Stretch, Unseen, Verdict, Whose
from custody.gate.rules import GateRules
from custody.model.errors import InputError, StoreError
from custody.model.lines import Lines
from custody.wire.blame import Attribution
from custody.wire.bodies import digest_text
from custody.wire.gate import AddedLines, GateReport, ReasonGiven, UnreadFile
from custody.wire.rules import rules_digest

CHECKS: Mapping[str, Check] = MappingProxyType({"attribution": attribution})
"""Every check by its name."""

TABLES = ("attribute", "gate")
"""The rules on which a verdict rests."""

READ_IT = "have a person read it"
ASK_DOCTOR = "run 'custody doctor'"
NOTHING_RECORDED = Unseen(
    "nothing was ever recorded here",
    "run 'custody init' so that agents' work is recorded, or 'custody import' what was recorded elsewhere",
)


def gate(desk: Desk, change: str) -> GateReport:
    """Judge what ``BASE..HEAD`` brings by the rules in force."""
    effective, _ = loaded(desk)
    brought = change_of(desk.repository, change)
    seen = _seen(desk, brought)
    verdict = judge(seen, tuple(CHECKS.values()), effective.of(GateRules))
    digest = rules_digest({table: effective.tables[table] for table in TABLES})
    return _report(brought, seen, verdict, digest_text(digest))


def _seen(desk: Desk, change: Change) -> Seen:
    """Everything that checks look at; of a change that adds nothing, nothing needs to be known."""
    if not change.additions:
        return Seen((), change.period, Recorded())
    recorded = _recorded(desk)  # first: the answers below may make a store where there was none
    return Seen(_files(desk, change), change.period, recorded)


def _recorded(desk: Desk) -> Recorded | Unseen:
    """How the store is; that it cannot be read is no reason to stop, but one to be strict."""
    try:
        if not desk.exists():
            return NOTHING_RECORDED
        checked = verify(desk)
        if not (checked.records or checked.pending or checked.findings):
            return NOTHING_RECORDED
        return Recorded(tuple(gaps(desk)), tuple(finding.what for finding in checked.findings))
    except StoreError as error:
        return Unseen(f"the store cannot be read: {error.message}", error.hint or ASK_DOCTOR)


def _files(desk: Desk, change: Change) -> tuple[AddedTo, ...]:
    """What is known of the lines of each file that the change adds to."""
    try:
        with attributing(desk) as evidence:
            reporting = Reporting(evidence)
            found = tuple(_added(reporting, change, addition) for addition in change.additions)
            evidence.save()
    except StoreError as error:
        unknown = Unseen(f"has no answer: {error.message}", error.hint or ASK_DOCTOR)
        return tuple(AddedTo(addition.path.display, unknown) for addition in change.additions)
    return found


def _added(reporting: Reporting, change: Change, addition: Addition) -> AddedTo:
    """What is known of the lines that one file gets."""
    path = addition.path.display
    if addition.unread is not None:
        return AddedTo(path, Unseen(addition.unread, READ_IT))
    try:
        told = reporting.blamed(addition.path, change.head, addition.lines).report.attributions
    except InputError as error:
        # The change names it, not the caller: a submodule, a damaged object, a file that is too large to be read.
        return AddedTo(path, Unseen(f"cannot be read: {error.message}", READ_IT))
    if sum(one.end_line - one.start_line + 1 for one in told) != sum(map(len, addition.lines)):
        return AddedTo(path, Unseen("has lines about which there is no answer", READ_IT))
    return AddedTo(path, tuple(_stretch(one) for one in told))


def _stretch(one: Attribution) -> Stretch:
    grade = None if one.grade is None else Grade(one.grade)
    return Stretch(Lines(one.start_line, one.end_line), Whose(one.kind), one.tier, grade)


def _report(change: Change, seen: Seen, verdict: Verdict, digest: str) -> GateReport:
    lines = Counter[Whose]()
    for file in seen.files:
        for stretch in () if isinstance(file.found, Unseen) else file.found:
            lines[stretch.whose] += len(stretch.lines)
    return GateReport(
        outcome="found" if verdict.level is Level.BLOCK else "fine",
        base=change.base,
        head=change.head,
        fork=change.fork,
        level=verdict.level.value,
        reasons=[ReasonGiven(one.code.value, one.level.value, one.sentence, one.remedy) for one in verdict.reasons],
        added=AddedLines(**{whose.value: lines[whose] for whose in Whose}),
        unread=[UnreadFile(file.path, file.found.why) for file in seen.files if isinstance(file.found, Unseen)],
        checks=list(CHECKS),
        rules_digest=digest,
    )
