"""How one rollout of Codex CLI is read, line by line: what is kept of each, and what earlier lines add to it.

A thread that was forked begins with a copy of the lines of the one before, all written at once: these are the older
session's, and have the ids that they have in its own file. What a model thought is not kept, nor its instructions.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from custody.model.errors import InputError
from custody.wire.canonical import Json, dump, parse
from custody.wire.times import ns_from
from custody.world.capture import codex_shapes as shapes
from custody.world.capture.codex_patch import Change, changes_told
from custody.world.capture.codex_tools import (
    APPLY_PATCH,
    BASH,
    Given,
    answer_of,
    changes_by,
    commits_in,
    folder_of,
    given_to,
    written_by,
)
from custody.world.capture.fields import Fields, fields, model, string
from custody.world.capture.lines import LINE_BYTES_MAX, Line
from custody.world.capture.transcripts import Found, Named, Passed, Starts, Trouble

KNOWN_MAJOR = 0
"""The newest major version of Codex CLI that this reader was held to."""
PENDING_MAX = 1000
PENDING_BYTES_MAX = 64 * 1024 * 1024
"""Calls that wait for their results: more than ever run at once; older ones are forgotten."""
REMEMBERED_MAX = 200_000
COPY_GAP_NS = 1_000_000_000
"""Copied lines are written at once; what comes later than this after one is the thread's own."""
CALL_CHARS_MIN = 16
"""A call's id of so many characters is one of its own in the world; a shorter one only within its session."""

_ID = re.compile(r"[\x21-\x7e]{1,200}")
_OWN = frozenset(("id", "internal_chat_message_metadata_passthrough"))
"""Fields that a fork adds to the lines that it copies."""
_LEFT_OUT = frozenset(
    "base_instructions instructions dynamic_tools parsed_cmd formatted_output encrypted_content"
    " encrypted_function_args internal_chat_message_metadata_passthrough images local_images text_elements".split()
)


