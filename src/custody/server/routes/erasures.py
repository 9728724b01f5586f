"""What is forgotten for good."""

from custody.core.wire.report import EraseReport
from custody.ledger.erase import erase
from custody.server.app.tenancy_model import Scope
from custody.server.endpoints import JSON, Answer, Call, Endpoint
from custody.server.question_routes import asked, by, reported
from custody.server.wire.questions import ErasureAsked


async def forget(call: Call) -> Answer:
    """Erase what a record says."""
    wanted = await asked(call, ErasureAsked)
    who = wanted.who or by(call)
    return await reported(call, lambda desk: erase(desk, [wanted.record], who=who, why=wanted.why))


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST",
        path="/api/v1/erasures",
        name="erase",
        words="Forget what a record says, or one stored text, and keep the proof that it was there; for good.",
        scope=Scope.ADMIN,
        handle=forget,
        takes={JSON: ErasureAsked},
        gives={200: EraseReport},
    ),
)
