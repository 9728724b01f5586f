"""Gemini CLI: the same calls as hook events and in a chat, in each format of the chat."""

import hashlib
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

MODEL = "gemini-3-pro-preview"
SESSION = "7c1f4a52-2222-4333-8444-555566667777"
START = "2026-01-31T12:00:00.000Z"
_SECOND = 1_000_000_000


@dataclass
class Gemini:
    """A session in progress: ``hooks`` are its hook events, ``messages`` the content of its chat."""

    root: Path | str
    session: str = SESSION
    at: str = START
    model: str = MODEL
    kind: str = "main"
    hooks: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    subagents: list["Gemini"] = field(default_factory=list)
    parent: str | None = None
    _count: int = 0

    # --- messages ----------------------------------------------------------------------------------------------------

    def prompt(self, text: str, **more: Any) -> "Gemini":
        """Add a prompt by a person."""
        self.hook("BeforeAgent", prompt=text)
        return self.message("user", [{"text": text}], **more)

    def says(self, text: str) -> "Gemini":
        """Add a message of the agent."""
        thoughts = [{"subject": "s", "description": f"thinking of {text}", "timestamp": self.at}]
        return self.message("gemini", text, model=self.model, thoughts=thoughts, tokens={"input": 1, "total": 2})

    # --- actions -----------------------------------------------------------------------------------------------------

    def replace(self, path: str, before: str, old: str, new: str, **more: Any) -> "Gemini":
        """Replace a piece; ``applied`` is the whole file after a person edited the proposal."""
        applied = more.pop("applied", None)
        given: dict[str, Any] = {"file_path": self.named(path), "old_string": old, "new_string": new}
        after = before.replace(old, new, 1)
        if applied is not None:
            # As in ``createUpdatedParams``: the text to replace is missing.
            given |= {"old_string": before, "new_string": applied}
            given |= {"ai_proposed_content": new, "modified_by_user": True}
            after = applied
        words = f"Successfully modified file: {self.named(path)} (1 replacements)."
        return self.call("replace", given, words, self.diff(path, before, after, person=applied is not None), **more)

    def write(self, path: str, before: str | None, after: str, **more: Any) -> "Gemini":
        """Write a whole file; ``before`` is None for a new one, ``proposed`` is the text before a person's edit."""
        proposed = more.pop("proposed", None)
        given: dict[str, Any] = {"file_path": self.named(path), "content": after}
        if proposed is not None:
            given |= {"ai_proposed_content": proposed, "modified_by_user": True}
        words = f"Successfully created and wrote to new file: {self.named(path)}."
        display = self.diff(path, before or "", after, person=proposed is not None) | {"isNewFile": before is None}
        return self.call("write_file", given, words, display, **more)

    def shell(self, command: str, output: str = "", code: int = 0, **more: Any) -> "Gemini":
        """Run a command; each has its own process group."""
        given = {"command": command, "description": "Run it", **more.pop("given", {})}
        ends = [f"Output: {output or '(empty)'}", *([f"Exit Code: {code}"] if code else [])]
        words = "\n".join((*ends, f"Process Group PGID: {4000 + self._count}"))
        return self.call(
            "run_shell_command", given, f"<untrusted_context>\n{words}\n</untrusted_context>", output, **more
        )

    def read(self, path: str, content: str, **given: Any) -> "Gemini":
        """Add a read of a file."""
        return self.call("read_file", {"file_path": path, **given}, content, "Read lines 1-2 of 2")

    # --- the parts ----------------------------------------------------------------------------------------------------

    def call(
        self, name: str, given: dict[str, Any], words: Any, display: Any = None, status: str = "success", **more: Any
    ) -> "Gemini":
        """Add a call: hook events before and after, and an entry in the chat at its end."""
        self._count += 1
        self.hook("BeforeTool", tool_name=name, tool_input=given)
        answer: dict[str, Any] = {"llmContent": words, "returnDisplay": display}
        if status == "error":
            answer["error"] = {"message": words, "type": "failed"}
        if status != "cancelled":
            self.hook("AfterTool", tool_name=name, tool_input=given, tool_response=answer)
        call_id = f"{name}-{parse_timestamp(self.at) // 1_000_000}-{self._count}"
        shown = {"error": words} if status == "error" else {"output": _text(words)}
        made = {
            "id": call_id,
            "name": name,
            "args": given,
            "result": [{"functionResponse": {"id": call_id, "name": name, "response": shown}}],
            "status": status,
            "timestamp": self.at,
            "displayName": name.title(),
            "description": "does it",
            "resultDisplay": display,
            "renderOutputAsMarkdown": False,
            **more,
        }
        if not self.messages or self.messages[-1]["type"] != "gemini":
            self.message("gemini", "", model=self.model, toolCalls=[], thoughts=[])
        last = self.messages[-1]
        last["toolCalls"] = [*last.get("toolCalls", []), made]
        # The whole message again, as it has grown.
        self.lines.append({**last})
        return self.wait(1)

    def subagent(self, agent: str) -> "Gemini":
        """Start a subagent; its chat is in a folder named after this session."""
        made = Gemini(self.root, agent, self.at, self.model, "subagent", parent=self.session)
        self.subagents.append(made)
        return made

    def message(self, kind: str, content: Any, **more: Any) -> "Gemini":
        """Return one message of any type."""
        self._count += 1
        whole = hashlib.sha256(f"{self.session} {self._count}".encode()).hexdigest()
        named = f"{whole[:8]}-{whole[8:12]}-4{whole[13:16]}-8{whole[17:20]}-{whole[20:32]}"
        made = {"id": named, "timestamp": self.at, "type": kind, "content": content, **more}
        self.messages.append(made)
        self.lines += [{**made}, {"$set": {"lastUpdated": self.at}}]
        return self.wait(1)

    def hook(self, event: str, **said: Any) -> "Gemini":
        """Add a hook event."""
        around = {"session_id": self.session, "transcript_path": "/nowhere/chat.jsonl", "cwd": str(self.root)}
        self.hooks.append({**around, "hook_event_name": event, "timestamp": self.at, **said})
        return self

    def diff(self, path: str, before: str, after: str, *, person: bool = False) -> dict[str, Any]:
        """Return the display of an edit for a person."""
        own, persons = len(after.splitlines()), int(person)
        stat = {
            "model_added_lines": own,
            "model_removed_lines": 0,
            "user_added_lines": persons,
            "user_removed_lines": 0,
        }
        return {
            "fileDiff": f"Index: {path}\n",
            "fileName": Path(path).name,
            "filePath": self.named(path),
            "originalContent": before,
            "newContent": after,
            "diffStat": stat,
            "isNewFile": False,
        }

    def wait(self, seconds: float) -> "Gemini":
        """Advance the time."""
        self.at = format_timestamp(parse_timestamp(self.at) + int(seconds * _SECOND))
        return self

    def named(self, path: str) -> str:
        """Return a path of the project as the agent writes it."""
        return path if path.startswith("/") else f"{self.root}/{path}"

    # --- the files ----------------------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """Return the header of the chat."""
        said = {"sessionId": self.session, "projectHash": project_hash(self.root), "startTime": START}
        return {**said, "lastUpdated": self.at, "kind": self.kind}

    def document(self) -> str:
        """Return the chat as versions before April 2026 write it: one document."""
        return json.dumps({**self.about(), "messages": self.messages}, indent=2, ensure_ascii=False)

    def grown(self) -> str:
        """Return the chat as later versions write it: lines, with messages repeated as they grow."""
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in [self.about(), *self.lines])

    def put(self, tmp: Path, *, old: bool = False, project: str | None = None) -> Path:
        """Write the chat and its subagents' below ``tmp`` as Gemini CLI lays them out; ``old`` as it did at first."""
        folder = tmp / (project or project_hash(self.root)) / "chats"
        if self.parent is not None:
            folder /= self.parent
        folder.mkdir(parents=True, exist_ok=True)
        suffix, text = ("json", self.document()) if old else ("jsonl", self.grown())
        name = self.session if self.parent is not None else f"session-2026-01-31T12-00-{self.session[:8]}"
        file = folder / f"{name}.{suffix}"
        file.write_text(text, encoding="utf-8")
        for agent in self.subagents:
            agent.put(tmp, old=old, project=project)
        return file


def project_hash(root: Path | str) -> str:
    """Return the folder name for a project's root."""
    return hashlib.sha256(str(root).encode()).hexdigest()


def run_gemini_hook(repository: Path, said: dict[str, Any]) -> Ran:
    """Run the installed hook on one event, as Gemini CLI would."""
    done = subprocess.run(
        hook_argv(home_of(repository), "gemini"),
        input=json.dumps(said).encode(),
        capture_output=True,
        cwd=repository,
        env=dict(os.environ),
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def _text(words: Any) -> str:
    return words if isinstance(words, str) else "\n".join(part["text"] for part in words)
