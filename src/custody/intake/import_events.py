"""Import of a file of generic events, one JSON object per line, into this store's own chain."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from custody.capture import FileLine, read_jsonl_lines
from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.wire.arrival import Arrival, arrival_from_json, refuse_host_witness
from custody.core.wire.canonical import parse_json_bytes
from custody.core.wire.event import GENERIC
from custody.core.wire.report import ImportEventsReport
from custody.intake.import_traces import ImportProblems
from custody.intake.record import open_redaction_key, redact_event_payload
from custody.workspace.workspace import Workspace

BATCH_RECORDS = 1000
BATCH_BYTES = 16 * 1024 * 1024
KINDS = frozenset(str(event.__struct_config__.tag) for event in GENERIC)


def import_event_file(workspace: Workspace, path: Path) -> ImportEventsReport:
    """Append every new event of the file; a line that is not an event is reported, and the others are imported."""
    count, problems = Counter[str](), ImportProblems()
    with workspace.writing() as store:
        workspace.progress.start("importing", None)
        for batch in _batch_event_arrivals(workspace, path, count, problems):
            appended = store.append(batch)
            count["new"] += len(appended.made)
            count["known"] += len(appended.known)
            workspace.progress.step(len(batch))
    return ImportEventsReport(
        path=str(path),
        lines=count["lines"],
        new=count["new"],
        known=count["known"],
        problems=problems.listed,
        problem_count=problems.count,
    )


def _batch_event_arrivals(
    workspace: Workspace, path: Path, count: Counter[str], problems: ImportProblems
) -> Iterator[list[Arrival]]:
    """Yield the events of the lines, in lists that fit into memory."""
    batch: list[Arrival] = []
    size = 0
    for line in read_jsonl_lines(path):
        count["lines"] += 1
        if not line.data.strip() and line.size == len(line.data) + line.whole:
            continue
        try:
            batch.append(_arrival_from_event_line(workspace, line))
        except InputError as error:
            problems.add(str(path), line.number, error.message)
            continue
        size += line.size
        if len(batch) >= BATCH_RECORDS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _arrival_from_event_line(workspace: Workspace, line: FileLine) -> Arrival:
    if line.size > len(line.data) + line.whole:
        raise InputError(f"a line of {line.size:,} bytes is over the limit")
    value = parse_json_bytes(line.data)
    if not isinstance(value, dict):
        raise InputError("an event is a JSON object")
    if value.get("kind") not in KINDS:
        raise InputError(f"unknown kind of event '{str(value.get('kind'))[:80]}'")
    refuse_host_witness(value)
    event_id = EventId(f"import-{hashlib.sha256(line.data).hexdigest()[:32]}")
    return arrival_from_json(event_id, redact_event_payload(value, lambda: open_redaction_key(workspace)))
