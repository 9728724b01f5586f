"""The command as a user runs it."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from custody.capture.spool import Spool
from tests.builders.events import an_event


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


def custody(folder: Path, *words: str, stdin: str = "", **environment: str) -> Ran:
    """Run ``custody`` in ``folder``; values that differ between runs are masked."""
    done = subprocess.run(
        [sys.executable, "-m", "custody", *words],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100", **environment},
        check=False,
    )
    return Ran(done.returncode, masked(done.stdout, folder), masked(done.stderr, folder))


def masked(output: str, folder: Path) -> str:
    """Replace store ids, digests, sizes and the folder by fixed names."""
    output = output.replace(str(folder.resolve()), "FOLDER").replace(str(folder), "FOLDER")
    output = re.sub(r"[0-9a-f]{64}", "DIGEST", output)
    output = re.sub(r"\b[0-9a-f]{32}\b", "STORE", output)
    return re.sub(r"\b\d{20}-\d+-[0-9a-f]{16}\b", "EVENT", output)


def a_git_folder(path: Path) -> Path:
    """Return an empty repository."""
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    return path


def spool_of(repository: Path) -> Spool:
    """Return the repository's spool."""
    return Spool(repository / ".git" / "custody" / "spool")


def recorded(repository: Path, count: int = 3, **fields: str) -> Path:
    """Record that many edits in the repository."""
    for n in range(1, count + 1):
        spool_of(repository).put(an_event(id=str(n), **fields))
    return repository
