"""A captured session as spans: the session, its turns, the calls of each, and subagents with their calls.

A span without a recorded end has the phase ``start``. A turn ends with the next prompt or with the session, and its
end is marked as inferred.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from custody.core.ids import AgentName, CallId, ExecutionId, PromptId, SessionId, SpanId
from custody.core.record import Record
from custody.core.structs import hash_struct
from custody.core.view_merge import merge_call_views, merge_session_views
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
from custody.graph.wire.attribute_names import split_mcp_tool_name
from custody.graph.wire.otlp_span import clean_span_text, fit_span_name, truncate_span_text
from custody.ledger.queries import SessionView, list_session_views_by_kind
from custody.ledger.sessions import merge_session_prompts
from custody.store import ObservedView, Store

KINDS: tuple[type[SessionView], ...] = (Session, Prompt, ToolCall, FileEdit)
SESSION = SpanId("session")
NAMELESS = "unknown"
SUBAGENT = "subagent"
"""The name of a subagent of unknown type."""
INFERRED = ("end", "inferred")
"""The attribute of a span whose end was inferred."""
_STATUS = MappingProxyType(
    {
        CallStatus.OK: SpanStatus.OK,
        CallStatus.FAILED: SpanStatus.ERROR,
        CallStatus.ABANDONED: SpanStatus.ABANDONED,
    }
)

Attribute = tuple[str, bool | int | float | str | None]


class CapturedSession(Struct, frozen=True):
    """The captured data of one session: calls in order, the file that each changed, the types of its subagents."""

    agent: AgentName
    id: SessionId
    session: Session | None
    prompts: Sequence[Prompt]
    calls: Sequence[ToolCall]
    files: Mapping[CallId, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash_struct(self, but=("files", "types"))


def load_session_spans(
    store: Store, session: SessionId, agent: AgentName | None = None, counts: Callable[[Record], bool] | None = None
) -> list[ObservedSpan]:
    """Return the spans of a session, parents first; none if only spans were captured of it.

    Two agents may have sessions of the same id: each has its own execution, unless ``agent`` selects one. ``counts``
    selects the records that count.
    """
    views = list_session_views_by_kind(store, session, KINDS)
    observations = [view for view in views if counts is None or counts(view.record)]
    agents = sorted({observed.view.agent for observed in observations if agent in (None, observed.view.agent)})
    return [
        span
        for owner in agents
        for span in spans_from_captured_session(
            _collect_captured_session(
                store, owner, session, [observed for observed in observations if observed.view.agent == owner]
            )
        )
    ]


def make_session_spans(
    store: Store, agent: AgentName, session: SessionId, views: Sequence[ObservedView[SessionView]]
) -> list[ObservedSpan]:
    """Return the spans of one agent's session from all its views."""
    return spans_from_captured_session(_collect_captured_session(store, agent, session, views))


def spans_from_captured_session(captured: CapturedSession) -> list[ObservedSpan]:
    """Return the spans of a captured session, in time linear in its calls; none for an empty session."""
    if captured.session is None and not captured.prompts and not captured.calls:
        return []
    return list(_SessionSpans(captured).spans())


def execution_id_from_session(agent: AgentName, session: SessionId) -> ExecutionId:
    """Return the execution id of a captured session."""
    return ExecutionId(fit_span_name(f"{agent}:{session}"))


def session_from_execution_id(execution: str) -> tuple[AgentName, SessionId] | None:
    """Return the agent and the session in the execution id of a captured session; None if it names no session."""
    agent, _, session = execution.partition(":")
    return (AgentName(agent), SessionId(session)) if session else None


def span_id_from_call(call: CallId) -> SpanId:
    """Return the span id of one call of a captured session."""
    return SpanId(fit_span_name(f"call:{call}"))


def span_id_from_prompt(prompt: PromptId) -> SpanId:
    """Return the span id of the turn that a prompt began."""
    return SpanId(fit_span_name(f"turn:{prompt}"))


