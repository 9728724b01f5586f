"""Replay a file of decisions and say how well everybody's predictions did."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from custody.core.errors import InputError, WorldError
from custody.trust.app.folder import trust_rules
from custody.trust.levels import LevelCase
from custody.trust.measures import PassRate
from custody.trust.model import DecisionType
from custody.trust.risk import RiskControl
from custody.trust.rules import TrustRules
from custody.trust.stream import DecidedChange, PredictionQuality, bench
from custody.trust.wire.chance import (
    DamagedLine,
    PredictionFigures,
    RiskFigures,
    StreamRow,
    TrustBenchReport,
    moment_ns,
    stream_row,
)
from custody.workspace.rules_in_force import load_user_rules
from custody.workspace.workspace import Workspace

TARGETS = (0.01, 0.05, 0.1)
DAMAGED_MAX = 1000
LINE_BYTES_MAX = 1 << 20
STEPS = 1000
GZIP_SIGN = b"\x1f\x8b"


def trust_bench(workspace: Workspace, path: Path, targets: tuple[float, ...] = ()) -> TrustBenchReport:
    """Everybody's figures over the decisions in ``path``; lines that tell of none are named and passed over."""
    rules = rules_at(workspace)
    wanted = targets or tuple(dict.fromkeys((rules.reverted_share_max, *TARGETS)))
    workspace.progress.start("reading", None)
    read = read_stream(path, workspace)
    if not read.stream:
        raise InputError(
            f"'{path}' tells of no decision" + _first(read),
            hint="one JSON object a line: agent, repo, opened, time, decision (accepted, modified or rejected)",
        )
    workspace.progress.start("replaying", len(read.stream))
    done = bench(read.stream, rules, wanted, workspace.progress.step)
    return TrustBenchReport(
        path=str(path),
        decisions=len(read.stream),
        agents=len({change.case.agent for change in read.stream}),
        repositories=len({change.case.repository for change in read.stream}),
        good_share=sum(change.decision is not DecisionType.REJECTED for change in read.stream) / len(read.stream),
        with_lines=sum(change.case.lines is not None for change in read.stream),
        damaged=read.damaged,
        damaged_count=read.damaged_count,
        chance_min=rules.bench_chance_min,
        scored=[_figures(quality) for quality in done.scored],
        later=[_figures(quality) for quality in done.later],
        risk=[_risk(control) for control in done.controls],
    )


def rules_at(workspace: Workspace) -> TrustRules:
    """The rules in force here; outside a repository, which a stream does not need, those of the user."""
    return trust_rules(workspace) if _is_somewhere(workspace) else load_user_rules(workspace).of(TrustRules)


def _is_somewhere(workspace: Workspace) -> bool:
    try:
        return workspace.home is not None or workspace.database is not None
    except InputError:
        return False  # there is no repository around the folder


@dataclass
class DecisionStream:
    """The decisions of a file, and the lines that tell of none."""

    stream: list[DecidedChange] = field(default_factory=list)
    damaged: list[DamagedLine] = field(default_factory=list)
    damaged_count: int = 0

    def refuse(self, number: int, what: str) -> None:
        """Name a line; of very many, the first ones."""
        self.damaged_count += 1
        if len(self.damaged) < DAMAGED_MAX:
            self.damaged.append(DamagedLine(number, what))


def read_stream(path: Path, workspace: Workspace) -> DecisionStream:
    """The decisions that a file tells of, plain or packed by gzip; a damaged line costs itself only."""
    read = DecisionStream()
    number = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(_lines(file), start=1):
                _take(read, number, line)
                if number % STEPS == 0:
                    workspace.progress.step(STEPS)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        read.refuse(number + 1, f"the packed file is damaged from here on: {error}")
    return read


def _take(read: DecisionStream, number: int, line: bytes) -> None:
    if len(line) > LINE_BYTES_MAX:
        read.refuse(number, f"a line of more than {LINE_BYTES_MAX:,} bytes")
    elif line.strip():
        try:
            read.stream.append(_settled(stream_row(line)))
        except InputError as error:
            read.refuse(number, error.message)


def _settled(row: StreamRow) -> DecidedChange:
    opened_ns, decided_ns = moment_ns(row.opened), moment_ns(row.time)
    if decided_ns < opened_ns:
        raise InputError("decided before it was opened")
    areas = tuple(dict.fromkeys((*((row.area,) if row.area else ()), *(row.areas or ()))))
    case = LevelCase(row.agent, str(row.repo), areas, row.operator, row.lines, opened_ns)
    return DecidedChange(case, DecisionType(row.decision), decided_ns)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if path.is_dir():
        raise InputError(f"'{path}' is a folder", hint="name a file of decisions, one JSON object a line")
    try:
        with path.open("rb") as file:
            packed = file.read(len(GZIP_SIGN)) == GZIP_SIGN
            file.seek(0)
            if packed:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield cast("BinaryIO", unpacked)
            else:
                yield file
    except FileNotFoundError as error:
        raise InputError(f"there is no file '{path}'", hint="name a file of decisions") from error
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        raise WorldError(f"cannot read '{path}': {error.strerror or error}") from error


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of one that is too long its first part, which is one byte over the limit."""
    while line := file.readline(LINE_BYTES_MAX + 1):
        end = line
        while len(end) > LINE_BYTES_MAX and not end.endswith(b"\n"):
            end = file.readline(LINE_BYTES_MAX + 1)
        yield line


def _first(read: DecisionStream) -> str:
    return f": line {read.damaged[0].line}: {read.damaged[0].what}" if read.damaged else ""


def _figures(quality: PredictionQuality) -> PredictionFigures:
    policy = quality.policy or PassRate(0.0, None)
    return PredictionFigures(
        name=quality.name,
        count=quality.count,
        log_loss=quality.log_loss,
        brier=quality.brier,
        auc=quality.auc,
        calibration_error=quality.calibration_error,
        coverage=quality.passed.coverage,
        bad_share=quality.passed.bad_share,
        best_bad_share=quality.best.bad_share,
        policy_coverage=None if quality.policy is None else policy.coverage,
        policy_bad_share=policy.bad_share,
    )


def _risk(control: RiskControl) -> RiskFigures:
    return RiskFigures(
        target=control.target,
        realised=control.realised,
        passed=control.passed,
        bad=control.bad,
        coverage=control.coverage,
        threshold=control.threshold,
    )
