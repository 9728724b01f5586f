"""SQL about what people answered about pairs of changes."""

from custody.core.views import DuplicateAnswer
from custody.store import ObservedView, Store


def all_answers(store: Store) -> list[ObservedView[DuplicateAnswer]]:
    """Return every answer about every pair."""
    return store.views.look_up(DuplicateAnswer, "1 = 1", ())


def answers_of_pair(store: Store, head: str, other: str) -> list[ObservedView[DuplicateAnswer]]:
    """Return the answers about two changes, in either order."""
    pairs = "(head = ? AND other = ?) OR (head = ? AND other = ?)"
    return store.views.look_up(DuplicateAnswer, pairs, (head, other, other, head))
