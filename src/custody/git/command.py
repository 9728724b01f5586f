"""Start and run git: settings, environment and limits come from here; no shell, bounded in time and output."""

import contextlib
import os
import re
import select
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, Generic, Self, TypeVar

from custody.core.errors import GitError
from custody.git.environment import SETTINGS, find_program, open_environment
from custody.git.failure import Circumstances, explain

# A running git: the only file that starts a process. No shell, bounded in time and output, never left behind.


CHUNK_BYTES = 65_536
NAMES_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """What one git process, or one question to it, may cost; the time we spend between two reads is not counted."""

    wait_seconds_max: float = 600.0
    output_bytes_max: int = 8 << 30
    complaint_bytes_max: int = 16_384

    def brief(self) -> "ProcessLimits":
        """For commands that look at names only: a repository whose configuration includes a pipe must not cost more."""
        return replace(self, wait_seconds_max=min(self.wait_seconds_max, NAMES_SECONDS_MAX))


USUAL = ProcessLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOrder:
    """What to start and within which limits; ``circumstances`` is asked only when git has failed."""

    verb: str
    command: Sequence[str | bytes]
    folder: Path
    environment: Mapping[str, str]
    limits: ProcessLimits
    circumstances: Callable[[], Circumstances]
    fine: Collection[int] = (0,)
    """Exit statuses that are an answer."""


class Child:
    """Leave the ``with`` block early, or drop this object, and git is killed with everything it started.

    Feeding and reading are one loop, so that neither side can wait for the other for ever.
    """

    def __init__(self, order: ProcessOrder, feed: Iterable[bytes] | None, *, hang_up: bool = True) -> None:
        self._order = order
        self._limits = order.limits
        self._said = bytearray()
        self._said_bytes = 0
        self._waited_seconds = 0.0
        self._received_bytes = 0
        self._process = _spawn(order, fed=feed is not None)
        self._end = weakref.finalize(self, _end, self._process)
        self._poll = select.poll()
        self._stdout, self._stderr = _descriptor(self._process.stdout), _descriptor(self._process.stderr)
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        os.set_blocking(self._stderr, False)
        self._sending = False
        self._unsent = memoryview(b"")
        if feed is not None:
            os.set_blocking(_descriptor(self._process.stdin), False)
            self._send_all(feed, hang_up=hang_up)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End git if it still runs and let go of its pipes; more than once is fine."""
        self._end()

    @property
    def closed(self) -> bool:
        """Whether this git has ended, of itself or by us."""
        return not self._end.alive

    def chunks(self) -> Iterator[bytes]:
        """What git says, piece by piece; when it fails, its words are raised after the last piece."""
        while chunk := self.read():
            yield chunk
        self.finish()

    def ask(self, question: bytes) -> None:
        """Send ``question`` during the next reads and stay connected for another; the limits start anew."""
        self._waited_seconds, self._received_bytes = 0.0, 0
        self._send_all((question,), hang_up=False)

    def read(self) -> bytes:
        """The next piece of what git says; empty at the end."""
        while True:
            for descriptor in self._ready():
                if descriptor == self._stdout:
                    return self._counted(os.read(descriptor, CHUNK_BYTES))
                self._serve(descriptor)

    def said_bytes(self) -> int:
        """How much git has complained so far; what it said before an answer is counted once the answer is read."""
        with contextlib.suppress(BlockingIOError):  # there is nothing more yet
            while self._stderr != -1:
                self._listen()
        return self._said_bytes

    def finish(self) -> None:
        """See git to its end; raise its own words when it failed."""
        self._poll.unregister(self._stdout)
        self._stop_sending(hang_up=True)
        while self._stderr != -1:
            for descriptor in self._ready():
                self._serve(descriptor)
        with self._patience() as left, contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(left)
        status = self._process.poll()
        if status is None:
            raise self._too_slow()
        self.close()
        if status not in self._order.fine:
            raise explain(self._order.verb, status, bytes(self._said), self._order.circumstances())

    @contextlib.contextmanager
    def _patience(self) -> Iterator[float]:
        before = time.monotonic()
        yield max(0.0, self._limits.wait_seconds_max - self._waited_seconds)
        self._waited_seconds += time.monotonic() - before

    def _ready(self) -> list[int]:
        with self._patience() as left:
            events = self._poll.poll(left * 1000)
        if not events:
            raise self._too_slow()
        return [descriptor for descriptor, _ in events]

    def _counted(self, chunk: bytes) -> bytes:
        self._received_bytes += len(chunk)
        if self._received_bytes > self._limits.output_bytes_max:
            raise self._stopped(f"said more than {self._limits.output_bytes_max} bytes")
        return chunk

    def _too_slow(self) -> GitError:
        return self._stopped(f"took longer than {self._limits.wait_seconds_max:g} seconds")

    def _stopped(self, why: str) -> GitError:
        self.close()
        return GitError(f"git {self._order.verb} was stopped: it {why}", hint="ask for less, or raise the limit")

    def _serve(self, descriptor: int) -> None:
        if descriptor == self._stderr:
            self._listen()
        else:
            self._send()

    def _listen(self) -> None:
        words = os.read(self._stderr, CHUNK_BYTES)
        self._said_bytes += len(words)
        if not words:
            self._poll.unregister(self._stderr)
            self._stderr = -1
        # Read to the end so that git never waits for us; kept only as far as a person would read.
        self._said += words[: self._limits.complaint_bytes_max - len(self._said)]

    def _send_all(self, feed: Iterable[bytes], *, hang_up: bool) -> None:
        self._feed = filter(None, feed)
        self._hang_up = hang_up
        self._sending = True
        self._poll.register(_descriptor(self._process.stdin), select.POLLOUT)

    def _send(self) -> None:
        if not self._unsent:
            self._unsent = memoryview(next(self._feed, b""))
        if not self._unsent:
            self._stop_sending(hang_up=self._hang_up)
            return
        try:
            self._unsent = self._unsent[os.write(_descriptor(self._process.stdin), self._unsent) :]
        except BrokenPipeError:
            self._stop_sending(hang_up=True)  # git has ended early: its exit status and words say why

    def _stop_sending(self, *, hang_up: bool) -> None:
        stdin = self._process.stdin
        if self._sending:
            self._poll.unregister(_descriptor(stdin))
            self._sending = False
            self._unsent = memoryview(b"")
        if stdin and hang_up:
            stdin.close()


def _spawn(order: ProcessOrder, *, fed: bool) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            order.command,
            stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=order.folder,
            env=order.environment,
            bufsize=0,
            start_new_session=True,  # a group of its own to kill, and no terminal to ask for a password on
        )
    except (OSError, ValueError) as error:
        raise GitError(f"git {order.verb} cannot be started: {error}") from error


def _descriptor(pipe: IO[bytes] | None) -> int:
    assert pipe is not None, "git was started without this pipe"
    return pipe.fileno()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        # Not reaped yet, so the group still is ours; it may have ended this instant, which is what we want.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()
    process.wait()


NEEDS = "install git 2.34 or newer and see that it is on PATH"


def git_program(environment: Mapping[str, str]) -> str:
    """The git on the PATH of ``environment``; none is an error."""
    program = find_program(environment.get("PATH", os.defpath))
    if program is None:
        raise GitError("git is not installed", hint=NEEDS)
    return program


@dataclass(frozen=True, slots=True)
class Git:
    """How git is started: in which folder, with which environment, within which limits.

    ``common_dir`` is known once a repository is; a failure then says whether the clone is partial or shallow.
    """

    folder: Path
    environment: Mapping[str, str]
    common_dir: Path | None = None
    limits: ProcessLimits = USUAL
    settings: tuple[str, ...] = ()
    """What is set besides, for a repository of our own."""
    always: tuple[str, ...] = SETTINGS
    """What is always set; only what reaches a network has others."""

    def start(self, *arguments: str | bytes, feed: Iterable[bytes] | None = None) -> Child:
        """Start ``git <arguments>`` now; ``feed`` goes to its standard input, which is closed when there is none."""
        return Child(self._order(arguments), feed)

    def connect(self, *arguments: str | bytes) -> Child:
        """Start a ``git <arguments>`` that answers questions until it is closed."""
        return Child(self._order(arguments), (), hang_up=False)

    def run(self, *arguments: str | bytes, fine: Collection[int] = (0,)) -> bytes:
        """Everything that ``git <arguments>`` says; an exit status that is not ``fine`` raises git's own words."""
        with Child(self._order(arguments, fine), None) as child:
            return b"".join(child.chunks())

    def _order(self, arguments: tuple[str | bytes, ...], fine: Collection[int] = (0,)) -> ProcessOrder:
        return ProcessOrder(
            verb=os.fsdecode(arguments[0]),
            command=(git_program(self.environment), *self.always, *self.settings, *arguments),
            folder=self.folder,
            environment=self.environment,
            limits=self.limits,
            circumstances=self.circumstances,
            fine=fine,
        )

    def circumstances(self) -> Circumstances:
        """What about this clone may explain that an object is not there; looked up only when git has failed."""
        if self.common_dir is None:
            return Circumstances()
        return Circumstances(
            partial=any((self.common_dir / "objects" / "pack").glob("*.promisor")),
            shallow=(self.common_dir / "shallow").is_file(),
        )


