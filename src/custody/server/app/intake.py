"""What a service receives becomes records: checked, without secrets, stored once each."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType

from custody.capture.claims.traces import event_of
from custody.capture.hook.event_home import key_of
from custody.core.errors import InputError
from custody.core.ids import EventId, NaturalKey, RecordRef
from custody.core.record import Record
from custody.core.wire.arrival import Arrival, arrival_from
from custody.core.wire.canonical import Json, dump, parse
from custody.core.wire.event import GENERIC
from custody.core.wire.time import text_from
from custody.graph.otlp.event import event_of as span_event
from custody.graph.otlp.import_ import span_arrival
from custody.graph.otlp.json import RESOURCES, first_of, spans_in
from custody.graph.otlp.protobuf import proto_spans
from custody.graph.wire.otlp_span import OBJECT_BYTES_MAX, OtlpProblem
from custody.intake.record import redact_event_payload
from custody.server.queries import PageTables
from custody.server.wire.service import conversation_from
from custody.store import Store
from custody.workspace.workspace import Workspace

ITEMS_MAX = 1000
"""Things in one batch: they are committed together."""
BODY_BYTES_MAX = 32 * 1024 * 1024
"""What is sent at once, unpacked; an event in it has at most 16 MiB."""
GENERIC_KINDS = frozenset(str(event.__struct_config__.tag) for event in GENERIC)
_NAME_DIGITS = 32


@dataclass(frozen=True, slots=True)
class RejectedItem:
    """Something that was sent and cannot be kept, and why."""

    why: str


Item = tuple[Arrival, ...] | RejectedItem
"""One thing that was sent: the records that it makes, or why it makes none."""


@dataclass(frozen=True, slots=True)
class SentItems:
    """What one request brought; ``single`` when it was no list."""

    items: tuple[Item, ...]
    single: bool


@dataclass(frozen=True)
class Intake:
    """Reads what is sent to one project."""

    workspace: Workspace

    def read(self, what: str, data: bytes) -> SentItems:
        """The traces, links, conversations, spans or events that a body holds: one, or a list of them."""
        value = parse(data, bytes_max=BODY_BYTES_MAX)
        take = TAKES[what]
        if not isinstance(value, list):
            return SentItems((take(self, value),), single=True)
        if len(value) > ITEMS_MAX:
            raise InputError(
                f"a batch of {len(value):,} is over the limit of {ITEMS_MAX:,}", hint="send it in several requests"
            )
        return SentItems(tuple(self._item(take, sent_value) for sent_value in value), single=False)

    def otlp(self, data: bytes, *, binary: bool) -> Iterator[Item]:
        """The spans of an OTLP request, one by one, without prompts and answers."""
        for span in proto_spans(data) if binary else spans_in(_request(data)):
            if isinstance(span, OtlpProblem):
                yield RejectedItem(span.what)
                continue
            try:
                yield (span_arrival(span_event(span, texts=False).event, self._key),)
            except InputError as error:
                yield RejectedItem(error.message)

    def _item(self, take: "Take", value: Json) -> Item:
        try:
            return take(self, value)
        except InputError as error:
            return RejectedItem(error.message)

    def trace(self, value: Json) -> Item:
        """A trace in the shape of Agent Trace or of document 000."""
        event = event_of(value, worktree=self._worktree, now=self._now)
        if event["kind"] != "trace":
            raise InputError("a commit link is no trace", hint="send it to /api/v1/commit-links")
        _check_files(value)
        return (self._traced(event),)

    def link(self, value: Json) -> Item:
        """A commit with the traces that it was made from."""
        event = event_of(value, worktree=self._worktree, now=self._now)
        if event["kind"] != "trace_link":
            raise InputError("a trace is no commit link", hint="send it to /api/v1/traces")
        _check_link(value, event)
        return (self._traced(event),)

    def event(self, value: Json) -> Item:
        """A generic event, as any recorder may say it."""
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind not in GENERIC_KINDS:
            raise InputError(
                f"'{str(kind)[:80]}' is no kind of generic event",
                hint="what hooks record reaches a service by 'custody push'",
            )
        return (self._arrival(value),)

    def span(self, value: Json) -> Item:
        """A generic event that is a span."""
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind != "span":
            raise InputError(f"'{str(kind)[:80]}' is no span", hint="send other events to /api/v1/evidence")
        return (self._arrival(value),)

    def conversation(self, value: Json) -> Item:
        """A session and what was asked in it."""
        said = conversation_from(value)
        bound: dict[str, Json] = {"custody": 1, "agent": said.agent, "session": said.session}
        about: dict[str, Json] = {
            "at": said.at,
            "ended_at": said.ended_at,
            "model": said.model,
            "operator": said.operator,
            "parent": said.parent,
        }
        # Named by what it says, since more may become known of a session.
        name = f"conversation-{sha256(dump(about)).hexdigest()[:_NAME_DIGITS]}"
        events: list[dict[str, Json]] = [{**bound, **about, "kind": "session", "id": name}]
        events += [
            {**bound, "kind": "prompt", "id": prompt.id, "at": prompt.at, "text": prompt.text}
            for prompt in said.prompts
        ]
        return tuple(map(self._arrival, events))

    def _traced(self, event: dict[str, Json]) -> Arrival:
        # Named as ``custody import`` names it, so that a trace is known again whichever way it comes.
        return arrival_from(_named(event["payload"]), redact_event_payload(event, self._key))

    def _arrival(self, event: Json) -> Arrival:
        if not isinstance(event, dict):
            raise InputError("an event is a JSON object")
        return arrival_from(_named(event), redact_event_payload(event, self._key))

    @property
    def _now(self) -> str:
        return text_from(self.workspace.now_ns())

    @cached_property
    def _worktree(self) -> str | None:
        """Below which folder absolute paths are this repository's; a team's database is of no one folder."""
        if self.workspace.database is not None or self.workspace.home is None:
            return None
        tree = self.workspace.repository.work_tree
        return None if tree is None else str(tree)

    @cached_property
    def _secret(self) -> bytes:
        """The machine's own key; where none can be kept, one that is forgotten."""
        try:
            return (
                key_of(str(self.workspace.home)) if self.workspace.home is not None else self.workspace.token().encode()
            )
        except OSError:
            return self.workspace.token().encode()  # a home that cannot be written: then nothing is kept there either

    def _key(self) -> bytes:
        return self._secret


