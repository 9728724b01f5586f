"""The reader of Copilot's sessions: those of the CLI, and the chats and transcripts of VS Code."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from custody.capture.agent_event import PendingCalls
from custody.capture.agents.copilot.chat import Chat
from custody.capture.agents.copilot.session_record import (
    EVENTS,
    FAILED,
    OK,
    PROMPT,
    RUNNING,
    SESSION,
    CopilotCall,
    SessionHeader,
    choose_session_id,
    find_project_sessions,
    find_vscode_folder,
    is_copilot_session_opening,
    list_session_files,
    locate_copilot_home,
    make_call_record,
    make_event_record,
)
from custody.capture.agents.copilot.tool_calls import NOTICE, SUBAGENTS, append_exit_code, normalize_tool_name
from custody.capture.agents.copilot.views import views_from_transcript_event
from custody.capture.hook.call_name import make_copilot_call_id, strip_tool_call_number
from custody.capture.line_reader import FileLine, find_first_time
from custody.capture.transcripts import (
    LineProblem,
    LineResult,
    SkippedLine,
    Starts,
    SubagentLaunch,
    TranscriptLine,
    TranscriptReader,
    find_parent_call,
    parse_transcript_object,
    peek_line,
    read_transcript_objects,
    update_timestamp,
)
from custody.capture.typed_field import Fields, get_agent_model, get_fields, get_items, get_string
from custody.core.ids import AgentName
from custody.core.patterns import lazy_pattern
from custody.core.wire.body import excerpt_long_texts
from custody.core.wire.canonical import Json

# Copilot's event streams, line by line: sessions of Copilot CLI, and transcripts of VS Code's extension. Shapes:
# @github/copilot-sdk 1.0.14 (``generated/session-events.d.ts``), sessions of the CLI 1.0.102 of November 2026,
# ``app.js`` of @github/copilot 1.0.62, sessions of 1.0.12 to 1.0.68 in public repositories, and
# ``sessionTranscriptService.ts`` of microsoft/vscode-copilot-chat at 31acd00a (0.42 of March 2026); older ones from
# git-ai's fixtures: the CLI 1.0.45, and VS Code's extension 0.37, which has no ends of calls. All have version 1. A
# call is one record, made when it ends; a call without an end is recorded as running. Thinking and answers are not
# stored. A call of the CLI is named by its content, as in its hooks, a call of VS Code by its own id.


KNOWN_VERSION = 1
FIRST_WITH_ENDS = 42
"""The first version of VS Code's extension that is known to report the ends of calls."""
STREAM = "events"
"""The file name of a session with a folder of its own."""
PERSON = "user"
"""The source of a message that a person typed; others come from the program or another agent."""
_EARLY = lazy_pattern(r"0\.(\d{1,9})\.")
_SYNTHETIC = frozenset(("resumed", "auto"))
_STARTING = (b'"session.start"', b'"tool.execution_start"', b'"subagent.started"')

EventReader = Callable[[int, Fields, Fields], Iterator[TranscriptLine]]


