"""What one kept prompt or call of opencode's sessions says: a pure function of it and of what was put beside it."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agents.opencode.session_reader import add_state
from custody.capture.agents.opencode.tool_calls import add_effects, writes_of
from custody.capture.agents.opencode.tool_fields import about, status_of
from custody.capture.tool_use import use_views
from custody.capture.transcript_event import session_of, use_of
from custody.capture.typed_field import Fields, fields, get_string, model, text
from custody.core.ids import AgentName, CallId, PromptId, SessionId
from custody.core.views import Prompt, ToolCall, View
from custody.core.wire.event import TranscriptEvent
from custody.core.wire.time import ns_from

NS_PER_MS = 1_000_000


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one kept prompt or call gives."""
    said = fields(event.payload)
    read = KINDS.get(get_string(said.get("type")) or "")
    opening = (session_of(event, _model(said)),) if event.opens else ()
    return (*opening, *(read(event, said) if read else ()))


def _prompt(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    asked = text(said.get("text"))
    if event.subagent is None and asked is not None:
        named = get_string(fields(said.get("message")).get("id")) or event.id
        yield Prompt(AgentName(event.agent), SessionId(event.session), PromptId(named), ns_from(event.at), asked)


def _call(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    if not event.calls:
        return
    made, state = event.calls[0], fields(fields(said.get("part")).get("state"))
    use = add_state(use_of(event, made), state)
    yield ToolCall(
        agent=use.agent,
        session=use.session,
        id=use.call,
        name=made.name,
        started_ns=_started(state, use.at_ns),
        ended_ns=use.at_ns,
        status=status_of(use),
        parent=None if event.parent_call is None else CallId(event.parent_call),
        subagent=event.subagent,
        model=_model(said),
        about=about(state.get("input")),
    )
    yield from use_views(replace(add_effects(use, made.cwd), writes=writes_of(use)), event.commits)


def _started(state: Fields, ended_ns: int) -> int:
    start = fields(state.get("time")).get("start")
    if not isinstance(start, int) or isinstance(start, bool) or not 0 < start * NS_PER_MS <= ended_ns:
        return ended_ns
    return start * NS_PER_MS


def _model(said: Fields) -> str | None:
    return model(fields(said.get("message")).get("model"))


KINDS: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {"prompt": _prompt, "call": _call}
)
