"""Reservations of lines that merge without review: listed with a version, added by compare-and-swap."""

from custody.core.errors import InputError
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer, Parameter
from custody.server.problems import HttpProblem
from custody.server.route_kinds import read_actor, read_question_body
from custody.server.wire.service import Problem
from custody.share.budget import ReservationConflict, accept_shared_reservations, list_shared_reservations
from custody.share.wire import ReservationBody, ReservationList


async def list_reservations(call: EndpointCall) -> HttpAnswer:
    """List the reservations after a time."""
    since = call.text("since")
    if since is None:
        raise InputError("missing parameter 'since'", hint="add it to the query")
    return HttpAnswer.of(await call.ask(lambda workspace: list_shared_reservations(workspace, since)))


async def reserve_lines(call: EndpointCall) -> HttpAnswer:
    """Add reservations to the version that the caller has read."""
    body, who = await read_question_body(call, ReservationBody), read_actor(call)
    try:
        done = await call.ask(lambda workspace: accept_shared_reservations(workspace, body, who))
    except ReservationConflict as error:
        raise HttpProblem(409, error.message, remedy=error.hint) from error
    return HttpAnswer.of(done, 201)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/api/v1/reservations",
        name="list-reservations",
        summary="List the lines reserved for merges without review after a time, with the version of the list.",
        scope=TokenScope.READ,
        handle=list_reservations,
        gives={200: ReservationList},
        parameters=(Parameter("since", "The start of the budget window, RFC 3339.", required=True),),
    ),
    Endpoint(
        method="POST",
        path="/api/v1/reservations",
        name="reserve-lines",
        summary="Reserve lines in the budget of merges without review; a conflict if the list has another version.",
        scope=TokenScope.WRITE,
        handle=reserve_lines,
        takes={JSON: ReservationBody},
        gives={201: ReservationList, 409: Problem},
    ),
)
