"""From records of calls to a forest of spans: nothing is lost, and only an invalid event raises.

Records are starts, ends and whole spans, in any order, repeated, late or incomplete. Repairs are counted by code. The
time is linear in the number of records.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.views import ObservedSpan, SpanPhase, SpanStatus
from custody.graph.model import CallSpan, EventType, Kind, Status, TraceEvent

# A call as far as its records describe it: what each kind of record says, and whether two describe one call.


class ForeignEvent(Protocol):
    """An event of another program, such as a bridge: the fields that it shares with ``TraceEvent`` count."""

    @property
    def type(self) -> str:
        """One of ``EventType``."""

    @property
    def trace_id(self) -> str:
        """The id of the call."""


SpanInput = TraceEvent | CallSpan | ObservedSpan | ForeignEvent | Mapping[str, Any]
"""Any input: an event of a traced execution, ours or similar, a whole span, or a record of the store."""


class SpanDraft(Struct):
    """A call as far as its records describe it; ``span.name`` counts only if ``is_named``."""

    span: CallSpan
    is_named: bool = True

    @property
    def name(self) -> str | None:
        """Return the name, if a record had it."""
        return self.span.name if self.is_named else None

    def can_merge(self, other: "SpanDraft") -> bool:
        """Return whether both can be one call: no value that both have differs."""
        span, new = self.span, other.span
        return (
            span.kind is new.kind
            and can_span_values_agree(self.name, other.name)
            and can_span_values_agree(span.start_ns, new.start_ns)
            and can_span_values_agree(span.end_ns, new.end_ns)
        )

    def covers(self, other: "SpanDraft") -> bool:
        """Return whether ``other`` adds nothing."""
        span, new = self.span, other.span
        return (
            _covers_span_value(self.name, other.name)
            and _covers_span_value(span.start_ns, new.start_ns)
            and _covers_span_value(span.end_ns, new.end_ns)
            and _covers_span_value(span.parent, new.parent)
            and _covers_span_value(span.session, new.session)
            and (span.began is not None or new.began is None)
            and (span.ended is not None or new.ended is None)
            and (new.status is Status.UNKNOWN or span.status is new.status)
            and set(new.needs) <= set(span.needs)
            and new.attributes.items() <= span.attributes.items()
        )

    def merge(self, other: "SpanDraft") -> None:
        """Add the values of ``other``; a value that both have stays, but a failure always wins."""
        span, new = self.span, other.span
        is_status_new = span.status is Status.UNKNOWN or new.status is Status.FAILED
        self.span = replace(
            span,
            name=span.name if self.is_named else new.name,
            parent=new.parent if span.parent is None else span.parent,
            began=new.began if span.began is None else span.began,
            ended=new.ended if span.ended is None else span.ended,
            start_ns=new.start_ns if span.start_ns is None else span.start_ns,
            end_ns=new.end_ns if span.end_ns is None else span.end_ns,
            session=new.session if span.session is None else span.session,
            abandoned=span.abandoned or new.abandoned,
            status=new.status if is_status_new else span.status,
            needs=tuple(dict.fromkeys((*span.needs, *new.needs))),
            attributes=MappingProxyType({**new.attributes, **span.attributes}) if new.attributes else span.attributes,
        )
        self.is_named = self.is_named or other.is_named


def can_span_values_agree(value: object, other: object) -> bool:
    """Return whether two values can be the same; None is unknown and agrees with any."""
    return value is None or other is None or value == other


def _covers_span_value(known: object, new: object) -> bool:
    return new is None or known == new


_STARTS = frozenset({EventType.CAPABILITY_START, EventType.TOOL_START})
_CAPABILITIES = frozenset({EventType.CAPABILITY_START, EventType.CAPABILITY_END})


def read_span_record(record: SpanInput, place: int) -> SpanDraft:
    """Return the call that one record describes; ``place`` is the record's position in the input."""
    match record:
        case CallSpan():
            return _draft_from_call_span(record, place)
        case ObservedSpan():
            return _draft_from_observed_span(record, place)
        case TraceEvent():
            return _draft_from_trace_event(record, place)
        case _:
            return _draft_from_trace_event(_trace_event_from_foreign(record), place)


_EVENT_FIELDS = TraceEvent.__struct_fields__


