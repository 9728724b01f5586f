"""opencode: the same calls as plugin events and as stored sessions, in each of its formats.

Shapes: 0.9.0 of September 2025 (an edit is a diff; JSON files), 1.0.125 of November 2025 (the whole file before and
after; JSON files), 1.18.18 of August 2026 (a diff again; a database), 2.0.26 of October 2026 (other names of tools and
of what they are given; other tables in the same database), all read from its sources, the last from databases too.
"""

import difflib
import json
import os
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODEL = "claude-sonnet-4-5"
PROVIDER = "anthropic"
SESSION = "ses_6f1c2d3e4ffeAbCdEfGhIjKlMn"
OLD, MIDDLE, NEW, NEWEST = "0.9.0", "1.0.125", "1.18.18", "2.0.26"
START_MS = 1_785_000_000_000


@dataclass
class Opencode:
    """A session in progress: ``steps`` are the plugin's events, ``messages`` the stored messages."""

    root: Path | str
    session: str = SESSION
    version: str = NEW
    model: str = MODEL
    parent: "Opencode | None" = None
    ms: int = START_MS
    steps: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    children: list["Opencode"] = field(default_factory=list)
    task_call: str | None = None
    began: int = 0
    last_call: str = ""
    _count: int = 0

    def __post_init__(self) -> None:
        """Start the session."""
        self.began = self.ms
        self.event("session.created", info=self.info())

    # --- messages ----------------------------------------------------------------------------------------------------

    def prompt(self, text: str, *more: dict[str, Any], told: bool = True) -> "Opencode":
        """Type a prompt; ``more`` are parts that the program adds."""
        info = self.message("user", agent="build", model={"providerID": PROVIDER, "modelID": self.model})
        parts = [self.part(type="text", text=text), *(self.part(**part) for part in more)]
        if told:
            given = {"sessionID": self.session, "messageID": info["id"], "agent": "build", "model": info["model"]}
            self.step("chat.message", given, {"message": info, "parts": parts})
        self.answer()
        return self

    def answer(self, **more: Any) -> "Opencode":
        """Start a message of the agent, for the calls that follow."""
        asked = self.messages[-1]["info"]["id"] if self.messages else None
        about = {"modelID": self.model, "providerID": PROVIDER, "mode": "build", "agent": "build", "parentID": asked}
        paths = {"cwd": str(self.root), "root": str(self.root)}
        info = self.message("assistant", **about, path=paths, cost=0, tokens={"input": 1, "output": 1}, **more)
        self.part(type="step-start")
        self.part(type="reasoning", text="thinking of it", time={"start": self.ms})
        self.event("message.updated", info=info)
        return self

    # --- actions -----------------------------------------------------------------------------------------------------

    def edit(self, path: str, before: str, old: str, new: str, **more: Any) -> "Opencode":
        """Replace a piece; ``after`` is the file after a formatter, if one ran."""
        every = more.pop("every", False)
        after = more.pop("after", None) or before.replace(old, new, -1 if every else 1)
        given: dict[str, Any] = {self.path_key: self.named(path), "oldString": old, "newString": new}
        if every:
            given["replaceAll"] = True
        told = {**self.told_edit(path, before, after), "diagnostics": {"x.py": [{"message": "long"}]}}
        return self.call("edit", given, "Edit applied successfully.", told, write={path: after}, **more)

    def multiedit(self, path: str, before: str, *pairs: tuple[str, str]) -> "Opencode":
        """Replace several pieces of one file."""
        results, text = [], before
        for old, new in pairs:
            after = text.replace(old, new, 1)
            results.append(self.told_edit(path, text, after))
            text = after
        edits = [{"oldString": old, "newString": new} for old, new in pairs]
        given = {"filePath": self.named(path), "edits": edits}
        return self.call("multiedit", given, "", {"results": results}, write={path: text})

    def write(self, path: str, content: str, *, exists: bool = False, **more: Any) -> "Opencode":
        """Add a write of a file."""
        told = {"diagnostics": {}, "filepath": self.named(path), "exists": exists}
        given = {self.path_key: self.named(path), "content": content}
        words = "Wrote file successfully."
        if self.version == NEWEST:
            told, words = {"truncated": False}, f"{'Wrote' if exists else 'Created'} file successfully: {path}"
        return self.call("write", given, words, told, write={path: content}, **more)

    def patch(self, text: str, files: list[dict[str, Any]], write: dict[str, str | None]) -> "Opencode":
        """Apply a patch; ``files`` has path, type, and text before and after of each."""
        told = [self.told_file(**file) for file in files]
        metadata: dict[str, Any] = {"diff": "all of it", "files": told, "diagnostics": {}}
        if self.version == OLD:
            metadata = {"changed": [self.named(file["path"]) for file in files], "additions": 1, "removals": 1}
        if self.version == NEWEST:
            metadata = {"files": told}
        tool = "patch" if self.version in (OLD, NEWEST) else "apply_patch"
        return self.call(tool, {"patchText": text}, "Success.", metadata, write=write)

    def shell(self, command: str, printed: str = "", *, code: int | None = 0, **more: Any) -> "Opencode":
        """Run a command; without a code it was stopped."""
        given = {"command": command, "description": "d", **more.pop("given", {})}
        words = printed or "(no output)"
        if code is None:
            words += "\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>"
        told = {"output": printed, "exit": code, "description": "d", "truncated": False}
        if self.version == NEWEST:
            told = {"status": "completed", "truncated": False}
            told |= {"timeout": True} if code is None else {"exit": code}
            words = printed + (f"\nCommand exited with code {code}." if code or not printed else "")
        return self.call("shell" if self.version == NEWEST else "bash", given, words, told, **more)

    def read(self, path: str, content: str, **given: Any) -> "Opencode":
        """Read a file, the whole of it without an offset or a limit."""
        lines = content.splitlines()
        first, limit = given.get("offset", 1), given.get("limit", 2000)
        shown = lines[first - 1 : first - 1 + limit]
        more = first - 1 + limit < len(lines)
        told: dict[str, Any] = {"preview": "\n".join(shown[:20])}
        if self.version == OLD:
            numbered = [f"{n:05}| {line}" for n, line in enumerate(shown, first)]
            words = "<file>\n" + "\n".join(numbered)
            words += f"\n\n(File has more lines. Use 'offset' parameter to read beyond line {limit})" if more else ""
            words += "\n</file>"
        elif self.version == NEWEST:
            numbered = [f"{n}: {line}" for n, line in enumerate(shown, first)]
            words = f"Read file {path}, lines {first}-{first + len(shown) - 1}\n" + "\n".join(numbered)
            words += f"\n[Output truncated. Continue reading with offset: {first + limit}]" if more else ""
            told = {"truncated": more}
        else:
            numbered = [f"{n}: {line}" for n, line in enumerate(shown, first)]
            words = f"<path>{self.named(path)}</path>\n<type>file</type>\n<content>\n" + "\n".join(numbered)
            tail = f"Showing lines {first}-{first + len(shown) - 1} of {len(lines)}. Use offset=9 to continue."
            words += f"\n\n({tail if more else f'End of file - total {len(lines)} lines'})\n</content>"
            told["truncated"] = more
        return self.call("read", {self.path_key: self.named(path), **given}, words, told)

    def task(self, prompt: str, session: str, **more: Any) -> "Opencode":
        """Start a subagent; the returned session records its work until ``task_ends``."""
        given = {"description": "d", "prompt": prompt, "subagent_type": "general"}
        if self.version == NEWEST:
            self.call("subagent", given, None, {"sessionID": session, "status": "running"}, **more)
        else:
            self.call("task", given, None, {"sessionId": session}, **more)
        child = Opencode(self.root, session, self.version, more.get("model", self.model), parent=self, ms=self.ms)
        child.task_call = self.last_call
        self.children.append(child)
        self.steps += child.steps
        child.steps = self.steps
        return child.prompt(prompt)

    def task_ends(self, child: "Opencode", *, named: bool = True) -> "Opencode":
        """End the subagent; older versions name its session only in the output."""
        self.ms = child.ms
        tools = [part for message in child.messages for part in message["parts"] if part["type"] == "tool"]
        told: dict[str, Any] = {"summary": tools} if self.version == OLD else {"sessionId": child.session}
        if self.version == NEWEST:
            told = {"sessionID": child.session, "status": "completed"}
        state = next(part for part in self.parts("tool") if part["callID"] == child.task_call)["state"]
        state |= {"status": "completed", "output": "done", "title": "d", "metadata": told if named else {}}
        state["time"]["end"] = self.tick()
        given = {"tool": "task", "sessionID": self.session, "callID": child.task_call}
        self.step("tool.execute.after", given, {key: state[key] for key in ("title", "output", "metadata")})
        return self

    def call(self, tool: str, given: dict[str, Any], output: str | None, told: Any, **more: Any) -> "Opencode":
        """Add a call: one that succeeded, failed (``error``), or is running (no output)."""
        self._count += 1
        call = more.get("call") or f"toolu_{self.session[-4:]}{self._count:02}"
        self.last_call = call
        start = self.tick()
        about = {"tool": tool, "sessionID": self.session, "callID": call}
        self.step("tool.execute.before", about, {"args": given})
        error = more.get("error")
        if error is None and output is not None:
            for path, text in more.get("write", {}).items():
                self.steps.append({"write": str(Path(self.root) / path), "text": text})
        end = self.tick()
        state: dict[str, Any] = {"status": "running", "input": given, "time": {"start": start}}
        if error is not None:
            state |= {"status": "error", "error": error, "time": {"start": start, "end": end}}
        elif output is not None:
            state |= {"status": "completed", "output": output, "title": "t", "metadata": told}
            state["time"] = {"start": start, "end": end}
        else:
            state["metadata"] = told
        part = self.part(type="tool", callID=call, tool=tool, state=state)
        if error is not None or output is None:
            self.event("message.part.updated", part=part)
        if output is not None and error is None:
            later = {"args": given} if self.version == NEW else {}
            answer = {"title": "t", "output": output, "metadata": told}
            if "content" in more:
                answer = {"content": more["content"]}
            self.step("tool.execute.after", {**about, **later}, answer)
        return self

    # --- pieces -------------------------------------------------------------------------------------------------------

    @property
    def path_key(self) -> str:
        """Return the parameter name of a tool's file."""
        return "path" if self.version == NEWEST else "filePath"

    def named(self, path: str) -> str:
        """Return a path as opencode has it: absolute."""
        return os.path.join(self.root, path)

    def tick(self) -> int:
        """Advance the time by a second."""
        self.ms += 1000
        return self.ms

    def info(self) -> dict[str, Any]:
        """Return the stored header of the session."""
        about: dict[str, Any] = {"id": self.session, "version": self.version, "projectID": "p1", "title": "a title"}
        if self.parent is not None:
            about["parentID"] = self.parent.session
        return {**about, "directory": str(self.root), "time": {"created": self.began, "updated": self.ms}}

    def message(self, role: str, **more: Any) -> dict[str, Any]:
        """Add a message, for the parts that follow."""
        self._count += 1
        named = f"msg_{self.session[-6:]}{self._count:04}"
        info = {"id": named, "sessionID": self.session, "role": role, "time": {"created": self.tick()}, **more}
        self.messages.append({"info": info, "parts": []})
        return info

    def part(self, **said: Any) -> dict[str, Any]:
        """Add a part to the current message."""
        self._count += 1
        message = self.messages[-1]
        about = {"id": f"prt_{self.session[-6:]}{self._count:04}", "sessionID": self.session}
        message["parts"].append({**about, "messageID": message["info"]["id"], **said})
        part: dict[str, Any] = message["parts"][-1]
        return part

    def parts(self, kind: str) -> list[dict[str, Any]]:
        """Return all parts of a kind."""
        return [part for message in self.messages for part in message["parts"] if part["type"] == kind]

    def told_edit(self, path: str, before: str, after: str) -> dict[str, Any]:
        """Return the metadata of an edit in this version."""
        diff = trimmed(unified(self.named(path), before, after))
        if self.version == OLD:
            return {"diff": diff}
        if self.version == NEWEST:
            lines = {"patch": unified(path, before, after), "additions": 1, "deletions": 1}
            return {"files": [{"file": path, "status": "modified", **lines}]}
        counts = {"file": self.named(path), "additions": 1, "deletions": 1}
        whole = {"before": before, "after": after} if self.version == MIDDLE else {"patch": diff}
        return {"diff": diff, "filediff": {**counts, **whole}}

    def told_file(self, path: str, type: str, before: str = "", after: str = "", moved: str = "") -> dict[str, Any]:
        """Return the metadata of one file of a patch in this version."""
        told: dict[str, Any] = {"filePath": self.named(path), "relativePath": moved or path, "type": type}
        if moved:
            told["movePath"] = self.named(moved)
        diff = trimmed(unified(self.named(path), before, after))
        if self.version == NEWEST:
            status = {"add": "added", "delete": "deleted"}.get(type, "modified")
            return {"file": moved or path, "patch": diff, "status": status, "additions": 1, "deletions": 1}
        whole = {"diff": diff, "before": before, "after": after} if self.version == MIDDLE else {"patch": diff}
        return {**told, **whole, "additions": 1, "deletions": 1}

    def step(self, hook: str, given: dict[str, Any], output: dict[str, Any]) -> None:
        """Call a hook of the plugin."""
        self.steps.append({"hook": hook, "input": given, "output": json.loads(json.dumps(output))})

    def event(self, kind: str, **properties: Any) -> None:
        """Send an event to plugins."""
        said = {"type": kind, "properties": json.loads(json.dumps(properties))}
        self.steps.append({"hook": "event", "input": {"event": said}})

    @property
    def all(self) -> list["Opencode"]:
        """Yield this session and those below it."""
        return [self, *(one for child in self.children for one in child.all)]

    # --- storage -----------------------------------------------------------------------------------------------------

    def put_files(self, home: Path) -> list[Path]:
        """Store the sessions as JSON files, as until February 2026; return the sessions' own files."""
        made = []
        for one in self.all:
            made.append(_json(home / "storage" / "session" / "p1" / f"{one.session}.json", one.info()))
            for message in one.messages:
                info = message["info"]
                _json(home / "storage" / "message" / one.session / f"{info['id']}.json", info)
                for part in message["parts"]:
                    _json(home / "storage" / "part" / info["id"] / f"{part['id']}.json", part)
        return made

    def put_old_files(self, home: Path) -> list[Path]:
        """Store the sessions as JSON files below a project's folder, as in summer 2025."""
        folder, made = home / "project" / "a-project" / "storage" / "session", []
        for one in self.all:
            info = {key: value for key, value in one.info().items() if key not in ("directory", "projectID")}
            made.append(_json(folder / "info" / f"{one.session}.json", info))
            for message in one.messages:
                named = message["info"]["id"]
                _json(folder / "message" / one.session / f"{named}.json", message["info"])
                for part in message["parts"]:
                    _json(folder / "part" / one.session / named / f"{part['id']}.json", part)
        return made

    def put_database(self, home: Path, name: str = "opencode.db") -> Path:
        """Store the sessions in the database, as since February 2026."""
        home.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(home / name)
        connection.executescript(TABLES)
        for one in self.all:
            info = one.info()
            times = (info["time"]["created"], info["time"]["updated"])
            row = (one.session, "p1", info.get("parentID"), "slug", str(one.root), "a title", one.version, *times)
            connection.execute(f"INSERT OR REPLACE INTO session VALUES ({', '.join('?' * len(row))})", row)
            for message in one.messages:
                data = dict(message["info"])
                named, session, at = data.pop("id"), data.pop("sessionID"), data["time"]["created"]
                said = (named, session, at, at, json.dumps(data))
                connection.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?)", said)
                for part in message["parts"]:
                    data = {key: part[key] for key in part if key not in ("id", "sessionID", "messageID")}
                    kept = (part["id"], named, session, at, at, json.dumps(data))
                    connection.execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?)", kept)
        connection.commit()
        connection.close()
        return home / name

    def put_newest(self, home: Path, name: str = "opencode.db") -> Path:
        """Store the sessions as since 2.0, beside those of an older version in the same database."""
        home.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(home / name)
        connection.executescript(TABLES + NEWEST_TABLES)
        for one in self.all:
            info = one.info()
            row = (one.session, "p1", info.get("parentID"), str(one.root), one.version, one.began, one.ms)
            connection.execute("INSERT OR REPLACE INTO session_v2 VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for seq, message in enumerate(one.messages):
                said = (message["info"]["id"], one.session, *_newest(message))
                kept = (*said[:3], seq, one.began, one.ms, said[3])
                connection.execute("INSERT OR REPLACE INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", kept)
        connection.commit()
        connection.close()
        return home / name

    def exported(self, file: Path) -> Path:
        """Return the output of ``opencode export`` for this session."""
        return _json(file, {"info": self.info(), "messages": self.messages})


TABLES = """
CREATE TABLE IF NOT EXISTS project (id text PRIMARY KEY, worktree text NOT NULL, vcs text);
CREATE TABLE IF NOT EXISTS session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
  directory text NOT NULL, title text NOT NULL, version text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL);
CREATE TABLE IF NOT EXISTS message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE IF NOT EXISTS part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX IF NOT EXISTS part_message_id_id_idx ON part (message_id, id);
"""
"""The tables of sessions, as in ``packages/core/src/session/sql.ts``, without unused columns."""
NEWEST_TABLES = """
CREATE TABLE IF NOT EXISTS session_v2 (id text PRIMARY KEY, project_id text NOT NULL, parent_id text,
  directory text NOT NULL, version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE IF NOT EXISTS session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,
  seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS session_message_session_seq_idx ON session_message (session_id, seq);
"""


def _newest(message: dict[str, Any]) -> tuple[str, str]:
    """Return a message's type and content, as version 2.0 stores it."""
    info, parts = message["info"], message["parts"]
    if info["role"] == "user":
        texts = [part["text"] for part in parts if part["type"] == "text" and not part.get("synthetic")]
        return "user", json.dumps({"time": info["time"], "text": "\n".join(texts), "files": []})
    content = [_newest_call(part) if part["type"] == "tool" else part for part in parts if part["type"] != "step-start"]
    model = {"id": info["modelID"], "providerID": info["providerID"], "variant": "default"}
    return "assistant", json.dumps({"time": info["time"], "agent": "build", "model": model, "content": content})


def _newest_call(part: dict[str, Any]) -> dict[str, Any]:
    state, time = part["state"], part["state"]["time"]
    told: dict[str, Any] = {"status": state["status"], "input": state["input"], "metadata": state.get("metadata", {})}
    if state["status"] == "completed":
        told["content"] = [{"type": "text", "text": state["output"]}]
    elif state["status"] == "error":
        told["error"] = {"type": "tool.execution", "message": state["error"]}
    times = {
        "created": time["start"] - 10,
        "ran": time["start"],
        **({"completed": time["end"]} if "end" in time else {}),
    }
    return {"type": "tool", "id": part["callID"], "name": part["tool"], "state": told, "time": times}


def _json(file: Path, value: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return file


def unified(name: str, before: str, after: str) -> str:
    """Return a diff in the form of the package that opencode uses."""
    old, new = before.splitlines(True), after.splitlines(True)
    lines = list(difflib.unified_diff(old, new, f"{name}\t", f"{name}\t", n=4))
    return f"Index: {name}\n{'=' * 67}\n" + "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def trimmed(diff: str) -> str:
    """Remove the common indentation of a diff's lines, like ``trimDiff``."""
    lines = diff.split("\n")
    content = [line for line in lines if line[:1] in ("+", "-", " ") and not line.startswith(("---", "+++"))]
    least = min((len(line[1:]) - len(line[1:].lstrip()) for line in content if line[1:].strip()), default=0)
    shown = {line: f"{line[0]}{line[1 + least :]}" for line in content}
    return "\n".join(shown.get(line, line) for line in lines)
