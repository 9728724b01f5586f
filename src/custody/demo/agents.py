"""The agents of the story: Claude Code with its hooks and transcript, and one that sends generic events."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from custody.demo.sandbox import Sandbox

AGENT = "claude-code"
MODEL = "model-1"
STEP_SECONDS = 15

EventSink = Callable[[str, dict[str, Any]], None]
"""Records one event of the agent of that name."""


@dataclass
class ClaudeSession:
    """A session whose hooks are recorded as it goes; it really writes the files that it says it writes."""

    place: Sandbox
    record: EventSink
    session: str
    _calls: int = field(default=0, init=False)
    _prompt: str = field(default="p1", init=False)

    def start(self, asked: str) -> None:
        """The session opens, and somebody asks something."""
        self._event("SessionStart", source="startup", model=MODEL)
        self._event("UserPromptSubmit", prompt=asked, prompt_id=self._prompt)

    def read(self, path: str) -> None:
        """Read a file whole."""
        content = (self.place.repository / path).read_text()
        count = content.count("\n") + 1
        file = {"filePath": self._named(path), "content": content, "numLines": count, "startLine": 1}
        self._call("Read", {"file_path": self._named(path)}, {"type": "text", "file": {**file, "totalLines": count}})

    def write(self, path: str, content: str) -> None:
        """Write a whole file."""
        file = self.place.repository / path
        before = file.read_text() if file.exists() else None
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        given = {"file_path": self._named(path), "content": content}
        self._call(
            "Write",
            given,
            {
                "type": "create" if before is None else "update",
                "filePath": self._named(path),
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
        given = {"file_path": self._named(path), "old_string": old, "new_string": new}
        answer = {"filePath": self._named(path), "oldString": old, "newString": new, "originalFile": before}
        self._call("Edit", given, {**answer, "structuredPatch": [], "userModified": False, "replaceAll": False})

    def fetch(self, url: str, summary: str) -> None:
        """Have a page summed up; nothing is opened here, this is what Claude Code would tell."""
        answer = {"bytes": len(summary), "code": 200, "codeText": "OK", "result": summary, "url": url}
        self._call("WebFetch", {"url": url, "prompt": "sum up"}, answer)

    def bash(self, command: str, said: str, commit: str | None = None) -> None:
        """Run a command; ``commit`` is the one that it made."""
        answer: dict[str, Any] = {"stdout": said, "stderr": "", "interrupted": False, "isImage": False}
        if commit is not None:
            answer["gitOperation"] = {"commit": {"sha": commit, "kind": "committed"}}
        self._call("Bash", {"command": command, "description": "Run it"}, answer)

    def commit(self, message: str) -> str:
        """Commit everything, and tell so."""
        self.place.clock.later(STEP_SECONDS)
        commit = commit_all(self.place, message, author="Ana")
        self.bash(
            f"git commit -am {json.dumps(message.splitlines()[0])}",
            f"[{commit[:7]}] {message.splitlines()[0]}\n",
            commit,
        )
        return commit

    def end(self) -> None:
        """The session is over."""
        self._event("Stop")
        self._event("SessionEnd", reason="exit")

    def _call(self, tool: str, given: dict[str, Any], answer: dict[str, Any]) -> None:
        self._calls += 1
        common = {"tool_name": tool, "tool_use_id": f"toolu_{self.session[:4]}_{self._calls}", "tool_input": given}
        if tool == "Bash":
            self._event("PreToolUse", prompt_id=self._prompt, **common)
        self._event("PostToolUse", prompt_id=self._prompt, duration_ms=1200, tool_response=answer, **common)

    def _event(self, name: str, **fields: Any) -> None:
        self.place.clock.later(STEP_SECONDS)
        around = {"session_id": self.session, "cwd": str(self.place.repository), "transcript_path": ""}
        self.record(AGENT, {**around, "hook_event_name": name, **fields})

    def _named(self, path: str) -> str:
        return str(self.place.repository / path)


def commit_all(place: Sandbox, message: str, *, author: str) -> str:
    """Commit everything in the work tree; the commit's id."""
    place.git("add", "--all")
    place.git("commit", "--quiet", "--message", message, author=author)
    return place.git("rev-parse", "HEAD").strip()


def leave_transcript(place: Sandbox, session: str, asked: str, path: str, content: str) -> None:
    """What Claude Code leaves in the home of a session that wrote one file while nobody recorded it."""
    folder = place.home / ".claude" / "projects" / _project(place.repository)
    folder.mkdir(parents=True)
    call, name = "toolu_old_1", str(place.repository / path)
    given = {"file_path": name, "content": content}
    answer: dict[str, Any] = {
        "type": "create",
        "filePath": name,
        "content": content,
        "structuredPatch": [],
        "originalFile": None,
    }
    result = {"type": "tool_result", "tool_use_id": call, "content": f"File created successfully at: {name}"}
    use = {"type": "tool_use", "id": call, "name": "Write", "input": given}
    said = [
        {"type": "user", "message": {"role": "user", "content": asked}},
        {"type": "assistant", "message": {"role": "assistant", "model": MODEL, "id": "msg_1", "content": [use]}},
        {"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": answer},
    ]
    lines = [_line(place, session, number, fields) for number, fields in enumerate(said, 1)]
    (folder / f"{session}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _line(place: Sandbox, session: str, number: int, fields: dict[str, Any]) -> dict[str, Any]:
    place.clock.later(STEP_SECONDS)
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


def _project(folder: Path) -> str:
    """The folder's name as Claude Code spells it below ``projects``."""
    return "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in str(folder))


# A second agent, of which custody knows nothing: it tells what it does in generic events.


PATCHBOT = "patchbot"
PATCHBOT_MODEL = "model-2"


@dataclass
class PatchbotSession:
    """A session that is told event by event; it really writes the files that it says it writes."""

    place: Sandbox
    record: EventSink
    session: str
    _count: int = field(default=0, init=False)

    def start(self, asked: str) -> None:
        """The session opens, and somebody asks something."""
        self._event("session", model=PATCHBOT_MODEL, operator="ana")
        self._event("prompt", text=asked)

    def write(self, path: str, content: str) -> None:
        """Write a whole file."""
        file = self.place.repository / path
        before = {"before": file.read_text()} if file.exists() else {}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        call = self._event("call", name="write_file", status="ok", input={"path": path}, model=PATCHBOT_MODEL)
        self._event("edit", path=path, after=content, call=call, **before)

    def _event(self, kind: str, **fields: Any) -> str:
        self.place.clock.later(STEP_SECONDS)
        self._count += 1
        id_ = f"{self.session}-{self._count}"
        self.record(PATCHBOT, {"custody": 1, "kind": kind, "id": id_, "session": self.session, **fields})
        return id_
