"""What the outcome of a change says about pairs: that it was closed for another one's sake, or that both landed.

Closed as a duplicate is an answer like any that a person gives. That both landed is a weaker one: it is drawn only for
a pair that custody had called a duplicate, when the two are not line for line the same and no relation explains it,
and it never takes the place of what a person said.
"""

from collections.abc import Iterator, Sequence

import msgspec

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.dupes import DuplicateVerdict
from custody.dupes.app.indexed_changes import changes_by_head, evidence_about
from custody.dupes.app.labels import ChangeEnds, PairAnswer, answers_about, keep_answer
from custody.dupes.app.select import find_indexed_change, typed_change
from custody.dupes.wire import DupesEvidence
from custody.git import Repository
from custody.store import Store
from custody.trust.app.change_decisions import agents_decided, known_about
from custody.trust.app.subject import OutcomeSubject
from custody.trust.wire import PairLabelReport
from custody.workspace.workspace import Workspace

DUPLICATE, NOT_DUPLICATE = "duplicate", "related"
LANDED = ("merged", "changed")


def check_pair(outcome: str, duplicate_of: str | None) -> None:
    """Refuse to call a change a duplicate that landed."""
    if duplicate_of is not None and outcome != "closed":
        raise InputError(
            f"a change that was {outcome} was not closed as a duplicate", hint="say --outcome closed, or leave it out"
        )


def pair_named(repository: Repository, store: Store, subject: OutcomeSubject, typed: str) -> ChangeEnds:
    """The change that another one was closed for: an indexed one, or what ``typed`` names in the repository."""
    try:
        row = find_indexed_change(store, typed)
        found = ChangeEnds(row.base, row.head)
    except InputError:
        asked = typed_change(repository, typed)
        found = ChangeEnds(asked.base, asked.head)
    if found.head in subject.names:
        raise InputError("a change is no duplicate of itself", hint="name two changes")
    return found


def record_pair_labels(
    workspace: Workspace, store: Store, subject: OutcomeSubject, outcome: str, other: ChangeEnds | None, actor: str
) -> list[PairLabelReport]:
    """Record what an outcome says about pairs, as far as nobody has said it yet."""
    mine = _ends(store, subject)
    if other is not None:
        said = answers_about(store, mine.head, other.head)
        wanted = [] if said and said[-1] == DUPLICATE else [other]
        return _store_labels(workspace, store, mine, wanted, DUPLICATE, actor)
    if outcome not in LANDED:
        return []
    return _store_labels(workspace, store, mine, list(_both_landed(store, subject.head)), NOT_DUPLICATE, actor)


def _store_labels(
    workspace: Workspace, store: Store, mine: ChangeEnds, others: Sequence[ChangeEnds], answer: str, actor: str
) -> list[PairLabelReport]:
    reason = "closed as a duplicate" if answer == DUPLICATE else "both landed"
    records = [keep_answer(workspace, store, PairAnswer(mine, other, answer, actor, reason)) for other in others]
    return [
        PairLabelReport(other=other.head, answer=answer, record=str(record))
        for other, record in zip(others, records, strict=True)
    ]


def _both_landed(store: Store, head: CommitSha) -> Iterator[ChangeEnds]:
    """The landed changes that this one was called a duplicate of, where landing both is an answer."""
    found: dict[CommitSha, ChangeEnds] = {}
    for row in evidence_about(store, head):
        evidence = msgspec.json.decode(row.body, type=DupesEvidence)
        other = CommitSha(evidence.other.head)
        flagged = evidence.says == DuplicateVerdict.DUPLICATE.value and not evidence.relations and not evidence.exact
        if flagged and not answers_about(store, head, other) and _has_landed(store, other):
            found[other] = ChangeEnds(evidence.other.base, other)
    return iter(found.values())


def _has_landed(store: Store, head: CommitSha) -> bool:
    if any(row.on_main for row in changes_by_head(store, head)):
        return True
    return any(known_about(store, agent, [head]).landed for agent in agents_decided(store, [head]))


def _ends(store: Store, subject: OutcomeSubject) -> ChangeEnds:
    """As the index has it, so that the answer is about what was compared."""
    rows = changes_by_head(store, subject.head)
    return ChangeEnds(rows[-1].base if rows else subject.base or "", subject.head)
