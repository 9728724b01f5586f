"""Where the story takes place: a folder of its own, and nothing of the user's around it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import GitError
from custody.demo.clock import StoryClock

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
