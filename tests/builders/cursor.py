"""Cursor: the same calls as hook events, in its database, and in transcripts.

Hooks: payloads of Cursor 3.19 (``tool_use_id``, whole files in ``Write``), and of versions without ``preToolUse``.
Database: ``composerData`` 16 with ``edit_file_v2`` and contents by hash (July 2026), and 10 with ``search_replace``.
"""

import hashlib
import json
import os
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from custody.capture.agents.cursor.locations import project_slug_from_path
from custody.capture.hook.install import hook_argv
from custody.core.wire.time import format_timestamp, parse_timestamp
from tests.builders.cli import Ran
from tests.builders.hooks import home_of

MODEL = "claude-4.5-sonnet"
VERSION = "3.19.13"
SESSION = "7a000001-1000-4000-8000-000000000001"
START = "2026-01-31T12:00:00.000Z"
_MS = 1_000_000

Step = dict[str, Any] | Callable[[], None]
"""A hook event, or a change of files between two of them."""


@dataclass
class Cursor:
    """A conversation in progress; ``told`` are its hook events, and the changes of files between them."""

    root: Path | str
    session: str = SESSION
    at: str = START
    model: str = MODEL
    version: str = VERSION
    parent: "Cursor | None" = None
    started_by: str | None = None
    told: list[Step] = field(default_factory=list)
    bubbles: list[dict[str, Any]] = field(default_factory=list)
    contents: dict[str, str] = field(default_factory=dict)
    lines: list[dict[str, Any]] = field(default_factory=list)
    subagents: list["Cursor"] = field(default_factory=list)
    joined: bool = False
    """Whether the names of calls are two ids, as those of many models are."""
    _count: int = 0

    @property
    def hooks(self) -> list[dict[str, Any]]:
        """Return the hook events."""
        return [step for step in self.told if isinstance(step, dict)]

    # --- what is said and done ----------------------------------------------------------------------------------------

    def prompt(self, text: str) -> "Cursor":
        """Add a prompt by a person."""
        self.generation = f"gen-{self._count}"
        self.hook("beforeSubmitPrompt", prompt=text, attachments=[])
        self.bubble(1, text=text, requestId=self.generation)
        said = f"<timestamp>Saturday, January 31, 2026, 12:00 PM (UTC)</timestamp>\n<user_query>\n{text}\n</user_query>"
        return self.line("user", [{"type": "text", "text": said}])

    def write(self, path: str, before: str | None, after: str, **more: Any) -> "Cursor":
        """Add a write of a whole file."""
        given = {"file_path": self.named(path), "content": after}
        shown = {"path": self.named(path), "contents": after}
        edits = [{"old_string": before or "", "new_string": after}]
        return self._edit("Write", path, given, shown, edits, before, after, **more)

    def replace(self, path: str, before: str, old: str, new: str, **more: Any) -> "Cursor":
        """Add an edit that replaces a piece."""
        given = {"path": self.named(path), "old_string": old, "new_string": new}
        edits = [{"old_string": old, "new_string": new}]
        return self._edit("StrReplace", path, given, given, edits, before, before.replace(old, new, 1), **more)

    def patch(self, path: str, before: str | None, after: str, patch: str) -> "Cursor":
        """Add a patch."""
        return self._edit("ApplyPatch", path, {"patch": patch}, patch, [], before, after)

    def delete(self, path: str, before: str) -> "Cursor":
        """Add a deletion of a file."""
        given = {"file_path": self.named(path)}
        self.call("Delete", given, "deleted", changing=(Path(self.named(path)), None), name="delete_file")
        return self

    def shell(
        self, command: str, output: str = "", code: int = 0, changing: tuple[Path, str | None] | None = None
    ) -> "Cursor":
        """Add a shell command, with four events."""
        given = {"command": command, "cwd": str(self.root), "timeout": 120000}
        around = ({"command": command, "cwd": str(self.root)}, {"command": command, "output": output, "duration": 12})
        result = {"output": output, "exitCode": code, "rejected": False}
        said = json.dumps({"exitCode": code, "stdout": output})
        name = "run_terminal_command_v2"
        return self.call("Shell", given, said, changing=changing, name=name, result=result, shell=around)

    def read(self, path: str, content: str, **given: Any) -> "Cursor":
        """Add a read of a file."""
        return self.call(
            "Read", {"path": path, **given}, content, name="read_file_v2", result={"contents": content}, reads=content
        )

    def tab(self, path: str, edit: dict[str, Any], after: str | None = None) -> "Cursor":
        """Accept a completion; ``after`` is the file as it was then saved."""
        if after is not None:
            self.told.append(lambda: _save(Path(self.named(path)), after))
        self.hook("afterTabFileEdit", file_path=self.named(path), edits=[edit], model="tab")
        return self

    def alone(self, path: str, edits: list[dict[str, Any]], after: str) -> "Cursor":
        """Make an edit as versions without ``postToolUse`` report it: by ``afterFileEdit`` alone."""
        self.told.append(lambda: _save(Path(self.named(path)), after))
        return self.hook("afterFileEdit", file_path=self.named(path), edits=edits)

    def person(self, path: str, text: str) -> "Cursor":
        """Change a file, as a person."""
        self.told.append(lambda: _save(Path(self.named(path)), text))
        return self

    def subagent(self, session: str) -> "Cursor":
        """Start a subagent, in its own conversation."""
        call = self.call_name(f"task_{len(self.subagents)}")
        made = Cursor(self.root, session, self.at, "cursor-grok-4.5", parent=self, started_by=call, told=self.told)
        made.joined = self.joined
        self.subagents.append(made)
        given = {"description": "look", "prompt": "look around", "subagent_type": "explore"}
        self.hook("preToolUse", tool_name="Task", tool_input=given, tool_use_id=call)
        both = {"subagent_id": call, "subagent_type": "explore", "parent_conversation_id": self.session}
        made.hook("subagentStart", tool_call_id=call, task="look around", **both)
        self.bubble(2, toolFormerData=_former("task_v2", call, given, {"output": "done"}))
        return made

    # --- the parts ----------------------------------------------------------------------------------------------------

    def _edit(
        self,
        tool: str,
        path: str,
        given: Any,
        shown: Any,
        edits: list[dict[str, Any]],
        before: str | None,
        after: str,
        *,
        edit_last: bool = False,
    ) -> "Cursor":
        keys = {}
        for name, text in (("before", before), ("after", after)):
            if text is not None:
                key = f"composer.content.{hashlib.sha256(text.encode()).hexdigest()}"
                self.contents[key] = text
                keys[f"{name}ContentId"] = key
        return self.call(
            tool,
            given,
            "ok",
            name="edit_file_v2",
            params={"relativeWorkspacePath": self.named(path), "noCodeblock": True},
            result=keys,
            changing=(Path(self.named(path)), after),
            edited=(self.named(path), edits, edit_last),
            shown=shown,
        )

    def call(self, tool: str, given: Any, answer: str, *, name: str | None = None, **more: Any) -> "Cursor":
        """Add a call: hook events before and after, and entries in the database and the transcript."""
        self._count += 1
        call = self.call_name(f"{self.session[:8]}_{self._count}")
        both = {"tool_name": tool, "tool_input": given, "tool_use_id": call, "cwd": str(self.root)}
        self.hook("preToolUse", **both, agent_message="doing it")
        begun, ended = more.get("shell", (None, None))
        if begun is not None:
            self.hook("beforeShellExecution", **begun)
        if "reads" in more:
            self.hook("beforeReadFile", file_path=self.named(given["path"]), content=more["reads"], attachments=[])
        if more.get("changing") is not None:
            path, text = more["changing"]
            self.told.append(lambda: _save(path, text))
        after = {"tool_output": answer, "duration": 15}
        edited, edits, last = more.get("edited", (None, [], False))
        if edited is not None and not last:
            self.hook("afterFileEdit", file_path=edited, edits=edits)
        if ended is not None:
            self.hook("afterShellExecution", **ended)
        self.hook("postToolUse", **both, **after)
        if edited is not None and last:
            self.hook("afterFileEdit", file_path=edited, edits=edits)
        former = _former(name or tool, call, more.get("params", given), more.get("result", answer))
        self.bubble(2, toolFormerData=former)
        use = {"type": "tool_use", "name": tool, "input": more.get("shown", given)}
        return self.line("assistant", [{"type": "text", "text": "[REDACTED]"}, use])

    def call_name(self, own: str) -> str:
        """Return the name of a call."""
        return f"call-{own}-0\nfc_{own}_0" if self.joined else f"toolu_{own}"

    def hook(self, event: str, **said: Any) -> "Cursor":
        """Add a hook event."""
        around = {
            "conversation_id": self.session,
            "generation_id": getattr(self, "generation", f"gen-of-{self.session[:8]}"),
            "model": self.model,
            "hook_event_name": event,
            "cursor_version": self.version,
            "workspace_roots": [str(self.root)],
            "user_email": None,
            "transcript_path": None,
        }
        self.told.append({**around, **said})
        return self

    def bubble(self, kind: int, **said: Any) -> "Cursor":
        """Return a message of the database."""
        self._count += 1
        named = f"{self.session[:8]}-bubble-{self._count:04d}"
        self.bubbles.append({"_v": 3, "type": kind, "bubbleId": named, "text": "", "createdAt": self.at, **said})
        return self.wait(1000)

    def line(self, role: str, content: list[dict[str, Any]]) -> "Cursor":
        """Return a line of the transcript."""
        self.lines.append({"role": role, "message": {"content": content}})
        return self

    def wait(self, ms: int) -> "Cursor":
        """Advance the time."""
        self.at = format_timestamp(parse_timestamp(self.at) + ms * _MS)
        return self

    def named(self, path: str) -> str:
        """Return a path of the project as the agent writes it."""
        return path if path.startswith("/") else f"{self.root}/{path}"

    # --- the files ----------------------------------------------------------------------------------------------------

    def composer(self) -> dict[str, Any]:
        """Return the database's entry about the conversation itself."""
        above = {"parentComposerId": self.parent.session, "toolCallId": self.started_by} if self.parent else None
        return {
            "_v": 16,
            "composerId": self.session,
            "createdAt": parse_timestamp(START) // _MS,
            "modelConfig": {"modelName": self.model},
            "workspaceIdentifier": {"id": "h", "uri": {"fsPath": str(self.root), "scheme": "file"}},
            "fullConversationHeadersOnly": [{"bubbleId": b["bubbleId"], "type": b["type"]} for b in self.bubbles],
            "subagentComposerIds": [one.session for one in self.subagents],
            **({"subagentInfo": above} if above else {}),
        }

    def rows(self) -> dict[str, str]:
        """Return the rows of the conversation and of its subagents."""
        made = {f"composerData:{self.session}": json.dumps(self.composer())}
        # The order of ids is not the order of messages.
        for bubble in reversed(self.bubbles):
            made[f"bubbleId:{self.session}:{bubble['bubbleId']}"] = json.dumps(bubble)
        made |= self.contents
        for one in self.subagents:
            made |= one.rows()
        return made

    def put_database(self, home: Path, journal: str = "delete") -> Path:
        """Write the database as Cursor lays it out in a user's home."""
        file = home / ".config" / "Cursor" / "User" / "globalStorage" / "state.vscdb"
        return put_rows(file, self.rows(), journal)

    def put_transcript(self, home: Path) -> Path:
        """Write the transcript and its subagents' as Cursor lays them out in a user's home."""
        folder = (
            home / ".cursor" / "projects" / project_slug_from_path(str(self.root)) / "agent-transcripts" / self.session
        )
        for one in self.subagents:
            put_lines(folder / "subagents" / f"{one.session}.jsonl", one.lines)
        return put_lines(folder / f"{self.session}.jsonl", self.lines)


