"""Lines over HTTP: blame of document 000, why, stats, sessions, and the verdict on a change."""

from custody.attribution.wire import StatsReport
from custody.core.errors import InputError
from custody.core.wire.report import LogReport, SessionReport
from custody.gate.app.gate import GateRequest, gate
from custody.gate.wire.report import GateReport
from custody.ledger.sessions import list_session_log
from custody.server.app.questions import (
    answer_blame_request,
    answer_session_request,
    answer_stats_request,
    answer_why_request,
    require_project_repository,
)
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.problems import HttpProblem
from custody.server.route_kinds import (
    Question,
    describe_number_param,
    describe_word_param,
    get_read_note,
    make_body_question_endpoint,
    make_question_endpoint,
    read_number_param,
    read_optional_number_param,
    read_word_param,
)
from custody.server.wire.service import BlameAnswer, BlameBody, GateBody, decode_blame_body
from custody.why.report import WhyReport
from custody.workspace.workspace import Workspace

LINE_MAX = 999_999_999
SESSIONS, SESSIONS_MAX = 20, 10_000
DOTS = ".."

_REV = describe_word_param("rev", "The revision of the files.")
_LINE = describe_number_param("line", "The line number.", None, 1, LINE_MAX, required=True)
_LINES_OF = describe_word_param("agent", "Only the lines of this agent.")
_SESSION = describe_word_param("session", "A session: its id, or the start of it.")
_AGENT = describe_word_param("agent", "Only sessions of this agent.")
_LIMIT = describe_number_param("limit", "Maximum number of sessions.", SESSIONS, 1, SESSIONS_MAX)


def _make_why_question(call: EndpointCall) -> Question:
    file, revision = call.require_text("file"), read_word_param(call, _REV)
    line = read_optional_number_param(call, _LINE)
    if line is None:
        raise InputError("missing parameter 'line'", hint="add it to the query")
    note = get_read_note(call)
    return lambda workspace: answer_why_request(workspace, file, line, revision=revision, note=note)


def _make_stats_question(call: EndpointCall) -> Question:
    path, revision, agent = call.text("path"), read_word_param(call, _REV), read_word_param(call, _LINES_OF)
    return lambda workspace: answer_stats_request(workspace, path, revision=revision, agent=agent)


def _make_log_question(call: EndpointCall) -> Question:
    agent, limit = read_word_param(call, _AGENT), read_number_param(call, _LIMIT)
    session, note = read_word_param(call, _SESSION), get_read_note(call)
    if session is None:
        return lambda workspace: list_session_log(workspace, limit=limit, agent=agent)
    return lambda workspace: answer_session_request(workspace, session, agent=agent, note=note)


def _make_gate_question(_call: EndpointCall, body: GateBody) -> Question:
    if DOTS in body.base or DOTS in body.head:
        raise InputError("'base' and 'head' must be a commit each", hint="send both ends separately")
    try:
        description = None if body.description is None else body.description.encode()
    except UnicodeEncodeError as error:
        raise InputError("'description' contains a lone surrogate", hint="send valid Unicode text") from error
    request = GateRequest(change=f"{body.base}{DOTS}{body.head}", description=description)
    return lambda workspace: gate(require_project_repository(workspace), request)


ENDPOINTS: tuple[Endpoint, ...] = (
    make_question_endpoint(
        "/api/v1/why",
        "explain-line",
        "Explain a line; the prompt only with the scope 'text', and every such read is logged.",
        WhyReport,
        _make_why_question,
        describe_word_param("file", "A path relative to the repository root.", required=True),
        _LINE,
        _REV,
    ),
    make_question_endpoint(
        "/api/v1/stats",
        "count-lines",
        "Count the lines of a file, a folder or the whole repository by author.",
        StatsReport,
        _make_stats_question,
        describe_word_param("path", "A file or folder, relative to the repository root."),
        _REV,
        _LINES_OF,
    ),
    make_question_endpoint(
        "/api/v1/log",
        "list-sessions",
        "List the last active sessions, or show one; its prompts only with the scope 'text'.",
        (LogReport, SessionReport),
        _make_log_question,
        _SESSION,
        _AGENT,
        _LIMIT,
    ),
    make_body_question_endpoint(
        "/api/v1/gate",
        "judge-change",
        "Check a change and return the verdict; needs the project's repository.",
        GateReport,
        GateBody,
        _make_gate_question,
    ),
)


# Blame of document 000: the client ran git blame, the service returns the trace that wrote each segment.


async def answer_blame_call(call: EndpointCall) -> HttpAnswer:
    """Return the trace that wrote each segment."""
    request = decode_blame_body(await call.body())
    if request.project_id is not None and request.project_id != call.grant.project:
        raise HttpProblem(403, "this token is for another project", remedy="use a token of that project")
    with_text = call.may(TokenScope.TEXT)

    def ask(workspace: Workspace) -> BlameAnswer:
        answer = answer_blame_request(workspace, request, with_text=with_text)
        names = sorted(
            {
                f"{attribution.agent} {attribution.trace_id}"
                for attribution in answer.attributions
                if attribution.conversation_content
            }
        )
        for name in names:
            call.note_read(f"conversation {name}")
        return answer

    return HttpAnswer.of(await call.ask(ask))


BLAME_ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST",
        path="/api/v1/blame",
        name="blame",
        summary="Return the trace that wrote each segment of a blamed file; prompts only with the scope 'text'.",
        scope=TokenScope.READ,
        handle=answer_blame_call,
        takes={JSON: BlameBody},
        gives={200: BlameAnswer},
    ),
)
