"""Document 003's validation of sources: look whether each answers, and register it in any case."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from custody.cite.hits import SalvagedSource, salvaged
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
from custody.workspace.machine import now_ns

if TYPE_CHECKING:
    from custody.cite.web import LinkChecker

VALIDATED = "validated"
LOG = logging.getLogger("custody.sources")


def guarded_client(rules: CiteRules | None = None) -> Any:
    """An ``httpx2.AsyncClient`` that connects to public addresses only, whatever it is asked for."""
    from custody.cite.web import guarded_client as made

    return made(rules)


class SourceValidationPipeline:
    """Checks sources and registers them: one that cannot be validated is degraded, never dropped.

    ``http_client`` is any ``httpx2.AsyncClient``; ours is the default, and the only one that also guards what names
    lead to. ``circuit_breaker`` guards everything together; without it each host has its own. A pipeline belongs to one
    event loop.
    """

    def __init__(
        self,
        repository: AbstractSourceRepository,
        http_client: Any = None,
        circuit_breaker: CircuitBreaker | None = None,
        *,
        rules: CiteRules | None = None,
        now_ns: Callable[[], int] = now_ns,
    ) -> None:
        self.repository = repository
        self.http_client = http_client
        self.circuit_breaker = circuit_breaker
        self._rules = CiteRules() if rules is None else rules
        self._now_ns = now_ns
        self._checker: LinkChecker | None = None

    async def validate_and_register(self, raw_source: Mapping[str, Any]) -> SourceIdentity | None:
        """The identity of a source that answers, or of the same marked as degraded; None where nothing was said."""
        return await self._register(await self._validated(raw_source))

    async def validate_many(self, raw_sources: Iterable[Mapping[str, Any]]) -> list[SourceIdentity | None]:
        """The same for many, a bounded number at once; ids follow the order of the sources, not of the answers."""
        from custody.cite.web import gather_calls

        validated = await gather_calls([self._validated(raw) for raw in raw_sources])
        return [await self._register(salvaged_source) for salvaged_source in validated]

    async def aclose(self) -> None:
        """Close the client, if it is our own."""
        if self._checker is not None and self.http_client is None:
            await self._checker.client.aclose()
        self._checker = None

    async def _validated(self, raw: Mapping[str, Any]) -> SalvagedSource:
        """The source as it shall be registered, with what keeps it from being valid."""
        found = salvaged(raw)
        if found.source is None or found.why is not None or found.source.url is None:
            return found
        why = _problem(await self._links().look(found.source.url))
        return replace(found, why=why)

    async def _register(self, found: SalvagedSource) -> SourceIdentity | None:
        source, why = found.source, found.why
        if source is None:
            LOG.warning("a source was not registered: %s", why)
            return None
        if why is not None:
            LOG.warning("'%s' is registered as degraded: %s", _safe(source.title or source.url or ""), _safe(why))
            return await self._register_degraded(source, why)
        if source.url is not None:
            source = replace(source, metadata={**source.metadata, VALIDATION_STATE: VALIDATED})
        return await self.repository.register(source)

    async def _register_degraded(self, source: ResearchSource, why: str) -> SourceIdentity:
        try:
            return await self.repository.register(degraded(source, why))
        except SourceError:
            # Its metadata leaves no room for the mark: the mark is worth more.
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


def _safe(text: str) -> str:
    """A text without its secrets, as a log may hold it; no mark of them is kept, so any key will do."""
    return str(redact_event_payload({"text": text}, lambda: bytes(32))["text"])


def _problem(found: LinkOutcome) -> str | None:
    """Why an address does not count as validated; None when it does."""
    if isinstance(found, SkippedLink):
        return f"not asked: {found.why}"
    return None if found.answer in (LinkAnswer.HERE, LinkAnswer.MOVED) else found.why
