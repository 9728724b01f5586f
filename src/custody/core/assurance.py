"""Who vouches for evidence that speaks in favor of a change.

A statement against interest may be believed cheaply; a statement in favor needs a witness.
"""

from collections.abc import Iterable
from enum import Enum


class Assurance(Enum):
    """How far favorable evidence can be believed, from the weakest.

    ``SELF_REPORTED``: the account that profits could have written it. ``ENROLLED``: it is in a store with a key that
    the base branch lists. ``WITNESSED``: a second party vouches for it: the code host, or a person whose key the base
    branch lists.
    """

    SELF_REPORTED = "self-reported"
    ENROLLED = "enrolled"
    WITNESSED = "witnessed"

    @property
    def rank(self) -> int:
        """Return its place in the order, from 0.

        >>> [assurance.rank for assurance in Assurance]
        [0, 1, 2]
        """
        return list(Assurance).index(self)

    def meets(self, least: "Assurance") -> bool:
        """Return whether it is at least as strong as ``least``.

        >>> Assurance.ENROLLED.meets(Assurance.SELF_REPORTED), Assurance.ENROLLED.meets(Assurance.WITNESSED)
        (True, False)
        """
        return self.rank >= least.rank


SELF_REPORTED_ONLY = " (self-reported evidence only)"
"""What follows the words of an approval for which only the account that profits vouches."""


def find_lowest_assurance(assurances: Iterable[Assurance]) -> Assurance | None:
    """Return the weakest of some assurances; None without any.

    >>> find_lowest_assurance([Assurance.WITNESSED, Assurance.ENROLLED]), find_lowest_assurance([])
    (<Assurance.ENROLLED: 'enrolled'>, None)
    """
    return min(assurances, key=lambda assurance: assurance.rank, default=None)
