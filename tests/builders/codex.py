"""Codex CLI's rollouts in all of its formats, its hook events, and the hook run as Codex runs it."""

import difflib
import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from custody.capture.hook.install import hook_argv
from custody.core.wire.time import format_timestamp, parse_timestamp
from tests.builders.cli import Ran
from tests.builders.hooks import home_of

MODEL = "gpt-5.2-codex"
VERSION = "0.146.0"
START = "2026-01-31T12:00:00.000Z"
THREAD = "0199a213-81c0-7800-8aa1-bbab2a035a53"
TURN = "0199a213-9d5e-7000-8000-000000000001"
_SECOND = 1_000_000_000


def patch_text(*files: str) -> str:
    """Return a patch of these files, each as it is written in a patch."""
    return "\n".join(("*** Begin Patch", *files, "*** End Patch"))


def added(path: str, content: str) -> str:
    """Return the patch of a new file."""
    return "\n".join((f"*** Add File: {path}", *(f"+{line}" for line in content.splitlines())))


def deleted(path: str) -> str:
    """Return the patch of a deleted file."""
    return f"*** Delete File: {path}"


def updated(path: str, before: str, after: str, moved: str | None = None) -> str:
    """Return the patch of a changed file: chunks with three lines of context, without line numbers."""
    old, new = before.splitlines(), after.splitlines()
    lines = [f"*** Update File: {path}", *([f"*** Move to: {moved}"] if moved else [])]
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        lines.append("@@")
        for tag, i, j, k, m in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[i:j]]
            else:
                lines += [f"-{line}" for line in old[i:j]] + [f"+{line}" for line in new[k:m]]
    return "\n".join(lines)


def unified(before: str, after: str) -> str:
    """Return a diff as in Codex's events: one line of context, no names."""
    made = difflib.unified_diff(before.splitlines(True), after.splitlines(True), n=1)
    return "".join(line for line in made if not line.startswith(("--- ", "+++ ")))


# --- rollouts ---------------------------------------------------------------------------------------------------------


