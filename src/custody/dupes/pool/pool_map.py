"""``pool_map``: a map over worker processes."""

import os
import signal
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar, get_args

from custody.core.errors import InputError, WorldError
from custody.dupes.pool.ray_cluster import check_ray_installed, open_ray_cluster
from custody.dupes.pool.work import (
    WorkerLost,
    WorkerPool,
    WorkError,
    WorkOutcome,
    attempt_work_item,
    count_work_progress,
    order_work_results,
    unwrap_work_result,
)

# Worker processes on this machine.
# They are spawned, not forked: a fork would copy locks held by other threads, open databases and the pipes of other
# workers. Spawning costs one start of Python per worker and map. Every worker has its own executor, so that the item on
# which it died is known.


SAFE_PATH = "PYTHONSAFEPATH"

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def start_worker_processes(fn: Callable[[T], R], workers: int) -> Iterator["Processes[T, R]"]:
    """Yield a pool of worker processes; they have ended when the block has, for whatever reason."""
    pool = Processes(fn, workers)
    try:
        yield pool
    except BaseException:
        pool.cut()
        raise
    finally:
        pool.end()


class Processes(Generic[T, R]):
    """A pool of processes, which are started as items come, so that few items start few."""

    def __init__(self, fn: Callable[[T], R], workers: int) -> None:
        self.workers = workers
        self._fn = fn
        self._lanes: list[_Lane] = []

    def submit(self, item: T) -> Future[WorkOutcome[R]]:
        """Submit an item to the least busy worker."""
        return self._lane().submit(self._fn, item)

    def wait(self, handles: Collection[Future[WorkOutcome[R]]]) -> Collection[Future[WorkOutcome[R]]]:
        """Return the finished handles, once there is at least one."""
        return wait(handles, return_when=FIRST_COMPLETED).done

    def outcome(self, handle: Future[WorkOutcome[R]], position: int, item: object) -> WorkOutcome[R]:
        """Return the outcome of a finished item; the first item without one is the item its worker died on."""
        try:
            return handle.result()
        except BrokenProcessPool as error:
            raise WorkerLost(position, item, "its process ended") from error
        except Exception as error:
            # Only the function, an item or a result that cannot be pickled gets here.
            raise WorkError(position, item, f"{type(error).__name__}: {error}") from error

    def cut(self) -> None:
        """End every worker at once, even while it works on an item."""
        for lane in self._lanes:
            lane.lifeline.close()

    def end(self) -> None:
        """Wait until every worker has ended; workers that were not cut finish their items."""
        for lane in self._lanes:
            lane.executor.shutdown(wait=True, cancel_futures=True)
            lane.lifeline.close()
            lane.far_end.close()

    def _lane(self) -> "_Lane":
        if len(self._lanes) < self.workers:
            self._lanes.append(_Lane())
            return self._lanes[-1]
        return min(self._lanes, key=_Lane.load)


class _Lane:
    """A worker with its queue; it ends when the lifeline closes, be it cut or because our process ended."""

    def __init__(self) -> None:
        self.far_end, self.lifeline = Pipe(duplex=False)
        with _enforce_safe_path():
            self.executor = ProcessPoolExecutor(1, get_context("spawn"), _watch_worker_lifeline, (self.far_end,))
        self._pending: list[Future[Any]] = []

    def load(self) -> int:
        """Return the number of pending items."""
        self._pending = [future for future in self._pending if not future.done()]
        return len(self._pending)

    def submit(self, fn: Callable[[T], R], item: T) -> Future[WorkOutcome[R]]:
        """Queue an item; if the worker died since the last one, the item fails at once."""
        try:
            # Here and not in the executor's thread, which may come to grief over it (CPython 3.11.7).
            sent = bytes(ForkingPickler.dumps((fn, item)))
        except Exception as error:  # noqa: BLE001 - it is raised when the item's turn comes
            return _make_failed_future(error)
        try:
            with _block_worker_interrupts(), _enforce_safe_path():
                future: Future[WorkOutcome[R]] = self.executor.submit(_run_pickled_item, sent)
        except BrokenProcessPool as error:
            return _make_failed_future(error)
        except OSError as error:
            raise WorldError(
                f"cannot start a worker: {error.strerror}", hint="fewer workers need fewer processes and less memory"
            ) from error
        self._pending.append(future)
        return future


def _make_failed_future(error: Exception) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def _run_pickled_item(sent: bytes) -> WorkOutcome[Any]:
    fn, item = ForkingPickler.loads(sent)
    return attempt_work_item(fn, item)


@contextmanager
def _block_worker_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from workers that start in the block: the terminal sends it to all, and we end them ourselves."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _enforce_safe_path() -> Iterator[None]:
    """Keep processes started in the block from importing modules of the current folder, which may be untrusted."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


def _watch_worker_lifeline(lifeline: Connection) -> None:
    threading.Thread(target=_exit_with_lifeline, args=(lifeline,), daemon=True).start()


def _exit_with_lifeline(lifeline: Connection) -> None:
    try:
        lifeline.recv_bytes()
    except EOFError:
        os._exit(1)


Backend = Literal["processes", "ray"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)

_POOLS: MappingProxyType[Backend, Callable[[Any, int], AbstractContextManager[WorkerPool[Any, Any, Any]]]] = (
    MappingProxyType({"processes": start_worker_processes, "ray": open_ray_cluster})
)


def pool_map(
    fn: Callable[[T], R],
    items: Iterable[T],
    *,
    workers: int,
    backend: Backend = "processes",
    progress: Callable[[int], None] | None = None,
) -> Iterator[R]:
    """Yield the results of ``map(fn, items)`` in order, computed by ``workers`` workers.

    One worker means this process alone, with either backend. Only a few items per worker are read ahead, in the
    caller's thread. Closing the iterator ends the workers. ``fn`` and the types of items and results are defined in
    modules. ``fn`` is pure: an item may be started without its result being used. ``progress`` gets the number of
    results.

    An exception of ``fn`` is raised in its item's turn and names the item: ``InputError`` and ``WorldError`` keep their
    type, all others become ``WorkError``. A worker that dies raises ``WorkerLost``.
    """
    if workers < 1:
        raise InputError(f"invalid number of workers: {workers}", hint="use at least 1")
    if backend not in BACKENDS:
        raise InputError(f"unknown backend '{backend}'", hint=f"use one of: {', '.join(BACKENDS)}")
    if backend == "ray":
        check_ray_installed()
    results = _map_in_process(fn, items) if workers == 1 else _map_with_workers(fn, items, workers, backend)
    return count_work_progress(results, progress) if progress else results


def _map_in_process(fn: Callable[[T], R], items: Iterable[T]) -> Generator[R, None, None]:
    for position, item in enumerate(items):
        yield unwrap_work_result(attempt_work_item(fn, item), position, item)


def _map_with_workers(
    fn: Callable[[T], R], items: Iterable[T], workers: int, backend: Backend
) -> Generator[R, None, None]:
    with _POOLS[backend](fn, workers) as pool:
        yield from order_work_results(pool, items)
