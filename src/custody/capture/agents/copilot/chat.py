"""Chats of VS Code, and the first sessions of Copilot CLI: whole documents, or a log of the changes to one.

VS Code's chats: ``chatSessionOperationLog.ts`` and ``objectMutationLog.ts`` of microsoft/vscode at 03d43368 and
047238f9 (2026, chats of version 3), which append changes to a file of lines; until the beginning of 2026 a chat was
one document (1.105 of October 2025), which is also what "Export Chat" writes, without a session's name. What a
request's calls were given and gave back is what microsoft/vscode-copilot-chat put into its metadata (August 2025 to
0.42 of March 2026). Copilot CLI in 2025: a document with a ``timeline``, as public readers of it have it; its calls
keep their own names, since no hooks were run then.

Only requests that have ended are read; the next import brings the others. What a model thought or said is not kept.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from custody.capture.agents.copilot.kept_record import (
    ABANDONED,
    FAILED,
    OK,
    PROMPT,
    CopilotCall,
    SessionHeader,
    make_call_record,
    make_event_record,
    session_id,
    workspace_of,
)
from custody.capture.agents.copilot.request import ChatRequest, is_copilots
from custody.capture.line_reader import LINE_BYTES_MAX, FileLine
from custody.capture.transcripts import (
    WHOLE_BYTES_MAX,
    LineProblem,
    LineResult,
    SkippedLine,
    document_in,
    document_lines,
    peek_line,
)
from custody.capture.typed_field import Fields, fields, get_string, items
from custody.core.errors import InputError
from custody.core.wire.canonical import Json, parse
from custody.core.wire.time import ns_from, text_from

KNOWN_VERSION = 3
INITIAL, SET, PUSH, DELETE = range(4)
DEPTH_MAX = 100
_ENDED = frozenset((1, 2, 3))
"""The states of an answer that is complete, was cancelled, or failed."""
_REQUESTS = '"requests":'
_ENTRIES = '"timeline":'


class Chat:
    """One chat, whichever of its shapes it has."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.around = SessionHeader(session_id(None, file.stem), text_from(file.stat().st_mtime_ns), workspace_of(file))

    def all(self, lines: Iterable[FileLine]) -> Iterator[LineResult]:
        """What the chat holds."""
        first, together = peek_line(lines)
        if first is None:
            return
        opening = _parsed(first.data)
        if isinstance(opening, dict) and isinstance(opening.get("kind"), int):
            log = _ChatLog()
            for line in together:
                yield from log.line(line)
            yield from self._state(1, log.state)
        else:
            yield from self._document(together)

    def _document(self, lines: Iterable[FileLine]) -> Iterator[LineResult]:
        kept = document_lines(lines, "chat")
        if isinstance(kept, LineProblem):
            yield kept
            return
        state = document_in(kept, "chat")
        if isinstance(state, LineProblem):
            yield state
            state = _pieces(b"\n".join(kept).decode("utf-8", "replace"))
        yield from self._state(1, state)

    def _state(self, number: int, state: Json) -> Iterator[LineResult]:
        chat = fields(state)
        version = chat.get("version")
        if isinstance(version, int) and version > KNOWN_VERSION:
            yield LineProblem(number, f"written in version {version}, newer than this reader knows")
        self.around.session = session_id(get_string(chat.get("sessionId")), self.around.session)
        yield SkippedLine("chat", True)
        for request in items(chat.get("requests")):
            yield from self._request(number, fields(request))
        for entry in items(chat.get("timeline")):
            yield from self._entry(number, fields(entry))

    # --- VS Code ------------------------------------------------------------------------------------------------------

    def _request(self, number: int, said: Fields) -> Iterator[LineResult]:
        named = get_string(said.get("requestId"))
        if named is None:
            yield LineProblem(number, "a request without an id")
            return
        if not is_copilots(said) or not _has_ended(said):
            yield SkippedLine("request", True)
            return
        request = ChatRequest(said, named)
        around = self._around(request)
        asked = request.prompt
        if asked is not None:
            yield make_event_record(around, number, f"{named}:asked", {"type": PROMPT, "text": asked})
        start = ns_from(around.at)
        for n, call in enumerate(request.calls()):
            # When each of them was made is not said: they came one after the other.
            around.at = text_from(start + n * 1_000_000)
            yield make_call_record(around, number, f"{named}:{call.id}", call)

    def _around(self, request: ChatRequest) -> SessionHeader:
        """The session that a request is of: Copilot's own name for it is the one that hooks and transcripts say."""
        around = self.around
        # One that was cancelled does not say it: it is of the session of those before it.
        around.session = session_id(request.session, around.session)
        # Only the first of them tells which folders were open.
        around.folders = request.folders or around.folders
        alone = around.folders[0] if len(around.folders) == 1 else None
        return SessionHeader(
            session=around.session,
            at=text_from(request.at_ns) if request.at_ns else around.at,
            cwd=around.cwd or alone,
            folders=around.folders,
            model=request.model,
            version=request.version,
            opened=around.opened,
        )

    # --- the first sessions of Copilot CLI ----------------------------------------------------------------------------

    def _entry(self, number: int, entry: Fields) -> Iterator[LineResult]:
        kind, said = get_string(entry.get("type")) or "(no type)", get_string(entry.get("text"))
        moment = get_string(entry.get("timestamp"))
        try:
            self.around.at = self.around.at if moment is None else text_from(ns_from(moment))
        except InputError as error:
            yield LineProblem(number, error.message)
        named = get_string(entry.get("callId")) or get_string(entry.get("id"))
        tool = get_string(entry.get("name")) or get_string(entry.get("toolTitle"))
        if kind == "user" and said and named is not None:
            yield make_event_record(self.around, number, f"{named}:asked", {"type": PROMPT, "text": said})
        elif kind == "tool_call_completed" and named is not None and tool is not None:
            result = fields(entry.get("result"))
            state = {"success": OK, "rejected": ABANDONED, "denied": ABANDONED}.get(str(result.get("type")), FAILED)
            words = get_string(result.get("log")) or ""
            call = CopilotCall(id=named, tool=tool, given=entry.get("arguments"), state=state, words=words)
            yield make_call_record(self.around, number, named, call)
        else:
            yield SkippedLine(kind, kind in ("copilot", "info", "error", "user", "tool_call_requested"))


