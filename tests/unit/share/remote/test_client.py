"""The HTTP client against a service that misbehaves."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from custody.core.errors import CustodyError, WorldError
from custody.share import remote as client
from custody.share.remote import NamedRemote, RemoteService, ServiceRefusal

TOKEN = "a-very-secret-token"

Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def a_server(*answers: Answer) -> Iterator[tuple[NamedRemote, list[tuple[str, str | None]]]]:
    """Serve these answers one after the other; yield the remote and the requests, each with its token."""
    requests: list[tuple[str, str | None]] = []
    waiting = iter(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answer()

        def _answer(self) -> None:
            requests.append((self.path, self.headers.get("Authorization")))
            next(waiting)(self)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield NamedRemote("team", f"http://127.0.0.1:{server.server_port}", TOKEN), requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answers_with(status: int, body: bytes = b"{}", **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def hangs_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def test_the_token_goes_along_and_the_answer_comes_back() -> None:
    with a_server(answers_with(200, b"hello")) as (remote, requests), RemoteService(remote) as service:
        assert service.get("/x", {"a": "b c", "n": 1}) == b"hello"
    assert requests == [("/x?a=b%20c&n=1", f"Bearer {TOKEN}")]


def test_it_waits_as_long_as_the_service_asks_and_no_longer() -> None:
    waits: list[float] = []
    answers = (
        answers_with(503, Retry_After="3"),
        answers_with(429),
        answers_with(429, Retry_After="100000"),
        answers_with(200, b"now"),
    )
    with a_server(*answers) as (remote, _), RemoteService(remote, sleep=waits.append) as service:
        assert service.post("/x", b"body", "text/plain") == b"now"
    assert waits == [3.0, 1.0, 2.0], "an absurd time is ignored"


def test_it_gives_up_after_the_last_attempt() -> None:
    waits: list[float] = []
    with (
        a_server(*[answers_with(503)] * 5) as (remote, requests),
        RemoteService(remote, sleep=waits.append) as service,
        pytest.raises(WorldError, match="'team' is not available now") as caught,
    ):
        service.get("/x")
    assert (len(requests), len(waits)) == (5, 4)
    assert "nothing was lost" in str(caught.value.hint)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_it_follows_no_redirect(status: int) -> None:
    with (
        a_server(answers_with(200)) as (other, requests),
        a_server(answers_with(status, Location=f"{other.url}/y")) as (remote, _),
        RemoteService(remote) as service,
        pytest.raises(WorldError, match="redirects, which custody does not follow"),
    ):
        service.get("/x")
    assert requests == []


@pytest.mark.parametrize(
    ("answer", "family"),
    [
        (answers_with(401, b'{"detail":"no such token"}'), ServiceRefusal),
        (answers_with(403), ServiceRefusal),
        (answers_with(404, b"<html>"), ServiceRefusal),
        (answers_with(409, b'{"detail":"a\\u001b[31m fork"}'), ServiceRefusal),
        (answers_with(413, b"[1]"), ServiceRefusal),
        (answers_with(500, b'{"detail":3}'), WorldError),
        (hangs_up, WorldError),
    ],
)
def test_refusals_are_reported_without_the_token(answer: Answer, family: type[CustodyError]) -> None:
    with a_server(answer) as (remote, _), RemoteService(remote) as service, pytest.raises(family) as caught:
        service.get("/x")
    assert TOKEN not in f"{caught.value} {caught.value!r} {caught.value.__cause__!r} {caught.value.hint}"
    assert str(caught.value).isprintable()


def test_an_answer_over_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_BYTES_MAX", 10)
    with (
        a_server(answers_with(200, b"x" * 1000)) as (remote, _),
        RemoteService(remote) as service,
        pytest.raises(WorldError, match="the answer of 'team' is over 10 bytes"),
    ):
        service.get("/x")


def test_an_unreachable_service_is_named() -> None:
    unreachable = NamedRemote("team", "http://127.0.0.1:9", TOKEN)
    with RemoteService(unreachable) as service, pytest.raises(WorldError, match="cannot reach 'team'"):
        service.get("/x")
