"""Claude Code's hook payloads for tool calls."""

import difflib
import uuid
from typing import Any

CONTEXT_LINES = 3
NAMES = uuid.UUID("6f1d1a52-93a4-4c0e-8f1c-2d6f5b6f7a10")

Event = dict[str, Any]


def session_id(name: str) -> str:
    """Return the id of the session with this name in a scenario."""
    return str(uuid.uuid5(NAMES, name))


def edit_response(path: str, before: str, old: str, new: str, *, everywhere: bool = False) -> Event:
    """Return the response to an Edit."""
    after = before.replace(old, new, -1 if everywhere else 1) if old else new
    return {
        "filePath": path,
        "oldString": old,
        "newString": new,
        "originalFile": before,
        "structuredPatch": structured_patch(before, after),
        "userModified": False,
        "replaceAll": everywhere,
    }


def write_response(path: str, before: str | None, after: str) -> Event:
    """Return the response to a Write; ``before`` is None for a new file."""
    return {
        "type": "create" if before is None else "update",
        "filePath": path,
        "content": after,
        "structuredPatch": [] if before is None else structured_patch(before, after),
        "originalFile": before,
    }


def bash_response(stdout: str, stderr: str, commit: Event | None) -> Event:
    """Return the response to a Bash command; ``commit`` is the commit that it made, if any."""
    said: Event = {"stdout": stdout, "stderr": stderr, "interrupted": False, "isImage": False}
    return said if commit is None else {**said, "gitOperation": {"commit": commit}}


def structured_patch(before: str, after: str) -> list[Event]:
    """Return the hunks between two texts, with three lines of context."""
    old, new = before.split("\n"), after.split("\n")
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [_hunk(group, old, new) for group in matcher.get_grouped_opcodes(CONTEXT_LINES)]


def _hunk(group: list[tuple[str, int, int, int, int]], old: list[str], new: list[str]) -> Event:
    lines: list[str] = []
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            lines += [f" {line}" for line in old[i1:i2]]
        else:
            lines += [f"-{line}" for line in old[i1:i2]]
            lines += [f"+{line}" for line in new[j1:j2]]
    (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
    return {"oldStart": i1 + 1, "oldLines": i2 - i1, "newStart": j1 + 1, "newLines": j2 - j1, "lines": lines}
