"""The numbers of the graph are those of document 004 and its page, and their relations hold."""

from typing import Any

import pytest

from custody.core.errors import RulesError
from custody.graph.model import EdgeSource, EdgeType
from custody.graph.paths import WEIGHT_MIN
from custody.graph.prediction import CACHE_DECAY, CALLS_REMEMBERED, ORDERS
from custody.graph.rules import GraphRules

RULES = GraphRules()


# Conformance: 004-004, 004-013, 004-026, 004-027, 004-028, 004-029, 004-030, 004-031, 004-032, 004-033
# Conformance: 004-034
def test_types_and_sources_have_the_documents_weights() -> None:
    assert dict(RULES.type_weights) == {"dependency": 1.0, "contains": 0.8, "sequence": 0.5}
    assert dict(RULES.source_weights) == {"observed": 1.0, "inferred": 0.7, "template": 0.5}
    assert tuple(RULES.type_weights) == tuple(edge_type.value for edge_type in EdgeType)
    assert tuple(RULES.source_weights) == tuple(source.value for source in EdgeSource)


# Conformance: 004-053
def test_three_observations_promote() -> None:
    assert (RULES.promote_count_min, RULES.promote_by) == (3, "observations")


def test_the_numbers_of_the_page() -> None:
    assert WEIGHT_MIN == 0.1
    assert dict(ORDERS) == {"siblings": 4, "flat": 3, "failures": 3, "marks": 3}
    assert max(ORDERS.values()) < CALLS_REMEMBERED
    assert CACHE_DECAY == 0.95


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"type_weights": {"contains": 1.0}}, "graph.type_weights"),
        ({"type_weights": {"dependency": 0.0, "contains": 0.8, "sequence": 0.5}}, "graph.type_weights.dependency"),
        ({"source_weights": {"observed": 0.2, "inferred": 0.7, "template": 0.5}}, "graph.source_weights"),
        ({"promote_count_min": 0}, "graph.promote_count_min"),
        ({"promote_by": "chance"}, "graph.promote_by"),
    ],
)
def test_an_invalid_number_is_refused_by_name(wrong: dict[str, Any], rule: str) -> None:
    with pytest.raises(RulesError) as caught:
        GraphRules(**wrong)
    assert caught.value.rule.startswith(rule)
