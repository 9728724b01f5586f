"""What a process remembers for pages: answers that take seconds, kept while what they follow from stays the same."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from custody.app.desk import Desk
from custody.model.errors import InputError

T = TypeVar("T")

WAIT_SECONDS_MAX = 30.0
"""So long somebody waits while the same is made for another."""

Place = tuple[str | None, ...]


def place_of(desk: Desk) -> Place:
    """Which store a desk works with."""
    return desk.database, str(desk.folder_of_project), desk.project


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    state: object
    made_ns: int
    answer: T


class Lately(Generic[T]):
    """One answer for each of a few places; ``ns_max`` is how old one may become although nothing seems to be new."""

    def __init__(self, *, most: int = 4, ns_max: int | None = None) -> None:
        self._most = most
        self._ns_max = ns_max
        self._kept: OrderedDict[Place, _Kept[T]] = OrderedDict()
        self._making = Lock()

    def get(self, place: Place, state: object, now_ns: int, make: Callable[[], T]) -> T:
        """The answer for this state, made by one at a time: whoever comes second finds what the first one made."""
        if not self._making.acquire(timeout=WAIT_SECONDS_MAX):
            raise InputError("somebody else asked for something that takes long", hint="try again in a moment")
        try:
            kept = self._kept.pop(place, None)
            if kept is None or kept.state != state or self._is_old(kept, now_ns):
                kept = _Kept(state, now_ns, make())
            self._kept[place] = kept
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return kept.answer
        finally:
            self._making.release()

    def _is_old(self, kept: _Kept[T], now_ns: int) -> bool:
        return self._ns_max is not None and not 0 <= now_ns - kept.made_ns <= self._ns_max
