"""Everything that the gate's checks look at, found out about one change."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from custody.attribution import Grade
from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.context import open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.core.errors import InputError, StoreError
from custody.dupes.app.indexed_changes import newest_change
from custody.gate.app.change import ChangeUnderReview, Policy
from custody.gate.app.contradictions import ContradictionCheck
from custody.gate.app.texts import has_prose
from custody.gate.model import (
    AddedRange,
    CallsBeforeEdit,
    ChangeText,
    FileAdditions,
    GateEvidence,
    MissingEvidence,
    RecordState,
    SimilarChange,
    TrustAnswer,
)
from custody.gate.rules import GateRules
from custody.ledger.records import gaps
from custody.ledger.verify import check_integrity
from custody.store import Store
from custody.trust import ChangeAuthor
from custody.trust.app.approve import decide_approvals
from custody.trust.app.authors import Operators, author_of
from custody.trust.wire import AgentApproval
from custody.workspace.change import Addition
from custody.workspace.workspace import Workspace

READ_IT = "have a person read it"
ASK_DOCTOR = "run 'custody doctor'"
NOT_INDEXED = "no change is indexed, and gate.duplicates is 'when-indexed'"


@dataclass(frozen=True, slots=True)
class GatheredEvidence:
    """What checks look at, the agents' cases for the report, and the checks that did not look.

    ``edited`` has the answers about the added lines of each file.
    """

    seen: GateEvidence
    agents: tuple[AgentApproval, ...] = ()
    edited: Mapping[str, Sequence[LineAnswer]] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)


def gather_evidence(
    workspace: Workspace, review: ChangeUnderReview, policy: Policy, description: bytes | None, now_ns: int
) -> GatheredEvidence:
    """Look at everything that some check wants to know."""
    looked = _attributed(workspace, review, policy, now_ns)
    rules = policy.rules.of(GateRules)
    skipped = {}
    twins = _twins(workspace, review, policy, rules)
    if twins is None:
        skipped["duplicates"] = "gate.duplicates is 'off'" if rules.duplicates == "off" else NOT_INDEXED
    texts: tuple[ChangeText, ...] = ()
    if rules.citations == "off":
        skipped["citations"] = "gate.citations is 'off'"
    elif has_prose(review, description):
        from custody.gate.app.texts import texts_of  # loads parsers, which most verdicts need not

        texts = texts_of(workspace, review, description, policy)
    befores: tuple[CallsBeforeEdit, ...] | MissingEvidence | None = None
    if rules.calls == "off":
        skipped["calls"] = "gate.calls is 'off'"
    else:
        befores = _befores(workspace, looked, policy)
    seen = replace(looked.seen, twins=twins, texts=texts, befores=befores, policy=policy.changed)
    return replace(looked, seen=seen, skipped=skipped)


def _attributed(workspace: Workspace, review: ChangeUnderReview, policy: Policy, now_ns: int) -> GatheredEvidence:
    """Who wrote the added lines, and what their records say; of a change that adds nothing, nothing needs be known."""
    change = review.change
    recorded = _recorded(workspace)  # first: the answers below may make a store where there was none
    if not change.additions and not review.left_out:
        # Gaps are about lines that are added; damage is about everything.
        known = (
            recorded
            if isinstance(recorded, MissingEvidence)
            else RecordState(damage=recorded.damage if recorded else ())
        )
        return GatheredEvidence(GateEvidence((), change.period, known))
    left_out = tuple(
        FileAdditions(file.path.display, MissingEvidence(file.reason, READ_IT)) for file in review.left_out
    )
    try:
        with open_attribution(workspace, effective=policy.rules) as evidence:
            attributor, operators = LineAttributor(evidence, strict=True), Operators(evidence)
            if review.version is not None:
                evidence.history.prepare(review.version, [addition.path for addition in change.additions])
            told = {addition.path: _attribute_addition(attributor, review, addition) for addition in change.additions}
            doubts = ContradictionCheck(evidence, review.version)
            files = tuple(_added(addition, told[addition.path], operators, doubts) for addition in change.additions)
            recorded = doubts.recorded(recorded)
            evidence.save()
            seen = GateEvidence((*files, *left_out), change.period, recorded)
            edited = {path.display: found for path, found in told.items() if not isinstance(found, MissingEvidence)}
            return replace(_add_trust_answers(evidence.store, review, policy, seen, now_ns), edited=edited)
    except StoreError as error:
        unknown = MissingEvidence(f"has no answer: {error.message}", error.hint or ASK_DOCTOR)
        nothing = tuple(FileAdditions(addition.path.display, unknown) for addition in change.additions)
        return GatheredEvidence(GateEvidence((*nothing, *left_out), change.period, recorded, unknown))


def _recorded(workspace: Workspace) -> RecordState | MissingEvidence | None:
    try:
        report = check_integrity(workspace)  # in any case: where the database is gone, its heads may still be there
        if not (report.records or report.pending or report.findings):
            return None
        return RecordState(tuple(gaps(workspace)), tuple(finding.what for finding in report.findings))
    except StoreError as error:
        return MissingEvidence(f"the store cannot be read: {error.message}", error.hint or ASK_DOCTOR)


def _attribute_addition(
    attributor: LineAttributor, review: ChangeUnderReview, addition: Addition
) -> Sequence[LineAnswer] | MissingEvidence:
    """Who wrote the lines that one file gets."""
    if addition.unread is not None:
        return MissingEvidence(addition.unread, READ_IT)
    try:
        return attributor.of_file(addition.path, review.version, addition.lines)[1]
    except InputError as error:
        # The change names it, not the caller: a submodule, a damaged object, a file that is too large to be read.
        return MissingEvidence(f"cannot be read: {error.message}", READ_IT)


def _added(
    addition: Addition, told: Sequence[LineAnswer] | MissingEvidence, operators: Operators, doubts: ContradictionCheck
) -> FileAdditions:
    """What is known of the lines that one file gets."""
    path = addition.path.display
    if isinstance(told, MissingEvidence):
        return FileAdditions(path, told)
    if sum(len(answer.lines) for answer in told) != sum(map(len, addition.lines)):
        return FileAdditions(path, MissingEvidence("has lines about which there is no answer", READ_IT))
    doubted = doubts.of(addition.path, told)
    return FileAdditions(
        path, tuple(_stretch(answer, operators, is_doubted=answer.lines in doubted) for answer in told)
    )


def _stretch(answer: LineAnswer, operators: Operators, *, is_doubted: bool) -> AddedRange:
    """What is known of some lines; where records contradict each other, none of them is more than a claim."""
    grade = Grade.CLAIMED if is_doubted and answer.grade is not None else answer.grade
    return AddedRange(answer.lines, answer.owner, answer.tier, grade, author_of(answer, operators))


def _add_trust_answers(
    store: Store, review: ChangeUnderReview, policy: Policy, seen: GateEvidence, now_ns: int
) -> GatheredEvidence:
    """The same with what the records of the agents say that wrote it, folded anew from what was just checked."""
    lines = Counter[ChangeAuthor]()
    for _, stretch in seen.ranges:
        if stretch.author is not None:
            lines[stretch.author] += len(stretch.lines)
    if not lines:
        return GatheredEvidence(seen)
    approvals = decide_approvals(store, review.change, lines, policy.rules, now_ns)
    answers = tuple(TrustAnswer(said.case.author, said.approval) for said, _ in approvals)
    return GatheredEvidence(replace(seen, trust=answers), tuple(agent for _, agent in approvals))


def _twins(
    workspace: Workspace, review: ChangeUnderReview, policy: Policy, rules: GateRules
) -> tuple[SimilarChange, ...] | MissingEvidence | None:
    """What the change is a duplicate of; None when nobody is to look."""
    if rules.duplicates == "off":
        return None
    try:
        with workspace.reading() as store:
            if rules.duplicates == "when-indexed" and not newest_change(store):
                return None
            from custody.gate.app.duplicates import twins_of  # loads parsers, which most verdicts need not

            return twins_of(review, store, policy.rules)
    except StoreError as error:
        return MissingEvidence(error.message, error.hint or ASK_DOCTOR)


def _befores(
    workspace: Workspace, looked: GatheredEvidence, policy: Policy
) -> tuple[CallsBeforeEdit, ...] | MissingEvidence:
    """What agents called before they changed risky files."""
    from custody.gate.app.calls import befores_of

    try:
        with workspace.reading() as store:
            return befores_of(store, looked.edited, policy.rules)
    except StoreError as error:
        return MissingEvidence(error.message, error.hint or ASK_DOCTOR)
