"""The hook while calls of the operating system fail: each event is stored, or its loss leaves a trace."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.faults.crew import a_repository
from bench.faults.frame import Fault, Figures, Trial, none_of, seen, some
from custody.capture.hook.event_home import find_user_state_folder, locate_event_fallback, read_capture_gaps
from custody.capture.hook.install import hook_argv, install_hook
from custody.capture.spool import Spool

CALLS = ("open", "write", "read", "fsync", "rename", "mkdir", "stat", "getcwd", "urandom", "close")
NTH_MAX = 4
ERRNOS = (errno.ENOSPC, errno.EIO)
RUN = """
import os, runpy, sys
call, nth, last, code, launcher = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
real, count = getattr(os, call), [0]
def failing(*words, **named):
    count[0] += 1
    if nth <= count[0] <= last:
        raise OSError(code, os.strerror(code))
    return real(*words, **named)
setattr(os, call, failing)
sys.argv = sys.argv[5:]
runpy.run_path(launcher, run_name="__main__")
"""
"""Run the launcher while the calls ``nth`` to ``last`` of one function of ``os`` fail."""


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """The calls of one function that fail, with one errno.

    ``is_silent``: standard error is closed or discarded. ``is_broken``: the hook's library is gone as well.
    """

    call: str
    nth: int
    last: int
    code: int
    is_silent: bool = False
    is_broken: bool = False


def list_injected_faults() -> Iterator[InjectedFault]:
    """Yield every fault: once, and from then on; without standard error only where the disk works again."""
    for call in CALLS:
        for nth in range(1, NTH_MAX + 1):
            for code in ERRNOS:
                yield InjectedFault(call, nth, nth, code)
                yield InjectedFault(call, nth, 10**6, code)
            yield InjectedFault(call, nth, nth, errno.EACCES, is_silent=True)
    for call in ("open", "write", "read", "close", "stat"):
        yield from (InjectedFault(call, 1, last, errno.ENOSPC, is_broken=True) for last in (1, 10**6))
        yield InjectedFault(call, 1, 1, errno.EACCES, is_broken=True, is_silent=True)


def failed_hooks(trial: Trial) -> Figures:
    """Fail each call of the hook, once and from then on: the event is stored, or standard error or a gap names it."""
    stored = traced = 0
    untraced: list[InjectedFault] = []
    failed = 0
    for round_ in trial.each():
        for number, fault in enumerate(list_injected_faults()):
            left = run_with_fault(round_.folder / str(number), fault)
            failed += left.status != 0
            stored += left.is_stored
            traced += left.is_traced and not left.is_stored
            untraced += [] if left.is_stored or left.is_traced else [fault]
    for fault in untraced:
        sys.stderr.write(f"no trace: {fault}\n")
    return {
        "calls failed": some(stored + traced + len(untraced)),
        "events stored": seen(stored),
        "losses named": seen(traced),
        "losses without a trace": none_of(len(untraced)),
        "agents disturbed": none_of(failed),
    }


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """What a hook left: its exit status, whether the event can be ingested, and whether a loss is named."""

    status: int
    is_stored: bool
    is_traced: bool


def run_with_fault(folder: Path, fault: InjectedFault) -> LeftBehind:
    """Run the installed hook once in a new repository while a call fails."""
    repository = a_repository(folder / "repository")
    home = repository / ".git" / "custody"
    install_hook(home)
    if fault.is_broken:
        shutil.rmtree(home / "hook" / "lib")
    environment = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    words = hook_argv(home, "claude-code")
    launcher_at = next(place for place, word in enumerate(words) if word.endswith("record.py"))
    told = {"session_id": "s", "cwd": str(repository), "hook_event_name": "PostToolUse", "tool_name": "Edit"}
    done = subprocess.run(
        [*words[:launcher_at], "-c", RUN, *_words(fault), *words[launcher_at:]],
        input=json.dumps(told).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if fault.is_silent else subprocess.PIPE,
        cwd=repository,
        env=environment,
        check=False,
    )
    fallback = Path(locate_event_fallback(str(home), environment))
    own = find_user_state_folder(environment)
    gaps = [line for place in (home, fallback, own) for line in read_capture_gaps(place)]
    stored = [arrival for place in (home, fallback) for arrival in Spool(place / "spool").oldest(10).arrivals]
    return LeftBehind(done.returncode, bool(stored), bool(gaps) or b"custody: " in (done.stderr or b""))


def _words(fault: InjectedFault) -> tuple[str, ...]:
    return fault.call, str(fault.nth), str(fault.last), str(fault.code)


FAULTS = (
    Fault(
        name="last-words",
        what="each call of the hook fails, once or from then on: the event is stored, or its loss is named",
        run=failed_hooks,
        rounds=1,
    ),
)
