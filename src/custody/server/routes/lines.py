"""Lines over HTTP: blame as document 000 asks for it, why, stats, sessions, and the verdict on a change."""

from custody.attribution.wire import StatsReport
from custody.core.errors import InputError
from custody.core.wire.report import LogReport, SessionReport
from custody.gate.app.gate import GateRequest, gate
from custody.gate.wire.report import GateReport
from custody.ledger.sessions import log
from custody.server.app.questions import answer_blame, line_explained, lines_counted, require_repository, session_shown
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.problems import HttpProblem
from custody.server.route_kinds import (
    Question,
    asking_in_body,
    describe_number_param,
    describe_word_param,
    make_question_endpoint,
    note_of,
    number,
    number_given,
    word,
)
from custody.server.wire.service import BlameAnswer, BlameBody, GateBody
from custody.server.wire.service import decode_blame_body as decoded
from custody.why.report import WhyReport
from custody.workspace.workspace import Workspace

LINE_MAX = 999_999_999
SESSIONS, SESSIONS_MAX = 20, 10_000
DOTS = ".."

_REV = describe_word_param("rev", "The files as of this commit.")
_LINE = describe_number_param("line", "The line's number.", None, 1, LINE_MAX, required=True)
_LINES_OF = describe_word_param("agent", "The share, models and tiers of this agent's lines.")
_SESSION = describe_word_param("session", "One session, by its id or the beginning of it.")
_AGENT = describe_word_param("agent", "Only sessions of this agent.")
_LIMIT = describe_number_param("limit", "How many sessions.", SESSIONS, 1, SESSIONS_MAX)


def _why(call: EndpointCall) -> Question:
    file, revision = call.needed("file"), word(call, _REV)
    line = number_given(call, _LINE)
    if line is None:
        raise InputError("'line' is missing", hint="give it in the question")
    note = note_of(call)
    return lambda workspace: line_explained(workspace, file, line, revision=revision, note=note)


def _stats(call: EndpointCall) -> Question:
    path, revision, agent = call.text("path"), word(call, _REV), word(call, _LINES_OF)
    return lambda workspace: lines_counted(workspace, path, revision=revision, agent=agent)


def _log(call: EndpointCall) -> Question:
    agent, limit = word(call, _AGENT), number(call, _LIMIT)
    session, note = word(call, _SESSION), note_of(call)
    if session is None:
        return lambda workspace: log(workspace, limit=limit, agent=agent)
    return lambda workspace: session_shown(workspace, session, agent=agent, note=note)


def _gate(_call: EndpointCall, asked: GateBody) -> Question:
    if DOTS in asked.base or DOTS in asked.head:
        raise InputError("'base' and 'head' are a commit each", hint="send the two ends apart")
    try:
        said = None if asked.description is None else asked.description.encode()
    except UnicodeEncodeError as error:
        raise InputError("'description' holds half of a pair of signs", hint="send whole signs") from error
    request = GateRequest(change=f"{asked.base}{DOTS}{asked.head}", description=said)
    return lambda workspace: gate(require_repository(workspace), request)


ENDPOINTS: tuple[Endpoint, ...] = (
    make_question_endpoint(
        "/api/v1/why",
        "explain-line",
        "Say why a line is there; what was asked only with the scope 'text', and each such read is noted.",
        WhyReport,
        _why,
        describe_word_param("file", "A path from the repository's root.", required=True),
        _LINE,
        _REV,
    ),
    make_question_endpoint(
        "/api/v1/stats",
        "count-lines",
        "Count whose the lines of a file, a folder or the whole repository are.",
        StatsReport,
        _stats,
        describe_word_param("path", "A file or a folder, from the repository's root."),
        _REV,
        _LINES_OF,
    ),
    make_question_endpoint(
        "/api/v1/log",
        "list-sessions",
        "List the sessions that were active last, or show one; what was asked in it only with the scope 'text'.",
        (LogReport, SessionReport),
        _log,
        _SESSION,
        _AGENT,
        _LIMIT,
    ),
    asking_in_body(
        "/api/v1/gate",
        "judge-change",
        "Judge a change by what is known of its lines; needs the project's repository.",
        GateReport,
        GateBody,
        _gate,
    ),
)


# Blame as document 000 asks for it: the client ran git blame, the service says which trace wrote each segment.


async def blame(call: EndpointCall) -> HttpAnswer:
    """Which trace wrote each segment."""
    asked = decoded(await call.body())
    if asked.project_id is not None and asked.project_id != call.grant.project:
        raise HttpProblem(403, "this token is not good for that project", remedy="use a token of that project")
    with_text = call.may(TokenScope.TEXT)

    def ask(workspace: Workspace) -> BlameAnswer:
        found = answer_blame(workspace, asked, with_text=with_text)
        read = sorted(
            {
                f"{attribution.agent} {attribution.trace_id}"
                for attribution in found.attributions
                if attribution.conversation_content
            }
        )
        for name in read:
            call.note_read(f"conversation {name}")
        return found

    return HttpAnswer.of(await call.ask(ask))


BLAME_ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST",
        path="/api/v1/blame",
        name="blame",
        words="Say which trace wrote each segment of a blamed file; the first words asked only with the scope 'text'.",
        scope=TokenScope.READ,
        handle=blame,
        takes={JSON: BlameBody},
        gives={200: BlameAnswer},
    ),
)
