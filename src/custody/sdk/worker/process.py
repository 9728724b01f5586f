"""Starts, reads and ends a worker: three threads read its output, one writes to it, and no caller blocks on it."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import IO

from msgspec import Struct, field

from custody.core.errors import WorldError

INHERITED_VARIABLES = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""The part of our environment that a worker inherits: program paths and locale, nothing that names a person."""
MESSAGE_BYTES_MAX = 16 * 1024 * 1024
END_SECONDS = 5.0
"""Processes that it started may hold its pipes open; reading stops this long after its end."""
_CHUNK = 64 * 1024


class Limits(Struct, frozen=True):
    """The limits of a worker."""

    memory_bytes: int = 512 * 1024 * 1024
    output_bytes: int = 64 * 1024


class CapturedOutput(Struct):
    """The output of a program, up to a limit; ``dropped`` counts the bytes beyond it."""

    limit: int
    data: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def add(self, chunk: bytes) -> None:
        """Store what fits."""
        stored = chunk[: max(0, self.limit - len(self.data))]
        self.data += stored
        self.dropped += len(chunk) - len(stored)

    @property
    def text(self) -> str:
        """Return the stored output as text."""
        return self.data.decode("utf-8", "replace")


class WorkerEnd(Struct, frozen=True):
    """The end of a worker: its exit status, negative for the signal that killed it; its output."""

    status: int
    out: CapturedOutput
    err: CapturedOutput


class WorkerProcess:
    """One worker. ``receive`` is called with each line that it sends, and ``ended`` once, both in our threads."""

    def __init__(
        self,
        limits: Limits,
        variables: dict[str, str],
        receive: Callable[[bytes], None],
        ended: Callable[[WorkerEnd], None],
    ) -> None:
        self._receive, self._ended = receive, ended
        self._out, self._err = CapturedOutput(limits.output_bytes), CapturedOutput(limits.output_bytes)
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._process, self._to, self._from = _start_worker_process(limits, variables)
        readers = [
            threading.Thread(target=_capture_worker_output, args=(self._process.stdout, self._out), daemon=True),
            threading.Thread(target=_capture_worker_output, args=(self._process.stderr, self._err), daemon=True),
            threading.Thread(target=self._listen, daemon=True),
        ]
        for thread in (*readers, threading.Thread(target=self._speak, daemon=True)):
            thread.start()
        threading.Thread(target=self._wait, args=(readers,), daemon=True).start()

    def send(self, message: bytes) -> None:
        """Send it a message; it need not be reading."""
        self._queue.put(message + b"\n")

    def kill(self) -> None:
        """End it and its process group, at once."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # it has ended already

    def _listen(self) -> None:
        with self._from as lines:
            while line := lines.readline(MESSAGE_BYTES_MAX):
                self._receive(line)

    def _speak(self) -> None:
        with self._to as pipe:
            while (message := self._queue.get()) is not None:
                try:
                    pipe.write(message)
                    pipe.flush()
                except (BrokenPipeError, ValueError):
                    return  # it has ended, which is reported elsewhere

    def _wait(self, readers: list[threading.Thread]) -> None:
        status = self._process.wait()
        self.kill()  # what it started must not outlive it, nor hold its pipes open
        deadline = monotonic() + END_SECONDS
        for thread in readers:
            thread.join(max(0.0, deadline - monotonic()))
        self._queue.put(None)
        self._ended(WorkerEnd(status, self._out, self._err))


def _start_worker_process(
    limits: Limits, variables: dict[str, str]
) -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]:
    child_in, to_child = os.pipe()
    from_child, child_out = os.pipe()
    file = str(Path(__file__).with_name("child.py"))
    environment = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ} | variables
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-u", file, str(child_in), str(child_out), str(limits.memory_bytes)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            pass_fds=(child_in, child_out),
            start_new_session=True,
        )
    except OSError as error:
        for handle in (to_child, from_child):
            os.close(handle)
        raise WorldError(
            f"cannot start a worker: {error.strerror}", hint="run fewer at once: they need processes and memory"
        ) from error
    finally:
        os.close(child_in)
        os.close(child_out)
    return process, os.fdopen(to_child, "wb"), os.fdopen(from_child, "rb")


def _capture_worker_output(pipe: IO[bytes] | None, into: CapturedOutput) -> None:
    if pipe is not None:
        with pipe:
            while chunk := pipe.read1(_CHUNK):  # type: ignore[attr-defined]
                into.add(chunk)
