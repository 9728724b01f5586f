"""Every bench by name. A module of benches holds a ``BENCHES`` tuple and is one row here."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TextIO

from bench import (
    append,
    blame,
    cite,
    cite_near,
    cite_registry,
    cite_sessions,
    dupes,
    dupes_life,
    dupes_pairs,
    facts,
    first_minutes,
    gate,
    graph,
    graph_next,
    hook,
    install,
    mcp_agents,
    otlp,
    pages,
    peers,
    real,
    review,
    sanity,
    search,
    service,
    service_fuzz,
    service_kill,
    sketch,
    span_growth,
    span_import,
    spans,
    start,
    store,
    tables,
    tenancy,
    tenants,
    trust,
    trust_growth,
    undo,
    warm,
)
from bench.attribution import command as attribution
from bench.growth import Growth
from bench.names import by_name
from bench.runner import Bench


class Command(Protocol):
    """A bench with its own command line and tables."""

    def __call__(
        self, argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None
    ) -> int:
        """Run the bench; return its exit status."""


BENCHES: Mapping[str, Bench | Growth] = by_name(
    sanity.BENCHES,
    hook.BENCHES,
    start.BENCHES,
    store.BENCHES,
    append.BENCHES,
    trust_growth.BENCHES,
    blame.BENCHES,
    sketch.BENCHES,
    facts.BENCHES,
    dupes.BENCHES,
    graph.BENCHES,
    cite_registry.BENCHES,
    cite.BENCHES,
    span_growth.BENCHES,
    spans.BENCHES,
    span_import.BENCHES,
)

COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "attribution": attribution.main,
        "blame": blame.main,
        "cite-near": cite_near.main,
        "cite-sessions": cite_sessions.main,
        "dupes": dupes.main,
        "dupes-life": dupes_life.main,
        "dupes-pairs": dupes_pairs.main,
        "facts": facts.main,
        "first-minutes": first_minutes.main,
        "gate": gate.main,
        "graph": graph.main,
        "graph-next": graph_next.main,
        "install-size": install.main,
        "mcp-agents": mcp_agents.main,
        "otlp": otlp.main,
        "pages": pages.main,
        "peers": peers.main,
        "real": real.main,
        "review": review.main,
        "search": search.main,
        "service": service.main,
        "service-fuzz": service_fuzz.main,
        "service-kill": service_kill.main,
        "sketch": sketch.main,
        "tables": tables.main,
        "tenancy": tenancy.main,
        "tenants": tenants.main,
        "trust": trust.main,
        "undo": undo.main,
        "warm-why": warm.main,
    }
)
