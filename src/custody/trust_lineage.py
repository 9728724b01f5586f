"""Document 001's own import name: ``from custody.trust_lineage import TrustLineageManager, DecisionType, …``.

A thin face: what the calls do is in ``custody.trust.app.library``.
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
