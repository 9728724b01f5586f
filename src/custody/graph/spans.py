"""From records of calls to a forest of spans: whatever comes in, nothing is lost and nothing raises.

Records are starts, ends and whole spans, in any order, repeated, late or torn. What had to be mended is
counted by code. The time is linear in the number of records.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

from custody.graph.model import CallSpan
from custody.graph.span_drafts import SpanDraft, SpanInput, agree, read_span_record

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
