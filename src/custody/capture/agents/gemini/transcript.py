"""Gemini CLI's chats: where they are, and the reader of them.

``chat`` and ``locations`` name the shapes and the versions that they come from.
"""

import hashlib
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agents.gemini.tool_calls import EDITING, model_named, read_commit_names
from custody.capture.agents.gemini.views import GEMINI, calls_in, named_use, names_changed, names_in, views_of
from custody.capture.hook.call_name import call_of, extract_result_text
from custody.capture.line_reader import (
    FileLine,
    files_below,
    first_lines,
    is_below,
    read_json_object,
    small_file,
    user_folder,
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
    document_in,
    document_lines,
    is_id,
    peek_line,
    read_objects,
    timestamp_in,
    valid_id,
)
from custody.capture.typed_field import Fields, fields, get_string, items
from custody.core.errors import InputError
from custody.core.wire.body import excerpt_long_texts
from custody.core.wire.canonical import Json, parse
from custody.core.wire.time import text_from

# Where Gemini CLI keeps its chats, and of which project each of them is.
# A project's folder in ``tmp`` is named by the SHA-256 of its root's path (``utils/paths.ts``), since 2026 by a short
# name that ``projects.json`` and a file ``.project_root`` tie to the path (``config/projectRegistry.ts``, 5411f113).
# Chats say the hash in either case.


SUFFIXES = (".json", ".jsonl")
CHATS = "chats"
CHAT = "session-"
MARKER = ".project_root"
REGISTRY = "projects.json"
FOLDERS_MAX = 100
"""So many folders above a file are asked whether they are the project's root."""


def home_of(environment: Mapping[str, str]) -> Path:
    """``tmp`` in the user's Gemini folder."""
    return user_folder(environment, "GEMINI_CLI_HOME", "").expanduser() / ".gemini" / "tmp"


def project_hash(root: str) -> str:
    """What stands for a project's root in chats and in older folders' names.

    >>> project_hash("/home/ana/shop")[:12]
    '549df1e2e63b'
    """
    try:
        named = root.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        named = root.encode("utf-8", "surrogatepass")  # half a sign, in a chat: no folder has such a name
    return hashlib.sha256(named).hexdigest()


def chats_below(place: Path) -> list[Path]:
    """The chats at or below ``place``, those written last at the end; other files of the agent's are left out."""
    return [file for file in files_below(place, SUFFIXES) if file == place or _is_chat(file)]


def _is_chat(file: Path) -> bool:
    if file.parent.name == CHATS or file.parent.parent.name == CHATS:
        return True
    return file.name.startswith(CHAT) or any(is_opening(line) for line in first_lines(file))


def is_opening(data: bytes) -> bool:
    """Whether a line is one of a chat's first: what it says of itself, on one line or over several."""
    return _hash_on(data) is not None


def chats_of(home: Path, trees: Sequence[str]) -> list[Path]:
    """The chats below ``home`` of projects in one of these work trees or below it."""
    known = roots_of(trees)
    roots, names = set(known.values()), set(known)
    names |= {slug for path, slug in _registered(home).items() if isinstance(slug, str) and is_below(path, roots)}
    ours: dict[str, bool] = {}
    found = []
    for file in chats_below(home):
        project = file.relative_to(home).parts[0]
        if project not in ours:
            marked = marked_root(home / project)
            ours[project] = project in names if marked is None else is_below(marked, roots)
        if ours[project] or _hash_in(file) in names:
            found.append(file)
    return found


def roots_of(trees: Sequence[str]) -> dict[str, str]:
    """The folders of these work trees by their hashes, as they are named and as they are without links."""
    return {project_hash(root): root for tree in trees for root in (tree, os.path.realpath(tree))}


def root_of(file: Path) -> str | None:
    """The root of a chat's project, where a file above it says so."""
    above = (marked_root(folder) for folder in islice(file.parents, 1, 3))
    return next((root for root in above if root is not None), None)


def marked_root(folder: Path) -> str | None:
    """The path that a project's folder is tied to."""
    said = small_file(folder / MARKER).decode("utf-8", "surrogateescape").strip()
    return said if posixpath.isabs(said) and "\0" not in said else None


