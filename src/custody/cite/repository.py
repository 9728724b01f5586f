"""The document's interface of a store of sources. It is only a protocol: its implementations are in ``cite.app``."""

from collections.abc import AsyncIterator
from typing import Protocol

from custody.cite.model import ResearchSource, SourceID, SourceIdentity


class AbstractSourceRepository(Protocol):
    """What any store of sources offers a program that runs an event loop."""

    async def register(self, source: ResearchSource) -> SourceIdentity:
        """Give a source its id, or the one that it has."""

    async def get(self, source_id: SourceID) -> ResearchSource | None:
        """What is known of a source; None when nobody registered it."""

    async def find_by_key(self, canonical_key: str) -> SourceIdentity | None:
        """Who is registered under a key."""

    def iter_all(self) -> AsyncIterator[tuple[SourceIdentity, ResearchSource]]:
        """Every source once, by number."""
