"""The reader of Gemini CLI's chats, and where they are."""

import hashlib
import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agents.gemini.tool_calls import EDITING, find_command_commits, parse_agent_model
from custody.capture.agents.gemini.views import (
    GEMINI,
    extract_answer_text,
    list_candidate_paths,
    list_changed_paths,
    list_chat_calls,
    tool_use_from_chat_call,
    views_from_transcript_event,
)
from custody.capture.hook.call_name import extract_tool_result_text, make_gemini_call_id
from custody.capture.line_reader import (
    FileLine,
    find_first_time,
    is_path_in_trees,
    list_transcript_files,
    locate_agent_folder,
    peek_transcript_lines,
    read_json_object,
    read_small_agent_file,
)
from custody.capture.transcripts import (
    ChangedFile,
    LineProblem,
    LineResult,
    OpenedScope,
    OpenedSessions,
    SkippedLine,
    Starts,
    SubagentLaunch,
    TranscriptLine,
    TranscriptReader,
    excerpt_fields,
    find_parent_call,
    is_transcript_id,
    peek_line,
    read_transcript_document,
    read_transcript_objects,
    to_transcript_id,
    update_timestamp,
)
from custody.capture.typed_field import Fields, get_fields, get_items, get_string
from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json, parse_json_bytes

# Where Gemini CLI stores its chats, and the project of each. A project's folder in ``tmp`` is named by the SHA-256 of
# its root's path (``utils/paths.ts``), since 2026 by a short name that ``projects.json`` and a file ``.project_root``
# map to the path (``config/projectRegistry.ts``, 5411f113). Chats contain the hash in both cases.


SUFFIXES = (".json", ".jsonl")
CHATS = "chats"
CHAT = "session-"
MARKER = ".project_root"
REGISTRY = "projects.json"
FOLDERS_MAX = 100
"""Maximum number of parent folders that are compared with the project's hash."""


def locate_gemini_home(environment: Mapping[str, str]) -> Path:
    """Return ``tmp`` in the user's Gemini folder."""
    return locate_agent_folder(environment, "GEMINI_CLI_HOME", "").expanduser() / ".gemini" / "tmp"


def hash_project_root(root: str) -> str:
    """Return the hash of a project's root in chats and in older folders' names.

    >>> hash_project_root("/home/ana/shop")[:12]
    '549df1e2e63b'
    """
    try:
        data = root.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = root.encode("utf-8", "surrogatepass")  # half a character, in a chat: not a folder's name
    return hashlib.sha256(data).hexdigest()


def list_chat_files(place: Path) -> list[Path]:
    """Return the chats at or below ``place``, last written last; other files of the agent are skipped."""
    return [file for file in list_transcript_files(place, SUFFIXES) if file == place or _is_chat_file(file)]


def _is_chat_file(file: Path) -> bool:
    if file.parent.name == CHATS or file.parent.parent.name == CHATS:
        return True
    return file.name.startswith(CHAT) or any(is_gemini_chat_opening(line) for line in peek_transcript_lines(file))


def is_gemini_chat_opening(data: bytes) -> bool:
    """Return whether a line is among a chat's first lines, with metadata on one line or over several."""
    return _parse_project_hash(data) is not None


def find_project_chats(home: Path, trees: Sequence[str]) -> list[Path]:
    """Return the chats below ``home`` of projects in or below one of these work trees."""
    known = hash_work_trees(trees)
    roots, names = set(known.values()), set(known)
    names |= {
        slug
        for path, slug in _read_gemini_projects(home).items()
        if isinstance(slug, str) and is_path_in_trees(path, roots)
    }
    ours: dict[str, bool] = {}
    matches = []
    for file in list_chat_files(home):
        project = file.relative_to(home).parts[0]
        if project not in ours:
            marked = read_chat_project_root(home / project)
            ours[project] = project in names if marked is None else is_path_in_trees(marked, roots)
        if ours[project] or _find_project_hash(file) in names:
            matches.append(file)
    return matches


def hash_work_trees(trees: Sequence[str]) -> dict[str, str]:
    """Return the folders of these work trees by their hashes, as named and with links resolved."""
    return {hash_project_root(root): root for tree in trees for root in (tree, os.path.realpath(tree))}


def find_chat_project_root(file: Path) -> str | None:
    """Return the root of a chat's project, if a file above it names it."""
    above = (read_chat_project_root(folder) for folder in islice(file.parents, 1, 3))
    return next((root for root in above if root is not None), None)


