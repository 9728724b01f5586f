"""The call and the session of each event of Cursor: several events report one call, and only some name it.

``preToolUse`` and ``postToolUse`` name the call. ``afterFileEdit``, ``beforeShellExecution`` and others do not; they
come between the two or, in older versions, alone. A small file for each open call stores its file or command; an event
without a match gets its own name. A subagent has its own conversation; its parent session is stored in the same way
when it starts. The same holds for Copilot CLI.
"""

from __future__ import annotations

import os
import time

from .fast_primitives import sha256

TYPE_CHECKING = False  # importing typing takes longer than these modules
if TYPE_CHECKING:
    from typing import Any

    CallFields = dict[str, Any]

OPEN_SECONDS_MAX = 3600
"""An older open call was refused, or its end was not reported."""
STORED_SECONDS_MAX = 7 * 24 * 3600
NAME_MAX = 490
OWN = "event-"
"""Prefix of the name of a call with a single event."""
UNNAMED = frozenset(
    ("beforeShellExecution", "afterShellExecution", "beforeReadFile", "afterFileEdit", "afterTabFileEdit")
)
"""Events that do not name their call."""
CLOSING = frozenset(("afterShellExecution", "afterFileEdit"))
"""Events after which a call is closed: another call may edit the same file."""
TAB = "afterTabFileEdit"
"""Events of completions, which have no call."""
EDITS = frozenset(("afterFileEdit", TAB))
EDITING = frozenset("write strreplace delete applypatch editnotebook".split())
"""Cursor's tools that change the files that they name."""
READING = frozenset("read readfile".split())
SHELL, FILE, READ, SESSION, PROMPT = "shell", "file", "read", "session", "asked"
PATHS = ("file_path", "path", "filePath", "target_file", "target_notebook", "notebook_path")
PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def normalize_call_id(text: str) -> str:
    r"""Return a call's name in a storable form; Cursor joins two ids of many models' calls by a line feed.

    >>> normalize_call_id("toolu_1"), normalize_call_id("call_1\nfc_1")
    ('toolu_1', 'sha256-a10045de03b0dde17afa32d6d9b4cc82')
    """
    if text.isprintable() and 0 < len(text) <= NAME_MAX:
        return text
    digits: str = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"sha256-{digits}"


def resolve_cursor_session(event: str, fields: CallFields, text: str | None, home: str) -> str | None:
    """Return the session of an event: that of the agent that started the reporting agent."""
    if text is None:
        return None
    parent = fields.get("parent_conversation_id")
    if event == "subagentStart" and isinstance(parent, str) and 0 < len(parent) <= NAME_MAX and parent != text:
        root = _read_open_call(home, _digest_call_target(SESSION, parent), STORED_SECONDS_MAX) or parent
        _write_open_call(home, _digest_call_target(SESSION, text), root)
        return root
    return _read_open_call(home, _digest_call_target(SESSION, text), STORED_SECONDS_MAX) or text


def resolve_copilot_session(event: str, fields: CallFields, text: str | None, home: str) -> str | None:
    """Return the same for Copilot CLI: since autumn 2026 each event of a subagent names the agent that started it.

    Before, only its first event shows it: its prompt is the input of the call that started it.
    """
    if text is None:
        return None
    phase = event[:1].lower() + event[1:]
    if phase == "sessionStart":
        _remove_stale_calls(home)
    own, parent = _get_call_field(fields, "agent_id"), _get_call_field(fields, "parent_agent_id")
    if own is not None and parent is not None and own != parent:
        return _remember_subagent_parent(own, parent, home) if text in (own, parent) else text
    root = _read_open_call(home, _digest_call_target(SESSION, text), STORED_SECONDS_MAX) or text
    arguments = fields.get("tool_input", fields.get("toolArgs"))
    if phase == "preToolUse" and isinstance(arguments, dict) and isinstance(arguments.get("prompt"), str):
        _write_open_call(home, _digest_call_target(PROMPT, arguments["prompt"]), root)
    if phase.startswith("userPromptSubmit") and isinstance(fields.get("prompt"), str):
        key = _digest_call_target(PROMPT, fields["prompt"])
        starter = _read_open_call(home, key, OPEN_SECONDS_MAX)
        if starter is not None and starter != root:
            _forget_open_call(home, key)
            return _remember_subagent_parent(text, starter, home)
    return root


def _remember_subagent_parent(own: str, parent: str, home: str) -> str:
    """Return the stored session of a subagent."""
    root = _read_open_call(home, _digest_call_target(SESSION, parent), STORED_SECONDS_MAX) or parent
    if _read_open_call(home, _digest_call_target(SESSION, own), STORED_SECONDS_MAX) is None:
        _write_open_call(home, _digest_call_target(SESSION, own), root)
    return root


def _get_call_field(fields: CallFields, key: str) -> str | None:
    value = fields.get(key)
    return value if isinstance(value, str) and 0 < len(value) <= NAME_MAX and value.isprintable() else None


def match_open_call(event: str, fields: CallFields, session: str | None, home: str) -> str | None:
    """Return the call of an event that does not name it; None for an event without a call."""
    if event not in UNNAMED:
        return None
    targets = [] if event == TAB else _list_call_targets(event, fields)
    keys = [_digest_call_target(kind, f"{session}\0{what}") for kind, what in targets]
    match = _read_open_call(home, keys[0], OPEN_SECONDS_MAX) if keys else None
    if match is not None and event in CLOSING:
        _forget_open_call(home, keys[0])
    own = match or OWN + os.urandom(16).hex()
    if match is None and event == "beforeShellExecution" and keys:
        _write_open_call(home, keys[0], own)
    return own


