"""What is forgotten for good."""

from custody.app.erase import erase
from custody.app.tenancy_model import Scope
from custody.service.asking import asked, by, reported
from custody.service.endpoints import JSON, Answer, Call, Endpoint
from custody.wire.questions import ErasureAsked
from custody.wire.reports import EraseReport


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
