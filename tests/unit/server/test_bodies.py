"""Bodies that are too large, too deep, compressed too well, or of the wrong type: rejected, without effect."""

import gzip
import json
import zlib

import pytest

from custody.server.auth import CallerLimits
from tests.builders.service import Asked, TestKeeper, a_prompt, a_trace, asked, bearer

TAKING = ("/api/v1/traces", "/api/v1/commit-links", "/api/v1/conversations", "/api/v1/spans", "/api/v1/evidence")
POSTS = (*TAKING, "/api/v1/blame", "/v1/traces")
SMALL = CallerLimits(body_bytes=10_000)

PACKED = gzip.compress(b"{}", mtime=0)
"""With a fixed time: it is part of test names."""


def post(made: Asked, path: str, content: object, kind: str = "application/json", **headers: str) -> int:
    sent = {**bearer(), "content-type": kind, **headers}
    answer = made.client.post(path, content=content, headers=sent)  # type: ignore[arg-type]
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code
    return int(answer.status_code)


@pytest.mark.parametrize("path", POSTS)
def test_too_large(keeper: TestKeeper, path: str) -> None:
    large = json.dumps(a_trace(padding="x" * 20_000)).encode()
    with asked(keeper, limits=SMALL) as made:
        assert post(made, path, large) == 413
        assert post(made, path, iter([large[:5_000], large[5_000:]])) == 413, "without a length"
        assert post(made, path, gzip.compress(large), **{"content-encoding": "gzip"}) == 413
        assert made.kept() == []


def test_a_bomb_is_not_unpacked(keeper: TestKeeper) -> None:
    bomb = gzip.compress(b"[" + b" " * (1 << 26))
    assert len(bomb) < 100_000
    with asked(keeper, limits=CallerLimits(body_bytes=1 << 20)) as made:
        for path in POSTS:
            assert post(made, path, bomb, **{"content-encoding": "gzip"}) == 413
        twice = gzip.compress(gzip.compress(b"{}" * 1000))
        assert post(made, TAKING[0], twice, **{"content-encoding": "gzip"}) == 422, "unpacked once"
        assert made.kept() == []


@pytest.mark.parametrize("path", POSTS)
def test_too_deep(service: Asked, path: str) -> None:
    for depth in (200, 5_000, 500_000):
        assert post(service, path, b"[" * depth) == 422
        assert post(service, path, b'{"files":' + b"[" * depth + b"]" * depth + b"}") == 422
    assert service.kept() == []


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16", "", "json", "*/*"]
)
def test_of_another_type(service: Asked, path: str, kind: str) -> None:
    assert post(service, path, json.dumps(a_trace()), kind=kind) == 415
    assert service.kept() == []


def test_of_no_type_at_all(service: Asked) -> None:
    assert service.client.post(TAKING[0], content=b"{}", headers=bearer()).status_code == 415


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "gzip, gzip", "x"])
def test_packed_in_another_way(service: Asked, encoding: str) -> None:
    assert post(service, TAKING[0], b"{}", **{"content-encoding": encoding}) == 415


@pytest.mark.parametrize(
    "packed",
    [b"", b"{}", PACKED[:-4], PACKED + b"rest", zlib.compress(b"{}"), b"\x1f\x8b"],
)
def test_packed_badly(service: Asked, packed: bytes) -> None:
    assert post(service, TAKING[0], packed, **{"content-encoding": "gzip"}) == 422


@pytest.mark.parametrize("path", TAKING)
@pytest.mark.parametrize(
    "body", [b"", b"{", b"nonsense", b"\xff\xfe", b'{"a":1,"a":2}', b"NaN", b"1e999", b"9" * 400, b'"x"', b"null", b"5"]
)
def test_no_json_that_makes_sense(service: Asked, path: str, body: bytes) -> None:
    assert post(service, path, body) == 422
    assert service.kept() == []


def test_a_batch_over_the_limit_keeps_nothing(service: Asked) -> None:
    answer = service.send("evidence", [a_prompt(str(n)) for n in range(1_001)])

    assert answer.status_code == 422
    assert service.kept() == []


def test_half_of_a_pair_in_a_name_is_refused_in_readable_words(service: Asked) -> None:
    body = json.dumps(a_prompt()).replace('"p1"', '"\\udc80"').encode()

    assert post(service, "/api/v1/evidence", body) == 422
    assert post(service, "/api/v1/evidence", body.replace(b'"kind"', b'"\\udc80"')) == 422