class _SessionSpans:
    """Converts one session to spans."""

    def __init__(self, captured: CapturedSession) -> None:
        self._captured = captured
        self._execution = execution_id_from_session(captured.agent, captured.id)
        self._calls = {call.id: call for call in captured.calls}
        self._turns = [prompt.at_ns for prompt in captured.prompts]
        self._prompts = {prompt.id: span_id_from_prompt(prompt.id) for prompt in captured.prompts}
        self._agents: dict[str, list[ToolCall]] = {}
        for call in captured.calls:
            if call.subagent is not None:
                self._agents.setdefault(call.subagent, []).append(call)
        times = [*self._turns, *(call.started_ns for call in captured.calls)]
        ends = [call.ended_ns for call in captured.calls if call.ended_ns is not None]
        whole = captured.session
        self._began = min([*times, *([] if whole is None else [whole.started_ns])])
        ended = None if whole is None else whole.ended_ns
        # A session with activity after its end has not ended.
        self._ended = ended if ended is not None and ended >= max([*times, *ends, self._began]) else None

    def spans(self) -> Iterator[ObservedSpan]:
        """Yield the spans, parents first."""
        yield self._session()
        yield from self._all_turns()
        started: set[str] = set()
        for call in self._captured.calls:
            if call.subagent is not None and call.subagent not in started:
                started.add(call.subagent)
                yield self._subagent(call.subagent)
            yield self._call(call)

    def _session(self) -> ObservedSpan:
        whole = self._captured.session
        attributes = () if whole is None else (("model", whole.model), ("operator", whole.operator))
        span = self._span(SESSION, SpanKind.SESSION, self._captured.agent, self._began, self._ended)
        return replace(span, attributes=_trim_span_attributes(attributes))

    def _all_turns(self) -> Iterator[ObservedSpan]:
        ends: list[int | None] = [*self._turns, self._ended][1:]
        for number, (prompt, end) in enumerate(zip(self._captured.prompts, ends, strict=True), start=1):
            attributes: tuple[Attribute, ...] = (("number", number), *((INFERRED,) if end is not None else ()))
            span = self._span(span_id_from_prompt(prompt.id), SpanKind.TURN, "turn", prompt.at_ns, end)
            yield replace(span, parent=SESSION, attributes=_trim_span_attributes(attributes))

    def _subagent(self, name: str) -> ObservedSpan:
        calls = self._agents[name]
        starter, missing = self._starter(calls)
        ends = [call.ended_ns for call in calls if call.ended_ns is not None]
        ended = None if starter is None or starter.ended_ns is None else max([starter.ended_ns, *ends])
        began = min(call.started_ns for call in calls)
        span = self._span(
            _span_id_from_subagent(name), SpanKind.AGENT, self._captured.types.get(name, SUBAGENT), began, ended
        )
        return replace(
            span,
            parent=self._turn_of(calls[0]) if starter is None else span_id_from_call(starter.id),
            status=span.status and (SpanStatus.OK if starter is None else _STATUS.get(starter.status, SpanStatus.OK)),
            links=missing,
            attributes=_trim_span_attributes((("subagent", name), *((INFERRED,) if ended is not None else ()))),
        )

    def _starter(self, calls: Sequence[ToolCall]) -> tuple[ToolCall | None, tuple[SpanRef, ...]]:
        """Return the call that started a subagent; if it was not captured, a link to it."""
        named = next((call.parent for call in calls if call.parent is not None), None)
        starter = None if named is None else self._calls.get(named)
        if starter is not None and starter.subagent != calls[0].subagent:
            return starter, ()
        return None, () if named is None else (SpanRef(self._execution, span_id_from_call(named)),)

    def _call(self, call: ToolCall) -> ObservedSpan:
        name, server = split_mcp_tool_name(call.name or NAMELESS)
        parent, links = self._parent(call)
        ended = call.ended_ns if call.status in _STATUS else None
        file = self._captured.files.get(call.id)
        attributes: list[Attribute] = [("model", call.model), ("file", file), ("about", call.about)]
        if ended is None and call.status in _STATUS:
            # The outcome is known, but not the time.
            attributes.append(("outcome", _STATUS[call.status].value))
        return replace(
            self._span(span_id_from_call(call.id), SpanKind.TOOL, name, call.started_ns, ended),
            parent=parent,
            status=None if ended is None else _STATUS[call.status],
            links=links,
            server=None if server is None else fit_span_name(server),
            attributes=_trim_span_attributes(attributes),
        )

    def _parent(self, call: ToolCall) -> tuple[SpanId, tuple[SpanRef, ...]]:
        if call.subagent is not None:
            return _span_id_from_subagent(call.subagent), ()
        if call.parent is None or call.parent == call.id:
            return self._turn_of(call), ()
        if call.parent in self._calls:
            return span_id_from_call(call.parent), ()
        return self._turn_of(call), (SpanRef(self._execution, span_id_from_call(call.parent)),)

    def _turn_of(self, call: ToolCall) -> SpanId:
        """Return the turn that a call names, else the one it started in; before the first turn, the session."""
        if call.prompt in self._prompts:
            return self._prompts[call.prompt]
        before = bisect_right(self._turns, call.started_ns)
        return span_id_from_prompt(self._captured.prompts[before - 1].id) if before else SESSION

    def _span(self, id: SpanId, kind: SpanKind, name: str, started_ns: int, ended_ns: int | None) -> ObservedSpan:
        return ObservedSpan(
            execution=self._execution,
            id=id,
            phase=SpanPhase.START if ended_ns is None else SpanPhase.WHOLE,
            name=fit_span_name(name),
            kind=kind,
            started_ns=started_ns,
            ended_ns=ended_ns,
            status=None if ended_ns is None else SpanStatus.OK,
            agent=self._captured.agent,
            session=self._captured.id,
        )


