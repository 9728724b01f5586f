"""What is kept of a line of a rollout, and the name that it is kept under."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from custody.capture.agents.codex import line_shapes as shapes
from custody.capture.file_probe import root_session
from custody.capture.patch import PatchedFile
from custody.capture.transcripts import ChangedFile, Starts, is_id
from custody.core.wire.canonical import Json, dump

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
