"""SQL about the sources behind a line."""

from collections.abc import Collection

from custody.core.ids import SessionId
from custody.core.views import SourceAccess
from custody.store import ObservedView, Store, placeholders


def readings_of_source(
    store: Store, sessions: Collection[SessionId], locator: str, until_ns: int, limit: int
) -> list[ObservedView[SourceAccess]]:
    """Return the last readings of a source by these sessions up to a time."""
    where = f"session IN ({placeholders(sessions)}) AND locator = ? AND at_ns <= ?"
    return store.views.look_up(
        SourceAccess, f"{where} ORDER BY at_ns DESC LIMIT {int(limit)}", (*sessions, locator, until_ns)
    )