def root_above(name: str, said: str) -> str | None:
    """The folder at or above a path whose hash is ``said``: a chat does not name its project's root otherwise."""
    folder = posixpath.normpath(name)
    for _ in range(FOLDERS_MAX):
        if project_hash(folder) == said:
            return folder
        if folder == posixpath.dirname(folder):
            return None
        folder = posixpath.dirname(folder)
    return None


def _hash_in(file: Path) -> str | None:
    return next(filter(None, map(_hash_on, first_lines(file))), None)


def _hash_on(data: bytes) -> str | None:
    if b'"projectHash"' not in data:
        return None
    said = read_json_object(data) or read_json_object(b"{%s}" % data.strip().rstrip(b","))
    return get_string(said.get("projectHash"))


def _registered(home: Path) -> Fields:
    return fields(read_json_object(small_file(home.parent / REGISTRY)).get("projects"))


# Gemini CLI's chats: what each of their messages holds.
# Followed: ``packages/core/src/services/chatRecordingService.ts``. Until April 2026 (0.9 and later) a chat is one
# JSON document over many lines that is written anew with every message; since f7449135 it is a file of lines to which
# a message is added again whenever it grows, with ``$set`` and ``$rewindTo`` between them (5411f113, August 2026).
# Chats have no version; those that Gemini CLI itself wrote from September 2025 to April 2026 were read with it.
# Messages that were rewound were sent all the same, and what was done then stays done.
# A message that says something is one record, and each of its calls that has ended is one more, so that a chat that
# is read while it grows brings what is new the next time. What a model thought is not kept.


LINES = ".jsonl"
PATH_MAX = 4096
KEPT = frozenset(("user", "gemini"))
PASSED_OVER = frozenset(("info", "error", "warning"))
"""Types that say nothing of what was done; another is counted in the report by its name."""
UNDER_WAY = frozenset(("validating", "scheduled", "executing", "awaiting_approval", "waiting"))
"""A call that has not ended yet: it is taken up once it has."""
WORDS_FOR_PEOPLE = frozenset(("displayName", "description", "renderOutputAsMarkdown"))
LEFT_OUT = frozenset(("toolCalls", "thoughts", "tokens"))

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ABOUT_ITSELF = re.compile(rb'  "(sessionId|projectHash|kind)": "([\x21-\x7e]{1,200})",?')


