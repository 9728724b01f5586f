"""Claude Code's transcripts, line by line as it writes them, and many of them at once."""

import difflib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from custody.core.wire.time import format_timestamp, parse_timestamp

MODEL = "claude-opus-4-6"
VERSION = "2.1.39"
START = "2026-01-31T12:00:00Z"
_SECOND = 1_000_000_000


@dataclass
class Transcript:
    """A session in progress; every line takes a second, and ``wait`` lets more time pass."""

    session: str
    cwd: Path | str
    at: str = START
    model: str = MODEL
    version: str = VERSION
    branch: str = "main"
    agent_id: str | None = None
    lines: list[dict[str, Any]] = field(default_factory=list)
    subagents: list["Transcript"] = field(default_factory=list)
    last_call: str | None = None
    _count: int = 0

    # --- messages ----------------------------------------------------------------------------------------------------

    def prompt(self, text: str, **more: Any) -> "Transcript":
        """Add a prompt by a person."""
        self.line(type="user", message={"role": "user", "content": text}, **more)
        return self

    def says(self, text: str) -> "Transcript":
        """Add a thought and a message of the agent."""
        self.assistant({"type": "thinking", "thinking": f"I think {text}", "signature": "c2ln"})
        self.assistant({"type": "text", "text": text})
        return self

    # --- actions -----------------------------------------------------------------------------------------------------

    def edit(self, path: str, before: str, old: str, new: str, **more: Any) -> "Transcript":
        """Make an edit that succeeds; ``applied`` is the text after a person changed ``new``."""
        applied = more.pop("applied", new)
        everywhere = more.pop("replace_all", False)
        after = before.replace(old, applied, -1 if everywhere else 1)
        response = {
            "filePath": self.named(path),
            "oldString": old,
            "newString": applied,
            "originalFile": before,
            "structuredPatch": patch(before, after),
            "userModified": applied != new,
            "replaceAll": everywhere,
        }
        given = {"file_path": self.named(path), "old_string": old, "new_string": new, "replace_all": everywhere}
        return self.call("Edit", given, response, f"The file {self.named(path)} has been updated.", **more)

    def write(self, path: str, before: str | None, after: str, **more: Any) -> "Transcript":
        """Write a whole file; ``before`` is None for a new one."""
        response = {
            "type": "create" if before is None else "update",
            "filePath": self.named(path),
            "content": after,
            "structuredPatch": [] if before is None else patch(before, after),
            "originalFile": before,
        }
        given = {"file_path": self.named(path), "content": after}
        return self.call("Write", given, response, f"File created successfully at: {self.named(path)}", **more)

    def multi_edit(self, path: str, before: str, *edits: tuple[str, str], **more: Any) -> "Transcript":
        """Make several edits of one file in one call, as versions before 2.0 did."""
        said = [{"old_string": old, "new_string": new, "replace_all": False} for old, new in edits]
        response = {"filePath": self.named(path), "edits": said, "originalFileContents": before, "structuredPatch": []}
        return self.call("MultiEdit", {"file_path": self.named(path), "edits": said}, response, "Applied", **more)

    def bash(self, command: str, stdout: str = "", **more: Any) -> "Transcript":
        """Run a shell command; ``git`` is its ``gitOperation``."""
        git = more.pop("git", None)
        response: dict[str, Any] = {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False}
        if git is not None:
            response["gitOperation"] = git
        return self.call("Bash", {"command": command, "description": "Run it"}, response, stdout, **more)

    def read(self, path: str, content: str, **more: Any) -> "Transcript":
        """Read a whole file."""
        count = content.count("\n") + 1
        file = {
            "filePath": self.named(path),
            "content": content,
            "numLines": count,
            "startLine": 1,
            "totalLines": count,
        }
        shown = "\n".join(f"{n:6}→{line}" for n, line in enumerate(content.split("\n"), 1))
        return self.call("Read", {"file_path": self.named(path)}, {"type": "text", "file": file}, shown, **more)

    def fetch(self, url: str, summary: str, **more: Any) -> "Transcript":
        """Fetch a page that a model summarizes."""
        response = {"bytes": len(summary), "code": 200, "codeText": "OK", "result": summary, "url": url}
        return self.call("WebFetch", {"url": url, "prompt": "sum up"}, response, summary, **more)

    def subagent(self, agent_id: str, prompt: str = "look around", **more: Any) -> "Transcript":
        """Start a subagent: fill the returned transcript, then call ``subagent_done`` here."""
        call = self.use("Task", {"prompt": prompt, "description": "look", "subagent_type": "Explore"})
        made = Transcript(self.session, self.cwd, self.at, self.model, self.version, self.branch, agent_id, **more)
        made.last_call = call
        made.line(type="user", message={"role": "user", "content": prompt})
        self.subagents.append(made)
        return made

    def subagent_done(self, agent: "Transcript", report: str = "looked", **more: Any) -> "Transcript":
        """End a subagent with its report; ``linked=False`` leaves out which subagent it was."""
        assert agent.last_call is not None
        self.at = max(self.at, agent.at)
        response: dict[str, Any] = {"status": "completed", "content": [{"type": "text", "text": report}]}
        if more.pop("linked", True):
            response["agentId"] = agent.agent_id
        self.result(self.started_by(agent), response, [{"type": "text", "text": report}], **more)
        return self

    def progress_of(self, agent: "Transcript") -> "Transcript":
        """Repeat the subagent's lines so far, as the parent's file does."""
        for line in list(agent.lines):
            if line["type"] in ("assistant", "user"):
                data: dict[str, Any] = {
                    "type": "agent_progress",
                    "agentId": agent.agent_id,
                    "message": line,
                    "normalizedMessages": [],
                }
                self.line(
                    type="progress", data=data, parentToolUseID=self.started_by(agent), toolUseID=f"agent_{self._count}"
                )
        return self

    def started_by(self, agent: "Transcript") -> str:
        """Return the call that started a subagent."""
        prompt = agent.lines[0]["message"]["content"]
        for line in reversed(self.lines):
            for block in line.get("message", {}).get("content", ()):
                if isinstance(block, dict) and block.get("input", {}).get("prompt") == prompt:
                    return str(block["id"])
        raise AssertionError("no call started this subagent")

    # --- the parts ----------------------------------------------------------------------------------------------------

    def call(
        self, name: str, given: dict[str, Any], response: Any, shown: str = "", *, structured: bool = True, **more: Any
    ) -> "Transcript":
        """Add a call of a tool and its result; ``failed=True`` if it failed."""
        self.result(self.use(name, given), response if structured else None, shown, **more)
        return self

    def use(self, name: str, given: dict[str, Any]) -> str:
        """Add a call of a tool."""
        self.last_call = f"toolu_{self.session[:8]}_{self.agent_id or 'main'}_{self._count:06d}"
        self.assistant({"type": "tool_use", "id": self.last_call, "name": name, "input": given})
        return self.last_call

    def result(self, call: str, response: Any, shown: Any, *, failed: bool = False, **more: Any) -> None:
        """Add the result of a tool."""
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": shown}
        if failed:
            block["is_error"] = True
            response = f"Error: {shown}"
        if response is not None:
            more["toolUseResult"] = response
        self.line(type="user", message={"role": "user", "content": [block]}, **more)

    def assistant(self, *blocks: dict[str, Any]) -> None:
        """Add one line of the agent."""
        message = {
            "id": f"msg_{self._count:06d}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": list(blocks),
            "stop_reason": None,
            "usage": {"input_tokens": 3, "output_tokens": 9},
        }
        self.line(type="assistant", message=message, requestId=f"req_{self._count}")

    def line(self, **fields: Any) -> "Transcript":
        """Add one line of any type; arguments override the fields that every line has."""
        self._count += 1
        uuid = f"{_hex(self.session, self.agent_id)}-0000-4000-8000-{self._count:012x}"
        parent = self.lines[-1].get("uuid") if self.lines else None
        around: dict[str, Any] = {
            "parentUuid": parent,
            "isSidechain": self.agent_id is not None,
            "userType": "external",
            "cwd": str(self.cwd),
            "sessionId": self.session,
            "version": self.version,
            "gitBranch": self.branch,
            "uuid": uuid,
            "timestamp": self.at,
        }
        if self.agent_id is not None:
            around["agentId"] = self.agent_id
        self.lines.append({**around, **fields})
        return self.wait(1)

    def bare(self, **fields: Any) -> "Transcript":
        """Add a line without the usual fields, like summaries and links to pull requests."""
        self.lines.append(fields)
        return self

    def wait(self, seconds: float) -> "Transcript":
        """Advance the time."""
        self.at = format_timestamp(parse_timestamp(self.at) + int(seconds * _SECOND))
        return self

    def named(self, path: str) -> str:
        """Return a path of the work tree as the agent writes it."""
        return path if path.startswith("/") else f"{self.cwd}/{path}"

    def text(self) -> str:
        """Return the file's text, without subagents."""
        return "".join(f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n" for line in self.lines)

    def put(self, folder: Path) -> Path:
        """Write the session and its subagents below ``folder`` as Claude Code lays them out."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self.session}.jsonl"
        file.write_text(self.text(), encoding="utf-8")
        for agent in self.subagents:
            below = folder / self.session / "subagents"
            below.mkdir(parents=True, exist_ok=True)
            (below / f"agent-{agent.agent_id}.jsonl").write_text(agent.text(), encoding="utf-8")
        return file


def a_transcript(session: str, cwd: Path | str, **fields: Any) -> Transcript:
    """Return an empty transcript of ``session``, whose agent works in ``cwd``."""
    return Transcript(session, cwd, **fields)


def project_name(folder: Path | str) -> str:
    """Return the folder's name below ``projects``: all characters but letters and digits become dashes."""
    return "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in str(folder))


def patch(before: str, after: str) -> list[dict[str, Any]]:
    """Return a ``structuredPatch``: hunks with three lines of context."""
    old, new = before.split("\n"), after.split("\n")
    hunks = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        lines = []
        for tag, i, j, k, m in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[i:j]]
            else:
                lines += [f"-{line}" for line in old[i:j]] + [f"+{line}" for line in new[k:m]]
        spans = {"oldStart": first[1] + 1, "oldLines": last[2] - first[1]}
        hunks.append({**spans, "newStart": first[3] + 1, "newLines": last[4] - first[3], "lines": lines})
    return hunks


