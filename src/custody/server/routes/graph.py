"""What agents and programs call, inside what and in what order."""

from custody.core.errors import InputError
from custody.graph.app.questions import ViewOptions, graph_next, graph_path, graph_related, graph_show
from custody.graph.wire.report import GraphNextReport, GraphPathReport, GraphRelatedReport, GraphShowReport
from custody.server.app.questions import session_calls
from custody.server.endpoints import Endpoint, EndpointCall
from custody.server.route_kinds import (
    Question,
    a_choice,
    a_flag,
    choice,
    describe_number_param,
    describe_repeated_param,
    describe_word_param,
    make_question_endpoint,
    needed_word,
    number_given,
    place,
    read_repeated_param,
    word,
)

SHOWN_MAX = 1000
AFTER_MAX = 100
"""Calls that can be named before the next one."""

_PALETTE = a_choice("palette", "Colours of edges.", ("document", "cvd"))
_THEME = a_choice("theme", "Background.", ("dark", "light"))
_LOOKS = (a_flag("lanes", "A session as bars in time instead of a tree."), _PALETTE, _THEME)
_UNIT = describe_word_param("session", "A session or an execution, by its id or the beginning of it.")
_SESSION = describe_word_param("session", "A session, by its id or the beginning of it.")
_START = describe_word_param("start", "Where the way begins.", required=True)
_END = describe_word_param("end", "Where it ends.", required=True)
_COST = a_choice(
    "cost",
    "1/weight, the weights multiplied, or how unexpected each step is.",
    ("document", "reliability", "surprisal"),
)
_NODE = describe_word_param("node", "The node.", required=True)
_FORMULA = a_choice("formula", "How it is weighed.", ("page", "document"))
_AFTER = describe_repeated_param("after", "Instead of a session: calls by their fine names, in order.")
_LIMIT = describe_number_param("limit", "How many.", None, 1, SHOWN_MAX)


def _look(call: EndpointCall, session: str | None) -> ViewOptions:
    lanes = call.flag("lanes", default=False)
    if lanes and session is None:
        raise InputError("'lanes' is for one session", hint="name it: /api/v1/conversations lists them")
    palette, theme = choice(call, _PALETTE), choice(call, _THEME)
    return ViewOptions(session=session, lanes=lanes, palette=palette, theme=theme)  # type: ignore[arg-type]  # checked


def _graph(call: EndpointCall) -> Question:
    look = _look(call, word(call, _UNIT))
    return lambda workspace: graph_show(workspace, look)


def _calls(call: EndpointCall) -> Question:
    look = _look(call, place(call, "session"))
    return lambda workspace: session_calls(workspace, look)


def _path(call: EndpointCall) -> Question:
    start, end, cost = needed_word(call, _START), needed_word(call, _END), choice(call, _COST)
    return lambda workspace: graph_path(workspace, start, end, cost)  # type: ignore[arg-type]  # checked


def _related(call: EndpointCall) -> Question:
    node, formula = needed_word(call, _NODE), choice(call, _FORMULA)
    limit = number_given(call, _LIMIT)
    return lambda workspace: graph_related(workspace, node, formula, limit)  # type: ignore[arg-type]  # checked


def _next(call: EndpointCall) -> Question:
    session, after = word(call, _SESSION), read_repeated_param(call, _AFTER, AFTER_MAX)
    if (session is None) == (not after):
        raise InputError("name a session or 'after', and not both", hint="/api/v1/conversations lists sessions")
    limit = number_given(call, _LIMIT)
    return lambda workspace: graph_next(workspace, session, after, limit)


ENDPOINTS: tuple[Endpoint, ...] = (
    make_question_endpoint(
        "/api/v1/graph",
        "show-graph",
        "Show the graph that was learnt from all sessions and executions, or the calls of one session.",
        GraphShowReport,
        _graph,
        _UNIT,
        *_LOOKS,
    ),
    make_question_endpoint(
        "/api/v1/graph/path",
        "find-path",
        "Find the cheapest way from one node to another.",
        GraphPathReport,
        _path,
        _START,
        _END,
        _COST,
    ),
    make_question_endpoint(
        "/api/v1/graph/related",
        "find-related",
        "Find the nodes that are most like one, by the neighbours that they share.",
        GraphRelatedReport,
        _related,
        _NODE,
        _FORMULA,
        _LIMIT,
    ),
    make_question_endpoint(
        "/api/v1/graph/next",
        "suggest-next",
        "Say which call is likely to come next in a session, or after some calls.",
        GraphNextReport,
        _next,
        _SESSION,
        _AFTER,
        _LIMIT,
    ),
    make_question_endpoint(
        "/api/v1/sessions/{session}/calls",
        "show-calls",
        "Show the calls of one session or execution as a tree, or as bars in time.",
        GraphShowReport,
        _calls,
        *_LOOKS,
        places={"session": "Its id or the beginning of it; one with a slash is asked for at /api/v1/graph."},
    ),
)
