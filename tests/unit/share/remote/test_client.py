"""Speaking to a service that does not behave."""

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
    """A server that gives these answers, one after the other; what it was asked, with which token."""
    asked: list[tuple[str, str | None]] = []
    waiting = iter(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answer()

        def _answer(self) -> None:
            asked.append((self.path, self.headers.get("Authorization")))
            next(waiting)(self)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield NamedRemote("team", f"http://127.0.0.1:{server.server_port}", TOKEN), asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def says(status: int, body: bytes = b"{}", **headers: str) -> Answer:
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
    with a_server(says(200, b"hello")) as (remote, asked), RemoteService(remote) as service:
        assert service.get("/x", {"a": "b c", "n": 1}) == b"hello"
    assert asked == [("/x?a=b%20c&n=1", f"Bearer {TOKEN}")]


def test_it_waits_as_long_as_it_is_told_and_no_longer() -> None:
    waits: list[float] = []
    answers = (says(503, Retry_After="3"), says(429), says(429, Retry_After="100000"), says(200, b"now"))
    with a_server(*answers) as (remote, _), RemoteService(remote, sleep=waits.append) as service:
        assert service.post("/x", b"body", "text/plain") == b"now"
    assert waits == [3.0, 1.0, 2.0], "a time that is absurd is not believed"


def test_it_gives_up_at_last() -> None:
    waits: list[float] = []
    with (
        a_server(*[says(503)] * 5) as (remote, asked),
        RemoteService(remote, sleep=waits.append) as service,
        pytest.raises(WorldError, match="cannot answer now") as caught,
    ):
        service.get("/x")
    assert (len(asked), len(waits)) == (5, 4)
    assert "nothing was lost" in str(caught.value.hint)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_it_is_not_led_elsewhere(status: int) -> None:
    with (
        a_server(says(200)) as (other, seen),
        a_server(says(status, Location=f"{other.url}/y")) as (remote, _),
        RemoteService(remote) as service,
        pytest.raises(WorldError, match="elsewhere"),
    ):
        service.get("/x")
    assert seen == []


@pytest.mark.parametrize(
    ("answer", "family"),
    [
        (says(401, b'{"detail":"no such token"}'), ServiceRefusal),
        (says(403), ServiceRefusal),
        (says(404, b"<html>"), ServiceRefusal),
        (says(409, b'{"detail":"a\\u001b[31m fork"}'), ServiceRefusal),
        (says(413, b"[1]"), ServiceRefusal),
        (says(500, b'{"detail":3}'), WorldError),
        (hangs_up, WorldError),
    ],
)
def test_refusals_are_told_without_the_token(answer: Answer, family: type[CustodyError]) -> None:
    with a_server(answer) as (remote, _), RemoteService(remote) as service, pytest.raises(family) as caught:
        service.get("/x")
    assert TOKEN not in f"{caught.value} {caught.value!r} {caught.value.__cause__!r} {caught.value.hint}"
    assert str(caught.value).isprintable()


def test_too_much_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_BYTES_MAX", 10)
    with (
        a_server(says(200, b"x" * 1000)) as (remote, _),
        RemoteService(remote) as service,
        pytest.raises(WorldError, match="too much"),
    ):
        service.get("/x")


def test_nobody_at_home_is_said() -> None:
    nobody = NamedRemote("team", "http://127.0.0.1:9", TOKEN)
    with RemoteService(nobody) as service, pytest.raises(WorldError, match="cannot reach 'team'"):
        service.get("/x")
