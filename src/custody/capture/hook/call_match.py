"""Cursor tells of one call in several events, and names it in some: which call each event is of, and of which session.

``preToolUse`` and ``postToolUse`` name the call; ``afterFileEdit``, ``beforeShellExecution`` and their like do not, and
come between the two or, in versions that have no others, alone. A small file for each call under way says which one was
begun for a file or a command; an event without one gets a name of its own. A subagent has a conversation of its own:
when it starts, whose subagent it is is remembered the same way. So has a subagent of Copilot CLI.
"""

from __future__ import annotations

import os
import time

from .fast_primitives import sha256

TYPE_CHECKING = False  # the module for it takes longer to import than all of these
if TYPE_CHECKING:
    from typing import Any

    CallFields = dict[str, Any]

OPEN_SECONDS_MAX = 3600
"""A call that was begun longer ago was refused, or its end was never told."""
KEPT_SECONDS_MAX = 7 * 24 * 3600
NAME_MAX = 490
OWN = "event-"
"""How the name begins of a call that only one event tells of."""
UNNAMED = frozenset(
    ("beforeShellExecution", "afterShellExecution", "beforeReadFile", "afterFileEdit", "afterTabFileEdit")
)
"""Events that do not say which call they are of."""
TAKING = frozenset(("afterShellExecution", "afterFileEdit"))
"""Events after which no other asks for the call: one file may be edited again by another call."""
TAB = "afterTabFileEdit"
"""Of a completion, which is of no call."""
EDITS = frozenset(("afterFileEdit", TAB))
EDITING = frozenset("write strreplace delete applypatch editnotebook".split())
"""Cursor's tools that change files which they name."""
READING = frozenset("read readfile".split())
SHELL, FILE, READ, SESSION, ASKED = "shell", "file", "read", "session", "asked"
PATHS = ("file_path", "path", "filePath", "target_file", "target_notebook", "notebook_path")
PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def call_name(said: str) -> str:
    r"""A call's name as it can be kept; Cursor joins two ids of many models' calls by a line feed.

    >>> call_name("toolu_1"), call_name("call_1\nfc_1")
    ('toolu_1', 'sha256-a10045de03b0dde17afa32d6d9b4cc82')
    """
    if said.isprintable() and 0 < len(said) <= NAME_MAX:
        return said
    digits: str = sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"sha256-{digits}"


def session_of(event: str, fields: CallFields, said: str | None, home: str) -> str | None:
    """The session that an event is of: that of the agent which started the one that tells it."""
    if said is None:
        return None
    parent = fields.get("parent_conversation_id")
    if event == "subagentStart" and isinstance(parent, str) and 0 < len(parent) <= NAME_MAX and parent != said:
        root = _read_call(home, _key(SESSION, parent), KEPT_SECONDS_MAX) or parent
        _write(home, _key(SESSION, said), root)
        return root
    return _read_call(home, _key(SESSION, said), KEPT_SECONDS_MAX) or said


def copilot_session_of(event: str, fields: CallFields, said: str | None, home: str) -> str | None:
    """The same for Copilot CLI: since the autumn of 2026 each event of a subagent names the agent that started it.

    Before that only its first event tells it: it is asked just what the call was given that started it.
    """
    if said is None:
        return None
    phase = event[:1].lower() + event[1:]
    if phase == "sessionStart":
        _clean(home)
    own, parent = _name(fields, "agent_id"), _name(fields, "parent_agent_id")
    if own is not None and parent is not None and own != parent:
        return _under(own, parent, home) if said in (own, parent) else said
    root = _read_call(home, _key(SESSION, said), KEPT_SECONDS_MAX) or said
    given = fields.get("tool_input", fields.get("toolArgs"))
    if phase == "preToolUse" and isinstance(given, dict) and isinstance(given.get("prompt"), str):
        _write(home, _key(ASKED, given["prompt"]), root)
    if phase.startswith("userPromptSubmit") and isinstance(fields.get("prompt"), str):
        key = _key(ASKED, fields["prompt"])
        starter = _read_call(home, key, OPEN_SECONDS_MAX)
        if starter is not None and starter != root:
            _forget(home, key)
            return _under(said, starter, home)
    return root


def _under(own: str, parent: str, home: str) -> str:
    """The session that a subagent is part of, which is remembered."""
    root = _read_call(home, _key(SESSION, parent), KEPT_SECONDS_MAX) or parent
    if _read_call(home, _key(SESSION, own), KEPT_SECONDS_MAX) is None:
        _write(home, _key(SESSION, own), root)
    return root


def _name(fields: CallFields, key: str) -> str | None:
    value = fields.get(key)
    return value if isinstance(value, str) and 0 < len(value) <= NAME_MAX and value.isprintable() else None


def call_of(event: str, fields: CallFields, session: str | None, home: str) -> str | None:
    """The call that an event without a name is of; None for an event that is of none."""
    if event not in UNNAMED:
        return None
    asked = [] if event == TAB else _list_targets(event, fields)
    keys = [_key(kind, f"{session}\0{what}") for kind, what in asked]
    found = _read_call(home, keys[0], OPEN_SECONDS_MAX) if keys else None
    if found is not None and event in TAKING:
        _forget(home, keys[0])
    made = found or OWN + os.urandom(16).hex()
    if found is None and event == "beforeShellExecution" and keys:
        _write(home, keys[0], made)
    return made


