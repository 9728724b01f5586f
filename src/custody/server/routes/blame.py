"""Blame as document 000 asks for it: the client ran git blame, the service says which trace wrote each segment."""

from custody.server.app.blame_request import answer_blame
from custody.server.app.tenancy_model import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.problems import HttpProblem
from custody.server.wire.service import BlameAnswer, BlameBody
from custody.server.wire.service import decode_blame_body as decoded
from custody.workspace.workspace import Workspace


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


ENDPOINTS: tuple[Endpoint, ...] = (
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
