"""A real service on loopback, and clients that violate the protocol."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from custody.server.auth import CallerLimits
from tests.builders.service import ALL, TestKeeper, a_trace, listening

LIMITS = CallerLimits(head_seconds=0.3, body_seconds=0.3, head_bytes=4_096, body_bytes=100_000)
HEAD = (
    b"POST /api/v1/traces HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " + ALL.encode() + b"\r\n"
    b"content-type: application/json\r\n"
)
BODY = json.dumps(a_trace()).encode()


@pytest.fixture
def port(keeper: TestKeeper) -> Iterator[int]:
    with listening(keeper, LIMITS) as found:
        yield found


def said(port: int, *parts: bytes, end: bool = False) -> bytes:
    """Return a service's answer to bytes, until it closes the connection."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as line:
        for part in parts:
            line.sendall(part)
        if end:
            line.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while chunk := line.recv(65536):
                answer += chunk
        except ConnectionResetError:
            pass  # it closed while we were still sending
        return answer


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def kept(keeper: TestKeeper) -> int:
    with keeper.workspaces["default"].reading() as store:
        return store.tables.record_count()


def test_one_that_plays_by_the_rules_is_answered(port: int, keeper: TestKeeper) -> None:
    length = f"content-length: {len(BODY)}\r\nconnection: close\r\n\r\n".encode()

    assert status(said(port, HEAD, length, BODY)) == 201
    assert kept(keeper) == 1


def test_one_whose_head_does_not_end(port: int, keeper: TestKeeper) -> None:
    answer = said(port, HEAD)
    assert status(answer) == 408
    assert b"application/problem+json" in answer
    assert said(port) == b"", "one that says nothing is hung up on"
    assert kept(keeper) == 0


def test_one_whose_head_has_no_limit(port: int) -> None:
    assert status(said(port, HEAD, b"x: " + b"a" * 100_000)) == 431
    long = said(port, b"GET /blame?file=" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n")
    assert status(long) == 431 and b"nosniff" in long and b"default-src 'none'" in long
    assert status(said(port, HEAD, b"".join(b"x%d: y\r\n" % n for n in range(1_000)))) == 431


def test_one_whose_body_does_not_come(port: int, keeper: TestKeeper) -> None:
    answer = said(port, HEAD, f"content-length: {len(BODY)}\r\n\r\n".encode(), BODY[:-1])

    assert status(answer) == 408
    assert kept(keeper) == 0


def test_one_that_says_less_than_it_sends(port: int, keeper: TestKeeper) -> None:
    answer = said(port, HEAD, b"content-length: 10\r\n\r\n", BODY)

    assert status(answer) in (400, 422), "the body is not JSON, and the rest is not a request"
    assert b"HTTP/1.1 400" in answer
    assert kept(keeper) == 0


def test_one_that_says_more_than_it_sends_and_goes(port: int, keeper: TestKeeper) -> None:
    said(port, HEAD, b"content-length: 5000\r\n\r\n", BODY, end=True)

    assert kept(keeper) == 0


def test_one_that_says_too_much(port: int) -> None:
    assert status(said(port, HEAD, b"content-length: 100001\r\n\r\n")) == 413, "at once"
    endless = b"%x\r\n%s\r\n" % (50_000, b" " * 50_000)
    assert status(said(port, HEAD, b"transfer-encoding: chunked\r\n\r\n", endless * 5)) == 413


def test_one_that_speaks_something_else(port: int) -> None:
    for words in (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"HELLO\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
        answer = said(port, words)
        assert status(answer) == 400 and b"application/problem+json" in answer, words


def test_two_lengths_or_two_tokens(port: int, keeper: TestKeeper) -> None:
    assert status(said(port, HEAD, b"content-length: 5\r\ncontent-length: 6\r\n\r\n", BODY)) == 400
    both = b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
    assert status(said(port, HEAD, both)) == 400
    answer = said(port, b"GET / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n")
    assert status(answer) == 400
    assert kept(keeper) == 0


def test_the_service_goes_on_answering(port: int) -> None:
    for _ in range(20):
        said(port, HEAD, b"content-length: 100001\r\n\r\n")
    asked = b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    assert status(said(port, asked)) == 200
