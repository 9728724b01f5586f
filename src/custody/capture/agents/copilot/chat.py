"""Chats of VS Code, and the first sessions of Copilot CLI: whole documents, or a log of changes to one.

VS Code's chats: ``chatSessionOperationLog.ts`` and ``objectMutationLog.ts`` of microsoft/vscode at 03d43368 and
047238f9 (2026, chats of version 3) append changes to a file of lines. Until early 2026 a chat was one document (1.105
of October 2025); "Export Chat" still writes one, without a session id. microsoft/vscode-copilot-chat puts the calls'
input and output into the metadata (August 2025 to 0.42 of March 2026). Copilot CLI in 2025: a document with a
``timeline``, as public readers describe it. Its calls keep their own names, because no hooks ran then.

Only finished requests are read; the next import brings the others. A model's thinking and answers are not stored.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from custody.capture.agents.copilot.request import ChatRequest, is_copilot_request
from custody.capture.agents.copilot.session_record import (
    ABANDONED,
    FAILED,
    OK,
    PROMPT,
    CopilotCall,
    SessionHeader,
    choose_session_id,
    find_vscode_folder,
    make_call_record,
    make_event_record,
)
from custody.capture.line_reader import LINE_BYTES_MAX, FileLine, find_first_time
from custody.capture.transcripts import (
    WHOLE_BYTES_MAX,
    LineProblem,
    LineResult,
    SkippedLine,
    peek_line,
    read_transcript_document,
)
from custody.capture.typed_field import Fields, get_fields, get_items, get_string
from custody.core.errors import InputError
from custody.core.wire.canonical import Json, parse_json_bytes
from custody.core.wire.time import format_timestamp, parse_timestamp

KNOWN_VERSION = 3
INITIAL, SET, PUSH, DELETE = range(4)
DEPTH_MAX = 100
_ENDED = frozenset((1, 2, 3))
"""States of an answer that is complete, was cancelled, or failed."""
_REQUESTS = '"requests":'
_ENTRIES = '"timeline":'


class Chat:
    """One chat, in any of its shapes."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.header = SessionHeader(choose_session_id(None, file.stem), find_first_time(file), find_vscode_folder(file))

    def read_lines(self, lines: Iterable[FileLine]) -> Iterator[LineResult]:
        """Yield the records of the chat."""
        first, together = peek_line(lines)
        if first is None:
            return
        opening = _parse_chat_json(first.data)
        if isinstance(opening, dict) and isinstance(opening.get("kind"), int):
            log = _ChatLog()
            for line in together:
                yield from log.line(line)
            yield from self._state(log.state)
        else:
            yield from read_transcript_document(together, "chat", self._state, self._salvage)

    def _salvage(self, lines: Sequence[bytes]) -> Iterator[LineResult]:
        yield from self._state(_salvage_chat_requests(b"\n".join(lines).decode("utf-8", "replace")))

    def _state(self, state: Json, number: int = 1) -> Iterator[LineResult]:
        chat = get_fields(state)
        version = chat.get("version")
        if isinstance(version, int) and version > KNOWN_VERSION:
            yield LineProblem(number, f"written in version {version}, newer than this reader knows")
        self.header.session = choose_session_id(get_string(chat.get("sessionId")), self.header.session)
        yield SkippedLine("chat", True)
        for request in get_items(chat.get("requests")):
            yield from self._request(number, get_fields(request))
        for entry in get_items(chat.get("timeline")):
            yield from self._entry(number, get_fields(entry))

    # --- VS Code ------------------------------------------------------------------------------------------------------

    def _request(self, number: int, fields: Fields) -> Iterator[LineResult]:
        name = get_string(fields.get("requestId"))
        if name is None:
            yield LineProblem(number, "a request without an id")
            return
        if not is_copilot_request(fields) or not _has_chat_request_ended(fields):
            yield SkippedLine("request", True)
            return
        request = ChatRequest(fields, name)
        header = self._session_header(request)
        prompt = request.prompt
        if prompt is not None:
            yield make_event_record(header, number, f"{name}:asked", {"type": PROMPT, "text": prompt})
        start = parse_timestamp(header.at)
        for n, call in enumerate(request.calls()):
            # The calls have no times of their own, only an order.
            header.at = format_timestamp(start + n * 1_000_000)
            yield make_call_record(header, number, f"{name}:{call.id}", call)

    def _session_header(self, request: ChatRequest) -> SessionHeader:
        """Return the header of a request's session, under Copilot's own id, which hooks and transcripts use too."""
        header = self.header
        # A cancelled request has no session id: it belongs to the session of the requests before it.
        header.session = choose_session_id(request.session, header.session)
        # Only the first request names the open folders.
        header.folders = request.folders or header.folders
        alone = header.folders[0] if len(header.folders) == 1 else None
        return SessionHeader(
            session=header.session,
            at=format_timestamp(request.at_ns) if request.at_ns else header.at,
            cwd=header.cwd or alone,
            folders=header.folders,
            model=request.model,
            version=request.version,
            opened=header.opened,
        )

    # --- the first sessions of Copilot CLI ----------------------------------------------------------------------------

    def _entry(self, number: int, entry: Fields) -> Iterator[LineResult]:
        kind, text = get_string(entry.get("type")) or "(no type)", get_string(entry.get("text"))
        timestamp = get_string(entry.get("timestamp"))
        try:
            self.header.at = self.header.at if timestamp is None else format_timestamp(parse_timestamp(timestamp))
        except InputError as error:
            yield LineProblem(number, error.message)
        name = get_string(entry.get("callId")) or get_string(entry.get("id"))
        tool = get_string(entry.get("name")) or get_string(entry.get("toolTitle"))
        if kind == "user" and text and name is not None:
            yield make_event_record(self.header, number, f"{name}:asked", {"type": PROMPT, "text": text})
        elif kind == "tool_call_completed" and name is not None and tool is not None:
            result = get_fields(entry.get("result"))
            state = {"success": OK, "rejected": ABANDONED, "denied": ABANDONED}.get(str(result.get("type")), FAILED)
            output = get_string(result.get("log")) or ""
            call = CopilotCall(id=name, tool=tool, arguments=entry.get("arguments"), state=state, text=output)
            yield make_call_record(self.header, number, name, call)
        else:
            yield SkippedLine(kind, kind in ("copilot", "info", "error", "user", "tool_call_requested"))