def _trace_event_from_foreign(event: ForeignEvent | Mapping[str, Any]) -> TraceEvent:
    """Return another program's event with our fields; its ``success`` becomes the status."""
    names = (*_EVENT_FIELDS, "success")
    values = event if isinstance(event, Mapping) else {name: getattr(event, name, None) for name in names}
    known: dict[str, Any] = {name: values[name] for name in names if values.get(name) is not None}
    success = known.pop("success", None)
    if success is not None:
        known.setdefault("status", Status.OK if success else Status.FAILED)
    try:
        known |= {"type": EventType(known["type"]), "status": Status(known.get("status", Status.UNKNOWN))}
        return TraceEvent(**known)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"an event does not describe a call: {error}") from error


def _draft_from_call_span(span: CallSpan, place: int) -> SpanDraft:
    has_time = span.start_ns is not None or span.end_ns is not None
    return SpanDraft(
        replace(
            span,
            first=place,
            began=place if span.start_ns is not None or span.end_ns is None else None,
            ended=place if span.end_ns is not None or not (has_time or span.abandoned) else None,
            parent=span.parent if span.parent is not None else span.link,
            link=None,
        )
    )


_OUTCOMES = MappingProxyType(
    {SpanStatus.OK: Status.OK, SpanStatus.ERROR: Status.FAILED, SpanStatus.KILLED: Status.FAILED}
)


def _draft_from_observed_span(observed: ObservedSpan, place: int) -> SpanDraft:
    abandoned = observed.status is SpanStatus.ABANDONED
    name = observed.name if observed.server is None else f"{observed.server}:{observed.name}"
    span = CallSpan(
        id=observed.id,
        kind=observed.kind,
        name=name or "",
        execution=observed.execution,
        first=place,
        began=place if observed.phase is not SpanPhase.END or observed.started_ns is not None else None,
        ended=place if observed.phase is not SpanPhase.START and not abandoned else None,
        parent=observed.parent,
        start_ns=observed.started_ns,
        end_ns=None if abandoned else observed.ended_ns,
        status=Status.UNKNOWN if observed.status is None else _OUTCOMES.get(observed.status, Status.UNKNOWN),
        session=observed.session,
        attributes={key: value for key, value in observed.attributes if value is not None},
        abandoned=abandoned,
    )
    return SpanDraft(span, name is not None)


def _draft_from_trace_event(event: TraceEvent, place: int) -> SpanDraft:
    begins = event.type in _STARTS
    span = CallSpan(
        id=event.trace_id,
        kind=Kind.CAPABILITY if event.type in _CAPABILITIES else Kind.TOOL,
        name=event.name or "",
        execution=event.execution,
        first=place,
        began=place if begins else None,
        ended=None if begins else place,
        parent=event.parent_trace_id,
        start_ns=event.at_ns if begins else None,
        end_ns=None if begins else event.at_ns,
        status=event.status,
        session=event.session,
        needs=event.needs,
        attributes=event.attributes,
    )
    return SpanDraft(span, event.name is not None)


SAME_ID_MAX = 8
"""Only the latest calls of an id are compared, so a program that uses one id for everything costs no more."""


class SpanRepair(Enum):
    """The repairs, by code."""

    REPEATED = "repeated"
    """A record added nothing and was skipped."""
    SAME_ID = "same-id"
    """Another call had an id that was taken: it got an id of its own."""
    NO_START = "no-start"
    """A call ended without a start."""
    NO_END = "no-end"
    """A call started without an end: it is abandoned."""
    BACKWARDS = "backwards"
    """A call ended before it started: its end is set to its start."""
    OTHER_PARENT = "other-parent"
    """Two records of a call named different parents: the first counts."""
    NO_PARENT = "no-parent"
    """A parent is missing: it is stored as a link."""
    CYCLE = "cycle"
    """Calls were inside each other in a cycle: the first of them lost its parent."""


class SpanForest(Struct, frozen=True):
    """Spans in the order of their first records; each parent is among them, and no span is inside itself.

    ``children`` has the spans under each parent, by execution and id, in the same order.
    """

    spans: tuple[CallSpan, ...]
    children: Mapping[tuple[str, str], Sequence[CallSpan]]
    repairs: Mapping[SpanRepair, int]

    @property
    def roots(self) -> Iterator[CallSpan]:
        """Yield the spans without a parent."""
        return (span for span in self.spans if span.parent is None)