def _span_id_from_subagent(name: str) -> SpanId:
    return SpanId(fit_span_name(f"agent:{name}"))


def _trim_span_attributes(attributes: Iterable[Attribute]) -> tuple[Attribute, ...]:
    """Return the attributes that have a value, sorted, long texts truncated."""
    present = ((key, value) for key, value in attributes if value is not None)
    return tuple(
        sorted(
            (key, truncate_span_text(clean_span_text(value)) if isinstance(value, str) else value)
            for key, value in present
        )
    )


# --- reading the store ------------------------------------------------------------------------------------------------


def _collect_captured_session(
    store: Store, agent: AgentName, session: SessionId, views: Sequence[ObservedView[SessionView]]
) -> CapturedSession:
    files: dict[CallId, str] = {}
    for edit in (observed.view for observed in views if isinstance(observed.view, FileEdit)):
        if edit.call is not None:
            files.setdefault(edit.call, edit.path.display)
    calls = merge_call_views(observed.view for observed in views if isinstance(observed.view, ToolCall))
    return CapturedSession(
        agent=agent,
        id=session,
        session=merge_session_views(observed.view for observed in views if isinstance(observed.view, Session)),
        prompts=merge_session_prompts(views),
        calls=calls,
        files=files,
        types=_find_subagent_types(store, calls, views),
    )


def _find_subagent_types(
    store: Store, calls: Sequence[ToolCall], views: Sequence[ObservedView[SessionView]]
) -> dict[str, str]:
    """Return the type of each subagent, from the call that started it."""
    starters = {call.subagent: call.parent for call in reversed(calls) if call.subagent and call.parent}
    starter_ids = set(starters.values())
    types: dict[CallId, str] = {}
    for observed in views:
        view = observed.view
        if isinstance(view, ToolCall) and view.id in starter_ids and view.id not in types:
            call_input = _read_tool_call_input(store.tables.payload(observed.record), view.id)
            if isinstance(kind := call_input.get("subagent_type"), str) and kind:
                types[view.id] = kind
    return {name: types[call] for name, call in starters.items() if call in types}


def _read_tool_call_input(record: Json, call: CallId) -> Mapping[str, Json]:
    """Return a call's input from a generic event, a hook's event or a transcript's line."""
    fields = _read_call_record_object(record)
    payload = _read_call_record_object(fields.get("payload"))
    content = _read_call_record_object(payload.get("message")).get("content")
    blocks = (_read_call_record_object(block) for block in (content if isinstance(content, list) else []))
    used = next((_read_call_record_object(block.get("input")) for block in blocks if block.get("id") == call), {})
    return _read_call_record_object(fields.get("input")) or _read_call_record_object(payload.get("tool_input")) or used


def _read_call_record_object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
