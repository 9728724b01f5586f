"""Import OpenTelemetry spans: every usable span is stored, and repairs are counted and named.

It reads a batch at a time in bounded memory; the store knows which spans are known, repeated or parents. An import that
was killed continues when it is run again.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from msgspec import Struct, field

from custody.capture.hook.event_home import load_redaction_key, record_capture_gap
from custody.capture.secret_prefilter import SecretPrefilter
from custody.core.errors import InputError, SpoolError
from custody.core.ids import Digest, NaturalKey, RecordRef
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.core.wire.arrival import Arrival, arrival_from_json, arrival_from_span, name_imported_event
from custody.core.wire.canonical import Json, dump_canonical_json
from custody.graph.otlp.event import SpanEventResult, span_event_from_otlp
from custody.graph.otlp.span_file import SpanChunk, iterate_span_chunks
from custody.graph.queries import SpanTables
from custody.graph.wire.otlp_span import OtlpProblem, OtlpRepair, OtlpSpan
from custody.graph.wire.report import ImportOtlpReport, SpanPlace, SpanRepairReport
from custody.intake.record import may_any_event_have_secret, redact_event_payload
from custody.store import Store, split_row_batches
from custody.workspace.workspace import Workspace

# Span events prepared for the store: without secrets, and certain to be readable.


LOOK_SPANS = 200
"""Spans that are searched for secrets together: if there is none, as mostly, each one is not searched."""
_IDS = ("execution", "span", "parent")
_SAFE_FIELDS = frozenset(("custody", "kind", "id", "phase", "span_kind", "at", "ended_at", "status", "dropped", *_IDS))
_PLAIN_ID = lazy_pattern("[0-9a-f]{16}|[0-9a-f]{32}")
SHORT_CHARS = 100
"""The length of texts after replacing a secret made one too long."""


def arrival_from_span_event(
    event: dict[str, Json], key: Callable[[], bytes], *, may_have_secret: bool = True
) -> Arrival:
    """Return a span event ready to be appended; raise ``InputError`` if it cannot be stored."""
    clean = redact_event_payload(event, key) if may_have_secret else event
    if clean is event and (arrival := arrival_from_span(event)) is not None:
        return arrival
    # Named by its content, so that a span is recognized wherever it is read from.
    name = name_imported_event(sha256(dump_canonical_json(event)).digest())
    try:
        return arrival_from_json(name, clean)
    except InputError:
        if clean is event:
            raise
        return arrival_from_json(name, _truncate_span_event(clean))


class ConvertedSpans(Struct, frozen=True):
    """Some events of spans, or why they are none, and whether one of them may have a secret."""

    results: Sequence[SpanEventResult | OtlpProblem]
    may_have_secret: bool


def convert_otlp_spans(
    spans: Iterable[OtlpSpan | OtlpProblem], *, texts: bool, prefilter: SecretPrefilter | None = None
) -> Iterator[ConvertedSpans]:
    """Yield the events of spans in groups that are searched for secrets together."""
    prefilter = prefilter or SecretPrefilter()
    for group in split_row_batches(spans, LOOK_SPANS):
        results = [span if isinstance(span, OtlpProblem) else span_event_from_otlp(span, texts=texts) for span in group]
        events = [result.event for result in results if isinstance(result, SpanEventResult)]
        yield ConvertedSpans(results, may_any_event_have_secret(list(map(_list_searched_fields, events)), prefilter))


def _list_searched_fields(event: dict[str, Json]) -> dict[str, Json]:
    """Return the fields of a span that may have a secret: not its times, nor ids of OpenTelemetry's own shape."""
    found = {name: value for name, value in event.items() if name not in _SAFE_FIELDS}
    return found | {name: event[name] for name in _IDS if name in event and not _is_plain_id(str(event[name]))}


def _is_plain_id(text: str) -> bool:
    return _PLAIN_ID.fullmatch(text) is not None


