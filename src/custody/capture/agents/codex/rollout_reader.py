"""How one rollout of Codex CLI is read, line by line: what is kept of each, and what earlier lines add to it.

A thread that was forked begins with a copy of the lines of the one before, all written at once: these are the older
session's, and have the ids that they have in its own file. What a model thought is not kept, nor its instructions.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from custody.capture.agent_event import PendingCalls
from custody.capture.agents.codex import line_shapes as shapes
from custody.capture.agents.codex.tool_calls import (
    APPLY_PATCH,
    BASH,
    ToolInput,
    changes_by,
    folder_of,
    outcome,
    parse_tool_input,
)
from custody.capture.agents.codex.tool_calls import trim_tool_output as kept_answer
from custody.capture.command_facts import ToolOutput, commits_in, find_written_files
from custody.capture.line_reader import FileLine, root_session
from custody.capture.patch import PatchedFile, read_event_changes
from custody.capture.transcripts import (
    ChangedFile,
    LineProblem,
    LineResult,
    OpenedSessions,
    SkippedLine,
    Starts,
    TranscriptLine,
    is_id,
    newer_version,
    timestamp_in,
)
from custody.capture.typed_field import Fields, get_string, model
from custody.core.wire.canonical import Json, dump
from custody.core.wire.time import ns_from

# What is kept of a line of a rollout, and the name that it is kept under.


NAMES_MAX = 200_000
CALL_CHARS_MIN = 16
"""A call's id of so many characters is one of its own in the world; a shorter one only within its session."""

_ADDED_BY_FORKS = frozenset(("id", "internal_chat_message_metadata_passthrough"))
_LEFT_OUT = frozenset(
    "base_instructions instructions dynamic_tools parsed_cmd formatted_output encrypted_content"
    " encrypted_function_args internal_chat_message_metadata_passthrough images local_images text_elements".split()
)
"""Instructions, thoughts, pictures, and what stands in the line twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLine:
    """A line that is to be kept: its kind and what is in it, and what the lines before add."""

    kind: str
    inner: Mapping[str, Json]
    calls: list[dict[str, Json]] = field(default_factory=list)
    edits: tuple[ChangedFile, ...] = ()
    commits: tuple[str, ...] = ()
    beside: Mapping[str, Json] = field(default_factory=dict)
    begun: int = 0

    def slim(self) -> dict[str, Json]:
        """What is in it, without what nobody will ask for."""
        kept = _without(self.inner)
        item = kept.get("item")
        return {**kept, "item": _without(item)} if isinstance(item, dict) else kept


def _without(inner: Mapping[str, Json]) -> dict[str, Json]:
    # What was printed stands in them too, apart for each stream.
    streams = ("stdout", "stderr") if inner.get("aggregated_output") else ()
    return {name: value for name, value in inner.items() if name not in _LEFT_OUT and name not in streams}


def list_changed_files(changes: Sequence[PatchedFile], cwd: str | None) -> tuple[ChangedFile, ...]:
    """The files that changes touch."""
    return tuple(ChangedFile(name, cwd) for name in dict.fromkeys(name for change in changes for name in change.names))


def digest_of(inner: Mapping[str, Json]) -> str:
    """What is the same in a line and in its copy."""
    same = {name: value for name, value in inner.items() if name not in _ADDED_BY_FORKS}
    return hashlib.sha256(dump(same)).hexdigest()[:32]


def root_of(session: str, starts: Starts) -> str:
    """The session that a thread is part of: older rollouts name the thread above, which may be a subagent's too.

    >>> root_of("child", {("top", "child"): "call_1", ("child", "grandchild"): "call_2"})
    'top'
    """
    return root_session(session, lambda child: next((told for told, subagent in starts if subagent == child), None))


class LineNames:
    """The names of a file's lines: the same in a copy, and one for each line."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    def again(self, name: str) -> int:
        """How often ``name`` was asked for before."""
        count = self._count[name]
        if count or len(self._count) < NAMES_MAX:
            self._count[name] += 1
        return count

    def of(self, session: str, kept: KeptLine) -> str:
        """The line's own name: by its call, else by its session and content; what is said twice is numbered."""
        inner = kept.inner
        # A fork gives names to messages that had none.
        call = None if inner.get("type") == "message" else shapes.call_id(inner)
        name = f"{shapes.name_of(kept.kind, inner)}:{call}"
        if call is None or len(call) < CALL_CHARS_MIN or not is_id(name):
            own = call if kept.kind == "session_meta" else None
            name = f"{_short(session)}:{_short(own) if own else digest_of(inner)}"
        count = self.again(name)
        return f"{name}-{count}" if count else name


