"""Every span is exported, whatever the exporter, the disk, a fork or the end of the program do."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from custody.core.views import SpanStatus
from custody.sdk import configure, flush, lost, shutdown, span
from custody.sdk.outbox import QUEUE
from tests.builders.cli import spool_of
from tests.unit.sdk.conftest import ExportedSpans, spans_in


def ran(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip


def test_a_program_s_spans_reach_the_store_when_it_ends(repository: Path) -> None:
    ran(repository, "from custody.sdk import span\nwith span('outer'):\n  with span('inner', a=1): pass")
    inner, outer = sorted(spans_in(repository), key=lambda record: record.name)
    assert (inner.parent, inner.execution, inner.attributes) == (outer.id, outer.execution, (("a", 1),))
    assert len(spool_of(repository).names()) == 0


def test_outside_a_repository_nothing_is_stored_or_printed(tmp_path: Path) -> None:
    done = ran(
        tmp_path, "from custody.sdk import span, flush\nwith span('x'): pass\nprint(flush())\nwith span('y'): pass"
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
    assert list(tmp_path.iterdir()) == []


def test_spans_open_at_the_end_are_abandoned(repository: Path) -> None:
    code = "from custody.sdk import span\nhold = span('left open'); hold.__enter__()"
    assert ran(repository, code).stderr == ""
    (left,) = spans_in(repository)
    assert (left.name, left.status) == ("left open", SpanStatus.ABANDONED)


def test_flushed_spans_survive_a_kill(repository: Path) -> None:
    code = "import os\nfrom custody.sdk import *\nwith span('flushed'): pass\nassert flush()\nos.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code], cwd=repository, check=False).returncode == -9
    assert [record.name for record in spans_in(repository)] == ["flushed"]


def test_a_program_that_fails_fails_as_before(repository: Path) -> None:
    code = "from custody.sdk import capability\n@capability\ndef f(): raise LookupError('mine')\nf()"
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("LookupError: mine\n")
    assert [record.status for record in spans_in(repository)] == [SpanStatus.ERROR]


def test_many_spans_need_few_files(repository: Path) -> None:
    configure(folder=repository)
    for n in range(2_000):
        with span("work", n=n):
            pass
    assert flush()
    assert len(spool_of(repository).names()) < 50
    assert len(spans_in(repository)) == 2_000
    configure(exporter=lambda _: None)


FORKS = {
    "fork": """
import os
from custody.sdk import span, flush
with span('before'):
    if os.fork() == 0:
        with span('child'): pass
        flush(); os._exit(0)
    os.wait()
    with span('parent'): pass
""",
    "multiprocessing": """
import multiprocessing
from custody.sdk import span
def work():
    with span('child'): pass
with span('before'):
    process = multiprocessing.get_context('fork').Process(target=work)
    process.start(); process.join()
    with span('parent'): pass
""",
    "busy": """
import os, threading
from custody.sdk import span, flush
def busy():
    while not stop.wait(0.001):
        with span('noise'): pass
        flush()
stop = threading.Event()
threading.Thread(target=busy).start()
with span('before'):
    for _ in range(5):
        if os.fork() == 0:
            with span('child'): pass
            flush(); os._exit(0)
        os.wait()
    with span('parent'): pass
stop.set()
""",
}


def test_spans_waiting_at_a_fork_are_exported_once(tmp_path: Path) -> None:
    code = """
import os
from custody.sdk import configure, span, flush
def write(batch):
    for record in batch:
        os.write(1, (record.name + '\\n').encode())
configure(exporter=write)
with span('first'): pass
if os.fork() == 0:
    with span('child'): pass
    flush(); os._exit(0)
os.wait()
"""
    assert sorted(ran(tmp_path, code).stdout.split()) == ["child", "first"]


def test_a_fork_finds_no_thread_of_ours(repository: Path) -> None:
    """From Python 3.12 on, forking a process with several threads is warned about."""
    code = """