def record_call_start(event: str, fields: CallFields, session: str | None, call: str | None, home: str) -> None:
    """Remember which call was begun for which file or command; forget it when that failed."""
    if event == "sessionStart":
        _clean(home)
    if event not in ("preToolUse", "postToolUseFailure") or call is None:
        return
    for kind, what in _list_targets(event, fields):
        key = _key(kind, f"{session}\0{what}")
        if event == "preToolUse":
            _write(home, key, call)
        else:
            _forget(home, key)


def files_of(event: str, fields: CallFields) -> list[str] | None:
    """The files that an event says were changed, by whole paths; None where it does not say which."""
    if event in EDITS or str(fields.get("tool_name")).lower() in EDITING:
        return [what for kind, what in _list_targets(event, fields) if kind == FILE]
    return None


def before_of(fields: CallFields, text: str) -> str | None:
    r"""A file's text before the edits that an event tells; None where that cannot be told.

    >>> before_of({"edits": [{"old_string": "a", "new_string": "one\n"}]}, "one\ntwo\n")
    'atwo\n'
    """
    edits = fields.get("edits")
    if not isinstance(edits, list) or not edits:
        return None
    for edit in reversed(edits):
        if not isinstance(edit, dict):
            return None
        old, new = edit.get("old_string"), edit.get("new_string")
        if not isinstance(old, str) or not isinstance(new, str) or not new:
            return None  # where something was taken out is not told
        place = _place(text, new, edit.get("range"))
        if place is None:
            return None
        text = text[:place] + old + text[place + len(new) :]
    return text


def _place(text: str, new: str, where: Any) -> int | None:
    """Where a text was put: the only place where it stands, or the one on the line that was told."""
    first = text.find(new)
    if first < 0 or text.find(new, first + 1) < 0:
        return first if first >= 0 else None
    line = where.get("start_line_number") if isinstance(where, dict) else None
    while first >= 0:
        if text.count("\n", 0, first) + 1 == line:
            return first
        first = text.find(new, first + 1)
    return None


def _list_targets(event: str, fields: CallFields) -> list[tuple[str, str]]:
    """What an event is about: files that are changed or read, or a command."""
    tool, given = str(fields.get("tool_name")).lower(), fields.get("tool_input")
    if event in ("beforeShellExecution", "afterShellExecution"):
        return _commands(fields)
    if event in EDITS or event == "beforeReadFile":
        return [(READ if event == "beforeReadFile" else FILE, path) for path in _paths(fields, fields)]
    if tool == SHELL:
        return _commands(given)
    if tool in READING or tool in EDITING:
        return [(READ if tool in READING else FILE, path) for path in _paths(given, fields)]
    return []


def _commands(said: Any) -> list[tuple[str, str]]:
    command = said.get("command") if isinstance(said, dict) else None
    return [(SHELL, command)] if isinstance(command, str) else []


def _paths(given: Any, fields: CallFields) -> list[str]:
    named: list[str] = []
    if isinstance(given, dict):
        named = [given[name] for name in PATHS if isinstance(given.get(name), str)][:1]
        given = given.get("patch", given.get("input"))
    if isinstance(given, str) and not named:
        for line in given.split("\n"):
            named += [line[len(mark) :].strip() for mark in PATCHED if line.startswith(mark)]
    return [_whole(name, fields) for name in named if name and "\0" not in name]


def _whole(name: str, fields: CallFields) -> str:
    roots = fields.get("workspace_roots")
    around = fields.get("cwd") or (roots[0] if isinstance(roots, list) and roots else "")
    return os.path.normpath(os.path.join(around if isinstance(around, str) else "", name))


# --- what is remembered -----------------------------------------------------------------------------------------------


def _key(kind: str, what: str) -> str:
    name: str = sha256(f"{kind}\0{what}".encode("utf-8", "surrogatepass")).hexdigest()
    return name[:32]


def _folder(home: str) -> str:
    return os.path.join(home, "hook", "open")


def _read_call(home: str, key: str, seconds: int) -> str | None:
    path = os.path.join(_folder(home), key)
    try:
        if time.time() - os.stat(path).st_mtime > seconds:
            return None
        with open(path, encoding="utf-8") as file:
            said = file.read(NAME_MAX + 1)
    except (OSError, ValueError):
        return None  # nothing was begun, or nobody could keep it
    return said if 0 < len(said) <= NAME_MAX and said.isprintable() else None


def _write(home: str, key: str, said: str) -> None:
    """Remember a name; a loss only makes one call look like two."""
    folder = _folder(home)
    aside = os.path.join(folder, f"{key}.{os.getpid()}")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(said.encode("utf-8", "surrogatepass"))
        os.rename(aside, os.path.join(folder, key))
    except OSError:
        return


def _forget(home: str, key: str) -> None:
    try:
        os.unlink(os.path.join(_folder(home), key))
    except OSError:
        return  # somebody else was first


def _clean(home: str) -> None:
    """Forget what nobody will ask for any more."""
    try:
        names = os.listdir(_folder(home))
    except OSError:
        return  # nothing was ever remembered
    for name in names:
        try:
            if time.time() - os.stat(os.path.join(_folder(home), name)).st_mtime > KEPT_SECONDS_MAX:
                _forget(home, name)
        except OSError:
            continue  # gone meanwhile
