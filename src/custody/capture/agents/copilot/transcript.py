"""The reader of Copilot's sessions: those of the CLI, and the chats and transcripts of VS Code.

``event_stream``, ``chat`` and ``locations`` name the shapes and the versions that they come from.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from custody.capture.agent_event import PendingCalls
from custody.capture.agents.copilot.chat import Chat
from custody.capture.agents.copilot.kept_record import (
    EVENTS,
    FAILED,
    OK,
    PROMPT,
    RUNNING,
    SESSION,
    CopilotCall,
    SessionHeader,
    home_of,
    is_opening,
    make_call_record,
    make_event_record,
    session_id,
    sessions_below,
    sessions_of,
    workspace_of,
)
from custody.capture.agents.copilot.tool_calls import NOTICE, SUBAGENTS, plain, with_code
from custody.capture.agents.copilot.views import views_of
from custody.capture.hook.call_name import copilot_call, strip_call_number
from custody.capture.line_reader import FileLine
from custody.capture.transcripts import (
    LineProblem,
    LineResult,
    SkippedLine,
    Starts,
    SubagentLaunch,
    TranscriptLine,
    TranscriptReader,
    object_in,
    peek_line,
    read_objects,
    timestamp_in,
)
from custody.capture.typed_field import Fields, fields, get_string, items, model
from custody.core.ids import AgentName
from custody.core.wire.body import excerpt_long_texts
from custody.core.wire.canonical import Json
from custody.core.wire.time import text_from

# Copilot's event streams, line by line: sessions of Copilot CLI, and the transcripts that VS Code's extension writes.
# Shapes: @github/copilot-sdk 1.0.14 (``generated/session-events.d.ts``), sessions that the CLI 1.0.102 of November
# 2026 wrote, ``app.js`` of @github/copilot 1.0.62, sessions of 1.0.12 to 1.0.68 that public repositories hold, and
# ``sessionTranscriptService.ts`` of microsoft/vscode-copilot-chat at 31acd00a (0.42 of March 2026); older ones as
# git-ai's fixtures have them: the CLI 1.0.45, and VS Code's extension 0.37, which told no ends of calls. All say
# version 1.
# A call is one record, made when it ended; what waits at the end of the file is told as running. What a model thought
# or said is not kept. A call of the CLI is named by its content, as its hooks name it, one of VS Code by its own
# name.


KNOWN_VERSION = 1
FIRST_WITH_ENDS = 42
"""The first version of VS Code's extension of which it is known that it tells the ends of calls."""
STREAM = "events"
"""The name of the file of a session that has a folder of its own."""
PERSON = "user"
"""What a message's source may be that a person typed; another says that the program, or another agent, put it there."""
_EARLY = re.compile(r"0\.(\d{1,9})\.")
_SYNTHETIC = frozenset(("resumed", "auto"))
_STARTING = (b'"session.start"', b'"tool.execution_start"', b'"subagent.started"')

EventReader = Callable[[int, Fields, Fields], Iterator[TranscriptLine]]


