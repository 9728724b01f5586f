"""From what an agent says on stdin to one durable event: read, look for secrets, wrap, spool, perhaps a snapshot.

The event is kept as the agent gave it, inside an envelope that says who, when and where. Only when the tripwire sees
what may be a secret is it taken apart and redacted.
"""

from __future__ import annotations

import os
import sys

from .cleaning import complain, dropped, redacted
from .homes import put
from .place import PATH_MAX, common_dir_of, head_of, place_in, work_tree_of
from .quick import encoded, now, parse, sha256
from .trip import trips

TYPE_CHECKING = False  # the module for it takes longer to import than all of these
if TYPE_CHECKING:
    from typing import Any, BinaryIO

EVENT_BYTES_MAX = 16 * 1024 * 1024
PAYLOAD_BYTES_MAX = EVENT_BYTES_MAX - 1024 * 1024
"""Room for the envelope and for the marks of redaction."""
NAME_MAX = 500
CHUNK_BYTES = 1 << 20

SESSION = ("session_id", "conversation_id", "sessionId", "sessionID", "session")
EVENT = ("hook_event_name", "hookEventName")
CALL = ("tool_use_id", "toolUseId", "call_id", "callID")
PROMPT = ("prompt_id", "turn_id", "generation_id")
TOOL = ("tool_name", "toolName", "tool")


if TYPE_CHECKING:
    Fields = dict[str, Any]


class Words:
    """What the command line says: whose event, which one, and whether a receipt is wanted."""

    def __init__(self, arguments: list[str]) -> None:
        self.agent = _after(arguments, "--agent") or "unknown"
        self.event = _after(arguments, "--event")
        self.receipt = "--receipt" in arguments
        self.user = "--user" in arguments


class Given:
    """What came on stdin: all of it, or its digest and size when it is more than an event may hold."""

    def __init__(self, stream: BinaryIO) -> None:
        self.data = stream.read(PAYLOAD_BYTES_MAX + 1)
        self.size = len(self.data)
        self.dropped: Fields | None = None
        if self.size > PAYLOAD_BYTES_MAX:
            digest = sha256(self.data)
            while chunk := stream.read(CHUNK_BYTES):
                digest.update(chunk)
                self.size += len(chunk)
            self.data = b""
            self.dropped = {"digest": "sha256:" + digest.hexdigest(), "bytes": self.size, "why": "over the size limit"}

    def fields(self) -> Fields | None:
        """The JSON object that it is; None when it is something else."""
        try:
            value = parse(self.data.decode("utf-8"))
        except (ValueError, RecursionError):
            return None  # kept as text instead
        return value if isinstance(value, dict) else None


def main(arguments: list[str], here: str) -> None:
    """Record what stdin says; ``here`` is the launcher's folder, whose parent is the store's home."""
    words = Words(arguments)
    given = Given(sys.stdin.buffer)
    fields = given.fields()
    home: str | None = os.path.dirname(here)
    if words.user:
        home = home_around(folder_of(fields))
    if home is None:
        return  # outside a repository there is nothing to keep
    name = record(words, given, fields, home)
    if words.receipt and name is not None:
        sys.stdout.write(name + "\n")
        sys.stdout.flush()


def home_around(folder: str) -> str | None:
    """The home of the store of the repository around ``folder``; None outside one."""
    found = work_tree_of(folder)
    return None if found is None else os.path.join(common_dir_of(found[1]), "custody")


def record(words: Words, given: Given, fields: Fields | None, home: str) -> str | None:
    """Keep one event; give its name once it is durable, or None after counting the gap."""
    environment = dict(os.environ)
    folder = folder_of(fields)
    try:
        name = put(home, _event(words, given, fields, folder, home), environment)
    except OSError as error:
        complain(home, f"{words.agent}: cannot write: {error.strerror}")
        return None
    if given.dropped is not None:
        complain(home, f"{words.agent}: {given.size} bytes were kept as digest and size only")
    if fields is not None:
        _snapshot(words, fields, folder, home)
    return name


