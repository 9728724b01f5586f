"""The way of spans out of the process: a queue that callers append to, and one thread that exports batches.

A slow exporter loses nothing: a caller waits when the queue is full. Spans are lost only when the exporter keeps
failing until the queue is full; they are counted, reported on stderr at the end, and recorded as a gap.
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
"""The longest wait of a caller for room; after it the exporter counts as failing."""
FORK_SECONDS_MAX = 1.0


Exporter = Callable[[Sequence[SpanRecord]], object]
"""Takes a batch of spans; raises when it cannot, and is then called again with the same batch."""

QUEUE: deque[Raw] = deque()


class Outbox:
    """Exports the spans of this process."""

    def __init__(self) -> None:
        self.on = True
        """Whether spans are recorded: not outside a repository."""
        self.lost = 0
        self.exporter: Exporter | None = None
        self.folder: str | None = None
        self.session: tuple[str | None, str | None] = (None, None)
        self.end_open: Callable[[], None] = lambda: None
        """Ends the open spans as abandoned; set by the module that knows them."""
        self._renew()

    def _renew(self) -> None:
        self.armed = False
        """Whether the thread was notified of waiting spans."""
        self.refused = False
        self._pending = SpanBatch([])
        self._recorded_lost = self._printed_lost = self.lost = 0
        self._lock = threading.RLock()
        self._starting = threading.Lock()
        self._start_blocked = False
        self._busy = self._forking = self._pausing = False
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._ended = False

    # --- the caller's side --------------------------------------------------------------------------------------------

    def arm(self) -> None:
        """Have the waiting spans exported soon."""
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

    def wait_for_room(self) -> bool:
        """Wait until the queue has room; return False and count a lost span when the exporter keeps failing."""
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
        """Export everything that waits, in this thread; return False when the exporter fails."""
        with self._lock:
            if self._busy:
                return False  # called by the exporter itself
            self._busy = True
            try:
                return self._export_waiting_spans()
            finally:
                self._busy = False

    def shutdown(self) -> bool:
        """End open spans as abandoned, export everything, and report what was lost."""
        self.end_open()
        with self._lock:
            done = self.flush()
            self._ended = True
            self.armed = False
            if not done:
                self.lost += len(QUEUE) + len(self._pending)
                QUEUE.clear()
                self._pending = SpanBatch([])
            self._report(last=True)
        self._hurry.set()
        self._wake.set()
        return done and not self.lost

    def begin(self) -> None:
        """Accept spans again, after a shutdown or outside a repository."""
        self.on = True
        if self._ended:
            self._renew()

    # --- the thread's side --------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self.folder is None:
            # The program may change its working directory before the thread starts.
            self.folder = _find_traced_folder()
        self._thread = threading.Thread(target=self._work, name="custody-spans", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            # No thread can be started, for example at interpreter exit: the caller writes.
            self._thread, self._ended = None, True
            self.flush()
            return
        forks = sys.modules.get("multiprocessing.util")
        if forks is not None:
            # Processes of multiprocessing exit without atexit.
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

    def _export_waiting_spans(self) -> bool:
        while self._pending or QUEUE:
            if not self._pending:
                self._pending = _take_span_batch()
            try:
                self._send(self._pending)
            except Exception:  # noqa: BLE001 - an exporter's error must not stop the traced program; it is called again
                self.refused = True
                return False
            self._pending = SpanBatch([])
        self.refused = False
        self._report()
        return True

    def _send(self, batch: SpanBatch) -> None:
        if self.exporter is None:
            from custody.intake.span_spool import make_spool_exporter

            self.exporter = make_spool_exporter(self.folder or ".", *self.session)
        if self.exporter is None:
            self.on = False
            QUEUE.clear()
        else:
            self.exporter(batch)

    def _report(self, *, last: bool = False) -> None:
        """Record how many spans were lost; at the end also print it."""
        more = self.lost - self._recorded_lost
        if more:
            loss = f"{_count_spans(more)} could not be stored"
            gap = getattr(self.exporter, "gap", None)
            if gap is not None:
                _report_span_loss(gap, loss)
            self._recorded_lost = self.lost
        if last and self.lost > self._printed_lost:
            self._printed_lost = self.lost
            _report_span_loss(sys.stderr.write, f"custody: {_count_spans(self.lost)} could not be stored\n")

    # --- around a fork ------------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """End the thread: the child would wait forever for a lock that it held."""
        # Another thread may be starting ours. Wait for it, and let none start it until the fork is over.
        self._start_blocked = self._starting.acquire(timeout=FORK_SECONDS_MAX)
        thread = self._thread
        if thread is not None and thread.ident is not None and thread is not threading.current_thread():
            self._pausing = True
            self._wake.set()
            self._hurry.set()
            thread.join(FORK_SECONDS_MAX)
        self._forking = self._lock.acquire(timeout=FORK_SECONDS_MAX)

    def after_fork_in_parent(self) -> None:
        """Continue, with a new thread if spans wait."""
        self._pausing = False
        if self._thread is not None and not self._thread.is_alive():
            self._thread = None
        if self._forking:
            self._lock.release()
        if self._start_blocked:
            self._starting.release()
        self.armed = False
        if QUEUE:
            self.arm()

    def after_fork_in_child(self) -> None:
        """Drop the waiting spans, which the parent process writes, and start again."""
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
    """Set where spans go (the repository around ``folder``, or ``exporter``) and their agent and session.

    By default they go to the repository around the working directory; outside a repository they are dropped. Waiting
    spans are exported first.
    """
    OUT.flush()
    OUT.exporter = exporter
    OUT.folder = None if folder is None else os.fspath(folder)
    OUT.session = (agent, session)
    OUT.begin()


def record_foreign_span(raw: Raw) -> None:
    """Record a span that another component timed."""
    if OUT.on and (len(QUEUE) < QUEUE_MAX or OUT.wait_for_room()):
        QUEUE.append(raw)
        if not OUT.armed:
            OUT.arm()


def flush() -> bool:
    """Export every span that has ended; return whether all of them are durable."""
    return OUT.flush()


def shutdown() -> bool:
    """End tracing: open spans end as abandoned, and all spans are exported; return whether nothing was lost."""
    return OUT.shutdown()


def lost() -> int:
    """Return how many spans of this process could not be stored."""
    return OUT.lost


def _count_spans(count: int) -> str:
    # count_noun would be one more import in a traced program.
    return f"{count:,} span" if count == 1 else f"{count:,} spans"


def _take_span_batch() -> SpanBatch:
    return SpanBatch([QUEUE.popleft() for _ in range(min(len(QUEUE), BATCH_MAX))])


def _find_traced_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib would be one more import in a traced program
    except OSError:
        return None  # the folder was removed


def _report_span_loss(call: Callable[[str], object], text: str) -> None:
    try:
        call(text)
    except Exception:  # noqa: BLE001, S110 - the last resort: nothing else can report it
        pass


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(
        before=OUT.before_fork, after_in_parent=OUT.after_fork_in_parent, after_in_child=OUT.after_fork_in_child
    )
atexit.register(OUT.shutdown)
