"""The words of trust's commands and records, as the values that they stand for."""

from custody.trust.model import ChangeComplexity, DecisionType


def parse_decision_word(word: str) -> DecisionType:
    """``accepted``, ``modified`` or ``rejected``."""
    return DecisionType(word)


def complexity_named(word: str) -> ChangeComplexity:
    """``trivial`` to ``critical``."""
    return ChangeComplexity[word.upper()]
