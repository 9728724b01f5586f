"""From records of calls to a forest of spans: whatever comes in, nothing is lost and nothing raises.

Records are starts, ends and whole spans, in any order, repeated, late or torn. What had to be mended is
counted by code. The time is linear in the number of records.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Protocol

from custody.core.errors import InputError
from custody.core.views import ObservedSpan, SpanPhase, SpanStatus
from custody.graph.model import CallSpan, EventType, Kind, Plain, Status, TraceEvent

# A span as far as its records have told it: what each kind of record says, and whether two tell of one call.


class ForeignEvent(Protocol):
    """An event of somebody else, such as a bridge's: the fields of ours that it has count."""

    @property
    def type(self) -> str:
        """One of ``EventType``."""

    @property
    def trace_id(self) -> str:
        """The id of the call."""


SpanInput = TraceEvent | CallSpan | ObservedSpan | ForeignEvent | Mapping[str, Any]
"""What can be read: an event of a traced execution, ours or like it, a whole span, or a record of the store."""


@dataclass(slots=True)
class SpanDraft:
    """A span as far as its records have told it."""

    id: str
    kind: Kind
    execution: str
    first: int
    began: int | None
    ended: int | None
    name: str | None
    parent: str | None
    start_ns: int | None
    end_ns: int | None
    status: Status
    session: str | None
    needs: tuple[str, ...]
    attributes: Mapping[str, Plain]
    abandoned: bool = False

    def takes(self, other: "SpanDraft") -> bool:
        """Whether both can be one call: nothing that both know differs."""
        return (
            self.kind is other.kind
            and agree(self.name, other.name)
            and agree(self.start_ns, other.start_ns)
            and agree(self.end_ns, other.end_ns)
        )

    def knows(self, other: "SpanDraft") -> bool:
        """Whether ``other`` would add nothing."""
        return (
            _covers(self.name, other.name)
            and _covers(self.start_ns, other.start_ns)
            and _covers(self.end_ns, other.end_ns)
            and _covers(self.parent, other.parent)
            and _covers(self.session, other.session)
            and (self.began is not None or other.began is None)
            and (self.ended is not None or other.ended is None)
            and (other.status is Status.UNKNOWN or self.status is other.status)
            and set(other.needs) <= set(self.needs)
            and other.attributes.items() <= self.attributes.items()
        )

    def take(self, other: "SpanDraft") -> None:
        """Learn what ``other`` knows; what both know stays as it is, save that a failure is never forgotten."""
        for part in ("name", "parent", "began", "ended", "start_ns", "end_ns", "session"):
            if getattr(self, part) is None:
                setattr(self, part, getattr(other, part))
        self.abandoned |= other.abandoned
        if self.status is Status.UNKNOWN or other.status is Status.FAILED:
            self.status = other.status
        self.needs = tuple(dict.fromkeys((*self.needs, *other.needs)))
        if other.attributes:
            self.attributes = MappingProxyType({**other.attributes, **self.attributes})


def agree(value: object, other: object) -> bool:
    """Whether two values can be the same one, of which either may be unknown."""
    return value is None or other is None or value == other


def _covers(known: object, told: object) -> bool:
    return told is None or known == told


_STARTS = frozenset({EventType.CAPABILITY_START, EventType.TOOL_START})
_CAPABILITIES = frozenset({EventType.CAPABILITY_START, EventType.CAPABILITY_END})


def read_span_record(told: SpanInput, place: int) -> SpanDraft:
    """What one record tells; ``place`` is its own among all records."""
    match told:
        case CallSpan():
            return _of_span(told, place)
        case ObservedSpan():
            return _of_view(told, place)
        case TraceEvent():
            return _of_event(told, place)
        case _:
            return _of_event(_event(told), place)


_OURS = tuple(field.name for field in fields(TraceEvent))


def _event(told: ForeignEvent | Mapping[str, Any]) -> TraceEvent:
    """What somebody else's event says in our fields; ``success`` is another word for how it came out."""
    names = (*_OURS, "success")
    found = told if isinstance(told, Mapping) else {name: getattr(told, name, None) for name in names}
    said: dict[str, Any] = {name: found[name] for name in names if found.get(name) is not None}
    success = said.pop("success", None)
    if success is not None:
        said.setdefault("status", Status.OK if success else Status.FAILED)
    try:
        said |= {"type": EventType(said["type"]), "status": Status(said.get("status", Status.UNKNOWN))}
        return TraceEvent(**said)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"an event tells of no call: {error}") from error


