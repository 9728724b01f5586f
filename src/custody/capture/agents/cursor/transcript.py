"""Cursor's conversations: the reader of its database and of its transcripts.

``locations`` and ``conversation_reader`` name the shapes and the versions that they come from.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from pathlib import Path

from custody.capture.agents.cursor.locations import SUBAGENTS, files_at, find_conversations, home_of, rows_of
from custody.capture.agents.cursor.tool_calls import (
    EDITING,
    commits_of,
    kind_of,
    list_edited_files,
    model_of,
    strip_prompt_prefix,
)
from custody.capture.agents.cursor.views import LINE, calls_in, read_cursor_call, views_of
from custody.capture.database_rows import in_database, is_database
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
    object_in,
    read_objects,
    valid_id,
)
from custody.capture.typed_field import Fields, fields, get_string, items, json_in
from custody.core.errors import InputError
from custody.core.ids import AgentName
from custody.core.wire.body import excerpt_long_texts
from custody.core.wire.canonical import Json
from custody.core.wire.time import ns_from, text_from

# Cursor's conversations: what each row of the database and each line of a transcript holds.
# A row has ids, times, models and what tools gave back. A line of a transcript has none of these: its calls are named
# by their place, are as old as the last prompt that tells the time, and count only where nothing else told of the
# session. Shapes: ``cursor_store``; transcripts of May to October 2026 (Cursor 3.x, cursor-agent), texts of winter
# 2025.


PERSON, AGENT = 1, 2
UNDER_WAY = frozenset(("loading", "pending", "running", "streaming", "created"))
"""A call that has not ended yet: it is taken up once it has."""
KEPT_OF_CALL = ("name", "tool", "toolCallId", "status", "params", "rawArgs", "result", "error", "userDecision")
ENDS = frozenset(("turn_ended", "turn_started", "system", "result"))
"""Lines that say nothing of what was done; another is counted in the report by its name."""
MS = 1_000_000
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()

_QUERY = re.compile(r"<user_query>\n(.*?)\n?</user_query>", re.DOTALL)
_MOMENT = re.compile(
    r"<timestamp>[A-Za-z]+, ([A-Za-z]+ \d{1,2}, \d{4}, \d{1,2}:\d\d [AP]M)"
    r" \(UTC(?:([+-]\d{1,2})(?::(\d\d))?)?\)</timestamp>"
)
_TOOL = re.compile(r"\[Tool call\] ([A-Za-z0-9_.:-]{1,100})")
_ARGUMENT = re.compile(r"  ([A-Za-z_]{1,40}): (.+)")


class ConversationState:
    """How far one conversation was read, and what it says of itself."""

    def __init__(self, starts: Starts, file: Path) -> None:
        self.starts = starts
        self.file = file
        inside = file.parent.name == SUBAGENTS
        self.session = valid_id(file.parent.parent.name if inside else file.stem)
        self.subagent: str | None = valid_id(file.stem) if inside else None
        self.call: str | None = None
        self.folder: str | None = None
        self.told: str | None = None
        self.version: str | None = None
        self.at_ns = _changed_ns(file)
        self.opened = OpenedSessions()

    # --- rows ---------------------------------------------------------------------------------------------------------

    def row(self, line: FileLine, row: dict[str, Json]) -> Iterator[LineResult]:
        """What one row holds."""
        if row.get("table") == "composer":
            yield self._about(row)
        else:
            yield from self._bubble(line.number, row)

    def _about(self, row: Fields) -> SkippedLine:
        """Take up what a conversation says of itself."""
        own, root = valid_id(get_string(row.get("id")) or ""), valid_id(get_string(row.get("root")) or "")
        self.session, self.subagent = root, None if own == root else own
        call = get_string(row.get("call"))
        self.call, self.folder = valid_id(call) if call else None, get_string(row.get("folder"))
        self.told = get_string(row.get("model"))
        created = row.get("created")
        self.at_ns = created * MS if isinstance(created, int) and created else _changed_ns(self.file)
        self.version = None if row.get("version") is None else f"composerData {row['version']}"
        return SkippedLine("composer", True, self.version)

    def _bubble(self, number: int, row: Fields) -> Iterator[LineResult]:
        named, bubble = str(row.get("id")), row.get("value")
        if not isinstance(bubble, dict):
            yield LineProblem(
                number, f"message '{named[:100]}' of conversation '{self.session}' is no whole JSON object"
            )
            return
        self._moment(bubble.get("createdAt"))
        self.told = model_of(fields(bubble.get("modelInfo")).get("modelName")) or self.told
        kind, made = bubble.get("type"), fields(bubble.get("toolFormerData"))
        around: dict[str, Json] = {"type": kind, "bubbleId": named, "model": self.told}
        words = strip_prompt_prefix(get_string(bubble.get("text")) or "") if kind == PERSON else ""
        if words.strip():
            yield self._found(number, named, {**around, "text": words, "requestId": bubble.get("requestId")})
        elif made.get("name") or made.get("toolCallId"):
            yield from self._called(number, named, around, made, row)
        else:
            yield SkippedLine(f"bubble {kind}", kind in (PERSON, AGENT))

    def _called(
        self, number: int, named: str, around: dict[str, Json], made: Fields, row: Fields
    ) -> Iterator[LineResult]:
        name, call = get_string(made.get("name")), get_string(made.get("toolCallId"))
        if not name or not call:
            yield LineProblem(number, f"a call without an id or a name in message '{named[:100]}'")
            return
        if get_string(made.get("status")) in UNDER_WAY:
            yield SkippedLine("call under way", True)
            return
        slim = {key: made[key] for key in KEPT_OF_CALL if made.get(key) not in (None, "")}
        slim |= {"additionalData": {"status": fields(made.get("additionalData")).get("status")}}
        payload: dict[str, Json] = {**around, "toolFormerData": slim}
        payload |= {key: row[key] for key in ("before", "after") if isinstance(row.get(key), str)}
        yield self._found(number, named, payload, [_made(call, name)])

    def _moment(self, said: object) -> None:
        if isinstance(said, int | float) and not isinstance(said, bool) and 0 < said < 2**53:
            self.at_ns = int(said) * MS
        elif isinstance(said, str):
            try:
                self.at_ns = ns_from(said)
            except InputError:
                return  # then it is as old as the one before it

    # --- lines of a transcript ----------------------------------------------------------------------------------------

    def line(self, line: FileLine, value: dict[str, Json]) -> Iterator[LineResult]:
        """What one line of a transcript holds."""
        yield self._line(line.number, value)

    def _line(self, number: int, value: Fields) -> LineResult:
        content = fields(value.get("message")).get("content")
        role, blocks = (
            get_string(value.get("role")),
            [{"text": content}] if isinstance(content, str) else items(content),
        )
        if role not in ("user", "assistant"):
            kind = get_string(value.get("type")) or role or "(no type)"
            return SkippedLine(kind, kind in ENDS, get_string(value.get("version")))
        said = "\n".join(get_string(fields(block).get("text")) or "" for block in blocks)
        if role == "user":
            return self._typed(number, said)
        uses = [dict(block) for block in map(fields, blocks) if block.get("type") == "tool_use" and block.get("name")]
        if not uses:
            return SkippedLine("assistant", True)
        made = [_made(f"{LINE}{number}-{n}", str(use["name"])) for n, use in enumerate(uses)]
        self.at_ns += MS
        return self._found(number, "", {"role": "assistant", "calls": list[Json](uses)}, made)

    def _typed(self, number: int, said: str) -> TranscriptLine | SkippedLine:
        """What a person typed; what the program put there has no line of its own for the words."""
        moment = _MOMENT.search(said)
        if moment is not None:
            self.at_ns = _ns(moment) or self.at_ns
        found = _QUERY.search(said)
        words = found[1] if found else "" if "<user_query>" in said else strip_prompt_prefix(said)
        if self.subagent is not None or not words.strip():
            return SkippedLine("user", True)
        self.at_ns += MS
        return self._found(number, "", {"role": "user", "text": words})

    # --- a transcript that is a text ----------------------------------------------------------------------------------

    def text(self, lines: Iterable[FileLine]) -> Iterator[LineResult]:
        """Prompts and calls of a text; an edit in it has no clear end, and is not taken."""
        part, kept, first = "", list[str](), 0
        for line in lines:
            words = line.data.decode("utf-8", "replace")
            if words in ("user:", "assistant:") or words.startswith("[Tool "):
                yield from self._part(first, part, kept)
                part, kept, first = words, [], line.number
            else:
                kept.append(words)
        yield from self._part(first, part, kept)

    def _part(self, number: int, part: str, kept: list[str]) -> Iterator[TranscriptLine | SkippedLine]:
        tool = _TOOL.fullmatch(part.strip())
        if part == "user:":
            yield self._typed(number, "\n".join(kept))
        elif tool is not None:
            given: dict[str, Json] = {}
            for match in map(_ARGUMENT.fullmatch, kept):
                if match is None:
                    break
                given[match[1]] = match[2]
            use: Json = {
                "name": tool[1],
                "input": {key: given[key] for key in ("path", "command", "url") if key in given},
            }
            payload: dict[str, Json] = {"role": "assistant", "calls": [use], "bare": True}
            yield self._found(number, "", payload, [_made(f"{LINE}{number}-0", tool[1])])

    # --- both ---------------------------------------------------------------------------------------------------------

    def _found(
        self, number: int, bubble: str, payload: dict[str, Json], calls: list[dict[str, Json]] | None = None
    ) -> TranscriptLine:
        cursor_calls = [read_cursor_call(payload, made) for made in calls_in(payload)]
        parts = [self.session, self.subagent or "", bubble or f"{self.file.suffix}:{number}"]
        return TranscriptLine(
            line=number,
            id=valid_id(":".join(parts)),
            session=self.session,
            at=text_from(self.at_ns),
            payload=payload,
            version=self.version,
            cwd=self.folder,
            calls=calls or [],
            edits=tuple(
                ChangedFile(name, self.folder)
                for cursor_call in cursor_calls
                for name in list_edited_files(cursor_call)
            ),
            commits=tuple(dict.fromkeys(sha for cursor_call in cursor_calls for sha in commits_of(cursor_call))),
            subagent=self.subagent,
            parent_call=self._parent(),
            opens=self.opened.opens(self.session, None if self.subagent is not None else self.told),
            begun=len(calls or ()),
            unless_known=not bubble,
        )

    def _parent(self) -> str | None:
        return None if self.subagent is None else self.call or self.starts.get((self.session, self.subagent))


def _made(call: str, name: str) -> dict[str, Json]:
    return {"id": valid_id(call), "name": valid_id(name) if not name.isprintable() else name[:200]}


def _changed_ns(file: Path) -> int:
    """When a transcript, or the database that a conversation is in, was last written."""
    return (file if file.exists() else file.parent).stat().st_mtime_ns


def _ns(moment: re.Match[str]) -> int | None:
    hours = int(moment[2] or 0)
    minutes = int(moment[3] or 0) * (-1 if (moment[2] or "").startswith("-") else 1)
    try:
        # Months have had their whole names and three letters of them, whichever language this machine speaks.
        month, rest = MONTHS.index(moment[1][:3].lower()) + 1, moment[1].partition(" ")[2]
        told = datetime.strptime(f"{month} {rest}", "%m %d, %Y, %I:%M %p")  # noqa: DTZ007 - the zone comes in the next line
        zone = timezone(timedelta(hours=hours, minutes=minutes))
        return int(told.replace(tzinfo=zone).astimezone(UTC).timestamp()) * 1_000_000_000
    except (ValueError, OverflowError):
        return None  # no day of any calendar


TEXT = ".txt"


def is_opening(first: bytes) -> bool:
    """Whether a row or a line is of this agent: no other's has just a role and a message."""
    if first in (b"user:", b"assistant:"):
        return True
    value = read_json_object(first)
    if value.get("table") == "composer":
        return True
    content = fields(value.get("message")).get("content")
    return value.get("role") in ("user", "assistant") and isinstance(content, list) and "type" not in value