def _short(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]


KNOWN_MAJOR = 0
"""The newest major version of Codex CLI that this reader was held to."""
REMEMBERED_MAX = 200_000
COPY_GAP_NS = 1_000_000_000
"""Copied lines are written at once; what comes later than this after one is the thread's own."""
SHA_CHARS = 40


class RolloutState:
    """How far one file was read, and what later lines will ask of earlier ones."""

    def __init__(self, starts: Starts, session: str, at: str) -> None:
        self.starts = starts
        self.session = session
        self.at = at
        self.subagent: str | None = None
        self.own: shapes.RolloutOrigin | None = None
        self.cwd: str | None = None
        self.turn: str | None = None
        self.model: str | None = None
        self.version: str | None = None
        self.has_events = False
        self.copying = False
        self.first_own = 0
        """By its ordinal, the first line that is the thread's own."""
        self.opened = OpenedSessions()
        self.waiting = PendingCalls()
        self.begun = PendingCalls()
        """Patches that were begun, with their changes: older ends do not repeat them."""
        self.told: set[str] = set()
        """Calls whose effect a line of its own has told, and searches that were told."""
        self.names = LineNames()
        self._read: Mapping[str, Callable[[FileLine, dict[str, Json]], KeptLine | None]] = {
            "session_meta": self._meta,
            "turn_context": self._turn,
            "response_item": self._response,
            "event_msg": self._event,
        }

    def line(self, line: FileLine, value: dict[str, Json]) -> Iterator[LineResult]:
        """What one line holds."""
        kind, inner = shapes.unwrapped(value)
        # Rollouts have had events for as long as their lines have had envelopes.
        self.has_events = self.has_events or inner is not value
        yield from self._moment(line, value, kind)
        if kind == "session_meta":
            yield from self._newer(line, inner)
        read = self._read.get(kind)
        kept = read(line, dict(inner)) if read is not None and self._is_own(value, kind) else None
        if kept is None:
            yield SkippedLine(shapes.name_of(kind, inner), shapes.is_known(kind, inner), self.version)
        else:
            yield self._found(line, kept)
        if kind == "session_meta" and kept is not None and self.own is not None and self.own.forked_from is not None:
            # The copy may begin without a word about whose it is.
            self.copying, self.session, self.subagent = True, self.own.forked_from, None

    def _moment(self, line: FileLine, value: Fields, kind: str) -> Iterator[LineProblem]:
        """Take up when the line was written; a pause ends what was copied."""
        timestamp = timestamp_in(line.number, value.get("timestamp"))
        if isinstance(timestamp, LineProblem):
            yield timestamp
        elif timestamp is not None:
            later = ns_from(timestamp) - ns_from(self.at) > COPY_GAP_NS
            if self.copying and later and self.own is not None and kind != "session_meta":
                self.copying = False
                self._follow(self.own)
            self.at = timestamp

    def _newer(self, line: FileLine, meta: Fields) -> Iterator[LineProblem]:
        said = get_string(meta.get("cli_version"))
        if said is not None and said != self.version:
            yield from newer_version(line.number, said, KNOWN_MAJOR)
        self.version = said or self.version

    def _is_own(self, value: Fields, kind: str) -> bool:
        ordinal = value.get("ordinal")
        return kind == "session_meta" or not isinstance(ordinal, int) or ordinal >= self.first_own

    def _follow(self, origin: shapes.RolloutOrigin) -> None:
        self.session, self.subagent = origin.session, origin.subagent
        self.cwd = origin.cwd or self.cwd

    # --- kinds of lines -----------------------------------------------------------------------------------------------

    def _meta(self, _line: FileLine, inner: dict[str, Json]) -> KeptLine | None:
        origin = shapes.origin_of(inner)
        if origin is None or (self.own is not None and origin.thread == self.own.thread):
            return None  # a session that goes on says once more which one it is
        if origin.subagent is not None:
            origin = replace(origin, session=root_of(origin.session, self.starts))
        self._follow(origin)
        if self.own is not None:
            self.copying = True
            return None
        self.own = origin
        start = inner.get("subagent_history_start_ordinal")
        self.first_own = start if isinstance(start, int) else 0
        return KeptLine(kind="session_meta", inner=inner)

    def _turn(self, _line: FileLine, inner: dict[str, Json]) -> KeptLine | None:
        self.turn = get_string(inner.get("turn_id")) or self.turn
        self.cwd = get_string(inner.get("cwd")) or self.cwd
        self.model = model(inner.get("model")) or self.model
        if self.subagent is not None or self.opened.model(self.session) == self.model:
            return None
        kept = {str(name): inner[name] for name in ("turn_id", "cwd", "model", "effort") if name in inner}
        return KeptLine(kind="turn_context", inner=kept)

    def _response(self, line: FileLine, inner: dict[str, Json]) -> KeptLine | None:
        kind = get_string(inner.get("type"))
        if kind in shapes.CALLS:
            return self._begin(line, inner)
        if kind in shapes.OUTPUTS:
            return self._finish(inner)
        if (search := shapes.read_web_search(inner)) is not None:
            return self._searched("response_item", inner, search)
        if kind != "message":
            return None
        self.cwd = self.cwd or shapes.read_message_folder(inner)
        if inner.get("role") == "assistant":
            return KeptLine(kind="response_item", inner=inner)
        # Where there are events, they tell what was typed.
        return None if self.has_events else self._typed("response_item", inner)

    def _event(self, line: FileLine, inner: dict[str, Json]) -> KeptLine | None:
        kind, call = get_string(inner.get("type")), shapes.call_id(inner)
        if kind in ("task_started", "turn_started"):
            self.turn = get_string(inner.get("turn_id")) or self.turn
        if kind == "patch_apply_begin" and call:
            self.begun.put(call, {"changes": inner.get("changes")}, line.size)
        if (search := shapes.read_web_search(inner)) is not None:
            return self._searched("event_msg", inner, search)
        if shapes.read_typed_prompt(inner) is not None:
            return self._typed("event_msg", inner)
        if (patch := shapes.read_patch_end(inner)) is not None:
            return self._patched(inner, patch)
        if (end := shapes.read_command_end(inner)) is not None:
            return self._ended(inner, end)
        return None

    # --- calls --------------------------------------------------------------------------------------------------------

    def _begin(self, line: FileLine, inner: dict[str, Json]) -> KeptLine | None:
        call = shapes.call_id(inner)
        tool, given = shapes.read_call_start(inner)
        if not call or not tool:
            return None
        self.waiting.put(call, _made(call, tool, given, folder_of(given.folder, self.cwd)), line.size)
        return KeptLine(kind="response_item", inner=inner, begun=1)

    def _finish(self, inner: dict[str, Json]) -> KeptLine | None:
        call = shapes.call_id(inner)
        if not call:
            return None
        made = self.waiting.pop(call)
        answer = outcome("" if made is None else str(made["name"]), inner.get("output"))
        if isinstance(inner.get("output"), str) and (answer.code is not None or answer.refused):
            inner["output"] = kept_answer(answer)
        if made is None or call in self.told:
            known: list[dict[str, Json]] = [] if made is None else [{"id": call, "name": made["name"]}]
            return KeptLine(kind="response_item", inner=inner, calls=known)
        tool, cwd = str(made["name"]), get_string(made.get("cwd"))
        given = parse_tool_input(tool, made.get("input"))
        edits = _touched(tool, given, answer, cwd)
        return KeptLine(kind="response_item", inner=inner, calls=[made], edits=edits, commits=_commits(given, answer))

    def _patched(self, inner: dict[str, Json], patch: shapes.PatchEnd) -> KeptLine:
        begun = self.begun.pop(patch.call) or {}
        changes = patch.changes or begun.get("changes")
        made = self.waiting.get(patch.call) or {}
        if not patch.applied or changes:
            self._tell(patch.call)
        return KeptLine(
            kind="event_msg",
            inner=inner,
            calls=[{"id": patch.call, "name": str(made.get("name", APPLY_PATCH))}],
            edits=list_changed_files(read_event_changes(changes), get_string(made.get("cwd")) or self.cwd)
            if patch.applied
            else (),
            beside={} if patch.changes else begun,
        )

    def _ended(self, inner: dict[str, Json], end: shapes.CommandEnd) -> KeptLine:
        cwd = folder_of(end.given.folder, self.cwd)
        if end.call in self.told:
            return KeptLine(kind="event_msg", inner=inner, calls=[{"id": end.call, "name": BASH}])
        self._tell(end.call)
        return KeptLine(
            kind="event_msg",
            inner=inner,
            calls=[_made(end.call, BASH, end.given, cwd)],
            edits=_touched(BASH, end.given, end.answer, cwd),
            commits=_commits(end.given, end.answer),
        )

    def _tell(self, what: str) -> None:
        if len(self.told) < REMEMBERED_MAX:
            self.told.add(what)

    def _searched(self, kind: str, inner: dict[str, Json], search: shapes.WebSearchLine) -> KeptLine | None:
        """A search once: an event and an item tell of the same one, and not every item has a name."""
        by_action = f"{self.turn}:{digest_of(dict(search.action))}"
        if (search.call or by_action) in self.told:
            return None
        for name in filter(None, (search.call, by_action)):
            self._tell(name)
        return KeptLine(kind=kind, inner=inner, begun=1)

    def _typed(self, kind: str, inner: dict[str, Json]) -> KeptLine | None:
        said = shapes.read_typed_prompt(inner)
        programs = self.subagent is not None or (self.own is not None and self.own.by_program and not self.copying)
        if said is None or programs or not shapes.is_typed(said):
            return None
        if self.turn is None:
            return KeptLine(kind=kind, inner=inner)
        # One turn may be told several things: the first is what a hook hears under the turn's name.
        count = self.names.again(f"turn:{self.turn}")
        return KeptLine(kind=kind, inner=inner, beside={"prompt": f"{self.turn}:{count}" if count else self.turn})

    # --- what is kept -------------------------------------------------------------------------------------------------

    def _found(self, line: FileLine, kept: KeptLine) -> TranscriptLine:
        around: dict[str, Json] = {"turn": self.turn, "model": self.model, **kept.beside}
        beside: dict[str, Json] = {name: value for name, value in around.items() if value is not None}
        return TranscriptLine(
            line=line.number,
            id=self.names.of(self.session, kept),
            session=self.session,
            at=self.at,
            payload={"type": kept.kind, "payload": kept.slim(), "beside": beside},
            version=self.version,
            cwd=self.cwd,
            calls=kept.calls,
            edits=kept.edits,
            commits=kept.commits,
            subagent=self.subagent,
            parent_call=None if self.subagent is None else self.starts.get((self.session, self.subagent)),
            opens=self.opened.opens(self.session, None if self.subagent is not None else self.model),
            begun=kept.begun,
        )


def _made(call: str, tool: str, given: ToolInput, cwd: str | None) -> dict[str, Json]:
    made: dict[str, Json] = {"id": call, "name": tool, "input": given.kept()}
    return made if cwd is None else {**made, "cwd": cwd}


def _touched(tool: str, given: ToolInput, answer: ToolOutput, cwd: str | None) -> tuple[ChangedFile, ...]:
    """The files that a call changed by its own text."""
    patches = () if answer.failed else list_changed_files(changes_by(tool, given), cwd)
    return (*patches, *(ChangedFile(write.path, cwd) for write in find_written_files(given.command, answer)))


def _commits(given: ToolInput, answer: ToolOutput) -> tuple[str, ...]:
    return tuple(sha for sha in commits_in(given.command, answer) if len(sha) < SHA_CHARS)
