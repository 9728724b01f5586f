"""Spans on their way out: a queue that callers only append to, and one thread that hands batches to the exporter.

Nothing is lost because this thread is slow: a caller waits when the queue is full. Something is lost only when the
exporter refuses for so long that the queue is full; that is counted, said on stderr at the end, and kept as a gap.
"""

import atexit
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from time import sleep

from custody.sdk.records import Raw, SpanBatch, SpanRecord

BATCH_MAX = 512
QUEUE_MAX = 65_536
GATHER_SECONDS = 0.2
RETRY_SECONDS = 2.0
ROOM_SECONDS_MAX = 10.0
"""A caller waits no longer for room than this: then the disk counts as refusing."""
FORK_SECONDS_MAX = 1.0


Exporter = Callable[[Sequence[SpanRecord]], object]
"""Takes a batch of spans; raises when it cannot, and is then asked again with the same batch."""

QUEUE: deque[Raw] = deque()


class Outbox:
    """The one way out of this process."""

    def __init__(self) -> None:
        self.on = True
        """Whether spans are kept at all: not outside a repository."""
        self.lost = 0
        self.exporter: Exporter | None = None
        self.folder: str | None = None
        self.session: tuple[str | None, str | None] = (None, None)
        self.end_open: Callable[[], None] = lambda: None
        """Ends the spans that are open, as abandoned; the file that knows them puts it here."""
        self._renew()

    def _renew(self) -> None:
        self.armed = False
        """Whether the thread knows that something waits."""
        self.refused = False
        self._held = SpanBatch([])
        self._reported = self._said = self.lost = 0
        self._lock = threading.RLock()
        self._starting = threading.Lock()
        self._busy = self._forking = self._pausing = False
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._ended = False

    # --- the caller's side --------------------------------------------------------------------------------------------

    def arm(self) -> None:
        """Have what waits taken out soon."""
        self.armed = True
        if self._ended:
            self.armed = False
            self.flush()
            return
        if self._thread is None and self._starting.acquire(blocking=False):
            try:
                self._start()
            finally:
                self._starting.release()
        self._wake.set()

    def room(self) -> bool:
        """Wait until the queue has room; False when the exporter refuses, and one more span is lost."""
        waited = 0.0
        while len(QUEUE) >= QUEUE_MAX and threading.current_thread() is not self._thread:
            if self.refused or waited > ROOM_SECONDS_MAX:
                self.lost += 1
                return False
            self._hurry.set()
            self._wake.set()
            sleep(0.001)
            waited += 0.001
        return True

    def flush(self) -> bool:
        """Hand over everything that waits, now and here; False when the exporter refuses."""
        with self._lock:
            if self._busy:
                return False  # asked for by the exporter itself
            self._busy = True
            try:
                return self._drain()
            finally:
                self._busy = False

    def shutdown(self) -> bool:
        """End what was left open as abandoned, hand over everything, say what was lost."""
        self.end_open()
        with self._lock:
            done = self.flush()
            self._ended = True
            self.armed = False
            if not done:
                self.lost += len(QUEUE) + len(self._held)
                QUEUE.clear()
                self._held = SpanBatch([])
            self._report(last=True)
        self._hurry.set()
        self._wake.set()
        return done and not self.lost

    def begin(self) -> None:
        """Take spans again, after an end or after there was nowhere to put them."""
        self.on = True
        if self._ended:
            self._renew()

    # --- the thread's side --------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self.folder is None:
            # The program may go elsewhere before the thread looks.
            self.folder = _here()
        self._thread = threading.Thread(target=self._work, name="custody-spans", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            # No thread is to be had, at the end of the interpreter for one: then the caller writes.
            self._thread, self._ended = None, True
            self.flush()
            return
        forks = sys.modules.get("multiprocessing.util")
        if forks is not None:
            # Its processes end without asking atexit.
            forks.Finalize(None, self.shutdown, exitpriority=1)

    def _work(self) -> None:
        while not self._ended:
            self._wake.wait()
            self._hurry.wait(RETRY_SECONDS if self.refused else GATHER_SECONDS)
            if self._pausing:
                return
            self._hurry.clear()
            self._wake.clear()
            self.armed = False
            if not self.flush():
                self._wake.set()

    def _drain(self) -> bool:
        while self._held or QUEUE:
            if not self._held:
                self._held = _take_batch()
            try:
                self._send(self._held)
            except Exception:  # noqa: BLE001 - whatever an exporter does, the traced program goes on; it is asked again
                self.refused = True
                return False
            self._held = SpanBatch([])
        self.refused = False
        self._report()
        return True

    def _send(self, batch: SpanBatch) -> None:
        if self.exporter is None:
            from custody.intake.span_spool import exporter_to

            self.exporter = exporter_to(self.folder or ".", *self.session)
        if self.exporter is None:
            self.on = False
            QUEUE.clear()
        else:
            self.exporter(batch)

    def _report(self, *, last: bool = False) -> None:
        """Keep how many were lost where it is looked for; at the end also say it."""
        more = self.lost - self._reported
        if more:
            words = f"{more} span(s) could not be kept"
            gap = getattr(self.exporter, "gap", None)
            if gap is not None:
                _quietly(gap, words)
            self._reported = self.lost
        if last and self.lost > self._said:
            self._said = self.lost
            _quietly(sys.stderr.write, f"custody: {self.lost} span(s) could not be kept\n")

    # --- around a fork ------------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """End the thread: whatever it held at that moment, the child would wait for in vain."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self._pausing = True
            self._wake.set()
            self._hurry.set()
            thread.join(FORK_SECONDS_MAX)
        self._forking = self._lock.acquire(timeout=FORK_SECONDS_MAX)

    def after_fork_here(self) -> None:
        """Go on, with a new thread when something waits."""
        self._pausing = False
        if self._thread is not None and not self._thread.is_alive():
            self._thread = None
        if self._forking:
            self._lock.release()
        self.armed = False
        if QUEUE:
            self.arm()

    def after_fork_there(self) -> None:
        """What waits is the other process's to write; everything else is begun anew."""
        QUEUE.clear()
        self._renew()


OUT = Outbox()


def configure(
    *,
    folder: str | os.PathLike[str] | None = None,
    exporter: Exporter | None = None,
    agent: str | None = None,
    session: str | None = None,
) -> None:
    """Say where spans go: to the repository around ``folder``, or to ``exporter``; and whose session they are.

    Without it, to the repository around the working directory; outside one, nowhere. What waits is handed over first.
    """
    OUT.flush()
    OUT.exporter = exporter
    OUT.folder = None if folder is None else os.fspath(folder)
    OUT.session = (agent, session)
    OUT.begin()


def record_foreign_span(raw: Raw) -> None:
    """Have a span recorded that somebody else keeps the time of."""
    if OUT.on and (len(QUEUE) < QUEUE_MAX or OUT.room()):
        QUEUE.append(raw)
        if not OUT.armed:
            OUT.arm()


def flush() -> bool:
    """Hand over every span that has ended; True when all of them are durable."""
    return OUT.flush()


def shutdown() -> bool:
    """End tracing: what is open ends as abandoned, all is handed over; True when nothing was lost."""
    return OUT.shutdown()


def lost() -> int:
    """How many spans of this process could not be kept."""
    return OUT.lost


def _take_batch() -> SpanBatch:
    return SpanBatch([QUEUE.popleft() for _ in range(min(len(QUEUE), BATCH_MAX))])


def _here() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib would be one more import in a traced program
    except OSError:
        return None  # it was removed: then there is no repository around it


def _quietly(call: Callable[[str], object], words: str) -> None:
    try:
        call(words)
    except Exception:  # noqa: BLE001, S110 - the last resort: there is nowhere left to say it
        pass


os.register_at_fork(before=OUT.before_fork, after_in_parent=OUT.after_fork_here, after_in_child=OUT.after_fork_there)
atexit.register(OUT.shutdown)
