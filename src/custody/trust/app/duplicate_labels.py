"""Labels for the duplicate search that follow from the outcome of a change.

A change closed as a duplicate is an answer like any other by a person. That two changes were both merged is a weaker
answer: it is recorded only for a pair that custody reported as a duplicate, if the two differ and no relation explains
it. It never replaces a person's answer.
"""

from collections.abc import Iterator, Sequence

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.dupes import ChangeEnds, DuplicateVerdict
from custody.dupes.app.indexed_changes import find_changes_by_head
from custody.dupes.app.labels import PairAnswer, list_pair_answers, record_pair_answer
from custody.dupes.app.past_suggestions import PastSuggestion, find_past_suggestions
from custody.dupes.app.select import find_indexed_change, resolve_change_ref
from custody.git import Repository
from custody.store import Store
from custody.trust.app.change_decisions import find_decision_agents, summarize_agent_decisions
from custody.trust.app.subject import OutcomeSubject
from custody.trust.wire import PairLabelReport
from custody.workspace.workspace import Workspace

DUPLICATE, NOT_DUPLICATE = "duplicate", "related"
MERGED = ("merged", "changed")


def check_outcome_duplicate(outcome: str, duplicate_of: str | None) -> None:
    """Raise an ``InputError`` if a change that was not closed is called a duplicate."""
    if duplicate_of is not None and outcome != "closed":
        raise InputError(
            f"a change that was {outcome} was not closed as a duplicate",
            hint="pass --outcome closed, or leave out --duplicate-of",
        )


def resolve_outcome_duplicate(repository: Repository, store: Store, subject: OutcomeSubject, name: str) -> ChangeEnds:
    """Return the change that another one was closed for: an indexed change, or one of the repository."""
    try:
        row = find_indexed_change(store, name)
        ends = ChangeEnds(row.base, row.head)
    except InputError:
        change = resolve_change_ref(repository, name)
        ends = ChangeEnds(change.base, change.head)
    if ends.head in subject.names:
        raise InputError("a change cannot be a duplicate of itself", hint="pass two different changes")
    return ends


def record_outcome_pair_labels(
    workspace: Workspace, store: Store, subject: OutcomeSubject, outcome: str, other: ChangeEnds | None, actor: str
) -> list[PairLabelReport]:
    """Record the labels that follow from an outcome and are not recorded yet."""
    mine = _resolve_outcome_ends(store, subject)
    if other is not None:
        answers = list_pair_answers(store, mine.head, other.head)
        others = [] if answers and answers[-1] == DUPLICATE else [other]
        return _store_outcome_labels(workspace, store, mine, others, DUPLICATE, actor)
    if outcome not in MERGED:
        return []
    return _store_outcome_labels(
        workspace, store, mine, list(_find_merged_outcome_duplicates(store, subject.head)), NOT_DUPLICATE, actor
    )


def _store_outcome_labels(
    workspace: Workspace, store: Store, mine: ChangeEnds, others: Sequence[ChangeEnds], answer: str, actor: str
) -> list[PairLabelReport]:
    reason = "closed as a duplicate" if answer == DUPLICATE else "both merged"
    records = [record_pair_answer(workspace, store, PairAnswer(mine, other, answer, actor, reason)) for other in others]
    return [
        PairLabelReport(other=other.head, answer=answer, record=str(record))
        for other, record in zip(others, records, strict=True)
    ]


def _find_merged_outcome_duplicates(store: Store, head: CommitSha) -> Iterator[ChangeEnds]:
    """Yield the merged changes that this one was reported as a duplicate of."""
    merged: dict[CommitSha, ChangeEnds] = {}
    for suggestion in find_past_suggestions(store, head):
        other = CommitSha(suggestion.other.head)
        if (
            _is_unexplained_duplicate(suggestion)
            and not list_pair_answers(store, head, other)
            and _is_merged_outcome(store, other)
        ):
            merged[other] = suggestion.other
    return iter(merged.values())


def _is_unexplained_duplicate(suggestion: PastSuggestion) -> bool:
    """Return whether two different changes were reported as duplicates, and no relation explains it."""
    is_duplicate = suggestion.verdict is DuplicateVerdict.DUPLICATE
    return is_duplicate and not suggestion.relations and not suggestion.is_exact


def _is_merged_outcome(store: Store, head: CommitSha) -> bool:
    if any(row.on_main for row in find_changes_by_head(store, head)):
        return True
    return any(
        summarize_agent_decisions(store, agent, [head]).is_merged for agent in find_decision_agents(store, [head])
    )


def _resolve_outcome_ends(store: Store, subject: OutcomeSubject) -> ChangeEnds:
    """Return the change as the index has it, so that the label is about what was compared."""
    rows = find_changes_by_head(store, subject.head)
    return ChangeEnds(rows[-1].base if rows else subject.base or "", subject.head)
