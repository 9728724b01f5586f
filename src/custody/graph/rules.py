"""The configurable numbers of the graph; the defaults are those of document 004 and of its page."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

from custody.core.rules import check_rule_choice, check_rule_keys, check_rule_order, check_rule_range, check_rule_ranges
from custody.core.structs import hash_struct

PROMOTIONS = ("observations", "executions")

_TYPES = MappingProxyType({"dependency": 1.0, "contains": 0.8, "sequence": 0.5})
_SOURCES = MappingProxyType({"observed": 1.0, "inferred": 0.7, "template": 0.5})


class GraphRules(Struct, frozen=True, kw_only=True):
    """How edges are weighted and promoted."""

    type_weights: Mapping[str, float] = field(default_factory=lambda: _TYPES)
    """The weight of an edge by its type."""
    source_weights: Mapping[str, float] = field(default_factory=lambda: _SOURCES)
    """The factor of an edge's weight by its source."""
    promote_count_min: int = 3
    """An edge that was counted this often is observed."""
    promote_by: Literal["observations", "executions"] = "observations"
    """The count for that: every observation, or every execution once."""

    def __post_init__(self) -> None:
        for name in ("type_weights", "source_weights"):
            force_setattr(self, name, MappingProxyType(dict(getattr(self, name))))
        check_rule_keys("graph.type_weights", self.type_weights, _TYPES)
        check_rule_ranges("graph.type_weights", self.type_weights, above=0, most=1)
        check_rule_keys("graph.source_weights", self.source_weights, _SOURCES)
        check_rule_ranges("graph.source_weights", self.source_weights, above=0, most=1)
        # More observations never lower a weight: promotion only raises it.
        check_rule_order(*((f"graph.source_weights.{name}", self.source_weights[name]) for name in reversed(_SOURCES)))
        check_rule_choice("graph.promote_by", self.promote_by, PROMOTIONS)
        check_rule_range("graph.promote_count_min", self.promote_count_min, least=1)

    def __hash__(self) -> int:
        return hash_struct(self, but=("type_weights", "source_weights"))
