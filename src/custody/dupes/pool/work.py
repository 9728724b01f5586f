"""One item's work, wherever it is done, and what is raised when it failed.

Errors cross between processes as plain values, because not every exception survives that way itself.
"""

import reprlib
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

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