@dataclass
class Rollout:
    """A thread in progress; every line takes a second, and ``wait`` lets more time pass."""

    cwd: Path | str
    thread: str = THREAD
    at: str = START
    model: str = MODEL
    version: str = VERSION
    enveloped: bool = True
    paginated: bool = False
    turn: str = TURN
    lines: list[dict[str, Any]] = field(default_factory=list)
    last_call: str = ""
    _count: int = 0

    # --- messages ----------------------------------------------------------------------------------------------------

    def begun(self, **more: Any) -> "Rollout":
        """Write the first line and the turn's; arguments override their fields."""
        if not self.enveloped:
            self.lines.append({"id": self.thread, "timestamp": self.at, "instructions": "be brief", "git": {}})
            told = f"<environment_context>\n  <cwd>{self.cwd}</cwd>\n</environment_context>"
            return self.message("user", told)
        meta = {
            "id": self.thread,
            "timestamp": self.at,
            "cwd": str(self.cwd),
            "originator": "codex_cli_rs",
            "cli_version": self.version,
            "source": "cli",
            "base_instructions": {"text": "You are a coding agent."},
        }
        self.line("session_meta", {**meta, **more})
        return self.turned()

    def turned(self, **more: Any) -> "Rollout":
        """Start a turn."""
        self.event("task_started", turn_id=self.turn, model_context_window=1000)
        around = {"turn_id": self.turn, "cwd": str(self.cwd), "model": self.model, "approval_policy": "never"}
        return self.line("turn_context", {**around, **more})

    def prompt(self, text: str) -> "Rollout":
        """Add a prompt by a person."""
        self.message("user", text)
        if self.paginated:
            return self.item("UserMessage", id=self.name("item"), content=[{"type": "text", "text": text}])
        return self.event("user_message", message=text, images=[]) if self.enveloped else self

    def says(self, text: str) -> "Rollout":
        """Add a thought and a message of the agent."""
        self.response(
            "reasoning", summary=[{"type": "summary_text", "text": f"I think {text}"}], encrypted_content="eA"
        )
        self.message("assistant", text)
        return self.event("agent_message", message=text) if self.enveloped and not self.paginated else self

    # --- actions -----------------------------------------------------------------------------------------------------

    def patch(self, text: str, changes: dict[str, Any] | None = None, *, success: bool = True) -> "Rollout":
        """Apply a patch; ``changes`` is the content of its event, which some versions do not write."""
        call = self.name("call")
        self.response("custom_tool_call", status="completed", call_id=call, name="apply_patch", input=text)
        if changes is not None:
            self.patched(call, changes, success=success)
        words = "Success. Updated the following files:" if success else "Failed to find expected lines"
        code = 0 if success else 1
        said = f"Exit code: {code}\nWall time: 0.1 seconds\nOutput:\n{words}\n"
        return self.response("custom_tool_call_output", call_id=call, output=said)

    def patched(self, call: str, changes: dict[str, Any], *, success: bool = True) -> "Rollout":
        """Add the event for the end of a patch."""
        if self.paginated:
            status = "completed" if success else "failed"
            return self.item("FileChange", id=call, changes=changes, status=status)
        said = {"call_id": call, "turn_id": self.turn, "stdout": "", "stderr": "", "success": success}
        return self.event("patch_apply_end", **said, changes=changes)

    def shell(self, command: str, printed: str = "", code: int = 0, *, way: str = "exec_command") -> "Rollout":
        """Run a shell command in one of Codex's formats."""
        call = self.name("call")
        head = f"Wall time: 0.1000 seconds\nProcess exited with code {code}\nOutput:\n"
        if way == "local_shell":
            action = {"type": "exec", "command": ["bash", "-lc", command], "working_directory": str(self.cwd)}
            self.response("local_shell_call", call_id=call, status="completed", action=action)
        else:
            given: dict[str, Any] = {"cmd": command, "workdir": str(self.cwd)}
            if not way.endswith("exec_command"):
                given = {"command": command if way == "shell_command" else ["bash", "-lc", command]}
            self.response("function_call", name=way, arguments=json.dumps(given), call_id=call)
        output = f"Chunk ID: ab12\n{head}{printed}"
        if way in ("shell", "local_shell"):
            output = json.dumps({"output": printed, "metadata": {"exit_code": code, "duration_seconds": 0.1}})
        elif way == "shell_command":
            output = f"Exit code: {code}\nWall time: 0.1 seconds\nOutput:\n{printed}"
        return self.response("function_call_output", call_id=call, output=output)

    # --- the parts ----------------------------------------------------------------------------------------------------

    def message(self, role: str, text: str) -> "Rollout":
        """Add a message in the provider's format."""
        kind = "output_text" if role == "assistant" else "input_text"
        return self.response("message", role=role, content=[{"type": kind, "text": text}])

    def response(self, kind: str, /, **fields: Any) -> "Rollout":
        """Add an item of the conversation."""
        if self.enveloped:
            return self.line("response_item", {"type": kind, **fields})
        self.lines.append({"type": kind, **fields})
        return self

    def event(self, kind: str, /, **fields: Any) -> "Rollout":
        """Add an event of the program."""
        return self.line("event_msg", {"type": kind, **fields})

    def item(self, kind: str, /, **fields: Any) -> "Rollout":
        """Add a finished item, as in threads stored in pages."""
        return self.event(
            "item_completed", thread_id=self.thread, turn_id=self.turn, item={"type": kind, **fields}, completed_at_ms=1
        )

    def line(self, kind: str, payload: Any, **more: Any) -> "Rollout":
        """Add one line of any type."""
        self.lines.append({"timestamp": self.at, "type": kind, "payload": payload, **more})
        return self.wait(1)

    def name(self, what: str) -> str:
        """Return a new unique name."""
        self._count += 1
        self.last_call = f"{what}_{self.thread[-8:]}_{self._count:012d}"
        return self.last_call

    def wait(self, seconds: float) -> "Rollout":
        """Advance the time."""
        self.at = format_timestamp(parse_timestamp(self.at) + int(seconds * _SECOND))
        return self

    def forked(self, thread: str) -> "Rollout":
        """Return another thread that begins with a copy of this one, all written at once."""
        made = Rollout(self.cwd, thread, at=self.at, turn=f"{TURN[:-1]}2", _count=500)
        made.wait(100)
        made.begun(forked_from_id=self.thread)
        del made.lines[1:]
        copied_at = made.lines[0]["timestamp"]
        made.lines += [{**line, "timestamp": copied_at} for line in self.lines]
        made.at = copied_at
        return made.wait(20).turned()

    def text(self) -> str:
        """Return the file's text."""
        return "".join(f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n" for line in self.lines)

    def put(self, folder: Path) -> Path:
        """Write the thread below ``folder`` as Codex lays it out."""
        start = str(self.lines[0]["timestamp"])[:19].replace(":", "-")
        file = folder / start[:4] / start[5:7] / start[8:10] / f"rollout-{start}-{self.thread}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.text(), encoding="utf-8")
        return file


def a_rollout(cwd: Path | str, **fields: Any) -> Rollout:
    """Return a thread that has started, whose agent works in ``cwd``."""
    return Rollout(cwd, **fields).begun()


# --- hooks ------------------------------------------------------------------------------------------------------------


def a_codex_event(event: str, repository: Path, **fields: Any) -> dict[str, Any]:
    """Return one hook event in Codex's shape."""
    return {
        "session_id": THREAD,
        "turn_id": TURN,
        "transcript_path": "/nowhere/rollout.jsonl",
        "cwd": str(repository),
        "hook_event_name": event,
        "model": MODEL,
        "permission_mode": "default",
        **fields,
    }


def a_codex_patch(event: str, repository: Path, patch: str, call: str = "call_01", **more: Any) -> dict[str, Any]:
    """Return Codex's payload before or after a patch."""
    said = a_codex_event(
        event, repository, tool_name="apply_patch", tool_use_id=call, tool_input={"command": patch}, **more
    )
    answer = "Success. Updated the following files:\nM app.py\n"
    return said if event == "PreToolUse" else {"tool_response": answer, **said}


def run_codex_hook(repository: Path, said: dict[str, Any]) -> Ran:
    """Run the installed hook on one event, as Codex would."""
    done = subprocess.run(
        hook_argv(home_of(repository), "codex"),
        input=json.dumps(said).encode(),
        capture_output=True,
        cwd=repository,
        env=dict(os.environ),
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