class SpanSpool:
    """Puts spans of another library into a repository's spool."""

    def __init__(self, folder: Path, *, texts: bool) -> None:
        self._workspace = Workspace(folder)
        self._texts = texts
        if self._workspace.home is None:
            raise InputError(f"'{folder}' is not in a repository", hint="pass a folder inside one")

    @cached_property
    def _home(self) -> str:
        return str(self._workspace.home)

    def put(self, spans: Sequence[OtlpSpan]) -> int:
        """Store spans in one file; return how many could not become events. A ``SpoolError`` stores none."""
        events = []
        for span in spans:
            try:
                events.append(
                    arrival_from_span_event(
                        span_event_from_otlp(span, texts=self._texts).event, lambda: load_redaction_key(self._home)
                    ).payload
                )
            except InputError:
                continue  # counted by the difference
        if events:
            self._put(events)
        return len(spans) - len(events)

    def gap(self, lost: int) -> None:
        """Record that spans were lost, for ``custody doctor``."""
        record_capture_gap(
            self._home, f"{count_noun(lost, 'OpenTelemetry span')} could not be stored", dict(os.environ)
        )

    def _put(self, events: Sequence[bytes]) -> None:
        own, users = self._workspace.spools
        try:
            own.put_all(events)
        except SpoolError:
            # The same event in both is one record, so a partial write to the first does not matter.
            users.put_all(events)


