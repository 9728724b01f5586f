"""What several records tell of one span becomes one, where they agree; where they do not, all of them stay."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from custody.core.ids import ExecutionId, SpanId
from custody.core.views import ObservedSpan, SpanKind, SpanPhase


def merged_spans(seen: Iterable[ObservedSpan]) -> list[ObservedSpan]:
    """Starts with their ends as wholes, nothing twice, in the order in which each span was first told of.

    A start or an end that a whole already tells of is dropped. Records of one id that cannot be one span stay apart.
    """
    told: dict[tuple[ExecutionId, SpanId], dict[ObservedSpan, None]] = {}
    for observed_span in seen:
        told.setdefault((observed_span.execution, observed_span.id), {})[observed_span] = None
    return [span for records in told.values() for span in _merge_span(list(records))]


def _merge_span(records: list[ObservedSpan]) -> Iterator[ObservedSpan]:
    wholes = [span for span in records if span.phase is SpanPhase.WHOLE]
    yield from wholes
    begun = {(whole.name, whole.kind, whole.started_ns) for whole in wholes}
    over = {(whole.name, whole.kind, whole.ended_ns) for whole in wholes}
    ends: dict[tuple[str, SpanKind], deque[ObservedSpan]] = {}
    for record in records:
        if record.phase is SpanPhase.END and (record.name, record.kind, record.ended_ns) not in over:
            ends.setdefault((record.name, record.kind), deque()).append(record)
    for record in records:
        if record.phase is SpanPhase.START and (record.name, record.kind, record.started_ns) not in begun:
            waiting = ends.get((record.name, record.kind))
            yield _joined(record, waiting.popleft()) if waiting else record
    for waiting in ends.values():
        yield from waiting


def _joined(start: ObservedSpan, end: ObservedSpan) -> ObservedSpan:
    """One span of its two ends: what the end says counts, and what only the start says is not lost."""
    return replace(
        end,
        phase=SpanPhase.WHOLE,
        started_ns=start.started_ns,
        parent=start.parent if start.parent is not None else end.parent,
        links=tuple(dict.fromkeys((*start.links, *end.links))),
        server=end.server if end.server is not None else start.server,
        attributes=tuple(sorted({**dict(start.attributes), **dict(end.attributes)}.items())),
        dropped=max(start.dropped, end.dropped),
        agent=end.agent if end.agent is not None else start.agent,
        session=end.session if end.session is not None else start.session,
    )