class _ChatLog:
    """A chat that is told by changes: the whole first, then what was set, pushed or deleted."""

    def __init__(self) -> None:
        self.state: Json = None
        self.bytes = 0

    def line(self, line: FileLine) -> Iterator[LineProblem]:
        """Take up one change; one that cannot be made is named."""
        if not line.data.strip() and line.size <= LINE_BYTES_MAX:
            return
        change = _parsed(line.data)
        if not isinstance(change, dict):
            what = f"a line of {line.size:,} bytes is over the limit" if not line.data else "this is no JSON object"
            yield LineProblem(line.number, what if line.whole or not line.data else f"cut off: {what}")
            return
        path = items(change.get("k"))
        if path[:1] == ["inputState"]:
            return  # what stands in the input field was not sent
        self.bytes += line.size
        if self.bytes > WHOLE_BYTES_MAX:
            yield LineProblem(line.number, f"over {WHOLE_BYTES_MAX:,} bytes of changes: what comes here is left out")
        elif change.get("kind") == INITIAL:
            self.state = change.get("v")
        elif len(path) > DEPTH_MAX or not _changed(self.state, path, change):
            yield LineProblem(line.number, "a change that does not fit what was before it")


def _changed(state: Any, path: list[Any], change: Fields) -> bool:
    """Whether a change could be made at the end of a path."""
    if not path:
        return False
    for key in path[:-1]:
        state = _at(state, key)
    kind, last = change.get("kind"), path[-1]
    if kind == PUSH:
        array = _at(state, last)
        if not isinstance(array, list):
            return False
        keep = change.get("i")
        if isinstance(keep, int) and keep >= 0:
            del array[keep:]
        array.extend(items(change.get("v")))
        return True
    if kind not in (SET, DELETE):
        return False
    if isinstance(state, dict) and isinstance(last, str):
        state[last] = change.get("v")
        return True
    if isinstance(state, list) and isinstance(last, int) and 0 <= last < len(state):
        state[last] = change.get("v")
        return True
    return False


def _at(state: Any, key: object) -> Any:
    if isinstance(state, dict) and isinstance(key, str):
        return state.get(key)
    return state[key] if isinstance(state, list) and isinstance(key, int) and 0 <= key < len(state) else None


def _pieces(data: str) -> dict[str, Json]:
    """The whole requests, or entries, of a chat that is cut off."""
    kept: dict[str, Json] = {}
    for mark, name in ((_REQUESTS, "requests"), (_ENTRIES, "timeline")):
        start = data.find("[", data.find(mark)) if mark in data else -1
        if start >= 0:
            kept[name] = list(_objects(data, start + 1))
    return kept


def _objects(data: str, at: int) -> Iterator[Json]:
    decoder = json.JSONDecoder()
    while at < len(data):
        while at < len(data) and data[at] in " \t\r\n,":
            at += 1
        try:
            value, at = decoder.raw_decode(data, at)
            yield parse(json.dumps(value).encode("utf-8", "replace"), bytes_max=WHOLE_BYTES_MAX)
        except (ValueError, RecursionError, InputError):
            return  # here it is cut off, which was named


def _has_ended(request: Fields) -> bool:
    state = fields(request.get("modelState")).get("value")
    return isinstance(request.get("result"), dict) or state in _ENDED or request.get("isCanceled") is True


def _parsed(data: bytes) -> Json:
    try:
        return parse(data)
    except InputError:
        return None  # named by whoever asked