class StreamState:
    """How far one event stream was read, and what later lines will ask of earlier ones."""

    def __init__(self, starts: Starts, file: Path) -> None:
        folder = workspace_of(file)
        own = file.parent.name if file.stem == STREAM else file.stem
        self.starts = starts
        self.around = SessionHeader(session_id(None, own), text_from(file.stat().st_mtime_ns), folder)
        self.in_vscode = folder is not None
        self.has_ends = False
        self.is_replayed = False
        self.waiting = PendingCalls()
        self.running: dict[str, int] = {}
        """Calls that wait, with the numbers of their lines."""
        self._read: Mapping[str, EventReader] = {
            "session.start": self._start,
            "session.resume": self._resume,
            "session.context_changed": self._moved,
            "session.model_change": self._model,
            "user.message": self._typed,
            "assistant.turn_start": self._turn,
            "assistant.message": self._read_message,
            "tool.execution_start": self._begun,
            "tool.execution_complete": self._ended,
        }

    def line(self, line: FileLine, value: dict[str, Json]) -> Iterator[LineResult]:
        """What one line holds."""
        kind, data = get_string(value.get("type")) or "(no type)", fields(value.get("data"))
        timestamp = timestamp_in(line.number, value.get("timestamp"))
        if isinstance(timestamp, LineProblem):
            yield timestamp
        else:
            self.around.at = timestamp or self.around.at
        read = self._read.get(kind)
        found = list(read(line.number, value, data)) if read is not None else []
        if kind == "session.start":
            yield from _newer(line.number, data.get("version"))
        yield from found or (SkippedLine(kind, kind in EVENTS, self.around.version),)

    def end(self) -> Iterator[TranscriptLine]:
        """The calls that nobody told the end of: running still, or all done where no end is ever told."""
        for call, number in self.running.items():
            made = self.waiting.pop(call)
            if made is not None:
                self.around.at = str(made["at"])
                yield self._call(number, made, OK if self._tells_no_ends() else RUNNING)

    def _tells_no_ends(self) -> bool:
        found = _EARLY.match(self.around.version or "")
        return self.in_vscode and not self.has_ends and found is not None and int(found[1]) < FIRST_WITH_ENDS

    # --- the session --------------------------------------------------------------------------------------------------

    def begin(self, data: Fields) -> None:
        """Take up what the first line says of the session."""
        self.around.session = session_id(get_string(data.get("sessionId")), self.around.session)
        self.around.version = get_string(data.get("copilotVersion")) or self.around.version
        self.in_vscode = self.in_vscode or isinstance(data.get("vscodeVersion"), str)
        self._take(data)

    def _start(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        self.begin(data)
        revision = fields(data.get("context")).get("headCommit")
        said = {"type": SESSION, "model": self.around.model, "revision": revision}
        yield make_event_record(
            self.around,
            number,
            _id(value, number),
            {name: field_value for name, field_value in said.items() if field_value},
        )

    def _resume(self, _number: int, _value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        self._take(data)
        yield from ()

    def _moved(self, _number: int, _value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        self.around.cwd = get_string(data.get("cwd")) or self.around.cwd
        yield from ()

    def _model(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        named = _model(data.get("newModel"))
        if named is not None and get_string(value.get("agentId")) is None and named != self.around.model:
            self.around.model = named
            yield make_event_record(self.around, number, _id(value, number), {"type": SESSION, "model": named})

    def _take(self, data: Fields) -> None:
        self.around.cwd = get_string(fields(data.get("context")).get("cwd")) or self.around.cwd
        self.around.model = _model(data.get("selectedModel")) or self.around.model

    def _typed(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        said = get_string(data.get("content"))
        others = data.get("source") not in (None, "", PERSON) or data.get("isAutopilotContinuation") is True
        if said is None or not said.strip() or others or get_string(value.get("agentId")) is not None:
            return
        if NOTICE.fullmatch(said):
            return
        yield make_event_record(self.around, number, _id(value, number), {"type": PROMPT, "text": said})

    # --- calls --------------------------------------------------------------------------------------------------------

    def _turn(self, _number: int, _value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        # A transcript that begins late repeats what was before it: turns in turns, and calls without their events.
        self.is_replayed = "." in (get_string(data.get("turnId")) or "")
        yield from ()

    def _read_message(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        if get_string(value.get("agentId")) is None:
            self.around.model = _model(data.get("model")) or self.around.model
        for request in map(fields, items(data.get("toolRequests"))) if self.is_replayed else ():
            made = self._made(value, {**request, "toolName": request.get("name")})
            if made is not None:
                yield self._call(number, made, OK, named=f"{_id(value, number)}:{made['id']}")

    def _begun(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        made = self._made(value, data)
        if made is not None:
            self.waiting.put(str(made["id"]), made, len(str(made["given"])))
            self.running[str(made["id"])] = number
        yield from ()

    def _ended(self, number: int, value: Fields, data: Fields) -> Iterator[TranscriptLine]:
        self.has_ends = True
        call = get_string(data.get("toolCallId")) or ""
        made = self.waiting.pop(call)
        self.running.pop(call, None)
        if made is None or data.get("isUserRequested") is True:
            return  # nobody told what it was, or a person ran it
        made["model"] = _model(data.get("model")) or made["model"]
        result = fields(data.get("result"))
        went_well = data.get("success") is True or result.get("result_type") == "success"
        error = fields(data.get("error")).get("message")
        words = result.get("content") or result.get("text_result_for_llm") or error
        made["code"] = fields(data.get("shellExecution")).get("exitCode")
        yield self._call(number, made, OK if went_well else FAILED, get_string(words) or "", _id(value, number))

    def _made(self, value: Fields, data: Fields) -> dict[str, Json] | None:
        call, tool = get_string(data.get("toolCallId")), get_string(data.get("toolName"))
        if not call or not tool:
            return None
        server, own = get_string(data.get("mcpServerName")), get_string(data.get("mcpToolName"))
        return {
            "id": call,
            "tool": f"mcp__{server}__{own}" if server and own else tool,
            "named": tool,
            "given": data.get("arguments"),
            "at": self.around.at,
            "event": get_string(value.get("id")),
            "model": _model(data.get("model")) or (None if _agent(value, data) else self.around.model),
            "agent": _agent(value, data),
        }

    def _call(self, number: int, made: Fields, state: str, words: str = "", named: str | None = None) -> TranscriptLine:
        agent, given = get_string(made.get("agent")), made.get("given")
        own = copilot_call(str(made["named"]), given, words if state == OK else None)
        call = CopilotCall(
            id=strip_call_number(str(made["id"])) if self.in_vscode else own,
            tool=str(made["tool"]),
            given=given,
            state=state,
            words=with_code(words, made.get("code")),
            started=get_string(made.get("at")),
            model=get_string(made.get("model")),
            subagent=agent,
            parent=None if agent is None else self.starts.get((self.around.session, agent)),
        )
        return make_call_record(self.around, number, named or get_string(made.get("event")) or f"line:{number}", call)


def starts_in(file: Path, lines: Iterator[FileLine]) -> Iterator[SubagentLaunch]:
    """Which calls started which subagents: the CLI names a subagent after its call, or says which call it was."""
    stream = StreamState({}, file)
    calls: dict[str, str] = {}
    for line in lines:
        if not any(mark in line.data for mark in _STARTING):
            continue
        value = object_in(line)
        if not isinstance(value, dict):
            continue
        data = fields(value.get("data"))
        call = get_string(data.get("toolCallId"))
        if value.get("type") == "session.start":
            stream.begin(data)
        elif value.get("type") == "subagent.started" and call in calls:
            yield SubagentLaunch(stream.around.session, get_string(value.get("agentId")) or call, calls[call])
        elif call is not None and plain(get_string(data.get("toolName")) or "") in SUBAGENTS:
            own = copilot_call(str(data["toolName"]), data.get("arguments"), None)
            calls[call] = strip_call_number(call) if stream.in_vscode else own
            # Versions that tell no start of a subagent name it after the call.
            yield SubagentLaunch(stream.around.session, call, calls[call])


def _agent(value: Fields, data: Fields) -> str | None:
    return get_string(value.get("agentId")) or get_string(data.get("parentToolCallId"))


def _model(said: object) -> str | None:
    named = model(said)
    return None if named in _SYNTHETIC or not named else named


def _newer(number: int, said: object) -> Iterator[LineProblem]:
    if isinstance(said, int) and said > KNOWN_VERSION:
        yield LineProblem(number, f"written in version {said}, newer than this reader knows")


def _id(value: Fields, number: int) -> str:
    return get_string(value.get("id")) or f"line:{number}"


_EVENT = (b'"parentId"', b'"data"')


def find_starts(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """From event streams; a request of a chat says it itself."""
    first, together = peek_line(lines)
    if first is not None and _is_stream(file, first):
        yield from starts_in(file, together)


def read_session(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """What each line, or each request, holds."""
    first, together = peek_line(lines)
    if first is None:
        return
    if not _is_stream(file, first):
        yield from Chat(file).all(together)
        return
    stream = StreamState(starts, file)
    yield from read_objects(together, stream.line)
    yield from stream.end()


def trim_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """The event with what a tool gave back cut; what it was given are the texts of edits."""
    payload = event.get("payload")
    if not isinstance(payload, dict) or "words" not in payload:
        return event
    return {**event, "payload": {**payload, "words": excerpt_long_texts(payload["words"])}}


READER = TranscriptReader(
    agent=AgentName("copilot"),
    home=home_of,
    of_trees=sessions_of,
    files=sessions_below,
    knows=is_opening,
    starts=find_starts,
    read=read_session,
    trimmed=trim_outputs,
    views=views_of,
)


def _is_stream(file: Path, first: FileLine) -> bool:
    """Whether a file has an event on each line; the first one may be damaged, then its name tells."""
    named = file.name == "events.jsonl" or file.parent.name in ("transcripts", "session-state")
    return named or all(mark in first.data for mark in _EVENT)
