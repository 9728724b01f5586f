"""Where agents stand and why, and the decisions that it rests on."""

from custody.core.errors import InputError
from custody.core.wire.report import encode_report
from custody.server.app.decisions import ConflictingDecision, decide
from custody.server.app.listing import decisions
from custody.server.app.questions import agent_explained, agent_shown
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.problems import HttpProblem
from custody.server.route_kinds import (
    Question,
    a_flag,
    describe_number_param,
    describe_word_param,
    make_list_endpoint,
    make_question_endpoint,
    number,
    place,
    read_actor,
    read_question_body,
    word,
)
from custody.server.wire.service import DecisionBody, DecisionsPage, Problem
from custody.trust.app.show import trust_list
from custody.trust.wire import TrustListReport, TrustRecordReport, TrustShowReport, TrustWhyReport

SHOWN, SHOWN_MAX = 10, 10_000

_LIMIT = describe_number_param("limit", "How many decisions to list.", SHOWN, 0, SHOWN_MAX)
_AT = describe_word_param("at", "As of a past moment, RFC 3339.")
_ONE = describe_word_param("agent", "One agent instead, as /api/v1/trust/{agent} has it.")
_AGENT = {"agent": "The agent's name."}


def _list(call: EndpointCall) -> Question:
    """Every agent; or one by its name, which may have a slash in it."""
    explains, agent = call.flag("why", default=False), word(call, _ONE)
    if agent is None:
        if any(call.text(name) is not None for name in ("why", "limit", "at")):
            raise InputError("'why', 'limit' and 'at' are for one agent", hint="name it")
        return trust_list
    return _explained(call, agent) if explains else _shown(call, agent)


def _shown(call: EndpointCall, agent: str) -> Question:
    limit = number(call, _LIMIT)
    return lambda workspace: agent_shown(workspace, agent, limit=limit)


def _explained(call: EndpointCall, agent: str) -> Question:
    at = word(call, _AT)
    return lambda workspace: agent_explained(workspace, agent, at=at)


async def record(call: EndpointCall) -> HttpAnswer:
    """Record a decision."""
    said = await read_question_body(call, DecisionBody)
    who = read_actor(call)
    try:
        done = await call.ask(lambda workspace: decide(workspace, said, who))
    except ConflictingDecision as error:
        raise HttpProblem(409, error.message, remedy=error.hint) from error
    return HttpAnswer(body=encode_report(done.report), status=201 if done.is_new else 200)


ENDPOINTS: tuple[Endpoint, ...] = (
    make_question_endpoint(
        "/api/v1/trust",
        "list-trust",
        "List every agent with its score and tier; or ask about one agent, whatever its name holds.",
        (TrustListReport, TrustShowReport, TrustWhyReport),
        _list,
        _ONE,
        a_flag("why", "With an agent: every record and what it did."),
        _LIMIT,
        _AT,
        by_name=True,
    ),
    make_question_endpoint(
        "/api/v1/trust/{agent}",
        "show-trust",
        "Show one agent's score and the newest decisions about it.",
        TrustShowReport,
        lambda call: _shown(call, place(call, "agent")),
        _LIMIT,
        places=_AGENT,
    ),
    make_question_endpoint(
        "/api/v1/trust/{agent}/why",
        "explain-trust",
        "Say how an agent came to its score: every record and what it did.",
        TrustWhyReport,
        lambda call: _explained(call, place(call, "agent")),
        _AT,
        places=_AGENT,
    ),
    make_list_endpoint("decisions", "List decisions about agents' changes.", decisions, DecisionsPage),
    Endpoint(
        method="POST",
        path="/api/v1/decisions",
        name="record-decision",
        words="Record what was decided about an agent's change, once; or correct an earlier decision.",
        scope=TokenScope.WRITE,
        handle=record,
        takes={JSON: DecisionBody},
        gives={200: TrustRecordReport, 201: TrustRecordReport, 409: Problem},
    ),
)
