"""Intake of a service: sent items become records, checked, redacted and stored once each."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from enum import Enum
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from custody.capture.claims.traces import event_from_foreign_trace, normalize_foreign_timestamp
from custody.capture.hook.event_home import load_redaction_key
from custody.capture.secret_prefilter import SecretPrefilter
from custody.core.errors import InputError
from custody.core.ids import EventId, NaturalKey, RecordRef
from custody.core.record import Record
from custody.core.wire.arrival import Arrival, arrival_from_json, refuse_host_witness
from custody.core.wire.canonical import Json, dump_canonical_json, parse_json_bytes
from custody.core.wire.event import GENERIC
from custody.core.wire.time import format_timestamp
from custody.graph.otlp.import_ import arrival_from_span_event, convert_otlp_spans
from custody.graph.otlp.json import RESOURCES, find_otlp_field, parse_otlp_spans
from custody.graph.otlp.protobuf import parse_otlp_protobuf
from custody.graph.wire.otlp_span import OBJECT_BYTES_MAX, OtlpProblem
from custody.intake.record import may_any_event_have_secret, redact_event_payload
from custody.server.queries import PageTables
from custody.server.wire.service import parse_conversation_body
from custody.store import Store, split_row_batches
from custody.workspace.workspace import Workspace

ITEMS_MAX = 1000
"""Maximum items in one batch, which is committed together."""
LOOK_ITEMS = 50
"""Items that are searched for secrets together: if there is none, as mostly, each one is not searched."""
BODY_BYTES_MAX = 32 * 1024 * 1024
"""Maximum unpacked size of a body; an event in it has at most 16 MiB."""
GENERIC_KINDS = frozenset(str(event.__struct_config__.tag) for event in GENERIC)
_NAME_DIGITS = 32


class RejectedItem(Struct, frozen=True):
    """A sent item that cannot be stored, with the reason."""

    why: str


Item = tuple[Arrival, ...] | RejectedItem
"""A sent item: its records, or why it has none."""


class SentItems(Struct, frozen=True):
    """The items of one request; ``single`` if it was not a list."""

    items: tuple[Item, ...]
    single: bool


class Intake(Struct, frozen=True, dict=True):
    """Parses the items of one request to a project."""

    workspace: Workspace
    may_have_secret: bool = True
    """Whether the items are searched for secrets: not where a search of all together found none."""

    def read(self, kind: str, data: bytes) -> SentItems:
        """Parse a body with one trace, link, conversation, span or event, or a list of them."""
        value = parse_json_bytes(data, bytes_max=BODY_BYTES_MAX)
        take = TAKES[kind]
        if not isinstance(value, list):
            return SentItems((take(self, value),), single=True)
        if len(value) > ITEMS_MAX:
            raise InputError(
                f"a batch of {len(value):,} items is over the maximum of {ITEMS_MAX:,}", hint="send several requests"
            )
        return SentItems(tuple(self._read_batch(take, value)), single=False)

    def otlp(self, data: bytes, *, binary: bool) -> Iterator[Item]:
        """Yield the spans of an OTLP request, without prompts and answers."""
        spans = parse_otlp_protobuf(data) if binary else parse_otlp_spans(_parse_otlp_request_body(data))
        for group in convert_otlp_spans(spans, texts=False):
            for result in group.results:
                if isinstance(result, OtlpProblem):
                    yield RejectedItem(result.what)
                    continue
                try:
                    yield (arrival_from_span_event(result.event, self._key, may_have_secret=group.may_have_secret),)
                except InputError as error:
                    yield RejectedItem(error.message)

    def _read_batch(self, take: "Take", values: Sequence[Json]) -> Iterator[Item]:
        prefilter = SecretPrefilter()
        for group in split_row_batches(values, LOOK_ITEMS):
            sent_objects = [value for value in group if isinstance(value, dict)]
            may_have_secret = may_any_event_have_secret(sent_objects, prefilter)
            reader = self if may_have_secret else replace(self, may_have_secret=False)
            yield from (reader.take_item(take, value) for value in group)

    def take_item(self, take: "Take", value: Json) -> Item:
        """Parse an item of a batch; one that cannot be stored does not affect the others."""
        try:
            return take(self, value)
        except InputError as error:
            return RejectedItem(error.message)

    def trace(self, value: Json) -> Item:
        """Parse a trace in the shape of Agent Trace or of document 000."""
        event = event_from_foreign_trace(value, worktree=self._worktree, now=self._now)
        if event["kind"] != "trace":
            raise InputError("expected a trace, got a commit link", hint="send it to /api/v1/commit-links")
        _validate_trace_body(value)
        return (self._make_trace_arrival(event),)

    def link(self, value: Json) -> Item:
        """Parse a commit with the traces that it was made from."""
        event = event_from_foreign_trace(value, worktree=self._worktree, now=self._now)
        if event["kind"] != "trace_link":
            raise InputError("expected a commit link, got a trace", hint="send it to /api/v1/traces")
        _validate_commit_link_body(value, event)
        return (self._make_trace_arrival(event),)

    def event(self, value: Json) -> Item:
        """Parse a generic event."""
        kind = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in GENERIC_KINDS:
            raise InputError(
                f"unknown kind of generic event '{str(kind)[:80]}'",
                hint="'custody push' sends what hooks record",
            )
        return (self._arrival(value),)

    def span(self, value: Json) -> Item:
        """Parse a generic event that is a span."""
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind != "span":
            raise InputError(f"expected a span, got '{str(kind)[:80]}'", hint="send other events to /api/v1/evidence")
        return (self._arrival(value),)

    def conversation(self, value: Json) -> Item:
        """Parse a session and its prompts."""
        conversation = parse_conversation_body(value)
        bound: dict[str, Json] = {"custody": 1, "agent": conversation.agent, "session": conversation.session}
        about: dict[str, Json] = {
            "at": conversation.at,
            "ended_at": conversation.ended_at,
            "model": conversation.model,
            "operator": conversation.operator,
            "parent": conversation.parent,
        }
        # The id is a digest of the content, since more may become known about a session.
        event_id = f"conversation-{sha256(dump_canonical_json(about)).hexdigest()[:_NAME_DIGITS]}"
        events: list[dict[str, Json]] = [{**bound, **about, "kind": "session", "id": event_id}]
        events += [
            {**bound, "kind": "prompt", "id": prompt.id, "at": prompt.at, "text": prompt.text}
            for prompt in conversation.prompts
        ]
        return tuple(map(self._arrival, events))

    def _make_trace_arrival(self, event: dict[str, Json]) -> Arrival:
        # The same id as in ``custody import``, so that a trace that comes both ways is stored once.
        return arrival_from_json(_event_id_from_body(event["payload"]), self._redact(event))

    def _arrival(self, event: Json) -> Arrival:
        if not isinstance(event, dict):
            raise InputError("an event must be a JSON object")
        refuse_host_witness(event)
        return arrival_from_json(_event_id_from_body(event), self._redact(event))

    def _redact(self, event: dict[str, Json]) -> dict[str, Json]:
        return redact_event_payload(event, self._key) if self.may_have_secret else event

    @property
    def _now(self) -> str:
        return format_timestamp(self.workspace.now_ns())

    @cached_property
    def _worktree(self) -> str | None:
        """The folder that absolute paths are relative to; None for a team database."""
        if self.workspace.database is not None or self.workspace.home is None:
            return None
        tree = self.workspace.repository.work_tree
        return None if tree is None else str(tree)

    @cached_property
    def _secret(self) -> bytes:
        """The redaction key of this machine; without a writable home, a temporary one."""
        try:
            return (
                load_redaction_key(str(self.workspace.home))
                if self.workspace.home is not None
                else self.workspace.token().encode()
            )
        except OSError:
            return self.workspace.token().encode()  # the home is not writable

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
"""The parser of each list, by the last part of its path."""


def _validate_trace_body(value: Json) -> None:
    """Reject what ``custody import`` ignores in files of other tools: a caller can fix it."""
    files = value.get("files") if isinstance(value, dict) else None
    if isinstance(files, list) and not all(isinstance(file, dict) for file in files):
        raise InputError("'files' of a trace must be a list of objects")
    if isinstance(value, dict) and "timestamp" in value:
        _validate_sent_timestamp("timestamp", value["timestamp"])


def _validate_commit_link_body(value: Json, event: dict[str, Json]) -> None:
    link = value if isinstance(value, dict) else {}
    traces, parsed = link.get("trace_ids"), event["traces"]
    if not isinstance(traces, list) or traces != parsed:
        raise InputError("'trace_ids' of a commit link must be a list of names")
    for name in ("committed_at", "created_at", "timestamp"):
        if name in link:
            _validate_sent_timestamp(name, link[name])


def _validate_sent_timestamp(name: str, timestamp: Json) -> None:
    """Reject what ``custody import`` takes for an absent time, such as an empty text."""
    if not isinstance(timestamp, str) or not timestamp:
        raise InputError(f"'{name}' must be an RFC 3339 timestamp", hint="leave it out if the time is unknown")
    normalize_foreign_timestamp(timestamp)


def _parse_otlp_request_body(data: bytes) -> Json:
    """Parse an OTLP request; other formats of spans are accepted in files only."""
    value = parse_json_bytes(data, bytes_max=OBJECT_BYTES_MAX)
    resources = find_otlp_field(value, RESOURCES) if isinstance(value, dict) else None
    if not isinstance(resources, list) or not all(isinstance(resource, dict) for resource in resources):
        raise InputError("not an ExportTraceServiceRequest: 'resourceSpans' must be a list of objects")
    return value


def _event_id_from_body(value: Json) -> EventId:
    return EventId(f"import-{sha256(dump_canonical_json(value)).hexdigest()[:_NAME_DIGITS]}")


# Arrivals are stored once each: the same again is known, the same key with other content is a conflict.


class IngestFate(Enum):
    """The result of storing an arrival."""

    NEW = "new"
    KNOWN = "known"
    CONFLICT = "conflict"


class IngestResult(Struct, frozen=True):
    """The fate of an arrival, and its record or the record that it conflicts with."""

    fate: IngestFate
    event: EventId
    key: NaturalKey
    record: RecordRef


class StoreWriter(Struct):
    """The store of a workspace, held open between batches by the one thread that writes to it."""

    workspace: Workspace
    _stack: ExitStack = field(default_factory=ExitStack)
    _store: Store | None = None

    @property
    def is_open(self) -> bool:
        """Whether the store is open."""
        return self._store is not None

    def open(self) -> Store:
        """Return the store, opened if needed; a ``StoreError`` if that fails."""
        if self._store is None:
            self._store = self._stack.enter_context(self.workspace.writing())
        return self._store

    def keep(self, arrivals: Sequence[Arrival]) -> list[IngestResult]:
        """See :func:`commit_request_arrivals`."""
        return commit_request_arrivals(self.open(), arrivals)

    def close(self) -> None:
        """Close the store; the next batch opens it again."""
        self._store = None
        self._stack.close()


def commit_request_arrivals(store: Store, arrivals: Sequence[Arrival]) -> list[IngestResult]:
    """Commit new arrivals in one transaction, and return the result of each."""
    lookup = _StoreLookup(store, arrivals)
    done = store.append_from(lookup.select_new_arrivals)
    return [
        IngestResult(
            fate, arrival.entry.event, arrival.entry.key, done.stored[target] if isinstance(target, str) else target
        )
        for arrival, (fate, target) in zip(arrivals, lookup.fates, strict=True)
    ]


class _StoreLookup(Struct):
    """The records of a store that match some arrivals, read while the store is locked."""

    store: Store
    arrivals: Sequence[Arrival]
    fates: list[tuple[IngestFate, RecordRef | EventId]] = field(default_factory=list)
    """For each arrival: an existing record, or the event of this batch that becomes one."""

    def select_new_arrivals(self) -> list[Arrival]:
        """Return the arrivals to append."""
        tables = PageTables(self.store)
        by_event = {
            r.entry.event: r for r in tables.list_records_by_event({arrival.entry.event for arrival in self.arrivals})
        }
        by_key = _group_conflict_candidates(
            tables.list_records_by_key({arrival.entry.key for arrival in self.arrivals})
        )
        coming: dict[NaturalKey, Arrival] = {}
        known: list[Arrival] = []
        self.fates.clear()
        for arrival in self.arrivals:
            existing = _find_conflict_candidate(arrival, by_event, by_key)
            if existing is not None:
                self.fates.append((_classify_request_arrival(arrival, existing), existing.ref))
                if existing.entry.digest == arrival.entry.digest:
                    known.append(arrival)  # restores bytes that another store had erased
            elif (first := coming.setdefault(arrival.entry.key, arrival)) is arrival:
                self.fates.append((IngestFate.NEW, arrival.entry.event))
            else:
                same = first.entry.event == arrival.entry.event or first.entry.digest == arrival.entry.digest
                self.fates.append((IngestFate.KNOWN if same else IngestFate.CONFLICT, first.entry.event))
        return [*known, *coming.values()]


def _group_conflict_candidates(records: Iterable[Record]) -> dict[NaturalKey, list[Record]]:
    groups: dict[NaturalKey, list[Record]] = {}
    for record in records:
        groups.setdefault(record.entry.key, []).append(record)
    return groups


def _find_conflict_candidate(
    arrival: Arrival, by_event: dict[EventId, Record], by_key: dict[NaturalKey, list[Record]]
) -> Record | None:
    """Return the record of an arrival; else the first one with its key."""
    candidates = sorted(by_key.get(arrival.entry.key, ()), key=lambda record: record.ref)
    same = [record for record in candidates if record.entry.digest == arrival.entry.digest]
    return by_event.get(arrival.entry.event) or next(iter(same or candidates), None)


def _classify_request_arrival(arrival: Arrival, record: Record) -> IngestFate:
    same = record.entry.event == arrival.entry.event or record.entry.digest == arrival.entry.digest
    return IngestFate.KNOWN if same else IngestFate.CONFLICT
