"""Time a program from the outside: start it, wait for it, check what it printed."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.bars import BenchError

SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """Return a thunk that runs ``argv`` ``times`` times in sequence and checks the output.

    A program that fails fast must not count as a fast program: the exit status must be 0 and standard output exactly
    ``prints``. ``env`` is the whole environment, so that both sides of a bench start alike; ``cwd`` likewise.
    """

    argv: Sequence[str]
    prints: bytes
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    times: int = 1

    def __call__(self) -> None:
        for _ in range(self.times):
            self.once()

    def once(self) -> None:
        """Run the program once."""
        try:
            done = subprocess.run(
                self.argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd=self.cwd,
                env=dict(self.env),
                timeout=SECONDS_MAX,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BenchError(f"'{self.argv[0]}' cannot be timed: {error}") from error
        if done.returncode != 0:
            raise BenchError(f"'{self.argv[0]}' exited with {done.returncode}: {tail(done.stderr)}")
        if done.stdout != self.prints:
            raise BenchError(f"'{self.argv[0]}' printed {tail(done.stdout)!r}, not {tail(self.prints)!r}")


def tail(output: bytes) -> str:
    """Return the end of some output, short enough for a message."""
    return output[-200:].decode(errors="replace").strip()
