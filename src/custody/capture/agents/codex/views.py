"""Views of one stored line of Codex CLI's rollouts: a pure function of the record."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import call_view, prompt_view, session_from_transcript_event, to_tool_use
from custody.capture.agents.codex import line_shapes as shapes
from custody.capture.agents.codex.tool_calls import (
    APPLY_PATCH,
    add_effects,
    find_shell_command,
    list_search_sources,
    parse_rollout_output,
    parse_tool_input,
)
from custody.capture.command_facts import find_written_files
from custody.capture.patch import file_effects_from_patch, parse_event_changes
from custody.capture.source_use import LISTED_MAX
from custody.capture.tool_use import ShellRun, ToolOutput, ToolUse, views_from_tool_use
from custody.capture.typed_field import (
    Fields,
    get_agent_model,
    get_captured_text,
    get_fields,
    get_full_sha,
    get_items,
    get_string,
)
from custody.core.ids import PromptId
from custody.core.views import CallStatus, Session, ToolCall, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.event_views import find_call_subject


def views_from_transcript_event(event: TranscriptEvent) -> tuple[View, ...]:
    """Return the views of one line."""
    line = get_fields(event.payload)
    stored = _StoredLine(event, get_fields(line.get("payload")), get_fields(line.get("beside")))
    read = LINES.get(get_string(line.get("type")) or "")
    opening = (_make_rollout_session(stored),) if event.opens else ()
    return (*opening, *(read(stored) if read else ()))


def extract_answer_text(event: TranscriptEvent) -> str | None:
    """Return the text that the agent said on a line; None if it has none."""
    inner = get_fields(get_fields(event.payload).get("payload"))
    is_answer = inner.get("type") == "message" and inner.get("role") == "assistant"
    texts = [get_string(get_fields(part).get("text")) or "" for part in get_items(inner.get("content"))]
    return "\n".join(texts) if is_answer else None


class _StoredLine:
    """A stored line with the fields that every reader needs."""

    def __init__(self, event: TranscriptEvent, inner: Fields, beside: Fields) -> None:
        self.event = event
        self.inner = inner
        self.beside = beside
        self.model = get_agent_model(beside.get("model"))
        turn = get_string(beside.get("turn"))
        self.prompt = PromptId(turn) if turn else None

    def find_call(self, call: str) -> CallReference:
        """Return the call as an earlier line started it."""
        return next((reference for reference in self.event.calls if reference.id == call), CallReference(call, "?"))


def _make_rollout_session(line: _StoredLine) -> Session:
    return session_from_transcript_event(
        line.event, line.model, get_full_sha(get_fields(line.inner.get("git")).get("commit_hash"))
    )


def _read_response_item(line: _StoredLine) -> Iterator[View]:
    kind, call = get_string(line.inner.get("type")), shapes.read_call_id(line.inner)
    if kind in shapes.CALLS and call:
        use = shapes.read_call_start(line.inner)
        about = None if use.tool == APPLY_PATCH else find_call_subject(use.input)
        yield _make_tool_call(line, CallReference(call, use.tool), CallStatus.RUNNING, about)
    elif kind in shapes.OUTPUTS and call:
        reference = line.find_call(call)
        yield from _read_tool_output(line, reference, parse_rollout_output(reference.name, line.inner.get("output")))
    elif kind == "web_search_call":
        yield from _read_web_search(line)
    elif kind == "message":
        yield from _read_typed_prompt(line)


def _read_event_message(line: _StoredLine) -> Iterator[View]:
    if (patch := shapes.read_patch_end(line.inner)) is not None:
        yield from _read_patch_end(line, patch)
    elif (end := shapes.read_command_end(line.inner)) is not None:
        yield from _read_tool_output(line, line.find_call(end.call), end.answer)
    elif shapes.read_web_search(line.inner) is not None:
        yield from _read_web_search(line)
    else:
        yield from _read_typed_prompt(line)


def _read_tool_output(line: _StoredLine, reference: CallReference, answer: ToolOutput) -> Iterator[View]:
    status = CallStatus.FAILED if answer.failed else CallStatus.RUNNING if answer.running else CallStatus.OK
    yield _make_tool_call(line, reference, status)
    if reference.input is None:
        return  # another line reports its effects
    arguments = parse_tool_input(reference.name, reference.input).input
    use = replace(_make_tool_use(line, reference, answer), input=arguments, folder=reference.cwd)
    writes = find_written_files(ShellRun(find_shell_command(use), answer))
    yield from views_from_tool_use(replace(add_effects(use), writes=writes), line.event.commits)


def _read_patch_end(line: _StoredLine, patch: shapes.PatchEnd) -> Iterator[View]:
    reference = line.find_call(patch.call)
    yield _make_tool_call(line, reference, CallStatus.OK if patch.applied else CallStatus.FAILED)
    if patch.applied:
        changes = parse_event_changes(patch.changes or line.beside.get("changes"))
        yield from views_from_tool_use(
            replace(_make_tool_use(line, reference, ToolOutput()), changes=file_effects_from_patch(changes))
        )


def _read_web_search(line: _StoredLine) -> Iterator[View]:
    search = shapes.read_web_search(line.inner)
    if search is None:
        return
    reference = CallReference(search.call or f"web:{line.event.id}", shapes.WEB_SEARCH)
    about = get_string(search.action.get("query")) or get_string(search.action.get("url"))
    yield _make_tool_call(line, reference, CallStatus.OK, find_call_subject({"path": about}))
    use = _make_tool_use(line, reference, ToolOutput())
    yield from views_from_tool_use(
        replace(use, opened=tuple(islice(list_search_sources(search.action, search.results), LISTED_MAX)))
    )


def _read_typed_prompt(line: _StoredLine) -> Iterator[View]:
    value = shapes.read_typed_prompt(line.inner)
    prompt = get_captured_text(value)
    if prompt is None or line.event.subagent is not None or not shapes.is_typed_prompt(value):
        return
    yield prompt_view(line.event, get_string(line.beside.get("prompt")) or line.event.id, prompt)


def _make_tool_call(
    line: _StoredLine, reference: CallReference, status: CallStatus, about: str | None = None
) -> ToolCall:
    return call_view(line.event, reference, status, prompt=line.prompt, model=line.model, about=about)


def _make_tool_use(line: _StoredLine, reference: CallReference, output: ToolOutput) -> ToolUse:
    return replace(
        to_tool_use(line.event, reference),
        answer=line.inner.get("output"),
        result=output.text,
        output=output,
        failed=output.failed,
    )


LINES: Mapping[str, Callable[[_StoredLine], Iterator[View]]] = MappingProxyType(
    {"response_item": _read_response_item, "event_msg": _read_event_message}
)
