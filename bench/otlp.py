"""Import and export of OpenTelemetry spans: what is stored of a file, and the memory of an import.

    python -m bench otlp FILE... --spans 20000 80000

Each FILE is imported into an empty repository, imported again, written out as JSON and as protobuf and read back
elsewhere. *memory* is the peak of a process that imports a generated file of this many spans, children before parents,
a hundred to a trace; it must not grow with the file.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from bench.bars import Bar, BenchError, at_most, exactly
from bench.columns import columns
from bench.runner import MissingData
from custody.core.view_merge import merge_span_views
from custody.core.views import ObservedSpan
from custody.graph.otlp.export import SpanExportRequest, export_otlp_to_file
from custody.graph.otlp.import_ import import_otlp
from custody.graph.queries import SpanTables, query_execution_spans
from custody.workspace.workspace import Workspace

TRACE_SPANS = 100
START_NS = 1_700_000_000_000_000_000
GROWTH_MAX = 1.25
Figure = tuple[str, float, str, Bar | None]


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Print a table of figures, each with its bar where it has one."""
    parser = argparse.ArgumentParser(prog="python -m bench otlp", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument(
        "--spans", nargs="*", type=int, default=[], metavar="N", help="files to generate, smallest first"
    )
    given = parser.parse_args(argv)
    if not given.files and not given.spans:
        raise MissingData("needs files of spans, or --spans N...")
    figures = [*(figure for file in given.files for figure in whole_way(file)), *memory(given.spans)]
    rows = [(what, shown, _verdict(figure, bar)) for what, figure, shown, bar in figures]
    (out or sys.stdout).write(columns(("what", "figure", "bar"), rows))
    return 0


def whole_way(file: Path) -> Iterator[Figure]:
    """Count the stored spans of one file."""
    with tempfile.TemporaryDirectory(prefix="custody-bench-") as name:
        one, json_side, proto_side = (_a_workspace(Path(name) / side) for side in ("one", "json", "proto"))
        first, second = import_otlp(one, [file]), import_otlp(one, [file])
        counts = {repair.code: repair.count for repair in first.repairs}
        yield f"spans read from {file.name}", first.spans, f"{first.spans:,}", None
        yield "kept", first.new, f"{first.new:,}", None
        lost = first.spans - first.new - counts.get("repeated", 0)
        yield "neither stored nor already known", lost, f"{lost:,}", exactly(0)
        yield "mended or said", len(counts), ", ".join(f"{code} {n:,}" for code, n in counts.items()) or "nothing", None
        yield "new at the second import", second.new, f"{second.new:,}", exactly(0)
        kept = _spans(one)
        for side, protobuf in ((json_side, False), (proto_side, True)):
            export_otlp_to_file(one, Path(name) / "out", SpanExportRequest(protobuf=protobuf))
            import_otlp(side, [Path(name) / "out"])
            differ = len(set(kept) ^ set(_spans(side)))
            yield (
                f"spans that differ after {'protobuf' if protobuf else 'JSON'} and back",
                differ,
                f"{differ:,}",
                exactly(0),
            )


def memory(sizes: Sequence[int]) -> Iterator[Figure]:
    """Measure the memory peak of imports by size, in mebibytes, and the ratio of the last to the first."""
    peaks: list[float] = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="custody-bench-") as name:
            workspace = _a_workspace(Path(name) / "repo")
            file = Path(name) / "spans.jsonl"
            with file.open("w", encoding="utf-8") as written:
                written.writelines(_lines(size))
            peaks.append(_peak(workspace.folder, file))
        yield f"peak memory of importing {size:,} spans, MiB", peaks[-1], f"{peaks[-1]:.0f}", None
    if len(peaks) > 1:
        ratio = peaks[-1] / peaks[0]
        yield f"peak for {sizes[-1]:,} against {sizes[0]:,}", ratio, f"{ratio:.2f}", at_most(GROWTH_MAX)


def _lines(count: int) -> Iterator[str]:
    """Yield a file as programs write it that send spans when they end: children before parents."""
    for number in range(count):
        trace, place = divmod(number, TRACE_SPANS)
        span = {
            "traceId": f"{trace + 1:032x}",
            "spanId": f"{place + 1:016x}",
            "name": f"step {place % 7}",
            "startTimeUnixNano": str(START_NS + number * 1000),
            "endTimeUnixNano": str(START_NS + number * 1000 + 500),
            "attributes": [{"key": "openinference.span.kind", "value": {"stringValue": "TOOL"}}],
        }
        if place < TRACE_SPANS - 1:
            span["parentSpanId"] = f"{min(place + 2 + place % 5, TRACE_SPANS):016x}"
        yield json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}) + "\n"


def _peak(folder: Path, file: Path) -> float:
    """Return the largest resident size of an importing process, measured by a separate process."""
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-m', 'custody', '-C', *sys.argv[1:]], stdout=subprocess.DEVNULL)\n"
        "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    words = [sys.executable, "-c", code, str(folder), "import", "otlp", str(file)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    status, kibibytes = map(int, ran.stdout.split())
    if status:
        raise BenchError(f"the import ended with status {status}: {ran.stderr[:300]}")
    return kibibytes / 1024


def _a_workspace(folder: Path) -> Workspace:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return Workspace(folder)


def _spans(workspace: Workspace) -> list[ObservedSpan]:
    with workspace.reading() as store:
        return merge_span_views(
            seen.view
            for execution in SpanTables(store).executions()
            for seen in query_execution_spans(store, execution)
        )


def _verdict(figure: float, bar: Bar | None) -> str:
    return "" if bar is None else f"{bar} {'met' if bar.holds(figure) else 'MISSED'}"


if __name__ == "__main__":
    sys.exit(main())
