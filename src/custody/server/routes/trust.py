"""Scores of agents, their history, and decisions."""

from custody.core.errors import InputError
from custody.core.wire.report import encode_report
from custody.server.app.decisions import ConflictingDecision, accept_decision_request
from custody.server.app.listing import list_decisions_page
from custody.server.app.questions import answer_agent_request, answer_score_request
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.problems import HttpProblem
from custody.server.route_kinds import (
    Question,
    describe_flag_param,
    describe_number_param,
    describe_word_param,
    make_list_endpoint,
    make_question_endpoint,
    read_actor,
    read_number_param,
    read_path_param,
    read_question_body,
    read_word_param,
)
from custody.server.wire.service import DecisionBody, DecisionsPage, Problem
from custody.trust.app.show import trust_list
from custody.trust.wire import TrustListReport, TrustRecordReport, TrustShowReport, TrustWhyReport

SHOWN, SHOWN_MAX = 10, 10_000

_LIMIT = describe_number_param("limit", "Maximum number of decisions.", SHOWN, 0, SHOWN_MAX)
_AT = describe_word_param("at", "At a past time, RFC 3339.")
_ONE = describe_word_param("agent", "Return one agent, like /api/v1/trust/{agent}.")
_AGENT = {"agent": "The name of the agent."}


def _make_trust_question(call: EndpointCall) -> Question:
    """Return the question about all agents, or one agent whose name may contain a slash."""
    explains, agent = call.flag("why", default=False), read_word_param(call, _ONE)
    if agent is None:
        if any(call.text(name) is not None for name in ("why", "limit", "at")):
            raise InputError("'why', 'limit' and 'at' need 'agent'", hint="add 'agent'")
        return trust_list
    return _make_score_question(call, agent) if explains else _make_agent_question(call, agent)


def _make_agent_question(call: EndpointCall, agent: str) -> Question:
    limit = read_number_param(call, _LIMIT)
    return lambda workspace: answer_agent_request(workspace, agent, limit=limit)


def _make_score_question(call: EndpointCall, agent: str) -> Question:
    at = read_word_param(call, _AT)
    return lambda workspace: answer_score_request(workspace, agent, at=at)


async def record_decision(call: EndpointCall) -> HttpAnswer:
    """Record a decision."""
    request = await read_question_body(call, DecisionBody)
    who = read_actor(call)
    try:
        done = await call.ask(lambda workspace: accept_decision_request(workspace, request, who))
    except ConflictingDecision as error:
        raise HttpProblem(409, error.message, remedy=error.hint) from error
    return HttpAnswer(body=encode_report(done.report), status=201 if done.is_new else 200)


ENDPOINTS: tuple[Endpoint, ...] = (
    make_question_endpoint(
        "/api/v1/trust",
        "list-trust",
        "List every agent with its score and tier, or show one agent.",
        (TrustListReport, TrustShowReport, TrustWhyReport),
        _make_trust_question,
        _ONE,
        describe_flag_param("why", "With an agent: every record and how it changed the score."),
        _LIMIT,
        _AT,
        by_name=True,
    ),
    make_question_endpoint(
        "/api/v1/trust/{agent}",
        "show-trust",
        "Show the score of an agent and the newest decisions about it.",
        TrustShowReport,
        lambda call: _make_agent_question(call, read_path_param(call, "agent")),
        _LIMIT,
        places=_AGENT,
    ),
    make_question_endpoint(
        "/api/v1/trust/{agent}/why",
        "explain-trust",
        "Explain the score of an agent: every record and how it changed the score.",
        TrustWhyReport,
        lambda call: _make_score_question(call, read_path_param(call, "agent")),
        _AT,
        places=_AGENT,
    ),
    make_list_endpoint("decisions", "List decisions about agents' changes.", list_decisions_page, DecisionsPage),
    Endpoint(
        method="POST",
        path="/api/v1/decisions",
        name="record-decision",
        summary="Record a decision about an agent's change once, or correct an earlier decision.",
        scope=TokenScope.WRITE,
        handle=record_decision,
        takes={JSON: DecisionBody},
        gives={200: TrustRecordReport, 201: TrustRecordReport, 409: Problem},
    ),
)
