"""``python -m bench trust FILE``: how well acceptance is predicted over streams of decisions, against the bars.

A stream needs no repository. With ``--parts`` also each agent's
decisions and two halves of the repositories alone, which were not used to choose any number.
"""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bench.bars import Bar, BenchError, at_least, at_most
from bench.columns import columns
from bench.progress import Progress, Tell
from bench.trust_decisions import read_decisions
from bench.trust_measures import PassRate
from bench.trust_stream import PASSED_MIN, BenchResult, DecidedChange, PredictionQuality, bench
from custody.trust.rules import TrustRules

TARGETS = (0.01, 0.05, 0.1)
"""Shares of bad changes that risk control must not exceed."""

LOG_LOSS_RATIO = at_most(0.88)
AUC_GAIN = at_least(0.01)
BETTER = at_most(1.0)
TIME_RATIO = at_most(1.5)
"""The time for a decision late in a stream against one in its first quarter: linear is 1."""
QUARTER = 4
RATIOS = (
    ("document's score", LOG_LOSS_RATIO),
    ("constant rate", BETTER),
    ("Beta per agent", BETTER),
)
"""The baselines of log loss, and the maximum ratio of ours to each."""
HEADER = ("stream", "figure", "whole", "bar", "verdict", "second half")
PASSED_HEADER = (f"let through from {PASSED_MIN:g}", "share", "bad", "bad of best half", "by its limits", "bad")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of one stream over all scored decisions, with its bar, and over the second half."""

    stream: str
    name: str
    whole: float
    bar: Bar
    later: float | None = None

    @property
    def met(self) -> bool:
        """Whether the bar is reached."""
        return self.bar.holds(self.whole)


@dataclass(frozen=True, slots=True)
class Replayed:
    """One stream with the figures of all models."""

    name: str
    decisions: int
    benched: BenchResult
    figures: tuple[Figure, ...]


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Replay the files in ``argv``; return 1 if one is unreadable, or with ``--strict`` if a bar is missed."""
    out, err = out or sys.stdout, err or sys.stderr
    args = arguments().parse_args(argv)
    try:
        with Progress(err) as tell:
            results = [one for file in args.files for one in replayed(file, tell, parts=args.parts)]
    except BenchError as error:
        err.write(f"{error}\n")
        return 1
    if args.json:
        out.write(json.dumps([as_json(one) for one in results], ensure_ascii=False) + "\n")
    else:
        out.write("".join(tables(one) for one in results))
    return int(args.strict and not all(figure.met for one in results for figure in one.figures))


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench trust", description="Predict acceptance over streams.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a stream of decisions")
    parser.add_argument("--parts", action="store_true", help="also each agent, and halves of the repositories, alone")
    parser.add_argument("--json", action="store_true", help="print everything as JSON on one line")
    parser.add_argument("--strict", action="store_true", help="exit 1 unless every bar is met")
    return parser


def replayed(file: Path, tell: Tell, *, parts: bool) -> Iterator[Replayed]:
    """Yield the figures of a file, and of its parts."""
    tell(f"{file.name}: reading")
    whole = read_decisions(file)
    streams = {file.name: whole} | (parts_of(file.name, whole) if parts else {})
    for name, stream in streams.items():
        tell(f"{name}: {len(stream):,} decisions")
        yield measured(name, stream)


def parts_of(name: str, stream: Sequence[DecidedChange]) -> dict[str, list[DecidedChange]]:
    """Return each agent's decisions, and the decisions in two halves of the repositories, by digest."""
    found: dict[str, list[DecidedChange]] = {}
    for one in stream:
        half = hashlib.sha256(one.case.repository.encode()).digest()[0] % 2
        for part in (f"agent {one.case.agent}", f"repositories, half {half + 1}"):
            found.setdefault(f"{name}: {part}", []).append(one)
    return dict(sorted(found.items()))


