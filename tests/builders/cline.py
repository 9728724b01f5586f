"""Cline and Roo Code: a task in each shape of its files, as public tasks and the writers' sources have them."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from custody.core.wire.time import parse_timestamp

TASK = "1769860800000"
"""2026-01-31T12:00:00Z in milliseconds, as Cline names its tasks."""
ROO_TASK = "019c1f2a-1111-7222-8333-444455556666"
START = "2026-01-31T12:00:00Z"
MODEL = "claude-sonnet-4-5-20250929"
EXTENSIONS = {"cline": "saoudrizwan.claude-dev", "roo-code": "rooveterinaryinc.roo-cline"}
MARKS = ("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE")
SHAPES = ("cline", "cline-xml", "roo", "roo-xml")
"""Cline with calls in its API's shape and as XML, and Roo Code likewise."""


@dataclass
class Cline:
    """A task in progress; ``history`` is the conversation, ``shown`` what the user saw."""

    root: Path | str
    shape: str = "cline"
    task: str = ""
    at: str = START
    model: str = MODEL
    history: list[dict[str, Any]] = field(default_factory=list)
    shown: list[dict[str, Any]] = field(default_factory=list)
    _seconds: int = 0

    def __post_init__(self) -> None:
        self.task = self.task or (ROO_TASK if self.agent == "roo-code" else TASK)

    @property
    def agent(self) -> str:
        """Return the agent's name in custody."""
        return "roo-code" if self.shape.startswith("roo") else "cline"

    @property
    def is_xml(self) -> bool:
        """Return whether calls are XML in the answer."""
        return self.shape.endswith("xml")

    @property
    def now(self) -> int:
        """Return the time in milliseconds."""
        return parse_timestamp(self.at) // 1_000_000 + self._seconds * 1000

    # --- messages -----------------------------------------------------------------------------------------------------

    def prompt(self, text: str) -> "Cline":
        """Begin the task with a prompt, or answer the last message."""
        if not self.history:
            return self.user({"type": "text", "text": f"<task>\n{text}\n</task>"})
        if self.agent == "roo-code":
            return self.user({"type": "text", "text": f"<user_message>\n{text}\n</user_message>"})
        preface = "New instructions for task continuation:"
        return self.user({"type": "text", "text": f"{preface}\n<user_message>\n{text}\n</user_message>"})

    def user(self, *blocks: dict[str, Any]) -> "Cline":
        """Add a message of the user, with the context that the program adds to it."""
        return self._message("user", [*blocks, {"type": "text", "text": self.context()}])

    def says(self, text: str) -> "Cline":
        """Add an answer without a call."""
        return self._message("assistant", [{"type": "text", "text": text}])

    def context(self) -> str:
        """Return the program's context of a message; the first one names the folder."""
        first = not any(message["role"] == "user" for message in self.history)
        if self.agent == "roo-code":
            mode = f"# Current Mode\n<slug>code</slug>\n<name>Code</name>\n<model>{self.model}</model>\n"
            folder = f"\n\n# Current Workspace Directory ({self.root}) Files\nREADME.md" if first else ""
            return f"<environment_details>\n# VSCode Visible Files\na.py\n\n{mode}{folder}\n</environment_details>"
        folder = f"# Current Working Directory ({self.root}) Files\nREADME.md\n\n" if first else ""
        return (
            "<environment_details>\n# Visual Studio Code Visible Files\n(No visible files)\n\n"
            f"{folder}# Current Mode\nACT MODE\n</environment_details>"
        )

    # --- actions ------------------------------------------------------------------------------------------------------

    def write(self, path: str, content: str, *, existed: bool = False, stored: str | None = None) -> "Cline":
        """Write a file; ``stored`` is its text after a person changed the proposal."""
        given = {"path": path, "content": content} | ({"line_count": "1"} if self.shape == "roo-xml" else {})
        result = self._written(path, content if stored is None else stored, existed, by_person=stored is not None)
        self._show_file("editedExistingFile" if existed else "newFileCreated", path)
        return self.call("write_to_file", given, result)

    def replace(self, path: str, old: str, new: str, *, final: str = "", failed: bool = False) -> "Cline":
        """Replace a piece; ``final`` is the whole file afterwards, as Cline reports it."""
        search, divider, end = (
            MARKS if self.agent == "roo-code" or self.is_xml else ("------- SEARCH", "=======", "+++++++ REPLACE")
        )
        place = ":start_line:2\n-------\n" if self.agent == "roo-code" else ""
        diff = f"{search}\n{place}{old}\n{divider}\n{new}\n{end}\n"
        tool = "apply_diff" if self.agent == "roo-code" else "replace_in_file"
        result = (
            f"The tool execution failed with the following error:\n<error>\n{path}: not successfully saved\n</error>"
            if failed
            else self._written(path, final, True)
        )
        self._show_file("editedExistingFile", path)
        return self.call(tool, {"path": path, "diff": diff}, result)

    def shell(self, command: str, output: str = "", code: int = 0) -> "Cline":
        """Run a command."""
        if self.agent == "roo-code":
            head = f"Command executed in terminal within working directory '{self.root}'. Exit code: {code}"
        else:
            head = f"Command failed with exit code {code}." if code else "Command executed successfully (exit code 0)."
        return self.call("execute_command", {"command": command}, f"{head}\nOutput:\n{output}")

    def read(self, path: str, content: str) -> "Cline":
        """Read a file."""
        lines = "".join(f"{n:>3} | {line}\n" for n, line in enumerate(content.splitlines(), 1))
        shown = f"File: {path}\nLines 1-9:\n{lines}" if self.agent == "roo-code" else content
        return self.call("read_file", {"path": path}, shown)

    def denied(self, path: str, content: str) -> "Cline":
        """Propose a file that the user refuses."""
        roo = json.dumps({"status": "denied", "message": "The user denied this operation."})
        words = roo if self.agent == "roo-code" else "The user denied this operation."
        return self.call("write_to_file", {"path": path, "content": content}, words)

    def call(self, tool: str, given: dict[str, Any], result: str | None, *, name: str | None = None) -> "Cline":
        """Add a call, and its result if it has one."""
        call = name or "toolu_" + hashlib.sha256(f"{self.task} {len(self.history)}".encode()).hexdigest()[:24]
        words = {"type": "text", "text": f"I will use {tool}."}
        if self.is_xml:
            inner = "".join(f"<{key}>{_xml(key, value)}</{key}>\n" for key, value in given.items())
            self._message("assistant", [{"type": "text", "text": f"{words['text']}\n\n<{tool}>\n{inner}</{tool}>"}])
        else:
            entry = {"type": "tool_use", "id": call, "name": tool, "input": given}
            self._message("assistant", [{"type": "thinking", "thinking": "secret thoughts"}, words, entry])
        return self if result is None else self.user(*self._result(tool, given, call, result))

    def _result(self, tool: str, given: dict[str, Any], call: str, result: str) -> list[dict[str, Any]]:
        if self.shape == "roo":
            return [{"type": "tool_result", "tool_use_id": call, "content": result}]
        header = f"[{tool} for '{next(iter(given.values()), '')}'] Result:"
        if self.is_xml:
            return [{"type": "text", "text": header}, {"type": "text", "text": result}]
        return [{"type": "text", "text": f"{header}\n{result}"}]

    def _written(self, path: str, final: str, existed: bool, *, by_person: bool = False) -> str:
        if self.agent == "roo-code":
            said = {"path": path, "operation": "modified" if existed else "created", "notice": "You do not need to"}
            return json.dumps(said | ({"user_edits": "@@ -1 +1 @@"} if by_person else {}))
        body = (
            f'<final_file_content path="{path}">\n{final}\n</final_file_content>\n\nIMPORTANT: For any future changes'
        )
        if by_person:
            diff = "The user made the following updates to your content:\n\n@@ -1 +1 @@\n-x\n+y"
            return f"{diff}\n\nThe updated content has been successfully saved to {path}. Here it is:\n\n{body}"
        return f"The content was successfully saved to {path}.\n\nHere is the full, updated content:\n\n{body}"

    def _message(self, role: str, blocks: list[dict[str, Any]]) -> "Cline":
        self._seconds += 1
        message: dict[str, Any] = {"role": role, "content": blocks}
        if self.agent == "roo-code":
            message["ts"] = self.now
        elif role == "assistant" and not self.is_xml:
            message["modelInfo"] = {"modelId": self.model, "providerId": "anthropic", "mode": "act"}
        self._show("api_req_started", "{}")
        self.history.append(message)
        return self

    def _show(self, kind: str, text: str) -> None:
        self.shown.append(
            {
                "ts": self.now,
                "type": "say",
                "say": kind,
                "text": text,
                "conversationHistoryIndex": len(self.history) - 1,
                "modelInfo": {"modelId": self.model},
            }
        )

    def _show_file(self, kind: str, path: str) -> None:
        self._show("tool", json.dumps({"tool": kind, "path": path, "content": "x"}))

    # --- the files ----------------------------------------------------------------------------------------------------

    def put(self, home: Path, *, indent: int | None = None) -> Path:
        """Write the task as VS Code's extension does, and return the conversation."""
        folder = home / ".config" / "Code" / "User" / "globalStorage" / EXTENSIONS[self.agent] / "tasks" / self.task
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ui_messages.json").write_text(json.dumps(self.shown), encoding="utf-8")
        file = folder / "api_conversation_history.json"
        file.write_text(json.dumps(self.history, indent=indent, ensure_ascii=False), encoding="utf-8")
        return file


def _xml(key: str, value: Any) -> str:
    return f"\n{value}\n" if key in ("content", "diff") else str(value)
