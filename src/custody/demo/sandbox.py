"""Where the story runs: a folder, a clock and verbs of its own, and a damaged copy of the store."""

import io
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from custody.core.errors import GitError

# The story's own time: while it is told, this process believes the story's clock.


TICK_NS = 1_000
"""Every look at the clock takes that long, so that no two events have one moment."""


class StoryClock:
    """A clock that stands where the story is."""

    def __init__(self, start: str) -> None:
        self._now_ns = 0
        self.at(start)

    def at(self, moment: str) -> None:
        """It is ``moment`` now, in UTC: ``2026-03-03 09:00``."""
        told = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        self._now_ns = int(told.timestamp()) * 1_000_000_000

    def later(self, seconds: int) -> None:
        """Time passes."""
        self._now_ns += seconds * 1_000_000_000

    def read(self) -> int:
        """Nanoseconds since 1970."""
        self._now_ns += TICK_NS
        return self._now_ns

    @property
    def seconds(self) -> int:
        """Seconds since 1970."""
        return self._now_ns // 1_000_000_000

    @property
    def text(self) -> str:
        """This moment as RFC 3339 text."""
        return f"{datetime.fromtimestamp(self.seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """This process's clock is the story's; the recorder and every verb ask ``time.time_ns``."""
        before = time.time_ns
        time.time_ns = self.read
        try:
            yield
        finally:
            time.time_ns = before


START = "2026-03-02 09:00"
KEPT = ("PATH", "TMPDIR", "SYSTEMROOT")
"""What the story needs of the user's environment; everything else stays outside."""
PREFIX = "custody-demo-"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A folder with a home, a repository called till, and a clock."""

    folder: Path
    clock: StoryClock

    @property
    def home(self) -> Path:
        """Stands in for the user's home directory."""
        return self.folder / "home"

    @property
    def repository(self) -> Path:
        """The sample repository."""
        return self.folder / "till"

    def git(self, *words: str, author: str = "Ana") -> str:
        """What ``git <words>`` says in the repository, at the story's time."""
        moment = f"{self.clock.seconds} +0000"
        who = {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", author), ("EMAIL", f"{author.lower()}@example.org"), ("DATE", moment))
        }
        # git's own hooks, which init installs, would record by the machine's clock, in the middle of the story's.
        quiet = ("-c", f"core.hooksPath={os.devnull}", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
        done = subprocess.run(
            ("git", *quiet, *words),
            cwd=self.repository,
            env={**os.environ, **who},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise GitError(f"the sample repository cannot be made: git {words[0]}: {said}")
        return done.stdout.decode()

    def hook(self, command: Sequence[str], said: bytes) -> str:
        """Run the hook that ``custody init`` installed, as the agent would, but at the story's time; its stderr."""
        *flags, program = command[1 : command.index("--agent")]
        words = (command[0], *flags, "-c", _AT_STORY_TIME, str(self.clock.read()), program, *command[2 + len(flags) :])
        done = subprocess.run(words, cwd=self.repository, input=said, capture_output=True, check=False)
        return done.stderr.decode(errors="replace") + done.stdout.decode(errors="replace")


_AT_STORY_TIME = """\
import sys, time, runpy
moment = int(sys.argv[1])
time.time_ns = lambda: moment
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@contextmanager
def sandbox(*, keep: bool) -> Iterator[Sandbox]:
    """A sandbox in which this process works; gone afterwards unless it is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
    made = Sandbox(folder, StoryClock(START))
    made.home.mkdir()
    made.repository.mkdir()
    done = False
    try:
        with _surrounded_by(_environment(made)), made.clock.in_force(), chdir(made.repository):
            yield made
        done = True
    finally:
        if not (keep and done):
            shutil.rmtree(folder, ignore_errors=True)


def forget(repository: Path) -> None:
    """Remove a kept sandbox by its repository."""
    if repository.parent.name.startswith(PREFIX):
        shutil.rmtree(repository.parent, ignore_errors=True)


def _environment(made: Sandbox) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    home = str(made.home)
    return {
        **kept,
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
        "TZ": "UTC",
    }


@contextmanager
def _surrounded_by(environment: Mapping[str, str]) -> Iterator[None]:
    """This process's environment is exactly ``environment``."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


# A verb run inside this process, as a user would run it: a start of Python for each would take a minute in all.


Main = Callable[[], object]
"""The command's own entry: reads ``sys.argv`` and leaves by ``SystemExit``."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended and what it printed, on both streams."""

    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class InProcessCommand:
    """The command inside this process; ``encoding`` is what its output will be shown in."""

    main: Main
    encoding: str = "utf-8"

    def run(self, words: Sequence[str], said: bytes = b"") -> CommandResult:
        """Run ``custody <words>`` with ``said`` on its standard input."""
        out, err = self._stream(), self._stream()
        with tempfile.TemporaryFile() as given:
            given.write(said)
            given.seek(0)
            with _streams(io.TextIOWrapper(given, encoding="utf-8"), out, err, ["custody", *words]):
                status = _left(self.main)
        return CommandResult(status, self._read(out), self._read(err))

    def _stream(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(), encoding=self.encoding, errors="replace", write_through=True)

    def _read(self, stream: io.TextIOWrapper) -> str:
        stream.flush()
        buffer = stream.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode(self.encoding, errors="replace")


def _left(main: Main) -> int:
    """The exit status with which ``main`` leaves."""
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


@contextmanager
def _streams(given: io.TextIOWrapper, out: io.TextIOWrapper, err: io.TextIOWrapper, words: list[str]) -> Iterator[None]:
    before = sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.excepthook
    sys.stdin, sys.stdout, sys.stderr, sys.argv = given, out, err, words
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.excepthook = before
        given.detach()


# What somebody with a database tool can do to a copy of the store.


REDATED = "UPDATE record SET at_ns = at_ns - 864000000000000 WHERE seq = 22"
DELETED = "DELETE FROM record WHERE seq = 30"
CUT_OFF = "DELETE FROM record WHERE seq > 60"
REPLACED = (
    "UPDATE body SET codec = 'plain', bytes = CAST('not I' AS BLOB)"
    " WHERE digest = (SELECT digest FROM record WHERE seq = 22)"
)


def damaged_copy(repository: Path, copy: Path, sql: str) -> None:
    """A copy of the repository with its evidence, of which one thing was changed."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(repository, copy, symlinks=True)
    with closing(sqlite3.connect(copy / ".git" / "custody" / "custody.db")) as db, db:
        db.execute(sql)