import os, threading
os.register_at_fork(before=lambda: print(threading.active_count(), flush=True))  # runs after those registered later
from custody.sdk import span
with span('first'): pass
print(threading.active_count(), flush=True)
if os.fork() == 0: os._exit(0)
os.wait()
with span('second'): pass
"""
    done = ran(repository, code)
    assert (done.stdout, done.stderr) == ("2\n1\n", "")
    assert sorted(record.name for record in spans_in(repository)) == ["first", "second"]


@pytest.mark.parametrize("fork", FORKS)
def test_after_a_fork_both_sides_continue_and_nothing_is_exported_twice(fork: str, repository: Path) -> None:
    done = ran(repository, "import warnings\nwarnings.simplefilter('ignore')\n" + FORKS[fork])
    assert done.stderr == ""
    spans = [record for record in spans_in(repository) if record.name != "noise"]
    (before,) = (record for record in spans if record.name == "before")
    children = [record for record in spans if record.name == "child"]
    assert len(children) == (5 if fork == "busy" else 1)
    assert {record.parent for record in spans if record is not before} == {before.id}
    assert len({record.id for record in spans}) == len(spans)


def test_an_exporter_that_raises_is_called_again_with_the_same_batch(exported: ExportedSpans) -> None:
    refuse = [True]

    def exporter(batch: Any) -> None:
        if refuse:
            raise OSError("full")
        exported(batch)

    configure(exporter=exporter)
    with span("later"):
        pass
    assert not flush()
    refuse.clear()
    assert [record.name for record in exported.spans] == ["later"]
    assert lost() == 0


def test_spans_are_lost_and_counted_only_when_the_exporter_fails_and_the_queue_is_full(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("custody.sdk.spans.QUEUE_MAX", 10)
    monkeypatch.setattr("custody.sdk.outbox.QUEUE_MAX", 10)

    def refuses(batch: Any) -> None:
        raise OSError("full")

    configure(exporter=refuses)
    with span("first"):
        pass
    assert not flush()
    for _ in range(20):
        with span("more"):
            pass
    assert lost() == 10
    assert not shutdown()
    assert capsys.readouterr().err == "custody: 21 spans could not be stored\n"
    assert not QUEUE
    configure(exporter=lambda _: None)


def test_a_slow_exporter_makes_callers_wait_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, exported: ExportedSpans
) -> None:
    monkeypatch.setattr("custody.sdk.spans.QUEUE_MAX", 100)
    monkeypatch.setattr("custody.sdk.outbox.QUEUE_MAX", 100)
    for n in range(5_000):
        with span(str(n)):
            pass
    assert [record.name for record in exported.spans] == [str(n) for n in range(5_000)]
    assert lost() == 0


def test_an_exporter_may_trace_and_flush_itself(exported: ExportedSpans) -> None:
    def exporter(batch: Any) -> None:
        if not exported._spans:
            with span("of the exporter"):
                assert not flush()
        exported(batch)

    configure(exporter=exporter)
    with span("mine"):
        pass
    assert [record.name for record in exported.spans] == ["mine", "of the exporter"]


def test_spans_end_in_many_threads_while_others_flush(exported: ExportedSpans) -> None:
    def work() -> None:
        for n in range(500):
            with span("work"):
                pass
            if not n % 100:
                flush()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(exported.spans) == 4_000


def test_after_shutdown_spans_are_written_at_once(exported: ExportedSpans) -> None:
    shutdown()
    with span("late"):
        pass
    assert [record.name for record in exported._spans] == ["late"]
    configure(exporter=exported)


def test_the_import_loads_nothing_else() -> None:
    code = (
        "import sys, custody.sdk; print(*(m for m in sys.modules if m.startswith(('custody', 'msgspec', 'asyncio'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"custody", "custody.sdk"} | {
        f"custody.sdk.{name}" for name in ("decorators", "outbox", "propagation", "records", "spans")
    }
