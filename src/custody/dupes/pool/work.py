"""One item's work, wherever it is done, and what is raised when it failed.

Errors cross between processes as plain values, because not every exception survives that way itself.
"""

import reprlib
import traceback
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from custody.core.errors import CustodyError, InputError, WorldError

T = TypeVar("T")
R = TypeVar("R")


class WorkerLost(WorldError):
    """A worker ended while it had an item; ``position`` counts items from 0."""

    def __init__(self, position: int, item: object, words: str) -> None:
        super().__init__(
            f"a worker died on {describe_item(position, item)}: {words}",
            hint="it may have run out of memory; fewer workers need less",
        )
        self.position = position


class WorkError(CustodyError):
    """The function raised what is none of our errors, so this is a bug; ``position`` counts items from 0."""

    def __init__(self, position: int, item: object, words: str) -> None:
        super().__init__(f"cannot work on {describe_item(position, item)}: {words}")
        self.position = position


@dataclass(frozen=True, slots=True)
class WorkResult(Generic[R]):
    """What the function gave."""

    result: R


@dataclass(frozen=True, slots=True)
class WorkFailure:
    """What the function raised, in words; ``family`` is the one of our errors that it belongs to."""

    family: type[CustodyError]
    words: str
    hint: str | None
    trace: str


WorkOutcome = WorkResult[R] | WorkFailure


def attempt(fn: Callable[[T], R], item: T) -> WorkOutcome[R]:
    """Call ``fn``; what it raises is told as a value."""
    try:
        return WorkResult(fn(item))
    except Exception as error:  # noqa: BLE001 - it is raised again, with the item's name, where the item came from
        return _failed(error)


def unwrap_result(outcome: WorkOutcome[R], position: int, item: object) -> R:
    """The result; a failure is raised in its family, with the item named and the worker's traceback as a note."""
    if isinstance(outcome, WorkResult):
        return outcome.result
    error = _as_error(outcome, position, item)
    error.add_note(outcome.trace)
    raise error


def describe_item(position: int, item: object) -> str:
    """An item by number and content, in a few words.

    >>> describe_item(6, "src/app.py")
    "item 7, 'src/app.py'"
    """
    return f"item {position + 1:,}, {reprlib.repr(item)}"


def _failed(error: Exception) -> WorkFailure:
    family = next((family for family in (InputError, WorldError) if isinstance(error, family)), CustodyError)
    is_ours = isinstance(error, CustodyError)
    words = str(error) if is_ours else f"{type(error).__name__}: {error}"
    hint = error.hint if isinstance(error, CustodyError) else None
    return WorkFailure(family, words, hint, "".join(traceback.format_exception(error)))


def _as_error(failed: WorkFailure, position: int, item: object) -> CustodyError:
    if failed.family is CustodyError:
        return WorkError(position, item, failed.words)
    return failed.family(f"cannot work on {describe_item(position, item)}: {failed.words}", hint=failed.hint)


# Results in the order of the items, while only a few items are ever held: the one place that says how many.


H = TypeVar("H")
T_contra = TypeVar("T_contra", contravariant=True)

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
