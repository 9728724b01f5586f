"""A repository with a real store, and the workers that faults start in it."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from custody.core.wire.report import VerifyReport
from custody.ledger.verify import verify_ledger
from custody.workspace.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]

Worker = subprocess.Popen[str]


def a_repository(folder: Path) -> Path:
    """Return an empty repository at ``folder``."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def start(verb: str, repository: Path, *words: object) -> Worker:
    """Start a worker; its standard output is a pipe."""
    argv = [sys.executable, "-m", "bench.faults.worker", verb, str(repository), *map(str, words)]
    return subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def first_line(worker: Worker) -> str:
    """Wait for the first output of the worker: then it is running."""
    return worker.stdout.readline() if worker.stdout else ""


def whole_lines(output: str) -> list[str]:
    """Return the complete lines; a killed worker may leave half a line."""
    return output.split("\n")[:-1]


@dataclass(frozen=True, slots=True)
class Kept:
    """The state of acknowledged events: how many are missing or duplicated, and the verdict."""

    missing: int
    repeated: int
    report: VerifyReport


def kept(repository: Path, receipts: Iterable[str]) -> Kept:
    """Ingest the waiting events, verify the store, and look up every receipt."""
    workspace = Workspace(repository)
    report = verify_ledger(workspace)
    with workspace.reading() as store:
        events = Counter(
            record.entry.event for head in store.tables.chains() for record in store.tables.records(head.store)
        )
    wanted = set(receipts)
    return Kept(len(wanted - events.keys()), sum(count > 1 for count in events.values()), report)
