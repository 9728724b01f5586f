"""The index of changes for other packages: which changes it holds, and what was found about them."""

from collections.abc import Iterable, Iterator

from custody.dupes.change_row import ChangeRow
from custody.dupes.queries.change_index import DupesTables, EvidenceRow, copy_rows_until
from custody.store import Store


def newest_change(store: Store) -> int:
    """Return the id of the change indexed last; 0 when there is none."""
    return DupesTables(store).newest()


def count_changes(store: Store) -> int:
    """Return how many changes are indexed."""
    return DupesTables(store).count()


def list_changes(store: Store, *, after: int = 0) -> Iterator[ChangeRow]:
    """Yield every change behind an id, in the order of indexing."""
    return DupesTables(store).all_changes(after=after)


def changes_by_id(store: Store, ids: Iterable[int]) -> dict[int, ChangeRow]:
    """Return the changes with these ids, as far as they are indexed."""
    return DupesTables(store).changes(ids)


def changes_by_head(store: Store, start: str) -> list[ChangeRow]:
    """Return the changes whose head starts with these digits, oldest first."""
    return DupesTables(store).by_head(start)


def evidence_about(store: Store, start: str) -> list[EvidenceRow]:
    """Return the stored evidence whose id, or whose change's head, starts with these digits; newest first."""
    return DupesTables(store).evidence(start)


def is_index_outdated(store: Store) -> bool:
    """Return whether another version of custody made the index: then no change can be compared with it."""
    from custody.dupes.signature import SIGNATURE_VERSION  # loads sketching, which other questions do not need

    return DupesTables(store).is_of_another(SIGNATURE_VERSION)


def copy_index_until(source: Store, changes: int, into: Store) -> None:
    """Copy the index into an empty store as it was when it had so many changes."""
    copy_rows_until(source, changes, into)
