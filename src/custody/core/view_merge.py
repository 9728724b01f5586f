"""Several observations of one thing merged field by field, so that their order never matters."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce

from custody.core.ids import AgentName, CallId, ExecutionId, SessionId, SpanId
from custody.core.views import CallStatus, ObservedSpan, Session, SpanKind, SpanPhase, ToolCall

_STANDING = {CallStatus.RUNNING: 0, CallStatus.ABANDONED: 1, CallStatus.OK: 2, CallStatus.FAILED: 3}


def merge_calls(seen: Iterable[ToolCall]) -> list[ToolCall]:
    """One call per (agent, session, call id): the earliest start, the latest end, the status that says most."""
    told: dict[tuple[AgentName, SessionId, CallId], list[ToolCall]] = {}
    for call in seen:
        told.setdefault((call.agent, call.session, call.id), []).append(call)
    # In an order of their own: where three or more differ, it decides which of them is taken up first.
    calls = (reduce(_one_call, sorted(group, key=_weight)) if len(group) > 1 else group[0] for group in told.values())
    return sorted(calls, key=lambda call: (call.started_ns, call.agent, call.session, call.id))


def merge_session(seen: Iterable[Session]) -> Session | None:
    """One session from all that was seen of it: what was said last wins, and it began when it was first seen."""
    ordered = sorted(seen, key=lambda session: session.started_ns)
    if not ordered:
        return None
    whole = ordered[0]
    for part in ordered[1:]:
        whole = replace(
            whole,
            ended_ns=part.ended_ns if part.ended_ns is not None else whole.ended_ns,
            revision=whole.revision or part.revision,
            worktree=whole.worktree or part.worktree,
            model=part.model or whole.model,
            operator=part.operator or whole.operator,
            parent=part.parent or whole.parent,
        )
    return whole


def _one_call(call: ToolCall, other: ToolCall) -> ToolCall:
    first, second = sorted((call, other), key=_weight)
    return replace(
        second,
        name=second.name or first.name,
        started_ns=min(first.started_ns, second.started_ns),
        ended_ns=max((end for end in (first.ended_ns, second.ended_ns) if end is not None), default=None),
        parent=second.parent or first.parent,
        prompt=second.prompt or first.prompt,
        subagent=second.subagent or first.subagent,
        model=second.model or first.model,
        about=second.about or first.about,
    )


def _weight(call: ToolCall) -> tuple[int, int, str]:
    return _STANDING[call.status], call.started_ns, repr(call)


# What several records tell of one span becomes one, where they agree; where they do not, all of them stay.


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
