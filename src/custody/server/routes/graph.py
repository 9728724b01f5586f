"""The graph of tool calls."""

from custody.core.errors import InputError
from custody.graph.app.questions import (
    ViewOptions,
    find_graph_path,
    find_related_graph_nodes,
    show_call_graph,
    suggest_next_tool_calls,
)
from custody.graph.wire.report import GraphNextReport, GraphPathReport, GraphRelatedReport, GraphShowReport
from custody.server.app.questions import answer_calls_request
from custody.server.endpoints import Endpoint, EndpointCall
from custody.server.route_kinds import (
    Question,
    describe_choice_param,
    describe_flag_param,
    describe_number_param,
    describe_repeated_param,
    describe_word_param,
    make_question_endpoint,
    read_choice_param,
    read_optional_number_param,
    read_path_param,
    read_repeated_param,
    read_word_param,
    require_word_param,
)

SHOWN_MAX = 1000
AFTER_MAX = 100
"""Maximum previous calls in one request."""

_PALETTE = describe_choice_param("palette", "Colors of edges.", ("document", "cvd"))
_THEME = describe_choice_param("theme", "Background.", ("dark", "light"))
_VIEW_PARAMS = (describe_flag_param("lanes", "Show a session as a timeline instead of a tree."), _PALETTE, _THEME)
_UNIT = describe_word_param("session", "A session or an execution: its id, or the start of it.")
_SESSION = describe_word_param("session", "A session: its id, or the start of it.")
_START = describe_word_param("start", "The first node.", required=True)
_END = describe_word_param("end", "The last node.", required=True)
_COST = describe_choice_param(
    "cost",
    "1/weight, the product of weights, or the surprisal of each step.",
    ("document", "reliability", "surprisal"),
)
_NODE = describe_word_param("node", "The node.", required=True)
_FORMULA = describe_choice_param("formula", "The formula of the weights.", ("page", "document"))
_AFTER = describe_repeated_param("after", "Instead of a session: the names of the previous calls, in order.")
_LIMIT = describe_number_param("limit", "Maximum number of results.", None, 1, SHOWN_MAX)


def _read_view_options(call: EndpointCall, session: str | None) -> ViewOptions:
    lanes = call.flag("lanes", default=False)
    if lanes and session is None:
        raise InputError("'lanes' needs a session", hint="/api/v1/conversations lists sessions")
    palette, theme = read_choice_param(call, _PALETTE), read_choice_param(call, _THEME)
    return ViewOptions(session=session, lanes=lanes, palette=palette, theme=theme)  # type: ignore[arg-type]  # checked


def _make_graph_question(call: EndpointCall) -> Question:
    options = _read_view_options(call, read_word_param(call, _UNIT))
    return lambda workspace: show_call_graph(workspace, options)


def _make_calls_question(call: EndpointCall) -> Question:
    options = _read_view_options(call, read_path_param(call, "session"))
    return lambda workspace: answer_calls_request(workspace, options)


def _make_path_question(call: EndpointCall) -> Question:
    start, end, cost = require_word_param(call, _START), require_word_param(call, _END), read_choice_param(call, _COST)
    return lambda workspace: find_graph_path(workspace, start, end, cost)  # type: ignore[arg-type]  # checked


def _make_related_question(call: EndpointCall) -> Question:
    node, formula = require_word_param(call, _NODE), read_choice_param(call, _FORMULA)
    limit = read_optional_number_param(call, _LIMIT)
    return lambda workspace: find_related_graph_nodes(workspace, node, formula, limit)  # type: ignore[arg-type]  # checked


def _make_next_question(call: EndpointCall) -> Question:
    session, after = read_word_param(call, _SESSION), read_repeated_param(call, _AFTER, AFTER_MAX)
    if (session is None) == (not after):
        raise InputError("send either 'session' or 'after'", hint="/api/v1/conversations lists sessions")
    limit = read_optional_number_param(call, _LIMIT)
    return lambda workspace: suggest_next_tool_calls(workspace, session, after, limit)


ENDPOINTS: tuple[Endpoint, ...] = (
    make_question_endpoint(
        "/api/v1/graph",
        "show-graph",
        "Show the graph learned from all sessions and executions, or the calls of one session.",
        GraphShowReport,
        _make_graph_question,
        _UNIT,
        *_VIEW_PARAMS,
    ),
    make_question_endpoint(
        "/api/v1/graph/path",
        "find-path",
        "Find the cheapest path from one node to another.",
        GraphPathReport,
        _make_path_question,
        _START,
        _END,
        _COST,
    ),
    make_question_endpoint(
        "/api/v1/graph/related",
        "find-related",
        "Find the most similar nodes, by their shared neighbors.",
        GraphRelatedReport,
        _make_related_question,
        _NODE,
        _FORMULA,
        _LIMIT,
    ),
    make_question_endpoint(
        "/api/v1/graph/next",
        "suggest-next",
        "Suggest the next call in a session, or after some calls.",
        GraphNextReport,
        _make_next_question,
        _SESSION,
        _AFTER,
        _LIMIT,
    ),
    make_question_endpoint(
        "/api/v1/sessions/{session}/calls",
        "show-calls",
        "Show the calls of one session or execution as a tree or a timeline.",
        GraphShowReport,
        _make_calls_question,
        *_VIEW_PARAMS,
        places={"session": "Its id, or the start of it; for an id with a slash use /api/v1/graph."},
    ),
)
