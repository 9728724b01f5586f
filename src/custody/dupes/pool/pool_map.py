"""``pool_map``: a plain map, only faster."""

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
from custody.dupes.pool.ray_cluster import check_installed, ray_cluster
from custody.dupes.pool.work import (
    WorkerLost,
    WorkerPool,
    WorkError,
    WorkOutcome,
    attempt,
    count_progress,
    in_order,
    unwrap_result,
)

# Workers that are processes of this machine.
# They are spawned, not forked: a fork copies a process with other threads' locks held (ours has a thread per worker,
# and a caller may have more) and with open databases, and it would hold open the pipes that follow. Spawning costs a
# start of Python per worker, once per map. Every worker has an executor to itself, so that the item on which it died
# is known.


SAFE_PATH = "PYTHONSAFEPATH"

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def processes(fn: Callable[[T], R], workers: int) -> Iterator["Processes[T, R]"]:
    """A crew of that many processes, gone after the block, whatever ends it and whatever they do at that moment."""
    crew = Processes(fn, workers)
    try:
        yield crew
    except BaseException:
        crew.cut()
        raise
    finally:
        crew.end()


class Processes(Generic[T, R]):
    """Processes are started as items come, so that few items start few."""

    def __init__(self, fn: Callable[[T], R], workers: int) -> None:
        self.workers = workers
        self._fn = fn
        self._lanes: list[_Lane] = []

    def give(self, item: T) -> Future[WorkOutcome[R]]:
        """Have an item worked on by whoever has least to do."""
        return self._lane().submit(self._fn, item)

    def wait(self, handles: Collection[Future[WorkOutcome[R]]]) -> Collection[Future[WorkOutcome[R]]]:
        """Those that are done, once at least one is."""
        return wait(handles, return_when=FIRST_COMPLETED).done

    def outcome(self, handle: Future[WorkOutcome[R]], position: int, item: object) -> WorkOutcome[R]:
        """What became of an item; of the items of a lane the first that has none is the one its worker died on."""
        try:
            return handle.result()
        except BrokenProcessPool as error:
            raise WorkerLost(position, item, "its process ended") from error
        except Exception as error:
            # Only what could not be sent gets here: the function, the item or the result.
            raise WorkError(position, item, f"{type(error).__name__}: {error}") from error

    def cut(self) -> None:
        """Let every worker end at once, in the middle of an item too."""
        for lane in self._lanes:
            lane.lifeline.close()

    def end(self) -> None:
        """Wait until every worker has ended; those that were not cut finish what they were given."""
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
    """One worker with its queue. It ends when the lifeline does: cut by us, or because our process is gone."""

    def __init__(self) -> None:
        self.far_end, self.lifeline = Pipe(duplex=False)
        with _without_this_folder():
            self.executor = ProcessPoolExecutor(1, get_context("spawn"), _hold_on, (self.far_end,))
        self._given: list[Future[Any]] = []

    def load(self) -> int:
        """How many items it has."""
        self._given = [future for future in self._given if not future.done()]
        return len(self._given)

    def submit(self, fn: Callable[[T], R], item: T) -> Future[WorkOutcome[R]]:
        """Queue an item; on a worker that died since the last one it fails at once."""
        try:
            # Here and not in the executor's thread, which may come to grief over it (CPython 3.11.7).
            sent = bytes(ForkingPickler.dumps((fn, item)))
        except Exception as error:  # noqa: BLE001 - it is raised when the item's turn comes
            return _failed(error)
        try:
            with _without_interrupts(), _without_this_folder():
                future: Future[WorkOutcome[R]] = self.executor.submit(_attempt_sent, sent)
        except BrokenProcessPool as error:
            return _failed(error)
        except OSError as error:
            raise WorldError(
                f"cannot start a worker: {error.strerror}", hint="fewer workers need fewer processes and less memory"
            ) from error
        self._given.append(future)
        return future


def _failed(error: Exception) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def _attempt_sent(sent: bytes) -> WorkOutcome[Any]:
    fn, item = ForkingPickler.loads(sent)
    return attempt(fn, item)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """A worker that starts in the block never sees Ctrl-C, which the terminal sends to all: we end it ourselves."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_this_folder() -> Iterator[None]:
    """What starts in the block looks for no module in the current folder, which may be a stranger's repository."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


def _hold_on(lifeline: Connection) -> None:
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    try:
        lifeline.recv_bytes()
    except EOFError:
        os._exit(1)


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
