"""GitHub Copilot, in VS Code or in its CLI: the same calls as hook events and in each stored format."""

import hashlib
import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from custody.capture.hook.call_name import COPILOTS
from custody.capture.hook.install import hook_argv
from custody.core.wire.time import format_timestamp, parse_timestamp
from tests.builders.cli import Ran
from tests.builders.hooks import home_of

MODEL = "claude-sonnet-4.5"
SESSION = "8d2e5b63-3333-4444-8555-666677778888"
START = "2026-01-31T12:00:00.000Z"
_SECOND = 1_000_000_000
TOOLS = {
    "cli": {"replace": "edit", "create": "create", "shell": "bash", "read": "view", "agent": "task"},
    "vscode": {
        "replace": "replace_string_in_file",
        "create": "create_file",
        "shell": "run_in_terminal",
        "read": "read_file",
        "agent": "runSubagent",
    },
}


@dataclass
class Copilot:
    """A session in progress: ``hooks`` are its hook events, ``events`` its stream, ``requests`` its chat."""

    root: Path | str
    surface: str = "vscode"
    session: str = SESSION
    at: str = START
    model: str = MODEL
    hooks: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    timeline: list[dict[str, Any]] = field(default_factory=list)
    agent: str | None = None
    _count: int = 0

    def __post_init__(self) -> None:
        """Start the session."""
        self.hook("SessionStart", source="new")
        said: dict[str, Any] = {
            "sessionId": self.session,
            "version": 1,
            "producer": "copilot-agent",
            "copilotVersion": "0.42.0" if self.surface == "vscode" else "1.0.62",
            "startTime": self.at,
        }
        if self.surface == "vscode":
            said["vscodeVersion"] = "1.113.0"
        else:
            said |= {"selectedModel": self.model, "context": {"cwd": str(self.root), "headCommit": "b" * 40}}
        self.event("session.start", said)

    # --- messages ----------------------------------------------------------------------------------------------------

    def prompt(self, text: str) -> "Copilot":
        """Add a prompt by a person: a request begins."""
        self.hook("UserPromptSubmit", prompt=text)
        self.event("user.message", {"content": text, "attachments": []})
        self.timeline.append({"id": self.uuid(), "type": "user", "text": text, "timestamp": self.at})
        metadata = {"toolCallRounds": [], "toolCallResults": {}, "sessionId": self.session}
        request = {
            "requestId": f"request_{self.uuid()}",
            "timestamp": parse_timestamp(self.at) // 1_000_000,
            "message": {"text": text, "parts": [{"text": text, "kind": "text"}]},
            "response": [],
            "result": {"timings": {"totalElapsed": 9}, "metadata": metadata, "details": "Claude Sonnet 4.5 • 1x"},
            "agent": {"id": "github.copilot.editsAgent", "extensionVersion": "0.42.0"},
            "modelId": f"copilot/{self.model}",
        }
        self.requests.append(request)
        return self.wait(1)

    def opened(self, *folders: str) -> "Copilot":
        """Name the open folders in the request, as a chat's first one does."""
        listed = "\n".join(f"- {folder} " for folder in folders)
        said = f"<workspace_info>\nI am working in a workspace with the following folders:\n{listed}\nIt has files.\n"
        context = [{"type": 1, "text": f"{said}</workspace_info>"}, {"type": 3, "cacheType": "ephemeral"}]
        self.requests[-1]["result"]["metadata"]["renderedGlobalContext"] = context
        return self

    def says(self, text: str) -> "Copilot":
        """Add a message of the agent."""
        self.event("assistant.message", {"messageId": self.uuid(), "content": text, "toolRequests": []})
        self.timeline.append({"id": self.uuid(), "type": "copilot", "text": text, "timestamp": self.at})
        if self.requests:
            self.requests[-1]["response"].append({"value": text})
        return self.wait(1)

    # --- actions -----------------------------------------------------------------------------------------------------

    def replace(self, path: str, old: str, new: str, **more: Any) -> "Copilot":
        """Add an edit that replaces a piece."""
        given = {"filePath": self.named(path), "oldString": old, "newString": new}
        if self.surface == "cli":
            given = {"path": self.named(path), "old_str": old, "new_str": new}
        return self.call(TOOLS[self.surface]["replace"], given, f"File {path} updated with changes.", **more)

    def create(self, path: str, text: str, **more: Any) -> "Copilot":
        """Add a new file."""
        given = {"filePath": self.named(path), "content": text}
        if self.surface == "cli":
            given = {"path": self.named(path), "file_text": text}
        return self.call(TOOLS[self.surface]["create"], given, f"Created file {path}", **more)

    def shell(self, command: str, output: str = "", code: int = 0, **more: Any) -> "Copilot":
        """Add a shell command."""
        if self.surface == "cli":
            given: dict[str, Any] = {"command": command, "description": "Run it"}
            words = f"{output}\n<exited with exit code {code}>"
        else:
            given = {"command": command, "explanation": "Run it", "isBackground": False}
            words = f"{output}\nCommand exited with code {code}" if code else output
        return self.call(TOOLS[self.surface]["shell"], {**given, **more.pop("given", {})}, words, **more)

    def read(self, path: str, words: str = "1. text", **given: Any) -> "Copilot":
        """Add a read of a file."""
        name = "path" if self.surface == "cli" else "filePath"
        return self.call(TOOLS[self.surface]["read"], {name: self.named(path), **given}, words)

    # --- the parts ----------------------------------------------------------------------------------------------------

    def call(self, tool: str, given: Any, words: str = "", *, failed: bool = False, **more: Any) -> "Copilot":
        """Add a call: hook events before and after, and an entry in every stored format."""
        self._count += 1
        own = more.get("call") or f"call_{self.session[:8]}{self._count:012d}"
        if self.surface == "vscode":
            self._in_vscode(tool, given, words, own, failed=failed)
        else:
            self._in_cli(tool, given, words, failed=failed)
        self.event("tool.execution_start", {"toolCallId": own, "toolName": tool, "arguments": given})
        self.wait(1)
        ended: dict[str, Any] = {"toolCallId": own, "success": not failed}
        if self.surface == "cli":
            ended |= {"model": self.model}
            ended |= {"error": {"message": words}} if failed else {"result": {"content": words, "detailedContent": "d"}}
        self.event("tool.execution_complete", ended)
        self._kept(tool, given, words, own, failed=failed)
        return self.wait(1)

    def _in_vscode(self, tool: str, given: Any, words: str, own: str, *, failed: bool) -> None:
        named = f"{own}__vscode-17{self._count}"
        self.hook("PreToolUse", tool_name=tool, tool_input=given, tool_use_id=named)
        if not failed:
            self.hook("PostToolUse", tool_name=tool, tool_input=given, tool_use_id=named, tool_response=words)

    def _in_cli(self, tool: str, given: Any, words: str, *, failed: bool) -> None:
        told = {"tool_name": COPILOTS.get(tool, tool), "tool_input": given}
        self.hook("PreToolUse", **told)
        if failed:
            self.hook("PostToolUseFailure", **told, error=words)
        else:
            self.hook("PostToolUse", **told, tool_result={"result_type": "success", "text_result_for_llm": words})

    def _kept(self, tool: str, given: Any, words: str, own: str, *, failed: bool) -> None:
        entry = {"id": self.uuid(), "type": "tool_call_completed", "callId": own, "name": tool, "arguments": given}
        result = {"type": "failure" if failed else "success", "log": words}
        self.timeline.append({**entry, "timestamp": self.at, "result": result})
        if self.requests and self.agent is None:
            metadata = self.requests[-1]["result"]["metadata"]
            named = f"{own}__vscode-17{self._count}"
            said = given if isinstance(given, str) else json.dumps(given)
            metadata["toolCallRounds"].append(
                {"response": "", "toolCalls": [{"name": tool, "arguments": said, "id": named}]}
            )
            shown = f"ERROR while calling tool: {words}" if failed else words
            node = {"node": {"type": 1, "children": [{"type": 2, "text": shown}], "props": {}}}
            metadata["toolCallResults"][named] = {"$mid": 20, "content": [{"$mid": 23, "value": node}]}

    def part(self, **part: Any) -> "Copilot":
        """Add a part of the answer to VS Code's chat."""
        self.requests[-1]["response"].append(part)
        return self

    def inserted(self, path: str, line: int, text: str) -> "Copilot":
        """Return VS Code's record of inserted lines."""
        place = {"startLineNumber": line, "startColumn": 1, "endLineNumber": line, "endColumn": 1}
        uri = {"$mid": 1, "fsPath": self.named(path), "path": self.named(path), "scheme": "file"}
        return self.part(kind="textEditGroup", uri=uri, edits=[[{"text": text, "range": place}], []], done=True)

    def hook(self, event: str, **said: Any) -> "Copilot":
        """Add a hook event."""
        around = {"timestamp": self.at, "hook_event_name": event, "session_id": self.session, "cwd": str(self.root)}
        if self.surface == "vscode":
            kept = "/nowhere/workspaceStorage/h/GitHub.copilot-chat/transcripts/s.jsonl"
            around["transcript_path"] = kept
        self.hooks.append({**around, **said})
        return self

    def event(self, kind: str, data: dict[str, Any], **more: Any) -> "Copilot":
        """Return one line of the stream."""
        last = self.events[-1]["id"] if self.events else None
        agent = {} if self.agent is None else {"agentId": self.agent}
        line = {"type": kind, "data": data, "id": self.uuid(), "timestamp": self.at, "parentId": last}
        self.events.append({**line, **agent, **more})
        return self

    def wait(self, seconds: float) -> "Copilot":
        """Advance the time."""
        self.at = format_timestamp(parse_timestamp(self.at) + int(seconds * _SECOND))
        return self

    def named(self, path: str) -> str:
        """Return a path of the project as the agent writes it."""
        return path if path.startswith("/") else f"{self.root}/{path}"

    def uuid(self) -> str:
        """Return a new unique name."""
        self._count += 1
        whole = hashlib.sha256(f"{self.session} {self._count}".encode()).hexdigest()
        return f"{whole[:8]}-{whole[8:12]}-4{whole[13:16]}-8{whole[17:20]}-{whole[20:32]}"

    # --- the files ----------------------------------------------------------------------------------------------------

    def stream(self) -> str:
        """Return the session as a stream of events."""
        return "".join(f"{json.dumps(line)}\n" for line in self.events)

    def chat(self) -> dict[str, Any]:
        """Return the chat as VS Code has it in memory."""
        said = {"version": 3, "sessionId": self.session, "creationDate": 1, "responderUsername": "GitHub Copilot"}
        return {**said, "requests": self.requests}

    def log(self) -> str:
        """Return the chat as a log of changes: it begins empty, requests are pushed and their results set."""
        place = {"startLineNumber": 1, "startColumn": 1, "endLineNumber": 1, "endColumn": 1}
        edits = [[{"text": "undone later\n", "range": place}]]
        wrong = {"kind": "textEditGroup", "uri": {"path": self.named("wrong.py")}, "edits": edits}
        lines: list[dict[str, Any]] = [{"kind": 0, "v": {**self.chat(), "requests": []}}]
        for n, request in enumerate(self.requests):
            bare = {name: value for name, value in request.items() if name not in ("result", "response")}
            lines += [
                {"kind": 2, "k": ["requests"], "v": [{**bare, "response": []}]},
                {"kind": 1, "k": ["inputState", "inputText"], "v": "what was typed and not sent"},
                {"kind": 2, "k": ["requests", n, "response"], "v": [wrong]},
                {"kind": 2, "k": ["requests", n, "response"], "i": 0, "v": request["response"]},
                {"kind": 1, "k": ["requests", n, "result"], "v": request["result"]},
                {"kind": 3, "k": ["requests", n, "followups"]},
            ]
        return "".join(f"{json.dumps(line)}\n" for line in lines)

    def document(self) -> str:
        """Return the chat as one document."""
        return json.dumps(self.chat(), indent=2)

    def exported(self) -> str:
        """Return the chat as "Export Chat" writes it."""
        said = {"responderUsername": "GitHub Copilot", "initialLocation": "panel", "requests": self.requests}
        return json.dumps(said, indent=2)

    def legacy(self) -> str:
        """Return a session of the CLI in its first format."""
        said = {"sessionId": self.session, "startTime": START, "chatMessages": []}
        return json.dumps({**said, "timeline": self.timeline}, indent=2)

    def put(self, home: Path, shape: str) -> Path:
        """Write the session below the user's ``home`` as its program lays it out, in one of its shapes."""
        storage = home / ".config/Code/User/workspaceStorage" / hashlib.sha256(str(self.root).encode()).hexdigest()[:32]
        name = self.session
        place, text = {
            "stream": (home / ".copilot/session-state" / name / "events.jsonl", self.stream),
            "flat": (home / ".copilot/session-state" / f"{name}.jsonl", self.stream),
            "legacy": (home / ".copilot/history-session-state" / f"session_{name}.json", self.legacy),
            "transcript": (storage / "GitHub.copilot-chat/transcripts" / f"{name}.jsonl", self.stream),
            "log": (storage / "chatSessions" / f"{name}.jsonl", self.log),
            "document": (storage / "chatSessions" / f"{name}.json", self.document),
        }[shape]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text(), encoding="utf-8")
        if storage in place.parents:
            (storage / "workspace.json").write_text(json.dumps({"folder": f"file://{self.root}"}), encoding="utf-8")
        return place


SHAPES = {"cli": ("stream", "flat", "legacy"), "vscode": ("transcript", "log", "document")}


def run_copilot_hook(repository: Path, said: dict[str, Any], *more: str) -> Ran:
    """Run the installed hook on one event, as either program would."""
    done = subprocess.run(
        hook_argv(home_of(repository), "copilot", *more),
        input=json.dumps(said).encode(),
        capture_output=True,
        cwd=repository,
        env=dict(os.environ),
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