def read_chat_project_root(folder: Path) -> str | None:
    """Return the path that a project's folder is mapped to."""
    text = read_small_agent_file(folder / MARKER).decode("utf-8", "surrogateescape").strip()
    return text if posixpath.isabs(text) and "\0" not in text else None


def match_project_hash(name: str, text: str) -> str | None:
    """Return the folder at or above a path with this hash: a chat names its root only by the hash."""
    folder = posixpath.normpath(name)
    for _ in range(FOLDERS_MAX):
        if hash_project_root(folder) == text:
            return folder
        if folder == posixpath.dirname(folder):
            return None
        folder = posixpath.dirname(folder)
    return None


def _find_project_hash(file: Path) -> str | None:
    return next(filter(None, map(_parse_project_hash, peek_transcript_lines(file))), None)


def _parse_project_hash(data: bytes) -> str | None:
    if b'"projectHash"' not in data:
        return None
    fields = read_json_object(data) or read_json_object(b"{%s}" % data.strip().rstrip(b","))
    return get_string(fields.get("projectHash"))


def _read_gemini_projects(home: Path) -> Fields:
    return get_fields(read_json_object(read_small_agent_file(home.parent / REGISTRY)).get("projects"))


# Gemini CLI's chats, message by message, as in ``packages/core/src/services/chatRecordingService.ts``. Until April 2026
# (0.9 and later) a chat is one JSON document over many lines, rewritten with every message. Since f7449135 it is a file
# of lines; a message is added again whenever it grows, with ``$set`` and ``$rewindTo`` between (5411f113, August 2026).
# Chats have no version; tested with chats of September 2025 to April 2026. Rewound messages still count, because their
# effects stay. A message with text is one record, and each of its finished calls is another, so a later import of a
# growing chat adds only what is new. Thinking is not stored.


LINES = ".jsonl"
PATH_MAX = 4096
STORED_TYPES = frozenset(("user", "gemini"))
SKIPPED_TYPES = frozenset(("info", "error", "warning"))
"""Types without effects. Other unknown types are counted in the report by name."""
UNFINISHED = frozenset(("validating", "scheduled", "executing", "awaiting_approval", "waiting"))
"""Status of an unfinished call, which a later import reads."""
WORDS_FOR_PEOPLE = frozenset(("displayName", "description", "renderOutputAsMarkdown"))
DROPPED_FIELDS = frozenset(("toolCalls", "thoughts", "tokens"))

_UUID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_METADATA_LINE = lazy_pattern(rb'  "(sessionId|projectHash|kind)": "([\x21-\x7e]{1,200})",?')


