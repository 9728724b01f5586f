"""Every endpoint of the service: a module for each resource, a row for each module.

May touch: what ``Call`` hands it.
"""

from custody.server.endpoints import Endpoint
from custody.server.routes import (
    blame,
    chains,
    changes,
    conversations,
    erasures,
    evidence,
    github,
    graph,
    lines,
    otlp,
    sources,
    state,
    trust,
)
from custody.server.routes import records as kept

ENDPOINTS: tuple[Endpoint, ...] = (
    *state.ENDPOINTS,
    *kept.ENDPOINTS,
    *conversations.ENDPOINTS,
    *evidence.ENDPOINTS,
    *chains.ENDPOINTS,
    *otlp.ENDPOINTS,
    *blame.ENDPOINTS,
    *trust.ENDPOINTS,
    *changes.ENDPOINTS,
    *sources.ENDPOINTS,
    *graph.ENDPOINTS,
    *lines.ENDPOINTS,
    *erasures.ENDPOINTS,
    *github.ENDPOINTS,
)
