"""Suggestions of earlier searches, read from their stored evidence once."""

import msgspec
from msgspec import Struct

from custody.core.ids import CommitSha
from custody.dupes.model import Category, ChangeEnds, DuplicateVerdict, Relation
from custody.dupes.queries import DupesTables, EvidenceRow
from custody.dupes.wire import DupesEvidence
from custody.store import Store

RETIRED = ("already on main",)
"""Relations of earlier versions that explain nothing: such a change is a duplicate."""


class PastSuggestion(Struct, frozen=True, kw_only=True):
    """What a search found about two changes; ``id`` names its evidence, ``title`` is the other change's.

    ``is_exact`` is whether the changes had an exact hash in common.
    """

    id: str
    this: ChangeEnds
    other: ChangeEnds
    title: str
    verdict: DuplicateVerdict
    category: Category
    relations: tuple[Relation, ...]
    is_exact: bool


def find_past_suggestions(store: Store, head: CommitSha) -> list[PastSuggestion]:
    """Return the suggestions for the change with this head, newest first.

    Evidence of another version is skipped: ``custody dupes check`` finds it again.
    """
    read = map(read_past_suggestion, DupesTables(store).evidence(head))
    return [suggestion for suggestion in read if suggestion is not None and suggestion.this.head == head]


def read_past_suggestion(row: EvidenceRow) -> PastSuggestion | None:
    """Return the suggestion of stored evidence; None if another version of custody stored it."""
    try:
        return _suggestion_from_evidence(row.id, msgspec.json.decode(row.body, type=DupesEvidence))
    except (msgspec.ValidationError, ValueError):
        return None


def _suggestion_from_evidence(id_: str, evidence: DupesEvidence) -> PastSuggestion:
    return PastSuggestion(
        id=id_,
        this=ChangeEnds(evidence.this.base, evidence.this.head),
        other=ChangeEnds(evidence.other.base, evidence.other.head),
        title=evidence.other.title,
        verdict=DuplicateVerdict(evidence.says),
        category=Category(evidence.category),
        relations=tuple(Relation(found.relation) for found in evidence.relations if found.relation not in RETIRED),
        is_exact=bool(evidence.exact),
    )