class ChatState:
    """State of reading one chat, with its metadata; ``roots`` are known projects by their hashes."""

    def __init__(self, starts: Starts, file: Path, roots: Mapping[str, str] | None = None) -> None:
        self.starts = starts
        self.roots = roots or {}
        self.file = file
        self.session = file.stem if is_transcript_id(file.stem) else "unknown"
        self.subagent: str | None = None
        self.hash: str | None = None
        self.root = find_chat_project_root(file)
        self.at = find_first_time(file)
        self.opened = OpenedSessions()
        self.record_ids: set[str] = set()

    def read_lines(self, lines: Iterable[FileLine]) -> Iterator[LineResult]:
        """Yield the records of the chat, in either of its shapes."""
        first, together = peek_line(lines)
        if first is None:
            return
        if self.file.suffix == LINES or _parse_chat_object(first.data) is not None:
            yield from read_transcript_objects(together, lambda line, value: self._record(line.number, value))
        else:
            yield from read_transcript_document(together, "chat", self._document, self._pieces)

    # --- a document over many lines -----------------------------------------------------------------------------------

    def _document(self, value: Json) -> Iterator[LineResult]:
        self._read_chat_info(get_fields(value))
        # The first calls may name only relative paths, which do not show the root.
        self._look_for_root(
            [name for call in list_chat_calls(get_fields(value)) for name in list_candidate_paths(call)]
        )
        yield from self._record(1, value)

    def _pieces(self, lines: Sequence[bytes]) -> Iterator[LineResult]:
        """Yield the complete messages of a damaged chat, found by its indentation."""
        matches = [match for match in map(_METADATA_LINE.fullmatch, lines) if match]
        self._read_chat_info({match[1].decode(): match[2].decode() for match in matches})
        start = None
        for n, line in enumerate(lines):
            if line == b"    {":
                start = n
            elif line in (b"    }", b"    },") and start is not None:
                value = _parse_chat_object(b"\n".join((*lines[start:n], b"}")))
                if value is not None:
                    yield from self._record(start + 1, value)
                start = None

    # --- records ------------------------------------------------------------------------------------------------------

    def _record(self, number: int, value: Json) -> Iterator[LineResult]:
        if not isinstance(value, dict):
            yield LineProblem(number, "not a JSON object")
            return
        changed = value.get("$set")
        if isinstance(value.get("$rewindTo"), str):
            yield SkippedLine("$rewindTo", True)
        elif isinstance(value.get("id"), str):
            yield from self._message(number, value)
        elif isinstance(changed, dict):
            yield from self._metadata(number, "$set", changed)
        elif isinstance(value.get("sessionId"), str):
            yield from self._metadata(number, "session", value)
        else:
            yield SkippedLine(get_string(value.get("type")) or "(no type)", False)

    def _metadata(self, number: int, kind: str, fields: Mapping[str, Json]) -> Iterator[LineResult]:
        self._read_chat_info(fields)
        yield SkippedLine(kind, True, get_string(fields.get("version")))
        for message in get_items(fields.get("messages")):
            if isinstance(message, dict) and isinstance(message.get("id"), str):
                yield from self._message(number, message)
            else:
                yield LineProblem(number, "a message without an id")

    def _read_chat_info(self, fields: Fields) -> None:
        """Apply the chat's metadata."""
        self.hash = get_string(fields.get("projectHash")) or self.hash
        if self.root is None and self.hash is not None:
            self.root = self.roots.get(self.hash)
        name = get_string(fields.get("sessionId"))
        if fields.get("kind") == "subagent" and name is not None:
            self.subagent = name
        if name is None or not is_transcript_id(name):
            return
        if self.subagent is None:
            self.session = name
        elif self.file.parent.parent.name == CHATS:
            self.session = self.file.parent.name
        else:
            # Older versions store a subagent's chat beside its parent's: only the call that started it shows the
            # session.
            self.session = next((session for session, agent in self.starts if agent == self.subagent), name)

    def _message(self, number: int, value: dict[str, Json]) -> Iterator[LineResult]:
        kind = get_string(value.get("type")) or "(no type)"
        if kind not in STORED_TYPES:
            yield SkippedLine(kind, kind in SKIPPED_TYPES)
            return
        yield from self._read_timestamp(number, value.get("timestamp"))
        records = [*self._read_message(number, value), *self._read_tool_calls(number, value)]
        yield from records or (SkippedLine(kind, True),)

    def _read_timestamp(self, number: int, value: object) -> Iterator[LineProblem]:
        self.at, problems = update_timestamp(number, value, self.at)
        yield from problems

    def _read_message(self, number: int, value: dict[str, Json]) -> Iterator[TranscriptLine]:
        """Yield the message itself, if it has new text."""
        name = self._record_id(value)
        if name in self.record_ids or not extract_tool_result_text(value.get("content")).strip():
            return
        self.record_ids.add(name)
        slim = {key: item for key, item in value.items() if key not in DROPPED_FIELDS}
        yield TranscriptLine(
            line=number,
            id=name,
            session=self.session,
            at=self.at,
            payload=slim,
            cwd=self.root,
            subagent=self.subagent,
            parent_call=find_parent_call(self.starts, self.session, self.subagent),
            opens=self._opens(value),
        )

    def _read_tool_calls(self, number: int, value: dict[str, Json]) -> Iterator[TranscriptLine | LineProblem]:
        """Yield the finished calls of a message that are new."""
        around: dict[str, Json] = {key: value[key] for key in ("id", "type", "timestamp", "model") if key in value}
        for call in get_items(value.get("toolCalls")):
            name, call_id = get_string(get_fields(call).get("name")), get_string(get_fields(call).get("id"))
            if not isinstance(call, dict) or not name or not call_id:
                yield LineProblem(number, "a call without an id or a name")
                continue
            record_id = self._record_id(value, call_id)
            if get_string(call.get("status")) in UNFINISHED or record_id in self.record_ids:
                continue
            self.record_ids.add(record_id)
            yield from self._read_timestamp(number, call.get("timestamp"))
            yield self._call(number, value, call, around, record_id)

    def _call(
        self, number: int, value: Fields, call: dict[str, Json], around: Fields, record_id: str
    ) -> TranscriptLine:
        content = make_gemini_call_id(str(call["name"]), call.get("args"), call.get("result"))
        files = tuple(list_changed_paths(call))
        self._look_for_root(list_candidate_paths(call))
        entry: dict[str, Json] = {"id": content, "name": call["name"]}
        return TranscriptLine(
            line=number,
            id=record_id,
            session=self.session,
            at=self.at,
            payload={**around, "toolCalls": [_slim_tool_call(call)]},
            cwd=self.root,
            calls=[entry],
            edits=tuple(ChangedFile(name, self.root) for name in files),
            commits=find_command_commits(tool_use_from_chat_call(call)),
            subagent=self.subagent,
            parent_call=find_parent_call(self.starts, self.session, self.subagent),
            opens=self._opens(value),
            begun=1,
        )

    def _look_for_root(self, names: Sequence[str]) -> None:
        if self.root is None and self.hash is not None:
            above = (
                match_project_hash(name, self.hash) for name in names if name.startswith("/") and len(name) < PATH_MAX
            )
            self.root = next((root for root in above if root is not None), None)

    def _opens(self, value: Fields) -> OpenedScope | None:
        spoken = None if self.subagent is not None else parse_agent_model(value.get("model"))
        return self.opened.opens(self.session, spoken, speaker="")

    def _record_id(self, value: Fields, call: str = "") -> str:
        """Return the record's id: resumed chats repeat messages, and ids other than UUIDs may occur in other chats."""
        message = str(value["id"])
        parts = [message] if _UUID.fullmatch(message) else [self.session, self.subagent or "", message]
        return to_transcript_id(":".join((*parts, call) if call else parts))


