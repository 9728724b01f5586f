"""The validation pipeline: every source gets an id, and invalid ones are degraded with the reason."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2
import pytest

from custody.cite.rules import CiteRules
from custody.cite.web import create_link_client
from custody.sources import (
    CircuitBreaker,
    InMemorySourceRepository,
    SourceIdentity,
    SourceValidationPipeline,
    is_validated,
)
from tests.builders.web import HANG, Page, Web, a_web, names, said

R = TypeVar("R")
HOST = "http://a.example.net"
PAGES: dict[str, Page] = {
    "/here": said(200),
    "/moved": said(301, "Location: /here"),
    "/shut": said(403),
    "/ill": said(500),
}


def run(web: Web, story: Callable[[SourceValidationPipeline], Awaitable[R]], **more: Any) -> R:
    """Return a story with a pipeline over sources in memory and a web on loopback."""

    async def told() -> R:
        rules = more.pop("rules", CiteRules())
        client = create_link_client(rules, resolver=names(), dial=web.dial)
        async with client:
            pipeline = SourceValidationPipeline(InMemorySourceRepository(), client, rules=rules, **more)
            return await story(pipeline)

    return asyncio.run(told())


def state(raw: dict[str, Any], **more: Any) -> tuple[str | None, str | None]:
    """Register a source and return its state and the reason."""

    async def story(pipeline: SourceValidationPipeline) -> tuple[str | None, str | None]:
        identity = await pipeline.validate_and_register(raw)
        assert identity is not None and identity.source_id == "S1"
        source = await pipeline.repository.get("S1")
        assert source is not None
        assert is_validated(source) == (source.metadata.get("validation_state") != "degraded")
        return source.metadata.get("validation_state"), source.metadata.get("validation_error")

    with a_web(PAGES) as web:
        return run(web, story, **more)


# Conformance: 003-055
@pytest.mark.parametrize("path", ["/here", "/moved"])
def test_a_source_that_answers_is_validated(path: str) -> None:
    assert state({"title": "A", "url": HOST + path}) == ("validated", None)


# Conformance: 003-055, 003-060
@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({"title": "A", "url": f"{HOST}/gone"}, "status 404"),
        ({"title": "A", "url": f"{HOST}/shut"}, "status 403"),
        ({"title": "A", "url": f"{HOST}/ill"}, "status 500"),
        ({"title": "A", "url": "http://nowhere.example.org/"}, "unknown host 'nowhere.example.org'"),
        ({"title": "A", "url": "http://127.0.0.1/"}, "not checked: 127.0.0.1 is loopback"),
        (
            {"title": "A", "url": "http://user:word@a.example.net/here"},
            "not checked: it contains a user name or a password",
        ),
        ({"title": "A", "url": "ftp://a.example.net/"}, "not checked: not a web URL"),
        ({"title": "A", "credibility_score": 9}, "the source's credibility_score is 9, not a number from 0 to 1"),
        (
            {"url": "javascript:alert(1)"},
            "the source's url is a 'javascript:' URL, not a page: 'javascript:alert(1)'",
        ),
    ],
)
def test_a_source_that_cannot_be_validated_is_degraded_and_has_an_id(
    raw: dict[str, Any], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "custody.sources"):
        assert state(raw) == ("degraded", why)
    assert [record.getMessage() for record in caplog.records if why in record.getMessage()]


def test_the_log_contains_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    token = "ghp_" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2"
    state({"url": f"http://127.0.0.1/?access_token={token}"})
    assert "registered 'http://127.0.0.1/" in caplog.text and "as degraded" in caplog.text and token not in caplog.text


def test_a_source_without_a_url_is_registered_unchecked() -> None:
    assert state({"title": "An interview"}) == (None, None)


def test_an_empty_source_is_not_registered(caplog: pytest.LogCaptureFixture) -> None:
    async def story(pipeline: SourceValidationPipeline) -> list[SourceIdentity | None]:
        return [await pipeline.validate_and_register({}), await pipeline.validate_and_register({"title": ""})]

    with a_web() as web:
        assert run(web, story) == [None, None]
    assert "cannot register a source: the source is empty" in caplog.text


def test_a_degraded_source_that_answers_again_is_validated() -> None:
    answers = [said(500), said(200)]

    async def story(pipeline: SourceValidationPipeline) -> list[Any]:
        states = []
        for _ in range(2):
            await pipeline.validate_and_register({"title": "A", "url": f"{HOST}/a"})
            source = await pipeline.repository.get("S1")
            assert source is not None
            states.append((source.metadata["validation_state"], is_validated(source)))
        return states

    with a_web({"/a": lambda _: answers.pop(0)}) as web:
        assert run(web, story) == [("degraded", False), ("validated", True)]


# Conformance: 003-061
def test_ids_follow_the_order_of_the_sources_whoever_answers_first() -> None:
    raws = [{"title": str(n), "url": f"http://h{n}.example.net/{n % 3}"} for n in range(30)]

    async def story(pipeline: SourceValidationPipeline) -> list[SourceIdentity | None]:
        return await pipeline.validate_many(raws)

    with a_web({"/0": HANG, "/1": said(200), "/2": said(404)}) as web:
        given = run(web, story, rules=CiteRules(link_read_seconds=0.2))
        assert web.most_at_once <= 10
    assert [one and one.source_id for one in given] == [f"S{n}" for n in range(1, 31)]


# Conformance: 003-054
def test_an_open_breaker_skips_requests_and_loses_no_source() -> None:
    breaker = CircuitBreaker(failures_max=2, cool_down_seconds=1000)

    async def story(pipeline: SourceValidationPipeline) -> list[Any]:
        states = []
        for n in range(4):
            identity = await pipeline.validate_and_register({"title": str(n), "url": f"http://h{n}.example.net/ill"})
            assert identity is not None
            source = await pipeline.repository.get(identity.source_id)
            states.append((breaker.is_closed, source is not None and source.metadata["validation_error"]))
        return states

    with a_web(PAGES) as web:
        states = run(web, story, circuit_breaker=breaker)
        assert web.accepted == 2
    assert states == [
        (True, "status 500"),
        (False, "status 500"),
        (False, "not checked: 'h2.example.net' failed too often"),
        (False, "not checked: 'h3.example.net' failed too often"),
    ]


def test_full_metadata_is_dropped_for_the_degraded_state() -> None:
    raw = {"title": "A", "url": "http://127.0.0.1/", "metadata": {"long": "x" * 65_500}}
    assert state(raw) == ("degraded", "not checked: 127.0.0.1 is loopback")


# Conformance: 003-057
def test_without_a_client_the_guarded_one_is_used() -> None:
    async def story() -> Any:
        repository = InMemorySourceRepository()
        pipeline = SourceValidationPipeline(repository)
        await pipeline.validate_and_register({"title": "A", "url": "http://[::1]/"})
        await pipeline.aclose()
        return await repository.get("S1")

    assert asyncio.run(story()).metadata["validation_state"] == "degraded"


# Conformance: 003-054, 003-057
def test_the_documents_client_is_accepted_too() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200 if request.url.path == "/here" else 404)

    async def story() -> list[Any]:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
            pipeline = SourceValidationPipeline(InMemorySourceRepository(), client, CircuitBreaker())
            raws = [{"title": path, "url": f"https://a.example.net/{path}"} for path in ("here", "gone")]
            await pipeline.validate_many(raws)
            await pipeline.aclose()
            assert not client.is_closed, "a client that was passed in stays open"
            return [source.metadata["validation_state"] async for _, source in pipeline.repository.iter_all()]

    assert asyncio.run(story()) == ["validated", "degraded"]