def build_span_forest(records: Iterable[SpanInput]) -> SpanForest:
    """Build the spans that the records describe, each with its parent if known."""
    repairs: Counter[SpanRepair] = Counter()
    spans = {
        (span.execution, span.id): span for span in _spans_from_drafts(_merge_span_drafts(records, repairs), repairs)
    }
    _unlink_missing_parents(spans, repairs)
    _break_span_cycles(spans, repairs)
    children: dict[tuple[str, str], list[CallSpan]] = {}
    for span in spans.values():
        if span.parent is not None:
            children.setdefault((span.execution, span.parent), []).append(span)
    return SpanForest(tuple(spans.values()), MappingProxyType(children), repairs)


def _merge_span_drafts(records: Iterable[SpanInput], repairs: Counter[SpanRepair]) -> Iterator[SpanDraft]:
    """Yield one draft per call, in the order of their first records."""
    known: dict[tuple[str, str], list[SpanDraft]] = {}
    drafts: list[SpanDraft] = []
    for place, record in enumerate(records):
        new = read_span_record(record, place)
        same = known.setdefault((new.span.execution, new.span.id), [])
        draft = next((draft for draft in same[-SAME_ID_MAX:] if draft.can_merge(new)), None)
        if draft is None:
            same.append(new)
            drafts.append(new)
            continue
        if not can_span_values_agree(draft.span.parent, new.span.parent):
            repairs[SpanRepair.OTHER_PARENT] += 1
        elif draft.covers(new):
            repairs[SpanRepair.REPEATED] += 1
        draft.merge(new)
    _separate_span_ids(known, repairs)
    yield from drafts


def _separate_span_ids(known: Mapping[tuple[str, str], list[SpanDraft]], repairs: Counter[SpanRepair]) -> None:
    """Give each call after the first of an id a unique id."""
    taken: set[tuple[str, str]] = set()
    for (execution, shared), same in known.items():
        number = 1
        for draft in same[1:]:
            number += 1
            while (execution, f"{shared}~{number}") in known or (execution, f"{shared}~{number}") in taken:
                number += 1
            draft.span = replace(draft.span, id=f"{shared}~{number}")
            taken.add((execution, draft.span.id))
            repairs[SpanRepair.SAME_ID] += 1


def _spans_from_drafts(drafts: Iterable[SpanDraft], repairs: Counter[SpanRepair]) -> Iterator[CallSpan]:
    for draft in drafts:
        span = draft.span
        is_backwards = span.start_ns is not None and span.end_ns is not None and span.end_ns < span.start_ns
        if is_backwards:
            repairs[SpanRepair.BACKWARDS] += 1
        if span.began is None:
            repairs[SpanRepair.NO_START] += 1
        if span.ended is None:
            repairs[SpanRepair.NO_END] += 1
        yield replace(
            span,
            name=span.name if draft.is_named else span.id,
            end_ns=span.start_ns if is_backwards else span.end_ns,
            abandoned=span.abandoned or span.ended is None,
        )


Spans = dict[tuple[str, str], CallSpan]


def _unlink_missing_parents(spans: Spans, repairs: Counter[SpanRepair]) -> None:
    """Turn missing parents into links."""
    for key, span in spans.items():
        if span.parent is not None and (span.execution, span.parent) not in spans:
            repairs[SpanRepair.NO_PARENT] += 1
            spans[key] = replace(span, parent=None, link=span.parent)


def _break_span_cycles(spans: Spans, repairs: Counter[SpanRepair]) -> None:
    """Walk up from every span once; a span that is met again on the same walk is in a cycle."""
    safe: set[tuple[str, str]] = set()
    for key in spans:
        walk: dict[tuple[str, str], None] = {}
        at: tuple[str, str] | None = key
        while at is not None and at not in safe and at not in walk:
            walk[at] = None
            at = _find_parent_span_key(spans[at])
        if at is not None and at in walk:
            path = list(walk)
            cycle = path[path.index(at) :]
            first = min(cycle, key=lambda span_key: (spans[span_key].first, span_key))
            repairs[SpanRepair.CYCLE] += 1
            spans[first] = replace(spans[first], parent=None)
        safe.update(walk)


def _find_parent_span_key(span: CallSpan) -> tuple[str, str] | None:
    return None if span.parent is None else (span.execution, span.parent)
