"""The agents of the story: Claude Code with its hooks and transcript, and one that sends generic events."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from custody.demo.sandbox import Sandbox

AGENT = "claude-code"
MODEL = "model-1"
STEP_SECONDS = 15

EventSink = Callable[[str, dict[str, Any]], None]
"""Records one event of the agent of that name."""


class ClaudeSession(Struct):
    """A session that is recorded live by hooks, and that really writes its files."""

    place: Sandbox
    record: EventSink
    session: str
    _calls: int = 0
    _prompt: str = "p1"

    def start(self, prompt: str) -> None:
        """Start the session with a prompt."""
        self._event("SessionStart", source="startup", model=MODEL)
        self._event("UserPromptSubmit", prompt=prompt, prompt_id=self._prompt)

    def read(self, path: str) -> None:
        """Read a file whole."""
        content = (self.place.repository / path).read_text()
        count = content.count("\n") + 1
        file = {"filePath": self._full_path(path), "content": content, "numLines": count, "startLine": 1}
        self._call(
            "Read", {"file_path": self._full_path(path)}, {"type": "text", "file": {**file, "totalLines": count}}
        )

    def write(self, path: str, content: str) -> None:
        """Write a whole file."""
        file = self.place.repository / path
        before = file.read_text() if file.exists() else None
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        arguments = {"file_path": self._full_path(path), "content": content}
        self._call(
            "Write",
            arguments,
            {
                "type": "create" if before is None else "update",
                "filePath": self._full_path(path),
                "content": content,
                "structuredPatch": [],
                "originalFile": before,
            },
        )

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a piece of a file."""
        file = self.place.repository / path
        before = file.read_text()
        file.write_text(before.replace(old, new, 1))
        arguments = {"file_path": self._full_path(path), "old_string": old, "new_string": new}
        answer = {"filePath": self._full_path(path), "oldString": old, "newString": new, "originalFile": before}
        self._call("Edit", arguments, {**answer, "structuredPatch": [], "userModified": False, "replaceAll": False})

    def fetch(self, url: str, summary: str) -> None:
        """Record the summary of a page, as Claude Code would; nothing is fetched."""
        answer = {"bytes": len(summary), "code": 200, "codeText": "OK", "result": summary, "url": url}
        self._call("WebFetch", {"url": url, "prompt": "sum up"}, answer)

    def bash(self, command: str, output: str, commit: str | None = None) -> None:
        """Record a command and its output; ``commit`` is the commit that it made."""
        answer: dict[str, Any] = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        if commit is not None:
            answer["gitOperation"] = {"commit": {"sha": commit, "kind": "committed"}}
        self._call("Bash", {"command": command, "description": "Run it"}, answer)

    def commit(self, message: str) -> str:
        """Commit everything, and record the command."""
        self.place.clock.advance(STEP_SECONDS)
        commit = commit_sandbox_files(self.place, message, author="Ana")
        self.bash(
            f"git commit -am {json.dumps(message.splitlines()[0])}",
            f"[{commit[:7]}] {message.splitlines()[0]}\n",
            commit,
        )
        return commit

    def end(self) -> None:
        """End the session."""
        self._event("Stop")
        self._event("SessionEnd", reason="exit")

    def _call(self, tool: str, arguments: dict[str, Any], answer: dict[str, Any]) -> None:
        self._calls += 1
        common = {"tool_name": tool, "tool_use_id": f"toolu_{self.session[:4]}_{self._calls}", "tool_input": arguments}
        if tool == "Bash":
            self._event("PreToolUse", prompt_id=self._prompt, **common)
        self._event("PostToolUse", prompt_id=self._prompt, duration_ms=1200, tool_response=answer, **common)

    def _event(self, name: str, **fields: Any) -> None:
        self.place.clock.advance(STEP_SECONDS)
        around = {"session_id": self.session, "cwd": str(self.place.repository), "transcript_path": ""}
        self.record(AGENT, {**around, "hook_event_name": name, **fields})

    def _full_path(self, path: str) -> str:
        return str(self.place.repository / path)


def commit_sandbox_files(place: Sandbox, message: str, *, author: str) -> str:
    """Commit everything in the work tree, and return the commit's id."""
    place.git("add", "--all")
    place.git("commit", "--quiet", "--message", message, author=author)
    return place.git("rev-parse", "HEAD").strip()


def write_sample_transcript(place: Sandbox, session: str, prompt: str, path: str, content: str) -> None:
    """Write the transcript of an unrecorded Claude Code session that wrote one file."""
    folder = place.home / ".claude" / "projects" / _sample_project_name(place.repository)
    folder.mkdir(parents=True)
    call, name = "toolu_old_1", str(place.repository / path)
    arguments = {"file_path": name, "content": content}
    answer: dict[str, Any] = {
        "type": "create",
        "filePath": name,
        "content": content,
        "structuredPatch": [],
        "originalFile": None,
    }
    result = {"type": "tool_result", "tool_use_id": call, "content": f"File created successfully at: {name}"}
    use = {"type": "tool_use", "id": call, "name": "Write", "input": arguments}
    entries = [
        {"type": "user", "message": {"role": "user", "content": prompt}},
        {"type": "assistant", "message": {"role": "assistant", "model": MODEL, "id": "msg_1", "content": [use]}},
        {"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": answer},
    ]
    lines = [_make_sample_transcript_line(place, session, number, fields) for number, fields in enumerate(entries, 1)]
    (folder / f"{session}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _make_sample_transcript_line(place: Sandbox, session: str, number: int, fields: dict[str, Any]) -> dict[str, Any]:
    place.clock.advance(STEP_SECONDS)
    return {
        "parentUuid": f"{session[:8]}-0000-4000-8000-{number - 1:012x}" if number > 1 else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": str(place.repository),
        "sessionId": session,
        "version": "2.1.39",
        "gitBranch": "main",
        "uuid": f"{session[:8]}-0000-4000-8000-{number:012x}",
        "timestamp": place.clock.text,
        **fields,
    }


def _sample_project_name(folder: Path) -> str:
    """Return the folder's name as Claude Code writes it below ``projects``."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in str(folder))


PATCHBOT = "patchbot"
PATCHBOT_MODEL = "model-2"


class PatchbotSession(Struct):
    """A session of an agent that custody does not know, recorded by generic events; it really writes its files."""

    place: Sandbox
    record: EventSink
    session: str
    _count: int = 0

    def start(self, prompt: str) -> None:
        """Start the session with a prompt."""
        self._event("session", model=PATCHBOT_MODEL, operator="ana")
        self._event("prompt", text=prompt)

    def write(self, path: str, content: str) -> None:
        """Write a whole file."""
        file = self.place.repository / path
        before = {"before": file.read_text()} if file.exists() else {}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        call = self._event("call", name="write_file", status="ok", input={"path": path}, model=PATCHBOT_MODEL)
        self._event("edit", path=path, after=content, call=call, **before)

    def _event(self, kind: str, **fields: Any) -> str:
        self.place.clock.advance(STEP_SECONDS)
        self._count += 1
        id_ = f"{self.session}-{self._count}"
        self.record(PATCHBOT, {"custody": 1, "kind": kind, "id": id_, "session": self.session, **fields})
        return id_
