"""The sandbox of the story: its folder, its clock, its commands, and damaged copies of the store."""

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
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from custody.core.errors import GitError

TICK_NS = 1_000
"""Reading the clock advances it by this, so that no two events have the same time."""


class StoryClock:
    """A clock that the story sets, and that this process uses while the story runs."""

    def __init__(self, start: str) -> None:
        self._now_ns = 0
        self.set_time(start)

    def set_time(self, text: str) -> None:
        """Set the time, in UTC: ``2026-03-03 09:00``."""
        time_utc = datetime.fromisoformat(text).replace(tzinfo=UTC)
        self._now_ns = int(time_utc.timestamp()) * 1_000_000_000

    def advance(self, seconds: int) -> None:
        """Advance the time."""
        self._now_ns += seconds * 1_000_000_000

    def read(self) -> int:
        """Return nanoseconds since 1970."""
        self._now_ns += TICK_NS
        return self._now_ns

    @property
    def seconds(self) -> int:
        """Return seconds since 1970."""
        return self._now_ns // 1_000_000_000

    @property
    def text(self) -> str:
        """Return the time as RFC 3339 text."""
        return f"{datetime.fromtimestamp(self.seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Make this process use the story's clock; the recorder and every verb call ``time.time_ns``."""
        before = time.time_ns
        time.time_ns = self.read
        try:
            yield
        finally:
            time.time_ns = before


START = "2026-03-02 09:00"
PASSED_VARIABLES = ("PATH", "TMPDIR", "SYSTEMROOT")
"""The environment variables of the user that the story sees."""
PREFIX = "custody-demo-"
KEYGEN = "ssh-keygen"
"""The program of OpenSSH that makes keys and signatures."""


def has_demo_program(name: str) -> bool:
    """Return whether a program is installed."""
    return shutil.which(name) is not None


class Sandbox(Struct, frozen=True):
    """A folder with a home, a repository called till, and a clock."""

    folder: Path
    clock: StoryClock

    @property
    def home(self) -> Path:
        """Return the replacement of the user's home directory."""
        return self.folder / "home"

    @property
    def repository(self) -> Path:
        """Return the folder of the sample repository."""
        return self.folder / "till"

    def git(self, *words: str, author: str = "Ana") -> str:
        """Return the output of ``git <words>`` in the repository, at the story's time."""
        date = f"{self.clock.seconds} +0000"
        identity = {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", author), ("EMAIL", f"{author.lower()}@example.org"), ("DATE", date))
        }
        # git's own hooks, which init installs, would record with the machine's clock instead of the story's.
        quiet = ("-c", f"core.hooksPath={os.devnull}", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
        done = subprocess.run(
            ("git", *quiet, *words),
            cwd=self.repository,
            env={**os.environ, **identity},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            message = done.stderr.decode(errors="replace").strip()
            raise GitError(f"cannot create the sample repository: git {words[0]}: {message}")
        return done.stdout.decode()

    def make_key(self, name: str) -> None:
        """Create an SSH key pair in the folder, as a CI system has one."""
        words = (KEYGEN, "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(self.folder / name))
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True)

    def clone(self, name: str) -> None:
        """Clone the repository with all branches into the folder, as CI does; the records stay behind."""
        self.git("clone", "--quiet", str(self.repository), str(self.folder / name))

    def hook(self, command: Sequence[str], event: bytes) -> str:
        """Run the installed hook as the agent would, at the story's time, and return its output."""
        *flags, program = command[1 : command.index("--agent")]
        words = (command[0], *flags, "-c", _AT_STORY_TIME, str(self.clock.read()), program, *command[2 + len(flags) :])
        done = subprocess.run(words, cwd=self.repository, input=event, capture_output=True, check=False)
        return done.stderr.decode(errors="replace") + done.stdout.decode(errors="replace")


_AT_STORY_TIME = """\
import sys, time, runpy
now_ns = int(sys.argv[1])
time.time_ns = lambda: now_ns
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@contextmanager
def open_demo_sandbox(*, keep: bool) -> Iterator[Sandbox]:
    """Run the block in a new sandbox; remove it afterwards unless ``keep``."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
    sandbox = Sandbox(folder, StoryClock(START))
    sandbox.home.mkdir()
    sandbox.repository.mkdir()
    done = False
    try:
        with (
            _use_sandbox_environment(_make_sandbox_environment(sandbox)),
            sandbox.clock.in_force(),
            chdir(sandbox.repository),
        ):
            yield sandbox
        done = True
    finally:
        if not (keep and done):
            shutil.rmtree(folder, ignore_errors=True)


def remove_demo_sandbox(repository: Path) -> None:
    """Remove a kept sandbox by its repository."""
    if repository.parent.name.startswith(PREFIX):
        shutil.rmtree(repository.parent, ignore_errors=True)


def _make_sandbox_environment(sandbox: Sandbox) -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    home = str(sandbox.home)
    return {
        **passed,
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "CUSTODY_AUDIT_KEY": "the same story every time",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
        "TZ": "UTC",
    }


@contextmanager
def _use_sandbox_environment(environment: Mapping[str, str]) -> Iterator[None]:
    """Run the block with exactly ``environment``."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


Main = Callable[[], object]
"""The entry point of the command: reads ``sys.argv`` and exits by ``SystemExit``."""


class CommandResult(Struct, frozen=True):
    """The exit status of a command and its output on both streams."""

    status: int
    out: str
    err: str


class InProcessCommand(Struct, frozen=True):
    """Runs commands inside this process, since starting Python for each would take a minute.

    ``encoding`` is that of the output.
    """

    main: Main
    encoding: str = "utf-8"

    def run(self, words: Sequence[str], stdin: bytes = b"") -> CommandResult:
        """Run ``custody <words>`` with ``stdin`` on its standard input."""
        out, err = self._stream(), self._stream()
        with tempfile.TemporaryFile() as file:
            file.write(stdin)
            file.seek(0)
            with _redirect_demo_streams(io.TextIOWrapper(file, encoding="utf-8"), out, err, ["custody", *words]):
                status = _run_demo_main(self.main)
        return CommandResult(status, self._read(out), self._read(err))

    def _stream(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(), encoding=self.encoding, errors="replace", write_through=True)

    def _read(self, stream: io.TextIOWrapper) -> str:
        stream.flush()
        buffer = stream.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode(self.encoding, errors="replace")


def _run_demo_main(main: Main) -> int:
    """Return the exit status of ``main``."""
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


@contextmanager
def _redirect_demo_streams(
    stdin: io.TextIOWrapper, out: io.TextIOWrapper, err: io.TextIOWrapper, words: list[str]
) -> Iterator[None]:
    before = sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.excepthook
    sys.stdin, sys.stdout, sys.stderr, sys.argv = stdin, out, err, words
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.excepthook = before
        stdin.detach()


REDATED = "UPDATE record SET at_ns = at_ns - 864000000000000 WHERE seq = 22"
DELETED = "DELETE FROM record WHERE seq = 30"
CUT_OFF = "DELETE FROM record WHERE seq > 60"
REPLACED = (
    "UPDATE body SET codec = 'plain', bytes = CAST('not I' AS BLOB)"
    " WHERE digest = (SELECT digest FROM record WHERE seq = 22)"
)


def make_damaged_sample(repository: Path, copy: Path, sql: str) -> None:
    """Copy the repository with its store, and change the copy with ``sql``."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(repository, copy, symlinks=True)
    with closing(sqlite3.connect(copy / ".git" / "custody" / "custody.db")) as db, db:
        db.execute(sql)
