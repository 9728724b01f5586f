"""Read a file of generic events, one JSON object a line, into this store's own chain."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from custody.capture import FileLine, lines_of
from custody.capture.hook.event_home import key_of
from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.wire.arrival import Arrival, arrival_from
from custody.core.wire.canonical import parse
from custody.core.wire.event import GENERIC
from custody.core.wire.report import ImportEventsReport, ImportProblem
from custody.intake.redaction import redact_event_payload
from custody.store import Store
from custody.workspace.workspace import Workspace

BATCH_RECORDS = 1000
BATCH_BYTES = 16 * 1024 * 1024
PROBLEMS_MAX = 1000
KINDS = frozenset(str(event.__struct_config__.tag) for event in GENERIC)


def import_events(workspace: Workspace, path: Path) -> ImportEventsReport:
    """Append every event of the file that is new; a line that is no event is named, and the rest is used."""
    reading = _EventFile(workspace, path)
    with workspace.writing() as store:
        workspace.progress.start("importing", None)
        for batch in reading.batches():
            reading.keep(store, batch)
    return ImportEventsReport(
        path=str(path),
        lines=reading.lines,
        new=reading.new,
        known=reading.known,
        problems=reading.problems,
        problem_count=reading.problem_count,
    )


@dataclass
class _EventFile:
    """A file of events, as far as it was read."""

    workspace: Workspace
    path: Path
    lines: int = 0
    new: int = 0
    known: int = 0
    problems: list[ImportProblem] = field(default_factory=list)
    problem_count: int = 0

    def batches(self) -> Iterator[list[Arrival]]:
        """What the lines bring, in lists that fit into memory."""
        batch: list[Arrival] = []
        size = 0
        for line in lines_of(self.path):
            self.lines += 1
            if not line.data.strip() and line.size == len(line.data) + line.whole:
                continue
            try:
                batch.append(self._arrival(line))
            except InputError as error:
                self._problem(line, error.message)
                continue
            size += line.size
            if len(batch) >= BATCH_RECORDS or size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def keep(self, store: Store, batch: list[Arrival]) -> None:
        """Write what is new."""
        done = store.append(batch)
        self.new += len(done.made)
        self.known += len(done.known)
        self.workspace.progress.step(len(batch))

    def _arrival(self, line: FileLine) -> Arrival:
        if line.size > len(line.data) + line.whole:
            raise InputError(f"a line of {line.size:,} bytes is over the limit")
        value = parse(line.data)
        if not isinstance(value, dict):
            raise InputError("an event is a JSON object")
        if value.get("kind") not in KINDS:
            raise InputError(f"'{str(value.get('kind'))[:80]}' is no kind of generic event")
        event_id = EventId(f"import-{hashlib.sha256(line.data).hexdigest()[:32]}")
        return arrival_from(event_id, redact_event_payload(value, lambda: key_of(str(self.workspace.home))))

    def _problem(self, line: FileLine, what: str) -> None:
        self.problem_count += 1
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(ImportProblem(str(self.path), line.number, what))