Take = Callable[[Intake, Json], Item]

TAKES: Mapping[str, Take] = MappingProxyType(
    {
        "traces": Intake.trace,
        "commit-links": Intake.link,
        "conversations": Intake.conversation,
        "spans": Intake.span,
        "evidence": Intake.event,
    }
)
"""What each kind of list takes, by the last word of its path."""


def _check_files(value: Json) -> None:
    """What ``custody import`` passes over in files of other tools, a caller who can mend it is told."""
    files = value.get("files") if isinstance(value, dict) else None
    if isinstance(files, list) and not all(isinstance(file, dict) for file in files):
        raise InputError("'files' of a trace is a list of objects")


def _check_link(value: Json, event: dict[str, Json]) -> None:
    told = value if isinstance(value, dict) else {}
    traces, kept = told.get("trace_ids"), event["traces"]
    if isinstance(traces, list) and traces != kept:
        raise InputError("'trace_ids' of a commit link is a list of names")
    if not isinstance(traces, list | str) or (isinstance(traces, str) and not kept):
        raise InputError("'trace_ids' of a commit link is a list of names")
    moments = [told[name] for name in ("committed_at", "created_at", "timestamp") if name in told]
    if not all(isinstance(moment, str) for moment in moments):
        raise InputError("when a commit was made is written in RFC 3339")


def _request(data: bytes) -> Json:
    """An OTLP request; the other shapes in which spans are written down are for files."""
    value = parse(data, bytes_max=OBJECT_BYTES_MAX)
    resources = first_of(value, RESOURCES) if isinstance(value, dict) else None
    if not isinstance(resources, list) or not all(isinstance(resource, dict) for resource in resources):
        raise InputError("no ExportTraceServiceRequest: 'resourceSpans' is no list of objects")
    return value


def _named(value: Json) -> EventId:
    return EventId(f"import-{sha256(dump(value)).hexdigest()[:_NAME_DIGITS]}")


