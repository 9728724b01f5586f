"""Which sources matter most now: a ranking by objectives, accesses, uses and scores, with no chance in it.

The document samples (top-k with a temperature); here the highest always come first, so the same inputs give the same
context. This file is the only one that says what a source's standing is made of.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from custody.cite.model import SourceID, number_of
from custody.cite.source_texts import ContextCandidate
from custody.cite.support import support
from custody.core.errors import InputError

ACCESS_DECAY = 0.9
"""What an access weighs of the one after it: after about 20 others it hardly counts."""
WEIGHTS: Mapping[str, float] = MappingProxyType({"objective": 4.0, "access": 2.0, "use": 1.0, "score": 1.0})
"""What each part counts: what an agent is after as much as all other parts together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """What an agent is after: its objectives, and how much weight it gives single sources (1 where it says nothing)."""

    objectives: tuple[str, ...] = ()
    weights: Mapping[SourceID, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for source_id, weight in self.weights.items():
            number_of(source_id)
            if not math.isfinite(weight) or weight < 0:
                raise InputError(f"the weight of '{source_id}' is {weight}", hint="a weight is a number from 0 on")


@dataclass(frozen=True, slots=True)
class SourceRank:
    """How much a source matters, and the parts that this is the weighted sum of, each from 0 to 1."""

    source_id: SourceID
    value: float
    parts: Mapping[str, float]


def standings(candidates: Sequence[ContextCandidate], attention: Attention) -> list[SourceRank]:
    """Every candidate's standing, the highest first; of equals the one that was registered later."""
    access = accesses(candidates, ACCESS_DECAY)
    made = [_standing(candidate, attention, access[candidate.source_id]) for candidate in candidates]
    return sorted(made, key=lambda standing: (-standing.value, -number_of(standing.source_id)))


def accesses(candidates: Sequence[ContextCandidate], decay: float) -> dict[SourceID, float]:
    """How often and how lately each was accessed, as a share of the one accessed most.

    Accesses are counted from the last one back, each weighing ``decay`` of the one after it: age is told by what
    happened since, and no clock is asked.

    >>> from custody.cite.model import ResearchSource as Source
    >>> one = ContextCandidate(source=Source(title="a", source_id="S1"), accesses=(10, 20))
    >>> accesses([one, ContextCandidate(source=Source(title="b", source_id="S2"), accesses=(30,))], 0.5)
    {'S1': 0.75, 'S2': 1.0}
    """
    moments = [
        (at_ns, number_of(candidate.source_id), candidate.source_id)
        for candidate in candidates
        for at_ns in candidate.accesses
    ]
    found = {candidate.source_id: 0.0 for candidate in candidates}
    weight = 1.0
    for _, _, source_id in sorted(moments, reverse=True):
        found[source_id] += weight
        weight *= decay
    most = max(found.values(), default=0.0)
    return {source_id: value / most if most else 0.0 for source_id, value in found.items()}


def _standing(candidate: ContextCandidate, attention: Attention, access: float) -> SourceRank:
    parts = {
        "objective": _objective(candidate, attention.objectives),
        "access": access,
        "use": candidate.uses / (1 + candidate.uses),
        "score": (candidate.source.credibility_score + candidate.source.relevance_score) / 2,
    }
    total = sum(WEIGHTS[name] * part for name, part in parts.items())
    return SourceRank(
        candidate.source_id, attention.weights.get(candidate.source_id, 1.0) * total, MappingProxyType(parts)
    )


def _objective(candidate: ContextCandidate, objectives: Sequence[str]) -> float:
    """The largest share of an objective's terms that stand together in the title or text."""
    said = f"{candidate.source.title}\n{candidate.text or ''}"
    supports = (support(objective, said) for objective in objectives)
    return max((found.score for found in supports if found is not None), default=0.0)
