"""Workers killed at any time: each job runs at least once and its end is recorded once."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.errors import InputError, StoreError
from custody.core.wire.canonical import Json
from custody.server.app.jobs import (
    KINDS,
    JobFunction,
    JobWorker,
    NewJob,
    WorkRules,
    add_job,
    add_retention_jobs,
    compute_job_backoff_ns,
    list_jobs,
    retry_job,
)
from custody.server.app.tenancy import connect_control_tables, set_project_retention
from custody.server.control import ControlTables, Job, JobState
from custody.store.db import load_schema_migrations, migrate_store_schema
from custody.store.sqlite import open_sqlite_overlay
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.stores import NOON

SECOND_NS = 1_000_000_000
RULES = WorkRules(lease_seconds=60.0, attempts_max=3, back_off_seconds=4.0)


class Clock:
    """A clock that stops until it is set."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += int(seconds * SECOND_NS)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def workspace(tmp_path: Path, clock: Clock) -> Workspace:
    # Randomness at its maximum: a job's wait is not shortened.
    return Workspace(a_git_folder(tmp_path), now_ns=clock, token=lambda: "f" * 32)


@pytest.fixture
def control(workspace: Workspace) -> Iterator[ControlTables]:
    with connect_control_tables(workspace) as opened:
        yield opened


def add(control: ControlTables, *keys: str, kind: str = "work") -> None:
    for key in keys:
        add_job(control, NewJob(kind, "default", key, {"key": key}), id_=f"job-{key}", now_ns=NOON)


def once(workspace: Workspace, does: JobFunction, rules: WorkRules = RULES) -> tuple[int, int, int, int]:
    report = JobWorker(workspace, {"work": does}, rules).run(once=True)
    return report.done, report.again, report.aside, report.lost


def test_every_due_job_is_done_with_what_it_was_made_with(workspace: Workspace, control: ControlTables) -> None:
    add(control, "1", "2")
    seen: list[Json] = []
    assert once(workspace, lambda _, payload: seen.append(payload)) == (2, 0, 0, 0)
    assert seen == [{"key": "1"}, {"key": "2"}]
    assert once(workspace, lambda _, payload: seen.append(payload)) == (0, 0, 0, 0)


def test_a_job_that_fails_waits_longer_each_time_and_is_then_set_aside(
    workspace: Workspace, control: ControlTables, clock: Clock
) -> None:
    add(control, "1")

    def fails(_workspace: Workspace, _payload: Json) -> None:
        raise StoreError("the database is away")

    waits = []
    for _ in range(2):
        assert once(workspace, fails) == (0, 1, 0, 0)
        (job,) = control.jobs.list_in_states((JobState.WAITING,), 1)
        waits.append((job.due_ns - clock.now) / SECOND_NS)
        assert once(workspace, fails) == (0, 0, 0, 0), "not before it is due"
        clock.now = job.due_ns
    assert waits == [4.0, 8.0]
    assert once(workspace, fails) == (0, 0, 1, 0)
    (line,) = list_jobs(workspace, 10).jobs
    assert (line.state, line.attempts, line.error) == ("aside", 3, "the database is away")


def test_a_failed_job_runs_again_after_a_retry(workspace: Workspace, control: ControlTables) -> None:
    add(control, "1")

    def refuses(_workspace: Workspace, _payload: Json) -> None:
        raise InputError("no such repository")

    assert once(workspace, refuses) == (0, 0, 1, 0), "what the caller got wrong is not tried again"
    retry_job(workspace, "job-1")
    assert once(workspace, lambda *_: None) == (1, 0, 0, 0)
    with pytest.raises(InputError, match="no failed job 'job-1'"):
        retry_job(workspace, "job-1")


def test_a_bug_in_one_job_does_not_keep_the_others_from_being_done(
    workspace: Workspace, control: ControlTables
) -> None:
    add(control, "1", "2")

    def does(_: Workspace, payload: Json) -> None:
        if payload == {"key": "1"}:
            raise ZeroDivisionError("division by \0 zero \ud800")

    assert once(workspace, does) == (1, 1, 0, 0)
    (job,) = control.jobs.list_in_states((JobState.WAITING,), 1)
    assert job.error == "ZeroDivisionError: division by ? zero ?", "as any database can hold it"


def test_a_killed_workers_job_is_taken_again_after_its_lease(
    workspace: Workspace, control: ControlTables, clock: Clock
) -> None:
    add(control, "1")
    assert _killed(lambda: once(workspace, lambda *_: os._exit(137)))
    assert once(workspace, lambda *_: None) == (0, 0, 0, 0), "the lease has not ended"
    clock.pass_(60)
    assert once(workspace, lambda *_: None) == (1, 0, 0, 0)


def test_a_job_that_kills_its_workers_fails(workspace: Workspace, control: ControlTables, clock: Clock) -> None:
    add(control, "1")
    for _ in range(3):
        assert _killed(lambda: once(workspace, lambda *_: os._exit(137)))
        clock.pass_(60)
    assert once(workspace, lambda *_: os._exit(137)) == (0, 0, 1, 0)
    assert list_jobs(workspace, 1).jobs[0].error == "started 3 times and never finished"


