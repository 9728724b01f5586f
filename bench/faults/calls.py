"""The N-th call of the operating system fails, with each errno, while an event is made durable."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.faults.frame import Fault, Figures, Trial, none_of, seen, some
from bench.faults.worker import an_event
from custody.capture.hook import durable
from custody.capture.spool import Spool
from custody.core.errors import SpoolError

CALLS = ("open", "write", "fsync", "rename", "mkdir")
ERRNOS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EMFILE, errno.EINTR)


class FailingOs:
    """The operating system, except that one call fails once."""

    def __init__(self, call: str, nth: int, code: int) -> None:
        self._left = {call: nth}
        self._code = code
        self.failed = False

    def __getattr__(self, name: str) -> Any:
        real: Callable[..., Any] = getattr(os, name)
        return self._failing(name, real) if name in self._left else real

    def _failing(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any, **named: Any) -> Any:
            self._left[name] -= 1
            if self._left[name] == 0:
                self.failed = True
                raise OSError(self._code, os.strerror(self._code))
            return real(*words, **named)

        return call


@contextmanager
def failing(call: str, nth: int, code: int) -> Iterator[FailingOs]:
    """Put a failing operating system under the durable write."""
    made = FailingOs(call, nth, code)
    real, durable.os = durable.os, made  # type: ignore[assignment,attr-defined]
    try:
        yield made
    finally:
        durable.os = real  # type: ignore[attr-defined]


def failed_calls(trial: Trial) -> Figures:
    """Fail every call, first to third, with every errno: each event is stored, or rejected with an error."""
    failures = lost = untyped = half = 0
    for round_ in trial.each():
        for call in CALLS:
            for nth in range(1, 4):
                for code in ERRNOS:
                    folder = round_.folder / f"{call}-{nth}-{code}" / "spool"
                    outcome = _put(folder, call, nth, code)
                    failures += outcome.failed
                    lost += outcome.acknowledged and not outcome.there
                    untyped += outcome.untyped
                    half += outcome.refused_but_readable_rubbish
    return {
        "calls failed": some(failures),
        "acknowledged events lost": none_of(lost),
        "untyped errors": none_of(untyped),
        "damaged files left": none_of(half),
        "errnos": seen(len(ERRNOS)),
    }


class _Outcome:
    """Return the outcome of one event."""

    def __init__(self) -> None:
        self.acknowledged = self.there = self.untyped = self.failed = self.refused_but_readable_rubbish = False


def _put(folder: Path, call: str, nth: int, code: int) -> _Outcome:
    outcome = _Outcome()
    spool = Spool(folder)
    with failing(call, nth, code) as system:
        try:
            receipt = spool.put(an_event("calls", 1))
            outcome.acknowledged = True
        except SpoolError:
            receipt = None
        except Exception:  # noqa: BLE001 - what the figure counts
            outcome.untyped = True
            receipt = None
    outcome.failed = system.failed
    waiting = spool.oldest(10)
    outcome.there = receipt is not None and [a.entry.event for a in waiting.arrivals] == [receipt.event]
    outcome.refused_but_readable_rubbish = bool(waiting.refused)
    return outcome


FAULTS = (
    Fault(
        name="calls",
        what="the first, second and third of each system call fails with each errno",
        run=failed_calls,
        rounds=1,
    ),
)
