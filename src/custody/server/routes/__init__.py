"""Every endpoint of the service: a module for each resource, a row for each module.

May touch: what ``EndpointCall`` offers.
"""

from custody.server.endpoints import Endpoint
from custody.server.routes import chains, changes, github, graph, lines, records, reservations, sources, state, trust

ENDPOINTS: tuple[Endpoint, ...] = (
    *state.ENDPOINTS,
    *records.RECORD_ENDPOINTS,
    *records.CONVERSATION_ENDPOINTS,
    *records.EVIDENCE_ENDPOINTS,
    *chains.ENDPOINTS,
    *records.OTLP_ENDPOINTS,
    *lines.BLAME_ENDPOINTS,
    *trust.ENDPOINTS,
    *reservations.ENDPOINTS,
    *changes.ENDPOINTS,
    *sources.ENDPOINTS,
    *graph.ENDPOINTS,
    *lines.ENDPOINTS,
    *records.ERASURE_ENDPOINTS,
    *github.ENDPOINTS,
)