def put_rows(file: Path, rows: dict[str, str], journal: str = "delete") -> Path:
    """Return a database with these rows."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as db, db:
        db.execute(f"PRAGMA journal_mode = {journal}")
        db.execute("CREATE TABLE IF NOT EXISTS cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        db.execute("CREATE TABLE IF NOT EXISTS ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        db.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", list(rows.items()))
    return file


def put_lines(file: Path, lines: list[dict[str, Any]]) -> Path:
    """Write a transcript with these lines; like Cursor, without a final line end."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return file


def run_cursor_hook(repository: Path, said: dict[str, Any]) -> Ran:
    """Run the installed hook on one event, as Cursor would."""
    done = subprocess.run(
        hook_argv(home_of(repository), "cursor"),
        input=json.dumps(said).encode(),
        capture_output=True,
        cwd=repository,
        env=dict(os.environ),
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def _former(name: str, call: str, given: Any, result: Any) -> dict[str, Any]:
    return {
        "tool": 38,
        "toolIndex": 0,
        "name": name,
        "toolCallId": call,
        "modelCallId": "m",
        "status": "completed",
        "rawArgs": "",
        "params": given if isinstance(given, str) else json.dumps(given),
        "result": result if isinstance(result, str) else json.dumps(result),
        "additionalData": {"status": "success"},
    }


def _save(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
