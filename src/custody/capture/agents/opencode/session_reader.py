"""opencode's sessions: what each message and each of its parts holds.

Followed: ``packages/schema/src/v1/session.ts`` at d545d8fb (1.18.18 of August 2026), ``session/message-v2.ts`` of
0.9.0, and since 2.0 ``packages/schema/src/session-message.ts`` (0ceb3dd5; databases of 2.0.12 and 2.0.26, autumn of
2026), where a message has its calls in it: each is put into the shape of before. A prompt is one record and each call
that has ended is one, so that a session that is read while it grows brings what is new the next time. They are named by
what a fork of the session copies unchanged, so that a copy counts once. A session says the version that made it; those
that 1.15 to 1.17 wrote were read with it. What a model thought, and what it said, is not kept.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import bare_use
from custody.capture.agents.opencode.tool_calls import SHELLS, TASKS, commits_of, names_changed, names_written
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
    is_id,
    object_in,
    valid_id,
)
from custody.capture.typed_field import Fields, fields, get_string, items, json_in
from custody.core.ids import AgentName
from custody.core.wire.canonical import Json
from custody.core.wire.time import text_from

OPENCODE = AgentName("opencode")
ENDED = frozenset(("completed", "error"))
UNDER_WAY = frozenset(("pending", "streaming", "running"))
PASSED_OVER = frozenset("reasoning file step-start step-finish snapshot patch agent retry compaction subtask".split())
"""Parts that say nothing of what was done; another is counted in the report by its name."""
QUIET = frozenset("agent-switched model-switched synthetic system skill compaction idle".split())
"""The same of messages since 2.0."""
BY_A_PERSON = "The following tool was executed by the user"
"""How the program's words begin above a command that a person ran in opencode's prompt."""
MS_MAX = 7_258_118_400_000
"""The year 2200: a later moment is none."""
TWICE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {**dict.fromkeys(SHELLS, ("output",)), **dict.fromkeys(TASKS, ("summary",)), "read": ("display",)}
)
"""What metadata repeats of a call's output, or of another session."""
LEFT_OUT = ("diagnostics", "preview")


