"""The reader of one rollout of Codex CLI: what is stored of each line, and what earlier lines add to it.

A forked thread begins with a copy of its origin's lines, all written at once. These belong to the older session and
keep the ids of its own file. Thinking and instructions are not stored.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from custody.capture.agent_event import PendingCalls
from custody.capture.agents.codex import line_shapes as shapes
from custody.capture.agents.codex.tool_calls import (
    APPLY_PATCH,
    BASH,
    extract_patch_changes,
    find_shell_command,
    parse_rollout_output,
    parse_tool_input,
    resolve_call_folder,
    trim_tool_output,
)
from custody.capture.command_facts import find_printed_commits, find_written_files
from custody.capture.line_reader import FileLine, find_root_session
from custody.capture.patch import PatchedFile, parse_event_changes
from custody.capture.tool_use import ShellRun, ToolOutput, ToolUse
from custody.capture.transcripts import (
    ChangedFile,
    LineProblem,
    LineResult,
    OpenedSessions,
    SkippedLine,
    Starts,
    TranscriptLine,
    check_agent_version,
    check_line_timestamp,
    find_parent_call,
    is_transcript_id,
)
from custody.capture.typed_field import Fields, get_agent_model, get_string
from custody.core.wire.canonical import Json, dump_canonical_json
from custody.core.wire.time import parse_timestamp

# The stored part of a line, and its id.


NAMES_MAX = 200_000
CALL_CHARS_MIN = 16
"""A call's id of this length is globally unique; a shorter id only within its session."""

_ADDED_BY_FORKS = frozenset(("id", "internal_chat_message_metadata_passthrough"))
_LEFT_OUT = frozenset(
    "base_instructions instructions dynamic_tools parsed_cmd formatted_output encrypted_content"
    " encrypted_function_args internal_chat_message_metadata_passthrough images local_images text_elements".split()
)
"""Instructions, thinking, pictures, and repeated content."""


class StoredLine(Struct, frozen=True, kw_only=True):
    """A line to store: its kind, its content, and what earlier lines add."""

    kind: str
    inner: Mapping[str, Json]
    calls: list[dict[str, Json]] = field(default_factory=list)
    edits: tuple[ChangedFile, ...] = ()
    commits: tuple[str, ...] = ()
    beside: Mapping[str, Json] = field(default_factory=dict)
    begun: int = 0

    def slim(self) -> dict[str, Json]:
        """Return the content without fields that no view needs."""
        fields = _drop_rollout_fields(self.inner)
        item = fields.get("item")
        return {**fields, "item": _drop_rollout_fields(item)} if isinstance(item, dict) else fields


def _drop_rollout_fields(inner: Mapping[str, Json]) -> dict[str, Json]:
    # The streams repeat the aggregated output.
    streams = ("stdout", "stderr") if inner.get("aggregated_output") else ()
    return {name: value for name, value in inner.items() if name not in _LEFT_OUT and name not in streams}


def list_changed_files(changes: Sequence[PatchedFile], cwd: str | None) -> tuple[ChangedFile, ...]:
    """Return the files that changes touch."""
    return tuple(ChangedFile(name, cwd) for name in dict.fromkeys(name for change in changes for name in change.names))


def digest_rollout_line(inner: Mapping[str, Json]) -> str:
    """Return a digest that a line and its copy share."""
    same = {name: value for name, value in inner.items() if name not in _ADDED_BY_FORKS}
    return hashlib.sha256(dump_canonical_json(same)).hexdigest()[:32]


def resolve_thread_session(session: str, starts: Starts) -> str:
    """Return the session of a thread: older rollouts name the parent thread, which may be a subagent's too.

    >>> resolve_thread_session("child", {("top", "child"): "call_1", ("child", "grandchild"): "call_2"})
    'top'
    """
    return find_root_session(
        session, lambda child: next((parent for parent, subagent in starts if subagent == child), None)
    )


