"""The program ends without taking the interpreter apart, and loses nothing by it."""

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys, threading, time
atexit.register(lambda: print("handler"))
{more}
sys.argv = ["custody", *{words}]
from custody.cli.main import run
run()
"""
THREAD = "threading.Thread(target=lambda: (time.sleep(1), print('thread'))).start()"


def ended(words: list[str], more: str = "") -> tuple[int, list[str]]:
    code = PROGRAM.format(words=words, more=more)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize(("words", "status"), [(["--version"], 0), (["no-such-verb"], 2)])
def test_handlers_run_and_the_status_is_kept(words: list[str], status: int) -> None:
    returned, lines = ended(words)
    assert returned == status
    assert lines[-1] == "handler"
    assert len(lines) == 1 + (status == 0), "all output is written"


def test_threads_are_waited_for() -> None:
    lines = ended(["--version"], THREAD)[1]
    assert "thread" in lines
    assert lines[-1] == "handler"


def test_a_bug_is_reported_as_before() -> None:
    assert ended(["--version"], "import custody.cli.main as m\nm.cli = None")[0] == 4
