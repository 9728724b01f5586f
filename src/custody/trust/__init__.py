"""What an agent's record allows it to merge without review (document 001).

The files at the top are pure: they may import ``core`` and the standard library's value tools, and no other question.
"""

from typing import TYPE_CHECKING

from custody.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from custody.trust.model import (
        Account,
        Approval,
        ChangeAuthor,
        ChangeComplexity,
        DecisionEntry,
        DecisionOverride,
        DecisionType,
        FileVoucher,
        ScoreState,
        ScoreStep,
        UnknownAgent,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "model": (
                "Account Approval ChangeAuthor ChangeComplexity DecisionEntry DecisionOverride DecisionType "
                "ScoreState ScoreStep FileVoucher UnknownAgent"
            ),
        },
    )

__all__ = [
    "Account",
    "Approval",
    "ChangeAuthor",
    "ChangeComplexity",
    "DecisionEntry",
    "DecisionOverride",
    "DecisionType",
    "FileVoucher",
    "ScoreState",
    "ScoreStep",
    "UnknownAgent",
]
