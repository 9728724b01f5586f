"""Merge several observations of one object field by field, independent of their order."""

from collections import deque
from collections.abc import Iterable, Iterator
from functools import reduce

from msgspec.structs import replace

from custody.core.ids import AgentName, CallId, ExecutionId, SessionId, SpanId
from custody.core.views import CallStatus, ObservedSpan, Session, SpanKind, SpanPhase, ToolCall

_STATUS_RANK = {CallStatus.RUNNING: 0, CallStatus.ABANDONED: 1, CallStatus.OK: 2, CallStatus.FAILED: 3}


def merge_call_views(seen: Iterable[ToolCall]) -> list[ToolCall]:
    """Return one call per (agent, session, call id): earliest start, latest end, most specific status."""
    groups: dict[tuple[AgentName, SessionId, CallId], list[ToolCall]] = {}
    for call in seen:
        groups.setdefault((call.agent, call.session, call.id), []).append(call)
    # Sorted, so that the result does not depend on the input order if three or more differ.
    calls = (
        reduce(_merge_call_pair, sorted(group, key=_rank_call_view)) if len(group) > 1 else group[0]
        for group in groups.values()
    )
    return sorted(calls, key=lambda call: (call.started_ns, call.agent, call.session, call.id))


def merge_session_views(seen: Iterable[Session]) -> Session | None:
    """Merge the views of one session: it starts at its first view, and later values win."""
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


def _merge_call_pair(call: ToolCall, other: ToolCall) -> ToolCall:
    first, second = sorted((call, other), key=_rank_call_view)
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


def _rank_call_view(call: ToolCall) -> tuple[int, int, str]:
    return _STATUS_RANK[call.status], call.started_ns, repr(call)


# Records of one span are merged if they agree; otherwise all of them stay.


def merge_span_views(seen: Iterable[ObservedSpan]) -> list[ObservedSpan]:
    """Join starts with their ends, drop duplicates, and keep the order in which spans were first reported.

    A start or an end that a whole span covers is dropped. Records of one id that contradict each other stay separate.
    """
    groups: dict[tuple[ExecutionId, SpanId], dict[ObservedSpan, None]] = {}
    for observed_span in seen:
        groups.setdefault((observed_span.execution, observed_span.id), {})[observed_span] = None
    return [span for records in groups.values() for span in _merge_span_phases(list(records))]


def _merge_span_phases(records: list[ObservedSpan]) -> Iterator[ObservedSpan]:
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
            yield _join_span_ends(record, waiting.popleft()) if waiting else record
    for waiting in ends.values():
        yield from waiting


def _join_span_ends(start: ObservedSpan, end: ObservedSpan) -> ObservedSpan:
    """Join a start and an end; values of the end win, and values that only the start has stay."""
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
