"""The reader of opencode's sessions: messages and their parts.

Sources: ``packages/schema/src/v1/session.ts`` at d545d8fb (1.18.18 of August 2026), ``session/message-v2.ts`` of 0.9.0,
and since 2.0 ``packages/schema/src/session-message.ts`` (0ceb3dd5; databases of 2.0.12 and 2.0.26, autumn 2026), where
a message contains its calls: each is converted to the older shape. A prompt is one record and each finished call is
one, so a later import of a growing session adds only what is new. Ids consist of what a fork of the session copies
unchanged, so a copy counts once. A session names its version; tested with 1.15 to 1.17. Thinking and answers are not
stored.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import empty_tool_use
from custody.capture.agents.opencode.tool_calls import (
    SHELLS,
    TASKS,
    list_changed_paths,
    list_written_paths,
    read_shell_run,
)
from custody.capture.command_facts import find_printed_commits
from custody.capture.line_reader import FileLine
from custody.capture.tool_use import ToolUse
from custody.capture.transcripts import (
    ChangedFile,
    LineProblem,
    LineResult,
    OpenedScope,
    OpenedSessions,
    SkippedLine,
    Starts,
    TranscriptLine,
    is_transcript_id,
    parse_transcript_object,
    to_transcript_id,
)
from custody.capture.typed_field import Fields, get_fields, get_items, get_string, parse_payload_json
from custody.core.ids import AgentName
from custody.core.wire.canonical import Json
from custody.core.wire.time import format_timestamp

OPENCODE = AgentName("opencode")
ENDED = frozenset(("completed", "error"))
UNFINISHED = frozenset(("pending", "streaming", "running"))
SKIPPED_PARTS = frozenset("reasoning file step-start step-finish snapshot patch agent retry compaction subtask".split())
"""Parts without effects. Other unknown types are counted in the report by name."""
SKIPPED_MESSAGES = frozenset("agent-switched model-switched synthetic system skill compaction idle".split())
"""The same for messages since 2.0."""
PERSON_COMMAND = "The following tool was executed by the user"
"""Prefix of the program's text above a command that a person ran in opencode's prompt."""
MS_MAX = 7_258_118_400_000
"""The year 2200: later times are invalid."""
REPEATED_METADATA: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {**dict.fromkeys(SHELLS, ("output",)), **dict.fromkeys(TASKS, ("summary",)), "read": ("display",)}
)
"""Metadata that repeats a call's output, or another session."""
DROPPED_METADATA = ("diagnostics", "preview")