class ChatState:
    """How far one chat was read, and what it says of itself; ``roots`` are projects that are known, by their hashes."""

    def __init__(self, starts: Starts, file: Path, roots: Mapping[str, str] | None = None) -> None:
        self.starts = starts
        self.roots = roots or {}
        self.file = file
        self.session = file.stem if is_id(file.stem) else "unknown"
        self.subagent: str | None = None
        self.hash: str | None = None
        self.root = root_of(file)
        self.at = text_from(file.stat().st_mtime_ns)
        self.opened = OpenedSessions()
        self.done: set[str] = set()

    def all(self, lines: Iterable[FileLine]) -> Iterator[LineResult]:
        """What the chat holds, whichever of its two shapes it has."""
        first, together = peek_line(lines)
        if first is None:
            return
        if self.file.suffix == LINES or _parsed(first.data) is not None:
            yield from read_objects(together, lambda line, value: self._record(line.number, value))
        else:
            yield from self._document(together)

    # --- a document over many lines -----------------------------------------------------------------------------------

    def _document(self, lines: Iterable[FileLine]) -> Iterator[LineResult]:
        kept = document_lines(lines, "chat")
        if isinstance(kept, LineProblem):
            yield kept
            return
        value = document_in(kept, "chat")
        if isinstance(value, LineProblem):
            yield value
            yield from self._pieces(kept)
            return
        self._about(fields(value))
        # The first calls may name no whole path, of which the root is learnt.
        self._look_for_root([name for call in calls_in(fields(value)) for name in names_in(call)])
        yield from self._record(1, value)

    def _pieces(self, lines: Sequence[bytes]) -> Iterator[LineResult]:
        """The whole messages of a chat that is cut off, by how it is indented."""
        said = [match for match in map(_ABOUT_ITSELF.fullmatch, lines) if match]
        self._about({match[1].decode(): match[2].decode() for match in said})
        start = None
        for n, line in enumerate(lines):
            if line == b"    {":
                start = n
            elif line in (b"    }", b"    },") and start is not None:
                value = _parsed(b"\n".join((*lines[start:n], b"}")))
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

    def _metadata(self, number: int, kind: str, said: Mapping[str, Json]) -> Iterator[LineResult]:
        self._about(said)
        yield SkippedLine(kind, True, get_string(said.get("version")))
        for message in items(said.get("messages")):
            if isinstance(message, dict) and isinstance(message.get("id"), str):
                yield from self._message(number, message)
            else:
                yield LineProblem(number, "a message without an id")

    def _about(self, said: Fields) -> None:
        """Take up what the chat says of itself."""
        self.hash = get_string(said.get("projectHash")) or self.hash
        if self.root is None and self.hash is not None:
            self.root = self.roots.get(self.hash)
        named = get_string(said.get("sessionId"))
        if said.get("kind") == "subagent" and named is not None:
            self.subagent = named
        if named is None or not is_id(named):
            return
        if self.subagent is None:
            self.session = named
        elif self.file.parent.parent.name == CHATS:
            self.session = self.file.parent.name
        else:
            # Older versions lay a subagent's chat beside its parent's: only the call that started it tells whose it is.
            self.session = next((session for session, agent in self.starts if agent == self.subagent), named)

    def _message(self, number: int, value: dict[str, Json]) -> Iterator[LineResult]:
        kind = get_string(value.get("type")) or "(no type)"
        if kind not in KEPT:
            yield SkippedLine(kind, kind in PASSED_OVER)
            return
        yield from self._moment(number, value.get("timestamp"))
        found = [*self._read_message(number, value), *self._called(number, value)]
        yield from found or (SkippedLine(kind, True),)

    def _moment(self, number: int, said: object) -> Iterator[LineProblem]:
        timestamp = timestamp_in(number, said)
        if isinstance(timestamp, LineProblem):
            yield timestamp
        else:
            self.at = timestamp or self.at

    def _read_message(self, number: int, value: dict[str, Json]) -> Iterator[TranscriptLine]:
        """The message itself, where it has words that were not kept yet."""
        named = self._named(value)
        if named in self.done or not extract_result_text(value.get("content")).strip():
            return
        self.done.add(named)
        slim = {key: item for key, item in value.items() if key not in LEFT_OUT}
        yield TranscriptLine(
            line=number,
            id=named,
            session=self.session,
            at=self.at,
            payload=slim,
            cwd=self.root,
            subagent=self.subagent,
            parent_call=self._parent(),
            opens=self._opens(value),
        )

    def _called(self, number: int, value: dict[str, Json]) -> Iterator[TranscriptLine | LineProblem]:
        """The calls of a message that have ended and were not kept yet."""
        around: dict[str, Json] = {key: value[key] for key in ("id", "type", "timestamp", "model") if key in value}
        for call in items(value.get("toolCalls")):
            name, call_id = get_string(fields(call).get("name")), get_string(fields(call).get("id"))
            if not isinstance(call, dict) or not name or not call_id:
                yield LineProblem(number, "a call without an id or a name")
                continue
            named = self._named(value, call_id)
            if get_string(call.get("status")) in UNDER_WAY or named in self.done:
                continue
            self.done.add(named)
            yield from self._moment(number, call.get("timestamp"))
            yield self._call(number, value, call, around, named)

    def _call(self, number: int, value: Fields, call: dict[str, Json], around: Fields, named: str) -> TranscriptLine:
        content = call_of(str(call["name"]), call.get("args"), call.get("result"))
        files = tuple(names_changed(call))
        self._look_for_root(names_in(call))
        made: dict[str, Json] = {"id": content, "name": call["name"]}
        return TranscriptLine(
            line=number,
            id=named,
            session=self.session,
            at=self.at,
            payload={**around, "toolCalls": [_slim(call)]},
            cwd=self.root,
            calls=[made],
            edits=tuple(ChangedFile(name, self.root) for name in files),
            commits=read_commit_names(named_use(call)),
            subagent=self.subagent,
            parent_call=self._parent(),
            opens=self._opens(value),
            begun=1,
        )

    def _look_for_root(self, names: Sequence[str]) -> None:
        if self.root is None and self.hash is not None:
            above = (root_above(name, self.hash) for name in names if name.startswith("/") and len(name) < PATH_MAX)
            self.root = next((root for root in above if root is not None), None)

    def _parent(self) -> str | None:
        return None if self.subagent is None else self.starts.get((self.session, self.subagent))

    def _opens(self, value: Fields) -> OpenedScope | None:
        spoken = None if self.subagent is not None else model_named(value.get("model"))
        return self.opened.opens(self.session, spoken, speaker="")

    def _named(self, value: Fields, call: str = "") -> str:
        """The record's id: a resumed chat repeats messages, and ids that are no UUIDs may be those of other chats."""
        message = str(value["id"])
        parts = [message] if _UUID.fullmatch(message) else [self.session, self.subagent or "", message]
        return valid_id(":".join((*parts, call) if call else parts))