def _truncate_span_event(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event with its texts cut: a placeholder may be longer than its secret."""
    names: dict[str, Json] = {
        n: _truncate_span_value(event[n]) for n in ("name", "server", "agent", "session") if n in event
    }
    original = event.get("attributes")
    attributes: Json = (
        {key: _truncate_span_value(value) for key, value in original.items()} if isinstance(original, dict) else {}
    )
    return {**event, **names, "attributes": attributes}


def _truncate_span_value(value: Json) -> Json:
    return value[:SHORT_CHARS] if isinstance(value, str) else value


BATCH_SPANS = 1000
"""Spans in one transaction: limits memory, and the loss when killed."""
PLACES_MAX = 20
"""Places listed for each kind of repair; all are counted."""
WAITING_MAX = 200_000
"""Missing parents tracked at a time; further ones are not followed."""


def import_otlp(workspace: Workspace, paths: Sequence[Path], *, texts: bool = False) -> ImportOtlpReport:
    """Store every new span of the files; prompts, answers and other texts only with ``texts``."""
    for path in paths:
        if not path.is_file():
            raise InputError(f"cannot find '{path}'", hint="pass files of OpenTelemetry spans")
    with workspace.writing() as store:
        importing = _OtlpImport(workspace, store, texts)
        workspace.progress.start_bytes("importing spans", sum(path.stat().st_size for path in paths))
        for path in paths:
            importing.file(path)
        importing.end()
    return importing.report([str(path) for path in paths])


class OtlpRepairs(Struct):
    """The repairs: how often, and where first."""

    counts: Counter[OtlpRepair] = field(default_factory=Counter)
    places: dict[OtlpRepair, list[SpanPlace]] = field(default_factory=dict)

    def add(self, code: OtlpRepair, place: SpanPlace, count: int = 1) -> None:
        """Count a repair, or several at one place."""
        self.counts[code] += count
        places = self.places.setdefault(code, [])
        if len(places) < PLACES_MAX:
            places.append(place)

    @property
    def reports(self) -> list[SpanRepairReport]:
        """Return all repairs as reports show them."""
        return [
            SpanRepairReport(code.label, code.value, self.counts[code], self.places[code])
            for code in OtlpRepair
            if self.counts[code]
        ]


class _Span(Struct, frozen=True):
    """A span to be written."""

    arrival: Arrival
    file: str
    line: int | None
    execution: str
    id: str
    parent: str | None

    @property
    def place(self) -> SpanPlace:
        """Return where the span was found."""
        return SpanPlace(self.file, self.line, f"{self.execution}:{self.id}")

    @property
    def name(self) -> tuple[str, str]:
        return self.execution, self.id


class _MissingParent(Struct):
    """A missing parent: how many spans name it, and where the first does."""

    place: SpanPlace
    count: int = 0


class _OtlpImport:
    """A running import."""

    def __init__(self, workspace: Workspace, store: Store, texts: bool) -> None:
        self._workspace, self._store, self._texts = workspace, store, texts
        own = store.own()
        self._before = None if own is None else store.tables.head(own)
        self._prefilter = SecretPrefilter()
        self._batch: list[_Span] = []
        self._awaited: dict[tuple[str, str], _MissingParent] = {}
        self._repairs = OtlpRepairs()
        self._kinds: Counter[str] = Counter()
        self._spans = self._new = self._known = self._left_out = self._unfollowed = 0

    def file(self, path: Path) -> None:
        """Import the spans of one file."""
        done = 0
        for chunk in iterate_span_chunks(path):
            self._chunk(path, chunk)
            self._workspace.progress.step(chunk.read - done)
            done = chunk.read

    def _chunk(self, path: Path, chunk: SpanChunk) -> None:
        for group in convert_otlp_spans(chunk.spans, texts=self._texts, prefilter=self._prefilter):
            for result in group.results:
                if isinstance(result, OtlpProblem):
                    self._repairs.add(OtlpRepair.UNREADABLE, SpanPlace(str(path), chunk.line, result.what[:300]))
                    continue
                try:
                    self._take(result, str(path), chunk.line, may_have_secret=group.may_have_secret)
                except InputError as error:
                    what = f"span '{str(result.event['span'])[:80]}': {error.message}"
                    self._repairs.add(OtlpRepair.UNREADABLE, SpanPlace(str(path), chunk.line, what[:300]))

    def _take(self, result: SpanEventResult, file: str, line: int | None, *, may_have_secret: bool) -> None:
        event = result.event
        execution, span = str(event["execution"]), str(event["span"])
        parent = event.get("parent")
        arrival = arrival_from_span_event(
            event, lambda: load_redaction_key(str(self._workspace.home)), may_have_secret=may_have_secret
        )
        found = _Span(arrival, file, line, execution, span, None if parent is None else str(parent))
        self._batch.append(found)
        self._spans += 1
        self._left_out += result.left_out
        self._kinds[str(event["span_kind"])] += 1
        for code, _ in result.repairs:
            self._repairs.add(code, found.place)
        if len(self._batch) >= BATCH_SPANS:
            self._write()

    def end(self) -> None:
        """Write the last batch, and report the parents that are missing."""
        self._write()
        for awaited in self._awaited.values():
            self._repairs.add(OtlpRepair.NO_PARENT, awaited.place, awaited.count)

    # --- a batch ------------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        batch, self._batch = self._batch, []
        if not batch:
            return
        self._compare(batch)
        stored = SpanTables(self._store).find_stored_spans(
            {(span.execution, span.parent) for span in batch if span.parent is not None}
        )
        appended = self._store.append([span.arrival for span in batch])
        self._new += len(appended.stored)
        for span in batch:
            self._follow(span, stored)
            stored.add(span.name)

    def _compare(self, batch: Sequence[_Span]) -> None:
        """Count the spans that were stored before, are repeated, or have the id of another content."""
        observations = SpanTables(self._store).find_observations({span.arrival.entry.key for span in batch})
        batch_digests: dict[NaturalKey, set[Digest]] = {}
        for span in batch:
            entry = span.arrival.entry
            stored, recent = observations.get(entry.key, {}), batch_digests.setdefault(entry.key, set())
            if entry.digest in recent or any(map(self._is_new, stored.get(entry.digest, ()))):
                self._repairs.add(OtlpRepair.REPEATED, span.place)
            elif entry.digest in stored:
                self._known += 1
            elif stored or recent:
                self._repairs.add(OtlpRepair.SAME_ID, span.place)
            recent.add(entry.digest)

    def _is_new(self, ref: RecordRef) -> bool:
        """Return whether this import made a record."""
        if self._before is None:
            return ref.store == self._store.own()
        return ref.store == self._before.store and ref.seq > self._before.seq

    def _follow(self, span: _Span, stored: set[tuple[str, str]]) -> None:
        """Check whether a span's parent is stored, and whether other spans waited for this one."""
        late = self._awaited.pop(span.name, None)
        if late is not None:
            self._repairs.add(OtlpRepair.LATE_PARENT, late.place, late.count)
        if span.parent is None or (span.execution, span.parent) in stored:
            return
        if len(self._awaited) >= WAITING_MAX and (span.execution, span.parent) not in self._awaited:
            self._unfollowed += 1
            return
        self._awaited.setdefault((span.execution, span.parent), _MissingParent(span.place)).count += 1

    def report(self, files: list[str]) -> ImportOtlpReport:
        """Return the report of the import."""
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
