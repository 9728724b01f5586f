"""Every bench by name. A module of benches holds a ``BENCHES`` tuple and is one row here."""

from collections.abc import Mapping

from bench import hook, sanity, start, store
from bench.growth import Growth
from bench.names import by_name
from bench.runner import Bench

BENCHES: Mapping[str, Bench | Growth] = by_name(
    sanity.BENCHES,
    hook.BENCHES,
    start.BENCHES,
    store.BENCHES,
)