def _event(words: Words, given: Given, fields: Fields | None, folder: str, home: str) -> bytes:
    """The event's bytes, with nothing in them that looks like a secret."""
    if fields is not None and "custody" in fields and "kind" in fields:
        return _fitting({**_around(words, fields, folder, home), **_said(fields)}, home)
    around = {"kind": "hook", **_around(words, fields or {}, folder, home), "event": event_of(words, fields or {})}
    real = _shown(os.path.realpath(folder))
    if real is not None:
        around["folder"] = real
    if given.dropped is not None:
        return encoded({**around, "dropped": given.dropped})
    if fields is None:
        return _fitting({**around, "unparsed": given.data.decode("utf-8", "surrogateescape")}, home)
    if trips(given.data):
        return _fitting({**around, "payload": fields}, home)
    # Nothing to hide: the agent's own bytes go in as they are.
    return b'%s,"payload":%s}' % (encoded(around)[:-1], given.data.strip())


def _said(fields: Fields) -> Fields:
    """What a generic event says; null says nothing."""
    return {name: value for name, value in fields.items() if value is not None}


def _fitting(event: Fields, home: str) -> bytes:
    """The event redacted; dropped to its digest and size when it is more than a spool file may hold."""
    data = redacted(event, home)
    return data if len(data) <= EVENT_BYTES_MAX else dropped(event, data, home, "over the size limit")


def event_of(words: Words, fields: Fields) -> str:
    """Which of the agent's events this is."""
    return words.event or name_in(fields, EVENT) or "unknown"


def folder_of(fields: Fields | None) -> str:
    """The folder in which the agent works."""
    said = (fields or {}).get("cwd")
    roots = (fields or {}).get("workspace_roots")
    if not isinstance(said, str) and isinstance(roots, list) and roots:
        said = roots[0]
    for folder in (said, os.environ.get("CLAUDE_PROJECT_DIR")):
        if isinstance(folder, str) and os.path.isabs(folder) and folder.isprintable() and len(folder) < PATH_MAX:
            return folder
    try:
        return os.getcwd()
    except OSError:
        return os.path.sep  # the folder was deleted under the agent: then its place cannot be told


def name_in(fields: Fields, names: tuple[str, ...]) -> str | None:
    """The first of these fields that holds a usable name."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and 0 < len(value) <= NAME_MAX and value.isprintable():
            return value
    return None


def _around(words: Words, fields: Fields, folder: str, home: str) -> Fields:
    """Who, which, when and where."""
    call = name_in(fields, CALL)
    around: Fields = {
        "custody": 1,
        "agent": words.agent[:NAME_MAX],
        "id": call or name_in(fields, PROMPT) or os.urandom(16).hex(),
        "at": now(),
    }
    session = name_in(fields, SESSION)
    if session is not None:
        around["session"] = session
    if "custody" not in fields and call is not None:
        around["call"] = call
    found = where(folder, home)
    if found is not None:
        around["head"] = head_of(found[1])
        around["worktree"] = _shown(found[0])
    return {name: value for name, value in around.items() if value is not None}


def where(folder: str, home: str) -> tuple[str, str] | None:
    """The work tree of this store's repository in which the agent works, and its git folder."""
    return place_in(os.path.dirname(home), [folder, os.environ.get("CLAUDE_PROJECT_DIR") or folder])


def _shown(path: str) -> str | None:
    return path if path.isprintable() and len(path) < PATH_MAX else None


def _snapshot(words: Words, fields: Fields, folder: str, home: str) -> None:
    from .snapshot import phase_of  # only shell calls and bare edits go further

    phase = phase_of(event_of(words, fields), name_in(fields, TOOL))
    if phase is not None:
        from .snapshot import take

        found = where(folder, home)
        if found is not None:
            take(_around(words, fields, folder, home), phase, found[0], home)


def _after(arguments: list[str], option: str) -> str | None:
    place = arguments.index(option) + 1 if option in arguments else len(arguments)
    return arguments[place] if place < len(arguments) else None
