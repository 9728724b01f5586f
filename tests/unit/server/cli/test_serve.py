"""The command ``custody serve``."""

import http.client
import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bench.service_kill import killed
from custody.server.app.tenancy import TokenRequest, TokenScope, create_token, init_team_database
from custody.server.auth import CACHED_SECONDS
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody
from tests.builders.service import Started, a_prompt, started
from tests.house.not_run import CannotBeHad, not_run
from tests.house.postgres import a_server, start_server, stop_server


def ask(made: Started, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", made.port, timeout=60)
    headers = {"Authorization": f"Bearer {token or made.token}", "Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, json.loads(data) if data else None


def ended(made: Started, sig: int) -> tuple[int, str]:
    made.process.send_signal(sig)
    _, err = made.process.communicate(timeout=60)
    return made.process.returncode, err


def test_it_prints_the_url_and_the_token_once(tmp_path: Path) -> None:
    with started(a_git_folder(tmp_path)) as made:
        assert made.report == {
            "report": "serve",
            "version": 1,
            "outcome": "fine",
            "url": f"http://127.0.0.1:{made.port}/",
            "host": "127.0.0.1",
            "port": made.port,
        }
        assert made.said == f"serving at {made.report['url']}?token={made.token}\n"
        assert len(made.token) == 64
        assert ask(made, "GET", "/health", token="none")[0] == 200
        assert ask(made, "GET", "/", token="none")[0] == 401
        assert ask(made, "GET", f"/?token={made.token}", token="none")[0] == 303
        assert ask(made, "POST", "/api/v1/evidence", a_prompt())[0] == 201
        assert ask(made, "GET", "/api/v1/conversation?agent=robot&session=s1")[1]["prompts"][0]["text"] == "please"

        status, err = ended(made, signal.SIGTERM)

    assert status == 0
    assert made.token not in err
    assert json.loads(err.splitlines()[0])["message"] == "text read: conversation robot s1"
    assert json.loads(custody(tmp_path, "records", "--json").out)["total"] == 1


def test_each_start_has_a_new_token(tmp_path: Path) -> None:
    a_git_folder(tmp_path)
    with started(tmp_path) as one, started(tmp_path) as other:
        assert one.token != other.token
        assert ask(one, "GET", "/", token=other.token)[0] == 401


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_on_a_signal_it_finishes_open_requests(tmp_path: Path, sig: int) -> None:
    """Clients send until the connection is refused: every accepted request gets an answer."""
    acknowledged: list[str] = []
    broken: list[str] = []
    with started(a_git_folder(tmp_path)) as made:
        enough = threading.Event()

        def send(client: int) -> None:
            for n in range(10_000):
                name = f"{client}-{n}"
                try:
                    status, _ = ask(made, "POST", "/api/v1/evidence", a_prompt(name))
                except ConnectionRefusedError:
                    return
                except (OSError, http.client.HTTPException):
                    broken.append(name)  # accepted by the system, never read by the service
                    return
                assert status == 201
                acknowledged.append(name)
                if len(acknowledged) > 20:
                    enough.set()

        clients = [threading.Thread(target=send, args=(n,)) for n in range(4)]
        for client in clients:
            client.start()
        assert enough.wait(60)
        status, err = ended(made, sig)
        for client in clients:
            client.join()

    assert (status, err) == (0, "")
    with Workspace(tmp_path).reading() as store:
        stored = {str(record.entry.key).rpartition(":")[2] for record in store.tables.newest(100_000, None)}
    assert set(acknowledged) <= stored
    assert stored - set(acknowledged) <= set(broken), "every stored record was acknowledged"


def test_a_service_that_is_killed_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    done = killed(tmp_path, rounds=3, seed=7)

    assert done.is_fine, done
    assert "fine" in custody(tmp_path, "verify", "--json").out


def test_a_database_that_is_killed_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    try:
        with a_server() as url:  # a separate server, since it is killed
            done = killed(tmp_path, rounds=2, seed=7, database=url)
    except CannotBeHad as why:
        not_run("PostgreSQL", why)

    assert done.is_fine, done


def test_it_starts_without_its_database_and_recovers_by_itself(tmp_path: Path) -> None:
    try:
        with a_server(durable=True) as url:
            workspace = Workspace(a_git_folder(tmp_path), url)
            init_team_database(workspace, None)
            secret = create_token(workspace, TokenRequest("default", tuple(TokenScope), "1d", "x")).secret
            stop_server(url)
            with started(tmp_path, "--database", url) as made:
                first = json.loads(made.said)
                check_unavailable(made, secret)
                start_server(url)
                assert ask(made, "POST", "/api/v1/evidence", a_prompt(), token=secret)[0] == 201
                stop_server(url)
                time.sleep(CACHED_SECONDS)
                check_unavailable(made, secret)
                start_server(url)
                assert ask(made, "GET", "/api/v1/evidence", token=secret)[0] == 200
                status, err = ended(made, signal.SIGTERM)
    except CannotBeHad as why:
        not_run("PostgreSQL", why)

    assert status == 0
    messages = [first["message"], *(json.loads(line)["message"] for line in err.splitlines() if line.startswith("{"))]
    kinds = [message.partition(":")[0] for message in messages]
    assert kinds == ["answering 503 until the database is back", "the database is back"] * 2


def check_unavailable(made: Started, token: str) -> None:
    """Check that API, pages and the sign-in answer 503 with a sentence, and that the process is healthy."""
    calls = (
        ("GET", "/api/v1/evidence", None, "application/json"),
        ("POST", "/api/v1/evidence", json.dumps(a_prompt()), "application/json"),
        ("GET", "/", None, "text/html"),
        ("POST", "/login", f"token={token}", "text/html"),
    )
    for method, path, body, accept in calls:
        connection = http.client.HTTPConnection("127.0.0.1", made.port, timeout=60)
        kind = "application/x-www-form-urlencoded" if path == "/login" else "application/json"
        headers = {"Authorization": f"Bearer {token}", "Accept": accept, "Content-Type": kind}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        assert answer.status == 503, (path, text)
        assert int(answer.headers["retry-after"]) > 0
        assert "the store is not available" in text.lower()
        assert answer.headers["content-type"].startswith(accept if accept == "text/html" else "application/problem")
    assert ask(made, "GET", "/health", token="none")[0] == 200


def test_a_login_that_the_database_refuses_ends_the_start(postgres_url: str, tmp_path: Path) -> None:
    refused = custody(
        a_git_folder(tmp_path), "serve", "--port", "0", "--database", f"{postgres_url}&dbname=custody_none"
    )
    assert refused.status == 3
    assert "custody_none" in refused.err


def test_other_hosts_need_tokens(tmp_path: Path) -> None:
    a_git_folder(tmp_path)

    refused = custody(tmp_path, "serve", "--host", "0.0.0.0", "--port", "0")
    assert refused.status == 2
    assert "cannot serve on '0.0.0.0' without a token" in refused.err and "custody token create" in refused.err

    secret = create_token(Workspace(tmp_path), TokenRequest("default", (TokenScope.READ,), "1d", "x")).secret
    with started(tmp_path, "--host", "0.0.0.0") as made:
        assert "token=" not in made.said
        assert ask(made, "GET", "/", token="none")[0] == 401
        assert ask(made, "GET", "/", token=secret)[0] == 200
        assert ask(made, "POST", "/api/v1/evidence", a_prompt(), token=secret)[0] == 403


def test_a_stored_token_works_on_loopback_too(tmp_path: Path) -> None:
    a_git_folder(tmp_path)
    with started(tmp_path) as made:
        secret = create_token(Workspace(tmp_path), TokenRequest("default", (TokenScope.READ,), "1d", "x")).secret
        for _ in range(8):
            assert ask(made, "GET", "/api/v1/evidence", token=secret)[0] == 200
        assert ask(made, "POST", "/api/v1/evidence", a_prompt(), token=secret)[0] == 403


@pytest.mark.parametrize(("words", "secure"), [((), False), (("--trusted-proxy", "127.0.0.1"), True)])
def test_the_cookie_is_secure_if_a_trusted_proxy_uses_tls(tmp_path: Path, words: tuple[str, ...], secure: bool) -> None:
    with started(a_git_folder(tmp_path), *words) as made:
        for proto, expected in (("https", secure), ("http", False)):
            connection = http.client.HTTPConnection("127.0.0.1", made.port, timeout=60)
            form = {"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-Proto": proto}
            connection.request("POST", "/login", f"token={made.token}", form)
            answer = connection.getresponse()
            assert answer.status == 303
            assert answer.headers["set-cookie"].endswith("; Secure") is expected
            connection.close()


def test_a_used_port_is_an_error(tmp_path: Path) -> None:
    with started(a_git_folder(tmp_path)) as made:
        refused = custody(tmp_path, "serve", "--port", str(made.port))
    assert refused.status == 3
    assert "cannot listen" in refused.err and "--port 0" in refused.err


def test_it_opens_a_page_with_the_token(tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    folder = a_git_folder(tmp_path / "repo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROWSER", f"{browser} %s")
        with started(folder, "--open", "openapi.json") as made:
            assert ended(made, signal.SIGTERM)[0] == 0
    assert opened.read_text() == f"{made.report['url']}openapi.json?token={made.token}"


def test_outside_a_repository_there_is_nothing_to_serve(tmp_path: Path) -> None:
    refused = custody(tmp_path, "serve", "--port", "0", GIT_CEILING_DIRECTORIES=os.fspath(tmp_path.parent))
    assert refused.status == 2
