"""Git processes with fixed settings and environment, without a shell, bounded in time and output."""

import contextlib
import os
import select
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, Generic, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import GitError
from custody.core.patterns import lazy_pattern
from custody.git.environment import SETTINGS, find_program, make_open_environment
from custody.git.failure import Circumstances, explain_git_failure

# A running git process; only this file starts one, and none is left behind.


CHUNK_BYTES = 65_536
BRIEF_SECONDS_MAX = 60.0


class ProcessLimits(Struct, frozen=True, kw_only=True):
    """Limits of one git process, or of one request to it; our own time between two reads does not count."""

    wait_seconds_max: float = 600.0
    output_bytes_max: int = 8 << 30
    stderr_bytes_max: int = 16_384

    def brief(self) -> "ProcessLimits":
        """Return limits for short commands, so that a configuration that includes a pipe cannot block for long."""
        return replace(self, wait_seconds_max=min(self.wait_seconds_max, BRIEF_SECONDS_MAX))


USUAL = ProcessLimits()


class ProcessOrder(Struct, frozen=True, kw_only=True):
    """A git command with its limits; ``circumstances`` is called only when git has failed."""

    verb: str
    command: Sequence[str | bytes]
    folder: Path
    environment: Mapping[str, str]
    limits: ProcessLimits
    circumstances: Callable[[], Circumstances]
    statuses: Collection[int] = (0,)
    """Exit statuses that are not failures."""


class Closeable:
    """A context manager that closes itself at the end of its block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release all resources; may be called more than once."""
        raise NotImplementedError


