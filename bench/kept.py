"""Results stored in ``bench/results``, one small file each: the command, its input, and the figures.

A file contains neither a date nor the machine. It holds shares, counts and ratios, never times.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.bars import BenchError
from bench.names import by_name

ROOT = Path(__file__).resolve().parents[1]
RESULTS = "bench/results"
Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class Kept:
    """One table of figures as it was measured."""

    part: str
    """Its heading on the page."""
    what: str
    command: str
    header: list[str]
    rows: Rows


@dataclass(frozen=True, slots=True)
class Run:
    """A bench with stored figures: its words after ``python``, and how its output becomes a table.

    In the words, ``DATA`` stands for the folder of data and ``REPORTS`` for one of Markdown reports.
    """

    name: str
    part: str
    what: str
    words: str
    header: tuple[str, ...]
    read: Callable[[str], Rows]

    def kept(self, output: str) -> Kept:
        """Return the table in ``output``; an empty output is an error."""
        try:
            rows = self.read(output)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise BenchError(f"'{self.name}' printed something that is not its table: {error!r}") from error
        if not rows:
            raise BenchError(f"'{self.name}' printed no figure")
        return Kept(self.part, self.what, f"python {self.words}", list(self.header), rows)


def write(folder: Path, name: str, kept: Kept) -> Path:
    """Store a table; the same figures give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(asdict(kept), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read(path: Path) -> Kept:
    """Read a stored table."""
    try:
        return Kept(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise BenchError(f"'{path.name}' is not a stored result: {error}") from error


def share(value: float) -> str:
    """Format a share for a page.

    >>> share(0.99718)
    '0.9972'
    """
    return f"{value:.4f}"


def _attribution(output: str) -> Rows:
    (group,) = json.loads(output)["groups"]
    stories = group["stories"]
    failed = sum(one["failure"] is not None for one in stories)
    if failed:
        raise ValueError(f"{failed} stories could not be played")
    exact = sum(one["exact"] for one in stories)
    rows = [_tally(f"all {len(stories)} stories, {exact} of them exact", group["total"])]
    rows += [_tally(f"{name} lines", tally) for name, tally in sorted(group["sorts"].items())]
    tiers = sorted((one for one in group["tiers"]), key=lambda one: (one["tier"] or 9, one["class"]))
    return rows + [
        [f"said with tier {one['tier']}, {one['class']}", share(one["precision"]), "", *_counts(one)] for one in tiers
    ]


def _tally(what: str, tally: Mapping[str, Any]) -> list[str]:
    return [what, share(tally["precision"]), share(tally["recall"]), *_counts(tally)]


def _counts(tally: Mapping[str, Any]) -> list[str]:
    return [str(tally[name]) for name in ("right", "stolen", "mistaken", "missed", "left_out")]


def _redaction(output: str) -> Rows:
    found = re.findall(
        r"^(\w+): recall (\d+)/(\d+) = .* over (\d+) kinds; harmless texts damaged (\d+)/(\d+),.*"
        r"ids and hashes damaged (\d+);",
        output,
        re.MULTILINE,
    )
    return [
        [f"{name} kinds ({kinds})", share(int(hit) / int(all_)), f"{hit} of {all_}", f"{bad} of {texts}", ids]
        for name, hit, all_, kinds, bad, texts, ids in found
    ]


def _trust(output: str) -> Rows:
    (stream,) = json.loads(output)
    return [
        [who, share(one["log_loss"]), share(one["auc"]), share(one["calibration_error"])]
        for who, one in stream["scored"].items()
    ]


def _risk(output: str) -> Rows:
    (stream,) = json.loads(output)
    return [[f"{one['target']:.0%}", f"{one['realised']:.2%}", f"{one['passed']:,}"] for one in stream["risk"]]


def _reports(output: str) -> Rows:
    found = re.findall(r"^(CITE-\w+): put (\d+), recall ([\d.]+), precision ([\d.]+),", output, re.MULTILINE)
    return [list(row) for row in found]


def _next(output: str) -> Rows:
    lines = [line.split("  ") for line in output.splitlines() if line.startswith("fine ")]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    return [[one[1], one[2], one[3], one[4] if len(one) > 4 else ""] for one in cells]


def _peers(output: str) -> Rows:
    return [
        [one["tool"], *(one["total"][name] for name in ("stories", "exact", "precision", "recall"))]
        for one in json.loads(output)
        if one["total"]
    ]


def _times(output: str) -> Rows:
    return [
        [one["tool"], what, f"{figure['median']:.2f}", "yes" if figure["steady"] else "no"]
        for one in json.loads(output)
        for what, figure in (one["times"] or {}).items()
    ]


LINES = ("lines", "precision", "recall", "right", "stolen", "mistaken", "missed", "left out")
RUNS = by_name(
    (
        Run(
            "attribution-hooks",
            "Attribution",
            "stories with known truth, recorded by the installed hook",
            "-m bench attribution --source hooks --alone --json",
            LINES,
            _attribution,
        ),
        Run(
            "attribution-transcripts",
            "Attribution",
            "the same stories, from imported transcripts alone",
            "-m bench attribution --source transcripts --alone --json",
            LINES,
            _attribution,
        ),
        Run(
            "trust",
            "Trust",
            "31,284 decisions about changes of agents (AIDev) replayed; the first tenth is not scored",
            "-m bench trust DATA/trust_stream_aidev.jsonl.gz --json",
            ("who predicts", "log loss", "AUC", "calibration error"),
            _trust,
        ),
        Run(
            "trust-risk",
            "Trust",
            "the same stream: changes that risk control merges without review",
            "-m bench trust DATA/trust_stream_aidev.jsonl.gz --json",
            ("target", "bad among those merged", "let through"),
            _risk,
        ),
        Run(
            "cite-reports",
            "Citations",
            "faults put into 201 real reports of three models, one of each class",
            "-m bench.cite_reports REPORTS",
            ("class", "faults put in", "recall", "precision"),
            _reports,
        ),
        Run(
            "redaction",
            "Redaction",
            "made-up secrets of each kind, 6 samples each, seed 20260131",
            "-m bench.redaction --samples 6",
            ("kinds", "recall", "secrets found", "harmless texts damaged", "ids and hashes damaged"),
            _redaction,
        ),
        Run(
            "graph-next",
            "Graph",
            "the next call in the last 30 % of 139 traces (TRAIL)",
            "-m bench graph-next DATA/trail_otel_openinference_spans.jsonl.gz",
            ("who predicts", "calls", "hit@1", "calibration error"),
            _next,
        ),
        Run(
            "peers",
            "Other tools",
            "twenty stories, committed lines only",
            "-m bench peers --tool NAME PATH … --json FILE",
            ("tool", "stories", "exact", "precision", "recall"),
            _peers,
        ),
        Run(
            "peers-times",
            "Other tools",
            "what a commit takes with the tool set up, and its blame, over plain git doing the same",
            "-m bench peers --times --tool NAME PATH … --json FILE",
            ("tool", "what", "over plain git (median of ratios)", "steady"),
            _times,
        ),
    )
)


def words_of(run: Run, data: Path | None, reports: Path | None) -> Sequence[str]:
    """Return the words of a run with its folders filled in; a missing folder is an error."""
    words = run.words
    for name, folder in (("DATA", data), ("REPORTS", reports)):
        if name in words and folder is None:
            raise BenchError(f"'{run.name}' needs --{name.lower()} FOLDER")
        words = words.replace(name, str(folder))
    if "PATH" in words:
        raise BenchError(f"'{run.name}' needs programs: run it yourself and give its output with --output FILE")
    return words.split()
