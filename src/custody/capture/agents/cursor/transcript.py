"""The reader of Cursor's conversations: rows of its database, and lines of its transcripts."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from pathlib import Path

from custody.capture.agent_event import empty_tool_use
from custody.capture.agents.cursor.locations import (
    SUBAGENTS,
    find_conversations,
    list_cursor_files,
    locate_cursor_home,
    read_conversation_rows,
)
from custody.capture.agents.cursor.tool_calls import (
    EDITING,
    list_edited_files,
    parse_agent_model,
    read_shell_run,
    strip_prompt_prefix,
    tool_kind_from_name,
)
from custody.capture.agents.cursor.views import LINE, add_bubble_call, list_bubble_calls, views_from_transcript_event
from custody.capture.command_facts import find_printed_commits
from custody.capture.database_rows import is_session_in_database, is_sqlite_transcript
from custody.capture.line_reader import FileLine, read_json_object
from custody.capture.transcripts import (
    ChangedFile,
    LineProblem,
    LineResult,
    OpenedSessions,
    SkippedLine,
    Starts,
    SubagentLaunch,
    TranscriptLine,
    TranscriptReader,
    parse_transcript_object,
    read_transcript_objects,
    to_transcript_id,
)
from custody.capture.typed_field import Fields, get_fields, get_items, get_string, parse_payload_json
from custody.core.errors import InputError
from custody.core.ids import AgentName
from custody.core.patterns import lazy_pattern
from custody.core.wire.body import excerpt_long_texts
from custody.core.wire.canonical import Json
from custody.core.wire.time import format_timestamp, parse_timestamp

# A row has ids, times, models and tool output. A line of a transcript has none of these: its calls are named by their
# position, have the time of the last prompt with a timestamp, and count only if nothing else reports the session.
# Tested with transcripts of May to October 2026 (Cursor 3.x, cursor-agent) and texts of winter 2025.


CURSOR = AgentName("cursor")
PERSON, AGENT = 1, 2
UNFINISHED = frozenset(("loading", "pending", "running", "streaming", "created"))
"""Status of an unfinished call, which a later import reads."""
CALL_FIELDS = ("name", "tool", "toolCallId", "status", "params", "rawArgs", "result", "error", "userDecision")
ENDS = frozenset(("turn_ended", "turn_started", "system", "result"))
"""Lines without effects. Other unknown types are counted in the report by name."""
MS = 1_000_000
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()

_QUERY = lazy_pattern(r"<user_query>\n(.*?)\n?</user_query>", re.DOTALL)
_TIMESTAMP = lazy_pattern(
    r"<timestamp>[A-Za-z]+, ([A-Za-z]+ \d{1,2}, \d{4}, \d{1,2}:\d\d [AP]M)"
    r" \(UTC(?:([+-]\d{1,2})(?::(\d\d))?)?\)</timestamp>"
)
_TOOL = lazy_pattern(r"\[Tool call\] ([A-Za-z0-9_.:-]{1,100})")
_ARGUMENT = lazy_pattern(r"  ([A-Za-z_]{1,40}): (.+)")


class ConversationState:
    """State of reading one conversation, with its metadata."""

    def __init__(self, starts: Starts, file: Path) -> None:
        self.starts = starts
        self.file = file
        inside = file.parent.name == SUBAGENTS
        self.session = to_transcript_id(file.parent.parent.name if inside else file.stem)
        self.subagent: str | None = to_transcript_id(file.stem) if inside else None
        self.call: str | None = None
        self.folder: str | None = None
        self.model: str | None = None
        self.version: str | None = None
        self.at_ns = _transcript_mtime_ns(file)
        self.opened = OpenedSessions()

    # --- rows ---------------------------------------------------------------------------------------------------------

    def row(self, line: FileLine, row: dict[str, Json]) -> Iterator[LineResult]:
        """Yield the result of one row."""
        if row.get("table") == "composer":
            yield self._read_conversation_info(row)
        else:
            yield from self._bubble(line.number, row)

    def _read_conversation_info(self, row: Fields) -> SkippedLine:
        """Apply a conversation's metadata."""
        own, root = (
            to_transcript_id(get_string(row.get("id")) or ""),
            to_transcript_id(get_string(row.get("root")) or ""),
        )
        self.session, self.subagent = root, None if own == root else own
        call = get_string(row.get("call"))
        self.call, self.folder = to_transcript_id(call) if call else None, get_string(row.get("folder"))
        self.model = get_string(row.get("model"))
        created = row.get("created")
        self.at_ns = created * MS if isinstance(created, int) and created else _transcript_mtime_ns(self.file)
        self.version = None if row.get("version") is None else f"composerData {row['version']}"
        return SkippedLine("composer", True, self.version)

    def _bubble(self, number: int, row: Fields) -> Iterator[LineResult]:
        name, bubble = str(row.get("id")), row.get("value")
        if not isinstance(bubble, dict):
            yield LineProblem(
                number, f"message '{name[:100]}' of conversation '{self.session}' is not a complete JSON object"
            )
            return
        self._update_time(bubble.get("createdAt"))
        self.model = parse_agent_model(get_fields(bubble.get("modelInfo")).get("modelName")) or self.model
        kind, call = bubble.get("type"), get_fields(bubble.get("toolFormerData"))
        around: dict[str, Json] = {"type": kind, "bubbleId": name, "model": self.model}
        text = strip_prompt_prefix(get_string(bubble.get("text")) or "") if kind == PERSON else ""
        if text.strip():
            yield self._make_transcript_line(
                number, name, {**around, "text": text, "requestId": bubble.get("requestId")}
            )
        elif call.get("name") or call.get("toolCallId"):
            yield from self._read_tool_call(number, name, around, call, row)
        else:
            yield SkippedLine(f"bubble {kind}", kind in (PERSON, AGENT))

    def _read_tool_call(
        self, number: int, id_text: str, around: dict[str, Json], entry: Fields, row: Fields
    ) -> Iterator[LineResult]:
        name, call = get_string(entry.get("name")), get_string(entry.get("toolCallId"))
        if not name or not call:
            yield LineProblem(number, f"a call without an id or a name in message '{id_text[:100]}'")
            return
        if get_string(entry.get("status")) in UNFINISHED:
            yield SkippedLine("call under way", True)
            return
        slim = {key: entry[key] for key in CALL_FIELDS if entry.get(key) not in (None, "")}
        slim |= {"additionalData": {"status": get_fields(entry.get("additionalData")).get("status")}}
        payload: dict[str, Json] = {**around, "toolFormerData": slim}
        payload |= {key: row[key] for key in ("before", "after") if isinstance(row.get(key), str)}
        yield self._make_transcript_line(number, id_text, payload, [_make_call_entry(call, name)])

    def _update_time(self, value: object) -> None:
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 2**53:
            self.at_ns = int(value) * MS
        elif isinstance(value, str):
            try:
                self.at_ns = parse_timestamp(value)
            except InputError:
                return  # keep the previous time

    # --- lines of a transcript ----------------------------------------------------------------------------------------

    def line(self, line: FileLine, value: dict[str, Json]) -> Iterator[LineResult]:
        """Yield the result of one line of a transcript."""
        yield self._line(line.number, value)

    def _line(self, number: int, value: Fields) -> LineResult:
        content = get_fields(value.get("message")).get("content")
        role, blocks = (
            get_string(value.get("role")),
            [{"text": content}] if isinstance(content, str) else get_items(content),
        )
        if role not in ("user", "assistant"):
            kind = get_string(value.get("type")) or role or "(no type)"
            return SkippedLine(kind, kind in ENDS, get_string(value.get("version")))
        text = "\n".join(get_string(get_fields(block).get("text")) or "" for block in blocks)
        if role == "user":
            return self._read_typed_prompt(number, text)
        uses = [
            dict(block) for block in map(get_fields, blocks) if block.get("type") == "tool_use" and block.get("name")
        ]
        if not uses:
            return SkippedLine("assistant", True)
        entries = [_make_call_entry(f"{LINE}{number}-{n}", str(use["name"])) for n, use in enumerate(uses)]
        self.at_ns += MS
        return self._make_transcript_line(number, "", {"role": "assistant", "calls": list[Json](uses)}, entries)

    def _read_typed_prompt(self, number: int, text: str) -> TranscriptLine | SkippedLine:
        """Return a typed prompt; the program's own messages have no query."""
        timestamp = _TIMESTAMP.search(text)
        if timestamp is not None:
            self.at_ns = _parse_cursor_timestamp(timestamp) or self.at_ns
        match = _QUERY.search(text)
        prompt = match[1] if match else "" if "<user_query>" in text else strip_prompt_prefix(text)
        if self.subagent is not None or not prompt.strip():
            return SkippedLine("user", True)
        self.at_ns += MS
        return self._make_transcript_line(number, "", {"role": "user", "text": prompt})

    # --- a transcript that is a text ----------------------------------------------------------------------------------

    def text(self, lines: Iterable[FileLine]) -> Iterator[LineResult]:
        """Yield prompts and calls of a text; its edits have no clear end and are skipped."""
        part, part_lines, first = "", list[str](), 0
        for line in lines:
            text = line.data.decode("utf-8", "replace")
            if text in ("user:", "assistant:") or text.startswith("[Tool "):
                yield from self._part(first, part, part_lines)
                part, part_lines, first = text, [], line.number
            else:
                part_lines.append(text)
        yield from self._part(first, part, part_lines)

    def _part(self, number: int, part: str, part_lines: list[str]) -> Iterator[TranscriptLine | SkippedLine]:
        tool = _TOOL.fullmatch(part.strip())
        if part == "user:":
            yield self._read_typed_prompt(number, "\n".join(part_lines))
        elif tool is not None:
            arguments: dict[str, Json] = {}
            for match in map(_ARGUMENT.fullmatch, part_lines):
                if match is None:
                    break
                arguments[match[1]] = match[2]
            use: Json = {
                "name": tool[1],
                "input": {key: arguments[key] for key in ("path", "command", "url") if key in arguments},
            }
            payload: dict[str, Json] = {"role": "assistant", "calls": [use], "bare": True}
            yield self._make_transcript_line(number, "", payload, [_make_call_entry(f"{LINE}{number}-0", tool[1])])

    # --- both ---------------------------------------------------------------------------------------------------------

    def _make_transcript_line(
        self, number: int, bubble: str, payload: dict[str, Json], calls: list[dict[str, Json]] | None = None
    ) -> TranscriptLine:
        uses = [add_bubble_call(empty_tool_use(CURSOR), payload, call) for call in list_bubble_calls(payload)]
        parts = [self.session, self.subagent or "", bubble or f"{self.file.suffix}:{number}"]
        return TranscriptLine(
            line=number,
            id=to_transcript_id(":".join(parts)),
            session=self.session,
            at=format_timestamp(self.at_ns),
            payload=payload,
            version=self.version,
            cwd=self.folder,
            calls=calls or [],
            edits=tuple(ChangedFile(name, self.folder) for use in uses for name in list_edited_files(use)),
            commits=tuple(dict.fromkeys(sha for use in uses for sha in find_printed_commits(read_shell_run(use)))),
            subagent=self.subagent,
            parent_call=None if self.subagent is None else self.call or self.starts.get((self.session, self.subagent)),
            opens=self.opened.opens(self.session, None if self.subagent is not None else self.model),
            begun=len(calls or ()),
            unless_known=not bubble,
        )