def _slim_tool_call(call: Mapping[str, Json]) -> dict[str, Json]:
    """Return a call without repeated content: the display has an edit's texts, the result other outputs."""
    slim = {key: item for key, item in call.items() if key not in WORDS_FOR_PEOPLE}
    display = slim.get("resultDisplay")
    if not isinstance(display, dict):
        if slim.get("result"):
            slim.pop("resultDisplay", None)
        return slim
    has_texts = get_string(call.get("name")) in EDITING and "newContent" in display
    if has_texts:
        slim.pop("result", None)
    twice = ("fileDiff",) if has_texts else ("payload",)
    slim["resultDisplay"] = {key: item for key, item in display.items() if key not in twice}
    return slim


def _parse_chat_object(data: bytes) -> dict[str, Json] | None:
    try:
        value = parse_json_bytes(data)
    except InputError:
        return None  # reported when the whole chat is read
    return value if isinstance(value, dict) else None


def find_subagent_launches(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """Yield launches from calls that name the subagent that they started."""
    # Only some lines can name a subagent; a document has to be read whole.
    telling = (b'"agentId"', b'"sessionId"')
    some = (line for line in lines if file.suffix != LINES or any(mark in line.data for mark in telling))
    for item in ChatState({}, file).read_lines(some):
        if isinstance(item, TranscriptLine):
            call = next(map(get_fields, get_items(item.payload.get("toolCalls"))), {})
            name = get_string(call.get("agentId"))
            if name is not None:
                yield SubagentLaunch(item.session, name, str(item.calls[0]["id"]))


def read_chat(
    file: Path, lines: Iterable[FileLine], starts: Starts, roots: Mapping[str, str] = MappingProxyType({})
) -> Iterator[LineResult]:
    """Yield the records of a chat; ``roots`` are work trees by their hashes, by which a chat names its project."""
    yield from ChatState(starts, file, roots).read_lines(lines)


def make_gemini_reader(trees: Sequence[str]) -> TranscriptReader:
    """Return the reader that knows these work trees by their hashes."""
    return replace(READER, read=partial(read_chat, roots=hash_work_trees(trees)))


def trim_event_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event with long outputs cut; input and display of editing tools stay whole."""
    payload = event.get("payload")
    if not isinstance(payload, dict) or not isinstance(payload.get("toolCalls"), list):
        return event
    calls: list[Json] = [_trim_tool_call(call) for call in get_items(payload["toolCalls"])]
    return {**event, "payload": {**payload, "toolCalls": calls}}


READER = TranscriptReader(
    agent=GEMINI,
    home=locate_gemini_home,
    of_trees=find_project_chats,
    files=list_chat_files,
    knows=is_gemini_chat_opening,
    starts=find_subagent_launches,
    read=read_chat,
    trimmed=trim_event_outputs,
    views=views_from_transcript_event,
    answer=extract_answer_text,
    in_trees=make_gemini_reader,
)


def _trim_tool_call(call: Json) -> Json:
    if not isinstance(call, dict):
        return call
    long = ("result",) if get_string(call.get("name")) in EDITING else ("result", "resultDisplay")
    return excerpt_fields(call, long)