def record_call_start(event: str, fields: CallFields, session: str | None, call: str | None, home: str) -> None:
    """Store which call was started for which file or command; delete it if the call failed."""
    if event == "sessionStart":
        _remove_stale_calls(home)
    if event not in ("preToolUse", "postToolUseFailure") or call is None:
        return
    for kind, what in _list_call_targets(event, fields):
        key = _digest_call_target(kind, f"{session}\0{what}")
        if event == "preToolUse":
            _write_open_call(home, key, call)
        else:
            _forget_open_call(home, key)


def list_edited_files(event: str, fields: CallFields) -> list[str] | None:
    """Return the files that an event reports as changed, by full paths; None if it names none."""
    if event in EDITS or str(fields.get("tool_name")).lower() in EDITING:
        return [what for kind, what in _list_call_targets(event, fields) if kind == FILE]
    return None


def rebuild_text_before_edits(fields: CallFields, text: str) -> str | None:
    r"""Return a file's text before the edits of an event; None if it cannot be computed.

    >>> rebuild_text_before_edits({"edits": [{"old_string": "a", "new_string": "one\n"}]}, "one\ntwo\n")
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
            return None  # the position of a deletion is not reported
        place = _locate_edited_text(text, new, edit.get("range"))
        if place is None:
            return None
        text = text[:place] + old + text[place + len(new) :]
    return text


def _locate_edited_text(text: str, new: str, where: Any) -> int | None:
    """Return where a text was inserted: its only occurrence, or the one on the reported line."""
    first = text.find(new)
    if first < 0 or text.find(new, first + 1) < 0:
        return first if first >= 0 else None
    line = where.get("start_line_number") if isinstance(where, dict) else None
    while first >= 0:
        if text.count("\n", 0, first) + 1 == line:
            return first
        first = text.find(new, first + 1)
    return None


def _list_call_targets(event: str, fields: CallFields) -> list[tuple[str, str]]:
    """Return the subject of an event: changed or read files, or a command."""
    tool, arguments = str(fields.get("tool_name")).lower(), fields.get("tool_input")
    if event in ("beforeShellExecution", "afterShellExecution"):
        return _list_call_commands(fields)
    if event in EDITS or event == "beforeReadFile":
        return [(READ if event == "beforeReadFile" else FILE, path) for path in _list_call_paths(fields, fields)]
    if tool == SHELL:
        return _list_call_commands(arguments)
    if tool in READING or tool in EDITING:
        return [(READ if tool in READING else FILE, path) for path in _list_call_paths(arguments, fields)]
    return []


def _list_call_commands(value: Any) -> list[tuple[str, str]]:
    command = value.get("command") if isinstance(value, dict) else None
    return [(SHELL, command)] if isinstance(command, str) else []


def _list_call_paths(arguments: Any, fields: CallFields) -> list[str]:
    names: list[str] = []
    if isinstance(arguments, dict):
        names = [arguments[name] for name in PATHS if isinstance(arguments.get(name), str)][:1]
        arguments = arguments.get("patch", arguments.get("input"))
    if isinstance(arguments, str) and not names:
        for line in arguments.split("\n"):
            names += [line[len(mark) :].strip() for mark in PATCHED if line.startswith(mark)]
    return [_resolve_call_path(name, fields) for name in names if name and "\0" not in name]


def _resolve_call_path(name: str, fields: CallFields) -> str:
    roots = fields.get("workspace_roots")
    around = fields.get("cwd") or (roots[0] if isinstance(roots, list) and roots else "")
    return os.path.normpath(os.path.join(around if isinstance(around, str) else "", name))


# --- what is remembered -----------------------------------------------------------------------------------------------


def _digest_call_target(kind: str, what: str) -> str:
    name: str = sha256(f"{kind}\0{what}".encode("utf-8", "surrogatepass")).hexdigest()
    return name[:32]


def _open_calls_folder(home: str) -> str:
    return os.path.join(home, "hook", "open")


def _read_open_call(home: str, key: str, seconds: int) -> str | None:
    path = os.path.join(_open_calls_folder(home), key)
    try:
        if time.time() - os.stat(path).st_mtime > seconds:
            return None
        with open(path, encoding="utf-8") as file:
            data = file.read(NAME_MAX + 1)
    except (OSError, ValueError):
        return None  # no open call, or it could not be stored
    return data if 0 < len(data) <= NAME_MAX and data.isprintable() else None


def _write_open_call(home: str, key: str, text: str) -> None:
    """Store a name; losing it only makes one call look like two."""
    folder = _open_calls_folder(home)
    aside = os.path.join(folder, f"{key}.{os.getpid()}")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
        os.rename(aside, os.path.join(folder, key))
    except OSError:
        return


def _forget_open_call(home: str, key: str) -> None:
    try:
        os.unlink(os.path.join(_open_calls_folder(home), key))
    except OSError:
        return  # another process was first


def _remove_stale_calls(home: str) -> None:
    """Delete expired files."""
    try:
        names = os.listdir(_open_calls_folder(home))
    except OSError:
        return  # nothing was ever stored
    for name in names:
        try:
            if time.time() - os.stat(os.path.join(_open_calls_folder(home), name)).st_mtime > STORED_SECONDS_MAX:
                _forget_open_call(home, name)
        except OSError:
            continue  # deleted meanwhile
