"""Cursor's hook events: ``hooks.json`` version 1, by its reference and by payloads that others kept.

Followed: the reference at cursor.com/docs/hooks (1.7 of October 2025 to July 2026), payloads of 3.19, and git-ai's
reader (55a1d728, August 2026). One call is told by several events, of which ``afterFileEdit``,
``beforeShellExecution`` and their like do not name it: the hook finds out which call they are of
(``hook/call_match.py``), so that it counts once, and names those that are of none. What an edit found in the file is
in the snapshots that the hook takes around it.
Formats move: unknown fields and events are passed over, a field of another type than expected counts as absent.
"""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace as replace_fields
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import ObservedHookEvent, duration_ns, locate_repo_path, session_end, views_by
from custody.capture.agents.cursor.tool_calls import (
    SHELL,
    CursorCall,
    add_effects,
    answer_of,
    given_of,
    is_notice,
    model_of,
    opened,
    path_in,
    pieces_of,
)
from custody.capture.hook.call_match import OWN, UNNAMED, call_name
from custody.capture.tool_use import FileEffect, SourceUse, source_reads, text_id, to_edit, use_views
from custody.capture.typed_field import Fields, fields, get_string, items, text
from custody.core.ids import CallId, PromptId
from custody.core.paths import Lines, RepoPath
from custody.core.views import CallStatus, Reading, ToolCall, View
from custody.core.wire.event import HookEvent
from custody.core.wire.event_views import about_of, text_view

SHELL_NAME, EDIT_NAME, TAB_NAME, TASK_NAME = "Shell", "Edit", "Tab", "Task"
"""What a call is called of which only its own event tells."""
LINE_MAX = 2**53


def views_of(event: HookEvent) -> tuple[View, ...]:
    """The views that one hook event gives; none without a session or for an event that says nothing of its own."""
    return views_by(event, EVENTS, _CursorEvent)


class _CursorEvent(ObservedHookEvent):
    """An event with what this agent says of it."""

    def __init__(self, event: HookEvent, session: str, said: Fields) -> None:
        super().__init__(event, session, said)
        # A hook of before calls were paired named none.
        own = f"{OWN}{event.id}" if event.event in UNNAMED else None
        named = event.call or own
        self.call = None if named is None else CallId(named)
        self.model = model_of(said.get("model")) or model_of(said.get("model_id"))
        # A subagent has a conversation of its own; the hook says whose it is.
        conversation = get_string(said.get("conversation_id"))
        self.subagent = conversation if conversation and conversation != session else None
        turn = get_string(said.get("generation_id"))
        self.prompt = PromptId(turn) if turn and self.subagent is None else None

    @property
    def alone(self) -> bool:
        """Whether no other event tells of the call."""
        return self.call is not None and self.call.startswith(OWN)

    def path(self, named: object) -> RepoPath | None:
        """A path of the repository; None for one outside it, or that is no path."""
        name, roots = get_string(named), items(self.said.get("workspace_roots"))
        root = get_string(roots[0]) if roots and get_string(self.said.get("cwd")) is None else None
        if name is not None and root is not None and name.startswith(root.rstrip("/") + "/"):
            name = posixpath.relpath(name, root)  # the hook knows where that folder really is
        return locate_repo_path(self.event, name)


def _session(seen: _CursorEvent) -> Iterator[View]:
    yield seen.begun(seen.model if seen.subagent is None else None)


def _prompt(seen: _CursorEvent) -> Iterator[View]:
    """What a person typed, and the model that it was typed to: that may have changed since the session began."""
    if seen.subagent is not None:
        return
    if seen.model is not None:
        yield seen.speaks(seen.model)
    asked = text(seen.said.get("prompt"))
    if asked is not None and not is_notice(asked.content or ""):
        yield seen.typed(asked, seen.prompt)


def _make_call_start(seen: _CursorEvent) -> Iterator[View]:
    if seen.call is not None:
        yield _call(seen, seen.call, CallStatus.RUNNING)


def _ended(seen: _CursorEvent) -> Iterator[View]:
    yield from _make_call_views(seen, failed=False)


def _failed(seen: _CursorEvent) -> Iterator[View]:
    yield from _make_call_views(seen, failed=True)


def _make_call_views(seen: _CursorEvent, *, failed: bool) -> Iterator[View]:
    if seen.call is None:
        return
    said = seen.said
    told = said.get("tool_output", said.get("tool_response", said.get("error_message")))
    given, patch = given_of(said.get("tool_input"))
    answer = answer_of(told)
    called = CursorCall(tool=seen.tool, given=given, patch=patch, answer=answer, told=told, failed=failed)
    # A command that went wrong was run all the same; a tool's own failure says that nothing was done.
    wrong = failed or answer.failed
    yield _call(seen, seen.call, CallStatus.FAILED if wrong else CallStatus.OK)
    yield from _effects(seen, seen.call, called, replace(called, failed=wrong))


