"""Read a file of generic events, one JSON object a line, into this store's own chain."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from custody.capture import FileLine, lines_of
from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.wire.arrival import Arrival, arrival_from
from custody.core.wire.canonical import parse
from custody.core.wire.event import GENERIC
from custody.core.wire.report import ImportEventsReport
from custody.intake.import_traces import ImportProblems
from custody.intake.record import key_for, redact_event_payload
from custody.workspace.workspace import Workspace

BATCH_RECORDS = 1000
BATCH_BYTES = 16 * 1024 * 1024
KINDS = frozenset(str(event.__struct_config__.tag) for event in GENERIC)


def import_events(workspace: Workspace, path: Path) -> ImportEventsReport:
    """Append every event of the file that is new; a line that is no event is named, and the rest is used."""
    count, problems = Counter[str](), ImportProblems()
    with workspace.writing() as store:
        workspace.progress.start("importing", None)
        for batch in _batches(workspace, path, count, problems):
            done = store.append(batch)
            count["new"] += len(done.made)
            count["known"] += len(done.known)
            workspace.progress.step(len(batch))
    return ImportEventsReport(
        path=str(path),
        lines=count["lines"],
        new=count["new"],
        known=count["known"],
        problems=problems.named,
        problem_count=problems.count,
    )


def _batches(
    workspace: Workspace, path: Path, count: Counter[str], problems: ImportProblems
) -> Iterator[list[Arrival]]:
    """What the lines bring, in lists that fit into memory."""
    batch: list[Arrival] = []
    size = 0
    for line in lines_of(path):
        count["lines"] += 1
        if not line.data.strip() and line.size == len(line.data) + line.whole:
            continue
        try:
            batch.append(_arrival(workspace, line))
        except InputError as error:
            problems.add(str(path), line.number, error.message)
            continue
        size += line.size
        if len(batch) >= BATCH_RECORDS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _arrival(workspace: Workspace, line: FileLine) -> Arrival:
    if line.size > len(line.data) + line.whole:
        raise InputError(f"a line of {line.size:,} bytes is over the limit")
    value = parse(line.data)
    if not isinstance(value, dict):
        raise InputError("an event is a JSON object")
    if value.get("kind") not in KINDS:
        raise InputError(f"'{str(value.get('kind'))[:80]}' is no kind of generic event")
    event_id = EventId(f"import-{hashlib.sha256(line.data).hexdigest()[:32]}")
    return arrival_from(event_id, redact_event_payload(value, lambda: key_for(workspace)))
