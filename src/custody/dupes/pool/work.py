"""The work on one item, its outcome, and the order of results.

Errors cross process boundaries as plain values, since not every exception can be pickled.
"""

import reprlib
import traceback
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from custody.core.errors import CustodyError, InputError, WorldError

T = TypeVar("T")
R = TypeVar("R")


class WorkerLost(WorldError):
    """A worker died while it had an item; ``position`` counts items from 0."""

    def __init__(self, position: int, item: object, message: str) -> None:
        super().__init__(
            f"a worker died on {describe_work_item(position, item)}: {message}",
            hint="if it ran out of memory, use fewer workers",
        )
        self.position = position


class WorkError(CustodyError):
    """The function raised an unexpected error, which is a bug; ``position`` counts items from 0."""

    def __init__(self, position: int, item: object, message: str) -> None:
        super().__init__(f"cannot process {describe_work_item(position, item)}: {message}")
        self.position = position


class WorkResult(Struct, Generic[R], frozen=True):
    """The result of the function."""

    result: R


class WorkFailure(Struct, frozen=True):
    """The error of the function as text; ``family`` is the type to raise again."""

    family: type[CustodyError]
    message: str
    hint: str | None
    trace: str


WorkOutcome = WorkResult[R] | WorkFailure


def attempt_work_item(fn: Callable[[T], R], item: T) -> WorkOutcome[R]:
    """Call ``fn`` and return its result, or its error as a value."""
    try:
        return WorkResult(fn(item))
    except Exception as error:  # noqa: BLE001 - raised again with the item's name by ``unwrap_work_result``
        return _to_work_failure(error)


def unwrap_work_result(outcome: WorkOutcome[R], position: int, item: object) -> R:
    """Return the result, or raise the error with the item's name and the worker's traceback as a note."""
    if isinstance(outcome, WorkResult):
        return outcome.result
    error = _work_failure_to_error(outcome, position, item)
    error.add_note(outcome.trace)
    raise error


def describe_work_item(position: int, item: object) -> str:
    """Return the number and a short form of an item.

    >>> describe_work_item(6, "src/app.py")
    "item 7, 'src/app.py'"
    """
    return f"item {position + 1:,}, {reprlib.repr(item)}"


def _to_work_failure(error: Exception) -> WorkFailure:
    family = next((family for family in (InputError, WorldError) if isinstance(error, family)), CustodyError)
    is_ours = isinstance(error, CustodyError)
    message = str(error) if is_ours else f"{type(error).__name__}: {error}"
    hint = error.hint if isinstance(error, CustodyError) else None
    return WorkFailure(family, message, hint, "".join(traceback.format_exception(error)))


def _work_failure_to_error(failure: WorkFailure, position: int, item: object) -> CustodyError:
    if failure.family is CustodyError:
        return WorkError(position, item, failure.message)
    return failure.family(f"cannot process {describe_work_item(position, item)}: {failure.message}", hint=failure.hint)


# Results in the order of the items, with few items in memory.


H = TypeVar("H")
T_contra = TypeVar("T_contra", contravariant=True)

SUBMITTED_PER_WORKER_MAX = 2
"""Items submitted per worker: one in work, one ready, so that no worker waits."""
HELD_PER_WORKER_MAX = 8
"""Items and waiting results in memory per worker: a slow item blocks the others only after these."""


class WorkerPool(Protocol[H, T_contra, R]):
    """Workers of any backend; a handle stands for a submitted item."""

    workers: int

    def submit(self, item: T_contra) -> H:
        """Submit an item."""

    def wait(self, handles: Collection[H]) -> Collection[H]:
        """Return the finished handles, once there is at least one."""

    def outcome(self, handle: H, position: int, item: object) -> WorkOutcome[R]:
        """Return the outcome of a finished handle; raises ``WorkerLost`` if its worker died."""


class _PendingItem(Struct, Generic[H, T], frozen=True):
    position: int
    item: T
    handle: H


def order_work_results(pool: WorkerPool[H, T, R], items: Iterable[T]) -> Iterator[R]:
    """Yield the results in the order of the items; a failed item raises in its turn."""
    todo = enumerate(items)
    held: deque[_PendingItem[H, T]] = deque()
    working: set[H] = set()
    while True:
        while len(working) < pool.workers * SUBMITTED_PER_WORKER_MAX and len(held) < pool.workers * HELD_PER_WORKER_MAX:
            if (following := next(todo, None)) is None:
                break
            position, item = following
            held.append(_PendingItem(position, item, pool.submit(item)))
            working.add(held[-1].handle)
        if not held:
            return
        if held[0].handle in working:
            working.difference_update(pool.wait(working))
            continue
        first = held.popleft()
        yield unwrap_work_result(pool.outcome(first.handle, first.position, first.item), first.position, first.item)


def count_work_progress(results: Generator[R, None, None], progress: Callable[[int], None]) -> Iterator[R]:
    """Yield the same results; ``progress`` gets the count before each."""
    with closing(results):
        for count, result in enumerate(results, start=1):
            progress(count)
            yield result