def starts_in(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """From conversations of subagents, which name the call that started them."""
    first = islice(lines, 1) if is_database(file.parent) else lines
    for line in first if in_database(file) else ():
        row = object_in(line) if b'"composer"' in line.data else None
        if isinstance(row, dict) and row.get("table") == "composer" and get_string(row.get("call")):
            yield SubagentLaunch(str(row.get("root")), str(row.get("id")), valid_id(str(row["call"])))


def read_conversation(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """What each row or line holds."""
    state = ConversationState(starts, file)
    if in_database(file):
        yield from read_objects(lines, state.row)
    else:
        yield from state.text(lines) if file.suffix == TEXT else read_objects(lines, state.line)


def trim_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """The event with long outputs cut; what editing tools were given, and files before and after, stay whole."""
    payload = event.get("payload")
    made = payload.get("toolFormerData") if isinstance(payload, dict) else None
    if not isinstance(payload, dict) or not isinstance(made, dict) or "result" not in made:
        return event
    if kind_of(get_string(made.get("name")) or "") in EDITING:
        return event
    return {**event, "payload": {**payload, "toolFormerData": {**made, "result": _cut(made["result"])}}}


READER = TranscriptReader(
    agent=AgentName("cursor"),
    home=home_of,
    of_trees=find_conversations,
    files=files_at,
    knows=is_opening,
    starts=starts_in,
    read=read_conversation,
    trimmed=trim_outputs,
    views=views_of,
    rows=rows_of,
)


def _cut(result: Json) -> Json:
    """A result with its long texts cut, also where it is JSON in a text."""
    value = json_in(result, "surrogatepass") if isinstance(result, str) else None
    return excerpt_long_texts(value if isinstance(value, dict) else result)
