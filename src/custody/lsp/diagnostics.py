"""The gate's reasons about a work tree, computed beside the questions about lines: after a pause, newest state only."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock, Thread, Timer

from msgspec import Struct

from custody.core.errors import CustodyError
from custody.gate.app.gate import GateRequest, gate
from custody.lsp.repositories import MakeWorkspace
from custody.workspace.workspace import CommandResources

REASONS_MAX = 200
"""Reasons shown for one work tree, so that a large change does not fill an editor."""


class GateFinding(Struct, frozen=True):
    """A reason at a place of a file; without lines it is about the whole file."""

    path: Path
    start_line: int
    end_line: int
    level: str
    code: str
    text: str


Publish = Callable[[Path, list[GateFinding]], None]


class GateWatch:
    """Runs the gate for work trees, one at a time, and reports what it found unless a newer edit has made it stale."""

    def __init__(self, make: MakeWorkspace, publish: Publish, warn: Callable[[str], None], pause: float) -> None:
        self._make, self._publish, self._warn, self._pause = make, publish, warn, pause
        self._lock = Lock()
        self._one_at_a_time = Lock()
        self._wanted: dict[Path, int] = {}
        self._timers: dict[Path, Timer] = {}

    def request(self, root: Path) -> None:
        """Check the work tree after a pause without further requests."""
        with self._lock:
            number = self._cancel(root)
            timer = self._timers[root] = Timer(self._pause, self._submit, (root, number))
            timer.daemon = True
            timer.start()

    def set_pause(self, seconds: float) -> None:
        """Wait this long after a request."""
        self._pause = seconds

    def cancel(self, root: Path) -> None:
        """Drop the check of a work tree that is waiting or running: its files are being edited."""
        with self._lock:
            self._cancel(root)

    def close(self) -> None:
        """Stop: nothing more is reported."""
        with self._lock:
            for root in list(self._wanted):
                self._cancel(root)

    def _cancel(self, root: Path) -> int:
        timer = self._timers.pop(root, None)
        if timer is not None:
            timer.cancel()
        self._wanted[root] = self._wanted.get(root, 0) + 1
        return self._wanted[root]

    def _is_current(self, root: Path, number: int) -> bool:
        with self._lock:
            return self._wanted.get(root) == number

    def _submit(self, root: Path, number: int) -> None:
        with self._lock:
            if self._wanted.get(root) == number:
                # The end of an editor does not wait for a check.
                Thread(target=self._check, args=(root, number), name="gate", daemon=True).start()

    def _check(self, root: Path, number: int) -> None:
        with self._one_at_a_time:
            if not self._is_current(root, number):
                return
            try:
                findings = check_work_tree(self._make, root)
            except CustodyError as error:
                self._warn(f"no check of {root}: {error.message}")
                findings = []
            if self._is_current(root, number):
                self._publish(root, findings)


def check_work_tree(make: MakeWorkspace, root: Path) -> list[GateFinding]:
    """Return the gate's reasons about the work tree on disk, each at its places; nothing is recorded."""
    resources = CommandResources()
    try:
        report = gate(make(root, resources), GateRequest())
    finally:
        resources.close()
    findings = [
        GateFinding(
            root / place.path,
            place.start_line or 1,
            place.end_line or place.start_line or 1,
            reason.level,
            reason.code,
            f"{reason.sentence}; {reason.remedy}",
        )
        for reason in report.reasons
        for place in reason.places
    ]
    return findings[:REASONS_MAX]
