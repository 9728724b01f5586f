"""A disk that is full, and one that cannot be written: nothing is lost silently, and everything can still be read.

Needs the right to mount a small file system in memory; without it the faults say so.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.bars import BenchError
from bench.faults.crew import a_repository, kept
from bench.faults.frame import Fault, Figures, Trial, none_of, seen, some
from bench.faults.worker import an_event, spool_of
from custody.core.errors import CustodyError, SpoolError
from custody.ledger.verify import verify_ledger
from custody.share.export import export_chains_to_file
from custody.workspace.workspace import Workspace

DISK = "2m"


class CannotMount(BenchError):
    """This machine does not let us mount a file system."""


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Yield a file system of a few megabytes at ``folder``."""
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True)


def full(trial: Trial) -> Figures:
    """Record until the disk is full, read, free space, ingest: acknowledged events are there, others were rejected."""
    refused = lost = unread = acknowledged = findings = 0
    for round_ in trial.each():
        with small_disk(round_.folder / "disk") as disk:
            repository = a_repository(disk / "repository")
            ballast = disk / "ballast"
            # Some rounds have a store before the disk fills up, some do not.
            receipts, _ = _record(repository, range(20))
            if round_.number % 2:
                verify_ledger(Workspace(repository))
            ballast.write_bytes(bytes(round_.random.randrange(200_000, 1_000_000)))
            more, told = _record(repository, range(20, 100_000))
            receipts += more
            refused += told
            _fill(disk / "rest")
            unread += _unreadable(repository, len(receipts))
            ballast.unlink()
            (disk / "rest").unlink(missing_ok=True)
            after = kept(repository, receipts)
            lost += after.missing
            findings += len(after.report.findings)
            acknowledged += len(receipts)
    return {
        "events acknowledged": some(acknowledged, 20),
        "recorders that got the error of a full disk": some(refused, trial.rounds),
        "acknowledged records lost": none_of(lost),
        "reads that failed on the full disk": none_of(unread),
        "findings of verify": none_of(findings),
    }


def read_only(trial: Trial) -> Figures:
    """Record, make the file system read-only with events waiting (and a left-over log in some rounds), and read."""
    refused = unread = findings = lost = 0
    for round_ in trial.each():
        with small_disk(round_.folder / "disk") as disk:
            repository = a_repository(disk / "repository")
            receipts, _ = _record(repository, range(20))
            if round_.number % 3:
                _drain_and_die(repository)
            receipts += _record(repository, range(20, 20 + 10 * (round_.number % 2)))[0]
            _mount("-o", "remount,ro", str(disk))
            refused += _record(repository, range(1000, 1001))[1]
            unread += _unreadable(repository, len(receipts), exported=round_.folder / "export")
            _mount("-o", "remount,rw", str(disk))
            after = kept(repository, receipts)
            lost += after.missing
            findings += len(after.report.findings)
    return {
        "rounds": seen(trial.rounds),
        "recorders that got the error of a read-only disk": some(refused, trial.rounds),
        "reads that failed": none_of(unread),
        "acknowledged records lost": none_of(lost),
        "findings of verify": none_of(findings),
    }


def _record(repository: Path, numbers: range) -> tuple[list[str], bool]:
    """Record until done or rejected; return the receipts, and whether an error was reported."""
    spool = spool_of(repository)
    receipts: list[str] = []
    for n in numbers:
        try:
            receipts.append(spool.put(an_event("disk", n)).event)
        except SpoolError:
            return receipts, True
    return receipts, False


def _unreadable(repository: Path, expected: int, exported: Path | None = None) -> int:
    """Return whether reading fails, or shows less than was acknowledged."""
    try:
        report = verify_ledger(Workspace(repository))
        if exported is not None:
            export_chains_to_file(Workspace(repository), exported)
    except CustodyError:
        return 1
    return int(report.records + report.pending != expected or bool(report.findings))


def _drain_and_die(repository: Path) -> None:
    """Leave a store whose write-ahead log was never folded in, as a killed process does."""
    child = os.fork()
    if child == 0:
        with Workspace(repository).writing():
            os._exit(0)
    os.waitpid(child, 0)


def _fill(path: Path) -> None:
    try:
        with path.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError:
        return  # full, as intended


def _mount(*words: str) -> None:
    try:
        done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotMount(f"cannot mount: {error}") from error
    if done.returncode:
        raise CannotMount(f"cannot mount: {done.stderr.strip()}")


FAULTS = (
    Fault(name="disk-full", what="recording on a disk that fills up", run=full, rounds=10),
    Fault(name="read-only", what="reading on a file system that became read-only", run=read_only, rounds=12),
)