class Child(Closeable):
    """A running git; closing or dropping this object kills git with everything it started.

    Writing and reading are one loop, so that neither side can block the other forever.
    """

    def __init__(self, order: ProcessOrder, feed: Iterable[bytes] | None, *, close_stdin: bool = True) -> None:
        self._order = order
        self._limits = order.limits
        self._stderr_text = bytearray()
        self._stderr_bytes = 0
        self._waited_seconds = 0.0
        self._received_bytes = 0
        self._process = _spawn_git(order, fed=feed is not None)
        self._end = weakref.finalize(self, _kill_git_process, self._process)
        self._poll = select.poll()
        self._stdout, self._stderr = (
            _get_pipe_descriptor(self._process.stdout),
            _get_pipe_descriptor(self._process.stderr),
        )
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        os.set_blocking(self._stderr, False)
        self._sending = False
        self._unsent = memoryview(b"")
        if feed is not None:
            os.set_blocking(_get_pipe_descriptor(self._process.stdin), False)
            self._send_all(feed, close_stdin=close_stdin)

    def close(self) -> None:
        """Kill git if it still runs, and close its pipes; may be called more than once."""
        self._end()

    @property
    def closed(self) -> bool:
        """Whether git has ended."""
        return not self._end.alive

    def chunks(self) -> Iterator[bytes]:
        """Yield git's output in pieces; raises its error after the last piece if it failed."""
        while chunk := self.read():
            yield chunk
        self.finish()

    def request(self, line: bytes) -> None:
        """Send ``line`` during the next reads and stay connected; the limits start again."""
        self._waited_seconds, self._received_bytes = 0.0, 0
        self._send_all((line,), close_stdin=False)

    def read(self) -> bytes:
        """Return the next piece of output; empty at the end."""
        while True:
            for descriptor in self._ready():
                if descriptor == self._stdout:
                    return self._count_chunk(os.read(descriptor, CHUNK_BYTES))
                self._serve(descriptor)

    def count_stderr_bytes(self) -> int:
        """Return the bytes of error output so far, including all that was written before the last answer read."""
        with contextlib.suppress(BlockingIOError):  # nothing more yet
            while self._stderr != -1:
                self._read_stderr()
        return self._stderr_bytes

    def read_stderr(self) -> bytes:
        """Return the beginning of git's error output, all of it after its end."""
        return bytes(self._stderr_text)

    def finish(self) -> None:
        """Wait for the end of git; raise its error if it failed."""
        self._poll.unregister(self._stdout)
        self._stop_sending(close_stdin=True)
        while self._stderr != -1:
            for descriptor in self._ready():
                self._serve(descriptor)
        with self._limit_wait() as left, contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(left)
        status = self._process.poll()
        if status is None:
            raise self._too_slow()
        self.close()
        if status not in self._order.statuses:
            raise explain_git_failure(self._order.verb, status, bytes(self._stderr_text), self._order.circumstances())

    @contextlib.contextmanager
    def _limit_wait(self) -> Iterator[float]:
        before = time.monotonic()
        yield max(0.0, self._limits.wait_seconds_max - self._waited_seconds)
        self._waited_seconds += time.monotonic() - before

    def _ready(self) -> list[int]:
        with self._limit_wait() as left:
            events = self._poll.poll(left * 1000)
        if not events:
            raise self._too_slow()
        return [descriptor for descriptor, _ in events]

    def _count_chunk(self, chunk: bytes) -> bytes:
        self._received_bytes += len(chunk)
        if self._received_bytes > self._limits.output_bytes_max:
            raise self._stop_with_error(f"printed more than {self._limits.output_bytes_max:,} bytes")
        return chunk

    def _too_slow(self) -> GitError:
        return self._stop_with_error(f"took longer than {self._limits.wait_seconds_max:g} seconds")

    def _stop_with_error(self, why: str) -> GitError:
        self.close()
        return GitError(f"git {self._order.verb} was stopped: it {why}", hint="request less, or raise the limit")

    def _serve(self, descriptor: int) -> None:
        if descriptor == self._stderr:
            self._read_stderr()
        else:
            self._send()

    def _read_stderr(self) -> None:
        chunk = os.read(self._stderr, CHUNK_BYTES)
        self._stderr_bytes += len(chunk)
        if not chunk:
            self._poll.unregister(self._stderr)
            self._stderr = -1
        # Everything is read so that git never blocks, but only the beginning is stored.
        self._stderr_text += chunk[: self._limits.stderr_bytes_max - len(self._stderr_text)]

    def _send_all(self, feed: Iterable[bytes], *, close_stdin: bool) -> None:
        self._feed = filter(None, feed)
        self._close_stdin = close_stdin
        self._sending = True
        self._poll.register(_get_pipe_descriptor(self._process.stdin), select.POLLOUT)

    def _send(self) -> None:
        if not self._unsent:
            self._unsent = memoryview(next(self._feed, b""))
        if not self._unsent:
            self._stop_sending(close_stdin=self._close_stdin)
            return
        try:
            self._unsent = self._unsent[os.write(_get_pipe_descriptor(self._process.stdin), self._unsent) :]
        except BrokenPipeError:
            self._stop_sending(close_stdin=True)  # git ended early; its status and error output say why

    def _stop_sending(self, *, close_stdin: bool) -> None:
        stdin = self._process.stdin
        if self._sending:
            self._poll.unregister(_get_pipe_descriptor(stdin))
            self._sending = False
            self._unsent = memoryview(b"")
        if stdin and close_stdin:
            stdin.close()


def _spawn_git(order: ProcessOrder, *, fed: bool) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            order.command,
            stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=order.folder,
            env=order.environment,
            bufsize=0,
            start_new_session=True,  # its own group to kill, and no terminal for password prompts
        )
    except (OSError, ValueError) as error:
        raise GitError(f"cannot start git {order.verb}: {error}") from error


def _get_pipe_descriptor(pipe: IO[bytes] | None) -> int:
    assert pipe is not None, "git was started without this pipe"
    return pipe.fileno()


