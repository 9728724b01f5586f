"""``pool_map``: a plain map, only faster."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args

from custody.core.errors import InputError
from custody.dupes.pool.processes import processes
from custody.dupes.pool.ray_cluster import check_installed, ray_cluster
from custody.dupes.pool.window import WorkerPool, count_progress, in_order
from custody.dupes.pool.work import attempt, unwrap_result

T = TypeVar("T")
R = TypeVar("R")

Backend = Literal["processes", "ray"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)

_CREWS: MappingProxyType[Backend, Callable[[Any, int], AbstractContextManager[WorkerPool[Any, Any, Any]]]] = (
    MappingProxyType({"processes": processes, "ray": ray_cluster})
)


def pool_map(
    fn: Callable[[T], R],
    items: Iterable[T],
    *,
    workers: int,
    backend: Backend = "processes",
    progress: Callable[[int], None] | None = None,
) -> Iterator[R]:
    """What ``map(fn, items)`` gives, in the same order, worked out by that many workers.

    One worker means this process alone, with either backend. Only a few items per worker are read ahead, in the
    caller's own thread, and workers live as long as the iterator: close it, and they are gone. ``fn`` is a function
    of a module, as are the types of items and results, and it is pure: an item may be begun whose result nobody asks
    for. ``progress`` is told how many results there are.

    What ``fn`` raises is raised when its item's turn comes and names the item: ``InputError`` and ``WorldError`` keep
    their family, all else is ``WorkError``; a worker that ends is ``WorkerLost``.
    """
    if workers < 1:
        raise InputError(f"cannot work with {workers} workers", hint="give at least 1")
    if backend not in BACKENDS:
        raise InputError(f"no backend '{backend}'", hint=f"there are: {', '.join(BACKENDS)}")
    if backend == "ray":
        check_installed()
    results = _alone(fn, items) if workers == 1 else _together(fn, items, workers, backend)
    return count_progress(results, progress) if progress else results


def _alone(fn: Callable[[T], R], items: Iterable[T]) -> Generator[R, None, None]:
    for position, item in enumerate(items):
        yield unwrap_result(attempt(fn, item), position, item)


def _together(fn: Callable[[T], R], items: Iterable[T], workers: int, backend: Backend) -> Generator[R, None, None]:
    with _CREWS[backend](fn, workers) as crew:
        yield from in_order(crew, items)
