"""Every number of the graph; the defaults are those of document 004 and of its page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from custody.core.errors import RulesError
from custody.core.rules import check_keys, check_one_of, check_order, check_range, check_ranges

PROMOTIONS = ("observations", "executions")
NEXT_ORDER_MAX = 16
"""The sequence model remembers no more calls than this."""

_TYPES = MappingProxyType({"dependency": 1.0, "contains": 0.8, "sequence": 0.5})
_SOURCES = MappingProxyType({"observed": 1.0, "inferred": 0.7, "template": 0.5})
_ORDERS = MappingProxyType({"siblings": 4, "flat": 3, "failures": 3, "marks": 3})


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRules:
    """How edges are weighed and promoted, what a way costs, how the next call is foreseen, how a graph is shown."""

    type_weights: Mapping[str, float] = field(hash=False, default_factory=lambda: _TYPES)
    """What an edge of this type weighs."""
    source_weights: Mapping[str, float] = field(hash=False, default_factory=lambda: _SOURCES)
    """What the weight of an edge is multiplied by, for how it is known."""
    promote_count_min: int = 3
    """An edge seen so often is observed."""
    promote_by: Literal["observations", "executions"] = "observations"
    """What is counted for that: every observation, or every execution once."""
    evidence_max: int = 8
    """So many pairs of spans are kept with an edge, the newest."""
    same_id_max: int = 8
    """So many calls under one id are compared with a new record of that id; beyond, it is a call of its own."""
    repairs_told_max: int = 1000
    """So many repairs of a kind are told one by one; all are counted."""
    settled_hours: float = 24.0
    """A session of which nothing came for so long is over, and what it taught is kept."""

    path_weight_min: float = 0.1
    """A lighter edge costs as much as one of this weight."""
    path_step_cost: float = 0.1
    """What every step adds to a cost that is a logarithm, so that no step is free."""
    template_count: float = 0.5
    """How many observations a template's edge is worth where chances are counted and nobody has seen it."""
    similar_max: int = 10
    """So many similar nodes are told."""
    similar_witnesses_max: int = 5
    """So many common neighbours are told with each."""

    next_orders: Mapping[str, int] = field(hash=False, default_factory=lambda: _ORDERS)
    """How many calls before the next one each context of the sequence model looks at."""
    next_cache_decay: float = 0.95
    """What a call of the session counts for, one call later."""
    next_fit_from_share: float = 0.5
    """The share of all calls after which the slice begins on which the mixture is fitted."""
    next_fit_to_share: float = 0.8
    """The share of all calls at which that slice ends."""
    next_fit_rounds: int = 30
    """How often the mixture is fitted anew on the slice."""
    next_online_share: float = 0.002
    """How far one call moves the mixture towards the parts that foresaw it."""
    next_max: int = 5
    """So many next calls are suggested."""

    collapse_count_min: int = 3
    """So many like calls in a row, or more, are drawn as one."""
    spans_drawn_max: int = 2000
    """A call tree or lanes with more boxes are drawn with subtrees closed, the deepest first, and long rows cut."""

    def __post_init__(self) -> None:
        for name in ("type_weights", "source_weights", "next_orders"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        self._check_edges()
        self._check_asking()
        self._check_next()
        check_range("graph.collapse_count_min", self.collapse_count_min, least=2)
        check_range("graph.spans_drawn_max", self.spans_drawn_max, least=10)

    def _check_edges(self) -> None:
        check_keys("graph.type_weights", self.type_weights, _TYPES)
        check_ranges("graph.type_weights", self.type_weights, above=0, most=1)
        check_keys("graph.source_weights", self.source_weights, _SOURCES)
        check_ranges("graph.source_weights", self.source_weights, above=0, most=1)
        # Who was seen more often never weighs less: promotion only ever raises a weight.
        check_order(*((f"graph.source_weights.{name}", self.source_weights[name]) for name in reversed(_SOURCES)))
        check_one_of("graph.promote_by", self.promote_by, PROMOTIONS)
        counts = {"promote_count_min": self.promote_count_min, "evidence_max": self.evidence_max}
        more = {"same_id_max": self.same_id_max, "similar_max": self.similar_max, "next_max": self.next_max}
        check_ranges("graph", counts | more | {"similar_witnesses_max": self.similar_witnesses_max}, least=1)
        check_range("graph.repairs_told_max", self.repairs_told_max, least=0)
        check_range("graph.settled_hours", self.settled_hours, least=0)

    def _check_asking(self) -> None:
        check_range("graph.path_weight_min", self.path_weight_min, above=0, most=1)
        check_ranges("graph", {"path_step_cost": self.path_step_cost, "template_count": self.template_count}, above=0)

    def _check_next(self) -> None:
        check_keys("graph.next_orders", self.next_orders, _ORDERS)
        check_ranges("graph.next_orders", self.next_orders, least=1, most=NEXT_ORDER_MAX)
        check_range("graph.next_cache_decay", self.next_cache_decay, above=0, most=1)
        fit_from = ("graph.next_fit_from_share", self.next_fit_from_share)
        fit_to = ("graph.next_fit_to_share", self.next_fit_to_share)
        for rule, share in (fit_from, fit_to, ("graph.next_online_share", self.next_online_share)):
            check_range(rule, share, least=0, most=1)
        check_order(fit_from, fit_to)
        if self.next_online_share == 1:
            raise RulesError("graph.next_online_share", "is 1: one call would decide the mixture alone")
        check_range("graph.next_fit_rounds", self.next_fit_rounds, least=0)