def _kill_git_process(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        # Not reaped yet, so the process group is still ours; it may have just ended.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()
    process.wait()


NEEDS = "install git 2.34 or newer, and put it on PATH"


def require_git_program(environment: Mapping[str, str]) -> str:
    """Return the git on the PATH of ``environment``; raises ``GitError`` without one."""
    program = find_program(environment.get("PATH", os.defpath))
    if program is None:
        raise GitError("git is not installed", hint=NEEDS)
    return program


class Git(Struct, frozen=True):
    """How git is started: folder, environment, limits and settings.

    With ``common_dir``, hints of errors say whether the clone is partial or shallow.
    """

    folder: Path
    environment: Mapping[str, str]
    common_dir: Path | None = None
    limits: ProcessLimits = USUAL
    settings: tuple[str, ...] = ()
    """Additional settings, for a repository of our own."""
    always: tuple[str, ...] = SETTINGS
    """The base settings; only commands that use the network have others."""

    def start(self, *arguments: str | bytes, feed: Iterable[bytes] | None = None) -> Child:
        """Start ``git <arguments>``; ``feed`` goes to its standard input, which is closed without it."""
        return Child(self._order(arguments), feed)

    def connect(self, *arguments: str | bytes) -> Child:
        """Start ``git <arguments>`` to answer requests until it is closed."""
        return Child(self._order(arguments), (), close_stdin=False)

    def run(self, *arguments: str | bytes, statuses: Collection[int] = (0,)) -> bytes:
        """Return the output of ``git <arguments>``; raises its error unless the exit status is in ``statuses``."""
        with Child(self._order(arguments, statuses), None) as child:
            return b"".join(child.chunks())

    def _order(self, arguments: tuple[str | bytes, ...], statuses: Collection[int] = (0,)) -> ProcessOrder:
        return ProcessOrder(
            verb=os.fsdecode(arguments[0]),
            command=(require_git_program(self.environment), *self.always, *self.settings, *arguments),
            folder=self.folder,
            environment=self.environment,
            limits=self.limits,
            circumstances=self.circumstances,
            statuses=statuses,
        )

    def circumstances(self) -> Circumstances:
        """Return what about this clone may explain a missing object."""
        if self.common_dir is None:
            return Circumstances()
        return Circumstances(
            partial=any((self.common_dir / "objects" / "pack").glob("*.promisor")),
            shallow=(self.common_dir / "shallow").is_file(),
        )


# The version of git, read once.


OLDEST = (2, 34)
_VERSION = lazy_pattern(rb"git version (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")


def parse_git_version(answer: bytes) -> tuple[int, ...]:
    r"""Parse the output of ``git version``.

    >>> parse_git_version(b"git version 2.39.5 (Apple Git-154)\n")
    (2, 39, 5)
    """
    match = _VERSION.match(answer)
    if not match:
        raise GitError(f"cannot read the version of git in {answer[:80]!a}", hint=NEEDS)
    return tuple(int(part) for part in match.groups(default=b"0"))


def check_git_version() -> tuple[int, ...]:
    """Return the version of the git on PATH; raises ``GitError`` if it is too old."""
    version = _read_git_version(os.environ.get("PATH", os.defpath))
    if version < OLDEST:
        raise GitError(f"git {'.'.join(map(str, version))} is too old for custody", hint=NEEDS)
    return version


@lru_cache(maxsize=8)
def _read_git_version(search_path: str) -> tuple[int, ...]:
    return parse_git_version(Git(Path("/"), make_open_environment(os.environ | {"PATH": search_path})).run("version"))


# A stream of parsed answers that owns its git process.


T = TypeVar("T")


class AnswerStream(Closeable, Generic[T]):
    """An iterator over git's answers; git runs in parallel with the caller.

    Git ends with the last answer, with the first error, at the end of the ``with`` block, or when this is dropped.
    """

    def __init__(self, child: Child, parse: Callable[[Iterable[bytes]], Iterator[T]]) -> None:
        self._child = child
        self._items = parse(child.chunks())

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            return next(self._items)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Kill git if it still runs; may be called more than once."""
        self._child.close()
