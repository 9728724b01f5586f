"""The queue of long work: a job runs once, no request is refused, and background jobs never hold up a page."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from custody.server.page_data.cache import NS, StateCache
from custody.server.page_data.late import answer_late
from custody.server.page_data.work import RESULT_NS_MAX, WorkJob, WorkQueue
from custody.workspace.workspace import Progress

WAIT = 30.0


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns


@pytest.fixture
def clock() -> Clock:
    return Clock()


def until(go_on: Event, begun: list[Any] | None = None, answer: Any = None) -> Callable[[WorkJob], Any]:
    def work(job: WorkJob) -> Any:
        if begun is not None:
            begun.append(job.key)
        assert go_on.wait(WAIT)
        return answer

    return work


def test_a_job_runs_once_and_its_result_waits_for_the_next_request(clock: Clock) -> None:
    queue, go_on = WorkQueue(clock), Event()
    begun: list[Any] = []
    first = queue.ask("a", until(go_on, begun, 1))
    again = queue.ask("a", until(go_on, begun, 2))
    assert first is not None
    assert first is again
    go_on.set()
    assert first.future.result(WAIT) == 1
    fetched = queue.ask("a", until(go_on, begun, 3))
    assert fetched is first
    assert queue.ask("a", until(go_on, begun, 4)) is not first, "a result is returned once, then computed again"
    assert begun[0] == "a"


def test_a_result_that_no_request_fetches_is_dropped(clock: Clock) -> None:
    queue = WorkQueue(clock)
    job = queue.ask("a", lambda _: 1)
    assert job is not None
    job.future.result(WAIT)
    clock.ns += RESULT_NS_MAX
    assert queue.ask("a", lambda _: 2) is not job


def test_background_jobs_run_one_at_a_time_and_leave_room_for_pages(clock: Clock) -> None:
    queue, go_on = WorkQueue(clock, threads=2), Event()
    begun: list[Any] = []
    jobs = [queue.ask(n, until(go_on, begun), is_background=True) for n in range(3)]
    try:
        page = queue.ask("page", lambda _: "shown")
        assert page is not None
        assert page.future.result(WAIT) == "shown"
        assert begun == [0]
        assert queue.measure(jobs[2]).ahead == 2
    finally:
        go_on.set()
    assert [job.future.result(WAIT) for job in jobs if job is not None] == [None] * 3
    assert begun == [0, 1, 2]


def test_a_full_queue_says_so_and_takes_the_job_later(clock: Clock) -> None:
    queue, go_on = WorkQueue(clock, threads=1, waiting_max=1), Event()
    running = Event()

    def run(_: WorkJob) -> None:
        running.set()
        assert go_on.wait(WAIT)

    first = queue.ask("running", run)
    assert running.wait(WAIT)
    second = queue.ask("waiting", lambda _: 2)
    assert queue.ask("third", lambda _: 3) is None
    assert queue.measure(None).is_full
    go_on.set()
    assert first is not None
    assert second is not None
    assert second.future.result(WAIT) == 2
    third = queue.ask("third", lambda _: 3)
    assert third is not None
    assert third.future.result(WAIT) == 3


def test_a_failed_job_raises_in_the_request_and_the_next_one_starts_again(clock: Clock) -> None:
    def fail(_: WorkJob) -> None:
        raise ValueError("broken")

    queue = WorkQueue(clock, threads=1)
    job = queue.ask("a", fail)
    assert job is not None
    with pytest.raises(ValueError, match="broken"):
        job.future.result(WAIT)
    queue.forget_result(job)
    again = queue.ask("a", lambda _: 5)
    assert again is not None
    assert again.future.result(WAIT) == 5


def test_progress_is_what_the_use_case_reports(clock: Clock) -> None:
    queue, at, go_on = WorkQueue(clock), Event(), Event()

    def work(job: WorkJob) -> None:
        job.progress.start("counting", 139)
        job.progress.step(84)
        clock.ns += 3 * NS
        at.set()
        assert go_on.wait(WAIT)

    job = queue.ask("a", work)
    assert at.wait(WAIT)
    found = queue.measure(job)
    go_on.set()
    assert (found.what, found.done, found.total, found.ahead, found.seconds) == ("counting", 84, 139, None, 3.0)


def test_a_page_shows_the_last_answer_with_its_age_while_a_new_one_is_computed(clock: Clock) -> None:
    queue, cache, go_on = WorkQueue(clock), StateCache[int](), Event()

    def make(_: Progress) -> int:
        assert go_on.wait(WAIT)
        return 2

    def ask(state: int) -> tuple[int | None, float, bool]:
        late = answer_late(queue, cache, ("here",), state, clock(), make)
        return late.answer, late.age_seconds, late.progress is not None

    cache.get(("here",), 1, clock(), lambda: 1)
    assert ask(1) == (1, 0.0, False)
    clock.ns += 5 * NS
    assert ask(2) == (1, 5.0, False), "an answer of five seconds is not computed again because of one record"
    clock.ns += 95 * NS
    assert ask(2) == (1, 100.0, True)
    go_on.set()
    job = queue.find_running(("late", id(cache), "here"))
    if job is not None:
        job.future.result(WAIT)
    assert ask(2) == (2, 0.0, False)


def test_two_kinds_of_answers_with_one_key_are_not_mixed_up(clock: Clock) -> None:
    queue, numbers, names = WorkQueue(clock), StateCache[int](), StateCache[str]()
    go_on = Event()

    def make(_: Progress) -> int:
        assert go_on.wait(WAIT)
        return 1

    assert answer_late(queue, numbers, ("here",), 1, clock(), make).progress is not None
    late = answer_late(queue, names, ("here",), 1, clock(), lambda _: "one")
    go_on.set()
    assert late.answer == "one"


def test_a_report_computes_at_once(clock: Clock) -> None:
    late = answer_late(None, StateCache[int](), ("here",), 1, clock(), lambda _: 7)
    assert (late.answer, late.progress) == (7, None)


def test_a_program_ends_while_a_job_goes_on_unheard(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        """
import threading
from custody.server.page_data.work import WorkQueue

WorkQueue(lambda: 0).ask("endless", lambda _: threading.Event().wait())
print("ended")
""",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("ended\n", "")