class SessionReadState:
    """State of reading sessions."""

    def __init__(self, starts: Starts) -> None:
        self.starts = starts
        self.id = self.root = "unknown"
        self.directory: str | None = None
        self.version: str | None = None
        self.at = format_timestamp(0)
        self.message: Fields = {}
        self.message_id = ""
        self.typed: list[tuple[int, str]] = []
        self.person_messages: set[str] = set()
        self.opened = OpenedSessions()

    def read_lines(self, lines: Iterable[FileLine | LineProblem]) -> Iterator[LineResult]:
        """Yield the result of each line."""
        for line in lines:
            value = line if isinstance(line, LineProblem) else parse_transcript_object(line)
            if isinstance(value, LineProblem):
                yield value
            elif value is not None and isinstance(line, FileLine):
                yield from self._row(line.number, value)
        yield from self._prompt()

    def _row(self, number: int, value: dict[str, Json]) -> Iterator[LineResult]:
        kind, name = get_string(value.get("table")), get_string(value.get("id")) or ""
        if kind in ("session", "message", "session_message"):
            yield from self._prompt()
        if kind == "session":
            self.id, self.root = name, get_string(value.get("root")) or name
            self.directory, self.version = get_string(value.get("directory")), get_string(value.get("version"))
            self._update_time(value.get("created"))
            yield SkippedLine("session", True, self.version)
        elif kind == "session_message":
            yield from self._read_v2_message(
                number, name, get_string(value.get("type")) or "(no type)", value.get("data")
            )
        elif kind in ("message", "part"):
            yield from self._read_row(number, kind, name, value.get("data"))
        else:
            yield SkippedLine(kind or "(no type)", False)

    def _read_row(self, number: int, kind: str, name: str, data: Json) -> Iterator[LineResult]:
        fields = parse_part_object(data)
        if fields is None:
            yield LineProblem(number, f"{kind} '{name}' is not a JSON object")
        elif kind == "message":
            self._begin(name, fields)
            role = get_string(fields.get("role")) or "(no role)"
            yield SkippedLine(f"message of {role}", role in ("user", "assistant"))
        else:
            yield from self._part(number, name, fields)

    def _read_v2_message(self, number: int, name: str, kind: str, data: Json) -> Iterator[LineResult]:
        """Yield the records of a message since 2.0, which contains its calls."""
        fields = parse_part_object(data)
        if fields is None:
            yield LineProblem(number, f"message '{name}' is not a JSON object")
            return
        self._begin(name, {**fields, "role": kind})
        if kind == "location-switched":
            self.directory = get_string(get_fields(fields.get("location")).get("directory")) or self.directory
        if kind == "user":
            self._text(number, get_string(fields.get("text")) or "", {})
        what = "command of a person" if kind == "shell" else f"message of {kind}"
        yield SkippedLine(what, kind in ("user", "assistant", "shell", "location-switched") or kind in SKIPPED_MESSAGES)
        for part in map(get_fields, get_items(fields.get("content")) if kind == "assistant" else ()):
            yield from self._part(
                number, name, tool_part_from_message(part) if part.get("type") == "tool" else dict(part)
            )

    def _begin(self, name: str, fields: Fields) -> None:
        self.message_id, self.message = name, fields
        self._update_time(get_fields(fields.get("time")).get("created"))

    # --- parts --------------------------------------------------------------------------------------------------------

    def _part(self, number: int, name: str, fields: dict[str, Json]) -> Iterator[LineResult]:
        kind = get_string(fields.get("type")) or "(no type)"
        if kind == "tool":
            yield from self._tool(number, name, fields)
            return
        if kind == "text" and self.message.get("role") == "user":
            self._text(number, get_string(fields.get("text")) or "", fields)
        yield SkippedLine(kind, kind == "text" or kind in SKIPPED_PARTS)

    def _text(self, number: int, text: str, fields: Fields) -> None:
        if fields.get("synthetic") is True or fields.get("ignored") is True:
            if text.startswith(PERSON_COMMAND):
                self.person_messages.add(self.message_id)
        elif text.strip():
            self.typed.append((number, text))

    def _prompt(self) -> Iterator[TranscriptLine]:
        """Yield a prompt once all parts of its message are read; a subagent's prompt is not a person's."""
        typed, self.typed = self.typed, []
        if not typed or self._subagent is not None:
            return
        output = "\n".join(text for _, text in typed)
        created = get_fields(self.message.get("time")).get("created")
        digest = hashlib.sha256(output.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        payload: dict[str, Json] = {"type": "prompt", "message": self._message_info(), "text": output}
        yield TranscriptLine(
            line=typed[0][0],
            id=f"prompt:{created}:{digest}",
            session=self.root,
            at=self.at,
            payload=payload,
            version=self.version,
            cwd=self.directory,
            opens=self._opens(),
        )

    def _tool(self, number: int, name: str, fields: dict[str, Json]) -> Iterator[LineResult]:
        tool, call, state = (
            get_string(fields.get("tool")),
            get_string(fields.get("callID")),
            get_fields(fields.get("state")),
        )
        status = get_string(state.get("status")) or "(no status)"
        if not tool or not call or not is_transcript_id(call):
            yield LineProblem(number, f"part '{name}' is a call without an id or a name")
        elif get_string(self.message.get("parentID")) in self.person_messages:
            yield SkippedLine("command of a person", True)
        elif status not in ENDED:
            yield SkippedLine(f"call that is {status}", status in UNFINISHED)
        else:
            time = get_fields(state.get("time"))
            self._update_time(time.get("end") or time.get("start"))
            yield self._call(number, name, fields, tool, call)

    def _call(self, number: int, part: str, fields: dict[str, Json], tool: str, call: str) -> TranscriptLine:
        state = get_fields(fields.get("state"))
        start = get_fields(state.get("time")).get("start")
        use = add_call_state(empty_tool_use(OPENCODE, tool), state)
        cwd = get_string(get_fields(self.message.get("path")).get("cwd")) or self.directory
        entry: dict[str, Json] = {"id": qualify_call_id(self.id, self.root, call), "name": tool[:200]}
        files = () if use.failed else (*list_changed_paths(tool, use.input, use.response), *list_written_paths(use))
        return TranscriptLine(
            line=number,
            id=to_transcript_id(f"{call}:{start}" if isinstance(start, int) else part),
            session=self.root,
            at=self.at,
            payload={"type": "call", "message": self._message_info(), "part": _slim_tool_part(fields, tool)},
            version=self.version,
            cwd=cwd,
            calls=[entry if cwd is None else {**entry, "cwd": cwd}],
            edits=tuple(ChangedFile(name, cwd) for name in files),
            commits=find_printed_commits(read_shell_run(use)),
            subagent=self._subagent,
            parent_call=self._parent(),
            opens=self._opens(),
            begun=1,
        )

    # --- around them --------------------------------------------------------------------------------------------------

    @property
    def _subagent(self) -> str | None:
        return None if self.id == self.root else self.id

    def _parent(self) -> str | None:
        return self.starts.get((self.root, self.id))

    def _message_info(self) -> dict[str, Json]:
        about: dict[str, Json] = {"id": self.message_id, "model": self._model()}
        return {name: value for name, value in about.items() if value is not None}

    def _model(self) -> str | None:
        chosen = get_fields(self.message.get("model"))
        return (
            get_string(self.message.get("modelID")) or get_string(chosen.get("modelID")) or get_string(chosen.get("id"))
        )

    def _opens(self) -> OpenedScope | None:
        return self.opened.opens(self.root, None if self._subagent is not None else self._model())

    def _update_time(self, value: object) -> None:
        """Update the time from milliseconds; an invalid value keeps the last time."""
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < MS_MAX:
            self.at = format_timestamp(int(value * 1000) * 1000)


def tool_part_from_message(fields: Fields) -> dict[str, Json]:
    """Return a call of a message since 2.0 in the older shape of a part."""
    state, time = get_fields(fields.get("state")), get_fields(fields.get("time"))
    texts = [get_string(get_fields(item).get("text")) for item in get_items(state.get("content"))]
    error = state.get("error")
    entry: dict[str, Json] = {
        "status": state.get("status"),
        "input": state.get("input"),
        "output": "\n".join(text for text in texts if text),
        "error": get_string(error) or get_string(get_fields(error).get("message")),
        "metadata": state.get("metadata", state.get("structured")),
        "time": {"start": time.get("ran", time.get("created")), "end": time.get("completed")},
    }
    return {"type": "tool", "tool": fields.get("name"), "callID": fields.get("id"), "state": entry}


def list_message_parts(row: Fields) -> list[dict[str, Json]]:
    """Return the parts of a row of either kind."""
    data = get_fields(parse_part_object(row.get("data")))
    if row.get("table") != "session_message":
        return [dict(data)]
    return [
        tool_part_from_message(part)
        for part in map(get_fields, get_items(data.get("content")))
        if part.get("type") == "tool"
    ]


def qualify_call_id(session: str, root: str, call: str) -> str:
    """Return a call's id, qualified by a subagent's session: some models number calls from zero in each session."""
    return call if session == root else f"{session}/{call}"


def add_call_state(use: ToolUse, state: Fields) -> ToolUse:
    """Return the call with the input and result of its final state."""
    return replace(
        use,
        input=get_fields(state.get("input")),
        response=get_fields(state.get("metadata")),
        result=get_string(state.get("output")) or get_string(state.get("error")) or "",
        failed=state.get("status") == "error",
    )


def parse_part_object(data: Json) -> dict[str, Json] | None:
    """Return the object that a database stores as text and a file as JSON; None for anything else."""
    value = parse_payload_json(data, "surrogatepass") if isinstance(data, str) else data
    return value if isinstance(value, dict) else None


def _slim_tool_part(fields: dict[str, Json], tool: str) -> dict[str, Json]:
    """Return a call without repeated content and without the program's own fields."""
    state = get_fields(fields.get("state"))
    metadata = dict(get_fields(state.get("metadata")))
    twice = {*DROPPED_METADATA, *REPEATED_METADATA.get(tool, ())}
    if "filediff" in metadata or "files" in metadata:
        twice.add("diff")
    slim: dict[str, Json] = {key: state[key] for key in ("status", "input", "output", "error", "time") if key in state}
    slim["metadata"] = {key: value for key, value in metadata.items() if key not in twice}
    return {"tool": tool, "callID": fields.get("callID"), "state": slim}
