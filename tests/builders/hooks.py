"""Claude Code's hook events, and the installed hook run as an agent runs it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from custody.capture.hook.install import hook_argv, install_hook
from custody.core.wire.time import format_timestamp, parse_timestamp
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


# Hook events as they wait in a spool: what was recorded live, unlike the generic events that any program can send.

RECORDED_AGENT = "claude-code"


def a_recorded_event(
    event: str,
    payload: dict[str, Any],
    *,
    at: str,
    id: str = "1",
    session: str = "s1",
    call: str | None = None,
    head: str | None = None,
    root: Path | str = "/nowhere",
    agent: str = RECORDED_AGENT,
    **fields: Any,
) -> bytes:
    """Return one event of an agent's hook, as the recorder writes it."""
    envelope = {
        "custody": 1,
        "kind": "hook",
        "agent": agent,
        "event": event,
        "id": id,
        "at": at,
        "session": session,
        "call": call,
        "head": head,
        "worktree": str(root),
        "payload": {"session_id": session, "cwd": str(root), "hook_event_name": event, **payload},
        **fields,
    }
    return json.dumps({name: value for name, value in envelope.items() if value is not None}).encode()


def a_recorded_edit(
    path: str,
    before: str | None,
    after: str | None,
    *,
    root: Path | str,
    at: str,
    call: str | None = "",
    id: str = "1",
    proposed: str | None = None,
    tool: str = "Write",
    **fields: Any,
) -> bytes:
    """Return the hook's event after an agent wrote a file; a person changed it before, if ``proposed`` differs."""
    call = id if call == "" else call
    response: dict[str, Any] = {
        "type": "create" if before is None else "update",
        "filePath": f"{root}/{path}",
        "originalFile": before,
        "userModified": proposed is not None,
        "structuredPatch": [],
    }
    wrote: dict[str, Any] = {"file_path": f"{root}/{path}"}
    written = after if proposed is None else proposed
    if tool == "Edit":
        wrote |= {"old_string": before, "new_string": written}
        response |= {"oldString": before, "newString": after}
    else:
        wrote["content"], response["content"] = written, after
    payload = {"tool_name": tool, "tool_input": wrote, "tool_response": response}
    payload |= {} if call is None else {"tool_use_id": call}
    return a_recorded_event("PostToolUse", payload, at=at, id=id, call=call, root=root, **fields)


def a_recorded_session(*, at: str, model: str | None = None, id: str = "start", **fields: Any) -> bytes:
    """Return the hook's event at the start of a session."""
    payload = {"source": "startup", **({} if model is None else {"model": model})}
    return a_recorded_event("SessionStart", payload, at=at, id=id, **fields)


def a_recorded_call(
    name: str, *, at: str, call: str, session: str = "s1", value: dict[str, Any] | None = None, **fields: Any
) -> bytes:
    """Return the hook's event after a call of any tool."""
    payload = {"tool_name": name, "tool_use_id": call, "tool_input": value or {}, "tool_response": {}}
    return a_recorded_event("PostToolUse", payload, at=at, id=call, call=call, session=session, **fields)


def recorded_edits(path: str, before: str | None, after: str | None, *, agent: str, **fields: Any) -> list[bytes]:
    """Return what a hook records of an edit by any agent: its own event, or snapshots around the call of others."""
    if agent == RECORDED_AGENT:
        return [a_recorded_edit(path, before, after, agent=agent, **fields)]
    given = {"at": fields["at"], "session": fields.get("session", "s1"), "head": fields.get("head")}
    name, call = fields.get("id", "1"), fields["call"] if "call" in fields else fields.get("id", "1")
    around = {"custody": 1, "kind": "snapshot", "agent": agent, "call": call, **given}
    phases = (("before", before), ("after", after))
    return [
        json.dumps(
            {
                **{key: value for key, value in around.items() if value is not None},
                "id": f"{name}-{phase}",
                "at": given["at"] if phase == "after" else format_timestamp(parse_timestamp(given["at"]) - 10**9),
                "phase": phase,
                "files": [{"path": path, "gone": True} if text is None else {"path": path, "text": text}],
            }
        ).encode()
        for phase, text in phases
    ]