# Arrivals are kept once each: the same again is known, the same key with another content is in conflict.
# This file is the only one that says what a conflict is.


class IngestFate(Enum):
    """What became of an arrival."""

    NEW = "new"
    KNOWN = "known"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class IngestResult:
    """An arrival's fate, and the record that it is, that it was already, or that it is in conflict with."""

    fate: IngestFate
    event: EventId
    key: NaturalKey
    record: RecordRef


@dataclass(slots=True)
class StoreWriter:
    """A workspace's store, held open by the one thread that writes to it from one batch to the next."""

    workspace: Workspace
    _stack: ExitStack = field(default_factory=ExitStack)
    _store: Store | None = None

    @property
    def is_open(self) -> bool:
        """Whether a store is held."""
        return self._store is not None

    def open(self) -> Store:
        """The store, opened if it is not; a ``StoreError`` when it cannot be had."""
        if self._store is None:
            self._store = self._stack.enter_context(self.workspace.writing())
        return self._store

    def keep(self, arrivals: Sequence[Arrival]) -> list[IngestResult]:
        """See :func:`keep`."""
        return keep(self.open(), arrivals)

    def close(self) -> None:
        """Let go of the store; the next batch opens it again."""
        self._store = None
        self._stack.close()


def keep(store: Store, arrivals: Sequence[Arrival]) -> list[IngestResult]:
    """Commit what is new in one transaction, and say of each arrival what it came to; nothing else is written."""
    looking = _StoreLookup(store, arrivals)
    done = store.append_what(looking.look)
    made = {record.entry.event: record for record in done.made}
    return [
        IngestResult(fate, arrival.entry.event, arrival.entry.key, made[found].ref if isinstance(found, str) else found)
        for arrival, (fate, found) in zip(arrivals, looking.fates, strict=True)
    ]


@dataclass(slots=True)
class _StoreLookup:
    """What a store has of some arrivals, looked at while nobody else writes."""

    store: Store
    arrivals: Sequence[Arrival]
    fates: list[tuple[IngestFate, RecordRef | EventId]] = field(default_factory=list)
    """Of each arrival: a record that is there, or the event of this batch that will be one."""

    def look(self) -> list[Arrival]:
        """What to append."""
        tables = PageTables(self.store)
        by_event = {r.entry.event: r for r in tables.with_events({arrival.entry.event for arrival in self.arrivals})}
        by_key = _by_key(tables.with_keys({arrival.entry.key for arrival in self.arrivals}))
        coming: dict[NaturalKey, Arrival] = {}
        known: list[Arrival] = []
        self.fates.clear()
        for arrival in self.arrivals:
            there = _found(arrival, by_event, by_key)
            if there is not None:
                self.fates.append((_fate(arrival, there), there.ref))
                if there.entry.digest == arrival.entry.digest:
                    known.append(arrival)  # where another store had erased its bytes, they come back
            elif (first := coming.setdefault(arrival.entry.key, arrival)) is arrival:
                self.fates.append((IngestFate.NEW, arrival.entry.event))
            else:
                same = first.entry.event == arrival.entry.event or first.entry.digest == arrival.entry.digest
                self.fates.append((IngestFate.KNOWN if same else IngestFate.CONFLICT, first.entry.event))
        return [*known, *coming.values()]


def _by_key(records: Iterable[Record]) -> dict[NaturalKey, list[Record]]:
    found: dict[NaturalKey, list[Record]] = {}
    for record in records:
        found.setdefault(record.entry.key, []).append(record)
    return found


def _found(arrival: Arrival, by_event: dict[EventId, Record], by_key: dict[NaturalKey, list[Record]]) -> Record | None:
    """The record that an arrival is already; else the first one that has its key."""
    there = sorted(by_key.get(arrival.entry.key, ()), key=lambda record: record.ref)
    same = [record for record in there if record.entry.digest == arrival.entry.digest]
    return by_event.get(arrival.entry.event) or next(iter(same or there), None)


def _fate(arrival: Arrival, there: Record) -> IngestFate:
    same = there.entry.event == arrival.entry.event or there.entry.digest == arrival.entry.digest
    return IngestFate.KNOWN if same else IngestFate.CONFLICT