class LineNames:
    """The ids of a file's lines: equal in a copy, unique within the file."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    def count_uses(self, name: str) -> int:
        """Return how often ``name`` was used before, and count this use."""
        count = self._count[name]
        if count or len(self._count) < NAMES_MAX:
            self._count[name] += 1
        return count

    def name_line(self, session: str, stored: StoredLine) -> str:
        """Return the line's id: by its call, else by its session and content; repeated content is numbered."""
        inner = stored.inner
        # A fork gives ids to messages that had none.
        call = None if inner.get("type") == "message" else shapes.read_call_id(inner)
        name = f"{shapes.name_rollout_line(stored.kind, inner)}:{call}"
        if call is None or len(call) < CALL_CHARS_MIN or not is_transcript_id(name):
            own = call if stored.kind == "session_meta" else None
            name = f"{_digest_rollout_name(session)}:{_digest_rollout_name(own) if own else digest_rollout_line(inner)}"
        count = self.count_uses(name)
        return f"{name}-{count}" if count else name


def _digest_rollout_name(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]


KNOWN_MAJOR = 0
"""The newest major version of Codex CLI that this reader was tested with."""
REPORTED_MAX = 200_000
COPY_GAP_NS = 1_000_000_000
"""Copied lines are written at once; a line after a longer pause is the thread's own."""
SHA_CHARS = 40