def _of_span(span: CallSpan, place: int) -> SpanDraft:
    timed = span.start_ns is not None or span.end_ns is not None
    return SpanDraft(
        id=span.id,
        kind=span.kind,
        execution=span.execution,
        first=place,
        began=place if span.start_ns is not None or span.end_ns is None else None,
        ended=place if span.end_ns is not None or not (timed or span.abandoned) else None,
        name=span.name,
        parent=span.parent if span.parent is not None else span.link,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        status=span.status,
        session=span.session,
        needs=span.needs,
        attributes=span.attributes,
        abandoned=span.abandoned,
    )


_OUTCOMES = MappingProxyType(
    {SpanStatus.OK: Status.OK, SpanStatus.ERROR: Status.FAILED, SpanStatus.KILLED: Status.FAILED}
)


def _of_view(seen: ObservedSpan, place: int) -> SpanDraft:
    abandoned = seen.status is SpanStatus.ABANDONED
    return SpanDraft(
        id=seen.id,
        kind=seen.kind,
        execution=seen.execution,
        first=place,
        began=place if seen.phase is not SpanPhase.END or seen.started_ns is not None else None,
        ended=place if seen.phase is not SpanPhase.START and not abandoned else None,
        name=seen.name if seen.server is None else f"{seen.server}:{seen.name}",
        parent=seen.parent,
        start_ns=seen.started_ns,
        end_ns=None if abandoned else seen.ended_ns,
        status=Status.UNKNOWN if seen.status is None else _OUTCOMES.get(seen.status, Status.UNKNOWN),
        session=seen.session,
        needs=(),
        attributes={name: value for name, value in seen.attributes if value is not None},
        abandoned=abandoned,
    )


def _of_event(event: TraceEvent, place: int) -> SpanDraft:
    begins = event.type in _STARTS
    return SpanDraft(
        id=event.trace_id,
        kind=Kind.CAPABILITY if event.type in _CAPABILITIES else Kind.TOOL,
        execution=event.execution,
        first=place,
        began=place if begins else None,
        ended=None if begins else place,
        name=event.name,
        parent=event.parent_trace_id,
        start_ns=event.at_ns if begins else None,
        end_ns=None if begins else event.at_ns,
        status=event.status,
        session=event.session,
        needs=event.needs,
        attributes=event.attributes,
    )


SAME_ID_MAX = 8
"""Only the latest few calls of an id are compared: a program that uses one id for everything costs no more."""


class SpanRepair(Enum):
    """What had to be mended, by code."""

    REPEATED = "repeated"
    """A record said nothing that was not known: it was passed over."""
    SAME_ID = "same-id"
    """Another call came under an id that was taken: it was given an id of its own."""
    NO_START = "no-start"
    """A call was seen to end, and not to begin."""
    NO_END = "no-end"
    """A call was seen to begin, and not to end: it is abandoned."""
    BACKWARDS = "backwards"
    """A call ended before it began: it is taken to have ended at once."""
    OTHER_PARENT = "other-parent"
    """Two records of a call named different parents: the first counts."""
    NO_PARENT = "no-parent"
    """A parent never came: it is kept as a link."""
    CYCLE = "cycle"
    """Calls were inside each other in a circle: the one that came first is taken out of it."""


@dataclass(frozen=True, slots=True)
class SpanForest:
    """Spans in the order in which they were first heard of; each parent is there, and no span is inside itself.

    ``children`` has the spans under each parent, by execution and id, in the same order.
    """

    spans: tuple[CallSpan, ...]
    children: Mapping[tuple[str, str], Sequence[CallSpan]]
    repairs: Mapping[SpanRepair, int]

    @property
    def roots(self) -> Iterator[CallSpan]:
        """Spans that are inside no other."""
        return (span for span in self.spans if span.parent is None)


