"""The names of opencode's tools, and the fields of their input and of what they return."""

import re

from custody.capture.command_facts import ToolOutput
from custody.capture.tool_use import ToolUse
from custody.capture.typed_field import Fields, fields, get_int, get_string, items
from custody.core.views import CallStatus
from custody.core.wire.event_views import about_of

SHELLS, TASKS = frozenset(("bash", "shell")), frozenset(("task", "subagent"))
"""Tools that run a command, and those that start a subagent: before 2.0, and since."""
EDIT, MULTIEDIT, WRITE = "edit", "multiedit", "write"
PATCHES = frozenset(("patch", "apply_patch"))
EDITING = PATCHES | {EDIT, MULTIEDIT, WRITE}

_AROUND = re.compile(r"\n*<(?:shell|bash)_metadata>.*\Z", re.DOTALL)
_NOTHING = "(no output)"


def about(given: object) -> str | None:
    """What a finer name of a call depends on.

    >>> about({"filePath": "src/app.py", "content": ""}), about({"command": "make"})
    ('src/app.py', 'make')
    """
    said = fields(given)
    return about_of({"file_path": path_in(said), **said})


def path_in(given: Fields) -> str | None:
    """The file that a call names, as written."""
    return get_string(given.get("filePath")) or get_string(given.get("path"))


def answer_of(use: ToolUse) -> ToolOutput:
    """How a command ended and what it printed; one that was stopped has no exit code."""
    known = get_int(use.response.get("exit"))
    words = _AROUND.sub("", use.words)
    # Since 2.0 one that goes on in the background, or ran out of time, says so itself.
    stopped = use.response.get("status") == "running" or use.response.get("timeout") is True
    running = known is None and (stopped or words != use.words)
    return ToolOutput("" if words == _NOTHING else words, known, running=running)


def status_of(use: ToolUse) -> CallStatus:
    """How a call ended: a command that opencode ran to its end may have failed all the same."""
    failed = use.failed or (use.tool in SHELLS and answer_of(use).failed)
    return CallStatus.FAILED if failed else CallStatus.OK


def started_by(tool: str, told: Fields) -> str | None:
    """The session that a call started; before November 2025 only what was done in it names it."""
    if tool not in TASKS:
        return None
    first = next(map(fields, items(told.get("summary"))), {})
    return get_string(told.get("sessionId")) or get_string(told.get("sessionID")) or get_string(first.get("sessionID"))
