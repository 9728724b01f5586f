"""The changes that should not land beside one, as the gate asks for them."""

from custody.config import EffectiveRules
from custody.core.errors import InputError, StoreError
from custody.dupes import DuplicateVerdict, Relation
from custody.dupes.app.change_reader import ChangeRef
from custody.dupes.app.check import find_matches
from custody.dupes.app.report import escape_name
from custody.dupes.app.search import DuplicateMatch
from custody.dupes.app.select import own_commits_of
from custody.gate.app.change import ChangeUnderReview
from custody.gate.model import MissingEvidence, SimilarChange
from custody.store import Store

EXPECTED = frozenset((Relation.BACKPORT_OF, Relation.REVERT_OF, Relation.RELAND_OF, Relation.STACKED_ON))
"""A backport, a revert, a return and what is built on another change are like it on purpose."""
ALOUD = frozenset((DuplicateVerdict.DUPLICATE, DuplicateVerdict.COMPETING))
SHORT_DIGITS = 12


def twins_of(
    review: ChangeUnderReview, store: Store, effective: EffectiveRules
) -> tuple[SimilarChange, ...] | MissingEvidence:
    """What a change is a duplicate of, or why it could not be looked up."""
    change = review.change
    commits = (change.head,) if review.is_work_tree else own_commits_of(review.repository, change.fork, change.head)
    asked = ChangeRef(base=change.fork, head=change.head, commits=commits, onto=change.base)
    try:
        matches = find_matches(review.repository, store, asked, effective)
    except (InputError, StoreError) as error:
        return MissingEvidence(
            f"duplicates were not looked for: {error.message}", error.hint or "run 'custody dupes index'"
        )
    return tuple(_twin(match) for match in matches if match.says in ALOUD and EXPECTED.isdisjoint(match.relations))


def _twin(match: DuplicateMatch) -> SimilarChange:
    change, scored = match.like.change, match.like.scored
    name = f"{change.head[:SHORT_DIGITS]} '{escape_name(change.title)}'" + (" (landed)" if change.on_main else "")
    why = scored.rule if match.like.exact else f"{scored.rule}; chance {match.like.chance.probability:.1%}"
    return SimilarChange(name, match.says, scored.category, why)
