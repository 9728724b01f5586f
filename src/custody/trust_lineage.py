"""The import name of document 001: ``from custody.trust_lineage import TrustLineageManager, DecisionType, …``.

The implementation is in ``custody.trust.app.library``.
"""

from custody.trust.app.library import (
    AgentProfile,
    Approval,
    ChangeComplexity,
    DecisionRecord,
    DecisionType,
    TrustLineageManager,
    TrustScore,
    TrustTier,
    UnknownAgent,
)

__all__ = [
    "AgentProfile",
    "Approval",
    "ChangeComplexity",
    "DecisionRecord",
    "DecisionType",
    "TrustLineageManager",
    "TrustScore",
    "TrustTier",
    "UnknownAgent",
]
