"""A team's database that closes connections, or is unavailable for a while."""

from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from litestar.testing import TestClient

from custody.server.app.tenancy import (
    StoredTenancy,
    TokenRequest,
    TokenScope,
    create_token,
    init_team_database,
    revoke_token,
)
from custody.server.auth import Settings
from custody.server.listener import create_app
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.service import a_keeper, a_trace, asked, bearer

END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


def test_the_service_connects_again(fresh_postgres: str, postgres_url: str, tmp_path: Path) -> None:
    name = urlsplit(fresh_postgres).path.lstrip("/")
    with (
        asked(a_keeper(Workspace(a_git_folder(tmp_path), fresh_postgres))) as made,
        psycopg.connect(postgres_url, autocommit=True) as admin,
    ):
        assert made.send("traces", a_trace("1")).status_code == 201

        admin.execute(END, (name,))
        assert made.send("traces", a_trace("2")).status_code in (201, 503)
        assert made.send("traces", a_trace("2")).status_code in (200, 201)

        admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
        admin.execute(END, (name,))
        for answer in (made.send("traces", a_trace("3")), made.get("/ready"), made.get("/api/v1/traces")):
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) > 0
            assert name not in answer.text
        assert made.client.get("/health").status_code == 200

        admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'.encode())
        assert made.get("/ready").status_code == 200
        assert made.send("traces", a_trace("3")).status_code == 201
        assert made.kept() == ["import:trace:1", "import:trace:2", "import:trace:3"]


def test_kept_tokens_open_their_project(fresh_postgres: str, tmp_path: Path) -> None:
    workspace = Workspace(a_git_folder(tmp_path), fresh_postgres)
    init_team_database(workspace, None)
    writes, reads = (
        create_token(workspace, TokenRequest("default", scopes, "1d", "t"))
        for scopes in ((TokenScope.WRITE,), (TokenScope.READ,))
    )
    with closing(StoredTenancy(workspace)) as keeper:
        with TestClient(create_app(Settings(keeper=keeper, now_ns=workspace.now_ns))) as client:
            assert client.post("/api/v1/traces", json=a_trace(), headers=bearer(writes.secret)).status_code == 201
            assert client.get("/api/v1/traces", headers=bearer(writes.secret)).status_code == 403
            found = client.get("/api/v1/traces", headers=bearer(reads.secret))
            assert [item["id"] for item in found.json()["items"]] == ["t1"]
            assert client.get("/api/v1/traces", headers=bearer("custody_" + "0" * 64)).status_code == 401

        revoke_token(workspace, reads.token.id)
        with TestClient(create_app(Settings(keeper=keeper, now_ns=workspace.now_ns))) as client:
            assert client.get("/api/v1/traces", headers=bearer(reads.secret)).status_code == 401