def test_a_lease_is_renewed_while_the_job_runs(workspace: Workspace, control: ControlTables, clock: Clock) -> None:
    add(control, "1")
    rules = replace(RULES, lease_seconds=0.06)
    renewed = threading.Event()

    def long(_workspace: Workspace, _payload: Json) -> None:
        with connect_control_tables(workspace) as own:
            clock.pass_(0.05)
            while own.jobs.list_in_states((JobState.LEASED,), 1)[0].due_ns < NOON + 0.1 * SECOND_NS:
                renewed.wait(0.001)
            assert own.jobs.take(["work"], NOON + int(0.1 * SECOND_NS), NOON + SECOND_NS) is None

    assert once(workspace, long, rules) == (1, 0, 0, 0)


def test_who_lost_the_lease_says_so_and_records_nothing(
    workspace: Workspace, control: ControlTables, clock: Clock
) -> None:
    add(control, "1")

    def slow(_workspace: Workspace, _payload: Json) -> None:
        clock.pass_(60)
        with connect_control_tables(workspace) as other:
            taken = other.jobs.take(["work"], clock.now, clock.now + SECOND_NS)
            assert taken is not None
            assert other.jobs.mark_done(taken, clock.now)

    assert once(workspace, slow) == (0, 0, 0, 1)


def test_a_stopped_worker_ends_its_job_and_begins_no_other(workspace: Workspace, control: ControlTables) -> None:
    add(control, "1", "2")
    done: list[Json] = []
    stop = threading.Event()

    def does(_: Workspace, payload: Json) -> None:
        stop.set()
        done.append(payload)

    report = JobWorker(workspace, {"work": does}, RULES, stop).run(once=False)
    assert (report.done, done) == (1, [{"key": "1"}])


def test_a_worker_leaves_other_kinds_alone(workspace: Workspace, control: ControlTables) -> None:
    add(control, "1", kind="other")
    assert once(workspace, lambda *_: None) == (0, 0, 0, 0)
    assert control.jobs.counts()[JobState.WAITING] == 1


def test_retention_comes_round_once_a_day(workspace: Workspace, control: ControlTables, clock: Clock) -> None:
    assert add_retention_jobs(control, workspace) == 0
    set_project_retention(workspace, "default", 30)
    ids = iter(f"{n:032x}" for n in range(9))
    counting = replace(workspace, token=lambda: next(ids))
    assert [add_retention_jobs(control, counting), add_retention_jobs(control, counting)] == [1, 0]
    clock.pass_(24 * 3600)
    assert add_retention_jobs(control, counting) == 1
    assert JobWorker(counting, KINDS, RULES).run(once=True).done == 2


@given(attempts=st.integers(1, 1_000), chance=st.floats(0, 1))
def test_a_job_never_waits_longer_than_the_rules_say_nor_less_than_half(attempts: int, chance: float) -> None:
    rules = WorkRules()
    whole = min(rules.back_off_seconds * 2 ** (attempts - 1), rules.back_off_seconds_max)
    assert whole / 2 <= compute_job_backoff_ns(attempts, chance, rules) / SECOND_NS <= whole


STEPS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["work", "settle", "fail", "die", "wait"])), max_size=40)


@example(steps=[(0, "work"), (0, "wait"), (1, "work"), (0, "settle"), (1, "settle")], keys=("1",))
@example(steps=[(0, "work"), (0, "wait"), (1, "work"), (1, "settle"), (0, "settle")], keys=("1",))
@example(steps=[(0, "work"), (0, "wait"), (1, "work"), (1, "settle"), (0, "fail")], keys=("1",))
@given(steps=STEPS, keys=st.sampled_from([("1",), ("1", "2")]))
def test_with_workers_killed_at_any_time_each_effect_and_each_end_happens_once(
    steps: list[tuple[int, str]], keys: tuple[str, ...]
) -> None:
    """Run two workers step by step in any order; a dead one forgets everything. Then one works to the end."""
    clock, effects, ends = Clock(), Counter[str](), Counter[str]()
    with ControlTables(open_sqlite_overlay(None)) as control:
        migrate_store_schema(control.db, load_schema_migrations("custody.server.control"))
        add(control, *keys)
        holding: dict[int, Job | None] = dict.fromkeys(range(2))
        for worker, step in steps:
            job = holding[worker]
            if step == "wait":
                clock.pass_(1)
            elif step == "work" and job is None:
                holding[worker] = taken = control.jobs.take(["work"], clock.now, clock.now + SECOND_NS)
                effects.update([] if taken is None else [taken.key])
            elif job is not None and step != "work":
                if step == "settle":
                    ends[job.key] += control.jobs.mark_done(job, clock.now)
                elif step == "fail":
                    control.jobs.schedule_retry(job, clock.now, "no")
                holding[worker] = None
        clock.pass_(2)
        while (last := control.jobs.take(["work"], clock.now, clock.now + SECOND_NS)) is not None:
            effects[last.key] += 1
            ends[last.key] += control.jobs.mark_done(last, clock.now)
    assert ends == dict.fromkeys(keys, 1)
    assert set(effects) == set(keys)


def _killed(does: Callable[[], object]) -> bool:
    child = os.fork()
    if child == 0:
        try:
            does()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 137
