"""The verdict on a change: what was seen of it, what the checks say, and the report."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from custody.app.attributing import attributing
from custody.app.blame import Reporting
from custody.app.change import Addition, Change, change_of
from custody.app.desk import Desk
from custody.app.gaps import gaps
from custody.app.rules import loaded
from custody.app.trust import Asked, settled
from custody.app.trust_approve import Said, agent_asked
from custody.app.trust_asking import Asking, by_agent, heads_digest
from custody.app.trust_authors import Operators, author_of
from custody.app.verify import verify
from custody.attribute.model import Grade
from custody.cite.rules import CiteRules
from custody.dedupe.rules import DedupeRules
from custody.gate.checks.attribution import attribution
from custody.gate.checks.citations import citations
from custody.gate.checks.duplicates import duplicates
from custody.gate.checks.trust import trust
from custody.gate.codes import Level
from custody.gate.engine import Check, judge
from custody.gate.model import AddedTo, Answered, Recorded, Seen, Stretch, Text, Twin, Unseen, Verdict, Whose
from custody.gate.rules import GateRules
from custody.model.errors import InputError, StoreError
from custody.model.ids import Digest
from custody.model.lines import Lines
from custody.trust.approval import Author, may_land
from custody.trust.rules import TrustRules
from custody.wire.blame import Attribution
from custody.wire.bodies import digest_text
from custody.wire.gate import AddedLines, GateReport, ReasonGiven, UnreadFile
from custody.wire.rules import rules_digest
from custody.wire.times import text_from
from custody.wire.trust import AgentAsked
from custody.world.config import Effective
from custody.world.store import Store

CHECKS: Mapping[str, Check] = MappingProxyType(
    {"attribution": attribution, "trust": trust, "duplicates": duplicates, "citations": citations}
)
"""Every check by its name."""

TABLES = ("attribute", "cite", "dedupe", "gate", "trust")
"""The rules on which a verdict rests."""

READ_IT = "have a person read it"
ASK_DOCTOR = "run 'custody doctor'"
NOTHING_RECORDED = Unseen(
    "nothing was ever recorded here",
    "run 'custody init' so that agents' work is recorded, or 'custody import' what was recorded elsewhere",
)


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found out about a change: what checks look at, the agents' cases for the report, and how far it goes."""

    seen: Seen
    agents: tuple[AgentAsked, ...] = ()
    chain_head: str | None = None


def gate(desk: Desk, change: str, description: bytes | None = None) -> GateReport:
    """Judge what ``BASE..HEAD`` brings by the rules in force; ``description`` is what its author says of it."""
    effective, _ = loaded(desk)
    brought = change_of(desk.repository, change)
    asked = Asked(effective.of(TrustRules), desk.now_ns())
    looked = _looked(desk, brought, asked)
    twins, texts = _twins(desk, brought, effective), _texts(desk, brought, description, effective)
    looked = replace(looked, seen=replace(looked.seen, twins=twins, texts=texts))
    verdict = judge(looked.seen, tuple(CHECKS.values()), effective.of(GateRules))
    digest = rules_digest({table: effective.tables[table] for table in TABLES})
    return _report(brought, looked, verdict, digest_text(digest), asked)


def _looked(desk: Desk, change: Change, asked: Asked) -> Looked:
    """Everything that checks look at; of a change that adds nothing, nothing needs to be known."""
    if not change.additions:
        return Looked(Seen((), change.period, Recorded()))
    recorded = _recorded(desk)  # first: the answers below may make a store where there was none
    try:
        with attributing(desk) as evidence:
            reporting, operators = Reporting(evidence), Operators(evidence)
            files = tuple(_added(reporting, operators, change, addition) for addition in change.additions)
            evidence.save()
            return _asked(evidence.store, change, asked, Seen(files, change.period, recorded))
    except StoreError as error:
        unknown = Unseen(f"has no answer: {error.message}", error.hint or ASK_DOCTOR)
        nothing = tuple(AddedTo(addition.path.display, unknown) for addition in change.additions)
        return Looked(Seen(nothing, change.period, recorded, unknown))


def _asked(store: Store, change: Change, asked: Asked, seen: Seen) -> Looked:
    """The same with what the records of the agents say that wrote it, folded anew from what was just checked."""
    stretches = [one for file in seen.files if not isinstance(file.found, Unseen) for one in file.found]
    lines = Counter[Author]()
    for stretch in stretches:
        if stretch.author is not None:
            lines[stretch.author] += len(stretch.lines)
    if not lines:
        return Looked(seen)
    asking = Asking(store, asked, change)
    with settled(store):
        known = [asking.known(author) for author in by_agent(lines)]
        cases = [asking.case(one) for one in known]
        chain_head = digest_text(Digest(heads_digest(store.tables.chains())))
    said = [Said(case, may_land(case, asked.rules), one.chance) for case, one in zip(cases, known, strict=True)]
    agents = tuple(agent_asked(one, lines[one.case.author], asked.rules) for one in said)
    answers = tuple(Answered(one.case.author, one.approval) for one in said)
    return Looked(replace(seen, trust=answers), agents, chain_head)


def _twins(desk: Desk, change: Change, effective: Effective) -> tuple[Twin, ...] | Unseen | None:
    """What the change is a duplicate of; None when nobody is to look."""
    rules = effective.of(GateRules)
    try:
        with desk.reading() as store:
            if rules.duplicates == "off" or (rules.duplicates == "when-indexed" and not store.dupes.newest()):
                return None
            from custody.app.dupes_twins import twins_of  # loads parsers, which most verdicts need not

            return twins_of(desk, store, change, effective.of(DedupeRules))
    except StoreError as error:
        return None if rules.duplicates == "off" else Unseen(error.message, error.hint or ASK_DOCTOR)


def _texts(desk: Desk, change: Change, description: bytes | None, effective: Effective) -> tuple[Text, ...]:
    """What the change says, where its citations lack something; nothing when nobody is to look."""
    rules = effective.of(GateRules)
    if rules.citations == "off":
        return ()
    from custody.app.gate_texts import texts_of  # loads parsers, which most verdicts need not

    return texts_of(desk, change, description, rules, effective.of(CiteRules))


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


def _added(reporting: Reporting, operators: Operators, change: Change, addition: Addition) -> AddedTo:
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
    return AddedTo(path, tuple(_stretch(one, operators) for one in told))


def _stretch(one: Attribution, operators: Operators) -> Stretch:
    grade = None if one.grade is None else Grade(one.grade)
    lines = Lines(one.start_line, one.end_line)
    return Stretch(lines, Whose(one.kind), one.tier, grade, author_of(one, operators))


def _report(change: Change, looked: Looked, verdict: Verdict, digest: str, asked: Asked) -> GateReport:
    seen = looked.seen
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
        as_of=text_from(asked.now_ns),
        chain_head=looked.chain_head,
        trust=list(looked.agents),
    )
