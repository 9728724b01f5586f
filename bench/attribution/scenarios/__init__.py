"""Every scenario by name. A module of scenarios holds a ``SCENARIOS`` tuple and is one row here."""

from collections.abc import Mapping

from bench.attribution.scenario import Scenario
from bench.attribution.scenarios import editing, history, hostile, hostile_more, hostile_third, places, queue, shapes
from bench.names import by_name

SCENARIOS: Mapping[str, Scenario] = by_name(
    editing.SCENARIOS,
    history.SCENARIOS,
    shapes.SCENARIOS,
    places.SCENARIOS,
    hostile.SCENARIOS,
    hostile_more.SCENARIOS,
    hostile_third.SCENARIOS,
    queue.SCENARIOS,
)
