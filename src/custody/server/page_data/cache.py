"""A cache for answers that take seconds, valid while the state of the store is the same."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

from msgspec import Struct, field

from custody.core.errors import InputError
from custody.store import Store
from custody.workspace.workspace import Workspace

T = TypeVar("T")

WAIT_SECONDS_MAX = 30.0
"""Maximum wait while another request computes the same answer."""

CacheKey = tuple[str | None, ...]


def make_page_cache_key(workspace: Workspace) -> CacheKey:
    """Return a key for the store of a workspace."""
    return workspace.database, str(workspace.folder_of_project), workspace.project


def read_page_cache_state(store: Store) -> tuple[str, ...]:
    """Return the heads of all chains: every new record changes one, an erasure too."""
    return tuple(sorted(f"{head.store} {head.seq} {head.link.hex()}" for head in store.tables.chains()))


class _CacheEntry(Struct, Generic[T], frozen=True):
    state: object
    made_ns: int
    answer: T


class _Turn(Struct):
    """The lock of a key, and how many hold it or wait for it."""

    lock: Lock = field(default_factory=Lock)
    users: int = 0


class Turns:
    """One lock per key, which exists only while it is used."""

    def __init__(self) -> None:
        self._turns: dict[CacheKey, _Turn] = {}
        self._lock = Lock()

    @contextmanager
    def hold_turn(self, key: CacheKey) -> Iterator[None]:
        """Hold the lock of a key; an ``InputError`` if another request holds it too long."""
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.users += 1
        try:
            if not turn.lock.acquire(timeout=WAIT_SECONDS_MAX):
                raise InputError("the server is working on another long request", hint="try again")
            try:
                yield
            finally:
                turn.lock.release()
        finally:
            with self._lock:
                turn.users -= 1
                if not turn.users:
                    del self._turns[key]


class StateCache(Generic[T]):
    """One answer for each of the last ``most`` keys; ``ns_max`` is the maximum age of an answer."""

    def __init__(self, *, most: int = 4, ns_max: int | None = None) -> None:
        self._most = most
        self._ns_max = ns_max
        self._entries: OrderedDict[CacheKey, _CacheEntry[T]] = OrderedDict()
        self._turns = Turns()
        self._lock = Lock()

    def get(self, key: CacheKey, state: object, now_ns: int, make: Callable[[], T]) -> T:
        """Return the answer for this state; concurrent requests for one key compute it once.

        Requests for different keys do not wait for each other.
        """
        with self._turns.hold_turn(key):
            with self._lock:
                entry = self._entries.get(key)
            if entry is None or entry.state != state or self._is_old(entry, now_ns):
                entry = _CacheEntry(state, now_ns, make())
            with self._lock:
                self._entries[key] = entry
                self._entries.move_to_end(key)
                while len(self._entries) > self._most:
                    self._entries.popitem(last=False)
            return entry.answer

    def peek(self, key: CacheKey, state: object, now_ns: int) -> T | None:
        """Return the answer for this state if it is there; nothing is computed."""
        with self._lock:
            entry = self._entries.get(key)
        return None if entry is None or entry.state != state or self._is_old(entry, now_ns) else entry.answer

    def _is_old(self, entry: _CacheEntry[T], now_ns: int) -> bool:
        return self._ns_max is not None and not 0 <= now_ns - entry.made_ns <= self._ns_max
