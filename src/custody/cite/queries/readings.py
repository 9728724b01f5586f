"""SQL about the pages that sessions read and the sources that recorders reported."""

from collections.abc import Collection
from typing import Final

from custody.core.ids import SessionId, StoreId
from custody.core.views import PullRequestFact, Source, SourceAccess, ToolCall
from custody.store import ObservedView, Store, placeholders

_WEB: Final = "http%"


def pages_read_by(store: Store, sessions: Collection[SessionId]) -> list[ObservedView[SourceAccess]]:
    """Return the web pages that these sessions read."""
    where = f"session IN ({placeholders(sessions)}) AND locator LIKE ?"
    return store.views.look_up(SourceAccess, where, (*sorted(sessions), _WEB))


def readings_of_url(store: Store, url: str) -> list[ObservedView[SourceAccess]]:
    """Return how any session read this URL."""
    return store.views.look_up(SourceAccess, "locator = ?", (url,))


def pages_in_chain(
    store: Store, chain: StoreId, after: int, until: int, limit: int
) -> list[ObservedView[SourceAccess]]:
    """Return the first web pages that a chain's records after ``after`` and up to ``until`` report as read."""
    where = "store_id = ? AND seq > ? AND seq <= ? AND locator LIKE ?"
    return store.views.look_up(SourceAccess, f"{where} ORDER BY seq, n LIMIT {int(limit)}", (chain, after, until, _WEB))


def sources_in_chain(store: Store, chain: StoreId, after: int, until: int) -> list[ObservedView[Source]]:
    """Return the sources that a chain's records after ``after`` and up to ``until`` report."""
    return store.views.look_up(Source, "store_id = ? AND seq > ? AND seq <= ?", (chain, after, until))


def has_calls(store: Store, session: SessionId) -> bool:
    """Whether a tool call of this session was captured."""
    return bool(store.views.distinct(ToolCall, "session", "session = ?", (session,)))


def newest_pull_requests(store: Store, limit: int) -> list[ObservedView[PullRequestFact]]:
    """Return what sessions reported of pull requests, those with the highest numbers."""
    return store.views.look_up(PullRequestFact, f"number > ? ORDER BY number DESC LIMIT {int(limit)}", (0,))