class SessionReadState:
    """How far sessions were read."""

    def __init__(self, starts: Starts) -> None:
        self.starts = starts
        self.id = self.root = "unknown"
        self.directory: str | None = None
        self.version: str | None = None
        self.at = text_from(0)
        self.message: Fields = {}
        self.named = ""
        self.typed: list[tuple[int, str]] = []
        self.persons: set[str] = set()
        self.opened = OpenedSessions()

    def all(self, lines: Iterable[FileLine | LineProblem]) -> Iterator[LineResult]:
        """What the lines hold."""
        for line in lines:
            value = line if isinstance(line, LineProblem) else object_in(line)
            if isinstance(value, LineProblem):
                yield value
            elif value is not None and isinstance(line, FileLine):
                yield from self._row(line.number, value)
        yield from self._prompt()

    def _row(self, number: int, value: dict[str, Json]) -> Iterator[LineResult]:
        kind, named = get_string(value.get("table")), get_string(value.get("id")) or ""
        if kind in ("session", "message", "session_message"):
            yield from self._prompt()
        if kind == "session":
            self.id, self.root = named, get_string(value.get("root")) or named
            self.directory, self.version = get_string(value.get("directory")), get_string(value.get("version"))
            self._moment(value.get("created"))
            yield SkippedLine("session", True, self.version)
        elif kind == "session_message":
            yield from self._newer(number, named, get_string(value.get("type")) or "(no type)", value.get("data"))
        elif kind in ("message", "part"):
            yield from self._read_row(number, kind, named, value.get("data"))
        else:
            yield SkippedLine(kind or "(no type)", False)

    def _read_row(self, number: int, kind: str, named: str, data: Json) -> Iterator[LineResult]:
        said = object_of(data)
        if said is None:
            yield LineProblem(number, f"{kind} '{named}' is no JSON object")
        elif kind == "message":
            self._begin(named, said)
            role = get_string(said.get("role")) or "(no role)"
            yield SkippedLine(f"message of {role}", role in ("user", "assistant"))
        else:
            yield from self._part(number, named, said)

    def _newer(self, number: int, named: str, kind: str, data: Json) -> Iterator[LineResult]:
        """A message since 2.0, with all that was done in it."""
        said = object_of(data)
        if said is None:
            yield LineProblem(number, f"message '{named}' is no JSON object")
            return
        self._begin(named, {**said, "role": kind})
        if kind == "location-switched":
            self.directory = get_string(fields(said.get("location")).get("directory")) or self.directory
        if kind == "user":
            self._text(number, get_string(said.get("text")) or "", {})
        what = "command of a person" if kind == "shell" else f"message of {kind}"
        yield SkippedLine(what, kind in ("user", "assistant", "shell", "location-switched") or kind in QUIET)
        for part in map(fields, items(said.get("content")) if kind == "assistant" else ()):
            yield from self._part(number, named, part_of(part) if part.get("type") == "tool" else dict(part))

    def _begin(self, named: str, said: Fields) -> None:
        self.named, self.message = named, said
        self._moment(fields(said.get("time")).get("created"))

    # --- parts --------------------------------------------------------------------------------------------------------

    def _part(self, number: int, named: str, said: dict[str, Json]) -> Iterator[LineResult]:
        kind = get_string(said.get("type")) or "(no type)"
        if kind == "tool":
            yield from self._tool(number, named, said)
            return
        if kind == "text" and self.message.get("role") == "user":
            self._text(number, get_string(said.get("text")) or "", said)
        yield SkippedLine(kind, kind == "text" or kind in PASSED_OVER)

    def _text(self, number: int, words: str, said: Fields) -> None:
        if said.get("synthetic") is True or said.get("ignored") is True:
            if words.startswith(BY_A_PERSON):
                self.persons.add(self.named)
        elif words.strip():
            self.typed.append((number, words))

    def _prompt(self) -> Iterator[TranscriptLine]:
        """What was typed, once all parts of its message were seen; what a subagent is told nobody typed."""
        typed, self.typed = self.typed, []
        if not typed or self._subagent is not None:
            return
        words = "\n".join(text for _, text in typed)
        created = fields(self.message.get("time")).get("created")
        digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        payload: dict[str, Json] = {"type": "prompt", "message": self._about(), "text": words}
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

    def _tool(self, number: int, named: str, said: dict[str, Json]) -> Iterator[LineResult]:
        tool, call, state = get_string(said.get("tool")), get_string(said.get("callID")), fields(said.get("state"))
        status = get_string(state.get("status")) or "(no status)"
        if not tool or not call or not is_id(call):
            yield LineProblem(number, f"part '{named}' is a call without an id or a name")
        elif get_string(self.message.get("parentID")) in self.persons:
            yield SkippedLine("command of a person", True)
        elif status not in ENDED:
            yield SkippedLine(f"call that is {status}", status in UNDER_WAY)
        else:
            time = fields(state.get("time"))
            self._moment(time.get("end") or time.get("start"))
            yield self._call(number, named, said, tool, call)

    def _call(self, number: int, part: str, said: dict[str, Json], tool: str, call: str) -> TranscriptLine:
        state = fields(said.get("state"))
        start = fields(state.get("time")).get("start")
        use = add_state(bare_use(OPENCODE, tool), state)
        cwd = get_string(fields(self.message.get("path")).get("cwd")) or self.directory
        made: dict[str, Json] = {"id": call_name(self.id, self.root, call), "name": tool[:200]}
        files = () if use.failed else (*names_changed(tool, use.input, use.response), *names_written(use))
        return TranscriptLine(
            line=number,
            id=valid_id(f"{call}:{start}" if isinstance(start, int) else part),
            session=self.root,
            at=self.at,
            payload={"type": "call", "message": self._about(), "part": _slim(said, tool)},
            version=self.version,
            cwd=cwd,
            calls=[made if cwd is None else {**made, "cwd": cwd}],
            edits=tuple(ChangedFile(name, cwd) for name in files),
            commits=commits_of(use),
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

    def _about(self) -> dict[str, Json]:
        about: dict[str, Json] = {"id": self.named, "model": self._model()}
        return {name: value for name, value in about.items() if value is not None}

    def _model(self) -> str | None:
        chosen = fields(self.message.get("model"))
        return (
            get_string(self.message.get("modelID")) or get_string(chosen.get("modelID")) or get_string(chosen.get("id"))
        )

    def _opens(self) -> OpenedScope | None:
        return self.opened.opens(self.root, None if self._subagent is not None else self._model())

    def _moment(self, said: object) -> None:
        """Take up a moment in milliseconds; what is none leaves the last one."""
        if isinstance(said, int | float) and not isinstance(said, bool) and 0 < said < MS_MAX:
            self.at = text_from(int(said * 1000) * 1000)


def part_of(said: Fields) -> dict[str, Json]:
    """A call as it stands in a message since 2.0, in the shape that its part had before."""
    state, time = fields(said.get("state")), fields(said.get("time"))
    texts = [get_string(fields(item).get("text")) for item in items(state.get("content"))]
    error = state.get("error")
    told: dict[str, Json] = {
        "status": state.get("status"),
        "input": state.get("input"),
        "output": "\n".join(text for text in texts if text),
        "error": get_string(error) or get_string(fields(error).get("message")),
        "metadata": state.get("metadata", state.get("structured")),
        "time": {"start": time.get("ran", time.get("created")), "end": time.get("completed")},
    }
    return {"type": "tool", "tool": said.get("name"), "callID": said.get("id"), "state": told}


def parts_in(row: Fields) -> list[dict[str, Json]]:
    """The parts that a row of either kind holds."""
    data = fields(object_of(row.get("data")))
    if row.get("table") != "session_message":
        return [dict(data)]
    return [part_of(part) for part in map(fields, items(data.get("content"))) if part.get("type") == "tool"]


def call_name(session: str, root: str, call: str) -> str:
    """A call's name: with its session for a subagent's, since some models count calls from nought in each."""
    return call if session == root else f"{session}/{call}"


def add_state(use: ToolUse, state: Fields) -> ToolUse:
    """A call that ended, with what its state says of it."""
    return replace(
        use,
        input=fields(state.get("input")),
        response=fields(state.get("metadata")),
        words=get_string(state.get("output")) or get_string(state.get("error")) or "",
        failed=state.get("status") == "error",
    )


def object_of(data: Json) -> dict[str, Json] | None:
    """The object that a database keeps as text and a file as it is; None for anything else."""
    value = json_in(data, "surrogatepass") if isinstance(data, str) else data
    return value if isinstance(value, dict) else None


def _slim(said: dict[str, Json], tool: str) -> dict[str, Json]:
    """A call with what stands twice in it once, and without what only the program needs."""
    state = fields(said.get("state"))
    metadata = dict(fields(state.get("metadata")))
    twice = {*LEFT_OUT, *TWICE.get(tool, ())}
    if "filediff" in metadata or "files" in metadata:
        twice.add("diff")
    kept: dict[str, Json] = {key: state[key] for key in ("status", "input", "output", "error", "time") if key in state}
    kept["metadata"] = {key: value for key, value in metadata.items() if key not in twice}
    return {"tool": tool, "callID": said.get("callID"), "state": kept}
