"""What is said aloud about a pair: a duplicate, likely one, related but not sure, or nothing. Advice, never more."""

from collections.abc import Collection

from custody.dupes.category import Category, Says
from custody.dupes.model import Chance, ExactKind, Scored
from custody.dupes.rules import DedupeRules

ALOUD = frozenset((Says.DUPLICATE, Says.COMPETING, Says.UNSURE))

_BY_CATEGORY = {
    Category.SAME_CHANGE: Says.DUPLICATE,
    Category.SAME_FEATURE: Says.DUPLICATE,
    Category.COMPETING_IMPLEMENTATION: Says.COMPETING,
    Category.RELATED: Says.UNSURE,
    Category.NOT_RELATED: Says.NOTHING,
}


def verdict(scored: Scored, chance: Chance, exact: Collection[ExactKind], terms: int, rules: DedupeRules) -> Says:
    """The category's word; with the fitted model on top it is raised or lowered to what the chance bears out.

    ``terms`` is how many rare terms both have: with too few of them nothing is said aloud but an exact match.
    """
    word = _BY_CATEGORY[scored.category]
    if exact and scored.category is Category.SAME_CHANGE:
        return word
    if terms < rules.evidence_terms_min:
        return Says.NOTHING
    if rules.profile == "document":
        return word
    if chance.low >= rules.flag_low_min:
        return Says.COMPETING if word is Says.COMPETING else Says.DUPLICATE
    if word in (Says.DUPLICATE, Says.COMPETING) or chance.probability >= rules.unsure_chance_min:
        return Says.UNSURE
    return Says.NOTHING
