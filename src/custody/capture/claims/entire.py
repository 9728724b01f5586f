"""Entire's checkpoints: the files of each session in a tree, and their metadata.

Supported are the layouts of Entire's CLI from 0.3 (January 2026) to August 2026: the branch ``entire/checkpoints/v1``
with ``<2>/<10>/<n>/metadata.json`` and ``full.jsonl`` (older checkpoints have one session, beside the checkpoint's own
``metadata.json``), ``refs/entire/checkpoints/v2`` with ``raw_transcript`` (in spring 2026), and one reference per
checkpoint, ``refs/entire/checkpoints/<end of id>/<id>``. A long transcript has several files.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct, field

from custody.capture.claims.traces import normalize_foreign_timestamp
from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json, parse_json_bytes

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
"""Entire's names of the agents with readers in custody."""

_ID = r"[0-9a-f]{12}|[0-7][0-9A-HJKMNP-TV-Z]{25}"
_TRAILER = lazy_pattern(rf"^Entire-Checkpoint:[ \t]*({_ID})[ \t]*\r?$", re.MULTILINE | re.ASCII)
_REF = lazy_pattern(rf"refs/entire/checkpoints/([0-9A-Za-z]{{2}})/({_ID})", re.ASCII)
_PLACE = lazy_pattern(r"([0-9a-f]{2})/([0-9a-f]{10})/(.+)|([0-9A-Z]{2})/([0-9A-Z]{24})/(.+)", re.ASCII | re.DOTALL)
_INNER = lazy_pattern(r"(?:([0-9]{1,4})/)?(metadata\.json|(?:full\.jsonl|full\.log|raw_transcript)(?:\.([0-9]{1,4}))?)")
_TASK = lazy_pattern(r"(?:[0-9]{1,4}/)?tasks/[^/]+/(agent-[\w-]{1,100}\.jsonl)", re.ASCII)
_DATED = lazy_pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}-(.+)", re.ASCII)
_NAME = lazy_pattern(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,1000}")


class Folder(Struct):
    """The files of one session in one checkpoint, by content id; the parts of a transcript are ordered."""

    checkpoint: str
    number: str
    metadata: str | None = None
    parts: dict[int, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)

    @property
    def transcript(self) -> list[str]:
        """The content ids of the transcript's parts, in order."""
        return [self.parts[part] for part in sorted(self.parts)]

    @property
    def place(self) -> str:
        """The name shown to people."""
        return f"{self.checkpoint}/{self.number}" if self.number else self.checkpoint


class CheckpointSession(Struct, frozen=True):
    """A session's metadata in a checkpoint; ``agent`` is custody's name, None without one."""

    id: str
    agent: str | None
    at: str | None


def parse_checkpoint_trailers(message: str) -> list[str]:
    """Return the checkpoints that a commit's message names, each once.

    >>> parse_checkpoint_trailers("Fix it\\n\\nEntire-Checkpoint: a3b2c4d5e6f7\\n")
    ['a3b2c4d5e6f7']
    """
    return list(dict.fromkeys(_TRAILER.findall(message)))


def locate_checkpoint_metadata(checkpoint: str) -> tuple[str, ...]:
    """Return where the metadata of a checkpoint's first session may be in the tree of checkpoints.

    >>> locate_checkpoint_metadata("a3b2c4d5e6f7")
    ('a3/b2c4d5e6f7/0/metadata.json', 'a3/b2c4d5e6f7/metadata.json')
    """
    folder = f"{checkpoint[:2]}/{checkpoint[2:]}"
    return f"{folder}/0/metadata.json", f"{folder}/metadata.json"


def checkpoint_from_ref(name: str) -> str | None:
    """Return the checkpoint of a reference.

    >>> checkpoint_from_ref("refs/entire/checkpoints/f7/a3b2c4d5e6f7")
    'a3b2c4d5e6f7'
    """
    shape = _REF.fullmatch(name)
    return shape[2] if shape is not None and shape[2].endswith(shape[1]) else None


def collect_checkpoint_folders(
    files: Iterable[tuple[str, str]], checkpoint: str | None = None
) -> dict[tuple[str, str], Folder]:
    """Return the sessions in a tree of checkpoints, or of one ``checkpoint``, by checkpoint and number."""
    result: dict[tuple[str, str], Folder] = {}
    for path, sha in files:
        name, inner = (checkpoint, path) if checkpoint is not None else _split_checkpoint_path(path)
        if name is not None:
            _add_checkpoint_file(result, name, inner, sha)
    return {
        key: folder
        for key, folder in result.items()
        if folder.parts or folder.number or not _is_checkpoint_summary(result, key)
    }


def _is_checkpoint_summary(folders: Mapping[tuple[str, str], Folder], key: tuple[str, str]) -> bool:
    """Return whether the file beside a checkpoint's sessions is their summary, not a session."""
    return any(name == key[0] and number for name, number in folders)


def _split_checkpoint_path(path: str) -> tuple[str | None, str]:
    shape = _PLACE.fullmatch(path)
    if shape is None:
        return None, path
    return (f"{shape[1]}{shape[2]}", shape[3]) if shape[1] else (f"{shape[4]}{shape[5]}", shape[6])


def _add_checkpoint_file(result: dict[tuple[str, str], Folder], checkpoint: str, inner: str, sha: str) -> None:
    task, shape = _TASK.fullmatch(inner), _INNER.fullmatch(inner)
    number = shape[1] or "" if shape is not None else ""
    if task is None and shape is None:
        return
    folder = result.setdefault((checkpoint, number), Folder(checkpoint, number))
    if task is not None:
        folder.tasks[task[1]] = sha
    elif shape is not None and shape[2] == "metadata.json":
        folder.metadata = sha
    elif shape is not None:
        folder.parts[int(shape[3] or 0)] = sha


def parse_checkpoint_session(data: bytes) -> CheckpointSession:
    """Return a session's metadata; raise ``InputError`` if it names no session."""
    value = parse_json_bytes(data)
    if not isinstance(value, dict):
        raise InputError("the metadata is not a JSON object")
    name = _get_checkpoint_text(value, "session_id")
    if name is None or not _NAME.fullmatch(name):
        raise InputError("the metadata has no session id")
    dated = _DATED.fullmatch(name)
    agent = (_get_checkpoint_text(value, "agent") or "").casefold()
    # Older metadata has the date before the agent's own id.
    return CheckpointSession(
        name if dated is None else dated[1],
        AGENTS.get(agent),
        _parse_checkpoint_time(_get_checkpoint_text(value, "created_at")),
    )


def _parse_checkpoint_time(text: str | None) -> str | None:
    """Return when a checkpoint was made, to order copies of a session; None for an invalid time (the year 1)."""
    try:
        return None if text is None else normalize_foreign_timestamp(text)
    except InputError:
        return None


def _get_checkpoint_text(value: Mapping[str, Json], name: str) -> str | None:
    content = value.get(name)
    return content if isinstance(content, str) and content else None
