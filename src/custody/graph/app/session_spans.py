"""A captured session as spans: the session, its turns, the calls of each, and subagents with theirs.

What nobody saw end has no end: such a span is of phase ``start``. A turn ends with the next prompt or with the session,
and says that its end is inferred.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from custody.core.ids import AgentName, CallId, ExecutionId, SessionId, SpanId
from custody.core.record import Record
from custody.core.view_merge import merge_calls, merge_session
from custody.core.views import (
    CallStatus,
    FileEdit,
    ObservedSpan,
    Prompt,
    Session,
    SpanKind,
    SpanPhase,
    SpanRef,
    SpanStatus,
    ToolCall,
)
from custody.core.wire.canonical import Json
from custody.graph.wire.attribute_names import tool_name
from custody.graph.wire.otlp_span import fit_name, fit_text, truncate_span_text
from custody.ledger.queries import SessionView, views_of_session
from custody.ledger.sessions import prompts_of
from custody.store import ObservedView, Store

KINDS: tuple[type[SessionView], ...] = (Session, Prompt, ToolCall, FileEdit)
SESSION = SpanId("session")
NAMELESS = "unknown"
SUBAGENT = "subagent"
"""What a subagent is called whose type nobody told."""
INFERRED = ("end", "inferred")
"""The attribute of a span whose end follows from something else."""
_STATUS = MappingProxyType(
    {
        CallStatus.OK: SpanStatus.OK,
        CallStatus.FAILED: SpanStatus.ERROR,
        CallStatus.ABANDONED: SpanStatus.ABANDONED,
    }
)

Attribute = tuple[str, bool | int | float | str | None]


@dataclass(frozen=True, slots=True)
class CapturedSession:
    """What was captured of one session: calls in order, the file that each changed, the types of its subagents."""

    agent: AgentName
    id: SessionId
    session: Session | None
    prompts: Sequence[Prompt]
    calls: Sequence[ToolCall]
    files: Mapping[CallId, str] = field(default_factory=dict, hash=False)
    types: Mapping[str, str] = field(default_factory=dict, hash=False)


def spans_of_session(
    store: Store, session: SessionId, agent: AgentName | None = None, counts: Callable[[Record], bool] | None = None
) -> list[ObservedSpan]:
    """The spans of a session, parents before what ran in them; none where nothing but spans was captured of it.

    Two agents may have sessions of the same id: each has its own execution, unless ``agent`` names one. With ``counts``
    only the records that it lets through are looked at.
    """
    views = views_of_session(store, session, KINDS)
    seen = [view for view in views if counts is None or counts(view.record)]
    agents = sorted({observed.view.agent for observed in seen if agent in (None, observed.view.agent)})
    return [
        span
        for whose in agents
        for span in spans_from(
            _captured(store, whose, session, [observed for observed in seen if observed.view.agent == whose])
        )
    ]


def make_session_spans(
    store: Store, agent: AgentName, session: SessionId, seen: Sequence[ObservedView[SessionView]]
) -> list[ObservedSpan]:
    """The spans of a session of one agent, of which everything was read."""
    return spans_from(_captured(store, agent, session, seen))


def spans_from(captured: CapturedSession) -> list[ObservedSpan]:
    """The spans that a captured session gives, in time linear in its calls; none for one without any of its parts."""
    if captured.session is None and not captured.prompts and not captured.calls:
        return []
    return list(_SessionSpans(captured).spans())


def execution_of(agent: AgentName, session: SessionId) -> ExecutionId:
    """The execution that a captured session is told as."""
    return ExecutionId(fit_name(f"{agent}:{session}"))


def call_span(call: CallId) -> SpanId:
    """The span of one call of a captured session."""
    return SpanId(fit_name(f"call:{call}"))


class _SessionSpans:
    """One session on its way to spans."""

    def __init__(self, captured: CapturedSession) -> None:
        self._of = captured
        self._execution = execution_of(captured.agent, captured.id)
        self._calls = {call.id: call for call in captured.calls}
        self._turns = [prompt.at_ns for prompt in captured.prompts]
        self._prompts = {prompt.id: _turn(prompt) for prompt in captured.prompts}
        self._agents: dict[str, list[ToolCall]] = {}
        for call in captured.calls:
            if call.subagent is not None:
                self._agents.setdefault(call.subagent, []).append(call)
        times = [*self._turns, *(call.started_ns for call in captured.calls)]
        ends = [call.ended_ns for call in captured.calls if call.ended_ns is not None]
        whole = captured.session
        self._began = min([*times, *([] if whole is None else [whole.started_ns])])
        ended = None if whole is None else whole.ended_ns
        # A session that went on after it had ended has not ended.
        self._ended = ended if ended is not None and ended >= max([*times, *ends, self._began]) else None

    def spans(self) -> Iterator[ObservedSpan]:
        """Parents before what ran in them."""
        yield self._session()
        yield from self._all_turns()
        told: set[str] = set()
        for call in self._of.calls:
            if call.subagent is not None and call.subagent not in told:
                told.add(call.subagent)
                yield self._subagent(call.subagent)
            yield self._call(call)

    def _session(self) -> ObservedSpan:
        whole = self._of.session
        given = () if whole is None else (("model", whole.model), ("operator", whole.operator))
        span = self._span(SESSION, SpanKind.SESSION, self._of.agent, self._began, self._ended)
        return replace(span, attributes=_trim_attributes(given))

    def _all_turns(self) -> Iterator[ObservedSpan]:
        ends: list[int | None] = [*self._turns, self._ended][1:]
        for number, (prompt, end) in enumerate(zip(self._of.prompts, ends, strict=True), start=1):
            given: tuple[Attribute, ...] = (("number", number), *((INFERRED,) if end is not None else ()))
            span = self._span(_turn(prompt), SpanKind.TURN, "turn", prompt.at_ns, end)
            yield replace(span, parent=SESSION, attributes=_trim_attributes(given))

    def _subagent(self, name: str) -> ObservedSpan:
        calls = self._agents[name]
        starter, missing = self._starter(calls)
        ends = [call.ended_ns for call in calls if call.ended_ns is not None]
        ended = None if starter is None or starter.ended_ns is None else max([starter.ended_ns, *ends])
        began = min(call.started_ns for call in calls)
        span = self._span(_subagent(name), SpanKind.AGENT, self._of.types.get(name, SUBAGENT), began, ended)
        return replace(
            span,
            parent=self._turn_of(calls[0]) if starter is None else call_span(starter.id),
            status=span.status and (SpanStatus.OK if starter is None else _STATUS.get(starter.status, SpanStatus.OK)),
            links=missing,
            attributes=_trim_attributes((("subagent", name), *((INFERRED,) if ended is not None else ()))),
        )

    def _starter(self, calls: Sequence[ToolCall]) -> tuple[ToolCall | None, tuple[SpanRef, ...]]:
        """The call that started a subagent; where that one was not captured, a link to it."""
        named = next((call.parent for call in calls if call.parent is not None), None)
        starter = None if named is None else self._calls.get(named)
        if starter is not None and starter.subagent != calls[0].subagent:
            return starter, ()
        return None, () if named is None else (SpanRef(self._execution, call_span(named)),)

    def _call(self, call: ToolCall) -> ObservedSpan:
        name, server = tool_name(call.name or NAMELESS)
        parent, links = self._parent(call)
        ended = call.ended_ns if call.status in _STATUS else None
        given: list[Attribute] = [("model", call.model), ("file", self._of.files.get(call.id)), ("about", call.about)]
        if ended is None and call.status in _STATUS:
            # It is known how it ended, but not when.
            given.append(("outcome", _STATUS[call.status].value))
        return replace(
            self._span(call_span(call.id), SpanKind.TOOL, name, call.started_ns, ended),
            parent=parent,
            status=None if ended is None else _STATUS[call.status],
            links=links,
            server=None if server is None else fit_name(server),
            attributes=_trim_attributes(given),
        )

    def _parent(self, call: ToolCall) -> tuple[SpanId, tuple[SpanRef, ...]]:
        if call.subagent is not None:
            return _subagent(call.subagent), ()
        if call.parent is None or call.parent == call.id:
            return self._turn_of(call), ()
        if call.parent in self._calls:
            return call_span(call.parent), ()
        return self._turn_of(call), (SpanRef(self._execution, call_span(call.parent)),)

    def _turn_of(self, call: ToolCall) -> SpanId:
        """The turn that a call names, else the one under way when it began; the session before the first."""
        if call.prompt in self._prompts:
            return self._prompts[call.prompt]
        before = bisect_right(self._turns, call.started_ns)
        return _turn(self._of.prompts[before - 1]) if before else SESSION

    def _span(self, id: SpanId, kind: SpanKind, name: str, started_ns: int, ended_ns: int | None) -> ObservedSpan:
        return ObservedSpan(
            execution=self._execution,
            id=id,
            phase=SpanPhase.START if ended_ns is None else SpanPhase.WHOLE,
            name=fit_name(name),
            kind=kind,
            started_ns=started_ns,
            ended_ns=ended_ns,
            status=None if ended_ns is None else SpanStatus.OK,
            agent=self._of.agent,
            session=self._of.id,
        )


def _turn(prompt: Prompt) -> SpanId:
    return SpanId(fit_name(f"turn:{prompt.id}"))


def _subagent(name: str) -> SpanId:
    return SpanId(fit_name(f"agent:{name}"))


def _trim_attributes(attributes: Iterable[Attribute]) -> tuple[Attribute, ...]:
    """Attributes as a span has them: those that say something, in order, none too long."""
    said = ((key, value) for key, value in attributes if value is not None)
    return tuple(
        sorted((key, truncate_span_text(fit_text(value)) if isinstance(value, str) else value) for key, value in said)
    )


# --- what the store has -----------------------------------------------------------------------------------------------


def _captured(
    store: Store, agent: AgentName, session: SessionId, seen: Sequence[ObservedView[SessionView]]
) -> CapturedSession:
    files: dict[CallId, str] = {}
    for edit in (view.view for view in seen if isinstance(view.view, FileEdit)):
        if edit.call is not None:
            files.setdefault(edit.call, edit.path.display)
    calls = merge_calls(view.view for view in seen if isinstance(view.view, ToolCall))
    return CapturedSession(
        agent=agent,
        id=session,
        session=merge_session(view.view for view in seen if isinstance(view.view, Session)),
        prompts=prompts_of(seen),
        calls=calls,
        files=files,
        types=_types(store, calls, seen),
    )


def _types(store: Store, calls: Sequence[ToolCall], seen: Sequence[ObservedView[SessionView]]) -> dict[str, str]:
    """The type of each subagent, as the call that started it says."""
    starters = {call.subagent: call.parent for call in reversed(calls) if call.subagent and call.parent}
    wanted = set(starters.values())
    told: dict[CallId, str] = {}
    for view in seen:
        if isinstance(view.view, ToolCall) and view.view.id in wanted and view.view.id not in told:
            given = _input(store.tables.payload(view.record), view.view.id)
            if isinstance(kind := given.get("subagent_type"), str) and kind:
                told[view.view.id] = kind
    return {name: told[call] for name, call in starters.items() if call in told}


def _input(record: Json, call: CallId) -> Mapping[str, Json]:
    """What a call was given, as a generic event, a hook's or a transcript's line says it."""
    fields = _fields(record)
    payload = _fields(fields.get("payload"))
    content = _fields(payload.get("message")).get("content")
    blocks = (_fields(block) for block in (content if isinstance(content, list) else []))
    used = next((_fields(block.get("input")) for block in blocks if block.get("id") == call), {})
    return _fields(fields.get("input")) or _fields(payload.get("tool_input")) or used


def _fields(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