# Which git this is; found once.


OLDEST = (2, 34)
_VERSION = re.compile(rb"git version (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")


def parse_version(answer: bytes) -> tuple[int, ...]:
    r"""Read ``git version``.

    >>> parse_version(b"git version 2.39.5 (Apple Git-154)\n")
    (2, 39, 5)
    """
    match = _VERSION.match(answer)
    if not match:
        raise GitError(f"cannot read the version of git in {answer[:80]!a}", hint=NEEDS)
    return tuple(int(part) for part in match.groups(default=b"0"))


def git_version() -> tuple[int, ...]:
    """The version of the git on PATH; too old a one is an error."""
    version = _version_on(os.environ.get("PATH", os.defpath))
    if version < OLDEST:
        said = ".".join(map(str, version))
        raise GitError(f"git {said} is too old for custody", hint=NEEDS)
    return version


@lru_cache(maxsize=8)
def _version_on(search_path: str) -> tuple[int, ...]:
    return parse_version(Git(Path("/"), open_environment(os.environ | {"PATH": search_path})).run("version"))


# A stream of parsed answers that owns the git behind it.


T = TypeVar("T")


class AnswerStream(Generic[T]):
    """Iterate to get git's answers as they come: git already works while you do something else.

    Git ends with the last answer, on the first error, when the ``with`` block is left or when this is dropped.
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End git if it still runs; more than once is fine."""
        self._child.close()