class RolloutState:
    """State of reading one file: what later lines need from earlier ones."""

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
        """The ordinal of the thread's first own line."""
        self.opened = OpenedSessions()
        self.waiting = PendingCalls()
        self.patches = PendingCalls()
        """Started patches with their changes: older end lines do not repeat them."""
        self.reported: set[str] = set()
        """Calls and searches that a line of their own has reported."""
        self.names = LineNames()
        self._read: Mapping[str, Callable[[FileLine, dict[str, Json]], StoredLine | None]] = {
            "session_meta": self._meta,
            "turn_context": self._turn,
            "response_item": self._response,
            "event_msg": self._event,
        }

    def line(self, line: FileLine, value: dict[str, Json]) -> Iterator[LineResult]:
        """Yield the result of one line."""
        kind, inner = shapes.unwrap_rollout_line(value)
        # Rollouts with envelopes have events.
        self.has_events = self.has_events or inner is not value
        yield from self._read_timestamp(line, value, kind)
        if kind == "session_meta":
            yield from self._check_version(line, inner)
        read = self._read.get(kind)
        stored = read(line, dict(inner)) if read is not None and self._is_own(value, kind) else None
        if stored is None:
            yield SkippedLine(
                shapes.name_rollout_line(kind, inner), shapes.is_known_rollout_line(kind, inner), self.version
            )
        else:
            yield self._make_transcript_line(line, stored)
        if kind == "session_meta" and stored is not None and self.own is not None and self.own.forked_from is not None:
            # The copy may begin without naming its session.
            self.copying, self.session, self.subagent = True, self.own.forked_from, None

    def _read_timestamp(self, line: FileLine, value: Fields, kind: str) -> Iterator[LineProblem]:
        """Update the time; a pause ends a copied part."""
        timestamp = check_line_timestamp(line.number, value.get("timestamp"))
        if isinstance(timestamp, LineProblem):
            yield timestamp
        elif timestamp is not None:
            later = parse_timestamp(timestamp) - parse_timestamp(self.at) > COPY_GAP_NS
            if self.copying and later and self.own is not None and kind != "session_meta":
                self.copying = False
                self._follow(self.own)
            self.at = timestamp

    def _check_version(self, line: FileLine, meta: Fields) -> Iterator[LineProblem]:
        version = get_string(meta.get("cli_version"))
        if version is not None and version != self.version:
            yield from check_agent_version(line.number, version, KNOWN_MAJOR)
        self.version = version or self.version

    def _is_own(self, value: Fields, kind: str) -> bool:
        ordinal = value.get("ordinal")
        return kind == "session_meta" or not isinstance(ordinal, int) or ordinal >= self.first_own

    def _follow(self, origin: shapes.RolloutOrigin) -> None:
        self.session, self.subagent = origin.session, origin.subagent
        self.cwd = origin.cwd or self.cwd

    # --- kinds of lines -----------------------------------------------------------------------------------------------

    def _meta(self, _line: FileLine, inner: dict[str, Json]) -> StoredLine | None:
        origin = shapes.parse_rollout_origin(inner)
        if origin is None or (self.own is not None and origin.thread == self.own.thread):
            return None  # a resumed session repeats its metadata
        if origin.subagent is not None:
            origin = replace(origin, session=resolve_thread_session(origin.session, self.starts))
        self._follow(origin)
        if self.own is not None:
            self.copying = True
            return None
        self.own = origin
        start = inner.get("subagent_history_start_ordinal")
        self.first_own = start if isinstance(start, int) else 0
        return StoredLine(kind="session_meta", inner=inner)

    def _turn(self, _line: FileLine, inner: dict[str, Json]) -> StoredLine | None:
        self.turn = get_string(inner.get("turn_id")) or self.turn
        self.cwd = get_string(inner.get("cwd")) or self.cwd
        self.model = get_agent_model(inner.get("model")) or self.model
        if self.subagent is not None or self.opened.model(self.session) == self.model:
            return None
        fields = {str(name): inner[name] for name in ("turn_id", "cwd", "model", "effort") if name in inner}
        return StoredLine(kind="turn_context", inner=fields)

    def _response(self, line: FileLine, inner: dict[str, Json]) -> StoredLine | None:
        kind = get_string(inner.get("type"))
        if kind in shapes.CALLS:
            return self._begin(line, inner)
        if kind in shapes.OUTPUTS:
            return self._finish(inner)
        if (search := shapes.read_web_search(inner)) is not None:
            return self._read_web_search("response_item", inner, search)
        if kind != "message":
            return None
        self.cwd = self.cwd or shapes.read_message_folder(inner)
        if inner.get("role") == "assistant":
            return StoredLine(kind="response_item", inner=inner)
        # In rollouts with events, events report the prompts.
        return None if self.has_events else self._read_typed_prompt("response_item", inner)

    def _event(self, line: FileLine, inner: dict[str, Json]) -> StoredLine | None:
        kind, call = get_string(inner.get("type")), shapes.read_call_id(inner)
        if kind in ("task_started", "turn_started"):
            self.turn = get_string(inner.get("turn_id")) or self.turn
        if kind == "patch_apply_begin" and call:
            self.patches.put(call, {"changes": inner.get("changes")}, line.size)
        if (search := shapes.read_web_search(inner)) is not None:
            return self._read_web_search("event_msg", inner, search)
        if shapes.read_typed_prompt(inner) is not None:
            return self._read_typed_prompt("event_msg", inner)
        if (patch := shapes.read_patch_end(inner)) is not None:
            return self._read_patch_end(inner, patch)
        if (end := shapes.read_command_end(inner)) is not None:
            return self._read_command_end(inner, end)
        return None

    # --- calls --------------------------------------------------------------------------------------------------------

    def _begin(self, line: FileLine, inner: dict[str, Json]) -> StoredLine | None:
        call = shapes.read_call_id(inner)
        use = shapes.read_call_start(inner)
        if not call or not use.tool:
            return None
        self.waiting.put(call, _make_call_entry(call, use, resolve_call_folder(use.folder, self.cwd)), line.size)
        return StoredLine(kind="response_item", inner=inner, begun=1)

    def _finish(self, inner: dict[str, Json]) -> StoredLine | None:
        call = shapes.read_call_id(inner)
        if not call:
            return None
        entry = self.waiting.pop(call)
        answer = parse_rollout_output("" if entry is None else str(entry["name"]), inner.get("output"))
        if isinstance(inner.get("output"), str) and (answer.code is not None or answer.refused):
            inner["output"] = trim_tool_output(answer)
        if entry is None or call in self.reported:
            known: list[dict[str, Json]] = [] if entry is None else [{"id": call, "name": entry["name"]}]
            return StoredLine(kind="response_item", inner=inner, calls=known)
        use = parse_tool_input(str(entry["name"]), entry.get("input"))
        edits = _find_changed_files(use, answer, get_string(entry.get("cwd")))
        return StoredLine(
            kind="response_item", inner=inner, calls=[entry], edits=edits, commits=_find_short_commits(use, answer)
        )

    def _read_patch_end(self, inner: dict[str, Json], patch: shapes.PatchEnd) -> StoredLine:
        begun = self.patches.pop(patch.call) or {}
        changes = patch.changes or begun.get("changes")
        entry = self.waiting.get(patch.call) or {}
        if not patch.applied or changes:
            self._mark_reported(patch.call)
        return StoredLine(
            kind="event_msg",
            inner=inner,
            calls=[{"id": patch.call, "name": str(entry.get("name", APPLY_PATCH))}],
            edits=list_changed_files(parse_event_changes(changes), get_string(entry.get("cwd")) or self.cwd)
            if patch.applied
            else (),
            beside={} if patch.changes else begun,
        )

    def _read_command_end(self, inner: dict[str, Json], end: shapes.CommandEnd) -> StoredLine:
        cwd = resolve_call_folder(end.use.folder, self.cwd)
        if end.call in self.reported:
            return StoredLine(kind="event_msg", inner=inner, calls=[{"id": end.call, "name": BASH}])
        self._mark_reported(end.call)
        return StoredLine(
            kind="event_msg",
            inner=inner,
            calls=[_make_call_entry(end.call, end.use, cwd)],
            edits=_find_changed_files(end.use, end.answer, cwd),
            commits=_find_short_commits(end.use, end.answer),
        )

    def _mark_reported(self, what: str) -> None:
        if len(self.reported) < REPORTED_MAX:
            self.reported.add(what)

    def _read_web_search(self, kind: str, inner: dict[str, Json], search: shapes.WebSearchLine) -> StoredLine | None:
        """Return a search once: an event and an item report the same search, and not every item has an id."""
        by_action = f"{self.turn}:{digest_rollout_line(dict(search.action))}"
        if (search.call or by_action) in self.reported:
            return None
        for name in filter(None, (search.call, by_action)):
            self._mark_reported(name)
        return StoredLine(kind=kind, inner=inner, begun=1)

    def _read_typed_prompt(self, kind: str, inner: dict[str, Json]) -> StoredLine | None:
        value = shapes.read_typed_prompt(inner)
        programs = self.subagent is not None or (self.own is not None and self.own.by_program and not self.copying)
        if value is None or programs or not shapes.is_typed_prompt(value):
            return None
        if self.turn is None:
            return StoredLine(kind=kind, inner=inner)
        # A turn may have several prompts: the hook reports the first under the turn's id.
        count = self.names.count_uses(f"turn:{self.turn}")
        return StoredLine(kind=kind, inner=inner, beside={"prompt": f"{self.turn}:{count}" if count else self.turn})

    # --- what is kept -------------------------------------------------------------------------------------------------

    def _make_transcript_line(self, line: FileLine, stored: StoredLine) -> TranscriptLine:
        around: dict[str, Json] = {"turn": self.turn, "model": self.model, **stored.beside}
        beside: dict[str, Json] = {name: value for name, value in around.items() if value is not None}
        return TranscriptLine(
            line=line.number,
            id=self.names.name_line(self.session, stored),
            session=self.session,
            at=self.at,
            payload={"type": stored.kind, "payload": stored.slim(), "beside": beside},
            version=self.version,
            cwd=self.cwd,
            calls=stored.calls,
            edits=stored.edits,
            commits=stored.commits,
            subagent=self.subagent,
            parent_call=find_parent_call(self.starts, self.session, self.subagent),
            opens=self.opened.opens(self.session, None if self.subagent is not None else self.model),
            begun=stored.begun,
        )


def _make_call_entry(call: str, use: ToolUse, cwd: str | None) -> dict[str, Json]:
    entry: dict[str, Json] = {"id": call, "name": use.tool, "input": dict(use.input)}
    return entry if cwd is None else {**entry, "cwd": cwd}


def _find_changed_files(use: ToolUse, answer: ToolOutput, cwd: str | None) -> tuple[ChangedFile, ...]:
    """Return the files that a call changed by its own text."""
    patches = () if answer.failed else list_changed_files(extract_patch_changes(use), cwd)
    writes = find_written_files(ShellRun(find_shell_command(use), answer))
    return (*patches, *(ChangedFile(write.path, cwd) for write in writes))


def _find_short_commits(use: ToolUse, answer: ToolOutput) -> tuple[str, ...]:
    commits = find_printed_commits(ShellRun(find_shell_command(use), answer))
    return tuple(sha for sha in commits if len(sha) < SHA_CHARS)
