"""Cursor's hook events: ``hooks.json`` version 1, by its reference and by stored payloads.

Sources: the reference at cursor.com/docs/hooks (1.7 of October 2025 to July 2026), payloads of 3.19, and git-ai's
reader (55a1d728, August 2026). Several events report one call; ``afterFileEdit``, ``beforeShellExecution`` and others
do not name it. The hook finds their call (``hook/call_match.py``), so that it counts once, and names events without a
call. The hook's snapshots contain the text before an edit. Formats change: unknown fields and events are ignored, and a
field of an unexpected type counts as absent.
"""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from custody.capture.agent_event import (
    ObservedHookEvent,
    dispatch_hook_event,
    locate_repo_path,
    parse_call_duration_ns,
    read_session_end,
    read_session_start,
)
from custody.capture.agents.cursor.tool_calls import (
    SHELL,
    add_call_result,
    add_effects,
    effects_from_replacements,
    find_call_path,
    is_cursor_notice,
    list_call_sources,
    merge_call_input,
    parse_agent_model,
)
from custody.capture.hook.call_match import OWN, UNNAMED, normalize_call_id
from custody.capture.tool_use import (
    FileEffect,
    SourceUse,
    list_source_accesses,
    make_text_edit_id,
    to_file_edit,
    views_from_tool_use,
)
from custody.capture.typed_field import Fields, get_captured_text, get_fields, get_items, get_string
from custody.core.ids import CallId, PromptId
from custody.core.paths import Lines, RepoPath
from custody.core.views import CallStatus, Reading, ToolCall, View
from custody.core.wire.event import HookEvent
from custody.core.wire.event_views import find_call_subject, text_view_from_field

SHELL_NAME, EDIT_NAME, TAB_NAME, TASK_NAME = "Shell", "Edit", "Tab", "Task"
"""Names of calls that have only an event of their own."""
LINE_MAX = 2**53


def views_from_hook_event(event: HookEvent) -> tuple[View, ...]:
    """Return the views of one hook event; none without a session or for an event without a reader."""
    return dispatch_hook_event(event, EVENTS, _CursorEvent)


class _CursorEvent(ObservedHookEvent):
    """An event with Cursor's own fields."""

    def __init__(self, event: HookEvent, session: str, payload: Fields) -> None:
        super().__init__(event, session, payload)
        # Older hooks did not match events to calls.
        own = f"{OWN}{event.id}" if event.event in UNNAMED else None
        name = event.call or own
        self.call = None if name is None else CallId(name)
        self.model = parse_agent_model(payload.get("model")) or parse_agent_model(payload.get("model_id"))
        # A subagent has its own conversation; the hook recorded the session above it.
        conversation = get_string(payload.get("conversation_id"))
        self.subagent = conversation if conversation and conversation != session else None
        turn = get_string(payload.get("generation_id"))
        self.prompt = PromptId(turn) if turn and self.subagent is None else None

    @property
    def alone(self) -> bool:
        """Whether no other event reports the call."""
        return self.call is not None and self.call.startswith(OWN)

    def path(self, value: object) -> RepoPath | None:
        """Return a path of the repository; None for a path outside it, or for any other value."""
        name, roots = get_string(value), get_items(self.payload.get("workspace_roots"))
        root = get_string(roots[0]) if roots and get_string(self.payload.get("cwd")) is None else None
        if name is not None and root is not None and name.startswith(root.rstrip("/") + "/"):
            name = posixpath.relpath(name, root)  # the hook recorded the folder's real path
        return locate_repo_path(self.event, name)


def _read_user_prompt(hook: _CursorEvent) -> Iterator[View]:
    """Yield a prompt, and the model that it was sent to, which may have changed during the session."""
    if hook.subagent is not None:
        return
    if hook.model is not None:
        yield hook.to_model_change(hook.model)
    prompt = get_captured_text(hook.payload.get("prompt"))
    if prompt is not None and not is_cursor_notice(prompt.content or ""):
        yield hook.to_prompt(prompt, hook.prompt)


def _read_call_start(hook: _CursorEvent) -> Iterator[View]:
    if hook.call is not None:
        yield _make_tool_call(hook, hook.call, CallStatus.RUNNING)


def _read_call_end(hook: _CursorEvent) -> Iterator[View]:
    yield from _read_tool_call(hook, failed=False)


def _read_call_failure(hook: _CursorEvent) -> Iterator[View]:
    yield from _read_tool_call(hook, failed=True)


def _read_tool_call(hook: _CursorEvent, *, failed: bool) -> Iterator[View]:
    if hook.call is None:
        return
    payload = hook.payload
    result = payload.get("tool_output", payload.get("tool_response", payload.get("error_message")))
    arguments = merge_call_input(payload.get("tool_input"))
    use = replace(add_call_result(hook.use(hook.call, hook.tool), hook.tool, arguments, result), failed=failed)
    # A command with an exit code ran, so its effects count. A failure of the tool itself means that nothing was done.
    wrong = failed or use.output.failed
    yield _make_tool_call(hook, hook.call, CallStatus.FAILED if wrong else CallStatus.OK)
    opened = tuple(list_call_sources(replace(use, failed=wrong)))
    yield from views_from_tool_use(add_effects(replace(use, opened=opened)))


