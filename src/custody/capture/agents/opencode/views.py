"""What one kept prompt or call of opencode's sessions says: a pure function of it and of what was put beside it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace as replace_fields
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import call_view, prompt_view, record_views, use_of
from custody.capture.agents.opencode.session_reader import add_state
from custody.capture.agents.opencode.tool_calls import about, add_effects, status_of, writes_of
from custody.capture.tool_use import use_views
from custody.capture.typed_field import Fields, fields, get_int, get_string, model, text
from custody.core.views import View
from custody.core.wire.event import TranscriptEvent

NS_PER_MS = 1_000_000


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one kept prompt or call gives."""
    return record_views(event, KINDS, _model(fields(event.payload)))


def _prompt(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    asked = text(said.get("text"))
    if event.subagent is None and asked is not None:
        yield prompt_view(event, get_string(fields(said.get("message")).get("id")) or event.id, asked)


def _call(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    if not event.calls:
        return
    made, state = event.calls[0], fields(fields(said.get("part")).get("state"))
    use = add_state(use_of(event, made), state)
    view = call_view(event, made, status_of(use), model=_model(said), about=about(state.get("input")))
    yield replace_fields(view, started_ns=_started(state, use.at_ns))
    yield from use_views(replace(add_effects(use, made.cwd), writes=writes_of(use)), event.commits)


def _started(state: Fields, ended_ns: int) -> int:
    started_ns = (get_int(fields(state.get("time")).get("start")) or 0) * NS_PER_MS
    return started_ns if 0 < started_ns <= ended_ns else ended_ns


def _model(said: Fields) -> str | None:
    return model(fields(said.get("message")).get("model"))


KINDS: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {"prompt": _prompt, "call": _call}
)
