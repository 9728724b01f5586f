"""Every reason that a verdict can have, in one table; this file is the only one that says which may not be milder."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType


class Level(Enum):
    """What a verdict, or one reason, asks for, from the mildest to the strictest."""

    APPROVE = "approve"
    REVIEW = "review"
    BLOCK = "block"

    @property
    def strictness(self) -> int:
        """Its place in the order, from 0."""
        return list(Level).index(self)


class Code(Enum):
    """The name of a reason; the part before the hyphen is the check that gives it."""

    ATTR_UNSEEN = "ATTR-UNSEEN"
    ATTR_NONE = "ATTR-NONE"
    ATTR_WEAK = "ATTR-WEAK"
    ATTR_SHARE = "ATTR-SHARE"


@dataclass(frozen=True, slots=True)
class About:
    """What a reason means, what to do about it, and the reasons than which it may never be milder.

    Lost evidence turns each of ``never_milder_than`` into this reason, and losing evidence must not help.
    """

    meaning: str
    remedy: str
    never_milder_than: tuple[Code, ...] = ()


CODES: Mapping[Code, About] = MappingProxyType(
    {
        Code.ATTR_UNSEEN: About(
            "Who wrote the added lines could not be looked up, or not everywhere: nothing was ever recorded here,"
            " something could not be recorded while the change was made, the store is not as it was written, or a file"
            " has no lines that can be read.",
            "have a person read the change; 'custody doctor' says what is missing",
            (Code.ATTR_NONE, Code.ATTR_WEAK, Code.ATTR_SHARE),
        ),
        Code.ATTR_NONE: About(
            "It was looked up, and for some added lines nothing shows who wrote them. That never means that a person"
            " did.",
            "import the transcripts of the sessions that worked on it, or have a person read these lines",
            (Code.ATTR_WEAK, Code.ATTR_SHARE),
        ),
        Code.ATTR_WEAK: About(
            "It is known who wrote the lines, but not well enough: the tier is above `gate.tier_max`, or the grade is"
            " below `gate.grade_min`.",
            "have a person read these lines; 'custody blame -v' shows what the answer rests on",
        ),
        Code.ATTR_SHARE: About(
            "Agents wrote more of the added lines than `gate.agent_share_max` allows. A line of which an agent wrote a"
            " part counts whole.",
            "have a person read the change",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing to be said about a change, and what to do about it."""

    code: Code
    level: Level
    sentence: str
    remedy: str
