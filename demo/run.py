"""``make demo``: record, kill, verify, damage, be told. Everything happens in a folder that is removed afterwards."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
CUSTODY = str(Path(sys.executable).parent / "custody")
EVENTS = 100
KILL_AFTER = 60


def main() -> int:
    """Run the whole story; the exit status says whether it went as told."""
    with tempfile.TemporaryDirectory(prefix="custody-demo-") as name:
        folder = Path(name)
        repository = a_repository(folder / "repository")
        acknowledged = record(repository)
        drain_and_kill(repository)
        kept = verify(repository)
        told = damage(repository, folder)
    as_told = kept == len(acknowledged) == EVENTS and told
    say(
        "That was custody's floor: what was acknowledged is kept, and each of these changes was named."
        if as_told
        else "This did not go as it should: please report it."
    )
    if as_told:
        print("Next: 'custody --help' in any git repository of yours; README.md says what is coming on top.")
    return 0 if as_told else 1


def a_repository(path: Path) -> Path:
    """A small repository with one commit."""
    say("1. A repository")
    (path / "src").mkdir(parents=True)
    (path / "src" / "app.py").write_text("def f0(): return 0\n")
    identity = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "begin"]):
        subprocess.run(["git", *words], cwd=path, check=True)
    show(["git", "log", "--oneline"], path)
    return path


def record(repository: Path) -> list[str]:
    """Record events, kill the recorder without warning, and record the rest."""
    say(f"2. An agent works; its recorder is killed (kill -9) after {KILL_AFTER} acknowledged events, then goes on")
    spool = repository / ".git" / "custody" / "spool"
    first = _recorder(spool, 0, EVENTS)
    receipts = [first.stdout.readline().strip() for _ in range(KILL_AFTER)] if first.stdout else []
    os.kill(first.pid, signal.SIGKILL)
    rest = first.communicate()[0].split()
    receipts += rest
    print(f"   killed; it had acknowledged {len(receipts)} events")
    second = _recorder(spool, len(receipts), EVENTS - len(receipts))
    receipts += second.communicate()[0].split()
    print(f"   {len(receipts)} receipts in all; {len(set(receipts))} different")
    return receipts


def drain_and_kill(repository: Path) -> None:
    """Start commands that move the events into the chain, and kill each at another moment on its way."""
    say("3. Commands that move the waiting events into the chain are killed too")
    home = repository / ".git" / "custody"
    moments: dict[str, Callable[[], bool]] = {
        "as soon as the database exists": (home / "custody.db").exists,
        "as soon as the first event has left the spool": lambda: _waiting(home) < EVENTS,
    }
    for when, reached in moments.items():
        drainer = subprocess.Popen([CUSTODY, "doctor"], cwd=repository, stdout=subprocess.DEVNULL)
        while drainer.poll() is None and not reached():
            time.sleep(0.0005)
        drainer.kill()
        drainer.wait()
        print(f"   killed {when}; {_waiting(home)} events still wait")


def _waiting(home: Path) -> int:
    return sum(1 for _ in (home / "spool").iterdir())


def verify(repository: Path) -> int:
    """Verify what is there; give how many records there are."""
    say("4. What was kept?")
    show([CUSTODY, "verify"], repository)
    with sqlite3.connect(repository / ".git" / "custody" / "custody.db") as db:
        ((records, events),) = db.execute("SELECT count(*), count(DISTINCT event_id) FROM record").fetchall()
    print(f"   {records} records of {events} different events")
    return int(records) if records == events else -1


def damage(repository: Path, folder: Path) -> bool:
    """Damage copies of the store in four ways; verify must name each."""
    say("5. Somebody changes a copy of the store")
    damages = {
        "a record's time is changed": "UPDATE record SET at_ns = at_ns + 1 WHERE seq = 17",
        "a record is deleted": "DELETE FROM record WHERE seq = 42",
        "the last ten are cut off": "DELETE FROM record WHERE seq > 90",
        "a captured text is replaced": "UPDATE body SET codec = 'plain', bytes = CAST('not I' AS BLOB)"
        " WHERE digest = (SELECT digest FROM record WHERE seq = 5)",
    }
    told = True
    for what, sql in damages.items():
        copy = folder / "copy"
        shutil.copytree(repository, copy)
        with sqlite3.connect(copy / ".git" / "custody" / "custody.db") as db:
            db.execute(sql)
        db.close()
        print(f"\n   {what}:")
        told = show([CUSTODY, "verify"], copy) == 1 and told
        shutil.rmtree(copy)
    return told


def say(sentence: str) -> None:
    """A heading."""
    print(f"\n{sentence}", flush=True)


def show(words: list[str], folder: Path) -> int:
    """Run a command as a user would, show it and what it printed."""
    print(f"   $ {' '.join([Path(words[0]).name, *words[1:]])}")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    for line in (done.stdout + done.stderr).splitlines():
        print(f"   {line}")
    return done.returncode


def _recorder(spool: Path, first: int, count: int) -> "subprocess.Popen[str]":
    words = [sys.executable, str(HERE / "recorder.py"), str(spool), str(first), str(count)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    sys.exit(main())