def _effects(seen: _CursorEvent, call: CallId, called: CursorCall, read: CursorCall) -> Iterator[View]:
    use = replace(seen.use(call, seen.tool), opened=tuple(opened(read)))
    yield from use_views(add_effects(use, called))


def _shell_begun(seen: _CursorEvent) -> Iterator[View]:
    if seen.call is not None:
        yield _call(seen, seen.call, CallStatus.RUNNING, SHELL_NAME, seen.said)


def _shell_ended(seen: _CursorEvent) -> Iterator[View]:
    """A command that ran; where another event tells of the same call, that says how it ended."""
    if seen.call is None:
        return
    status = CallStatus.OK if seen.alone else CallStatus.RUNNING
    yield _call(seen, seen.call, status, SHELL_NAME, seen.said)
    if seen.alone:
        answer = answer_of(get_string(seen.said.get("output")))
        called = CursorCall(tool=SHELL, given=fields(seen.said), answer=answer)
        yield from _effects(seen, seen.call, called, called)


def _read(seen: _CursorEvent) -> Iterator[View]:
    """A file that is about to be read; where a call was begun for it, the end of that one says more."""
    named = path_in(seen.said)
    if seen.alone and seen.call is not None and named is not None:
        source = SourceUse(named, Reading.VERBATIM, text=text(seen.said.get("content")))
        for read in source_reads(replace(seen.use(seen.call, seen.tool), opened=(source,))):
            yield replace_fields(read, call=None)


def _edited(seen: _CursorEvent) -> Iterator[View]:
    """An edit that was made, told by its pieces; where it is of a call, the end of that one tells it."""
    if seen.call is None or not seen.alone:
        return
    is_tab = seen.event.event == "afterTabFileEdit"
    yield _call(seen, seen.call, CallStatus.OK, TAB_NAME if is_tab else EDIT_NAME, seen.said)
    named, use = path_in(seen.said), seen.use(seen.call, seen.tool)
    path = seen.path(named)
    if named is None or path is None:
        return
    for n, edit in enumerate(map(fields, items(seen.said.get("edits")))):
        for change in _completed(named, edit) if is_tab else pieces_of(named, [edit]):
            yield to_edit(use, replace(change, lines=_lines(edit)), path, text_id(use, n))


def _completed(path: str, edit: Fields) -> Iterator[FileEffect]:
    """A completion with the rest of the line that it stands in, where that is told: alone it may be half a word."""
    old, new, line = (get_string(edit.get(name)) for name in ("old_string", "new_string", "old_line"))
    if not new or old == new:
        return
    start, end = (fields(edit.get("range")).get(name) for name in ("start_column", "end_column"))
    if line is None or "\n" in (old or "") or not isinstance(start, int) or not isinstance(end, int):
        yield FileEffect(path, text_view(old or ""), text_view(new), part=True)
    elif 0 < start <= end <= len(line) + 1:
        yield FileEffect(path, text_view(line), text_view(line[: start - 1] + new + line[end - 1 :]), part=True)


def _lines(edit: Fields) -> tuple[Lines, ...]:
    """Where a completion stands, where that is told: it begins where what it replaced began."""
    first, new = fields(edit.get("range")).get("start_line_number"), get_string(edit.get("new_string"))
    if not isinstance(first, int) or isinstance(first, bool) or not 0 < first < LINE_MAX or new is None:
        return ()
    return (Lines(first, first + new.rstrip("\n").count("\n")),)


def _subagent(status: CallStatus) -> Callable[[_CursorEvent], Iterator[View]]:
    def read(seen: _CursorEvent) -> Iterator[View]:
        named = get_string(seen.said.get("tool_call_id")) or get_string(seen.said.get("subagent_id"))
        if named:
            wrong = status is CallStatus.OK and seen.said.get("status") not in (None, "completed")
            call = _call(seen, CallId(call_name(named)), CallStatus.FAILED if wrong else status, TASK_NAME, seen.said)
            # The call is the other agent's, and so is the model that its event tells.
            yield replace_fields(call, subagent=None, model=None)

    return read


def _call(seen: _CursorEvent, call: CallId, status: CallStatus, name: str = "", given: object = None) -> ToolCall:
    about = about_of(given_of(seen.said.get("tool_input"))[0] if given is None else given)
    took_ns = duration_ns(seen.said.get("duration"))
    return seen.called(call, status, tool=name or seen.tool, about=about, took_ns=took_ns)


EVENTS: Mapping[str, Callable[[_CursorEvent], Iterator[View]]] = MappingProxyType(
    {
        "sessionStart": _session,
        "sessionEnd": session_end,
        "beforeSubmitPrompt": _prompt,
        "preToolUse": _make_call_start,
        "postToolUse": _ended,
        "postToolUseFailure": _failed,
        "beforeShellExecution": _shell_begun,
        "afterShellExecution": _shell_ended,
        "beforeReadFile": _read,
        "afterFileEdit": _edited,
        "afterTabFileEdit": _edited,
        "subagentStart": _subagent(CallStatus.RUNNING),
        "subagentStop": _subagent(CallStatus.OK),
    }
)