def forest_of(records: Iterable[SpanInput]) -> SpanForest:
    """The spans that the records tell of, with each one's parent where it is known."""
    repairs: Counter[SpanRepair] = Counter()
    spans = {(span.execution, span.id): span for span in _finished(_drafts(records, repairs), repairs)}
    _without_strangers(spans, repairs)
    _without_cycles(spans, repairs)
    children: dict[tuple[str, str], list[CallSpan]] = {}
    for span in spans.values():
        if span.parent is not None:
            children.setdefault((span.execution, span.parent), []).append(span)
    return SpanForest(tuple(spans.values()), MappingProxyType(children), repairs)


def _drafts(records: Iterable[SpanInput], repairs: Counter[SpanRepair]) -> Iterator[SpanDraft]:
    """One draft for each call, in the order in which they were first heard of."""
    known: dict[tuple[str, str], list[SpanDraft]] = {}
    drafts: list[SpanDraft] = []
    for place, record in enumerate(records):
        told = read_span_record(record, place)
        same = known.setdefault((told.execution, told.id), [])
        mine = next((draft for draft in same[-SAME_ID_MAX:] if draft.takes(told)), None)
        if mine is None:
            same.append(told)
            drafts.append(told)
            continue
        if not agree(mine.parent, told.parent):
            repairs[SpanRepair.OTHER_PARENT] += 1
        elif mine.knows(told):
            repairs[SpanRepair.REPEATED] += 1
        mine.take(told)
    _name_apart(known, repairs)
    yield from drafts


def _name_apart(known: Mapping[tuple[str, str], list[SpanDraft]], repairs: Counter[SpanRepair]) -> None:
    """Give each call beyond the first of an id an id that nobody has."""
    taken: set[tuple[str, str]] = set()
    for (execution, shared), same in known.items():
        number = 1
        for draft in same[1:]:
            number += 1
            while (execution, f"{shared}~{number}") in known or (execution, f"{shared}~{number}") in taken:
                number += 1
            draft.id = f"{shared}~{number}"
            taken.add((execution, draft.id))
            repairs[SpanRepair.SAME_ID] += 1


def _finished(drafts: Iterable[SpanDraft], repairs: Counter[SpanRepair]) -> Iterator[CallSpan]:
    for draft in drafts:
        end_ns = draft.end_ns
        if draft.start_ns is not None and end_ns is not None and end_ns < draft.start_ns:
            repairs[SpanRepair.BACKWARDS] += 1
            end_ns = draft.start_ns
        if draft.began is None:
            repairs[SpanRepair.NO_START] += 1
        if draft.ended is None:
            repairs[SpanRepair.NO_END] += 1
        yield CallSpan(
            id=draft.id,
            kind=draft.kind,
            name=draft.id if draft.name is None else draft.name,
            parent=draft.parent,
            start_ns=draft.start_ns,
            end_ns=end_ns,
            status=draft.status,
            execution=draft.execution,
            session=draft.session,
            needs=draft.needs,
            attributes=draft.attributes,
            abandoned=draft.abandoned or draft.ended is None,
            first=draft.first,
            began=draft.began,
            ended=draft.ended,
        )


Spans = dict[tuple[str, str], CallSpan]


def _without_strangers(spans: Spans, repairs: Counter[SpanRepair]) -> None:
    """Make a parent that never came a link."""
    for key, span in spans.items():
        if span.parent is not None and (span.execution, span.parent) not in spans:
            repairs[SpanRepair.NO_PARENT] += 1
            spans[key] = replace(span, parent=None, link=span.parent)


def _without_cycles(spans: Spans, repairs: Counter[SpanRepair]) -> None:
    """Go up from every span once; whoever is met again on the same way up is in a circle."""
    safe: set[tuple[str, str]] = set()
    for key in spans:
        way: dict[tuple[str, str], None] = {}
        at: tuple[str, str] | None = key
        while at is not None and at not in safe and at not in way:
            way[at] = None
            at = _above(spans[at])
        if at is not None and at in way:
            ways = list(way)
            circle = ways[ways.index(at) :]
            first = min(circle, key=lambda span_key: (spans[span_key].first, span_key))
            repairs[SpanRepair.CYCLE] += 1
            spans[first] = replace(spans[first], parent=None)
        safe.update(way)


def _above(span: CallSpan) -> tuple[str, str] | None:
    return None if span.parent is None else (span.execution, span.parent)
