"""What is said aloud about a pair: a duplicate, likely one, related but not sure, or nothing. Advice, never more."""

from collections.abc import Collection

from custody.dupes.category import Category, DuplicateVerdict
from custody.dupes.model import DuplicateChance, ExactKind, PairScore
from custody.dupes.rules import DedupeRules

ALOUD = frozenset((DuplicateVerdict.DUPLICATE, DuplicateVerdict.COMPETING, DuplicateVerdict.UNSURE))

_BY_CATEGORY = {
    Category.SAME_CHANGE: DuplicateVerdict.DUPLICATE,
    Category.SAME_FEATURE: DuplicateVerdict.DUPLICATE,
    Category.COMPETING_IMPLEMENTATION: DuplicateVerdict.COMPETING,
    Category.RELATED: DuplicateVerdict.UNSURE,
    Category.NOT_RELATED: DuplicateVerdict.NOTHING,
}


def verdict(
    scored: PairScore, chance: DuplicateChance, exact: Collection[ExactKind], terms: int, rules: DedupeRules
) -> DuplicateVerdict:
    """The category's word; with the fitted model on top it is raised or lowered to what the chance bears out.

    ``terms`` is how many rare terms both have: with too few of them nothing is said aloud but an exact match.
    """
    word = _BY_CATEGORY[scored.category]
    if exact and scored.category is Category.SAME_CHANGE:
        return word
    if terms < rules.evidence_terms_min:
        return DuplicateVerdict.NOTHING
    if rules.profile == "document":
        return word
    if chance.low >= rules.flag_low_min:
        return DuplicateVerdict.COMPETING if word is DuplicateVerdict.COMPETING else DuplicateVerdict.DUPLICATE
    if (
        word in (DuplicateVerdict.DUPLICATE, DuplicateVerdict.COMPETING)
        or chance.probability >= rules.unsure_chance_min
    ):
        return DuplicateVerdict.UNSURE
    return DuplicateVerdict.NOTHING
