"""Several observations of one thing become one: field by field, so that their order never matters."""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

from custody.core.ids import AgentName, CallId, SessionId
from custody.core.views import CallStatus, Session, ToolCall

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