def _make_call_entry(call: str, name: str) -> dict[str, Json]:
    return {"id": to_transcript_id(call), "name": to_transcript_id(name) if not name.isprintable() else name[:200]}


def _transcript_mtime_ns(file: Path) -> int:
    """Return when a transcript, or a conversation's database, was last written."""
    return (file if file.exists() else file.parent).stat().st_mtime_ns


def _parse_cursor_timestamp(timestamp: re.Match[str]) -> int | None:
    hours = int(timestamp[2] or 0)
    minutes = int(timestamp[3] or 0) * (-1 if (timestamp[2] or "").startswith("-") else 1)
    try:
        # Month names are full or abbreviated, and always English, whatever the locale.
        month, rest = MONTHS.index(timestamp[1][:3].lower()) + 1, timestamp[1].partition(" ")[2]
        local = datetime.strptime(f"{month} {rest}", "%m %d, %Y, %I:%M %p")  # noqa: DTZ007 - the zone comes in the next line
        zone = timezone(timedelta(hours=hours, minutes=minutes))
        return int(local.replace(tzinfo=zone).astimezone(UTC).timestamp()) * 1_000_000_000
    except (ValueError, OverflowError):
        return None  # not a valid date


TEXT = ".txt"


def is_cursor_transcript_line(first: bytes) -> bool:
    """Return whether a row or a line is Cursor's: no other agent's lines have only a role and a message."""
    if first in (b"user:", b"assistant:"):
        return True
    value = read_json_object(first)
    if value.get("table") == "composer":
        return True
    content = get_fields(value.get("message")).get("content")
    return value.get("role") in ("user", "assistant") and isinstance(content, list) and "type" not in value


