"""Services for tests: in this process, or real ones on loopback, with fixed tokens."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from litestar import Litestar
from litestar.testing import TestClient
from msgspec.structs import replace

from custody.server.app.tenancy import Grant, TokenScope
from custody.server.auth import CallerLimits, Settings
from custody.server.listener import create_app, make_limited_protocol
from custody.server.queries import PageTables
from custody.workspace.workspace import Workspace

ALL = "all-scopes"
OTHER = "of-another-project"
AT = "2026-01-31T12:00:00Z"
START_SECONDS_MAX = 30


@dataclass
class TestKeeper:
    """Fixed tokens and projects for a test."""

    __test__ = False
    workspaces: Mapping[str, Workspace]
    grants: dict[str, Grant] = field(default_factory=dict)
    reads: list[tuple[str, str]] = field(default_factory=list)

    def grant(self, presented: str, now_ns: int) -> Grant | None:
        found = self.grants.get(presented)
        return None if found is None or (found.expires_ns or now_ns + 1) <= now_ns else found

    def workspace(self, project: str) -> Workspace:
        return self.workspaces[project]

    def record_text_read(self, grant: Grant, what: str) -> None:
        self.reads.append((grant.token_id, what))


def a_keeper(workspace: Workspace, other: Workspace | None = None) -> TestKeeper:
    """Return a token with all scopes, one for each scope, an expired one, and one of another project."""
    everything = frozenset(TokenScope)
    grants = {
        ALL: Grant("default", everything, "t-all", None),
        "expired": Grant("default", everything, "t-expired", 1),
        OTHER: Grant("other", everything, "t-other", None),
    }
    grants |= {scope.value: Grant("default", frozenset((scope,)), f"t-{scope.value}", None) for scope in TokenScope}
    return TestKeeper({"default": workspace, "other": other or workspace}, grants)


def bearer(token: str = ALL) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@dataclass
class Asked:
    """A service in this process, and its workspace."""

    app: Litestar
    client: TestClient[Litestar]
    keeper: TestKeeper
    workspace: Workspace

    def send(self, what: str, body: Any, token: str = ALL, **headers: str) -> Any:
        return self.client.post(f"/api/v1/{what}", json=body, headers={**bearer(token), **headers})

    def get(self, path: str, token: str = ALL, **headers: str) -> Any:
        return self.client.get(path, headers={**bearer(token), **headers})

    def kept(self) -> list[str]:
        """Return the natural key of every record, oldest first."""
        with self.workspace.reading() as store:
            return [str(record.entry.key) for record in PageTables(store).records((), None, 10_000)]


@contextmanager
def asked(keeper: TestKeeper, **settings: Any) -> Iterator[Asked]:
    """Yield a service in this process."""
    workspace = keeper.workspaces["default"]
    app = create_app(replace(Settings(keeper=keeper, now_ns=workspace.now_ns), **settings))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield Asked(app, client, keeper, workspace)


@contextmanager
def listening(keeper: TestKeeper, limits: CallerLimits, port: int = 0) -> Iterator[int]:
    """Run a real service on loopback in a thread, on any free port if ``port`` is 0; yield its port."""
    workspace = keeper.workspaces["default"]
    app = create_app(Settings(keeper=keeper, now_ns=workspace.now_ns, limits=limits))
    config = uvicorn.Config(
        app, "127.0.0.1", port, http=make_limited_protocol(limits), ws="none", log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    up = threading.Event()
    startup = server.startup

    async def started(sockets: Any = None) -> None:
        await startup(sockets)
        up.set()

    server.startup = started  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run)
    thread.start()
    assert up.wait(START_SECONDS_MAX)
    try:
        yield int(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()


@dataclass
class Started:
    """``custody serve`` in a separate process."""

    process: "subprocess.Popen[str]"
    report: dict[str, Any]
    said: str
    """Its first line on stderr."""

    @property
    def port(self) -> int:
        return int(self.report["port"])

    @property
    def token(self) -> str:
        return str(re.findall(r"token=(\w+)", self.said)[0])


@contextmanager
def started(folder: Path, *words: str) -> Iterator[Started]:
    """Start ``custody serve`` as a user does, on a free port."""
    command = [sys.executable, "-m", "custody", "serve", "--port", "0", "--json", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    late = threading.Timer(START_SECONDS_MAX, process.kill)
    late.start()
    try:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        late.cancel()
        assert line, process.stderr.read()
        yield Started(process, json.loads(line), process.stderr.readline())
    finally:
        late.cancel()
        process.kill()
        process.communicate()


def a_trace(id: str = "t1", **fields: Any) -> dict[str, Any]:
    """Return a trace of one file."""
    ranges = [{"start_line": 1, "end_line": 5}]
    conversation = {"contributor": {"type": "ai", "model_id": "m/1"}, "url": "https://x.example/1", "ranges": ranges}
    return {
        "version": "0.1.0",
        "id": id,
        "timestamp": AT,
        "tool": {"name": "robot", "version": "1"},
        "vcs": {"type": "git", "revision": "a" * 40},
        "files": [{"path": "src/a.py", "conversations": [conversation]}],
        **fields,
    }


def a_prompt(id: str = "p1", text: str = "please", **fields: Any) -> dict[str, Any]:
    """Return a prompt event."""
    said = {"custody": 1, "kind": "prompt", "agent": "robot", "session": "s1", "id": id, "at": AT, "text": text}
    return {**said, **fields}


def a_span(id: str = "1", **fields: Any) -> dict[str, Any]:
    """Return a span event."""
    return {
        "custody": 1,
        "kind": "span",
        "id": f"x:{id}:whole",
        "at": AT,
        "execution": "x",
        "span": id,
        "phase": "whole",
        "name": "run",
        "span_kind": "tool",
        "ended_at": AT,
        "status": "ok",
        **fields,
    }