def many_transcripts(count: int, size: int, cwd: Path | str, seed: int = 1) -> Iterator[Transcript]:
    """Return ``count`` sessions of about ``size`` bytes: prompts, reads, edits, commands, noise and a subagent."""
    chance = random.Random(seed)
    for number in range(count):
        yield _a_long_session(f"{number:08x}-1111-4222-8333-{seed:012x}", cwd, size, chance)


def _a_long_session(session: str, cwd: Path | str, size: int, chance: random.Random) -> Transcript:
    made = a_transcript(session, cwd)
    files = {f"src/part_{n}/module_{n}.py": _code(chance, chance.randint(40, 400)) for n in range(6)}
    written, path = 0, next(iter(files))
    made.prompt("please make it faster")
    while written < size:
        seen = len(made.lines)
        path = chance.choice(list(files))
        kind = chance.random()
        if kind < 0.35:
            old = chance.choice(files[path].split("\n")[:-1])
            new = _code(chance, chance.randint(1, 12)).rstrip("\n")
            made.edit(path, files[path], old, new)
            files[path] = files[path].replace(old, new, 1)
        elif kind < 0.6:
            made.read(path, files[path])
        elif kind < 0.9:
            made.bash("python -m pytest -q", _code(chance, chance.randint(5, 200)))
            made.line(type="progress", data={"type": "bash_progress", "output": _code(chance, 20)}, toolUseID="x")
        elif kind < 0.93:
            made.write(path, files[path], _code(chance, chance.randint(40, 400)))
            files[path] = made.lines[-1]["toolUseResult"]["content"]
        else:
            made.says(_code(chance, 6))
        written += sum(len(json.dumps(line)) for line in made.lines[seen:])
    agent = made.subagent(f"a{session[:7]}", f"look at {session}")
    agent.read(path, files[path]).edit(path, files[path], files[path][:20], "# checked\n", structured=False)
    made.progress_of(agent).subagent_done(agent)
    return made


_WORDS = "load keep value record state line edit origin commit path merge split carry blame store reader event".split()


def _code(chance: random.Random, lines: int) -> str:
    return "".join(
        f"{'    ' * chance.randint(0, 3)}{chance.choice(_WORDS)}_{chance.choice(_WORDS)} ="
        f" {chance.choice(_WORDS)}({chance.choice(_WORDS)}, {chance.randint(0, 999)})\n"
        for _ in range(lines)
    )


def _hex(session: str, agent_id: str | None) -> str:
    whole = f"{session}/{agent_id or ''}"
    return f"{sum(ord(sign) * 31**place for place, sign in enumerate(whole)) % 2**32:08x}"