def _read_shell_start(hook: _CursorEvent) -> Iterator[View]:
    if hook.call is not None:
        yield _make_tool_call(hook, hook.call, CallStatus.RUNNING, SHELL_NAME, hook.payload)


def _read_shell_end(hook: _CursorEvent) -> Iterator[View]:
    """Yield a finished command; if another event reports the same call, that event has its status."""
    if hook.call is None:
        return
    status = CallStatus.OK if hook.alone else CallStatus.RUNNING
    yield _make_tool_call(hook, hook.call, status, SHELL_NAME, hook.payload)
    if hook.alone:
        output = get_string(hook.payload.get("output"))
        use = add_call_result(hook.use(hook.call, hook.tool), SHELL, hook.payload, output)
        yield from views_from_tool_use(add_effects(replace(use, opened=tuple(list_call_sources(use)))))


def _read_file_access(hook: _CursorEvent) -> Iterator[View]:
    """Yield a file that is about to be read; for a matched call, the call's end reports more."""
    name = find_call_path(hook.payload)
    if hook.alone and hook.call is not None and name is not None:
        source = SourceUse(name, Reading.VERBATIM, text=get_captured_text(hook.payload.get("content")))
        for read in list_source_accesses(replace(hook.use(hook.call, hook.tool), opened=(source,))):
            yield replace_fields(read, call=None)


def _read_file_edit(hook: _CursorEvent) -> Iterator[View]:
    """Yield an edit by its pieces; for a matched call, the call's end reports it."""
    if hook.call is None or not hook.alone:
        return
    is_tab = hook.event.event == "afterTabFileEdit"
    yield _make_tool_call(hook, hook.call, CallStatus.OK, TAB_NAME if is_tab else EDIT_NAME, hook.payload)
    name, use = find_call_path(hook.payload), hook.use(hook.call, hook.tool)
    path = hook.path(name)
    if name is None or path is None:
        return
    for n, edit in enumerate(map(get_fields, get_items(hook.payload.get("edits")))):
        for change in _expand_completion_line(name, edit) if is_tab else effects_from_replacements(name, [edit]):
            yield to_file_edit(
                use, replace(change, lines=_locate_completion_lines(edit)), path, make_text_edit_id(use, n)
            )


def _expand_completion_line(path: str, edit: Fields) -> Iterator[FileEffect]:
    """Yield a completion with the rest of its line if reported: alone it may be half a word."""
    old, new, line = (get_string(edit.get(name)) for name in ("old_string", "new_string", "old_line"))
    if not new or old == new:
        return
    start, end = (get_fields(edit.get("range")).get(name) for name in ("start_column", "end_column"))
    if line is None or "\n" in (old or "") or not isinstance(start, int) or not isinstance(end, int):
        yield FileEffect(path, text_view_from_field(old or ""), text_view_from_field(new), part=True)
    elif 0 < start <= end <= len(line) + 1:
        yield FileEffect(
            path, text_view_from_field(line), text_view_from_field(line[: start - 1] + new + line[end - 1 :]), part=True
        )


def _locate_completion_lines(edit: Fields) -> tuple[Lines, ...]:
    """Return the lines of a completion, if reported: it starts where the replaced text started."""
    first, new = get_fields(edit.get("range")).get("start_line_number"), get_string(edit.get("new_string"))
    if not isinstance(first, int) or isinstance(first, bool) or not 0 < first < LINE_MAX or new is None:
        return ()
    return (Lines(first, first + new.rstrip("\n").count("\n")),)


def _make_subagent_reader(status: CallStatus) -> Callable[[_CursorEvent], Iterator[View]]:
    def read(hook: _CursorEvent) -> Iterator[View]:
        name = get_string(hook.payload.get("tool_call_id")) or get_string(hook.payload.get("subagent_id"))
        if name:
            wrong = status is CallStatus.OK and hook.payload.get("status") not in (None, "completed")
            call = _make_tool_call(
                hook, CallId(normalize_call_id(name)), CallStatus.FAILED if wrong else status, TASK_NAME, hook.payload
            )
            # The event's subagent and model belong to the started agent, not to the call.
            yield replace_fields(call, subagent=None, model=None)

    return read


def _make_tool_call(
    hook: _CursorEvent, call: CallId, status: CallStatus, name: str = "", arguments: object = None
) -> ToolCall:
    about = find_call_subject(merge_call_input(hook.payload.get("tool_input")) if arguments is None else arguments)
    took_ns = parse_call_duration_ns(hook.payload.get("duration"))
    return hook.to_tool_call(call, status, tool=name or hook.tool, about=about, took_ns=took_ns)


EVENTS: Mapping[str, Callable[[_CursorEvent], Iterator[View]]] = MappingProxyType(
    {
        "sessionStart": read_session_start,
        "sessionEnd": read_session_end,
        "beforeSubmitPrompt": _read_user_prompt,
        "preToolUse": _read_call_start,
        "postToolUse": _read_call_end,
        "postToolUseFailure": _read_call_failure,
        "beforeShellExecution": _read_shell_start,
        "afterShellExecution": _read_shell_end,
        "beforeReadFile": _read_file_access,
        "afterFileEdit": _read_file_edit,
        "afterTabFileEdit": _read_file_edit,
        "subagentStart": _make_subagent_reader(CallStatus.RUNNING),
        "subagentStop": _make_subagent_reader(CallStatus.OK),
    }
)
