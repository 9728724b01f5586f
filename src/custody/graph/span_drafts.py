"""A span as far as its records have told it: what each kind of record says, and whether two tell of one call."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Protocol

from custody.core.errors import InputError
from custody.core.views import ObservedSpan, SpanPhase, SpanStatus
from custody.graph.model import CallSpan, EventType, Kind, Plain, Status, TraceEvent


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