def find_subagent_launches(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """Yield launches from conversations of subagents, which name the call that started them."""
    first = islice(lines, 1) if is_sqlite_transcript(file.parent) else lines
    for line in first if is_session_in_database(file) else ():
        row = parse_transcript_object(line) if b'"composer"' in line.data else None
        if isinstance(row, dict) and row.get("table") == "composer" and get_string(row.get("call")):
            yield SubagentLaunch(str(row.get("root")), str(row.get("id")), to_transcript_id(str(row["call"])))


def read_conversation(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """Yield the result of each row or line."""
    state = ConversationState(starts, file)
    if is_session_in_database(file):
        yield from read_transcript_objects(lines, state.row)
    else:
        yield from state.text(lines) if file.suffix == TEXT else read_transcript_objects(lines, state.line)


def trim_event_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event with long outputs cut; input of editing tools, and files before and after, stay whole."""
    payload = event.get("payload")
    call = payload.get("toolFormerData") if isinstance(payload, dict) else None
    if not isinstance(payload, dict) or not isinstance(call, dict) or "result" not in call:
        return event
    if tool_kind_from_name(get_string(call.get("name")) or "") in EDITING:
        return event
    return {**event, "payload": {**payload, "toolFormerData": {**call, "result": _trim_tool_result(call["result"])}}}


READER = TranscriptReader(
    agent=CURSOR,
    home=locate_cursor_home,
    of_trees=find_conversations,
    files=list_cursor_files,
    knows=is_cursor_transcript_line,
    starts=find_subagent_launches,
    read=read_conversation,
    trimmed=trim_event_outputs,
    views=views_from_transcript_event,
    rows=read_conversation_rows,
)


def _trim_tool_result(result: Json) -> Json:
    """Return a result with its long texts cut, also if it is JSON in a text."""
    value = parse_payload_json(result, "surrogatepass") if isinstance(result, str) else None
    return excerpt_long_texts(value if isinstance(value, dict) else result)
