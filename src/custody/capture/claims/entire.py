"""Entire's checkpoints: which files of a tree are whose session, and what their metadata says.

Read are the layouts of Entire's CLI from 0.3 (January 2026) to August 2026: the branch ``entire/checkpoints/v1`` with
``<2>/<10>/<n>/metadata.json`` and ``full.jsonl`` (older checkpoints have one session, beside the checkpoint's own
``metadata.json``), ``refs/entire/checkpoints/v2`` with ``raw_transcript`` (written for a while in spring 2026), and one
reference for each checkpoint, ``refs/entire/checkpoints/<end of id>/<id>``. A long transcript lies in several files.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from custody.capture.claims.traces import moment
from custody.core.errors import InputError
from custody.core.wire.canonical import Json, parse

AGENTS: Mapping[str, str] = MappingProxyType(
    {
        "claude code": "claude-code",
        "gemini cli": "gemini",
        "cursor": "cursor",
        "cursor ide": "cursor",
        "codex": "codex",
        "codex cli": "codex",
        "opencode": "opencode",
        "copilot cli": "copilot",
        "github copilot": "copilot",
    }
)
"""What Entire calls the agents that have readers here."""

_ID = r"[0-9a-f]{12}|[0-7][0-9A-HJKMNP-TV-Z]{25}"
_TRAILER = re.compile(rf"^Entire-Checkpoint:[ \t]*({_ID})[ \t]*\r?$", re.MULTILINE | re.ASCII)
_REF = re.compile(rf"refs/entire/checkpoints/([0-9A-Za-z]{{2}})/({_ID})", re.ASCII)
_PLACE = re.compile(r"([0-9a-f]{2})/([0-9a-f]{10})/(.+)|([0-9A-Z]{2})/([0-9A-Z]{24})/(.+)", re.ASCII | re.DOTALL)
_INNER = re.compile(r"(?:([0-9]{1,4})/)?(metadata\.json|(?:full\.jsonl|full\.log|raw_transcript)(?:\.([0-9]{1,4}))?)")
_TASK = re.compile(r"(?:[0-9]{1,4}/)?tasks/[^/]+/(agent-[\w-]{1,100}\.jsonl)", re.ASCII)
_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}-(.+)", re.ASCII)
_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,1000}")


@dataclass(slots=True)
class Folder:
    """The files of one session in one checkpoint: ids of contents, those of a transcript in their order."""

    checkpoint: str
    number: str
    metadata: str | None = None
    parts: dict[int, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)

    @property
    def transcript(self) -> list[str]:
        """What the transcript is put together from."""
        return [self.parts[part] for part in sorted(self.parts)]

    @property
    def place(self) -> str:
        """What people are told."""
        return f"{self.checkpoint}/{self.number}" if self.number else self.checkpoint


@dataclass(frozen=True, slots=True)
class CheckpointSession:
    """What a checkpoint says of a session; ``agent`` is our name of it, None where it has none."""

    id: str
    agent: str | None
    at: str | None


def trailers(message: str) -> list[str]:
    """The checkpoints that a commit's message names, each once.

    >>> trailers("Fix it\\n\\nEntire-Checkpoint: a3b2c4d5e6f7\\n")
    ['a3b2c4d5e6f7']
    """
    return list(dict.fromkeys(_TRAILER.findall(message)))


def checkpoint_of_ref(name: str) -> str | None:
    """The checkpoint that a reference of its own holds.

    >>> checkpoint_of_ref("refs/entire/checkpoints/f7/a3b2c4d5e6f7")
    'a3b2c4d5e6f7'
    """
    shape = _REF.fullmatch(name)
    return shape[2] if shape is not None and shape[2].endswith(shape[1]) else None


def folders(files: Iterable[tuple[str, str]], checkpoint: str | None = None) -> dict[tuple[str, str], Folder]:
    """The sessions in a tree of checkpoints, or of one ``checkpoint``, by checkpoint and number."""
    found: dict[tuple[str, str], Folder] = {}
    for path, sha in files:
        name, inner = (checkpoint, path) if checkpoint is not None else _placed(path)
        if name is not None:
            _put(found, name, inner, sha)
    return {key: folder for key, folder in found.items() if folder.parts or folder.number or not _has_more(found, key)}


def _has_more(found: Mapping[tuple[str, str], Folder], key: tuple[str, str]) -> bool:
    """Whether what stands beside a checkpoint's sessions is a summary of them, and no session of its own."""
    return any(name == key[0] and number for name, number in found)


def _placed(path: str) -> tuple[str | None, str]:
    shape = _PLACE.fullmatch(path)
    if shape is None:
        return None, path
    return (f"{shape[1]}{shape[2]}", shape[3]) if shape[1] else (f"{shape[4]}{shape[5]}", shape[6])


def _put(found: dict[tuple[str, str], Folder], checkpoint: str, inner: str, sha: str) -> None:
    task, shape = _TASK.fullmatch(inner), _INNER.fullmatch(inner)
    number = shape[1] or "" if shape is not None else ""
    if task is None and shape is None:
        return
    folder = found.setdefault((checkpoint, number), Folder(checkpoint, number))
    if task is not None:
        folder.tasks[task[1]] = sha
    elif shape is not None and shape[2] == "metadata.json":
        folder.metadata = sha
    elif shape is not None:
        folder.parts[int(shape[3] or 0)] = sha


def session_of(data: bytes) -> CheckpointSession:
    """What a session's metadata says; an ``InputError`` when it cannot be told whose it is."""
    value = parse(data)
    if not isinstance(value, dict):
        raise InputError("metadata is a JSON object")
    named = _text(value, "session_id")
    if named is None or not _NAME.fullmatch(named):
        raise InputError("metadata without a session's id")
    dated = _DATED.fullmatch(named)
    agent = (_text(value, "agent") or "").casefold()
    # Older ones put the day before the agent's own id.
    return CheckpointSession(
        named if dated is None else dated[1], AGENTS.get(agent), _moment(_text(value, "created_at"))
    )


def _moment(told: str | None) -> str | None:
    """When a checkpoint was made; it only orders the copies of a session, so an odd one (the year 1) is none."""
    try:
        return None if told is None else moment(told)
    except InputError:
        return None


def _text(value: Mapping[str, Json], name: str) -> str | None:
    said = value.get(name)
    return said if isinstance(said, str) and said else None
