"""A map over processes: same results, order and errors as ``map``, few items in memory, no process left."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from custody.core.errors import CustodyError, InputError, WorldError, exit_status_from_error, install_hint
from custody.dupes.pool import WorkerLost, WorkError, pool_map
from custody.dupes.pool.work import HELD_PER_WORKER_MAX
from tests.unit.dupes.pool import work

TIMEOUT_SECONDS = 30.0


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_results_come_in_the_order_of_the_items(workers: int, count: int) -> None:
    assert list(pool_map(work.squared, range(count), workers=workers)) == [n * n for n in range(count)]


def test_one_worker_is_this_process() -> None:
    assert {process for _, process in pool_map(work.where, range(5), workers=1)} == {os.getpid()}


def test_workers_are_other_processes_up_to_the_requested_number() -> None:
    processes = {process for _, process in pool_map(work.where, range(40), workers=2)}
    assert os.getpid() not in processes
    assert len(processes) <= 2


def test_few_items_start_few_workers() -> None:
    with_spare = pool_map(work.where, [1], workers=8)
    next(with_spare)
    assert len(multiprocessing.active_children()) == 1
    assert list(with_spare) == []


def test_items_are_read_lazily() -> None:
    read: list[int] = []

    def endless() -> Iterator[int]:
        number = 0
        while True:
            read.append(number)
            yield number
            number += 1

    results = pool_map(work.squared, endless(), workers=2)
    for position in range(50):
        assert next(results) == position * position
        assert len(read) <= position + 1 + 2 * HELD_PER_WORKER_MAX
    results.close()  # type: ignore[attr-defined]


def test_progress_counts_results() -> None:
    counts: list[int] = []
    results = pool_map(work.squared, range(5), workers=2, progress=counts.append)
    assert counts == []
    next(results)
    assert counts == [1]
    list(results)
    assert counts == [1, 2, 3, 4, 5]


def results_and_error(fn: Callable[[int], object], workers: int) -> tuple[list[object], BaseException]:
    """Return the results before the error, and the error."""
    before: list[object] = []
    results = pool_map(fn, range(20), workers=workers)
    with pytest.raises(CustodyError) as raised:
        before.extend(results)
    return before, raised.value


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_names_the_item_and_keeps_the_traceback(workers: int) -> None:
    before, error = results_and_error(work.no_threes, workers)
    assert before == [0, 1, 2]
    assert isinstance(error, WorkError) and error.position == 3
    assert str(error) == "cannot process item 4, 3: ValueError: three is not to be had"
    assert exit_status_from_error(error) == 4
    assert "in no_threes" in error.__notes__[0]


@pytest.mark.parametrize("workers", [1, 2])
def test_our_errors_keep_their_type_and_hint(workers: int) -> None:
    before, error = results_and_error(work.refuses_threes, workers)
    assert before == [0, 1, 2]
    assert isinstance(error, InputError)
    assert (error.message, error.hint) == ("cannot process item 4, 3: three is too many", "take two")
    _, error = results_and_error(work.breaks_a_rule, workers)
    assert isinstance(error, InputError)
    assert error.message == "cannot process item 1, 0: 'dedupe.number' is 0"
    _, error = results_and_error(work.loses_git, workers)
    assert isinstance(error, WorldError)
    assert error.message == "cannot process item 1, 0: git is gone at 0"


@pytest.mark.parametrize("fn", [work.dies_of_threes, work.leaves_at_three])
def test_a_dead_worker_names_its_item(fn: Callable[[int], object]) -> None:
    before, error = results_and_error(fn, 2)
    assert before == [0, 1, 2]
    assert isinstance(error, WorkerLost) and error.position == 3
    assert error.message == "a worker died on item 4, 3: its process ended"
    assert exit_status_from_error(error) == 3


def test_unpicklable_values_are_reported() -> None:
    _, error = results_and_error(work.gives_what_cannot_be_sent, 2)
    assert isinstance(error, WorkError) and error.position == 0
    _, error = results_and_error(lambda number: number, 2)
    assert isinstance(error, WorkError) and "pickle" in str(error)


def test_stopping_early_leaves_no_process() -> None:
    results = pool_map(work.where, range(1_000), workers=2)
    next(results)
    assert multiprocessing.active_children()
    del results
    assert multiprocessing.active_children() == []


def test_workers_ignore_interrupts() -> None:
    results = pool_map(work.where, range(40), workers=2)
    _, worker = next(results)
    os.kill(worker, signal.SIGINT)
    assert [number for number, _ in results] == list(range(1, 40))


@pytest.mark.parametrize(("sent", "to_all"), [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGKILL, False)])
def test_workers_end_with_the_program(tmp_path: Path, sent: signal.Signals, to_all: bool) -> None:
    """Busy and idle workers end, whether the signal reaches the whole group or only the program."""
    tasks = [(str(tmp_path), True), (str(tmp_path), True), (str(tmp_path), False)]
    program = (
        # Tests in the background ignore interrupts, and this program would inherit that.
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from custody.dupes.pool import pool_map\n"
        "from tests.unit.dupes.pool import work\n"
        f"list(pool_map(work.tells, {tasks!r}, workers=3))\n"
    )
    with a_session(program) as running:
        wait_until(lambda: len(list(tmp_path.iterdir())) == 3)
        workers = [int(file.name) for file in tmp_path.iterdir()]
        assert all(map(is_alive, workers))
        (os.killpg if to_all else os.kill)(running.pid, sent)
        _, stderr = running.communicate(timeout=TIMEOUT_SECONDS)
        wait_until(lambda: not any(map(is_alive, workers)))
    assert running.returncode != 0
    assert stderr.count("KeyboardInterrupt") == (1 if sent == signal.SIGINT else 0)


@contextmanager
def a_session(program: str) -> Iterator[subprocess.Popen[str]]:
    """Yield a running program; kill it and its children if they do not end by themselves."""
    running = subprocess.Popen(
        [sys.executable, "-c", program], stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    with running:
        try:
            yield running
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.01)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return not Path(f"/proc/{process}/stat").exists() or "Z" not in Path(f"/proc/{process}/stat").read_text().split()[2]


def test_arguments_are_checked_first() -> None:
    with pytest.raises(InputError, match="invalid number of workers: 0"):
        pool_map(work.squared, [], workers=0)
    with pytest.raises(InputError, match="unknown backend 'threads'"):
        pool_map(work.squared, [], workers=2, backend="threads")  # type: ignore[arg-type]


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="ray is not installed") as raised:
        pool_map(work.squared, [], workers=2, backend="ray")
    assert raised.value.hint == install_hint("ray")
