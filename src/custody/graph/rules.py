"""The settable numbers of the graph; the defaults are those of document 004 and of its page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from custody.core.rules import check_keys, check_one_of, check_order, check_range, check_ranges

PROMOTIONS = ("observations", "executions")

_TYPES = MappingProxyType({"dependency": 1.0, "contains": 0.8, "sequence": 0.5})
_SOURCES = MappingProxyType({"observed": 1.0, "inferred": 0.7, "template": 0.5})


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRules:
    """How edges are weighed and promoted, and when a session is over."""

    type_weights: Mapping[str, float] = field(hash=False, default_factory=lambda: _TYPES)
    """What an edge of this type weighs."""
    source_weights: Mapping[str, float] = field(hash=False, default_factory=lambda: _SOURCES)
    """What the weight of an edge is multiplied by, for how it is known."""
    promote_count_min: int = 3
    """An edge seen so often is observed."""
    promote_by: Literal["observations", "executions"] = "observations"
    """What is counted for that: every observation, or every execution once."""
    settled_hours: float = 24.0
    """A session of which nothing came for so long is over, and what it taught is kept."""

    def __post_init__(self) -> None:
        for name in ("type_weights", "source_weights"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        check_keys("graph.type_weights", self.type_weights, _TYPES)
        check_ranges("graph.type_weights", self.type_weights, above=0, most=1)
        check_keys("graph.source_weights", self.source_weights, _SOURCES)
        check_ranges("graph.source_weights", self.source_weights, above=0, most=1)
        # Who was seen more often never weighs less: promotion only ever raises a weight.
        check_order(*((f"graph.source_weights.{name}", self.source_weights[name]) for name in reversed(_SOURCES)))
        check_one_of("graph.promote_by", self.promote_by, PROMOTIONS)
        check_range("graph.promote_count_min", self.promote_count_min, least=1)
        check_range("graph.settled_hours", self.settled_hours, least=0)