@dataclass
class Reading:
    """How far one file was read, and what later lines will ask of earlier ones."""

    starts: Starts
    session: str
    at: str
    subagent: str | None = None
    own: shapes.Origin | None = None
    cwd: str | None = None
    turn: str | None = None
    model: str | None = None
    version: str | None = None
    enveloped: bool = False
    copying: bool = False
    first_own: int = 0
    """By its ordinal, the first line that is the thread's own."""
    opened: dict[str, str | None] = field(default_factory=dict)
    """Sessions that were told of, with their models."""
    waiting: dict[str, tuple[dict[str, Json], int]] = field(default_factory=dict)
    waiting_bytes: int = 0
    begun: dict[str, Json] = field(default_factory=dict)
    """The changes of patches that were begun: older ends do not repeat them."""
    told: set[str] = field(default_factory=set)
    """Calls whose effect a line of its own has told."""
    searches: set[str] = field(default_factory=set)
    ids: Counter[str] = field(default_factory=Counter)

    def line(self, line: Line) -> Iterator[Found | Passed | Trouble]:
        """What one line holds."""
        if line.size > LINE_BYTES_MAX:
            yield Trouble(line.number, f"a line of {line.size:,} bytes is over the limit of {LINE_BYTES_MAX:,}")
            return
        if not line.data.strip():
            return
        try:
            value = parse(line.data)
        except InputError as error:
            yield Trouble(line.number, error.message if line.whole else f"cut off: {error.message}")
            return
        if not isinstance(value, dict):
            yield Trouble(line.number, "not a JSON object")
            return
        kind, inner = shapes.unwrapped(value)
        self.enveloped = self.enveloped or kind == "event_msg"
        yield from self._moment(line, value, kind)
        if kind == "session_meta":
            yield from self._newer(line, inner)
        yield self._item(line, kind, dict(inner)) if self._is_own(value) else Passed(kind, True, self.version)

    def _moment(self, line: Line, value: Fields, kind: str) -> Iterator[Trouble]:
        """Take up when the line was written; a pause ends what was copied."""
        moment = string(value.get("timestamp"))
        if moment is None:
            return
        try:
            later = ns_from(moment) - ns_from(self.at) > COPY_GAP_NS
        except InputError as error:
            yield Trouble(line.number, error.message)
            return
        if self.copying and later and self.own is not None and kind != "session_meta":
            self.copying = False
            self._follow(self.own)
        self.at = moment

    def _newer(self, line: Line, meta: Fields) -> Iterator[Trouble]:
        said = string(meta.get("cli_version"))
        if said is not None and said != self.version and _major(said) > KNOWN_MAJOR:
            yield Trouble(line.number, f"written by version {said[:40]}, newer than this reader knows")
        self.version = said or self.version

    def _is_own(self, value: Fields) -> bool:
        ordinal = value.get("ordinal")
        return not isinstance(ordinal, int) or ordinal >= self.first_own or value.get("type") == "session_meta"

    def _follow(self, origin: shapes.Origin) -> None:
        self.session, self.subagent = origin.session, origin.subagent
        self.cwd = origin.cwd or self.cwd

    def _item(self, line: Line, kind: str, inner: dict[str, Json]) -> Found | Passed:
        found = READ.get(kind, _nothing)(self, line, inner)
        if found is None:
            name = shapes.name_of(kind, inner)
            return Passed(name, shapes.is_known(kind, inner), self.version)
        return found

    # --- kinds of lines -----------------------------------------------------------------------------------------------

    def _meta(self, line: Line, inner: dict[str, Json]) -> Found | None:
        origin = shapes.origin_of(inner)
        if origin is None or (self.own is not None and origin.thread == self.own.thread):
            return None  # a session that goes on says once more which one it is
        self._follow(origin)
        if self.own is not None:
            self.copying = True
            return None
        self.own = origin
        start = inner.get("subagent_history_start_ordinal")
        self.first_own = start if isinstance(start, int) else 0
        found = self._found(line, "session_meta", inner, key=f"session_meta:{origin.thread}")
        if origin.forked_from is not None:
            # The copy may begin without a word about whose it is.
            self.copying, self.session, self.subagent = True, origin.forked_from, None
        return found

    def _turn(self, line: Line, inner: dict[str, Json]) -> Found | None:
        self.turn = string(inner.get("turn_id")) or self.turn
        self.cwd = string(inner.get("cwd")) or self.cwd
        self.model = model(inner.get("model")) or self.model
        if self.subagent is not None or self.opened.get(self.session) == self.model:
            return None
        kept = {name: inner[name] for name in ("turn_id", "cwd", "model", "effort") if name in inner}
        return self._found(line, "turn_context", kept)

    def _response(self, line: Line, inner: dict[str, Json]) -> Found | None:
        kind = inner.get("type")
        if kind in shapes.CALLS:
            return self._begin(line, inner)
        if kind in shapes.OUTPUTS:
            return self._finish(line, inner)
        if kind == "web_search_call":
            return self._search(line, "response_item", inner)
        if kind != "message":
            return None
        self.cwd = self.cwd or shapes.folder_told(inner)
        if inner.get("role") == "assistant":
            return self._found(line, "response_item", inner)
        # Where there are events, they tell what was typed.
        return None if self.enveloped else self._typed(line, "response_item", inner)

    def _event(self, line: Line, inner: dict[str, Json]) -> Found | None:
        kind = inner.get("type")
        if kind in ("task_started", "turn_started"):
            self.turn = string(inner.get("turn_id")) or self.turn
        call = shapes.call_id(inner)
        if kind == "patch_apply_begin" and call and len(self.begun) < PENDING_MAX:
            self.begun[call] = inner.get("changes")
        if shapes.searched(inner) is not None:
            return self._search(line, "event_msg", inner)
        if shapes.typed(inner) is not None:
            return self._typed(line, "event_msg", inner)
        if (patch := shapes.patched(inner)) is not None:
            return self._patched(line, inner, patch)
        if (end := shapes.ended(inner)) is not None:
            return self._ended(line, inner, end)
        return None

    # --- calls --------------------------------------------------------------------------------------------------------

    def _begin(self, line: Line, inner: dict[str, Json]) -> Found | None:
        call = shapes.call_id(inner)
        tool, given = shapes.called(inner)
        if not call or not tool:
            return None
        made: dict[str, Json] = {"id": call, "name": tool, "input": given.kept()}
        folder = folder_of(given.folder, self.cwd)
        self.waiting_bytes += line.size - self.waiting.get(call, ({}, 0))[1]
        self.waiting[call] = (made if folder is None else {**made, "cwd": folder}, line.size)
        while len(self.waiting) > PENDING_MAX or self.waiting_bytes > PENDING_BYTES_MAX:
            _, gone = self.waiting.pop(next(iter(self.waiting)))
            self.waiting_bytes -= gone
        return self._found(line, "response_item", inner, begun=1)

    def _finish(self, line: Line, inner: dict[str, Json]) -> Found | None:
        call = shapes.call_id(inner)
        if not call:
            return None
        made, size = self.waiting.pop(call, (None, 0))
        self.waiting_bytes -= size
        answer = answer_of(inner.get("output"))
        if isinstance(inner.get("output"), str) and answer.words != inner["output"] and answer.code is not None:
            inner["output"] = {"output": answer.words, "metadata": {"exit_code": answer.code}}
        if made is None or call in self.told:
            kept = [] if made is None else [{"id": call, "name": made["name"]}]
            return self._found(line, "response_item", inner, calls=kept)
        tool, cwd = str(made["name"]), string(made.get("cwd"))
        given = given_to(tool, made.get("input"))
        named = () if answer.failed else _names(changes_by(tool, given), cwd)
        shell = (Named(write.path, cwd) for write in written_by(given, answer))
        return self._found(
            line,
            "response_item",
            inner,
            calls=[made],
            edits=(*named, *shell),
            commits=tuple(sha for sha in commits_in(given.command, answer) if len(sha) < 40),
        )

    def _patched(self, line: Line, inner: dict[str, Json], patch: shapes.Patched) -> Found:
        changes = patch.changes or self.begun.pop(patch.call, None)
        made = self.waiting.get(patch.call, ({}, 0))[0]
        cwd = string(made.get("cwd")) or self.cwd
        if patch.applied and changes:
            self._tell(patch.call)
        beside = {} if patch.changes or not changes else {"changes": changes}
        edits = _names(changes_told(changes), cwd) if patch.applied else ()
        tool = str(made.get("name", APPLY_PATCH))
        calls: list[dict[str, Json]] = [{"id": patch.call, "name": tool}]
        return self._found(line, "event_msg", inner, calls=calls, edits=edits, beside=beside)

    def _ended(self, line: Line, inner: dict[str, Json], end: shapes.Ended) -> Found:
        cwd = folder_of(end.given.folder, self.cwd)
        patches = () if end.call in self.told or end.answer.failed else changes_by(BASH, end.given)
        self._tell(end.call)
        shell = (Named(write.path, cwd) for write in written_by(end.given, end.answer))
        made: dict[str, Json] = {"id": end.call, "name": BASH, "input": end.given.kept()}
        return self._found(
            line,
            "event_msg",
            {name: value for name, value in inner.items() if name not in ("stdout", "stderr")}
            if inner.get("aggregated_output")
            else inner,
            calls=[made if cwd is None else {**made, "cwd": cwd}],
            edits=(*_names(patches, cwd), *shell),
            commits=tuple(sha for sha in commits_in(end.given.command, end.answer) if len(sha) < 40),
        )

    def _tell(self, call: str) -> None:
        if len(self.told) < REMEMBERED_MAX:
            self.told.add(call)

    def _search(self, line: Line, kind: str, inner: dict[str, Json]) -> Found | None:
        """A search once: an event and an item tell of the same one."""
        said = shapes.searched(inner)
        assert said is not None, "asked before"
        names = {f"{self.turn}:{_digest(dict(said.action))}", *filter(None, (said.call,))}
        known = self.searches & ({said.call} if said.call and kind == "event_msg" else names)
        if known or len(self.searches) > REMEMBERED_MAX:
            return None
        self.searches |= names
        return self._found(line, kind, inner, begun=1)

    def _typed(self, line: Line, kind: str, inner: dict[str, Json]) -> Found | None:
        said = shapes.typed(inner)
        if said is None or self.subagent is not None or not shapes.is_typed(said):
            return None
        beside: dict[str, Json] = {}
        if self.turn is not None:
            # One turn may be told several things: the first is what a hook hears under the turn's name.
            count = self.ids[f"turn:{self.turn}"]
            self.ids[f"turn:{self.turn}"] += 1
            beside["prompt"] = f"{self.turn}:{count}" if count else self.turn
        return self._found(line, kind, inner, beside=beside)

    # --- what is kept -------------------------------------------------------------------------------------------------

    def _found(
        self,
        line: Line,
        kind: str,
        inner: Mapping[str, Json],
        *,
        key: str | None = None,
        calls: list[dict[str, Json]] | None = None,
        edits: tuple[Named, ...] = (),
        commits: tuple[str, ...] = (),
        beside: Mapping[str, Json] | None = None,
        begun: int = 0,
    ) -> Found:
        around = {"turn": self.turn, "model": self.model, **(beside or {})}
        kept: dict[str, Json] = {name: value for name, value in inner.items() if name not in _LEFT_OUT}
        item = kept.get("item")
        if isinstance(item, dict):
            kept["item"] = {name: value for name, value in item.items() if name not in _LEFT_OUT}
        return Found(
            line=line.number,
            id=self._id(kind, inner) if key is None or not _ID.fullmatch(key) else key,
            session=self.session,
            at=self.at,
            payload={
                "type": kind,
                "payload": kept,
                "beside": {name: value for name, value in around.items() if value is not None},
            },
            version=self.version,
            cwd=self.cwd,
            calls=calls or [],
            edits=edits,
            commits=commits,
            subagent=self.subagent,
            parent_call=None if self.subagent is None else self.starts.get((self.session, self.subagent)),
            opens=self._opens(),
            begun=begun,
        )

    def _opens(self) -> Literal["session", "model"] | None:
        """Whether the line is the first of its session here, or the first under another model."""
        spoken = None if self.subagent is not None else self.model
        known = self.session in self.opened
        if known and spoken in (None, self.opened[self.session]):
            return None
        self.opened[self.session] = spoken or self.opened.get(self.session)
        return "model" if known else "session"

    def _id(self, kind: str, inner: Mapping[str, Json]) -> str:
        """The line's own name: by its call, else by its session and content; what is said twice is numbered."""
        # A fork gives names to messages that had none.
        call = None if inner.get("type") == "message" else shapes.call_id(inner)
        name = f"{shapes.name_of(kind, inner)}:{call}"
        if call is None or len(call) < CALL_CHARS_MIN or not _ID.fullmatch(name):
            name = f"{hashlib.sha256(self.session.encode('utf-8', 'replace')).hexdigest()[:16]}:{_digest(inner)}"
        count = self.ids[name]
        if count or len(self.ids) < REMEMBERED_MAX:
            self.ids[name] += 1
        return f"{name}-{count}" if count else name


READ = {
    "session_meta": Reading._meta,
    "turn_context": Reading._turn,
    "response_item": Reading._response,
    "event_msg": Reading._event,
}


def _nothing(_reading: Reading, _line: Line, _inner: dict[str, Json]) -> Found | None:
    return None


def _names(changes: Sequence[Change], cwd: str | None) -> tuple[Named, ...]:
    names = (name for change in changes for name in change.names)
    return tuple(Named(name, cwd) for name in dict.fromkeys(names))


def _digest(inner: Mapping[str, Json]) -> str:
    return hashlib.sha256(dump({name: value for name, value in inner.items() if name not in _OWN})).hexdigest()[:32]


def _major(version: str) -> int:
    major = version.partition(".")[0]
    return int(major) if major.isascii() and major.isdigit() and len(major) < 10 else 0