class _ChatLog:
    """A chat stored as a log of changes: the whole document first, then sets, pushes and deletes."""

    def __init__(self) -> None:
        self.state: Json = None
        self.bytes = 0

    def line(self, line: FileLine) -> Iterator[LineProblem]:
        """Apply one change; yield the problem with an invalid change."""
        if not line.data.strip() and line.size <= LINE_BYTES_MAX:
            return
        change = _parse_chat_json(line.data)
        if not isinstance(change, dict):
            what = f"a line of {line.size:,} bytes is over the limit" if not line.data else "not a JSON object"
            yield LineProblem(line.number, what if line.whole or not line.data else f"cut off: {what}")
            return
        path = get_items(change.get("k"))
        if path[:1] == ["inputState"]:
            return  # the text in the input field was not sent
        self.bytes += line.size
        if self.bytes > WHOLE_BYTES_MAX:
            yield LineProblem(line.number, f"over {WHOLE_BYTES_MAX:,} bytes of changes: the rest is skipped")
        elif change.get("kind") == INITIAL:
            self.state = change.get("v")
        elif len(path) > DEPTH_MAX or not _apply_chat_change(self.state, path, change):
            yield LineProblem(line.number, "a change that does not fit the chat before it")


def _apply_chat_change(state: Any, path: list[Any], change: Fields) -> bool:
    """Apply a change at the end of a path; return whether it fits."""
    if not path:
        return False
    for key in path[:-1]:
        state = _get_chat_node(state, key)
    kind, last = change.get("kind"), path[-1]
    if kind == PUSH:
        array = _get_chat_node(state, last)
        if not isinstance(array, list):
            return False
        keep = change.get("i")
        if isinstance(keep, int) and keep >= 0:
            del array[keep:]
        array.extend(get_items(change.get("v")))
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


def _get_chat_node(state: Any, key: object) -> Any:
    if isinstance(state, dict) and isinstance(key, str):
        return state.get(key)
    return state[key] if isinstance(state, list) and isinstance(key, int) and 0 <= key < len(state) else None


def _salvage_chat_requests(data: str) -> dict[str, Json]:
    """Return the complete requests, or entries, of a damaged chat."""
    chat: dict[str, Json] = {}
    for mark, name in ((_REQUESTS, "requests"), (_ENTRIES, "timeline")):
        start = data.find("[", data.find(mark)) if mark in data else -1
        if start >= 0:
            chat[name] = list(_decode_chat_objects(data, start + 1))
    return chat


def _decode_chat_objects(data: str, at: int) -> Iterator[Json]:
    decoder = json.JSONDecoder()
    while at < len(data):
        while at < len(data) and data[at] in " \t\r\n,":
            at += 1
        try:
            value, at = decoder.raw_decode(data, at)
            yield parse_json_bytes(json.dumps(value).encode("utf-8", "replace"), bytes_max=WHOLE_BYTES_MAX)
        except (ValueError, RecursionError, InputError):
            return  # the rest is cut off, which was reported


def _has_chat_request_ended(request: Fields) -> bool:
    state = get_fields(request.get("modelState")).get("value")
    return isinstance(request.get("result"), dict) or state in _ENDED or request.get("isCanceled") is True


def _parse_chat_json(data: bytes) -> Json:
    try:
        return parse_json_bytes(data)
    except InputError:
        return None  # reported by the caller