def measured(name: str, stream: Sequence[DecidedChange]) -> Replayed:
    """Replay one stream, its first quarter first, so that the time for a decision can be compared."""
    quarter = sorted(stream, key=lambda one: one.decided_ns)[: max(1, len(stream) // QUARTER)]
    early, _ = timed(quarter)
    whole, done = timed(stream)
    per_decision = (whole / len(stream)) / (early / len(quarter))
    figures = (
        *compared(name, done),
        Figure(name, "time per decision over that of the first quarter", per_decision, TIME_RATIO),
    )
    return Replayed(name, len(stream), done, figures)


def timed(stream: Sequence[DecidedChange]) -> tuple[float, BenchResult]:
    """Processor seconds with their label."""
    start = time.process_time()
    done = bench(stream, TrustRules(), TARGETS)
    return time.process_time() - start, done


def compared(name: str, done: BenchResult) -> Iterator[Figure]:
    """Compare our model with the others."""
    whole, later = (_by_name(figures) for figures in (done.scored, done.later))
    for other, bar in RATIOS:
        yield Figure(name, f"log loss over that of the {other}", _ratio(whole, other), bar, _ratio(later, other))
    yield Figure(name, "AUC above that of the document's score", _gain(whole), AUC_GAIN, _gain(later))


def _by_name(figures: Sequence[PredictionQuality]) -> Mapping[str, PredictionQuality]:
    return {one.name: one for one in figures}


def _ratio(figures: Mapping[str, PredictionQuality], other: str) -> float:
    return figures["ours"].log_loss / figures[other].log_loss


def _gain(figures: Mapping[str, PredictionQuality]) -> float:
    ours, document = figures["ours"].auc, figures["document's score"].auc
    return float("nan") if ours is None or document is None else ours - document


def tables(one: Replayed) -> str:
    """Format the figures of all models, the bars, and the result of risk control."""
    said = [
        (own.name, *(_shown(value) for value in (own.log_loss, own.brier, own.auc, own.calibration_error)))
        for own in one.benched.scored
    ]
    passed = [
        (own.name, *_passing(own.passed), *_passing(own.best)[1:], *_passing(own.policy)) for own in one.benched.scored
    ]
    bars = [
        (
            figure.stream,
            figure.name,
            f"{figure.whole:.4f}",
            str(figure.bar),
            "met" if figure.met else "missed",
            "" if figure.later is None else f"{figure.later:.4f}",
        )
        for figure in one.figures
    ]
    risk = [
        (f"{control.target:.1%}", _percent(control.realised), f"{control.passed:,}", f"{control.coverage:.1%}")
        for control in one.benched.controls
    ]
    return "\n".join(
        (
            columns((f"{one.decisions:,} decisions", "log loss", "Brier", "AUC", "calibration"), said),
            columns(PASSED_HEADER, passed),
            columns(HEADER, bars),
            columns(("risk target", "realised", "let through", "coverage"), risk),
        )
    )


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _passing(rate: PassRate | None) -> tuple[str, str]:
    """Format the share that is merged, and the bad share of it."""
    return ("–", "–") if rate is None else (f"{rate.coverage:.1%}", _percent(rate.bad_share))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"


def as_json(one: Replayed) -> dict[str, object]:
    """Return the same figures as JSON."""
    return {
        "stream": one.name,
        "decisions": one.decisions,
        "figures": {
            figure.name: {"whole": figure.whole, "later": figure.later, "bar": str(figure.bar), "met": figure.met}
            for figure in one.figures
        },
        "scored": {
            figures.name: {
                "log_loss": figures.log_loss,
                "brier": figures.brier,
                "auc": figures.auc,
                "calibration_error": figures.calibration_error,
                "coverage": figures.passed.coverage,
                "bad_share": figures.passed.bad_share,
                "best_bad_share": figures.best.bad_share,
                "policy_coverage": None if figures.policy is None else figures.policy.coverage,
                "policy_bad_share": None if figures.policy is None else figures.policy.bad_share,
            }
            for figures in one.benched.scored
        },
        "risk": [
            {"target": control.target, "realised": control.realised, "passed": control.passed}
            for control in one.benched.controls
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
