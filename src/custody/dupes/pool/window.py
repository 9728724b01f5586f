"""Results in the order of the items, while only a few items are ever held: the one place that says how many."""

from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from custody.dupes.pool.work import WorkOutcome, unwrap_result

H = TypeVar("H")
T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
R = TypeVar("R")

GIVEN_PER_WORKER_MAX = 2
"""An item is worked on and one lies ready, so that no worker waits for us."""
HELD_PER_WORKER_MAX = 8
"""Items that are given, and results that wait for an earlier one: a slow item holds up the others only after these."""


class WorkerPool(Protocol[H, T_contra, R]):
    """Workers of either kind; a handle stands for an item that was given to them."""

    workers: int

    def give(self, item: T_contra) -> H:
        """Have an item worked on."""

    def wait(self, handles: Collection[H]) -> Collection[H]:
        """Those of the handles that are done, once at least one is."""

    def outcome(self, handle: H, position: int, item: object) -> WorkOutcome[R]:
        """What became of a handle that is done; ``WorkerLost`` if its worker did not live to tell."""


@dataclass(frozen=True, slots=True)
class _PendingItem(Generic[H, T]):
    position: int
    item: T
    handle: H


def in_order(crew: WorkerPool[H, T, R], items: Iterable[T]) -> Iterator[R]:
    """Each item's result in its turn; the first item that failed raises in its turn."""
    todo = enumerate(items)
    held: deque[_PendingItem[H, T]] = deque()
    working: set[H] = set()
    while True:
        while len(working) < crew.workers * GIVEN_PER_WORKER_MAX and len(held) < crew.workers * HELD_PER_WORKER_MAX:
            if (following := next(todo, None)) is None:
                break
            position, item = following
            held.append(_PendingItem(position, item, crew.give(item)))
            working.add(held[-1].handle)
        if not held:
            return
        if held[0].handle in working:
            working.difference_update(crew.wait(working))
            continue
        first = held.popleft()
        yield unwrap_result(crew.outcome(first.handle, first.position, first.item), first.position, first.item)


def count_progress(results: Generator[R, None, None], progress: Callable[[int], None]) -> Iterator[R]:
    """The same results; ``progress`` is told before each how many there are by now."""
    with closing(results):
        for count, result in enumerate(results, start=1):
            progress(count)
            yield result
