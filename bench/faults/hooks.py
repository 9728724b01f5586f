"""The installed hook under pressure: many agents at once, and killed at any time."""

import json
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench.faults.crew import a_repository, kept
from bench.faults.frame import Fault, Figures, Trial, none_of, seen, some
from custody.capture.hook.install import hook_argv, install_hook

AGENTS, EVENTS_EACH = 32, 5
SECONDS_MAX = 1.0
LIFE_S = 0.08
KILLS = 20

_IDENTITY = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")


def crowded(trial: Trial) -> Figures:
    """Record through the real hook while a person commits and rebases; every receipt must be stored once."""
    lost = twice = slow = findings = total = 0
    slowest = 0.0
    for round_ in trial.each():
        repository = _hooked(round_.folder / "repository")
        stop = threading.Event()
        committer = threading.Thread(target=_commit_and_rebase, args=(repository, stop))
        committer.start()
        with ThreadPoolExecutor(AGENTS) as pool:
            done = list(pool.map(partial(_agent, repository), range(AGENTS)))
        stop.set()
        committer.join()
        receipts = [name for agent in done for name, _ in agent]
        times = [seconds for agent in done for _, seconds in agent]
        after = kept(repository, receipts)
        total += len(receipts)
        lost += after.missing + AGENTS * EVENTS_EACH - len(receipts)
        twice += after.repeated + abs(after.report.records - len(receipts))
        findings += len(after.report.findings)
        slow += sum(seconds > SECONDS_MAX for seconds in times)
        slowest = max(slowest, *times)
    return {
        "events recorded": some(total, AGENTS * EVENTS_EACH),
        "events lost": none_of(lost),
        "events kept twice": none_of(twice),
        "findings of verify": none_of(findings),
        # Reported without a bar: a busy machine must not fail a run that lost nothing.
        f"hooks above {SECONDS_MAX:g} s": seen(slow),
        "slowest hook in ms": seen(round(slowest * 1000)),
    }


def killed(trial: Trial) -> Figures:
    """Kill the hook at many points: acknowledged events are stored, and leftover files do no harm."""
    lost = damaged = acknowledged = 0
    for round_ in trial.each():
        repository = _hooked(round_.folder / "repository")
        receipts: list[str] = []
        for n in range(KILLS):
            hook = _start(repository, f"k{n}")
            time.sleep(round_.random.uniform(0, LIFE_S))
            hook.kill()
            receipts += hook.communicate()[0].decode().split()
        after = kept(repository, receipts)
        acknowledged += len(receipts)
        lost += after.missing
        damaged += len(after.report.findings)
    return {
        "hooks killed": seen(KILLS * trial.rounds),
        "events acknowledged before": seen(acknowledged),
        "acknowledged events lost": none_of(lost),
        "findings of verify": none_of(damaged),
    }


def _hooked(path: Path) -> Path:
    repository = a_repository(path)
    for n in range(3):
        _commit(repository, f"f{n}")
    install_hook(repository / ".git" / "custody")
    return repository


def _agent(repository: Path, agent: int) -> list[tuple[str, float]]:
    done = []
    for n in range(EVENTS_EACH):
        began = time.monotonic()
        out = _start(repository, f"a{agent}-{n}").communicate()[0]
        done += [(name, time.monotonic() - began) for name in out.decode().split()]
    return done


def _start(repository: Path, call: str) -> "subprocess.Popen[bytes]":
    event = {
        "session_id": "s",
        "cwd": str(repository),
        "hook_event_name": "PostToolUse",
        "tool_name": "Edit",
        "tool_use_id": call,
        "tool_response": {"originalFile": "x = 1\n" * 500},
    }
    argv = hook_argv(repository / ".git" / "custody", "claude-code", "--receipt")
    hook = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=repository)
    if hook.stdin:
        hook.stdin.write(json.dumps(event).encode())
        hook.stdin.close()
        hook.stdin = None
    return hook


def _commit_and_rebase(repository: Path, stop: threading.Event) -> None:
    n = 0
    while not stop.is_set():
        n += 1
        _commit(repository, f"busy{n}")
        if n % 5 == 0:
            subprocess.run(
                ["git", *_IDENTITY, "rebase", "-q", "--force-rebase", "HEAD~2"],
                cwd=repository,
                capture_output=True,
                check=False,
            )


def _commit(repository: Path, name: str) -> None:
    (repository / name).write_text(f"{name}\n")
    subprocess.run(["git", "add", name], cwd=repository, check=True)
    subprocess.run(["git", *_IDENTITY, "commit", "-qm", name], cwd=repository, check=True)


FAULTS = (
    Fault(
        name="hook-crowd",
        what="32 agents recording through the hook while a person commits and rebases",
        run=crowded,
        rounds=3,
    ),
    Fault(name="hook-kill", what="the hook killed at random times", run=killed, rounds=10),
)
