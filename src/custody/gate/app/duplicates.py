"""The changes that should not land beside one, as the gate asks for them."""

from custody.core.errors import InputError, StoreError
from custody.dupes.app.change_reader import Asked
from custody.dupes.app.check import check_change
from custody.dupes.app.select import own_commits_of
from custody.dupes.model import Category, Relation
from custody.dupes.rules import DedupeRules
from custody.dupes.verdict import Says
from custody.dupes.wire.report import DupesEvidence
from custody.gate.app.change import Judged
from custody.gate.model import Twin, Unseen
from custody.store import Store

EXPECTED = frozenset(
    one.value for one in (Relation.BACKPORT_OF, Relation.REVERT_OF, Relation.RELAND_OF, Relation.STACKED_ON)
)
"""A backport, a revert, a return and what is built on another change are like it on purpose."""
ALOUD = frozenset((Says.DUPLICATE, Says.COMPETING))
SHORT_DIGITS = 12


def twins_of(one: Judged, store: Store, rules: DedupeRules) -> tuple[Twin, ...] | Unseen:
    """What a change is a duplicate of, or why it could not be looked up."""
    change = one.change
    commits = (change.head,) if one.is_work_tree else own_commits_of(one.repository, change.fork, change.head)
    asked = Asked(base=change.fork, head=change.head, commits=commits, onto=change.base)
    try:
        told = check_change(one.repository, store, asked, rules, "").told
    except (InputError, StoreError) as error:
        return Unseen(f"duplicates were not looked for: {error.message}", error.hint or "run 'custody dupes index'")
    return tuple(_twin(one) for one in told if _counts(one))


def _counts(evidence: DupesEvidence) -> bool:
    is_expected = any(one.relation in EXPECTED for one in evidence.relations)
    return Says(evidence.says) in ALOUD and not is_expected


def _twin(evidence: DupesEvidence) -> Twin:
    other = evidence.other
    name = f"{other.head[:SHORT_DIGITS]} '{other.title}'" + (" (landed)" if other.on_main else "")
    why = evidence.rule if evidence.exact else f"{evidence.rule}; chance {evidence.chance:.1%}"
    return Twin(name, Says(evidence.says), Category(evidence.category), why)
