"""The blame endpoint, and the same handler on FastAPI with pydantic: the same payload, the same answer, no store.

    python -m bench.service_blame ours|fastapi

serves one of them on a free port, as the bench starts it. Both read and check the request, check the token, call a
function in a thread that answers from the request alone, and write the answer. Both run on uvicorn with uvloop and
httptools. Ours has limits, rate limits and metrics; the other only compares a token.
"""

import hmac
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from bench.bars import BenchError
from bench.service_load import Client, Running, clients, drive, processor_seconds, request, running
from custody.server.wire.service import BlameAnswer, BlameBody, SegmentAnswer

TOKEN = "bench-" + "0" * 32
SEGMENTS = 50
REQUESTS = 400
CLIENTS = 4
PATH = "/api/v1/blame"
SHA = r"^([0-9a-f]{40}|[0-9a-f]{64})$"
OURS, FASTAPI = "ours", "fastapi"
ROOT = Path(__file__).parents[1]


def question(segments: int = SEGMENTS) -> dict[str, object]:
    """Return the request of a client that ran git blame."""
    blamed = [
        {
            "start_line": 10 * n + 1,
            "end_line": 10 * n + 10,
            "commit_sha": f"{n:040x}",
            "parent_sha": f"{n + 1:040x}",
            "content_hash": f"sha256:{n:064x}",
            "timestamp": "2026-01-31T12:00:00Z",
        }
        for n in range(segments)
    ]
    return {"file_path": "src/app/module.py", "blame_data": blamed}


def told(first: int, last: int) -> dict[str, Any]:
    """Return the answer for one segment, the same for both servers."""
    return {
        "start_line": first,
        "end_line": last,
        "tier": 1,
        "confidence": 0.97,
        "trace_id": f"trace-{first}",
        "agent": "robot",
        "model_id": "vendor/model-1",
        "conversation_url": f"https://x.example/{first}",
        "conversation_content": None,
        "grade": "captured",
        "signals": ["revision", "path", "content_hash"],
        "reason": None,
    }


def stubbed(_workspace: object, asked: BlameBody, *, with_text: bool) -> BlameAnswer:
    """Return an answer made from the query alone, without the store."""
    del with_text
    found = [SegmentAnswer(**told(one.start_line, one.end_line)) for one in asked.blame_data]
    return BlameAnswer(file_path=asked.file_path, attributions=found)


def ours() -> Any:
    """Return the service with the function behind its blame endpoint replaced."""
    from custody.server.auth import CallerLimits, PerStartKeeper, Settings
    from custody.server.listener import create_app
    from custody.server.routes import lines
    from custody.workspace.workspace import Workspace

    setattr(lines, "answer_blame_request", stubbed)  # noqa: B010 - a name that the module has for itself
    workspace = Workspace(Path())
    limits = CallerLimits(rate_per_second=1e9, rate_burst=10**9)
    return create_app(Settings(keeper=PerStartKeeper(workspace, TOKEN), now_ns=workspace.now_ns, limits=limits))


def fastapi() -> Any:
    """Return the same service on FastAPI, as its guide shows: models for input and output, a token dependency."""
    from fastapi import Depends, FastAPI, Header, HTTPException
    from pydantic import BaseModel, Field

    sha = Annotated[str, Field(pattern=SHA)]
    line = Annotated[int, Field(ge=1, le=2**31 - 1)]

    class Segment(BaseModel):
        start_line: line
        end_line: line
        commit_sha: sha | None = None
        parent_sha: sha | None = None
        content_hash: Annotated[str, Field(max_length=80)] | None = None
        timestamp: str | int | float | None = None

    class Asked(BaseModel):
        file_path: Annotated[str, Field(min_length=1, max_length=4096)]
        blame_data: Annotated[list[Segment], Field(max_length=10_000)]
        project_id: Annotated[str, Field(min_length=1, max_length=1000)] | None = None

    class Blamed(BaseModel):
        start_line: int
        end_line: int
        tier: int | None
        confidence: float
        trace_id: str | None
        agent: str | None
        model_id: str | None
        conversation_url: str | None
        conversation_content: str | None
        grade: str | None
        signals: list[str]
        reason: str | None

    class Answered(BaseModel):
        file_path: str
        attributions: list[Blamed]

    async def project(authorization: Annotated[str, Header()]) -> str:
        if not hmac.compare_digest(authorization, f"Bearer {TOKEN}"):
            raise HTTPException(401)
        return "default"

    app = FastAPI()

    @app.post(PATH)
    def blame(asked: Asked, granted: Annotated[str, Depends(project)]) -> Answered:
        if asked.project_id not in (None, granted):
            raise HTTPException(403)
        found = [Blamed(**told(one.start_line, one.end_line)) for one in asked.blame_data]
        return Answered(file_path=asked.file_path, attributions=found)

    return app


APPS = {OURS: ours, FASTAPI: fastapi}


def serve(name: str) -> None:
    """Answer until killed."""
    import uvicorn

    http: Any = "httptools"
    if name == OURS:
        from custody.server.auth import CallerLimits
        from custody.server.listener import make_limited_protocol

        http = make_limited_protocol(CallerLimits())
    bound = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        APPS[name](), http=http, ws="none", loop="uvloop", log_config=None, access_log=False, server_header=False
    )
    print(json.dumps({"port": bound.getsockname()[1]}), flush=True)
    print("listening", file=sys.stderr, flush=True)
    uvicorn.Server(config).run([bound])


@dataclass(frozen=True, slots=True)
class Took:
    """Elapsed seconds of some requests, and the server's processor seconds."""

    clock: float
    processor: float


@dataclass(frozen=True, slots=True)
class Server:
    """One of the two servers, with its clients."""

    made: Running
    asked: list[Client]
    data: bytes

    def timed(self, count: int = REQUESTS) -> Took:
        """Send this many requests."""
        before = processor_seconds(self.made.process.pid)
        clock = drive(self.asked, [self.data] * count, 200)
        return Took(clock, processor_seconds(self.made.process.pid) - before)


@contextmanager
def both() -> Iterator[dict[str, Server]]:
    """Yield the two servers; their answers must be equal."""
    data = request(PATH, question(), TOKEN)
    with ExitStack() as stack:
        made = {}
        for name in APPS:
            server = stack.enter_context(running([sys.executable, "-m", "bench.service_blame", name], ROOT))
            made[name] = Server(server, stack.enter_context(clients(server.port, CLIENTS)), data)
        answers = [server.asked[0].ask(data) for server in made.values()]
        if len({(status, json.dumps(json.loads(body), sort_keys=True)) for status, body in answers}) != 1:
            raise BenchError(f"the two servers answer differently: {answers}")
        yield made


if __name__ == "__main__":
    serve(sys.argv[1])
