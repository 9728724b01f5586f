"""The cost of OTLP spans imported from a file, against msgspec and SQLite with the same durability.

Traces of 100 spans, 1,000 spans to a request and a line. *text* adds 2 kB of words to each span.
"""

import json
import shutil
import sqlite3
import subprocess
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from bench.bars import BenchError, at_most
from bench.runner import Bench, Ground, Sides, processor_ns
from custody.graph.otlp.import_ import import_otlp
from custody.workspace.workspace import Workspace

SPANS, REQUEST, TRACE = 5_000, 1_000, 100
START_NS = 1_700_000_000_000_000_000
TEXT_WORDS, VOCABULARY = 330, 3_000
INSERT = "INSERT INTO span (trace, id, parent, name, start_ns, end_ns, body) VALUES (?, ?, ?, ?, ?, ?, ?)"


def a_span(n: int, text: str | None) -> dict[str, Any]:
    """Return the ``n``-th span: a tool's call inside the first span of its trace."""
    trace, place = divmod(n, TRACE)
    values: dict[str, Any] = {"openinference.span.kind": "TOOL", "tool.name": f"tool {place % 7}"}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    attributes.append({"key": "count", "value": {"intValue": str(n)}})
    if text is not None:
        attributes.append({"key": "input.value", "value": {"stringValue": text}})
    span: dict[str, Any] = {
        "traceId": f"{trace + 1:032x}",
        "spanId": f"{place + 1:016x}",
        "name": f"step {place % 7}",
        "kind": 1,
        "startTimeUnixNano": str(START_NS + n * 1_000),
        "endTimeUnixNano": str(START_NS + n * 1_000 + 500),
        "attributes": attributes,
        "status": {"code": 1},
    }
    return span | ({"parentSpanId": f"{1:016x}"} if place else {})


def a_file(path: Path, *, texts: bool) -> Path:
    """Write the requests, one to a line."""
    drawn = Random("words")
    words = [f"{drawn.getrandbits(20):x}" for _ in range(VOCABULARY)]
    service = {"attributes": [{"key": "service.name", "value": {"stringValue": "bench"}}]}
    with path.open("w", encoding="utf-8") as written:
        for first in range(0, SPANS, REQUEST):
            spans = [
                a_span(n, " ".join(drawn.choices(words, k=TEXT_WORDS)) if texts else None)
                for n in range(first, first + REQUEST)
            ]
            scope = {"scope": {"name": "bench"}, "spans": spans}
            written.write(f"{json.dumps({'resourceSpans': [{'resource': service, 'scopeSpans': [scope]}]})}\n")
    return path


def from_file(ground: Ground, *, texts: bool) -> Sides:
    """Import the same file into a new store each time; the baseline makes a new table."""
    file, template, numbers = ground.folder / "spans.jsonl", ground.folder / "template", count()
    a_file(file, texts=texts)
    subprocess.run(["git", "init", "-q", str(template)], check=True)

    def ours() -> None:
        folder = ground.folder / str(next(numbers))
        shutil.copytree(template, folder)
        if import_otlp(Workspace(folder), [file], texts=texts).new != SPANS:
            raise BenchError("not every span was stored")
        shutil.rmtree(folder)

    def plain() -> None:
        connection = sqlite3.connect(ground.folder / f"{next(numbers)}.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(
            "CREATE TABLE span (trace TEXT, id TEXT, parent TEXT, name TEXT, start_ns INT, end_ns INT, body BLOB,"
            " PRIMARY KEY (trace, id)) STRICT"
        )
        for line in file.read_bytes().splitlines():
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(INSERT, map(_row, _spans_of(msgspec.json.decode(line))))
            connection.execute("COMMIT")
        connection.close()

    return Sides(ours, plain)


def _spans_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    spans: list[dict[str, Any]] = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return spans


def _row(span: dict[str, Any]) -> tuple[object, ...]:
    times = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    return span["traceId"], span["spanId"], span.get("parentSpanId"), span["name"], *times, msgspec.json.encode(span)


def _bench(name: str, what: str, bar: float, *, texts: bool) -> Bench:
    return Bench(
        name=name,
        what=what,
        baseline="the same spans decoded and encoded by msgspec, inserted into SQLite (WAL, FULL), in processor time",
        bar=at_most(bar),
        set_up=partial(from_file, texts=texts),
        calls=1,
        clock=processor_ns,
    )


BENCHES = (
    _bench("span-import", f"import of {SPANS:,} OTLP spans into a new store", 3, texts=False),
    _bench("span-import-text", f"import of {SPANS:,} OTLP spans with 2 kB of text each", 4, texts=True),
)
