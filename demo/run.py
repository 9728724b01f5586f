"""``make demo``: an agent's session captured by the real hook, killed on the way, verified, damaged, and told.

Everything happens in a folder that is removed afterwards.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it runs as a file

from demo.session import SECRET, SESSION, events

CUSTODY = str(Path(sys.executable).parent / "custody")
EVENTS = 100
KILL_AT = 60
SHOWN_LINES = 14


def main() -> int:
    """Run the whole story; the exit status says whether it went as told."""
    with tempfile.TemporaryDirectory(prefix="custody-demo-") as name:
        folder = Path(name).resolve()
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        repository = a_repository(folder / "repository")
        set_up(repository)
        receipts = work(repository)
        drain_and_kill(repository)
        kept = look(repository)
        blamed = ask(repository)
        told = damage(repository, folder)
    as_told = kept == len(receipts) == EVENTS and blamed and told
    say(
        "What was acknowledged is kept, every line has an answer with its evidence, and each damage was named."
        if as_told
        else "This did not go as it should: please report it."
    )
    if as_told:
        print("Next: 'custody init' in a git repository of yours; README.md says what is coming on top.")
    return 0 if as_told else 1


def a_repository(path: Path) -> Path:
    """A small repository with one commit."""
    say("1. A repository")
    (path / "src").mkdir(parents=True)
    (path / "src" / "app.py").write_text("def f0(): return 0\n")
    for words in (["init", "-q"], ["config", "user.name", "Ana"], ["config", "user.email", "ana@example.org"]):
        subprocess.run(["git", *words], cwd=path, check=True)
    subprocess.run(["git", "add", "."], cwd=path, check=True)
    subprocess.run(["git", "commit", "-qm", "begin"], cwd=path, check=True)
    show(["git", "log", "--oneline"], path)
    return path


def set_up(repository: Path) -> None:
    """Have the agent's work recorded."""
    say("2. The hook is installed")
    show([CUSTODY, "init", "--agent", "claude-code"], repository)


def work(repository: Path) -> list[str]:
    """Play the agent's session through the installed hook; one hook is killed on its way and its event sent again."""
    say(f"3. An agent works: {EVENTS} events through the real hook; one hook is killed (kill -9) and tried again")
    report = json.loads(
        subprocess.run([CUSTODY, "doctor", "--json"], cwd=repository, capture_output=True, check=False).stdout
    )
    command = [*report["hook"]["command"], "--receipt"]
    receipts: list[str] = []
    for n, event in enumerate(events(repository)):
        said = json.dumps(event).encode()
        if n == KILL_AT:
            victim = subprocess.Popen(command, cwd=repository, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            victim.kill()
            victim.communicate()
            print(f"   killed the hook of event {n}")
        done = subprocess.run(command, cwd=repository, input=said, capture_output=True, check=False)
        receipts += done.stdout.decode().split()
        if event["hook_event_name"] == "Stop":
            subprocess.run(["git", "commit", "-qam", "what the agent made"], cwd=repository, check=True)
    print(f"   {len(receipts)} receipts; {len(set(receipts))} different")
    return receipts


def drain_and_kill(repository: Path) -> None:
    """Start commands that move the events into the chain, and kill each at another moment on its way."""
    say("4. Commands that move the waiting events into the chain are killed too")
    home = repository / ".git" / "custody"
    whole = _waiting(home)
    moments: dict[str, Callable[[], bool]] = {
        "as soon as the database exists": (home / "custody.db").exists,
        "as soon as the first event has left the spool": lambda: _waiting(home) < whole,
    }
    for when, reached in moments.items():
        drainer = subprocess.Popen([CUSTODY, "doctor"], cwd=repository, stdout=subprocess.DEVNULL)
        while drainer.poll() is None and not reached():
            time.sleep(0.0005)
        drainer.kill()
        drainer.wait()
        print(f"   killed {when}; {_waiting(home)} events still wait")


def look(repository: Path) -> int:
    """Look at what was kept; give how many of the agent's own events there are, -1 if a secret is among them."""
    say("5. What was kept?")
    show([CUSTODY, "log"], repository)
    show([CUSTODY, "log", SESSION[:8], "--tree"], repository)
    show([CUSTODY, "verify"], repository)
    home = repository / ".git" / "custody"
    exported = subprocess.run([CUSTODY, "export"], cwd=repository, capture_output=True, check=True).stdout
    leaks = exported.count(SECRET.encode())
    replaced = exported.count(b"[redacted:")
    print(f"   the token in the agent's edits is kept {leaks} times; {replaced} places were redacted")
    with sqlite3.connect(home / "custody.db") as db:
        ((kept, different),) = db.execute(
            "SELECT count(*), count(DISTINCT event_id) FROM record WHERE natural_key LIKE 'hook:claude-code:%'"
            " AND kind = 'hook'"
        ).fetchall()
    db.close()
    print(f"   {kept} records of {different} different events")
    return int(kept) if kept == different and not leaks else -1


def ask(repository: Path) -> bool:
    """A person adds a line and commits everything; then every line is asked about."""
    say("6. A person adds a line and commits everything: who wrote what?")
    file = repository / "src" / "app.py"
    file.write_text(file.read_text() + "def by_hand(): return 'a person typed this'\n")
    subprocess.run(["git", "commit", "-qam", "agent's functions, and one by hand"], cwd=repository, check=True)
    last = len(file.read_text().splitlines())
    show([CUSTODY, "blame", "src/app.py", "-L", f"{last - 2},{last}"], repository)
    show([CUSTODY, "why", f"src/app.py:{last - 1}"], repository)
    show([CUSTODY, "gate", "HEAD~1..HEAD"], repository)
    report = subprocess.run([CUSTODY, "blame", "src/app.py", "--json"], cwd=repository, capture_output=True, check=True)
    answers = json.loads(report.stdout)["attributions"]
    classes = [one["class"] for one in answers for _ in range(one["start_line"], one["end_line"] + 1)]
    # The first line was there before the agent came, and the last one is the person's.
    return classes[0] == classes[-1] == "none" and all(found in ("agent", "mixed") for found in classes[1:-1])


def damage(repository: Path, folder: Path) -> bool:
    """Damage copies of the store in four ways; verify must name each."""
    say("7. Somebody changes a copy of the store")
    damages = {
        "a record's time is changed": "UPDATE record SET at_ns = at_ns + 1 WHERE seq = 17",
        "a record is deleted": "DELETE FROM record WHERE seq = 42",
        "the last ones are cut off": "DELETE FROM record WHERE seq > 90",
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
    """Run a command as a user would, show it and the beginning of what it printed."""
    print(f"   $ {' '.join([Path(words[0]).name, *words[1:]])}")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    lines = (done.stdout + done.stderr).replace(str(folder), ".").splitlines()
    for line in lines[:SHOWN_LINES]:
        print(f"   {line}")
    if len(lines) > SHOWN_LINES:
        print(f"   … {len(lines) - SHOWN_LINES} more lines")
    return done.returncode


def _waiting(home: Path) -> int:
    return sum(1 for _ in (home / "spool").iterdir())


if __name__ == "__main__":
    sys.exit(main())
