"""Import of a file of generic events, one JSON object per line, into this store's own chain."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from custody.capture import FileLine, read_jsonl_lines
from custody.capture.secret_prefilter import SecretPrefilter
from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.wire.arrival import Arrival, arrival_from_json, refuse_host_witness
from custody.core.wire.canonical import Json, parse_json_bytes
from custody.core.wire.event import GENERIC
from custody.core.wire.report import ImportEventsReport
from custody.intake.import_traces import ImportProblems
from custody.intake.record import may_any_event_have_secret, open_redaction_key, redact_event_payload
from custody.workspace.workspace import Workspace

BATCH_RECORDS = 1000
BATCH_BYTES = 16 * 1024 * 1024
GROUP_RECORDS = 50
GROUP_BYTES = 64 * 1024
KINDS = frozenset(str(event.__struct_config__.tag) for event in GENERIC)


def import_event_file(workspace: Workspace, path: Path) -> ImportEventsReport:
    """Append every new event of the file; a line that is not an event is reported, and the others are imported."""
    count, problems = Counter[str](), ImportProblems()
    with workspace.writing() as store:
        workspace.progress.start("importing", None)
        for batch in _batch_event_arrivals(workspace, path, count, problems):
            appended = store.append(batch)
            count["new"] += len(appended.stored)
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
    size, prefilter = 0, SecretPrefilter()
    for lines in _group_event_lines(path, count):
        for line, arrival in _read_event_lines(workspace, lines, prefilter):
            if isinstance(arrival, InputError):
                problems.add(str(path), line.number, arrival.message)
                continue
            batch.append(arrival)
            size += line.size
        if len(batch) >= BATCH_RECORDS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _group_event_lines(path: Path, count: Counter[str]) -> Iterator[list[FileLine]]:
    """Yield the lines that are not blank, in groups that are scanned for secrets together."""
    group: list[FileLine] = []
    size = 0
    for line in read_jsonl_lines(path):
        count["lines"] += 1
        if not line.data.strip() and line.size == len(line.data) + line.whole:
            continue
        group.append(line)
        size += line.size
        if len(group) >= GROUP_RECORDS or size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    yield group


def _read_event_lines(
    workspace: Workspace, lines: Sequence[FileLine], prefilter: SecretPrefilter
) -> Iterator[tuple[FileLine, Arrival | InputError]]:
    """Yield each line with its event, or with the problem."""
    values = [_parse_event_line(line) for line in lines]
    may_have_secret = may_any_event_have_secret([value for value in values if isinstance(value, dict)], prefilter)
    for line, value in zip(lines, values, strict=True):
        if isinstance(value, InputError):
            yield line, value
            continue
        try:
            clean = redact_event_payload(value, lambda: open_redaction_key(workspace)) if may_have_secret else value
            yield line, arrival_from_json(EventId(f"import-{hashlib.sha256(line.data).hexdigest()[:32]}"), clean)
        except InputError as error:
            yield line, error


def _parse_event_line(line: FileLine) -> dict[str, Json] | InputError:
    try:
        if line.size > len(line.data) + line.whole:
            raise InputError(f"a line of {line.size:,} bytes is over the limit")
        value = parse_json_bytes(line.data)
        if not isinstance(value, dict):
            raise InputError("an event is a JSON object")
        if value.get("kind") not in KINDS:
            raise InputError(f"unknown kind of event '{str(value.get('kind'))[:80]}'")
        refuse_host_witness(value)
    except InputError as error:
        return error
    return value
