"""The validation pipeline of document 003: check each source, and register it in any case."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from custody.cite.hits import SalvagedSource, salvage_source
from custody.cite.links import CircuitBreaker, LinkAnswer, LinkOutcome, SkippedLink
from custody.cite.model import (
    VALIDATION_STATE,
    AbstractSourceRepository,
    ResearchSource,
    SourceError,
    SourceIdentity,
    degraded,
)
from custody.cite.rules import CiteRules
from custody.intake.record import redact_event_payload
from custody.workspace.machine import machine_now_ns

if TYPE_CHECKING:
    from custody.cite.web import LinkChecker

VALIDATED = "validated"
LOG = logging.getLogger("custody.sources")


def guarded_client(rules: CiteRules | None = None) -> Any:
    """Return an ``httpx2.AsyncClient`` that connects to public addresses only."""
    from custody.cite.web import create_link_client

    return create_link_client(rules)


class SourceValidationPipeline:
    """Validation and registration of sources; an invalid source is degraded, never dropped.

    ``http_client`` is any ``httpx2.AsyncClient``. Only the default, ``guarded_client``, also checks the addresses that
    names resolve to. ``circuit_breaker`` is shared by all hosts; without it, each host has its own. A pipeline belongs
    to one event loop.
    """

    def __init__(
        self,
        repository: AbstractSourceRepository,
        http_client: Any = None,
        circuit_breaker: CircuitBreaker | None = None,
        *,
        rules: CiteRules | None = None,
        now_ns: Callable[[], int] = machine_now_ns,
    ) -> None:
        self.repository = repository
        self.http_client = http_client
        self.circuit_breaker = circuit_breaker
        self._rules = CiteRules() if rules is None else rules
        self._now_ns = now_ns
        self._checker: LinkChecker | None = None

    async def validate_and_register(self, raw_source: Mapping[str, Any]) -> SourceIdentity | None:
        """Validate and register a source, degraded if its URL does not work; return None for an empty source."""
        return await self._register(await self._validate_source(raw_source))

    async def validate_many(self, raw_sources: Iterable[Mapping[str, Any]]) -> list[SourceIdentity | None]:
        """Validate many sources concurrently, with a limit; ids follow the order of the sources."""
        from custody.cite.web import gather_link_calls

        validated = await gather_link_calls([self._validate_source(raw) for raw in raw_sources])
        return [await self._register(salvaged) for salvaged in validated]

    async def aclose(self) -> None:
        """Close the client, unless it was passed in."""
        if self._checker is not None and self.http_client is None:
            await self._checker.client.aclose()
        self._checker = None

    async def _validate_source(self, raw: Mapping[str, Any]) -> SalvagedSource:
        """Return the source to register, and why it is not valid."""
        salvaged = salvage_source(raw)
        if salvaged.source is None or salvaged.why is not None or salvaged.source.url is None:
            return salvaged
        why = _describe_link_problem(await self._links().check(salvaged.source.url))
        return replace(salvaged, why=why)

    async def _register(self, salvaged: SalvagedSource) -> SourceIdentity | None:
        source, why = salvaged.source, salvaged.why
        if source is None:
            LOG.warning("cannot register a source: %s", why)
            return None
        if why is not None:
            LOG.warning(
                "registered '%s' as degraded: %s",
                _redact_source_text(source.title or source.url or ""),
                _redact_source_text(why),
            )
            return await self._register_degraded(source, why)
        if source.url is not None:
            source = replace(source, metadata={**source.metadata, VALIDATION_STATE: VALIDATED})
        return await self.repository.register(source)

    async def _register_degraded(self, source: ResearchSource, why: str) -> SourceIdentity:
        try:
            return await self.repository.register(degraded(source, why))
        except SourceError:
            # The metadata is full: drop it, because the degraded state matters more.
            return await self.repository.register(degraded(replace(source, metadata={}), why))

    def _links(self) -> "LinkChecker":
        if self._checker is None:
            from custody.cite.web import LinkChecker

            breaker = self.circuit_breaker
            self._checker = LinkChecker(
                client=guarded_client(self._rules) if self.http_client is None else self.http_client,
                now_ns=self._now_ns,
                rules=self._rules,
                breaker_of=None if breaker is None else lambda _host: breaker,
            )
        return self._checker


def _redact_source_text(text: str) -> str:
    """Return a text without secrets, for logs; the hashes of the secrets are dropped, so any key works."""
    return str(redact_event_payload({"text": text}, lambda: bytes(32))["text"])


def _describe_link_problem(outcome: LinkOutcome) -> str | None:
    """Return why a URL is not validated; None if it is."""
    if isinstance(outcome, SkippedLink):
        return f"not checked: {outcome.why}"
    return None if outcome.answer in (LinkAnswer.HERE, LinkAnswer.MOVED) else outcome.why
