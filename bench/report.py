"""Results for people (tables) and for programs (JSON). Only this file formats results."""

import platform
import shlex
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from bench.bars import Bar
from bench.columns import columns
from bench.growth import Grown, Growth
from bench.runner import Bench, Measured, Verdict
from bench.stats import PAIRS_MIN

JSON_VERSION = 1


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A bench without a figure: data was missing (not run), or it could not be measured (failed), and why."""

    bench: Bench | Growth
    verdict: Verdict
    reason: str


Result = Measured | Grown | NotMeasured


def command(bench: Bench | Growth, pairs: int = PAIRS_MIN) -> str:
    """Return the command that measures this figure again."""
    more = [] if pairs == PAIRS_MIN or isinstance(bench, Growth) else ["--pairs", str(pairs)]
    return shlex.join(["python", "-m", "bench", bench.name, *more])


def verdicts(results: Iterable[Result]) -> Iterator[Verdict]:
    """Yield every verdict of every result: a growth has one per look-up."""
    for result in results:
        match result:
            case Grown():
                yield from (result.verdict(look_up) for look_up in result.small)
            case Measured() | NotMeasured():
                yield result.verdict
            case _:
                assert_never(result)


def tables(results: Sequence[Result]) -> str:
    """Return one table of ratios, one of growth, and the benches without a figure with their reasons."""
    ratios = [ratio_row(result) for result in results if isinstance(result, Measured)]
    growth = [row for result in results if isinstance(result, Grown) for row in growth_rows(result)]
    absent = [absent_row(result) for result in results if isinstance(result, NotMeasured)]
    shown = (
        (("bench", "ratio [quartiles]", "pairs", "bar", "verdict", "baseline", "command"), ratios),
        (("bench", "look-up", "steps", "grown", "ratio", "bar", "verdict", "command"), growth),
        (("bench", "verdict", "reason"), absent),
    )
    return "\n".join(columns(header, rows) for header, rows in shown if rows)


def ratio_row(result: Measured) -> tuple[str, ...]:
    """Return one line of the table of ratios."""
    found, pairs = result.spread, len(result.ratios)
    again = f" (round {result.rounds})" if result.rounds > 1 else ""
    return (
        result.bench.name,
        f"{found.median:.3f} [{found.q1:.3f}, {found.q3:.3f}]",
        f"{pairs}{again}",
        bar_text(result.bench.bar),
        result.verdict.value,
        result.bench.baseline,
        command(result.bench, pairs),
    )


def growth_rows(result: Grown) -> Iterator[tuple[str, ...]]:
    """Yield one line of the table of growth per look-up."""
    growth = result.growth
    for look_up in result.small:
        yield (
            growth.name,
            look_up,
            f"{result.small[look_up]:,} of {growth.small:,}",
            f"{result.large[look_up]:,} of {growth.large:,}",
            f"{result.ratio(look_up):.3f}",
            bar_text(growth.bar),
            result.verdict(look_up).value,
            command(growth),
        )


def absent_row(result: NotMeasured) -> tuple[str, ...]:
    """Return one line of the table of benches without a figure."""
    return (result.bench.name, result.verdict.value, result.reason)


def bar_text(bar: Bar | None) -> str:
    """Format the bar, if there is one."""
    return "none" if bar is None else str(bar)


def listing(benches: Iterable[Bench | Growth]) -> str:
    """List all benches."""
    rows = [(bench.name, against(bench), bar_text(bench.bar), bench.what) for bench in benches]
    return columns(("bench", "against", "bar", "what"), rows)


def against(bench: Bench | Growth) -> str:
    """Return the name of the baseline; growth is compared with itself."""
    return bench.baseline if isinstance(bench, Bench) else f"{bench.small:,} of {bench.large:,} records"


def as_json(results: Iterable[Result]) -> dict[str, object]:
    """Return the content of the tables and every ratio, with the measured versions."""
    return {
        "version": JSON_VERSION,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "results": [one_as_json(result) for result in results],
    }


def one_as_json(result: Result) -> dict[str, object]:
    """Return one result as an object; ``kind`` says which."""
    match result:
        case Measured():
            return measured_as_json(result)
        case Grown():
            return grown_as_json(result)
        case NotMeasured(verdict=verdict, reason=reason):
            return {"kind": "none", **named(result.bench), "verdict": verdict.value, "reason": reason}
        case _:
            assert_never(result)


def measured_as_json(result: Measured) -> dict[str, object]:
    """Return a ratio with every pair behind it."""
    found = result.spread
    return {
        "kind": "ratio",
        **named(result.bench),
        "baseline": result.bench.baseline,
        "verdict": result.verdict.value,
        "median": found.median,
        "q1": found.q1,
        "q3": found.q3,
        "rounds": result.rounds,
        "ratios": list(result.ratios),
        "command": command(result.bench, len(result.ratios)),
    }


def grown_as_json(result: Grown) -> dict[str, object]:
    """Return a growth with the steps of every look-up."""
    return {
        "kind": "growth",
        **named(result.growth),
        "records": [result.growth.small, result.growth.large],
        "look_ups": {
            look_up: {
                "steps": [result.small[look_up], result.large[look_up]],
                "ratio": result.ratio(look_up),
                "verdict": result.verdict(look_up).value,
            }
            for look_up in result.small
        },
        "command": command(result.growth),
    }


def named(bench: Bench | Growth) -> dict[str, object]:
    """Return the fields that every result has."""
    return {"name": bench.name, "what": bench.what, "bar": None if bench.bar is None else str(bench.bar)}
