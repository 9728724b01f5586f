"""Read OpenTelemetry's spans into the chain: what can be kept is kept, and what was mended is counted and named.

A batch at a time, in bounded memory: what is known, what came twice and which parents are there, the store is asked.
Killed anywhere and run again it goes on.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from custody.capture.hook.event_home import add_gap, key_of
from custody.core.errors import InputError, SpoolError
from custody.core.ids import Digest, EventId, NaturalKey, RecordRef
from custody.core.wire.arrival import Arrival, arrival_from
from custody.core.wire.canonical import Json, dump
from custody.graph.otlp.event import SpanEventResult, event_of
from custody.graph.otlp.span_file import SpanChunk, pieces
from custody.graph.queries import SpanTables
from custody.graph.wire.otlp_span import OtlpProblem, OtlpRepair, OtlpSpan
from custody.graph.wire.report import ImportOtlpReport, SpanPlace, SpanRepairReport
from custody.intake.record import redact_event_payload
from custody.store import Store
from custody.workspace.workspace import Workspace

# Span events made ready: without secrets, and certain to be read again.


SHORT_SIGNS = 100
"""What stays of texts where taking a secret out of one made it too long."""


def span_arrival(event: dict[str, Json], key: Callable[[], bytes]) -> Arrival:
    """A span event on its way into a chain; an ``InputError`` if no way can be found to keep it."""
    # Named by its content, so that a span is known again wherever it is read from.
    name = EventId(f"import-{sha256(dump(event)).hexdigest()[:32]}")
    clean = redact_event_payload(event, key)
    try:
        return arrival_from(name, clean)
    except InputError:
        if clean is event:
            raise
        return arrival_from(name, _shortened(clean))


class SpanSpool:
    """The way of another library's spans into a repository's spool."""

    def __init__(self, folder: Path, *, texts: bool) -> None:
        self._workspace = Workspace(folder)
        self._texts = texts
        if self._workspace.home is None:
            raise InputError(f"'{folder}' is in no repository", hint="name a folder inside one")

    @cached_property
    def _home(self) -> str:
        return str(self._workspace.home)

    def put(self, spans: Sequence[OtlpSpan]) -> int:
        """Make spans durable in one file, and give how many could not be made events; a ``SpoolError`` keeps none."""
        events = []
        for span in spans:
            try:
                events.append(span_arrival(event_of(span, texts=self._texts).event, lambda: key_of(self._home)).payload)
            except InputError:
                continue  # counted by the difference
        if events:
            self._put(events)
        return len(spans) - len(events)

    def gap(self, lost: int) -> None:
        """Count what could not be kept, where the doctor looks."""
        add_gap(self._home, f"{lost} span(s) of OpenTelemetry's could not be kept", dict(os.environ))

    def _put(self, events: Sequence[bytes]) -> None:
        own, users = self._workspace.spools
        try:
            own.put_all(events)
        except SpoolError:
            # The same event in both is one record, so what the first may have kept does not matter.
            users.put_all(events)


def _shortened(event: dict[str, Json]) -> dict[str, Json]:
    """The event with the beginnings of its texts alone: what stands for a secret may be longer than the secret was."""
    names: dict[str, Json] = {
        n: _truncate_value(event[n]) for n in ("name", "server", "agent", "session") if n in event
    }
    given = event.get("attributes")
    attributes: Json = {key: _truncate_value(value) for key, value in given.items()} if isinstance(given, dict) else {}
    return {**event, **names, "attributes": attributes}


def _truncate_value(value: Json) -> Json:
    return value[:SHORT_SIGNS] if isinstance(value, str) else value


BATCH_SPANS = 1000
"""Spans in one transaction: bounds memory, and what a kill costs."""
PLACES_MAX = 20
"""Places that are named of each thing that was mended; all are counted."""
WAITING_MAX = 200_000
"""Parents that are waited for at a time; of what names more, nobody looks whether its parent came."""


def import_otlp(workspace: Workspace, paths: Sequence[Path], *, texts: bool = False) -> ImportOtlpReport:
    """Keep every span of the files that is new; prompts, answers and the like only with ``texts``."""
    for path in paths:
        if not path.is_file():
            raise InputError(f"there is no file '{path}'", hint="name files of OpenTelemetry's spans")
    with workspace.writing() as store:
        importing = _OtlpImport(workspace, store, texts)
        workspace.progress.start("importing spans", sum(path.stat().st_size for path in paths))
        for path in paths:
            importing.file(path)
        importing.end()
    return importing.report([str(path) for path in paths])


@dataclass(slots=True)
class OtlpRepairs:
    """What was mended: how often, and where first."""

    counts: Counter[OtlpRepair] = field(default_factory=Counter)
    places: dict[OtlpRepair, list[SpanPlace]] = field(default_factory=dict)

    def add(self, code: OtlpRepair, place: SpanPlace, count: int = 1) -> None:
        """One more, or several at one place."""
        self.counts[code] += count
        named = self.places.setdefault(code, [])
        if len(named) < PLACES_MAX:
            named.append(place)

    @property
    def reports(self) -> list[SpanRepairReport]:
        """All of it as it leaves the program."""
        return [
            SpanRepairReport(code.label, code.value, self.counts[code], self.places[code])
            for code in OtlpRepair
            if self.counts[code]
        ]


@dataclass(frozen=True, slots=True)
class _Span:
    """A span that waits to be written."""

    arrival: Arrival
    place: SpanPlace
    execution: str
    id: str
    parent: str | None

    @property
    def name(self) -> tuple[str, str]:
        return self.execution, self.id


@dataclass(slots=True)
class _MissingParent:
    """A parent that has not come: how many name it, and where the first does."""

    place: SpanPlace
    count: int = 0


class _OtlpImport:
    """An import under way."""

    def __init__(self, workspace: Workspace, store: Store, texts: bool) -> None:
        self._workspace, self._store, self._texts = workspace, store, texts
        own = store.own()
        self._before = None if own is None else store.tables.head(own)
        self._batch: list[_Span] = []
        self._awaited: dict[tuple[str, str], _MissingParent] = {}
        self._repairs = OtlpRepairs()
        self._kinds: Counter[str] = Counter()
        self._spans = self._new = self._known = self._left_out = self._unfollowed = 0

    def file(self, path: Path) -> None:
        """Take up the spans of one file."""
        done = 0
        for piece in pieces(path):
            self._piece(path, piece)
            self._workspace.progress.step(piece.read - done)
            done = piece.read

    def _piece(self, path: Path, piece: SpanChunk) -> None:
        for span in piece.spans:
            if isinstance(span, OtlpProblem):
                self._repairs.add(OtlpRepair.UNREADABLE, SpanPlace(str(path), piece.line, span.what[:300]))
                continue
            made = event_of(span, texts=self._texts)
            try:
                self._take(made, str(path), piece.line)
            except InputError as error:
                what = f"span '{span.id[:80]}': {error.message}"
                self._repairs.add(OtlpRepair.UNREADABLE, SpanPlace(str(path), piece.line, what[:300]))

    def _take(self, made: SpanEventResult, file: str, line: int | None) -> None:
        event = made.event
        execution, span = str(event["execution"]), str(event["span"])
        place = SpanPlace(file, line, f"{execution}:{span}")
        parent = event.get("parent")
        arrival = span_arrival(event, lambda: key_of(str(self._workspace.home)))
        self._batch.append(_Span(arrival, place, execution, span, None if parent is None else str(parent)))
        self._spans += 1
        self._left_out += made.left_out
        self._kinds[str(event["span_kind"])] += 1
        for code, _ in made.mended:
            self._repairs.add(code, place)
        if len(self._batch) >= BATCH_SPANS:
            self._write()

    def end(self) -> None:
        """Write what waits, and say which parents never came."""
        self._write()
        for awaited in self._awaited.values():
            self._repairs.add(OtlpRepair.NO_PARENT, awaited.place, awaited.count)

    # --- a batch ------------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        batch, self._batch = self._batch, []
        if not batch:
            return
        self._compare(batch)
        there = SpanTables(self._store).there(
            {(span.execution, span.parent) for span in batch if span.parent is not None}
        )
        done = self._store.append([span.arrival for span in batch])
        self._new += len(done.made)
        for span in batch:
            self._follow(span, there)
            there.add(span.name)

    def _compare(self, batch: Sequence[_Span]) -> None:
        """Say which spans were there, came again, or came with another content."""
        seen = SpanTables(self._store).observed({span.arrival.entry.key for span in batch})
        here: dict[NaturalKey, set[Digest]] = {}
        for span in batch:
            entry = span.arrival.entry
            kept, lately = seen.get(entry.key, {}), here.setdefault(entry.key, set())
            if entry.digest in lately or any(map(self._is_new, kept.get(entry.digest, ()))):
                self._repairs.add(OtlpRepair.REPEATED, span.place)
            elif entry.digest in kept:
                self._known += 1
            elif kept or lately:
                self._repairs.add(OtlpRepair.SAME_ID, span.place)
            lately.add(entry.digest)

    def _is_new(self, ref: RecordRef) -> bool:
        """Whether this import has made a record."""
        if self._before is None:
            return ref.store == self._store.own()
        return ref.store == self._before.store and ref.seq > self._before.seq

    def _follow(self, span: _Span, there: set[tuple[str, str]]) -> None:
        """Look whether what a span ran in is there, and whether others waited for it."""
        late = self._awaited.pop(span.name, None)
        if late is not None:
            self._repairs.add(OtlpRepair.LATE_PARENT, late.place, late.count)
        if span.parent is None or (span.execution, span.parent) in there:
            return
        if len(self._awaited) >= WAITING_MAX and (span.execution, span.parent) not in self._awaited:
            self._unfollowed += 1
            return
        self._awaited.setdefault((span.execution, span.parent), _MissingParent(span.place)).count += 1

    def report(self, files: list[str]) -> ImportOtlpReport:
        """What was read and what became of it."""
        return ImportOtlpReport(
            files=files,
            spans=self._spans,
            new=self._new,
            known=self._known,
            kinds=dict(sorted(self._kinds.items())),
            attributes_left_out=self._left_out,
            unfollowed=self._unfollowed,
            repairs=self._repairs.reports,
        )
