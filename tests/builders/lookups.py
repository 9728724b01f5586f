"""Queries to a store that only tests and benchmarks use."""

from custody.core.ids import CommitSha
from custody.core.views import FileEdit, Session
from custody.store import ObservedView, Store


def edits_at(store: Store, revision: CommitSha) -> list[ObservedView[FileEdit]]:
    """Return the edits made while HEAD was ``revision``."""
    return store.views.look_up(FileEdit, "revision = ?", (revision,))


def sessions_at(store: Store, revision: CommitSha) -> list[ObservedView[Session]]:
    """Return the sessions that worked on top of ``revision``."""
    return store.views.look_up(Session, "revision = ?", (revision,))