def _slim(call: Mapping[str, Json]) -> dict[str, Json]:
    """A call with what stands twice in it once: the display has an edit's texts, the result what others gave back."""
    kept = {key: item for key, item in call.items() if key not in WORDS_FOR_PEOPLE}
    display = kept.get("resultDisplay")
    if not isinstance(display, dict):
        if kept.get("result"):
            kept.pop("resultDisplay", None)
        return kept
    told = get_string(call.get("name")) in EDITING and "newContent" in display
    if told:
        kept.pop("result", None)
    twice = ("fileDiff",) if told else ("payload",)
    kept["resultDisplay"] = {key: item for key, item in display.items() if key not in twice}
    return kept


def _parsed(data: bytes) -> dict[str, Json] | None:
    try:
        value = parse(data)
    except InputError:
        return None  # named when all of it is read
    return value if isinstance(value, dict) else None


def starts_in(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """From calls that name the subagent that they started."""
    # Of a file of lines only those that can tell; a document has to be read whole.
    telling = (b'"agentId"', b'"sessionId"')
    some = (line for line in lines if file.suffix != LINES or any(mark in line.data for mark in telling))
    for item in ChatState({}, file).all(some):
        if isinstance(item, TranscriptLine):
            call = next(map(fields, items(item.payload.get("toolCalls"))), {})
            named = get_string(call.get("agentId"))
            if named is not None:
                yield SubagentLaunch(item.session, named, str(item.calls[0]["id"]))


def read_chat(
    file: Path, lines: Iterable[FileLine], starts: Starts, roots: Mapping[str, str] = MappingProxyType({})
) -> Iterator[LineResult]:
    """What each message holds; ``roots`` are work trees by their hashes, since a chat names its project by that."""
    yield from ChatState(starts, file, roots).all(lines)


def reader_in(trees: Sequence[str]) -> TranscriptReader:
    """The reader that knows these work trees by their hashes."""
    return replace(READER, read=partial(read_chat, roots=roots_of(trees)))


def trim_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """The event with long outputs cut; what editing tools were given and display are the texts of edits."""
    payload = event.get("payload")
    if not isinstance(payload, dict) or not isinstance(payload.get("toolCalls"), list):
        return event
    calls: list[Json] = [_cut_call(call) for call in items(payload["toolCalls"])]
    return {**event, "payload": {**payload, "toolCalls": calls}}


READER = TranscriptReader(
    agent=GEMINI,
    home=home_of,
    of_trees=chats_of,
    files=chats_below,
    knows=is_opening,
    starts=starts_in,
    read=read_chat,
    trimmed=trim_outputs,
    views=views_of,
    in_trees=reader_in,
)


def _cut_call(call: Json) -> Json:
    if not isinstance(call, dict):
        return call
    long = ("result",) if get_string(call.get("name")) in EDITING else ("result", "resultDisplay")
    return {**call, **{key: excerpt_long_texts(call[key]) for key in long if key in call}}
