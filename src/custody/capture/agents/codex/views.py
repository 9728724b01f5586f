"""What one kept line of Codex CLI's rollouts says: a pure function of the line and of what was put beside it."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import call_view, prompt_view, session_of, use_of
from custody.capture.agents.codex import line_shapes as shapes
from custody.capture.agents.codex.tool_calls import (
    APPLY_PATCH,
    add_effects,
    list_search_sources,
    outcome,
    parse_tool_input,
)
from custody.capture.command_facts import ToolOutput, find_written_files
from custody.capture.patch import effects_of, read_event_changes
from custody.capture.source_use import LISTED_MAX
from custody.capture.tool_use import ToolUse, use_views
from custody.capture.typed_field import Fields, fields, full_sha, get_string, model, text
from custody.core.ids import PromptId
from custody.core.views import CallStatus, Session, ToolCall, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.event_views import about_of


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one line gives."""
    line = fields(event.payload)
    seen = _KeptLine(event, fields(line.get("payload")), fields(line.get("beside")))
    read = LINES.get(get_string(line.get("type")) or "")
    opening = (_session(seen),) if event.opens else ()
    return (*opening, *(read(seen) if read else ()))


class _KeptLine:
    """A kept line with what every reader asks of it."""

    def __init__(self, event: TranscriptEvent, inner: Fields, beside: Fields) -> None:
        self.event = event
        self.inner = inner
        self.beside = beside
        self.model = model(beside.get("model"))
        turn = get_string(beside.get("turn"))
        self.prompt = PromptId(turn) if turn else None

    def made(self, call: str) -> CallReference:
        """The call as an earlier line has it."""
        return next((made for made in self.event.calls if made.id == call), CallReference(call, "?"))


def _session(seen: _KeptLine) -> Session:
    return session_of(seen.event, seen.model, full_sha(fields(seen.inner.get("git")).get("commit_hash")))


def _response(seen: _KeptLine) -> Iterator[View]:
    kind, call = get_string(seen.inner.get("type")), shapes.call_id(seen.inner)
    if kind in shapes.CALLS and call:
        tool, given = shapes.read_call_start(seen.inner)
        about = None if tool == APPLY_PATCH else about_of(given.kept())
        yield _call(seen, CallReference(call, tool), CallStatus.RUNNING, about)
    elif kind in shapes.OUTPUTS and call:
        made = seen.made(call)
        yield from _output(seen, made, outcome(made.name, seen.inner.get("output")))
    elif kind == "web_search_call":
        yield from _searched(seen)
    elif kind == "message":
        yield from _typed(seen)


def _event(seen: _KeptLine) -> Iterator[View]:
    if (patch := shapes.read_patch_end(seen.inner)) is not None:
        yield from _patched(seen, patch)
    elif (end := shapes.read_command_end(seen.inner)) is not None:
        yield from _output(seen, seen.made(end.call), end.answer)
    elif shapes.read_web_search(seen.inner) is not None:
        yield from _searched(seen)
    else:
        yield from _typed(seen)


def _output(seen: _KeptLine, made: CallReference, answer: ToolOutput) -> Iterator[View]:
    status = CallStatus.FAILED if answer.failed else CallStatus.RUNNING if answer.running else CallStatus.OK
    yield _call(seen, made, status)
    if made.input is None:
        return  # another line tells what it did
    given = parse_tool_input(made.name, made.input)
    use = add_effects(_use(seen, made, fields(made.input), answer), given, answer, made.cwd)
    yield from use_views(replace(use, writes=find_written_files(given.command, answer)), seen.event.commits)


def _patched(seen: _KeptLine, patch: shapes.PatchEnd) -> Iterator[View]:
    made = seen.made(patch.call)
    yield _call(seen, made, CallStatus.OK if patch.applied else CallStatus.FAILED)
    if patch.applied:
        changes = read_event_changes(patch.changes or seen.beside.get("changes"))
        yield from use_views(replace(_use(seen, made, {}, ToolOutput()), changes=effects_of(changes)))


def _searched(seen: _KeptLine) -> Iterator[View]:
    said = shapes.read_web_search(seen.inner)
    if said is None:
        return
    made = CallReference(said.call or f"web:{seen.event.id}", shapes.WEB_SEARCH)
    about = get_string(said.action.get("query")) or get_string(said.action.get("url"))
    yield _call(seen, made, CallStatus.OK, about_of({"path": about}))
    use = _use(seen, made, {}, ToolOutput())
    yield from use_views(replace(use, opened=tuple(islice(list_search_sources(said.action, said.results), LISTED_MAX))))


def _typed(seen: _KeptLine) -> Iterator[View]:
    said = shapes.read_typed_prompt(seen.inner)
    asked = text(said)
    if asked is None or seen.event.subagent is not None or not shapes.is_typed(said):
        return
    yield prompt_view(seen.event, get_string(seen.beside.get("prompt")) or seen.event.id, asked)


def _call(seen: _KeptLine, made: CallReference, status: CallStatus, about: str | None = None) -> ToolCall:
    return call_view(seen.event, made, status, prompt=seen.prompt, model=seen.model, about=about)


def _use(seen: _KeptLine, made: CallReference, given: Fields, answer: ToolOutput) -> ToolUse:
    use = use_of(seen.event, made)
    return replace(use, input=given, answer=seen.inner.get("output"), words=answer.words, failed=answer.failed)


LINES: Mapping[str, Callable[[_KeptLine], Iterator[View]]] = MappingProxyType(
    {"response_item": _response, "event_msg": _event}
)
