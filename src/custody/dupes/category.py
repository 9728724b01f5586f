"""What two changes are to each other: the category, the relation, and the word that is said about them."""

from enum import Enum


class Category(Enum):
    """What two changes are to each other, by the document's rules."""

    SAME_CHANGE = "SAME_CHANGE"
    SAME_FEATURE = "SAME_FEATURE"
    COMPETING_IMPLEMENTATION = "COMPETING_IMPLEMENTATION"
    RELATED = "RELATED"
    NOT_RELATED = "NOT_RELATED"


class DuplicateVerdict(Enum):
    """The word for a pair."""

    DUPLICATE = "duplicate"
    COMPETING = "competing"
    UNSURE = "related, not sure"
    NOTHING = "nothing"


class Relation(Enum):
    """What a change is to another beyond being like it."""

    BACKPORT_OF = "backport of"
    REVERT_OF = "revert of"
    RELAND_OF = "reland of"
    STACKED_ON = "stacked on"
    SUPERSET_OF = "superset of"
    SUBSET_OF = "subset of"
    ALREADY_ON_MAIN = "already on main"
