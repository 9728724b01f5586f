"""What is forgotten for good."""

from custody.core.wire.report import EraseReport
from custody.ledger.erase import erase
from custody.server.app.tenancy_model import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.question_routes import read_actor, read_question_body, render_question_report
from custody.server.wire.questions import ErasureBody


async def forget(call: EndpointCall) -> HttpAnswer:
    """Erase what a record says."""
    wanted = await read_question_body(call, ErasureBody)
    who = wanted.who or read_actor(call)
    return await render_question_report(
        call, lambda workspace: erase(workspace, [wanted.record], who=who, why=wanted.why)
    )


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST",
        path="/api/v1/erasures",
        name="erase",
        words="Forget what a record says, or one stored text, and keep the proof that it was there; for good.",
        scope=TokenScope.ADMIN,
        handle=forget,
        takes={JSON: ErasureBody},
        gives={200: EraseReport},
    ),
)