class StreamState:
    """State of reading one event stream: what later lines need from earlier ones."""

    def __init__(self, starts: Starts, file: Path) -> None:
        folder = find_vscode_folder(file)
        own = file.parent.name if file.stem == STREAM else file.stem
        self.starts = starts
        self.header = SessionHeader(choose_session_id(None, own), find_first_time(file), folder)
        self.in_vscode = folder is not None
        self.has_ends = False
        self.is_replayed = False
        self.waiting = PendingCalls()
        self.running: dict[str, int] = {}
        """Waiting calls, with the numbers of their lines."""
        self._read: Mapping[str, EventReader] = {
            "session.start": self._start,
            "session.resume": self._resume,
            "session.context_changed": self._change_folder,
            "session.model_change": self._model,
            "user.message": self._read_prompt,
            "assistant.turn_start": self._turn,
            "assistant.message": self._read_message,
            "tool.execution_start": self._read_call_start,
            "tool.execution_complete": self._read_call_end,
        }

    def line(self, line: FileLine, value: dict[str, Json]) -> Iterator[LineResult]:
        """Yield the result of one line."""
        kind, data = get_string(value.get("type")) or "(no type)", get_fields(value.get("data"))
        self.header.at, problems = update_timestamp(line.number, value.get("timestamp"), self.header.at)
        yield from problems
        read = self._read.get(kind)
        records = list(read(line.number, value, data)) if read is not None else []
        if kind == "session.start":
            yield from _check_stream_version(line.number, data.get("version"))
        yield from records or (SkippedLine(kind, kind in EVENTS, self.header.version),)

    def end(self) -> Iterator[TranscriptLine]:
        """Yield the calls without an end: as running, or as done in versions that report no ends."""
        for call, number in self.running.items():
            entry = self.waiting.pop(call)
            if entry is not None:
                self.header.at = str(entry["at"])
                yield self._call(number, entry, OK if self._tells_no_ends() else RUNNING)

    def _tells_no_ends(self) -> bool:
        match = _EARLY.match(self.header.version or "")
        return self.in_vscode and not self.has_ends and match is not None and int(match[1]) < FIRST_WITH_ENDS

    # --- the session --------------------------------------------------------------------------------------------------

    def begin(self, data: Fields) -> None:
        """Apply the session's first line."""
        self.header.session = choose_session_id(get_string(data.get("sessionId")), self.header.session)
        self.header.version = get_string(data.get("copilotVersion")) or self.header.version
        self.in_vscode = self.in_vscode or isinstance(data.get("vscodeVersion"), str)
        self._update_header(data)

    def _start(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        self.begin(data)
        revision = get_fields(data.get("context")).get("headCommit")
        fields = {"type": SESSION, "model": self.header.model, "revision": revision}
        yield make_event_record(
            self.header,
            number,
            _stream_event_id(value, number),
            {name: field_value for name, field_value in fields.items() if field_value},
        )

    def _resume(self, _number: int, _value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        self._update_header(data)
        yield from ()

    def _change_folder(self, _number: int, _value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        self.header.cwd = get_string(data.get("cwd")) or self.header.cwd
        yield from ()

    def _model(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        name = _read_agent_model(data.get("newModel"))
        if name is not None and get_string(value.get("agentId")) is None and name != self.header.model:
            self.header.model = name
            yield make_event_record(
                self.header, number, _stream_event_id(value, number), {"type": SESSION, "model": name}
            )

    def _update_header(self, data: Fields) -> None:
        self.header.cwd = get_string(get_fields(data.get("context")).get("cwd")) or self.header.cwd
        self.header.model = _read_agent_model(data.get("selectedModel")) or self.header.model

    def _read_prompt(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        text = get_string(data.get("content"))
        others = data.get("source") not in (None, "", PERSON) or data.get("isAutopilotContinuation") is True
        if text is None or not text.strip() or others or get_string(value.get("agentId")) is not None:
            return
        if NOTICE.fullmatch(text):
            return
        yield make_event_record(self.header, number, _stream_event_id(value, number), {"type": PROMPT, "text": text})

    # --- calls --------------------------------------------------------------------------------------------------------

    def _turn(self, _number: int, _value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        # A transcript that starts late repeats earlier content: nested turns, and calls without events.
        self.is_replayed = "." in (get_string(data.get("turnId")) or "")
        yield from ()

    def _read_message(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        if get_string(value.get("agentId")) is None:
            self.header.model = _read_agent_model(data.get("model")) or self.header.model
        for request in map(get_fields, get_items(data.get("toolRequests"))) if self.is_replayed else ():
            entry = self._make_pending_call(value, {**request, "toolName": request.get("name")})
            if entry is not None:
                yield self._call(number, entry, OK, record_id=f"{_stream_event_id(value, number)}:{entry['id']}")

    def _read_call_start(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        entry = self._make_pending_call(value, data)
        if entry is not None:
            self.waiting.put(str(entry["id"]), entry, len(str(entry["given"])))
            self.running[str(entry["id"])] = number
        yield from ()

    def _read_call_end(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        self.has_ends = True
        call = get_string(data.get("toolCallId")) or ""
        entry = self.waiting.pop(call)
        self.running.pop(call, None)
        if entry is None or data.get("isUserRequested") is True:
            return  # an unknown call, or one that the user made
        entry["model"] = _read_agent_model(data.get("model")) or entry["model"]
        result = get_fields(data.get("result"))
        went_well = data.get("success") is True or result.get("result_type") == "success"
        error = get_fields(data.get("error")).get("message")
        text = result.get("content") or result.get("text_result_for_llm") or error
        entry["code"] = get_fields(data.get("shellExecution")).get("exitCode")
        yield self._call(
            number, entry, OK if went_well else FAILED, get_string(text) or "", _stream_event_id(value, number)
        )

    def _make_pending_call(self, value: Fields, data: Fields) -> dict[str, Json] | None:
        call, tool = get_string(data.get("toolCallId")), get_string(data.get("toolName"))
        if not call or not tool:
            return None
        server, own = get_string(data.get("mcpServerName")), get_string(data.get("mcpToolName"))
        return {
            "id": call,
            "tool": f"mcp__{server}__{own}" if server and own else tool,
            "named": tool,
            "given": data.get("arguments"),
            "at": self.header.at,
            "event": get_string(value.get("id")),
            "model": _read_agent_model(data.get("model"))
            or (None if _read_subagent_id(value, data) else self.header.model),
            "agent": _read_subagent_id(value, data),
        }

    def _call(
        self, number: int, entry: Fields, state: str, text: str = "", record_id: str | None = None
    ) -> TranscriptLine:
        agent, arguments = get_string(entry.get("agent")), entry.get("given")
        own = make_copilot_call_id(str(entry["named"]), arguments, text if state == OK else None)
        call = CopilotCall(
            id=strip_tool_call_number(str(entry["id"])) if self.in_vscode else own,
            tool=str(entry["tool"]),
            arguments=arguments,
            state=state,
            text=append_exit_code(text, entry.get("code")),
            started=get_string(entry.get("at")),
            model=get_string(entry.get("model")),
            subagent=agent,
            parent=find_parent_call(self.starts, self.header.session, agent),
        )
        return make_call_record(
            self.header, number, record_id or get_string(entry.get("event")) or f"line:{number}", call
        )


def find_stream_launches(file: Path, lines: Iterator[FileLine]) -> Iterator[SubagentLaunch]:
    """Yield which calls started which subagents: the CLI names a subagent after its call, or names the call."""
    stream = StreamState({}, file)
    calls: dict[str, str] = {}
    for line in lines:
        if not any(mark in line.data for mark in _STARTING):
            continue
        value = parse_transcript_object(line)
        if not isinstance(value, dict):
            continue
        data = get_fields(value.get("data"))
        call = get_string(data.get("toolCallId"))
        if value.get("type") == "session.start":
            stream.begin(data)
        elif value.get("type") == "subagent.started" and call in calls:
            yield SubagentLaunch(stream.header.session, get_string(value.get("agentId")) or call, calls[call])
        elif call is not None and normalize_tool_name(get_string(data.get("toolName")) or "") in SUBAGENTS:
            own = make_copilot_call_id(str(data["toolName"]), data.get("arguments"), None)
            calls[call] = strip_tool_call_number(call) if stream.in_vscode else own
            # Versions without a start event name the subagent after the call.
            yield SubagentLaunch(stream.header.session, call, calls[call])


def _read_subagent_id(value: Fields, data: Fields) -> str | None:
    return get_string(value.get("agentId")) or get_string(data.get("parentToolCallId"))


def _read_agent_model(value: object) -> str | None:
    name = get_agent_model(value)
    return None if name in _SYNTHETIC or not name else name


def _check_stream_version(number: int, value: object) -> Iterator[LineProblem]:
    if isinstance(value, int) and value > KNOWN_VERSION:
        yield LineProblem(number, f"written in version {value}, newer than this reader knows")


def _stream_event_id(value: Fields, number: int) -> str:
    return get_string(value.get("id")) or f"line:{number}"


_EVENT = (b'"parentId"', b'"data"')


def find_subagent_launches(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """Yield launches from event streams; a chat's request contains its own."""
    first, together = peek_line(lines)
    if first is not None and _is_event_stream(file, first):
        yield from find_stream_launches(file, together)


def read_session(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """Yield the result of each line, or of each request."""
    first, together = peek_line(lines)
    if first is None:
        return
    if not _is_event_stream(file, first):
        yield from Chat(file).read_lines(together)
        return
    stream = StreamState(starts, file)
    yield from read_transcript_objects(together, stream.line)
    yield from stream.end()


def trim_event_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event with a tool's output cut; its input, with the texts of edits, stays whole."""
    payload = event.get("payload")
    if not isinstance(payload, dict) or "words" not in payload:
        return event
    return {**event, "payload": {**payload, "words": excerpt_long_texts(payload["words"])}}


READER = TranscriptReader(
    agent=AgentName("copilot"),
    home=locate_copilot_home,
    of_trees=find_project_sessions,
    files=list_session_files,
    knows=is_copilot_session_opening,
    starts=find_subagent_launches,
    read=read_session,
    trimmed=trim_event_outputs,
    views=views_from_transcript_event,
)


def _is_event_stream(file: Path, first: FileLine) -> bool:
    """Return whether a file has an event on each line; if its first line is damaged, by its name."""
    is_named = file.name == "events.jsonl" or file.parent.name in ("transcripts", "session-state")
    return is_named or all(mark in first.data for mark in _EVENT)
