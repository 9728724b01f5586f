"""Claude Code's hook events, and the installed hook run as an agent runs it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from custody.capture.hook.install import hook_argv, install_hook
from tests.builders.cli import Ran

SESSION = "5d2f0c3e-1111-4222-8333-444455556666"


def a_hook_event(event: str, repository: Path, **fields: Any) -> dict[str, Any]:
    """Return one hook event in Claude Code's shape."""
    return {
        "session_id": SESSION,
        "transcript_path": "/nowhere/transcript.jsonl",
        "cwd": str(repository),
        "hook_event_name": event,
        **fields,
    }


def an_edit(repository: Path, path: str, before: str, old: str, new: str, call: str = "toolu_01") -> dict[str, Any]:
    """Return Claude Code's event after an edit."""
    name = str(repository / path)
    return a_hook_event(
        "PostToolUse",
        repository,
        tool_name="Edit",
        tool_use_id=call,
        duration_ms=12,
        tool_input={"file_path": name, "old_string": old, "new_string": new},
        tool_response={
            "filePath": name,
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": []}],
            "userModified": False,
            "replaceAll": False,
        },
    )


def home_of(repository: Path) -> Path:
    """Return the folder of the repository's evidence."""
    return repository / ".git" / "custody"


def installed(repository: Path) -> Path:
    """Return the repository with the hook beside its store."""
    install_hook(home_of(repository))
    return repository


def run_hook(repository: Path, said: dict[str, Any] | bytes, *more: str, **environment: str) -> Ran:
    """Run the installed hook on one event, as the agent would."""
    data = said if isinstance(said, bytes) else json.dumps(said).encode()
    done = subprocess.run(
        hook_argv(home_of(repository), "claude-code", *more),
        input=data,
        capture_output=True,
        cwd=repository,
        env={**os.environ, **environment},
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
