"""OTLP over HTTP: JSON and protobuf, compressed or not; rejected spans are counted in the answer."""

import gzip
import json
from typing import Any

import pytest

from custody.graph.otlp.protobuf import dump_otlp_protobuf, iterate_otlp_fields
from custody.graph.wire.otlp_span import OtlpSpan
from tests.builders.service import Asked, bearer

TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
NS = 1_544_712_660_000_000_000


def a_request(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def span(id: str = SPAN, name: str = "run") -> dict[str, Any]:
    return {"traceId": TRACE, "spanId": id, "name": name, "startTimeUnixNano": str(NS), "endTimeUnixNano": str(NS + 9)}


def test_json_is_kept_once(either: Asked) -> None:
    for _ in range(2):
        answer = either.client.post("/v1/traces", json=a_request(span()), headers=bearer())
        assert (answer.status_code, answer.json()) == (200, {})
    assert len(either.kept()) == 1


def test_what_cannot_be_kept_is_counted(service: Asked) -> None:
    service.client.post("/v1/traces", json=a_request(span()), headers=bearer())

    request = a_request(span(name="another"), span(id=""), span(id="00f067aa0ba902b7"))
    answer = service.client.post("/v1/traces", json=request, headers=bearer()).json()

    assert answer["partialSuccess"]["rejectedSpans"] == 2
    assert "same key" in answer["partialSuccess"]["errorMessage"]
    assert len(service.kept()) == 2


@pytest.mark.parametrize("body", [{}, [], {"resourceSpans": 5}, {"resourceSpans": [5]}, {"resource_spans": None}])
def test_an_invalid_request_is_refused(service: Asked, body: object) -> None:
    assert service.client.post("/v1/traces", json=body, headers=bearer()).status_code == 422


def test_packed_json(service: Asked) -> None:
    packed = gzip.compress(json.dumps(a_request(span())).encode())
    headers = {**bearer(), "content-type": "application/json", "content-encoding": "gzip"}

    assert service.client.post("/v1/traces", content=packed, headers=headers).json() == {}
    assert len(service.kept()) == 1


def test_protobuf_is_kept_and_answered_in_protobuf(either: Asked) -> None:
    headers = {**bearer(), "content-type": "application/x-protobuf"}
    sent = dump_otlp_protobuf([OtlpSpan(trace=TRACE, id=SPAN, name="run", start_ns=NS, end_ns=NS + 9)])

    first = either.client.post("/v1/traces", content=sent, headers=headers)
    assert (first.status_code, first.content) == (200, b"")
    assert first.headers["content-type"] == "application/x-protobuf"
    assert len(either.kept()) == 1

    other = dump_otlp_protobuf([OtlpSpan(trace=TRACE, id=SPAN, name="other", start_ns=NS, end_ns=NS + 9)])
    packed = {**headers, "content-encoding": "gzip"}
    second = either.client.post("/v1/traces", content=gzip.compress(other), headers=packed)
    ((number, _, partial),) = iterate_otlp_fields(second.content)
    assert number == 1 and isinstance(partial, bytes)
    assert next(iterate_otlp_fields(partial))[2] == 1, "one span was refused"
    assert len(either.kept()) == 1


def test_protobuf_that_is_none_keeps_nothing(service: Asked) -> None:
    headers = {**bearer(), "content-type": "application/x-protobuf"}

    answer = service.client.post("/v1/traces", content=b"\x0a\xff nonsense", headers=headers)
    assert answer.status_code == 200 and answer.content, "an invalid span is counted"
    assert service.kept() == []
