"""The same work reported by other agents in their own formats: hook payloads, and sessions on disk.

A story is played by one agent with Claude Code's events (``claude.py``). A speaker turns each call into the events of
its own agent, with the builders of its reader's tests: some before the file changes, the rest after. What an agent does
not report (the text before an edit, the model) is missing here too.
"""

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from bench.attribution.claude import Event
from bench.attribution.telling import CUSTODY, Told, json_of, ran, stamp
from tests.builders.codex import Rollout, a_codex_event, a_codex_patch, added, patch_text, unified, updated
from tests.builders.copilot import Copilot
from tests.builders.cursor import Cursor
from tests.builders.gemini import Gemini
from tests.builders.opencode import Opencode
from tests.builders.opencode_host import said_by_plugin

BEFORE = frozenset(("preToolUse", "beforeShellExecution", "PreToolUse", "BeforeTool", "tool.execute.before"))
"""Events that an agent's hooks get before the action."""


class Builder(Protocol):
    """The interface of the session builders of all agents."""

    def prompt(self, text: str, /) -> object:
        """Add a prompt by a person."""

    def shell(self, command: str, /) -> object:
        """Add a shell command."""


S = TypeVar("S", bound=Builder)


@dataclass
class Speaker(Generic[S]):
    """One agent in one session; ``session`` is its builder."""

    session: S

    @property
    def early(self) -> bool:
        """Return whether hooks report a change before the file is written."""
        return False

    def prompt(self, text: str) -> None:
        """Add a prompt by a person."""
        self.session.prompt(text)

    @abstractmethod
    def change(self, path: str, before: str | None, after: str, piece: tuple[str, str] | None) -> None:
        """Add a change of a file; ``piece`` is the old and new text if the agent replaced one piece."""

    def shell(self, command: str) -> None:
        """Add a shell command."""
        self.session.shell(command)

    @abstractmethod
    def hooks(self) -> list[Event]:
        """Return all hook events so far."""

    @abstractmethod
    def put(self, home: Path) -> None:
        """Store the session where the agent stores it."""

    def at(self, told: Told) -> None:
        """Set the time."""
        self.session.at = stamp(told.at)  # type: ignore[attr-defined]  # most builders have a clock of this name


W = TypeVar("W", Cursor, Gemini)


class OfWholeFiles(Speaker[W]):
    """An agent that replaces a piece of a file that it has read, or writes the whole file."""

    def change(self, path: str, before: str | None, after: str, piece: tuple[str, str] | None) -> None:
        if before is not None and piece is not None:
            self.session.replace(path, before, *piece)
        else:
            self.session.write(path, before, after)

    def hooks(self) -> list[Event]:
        return self.session.hooks


class OfGemini(OfWholeFiles[Gemini]):
    """Gemini CLI."""

    def put(self, home: Path) -> None:
        self.session.put(home / ".gemini" / "tmp")


class OfCursor(OfWholeFiles[Cursor]):
    """Cursor; on disk it has a database with whole files."""

    def put(self, home: Path) -> None:
        self.session.put_database(home)


class OfCopilot(Speaker[Copilot]):
    """Copilot, in VS Code or in its CLI; it writes whole files only if they are new."""

    shapes: Mapping[str, str] = {"vscode": "log", "cli": "stream"}

    @property
    def early(self) -> bool:
        """Return True: VS Code reports an edit before it writes the file."""
        return self.session.surface == "vscode"

    def change(self, path: str, before: str | None, after: str, piece: tuple[str, str] | None) -> None:
        if before is None:
            self.session.create(path, after)
        else:
            self.session.replace(path, *(piece or (before, after)))

    def hooks(self) -> list[Event]:
        return self.session.hooks

    def put(self, home: Path) -> None:
        self.session.put(home, self.shapes[self.session.surface])


class OfOpencode(Speaker[Opencode]):
    """opencode; its plugin forwards its events."""

    def at(self, told: Told) -> None:
        self.session.ms = int(told.at * 1000)

    def change(self, path: str, before: str | None, after: str, piece: tuple[str, str] | None) -> None:
        if before is not None and piece is not None:
            self.session.edit(path, before, *piece, after=after)
        else:
            self.session.write(path, after, exists=before is not None)

    def hooks(self) -> list[Event]:
        told: list[Event] = []
        for part in self.session.parts("tool"):
            state = part["state"]
            about = {"tool_name": part["tool"], "tool_use_id": part["callID"], "tool_input": state["input"]}
            answer = {key: state[key] for key in ("title", "output", "metadata") if key in state}
            told += [self._said("tool.execute.before", **about)]
            told += [self._said("tool.execute.after", **about, tool_response=answer)]
        return told

    def _said(self, event: str, **fields: Any) -> Event:
        model = {"providerID": "anthropic", "id": self.session.model}
        return said_by_plugin(event, self.session.root, session_id=self.session.session, model=model, **fields)

    def put(self, home: Path) -> None:
        self.session.put_database(home / ".local" / "share" / "opencode")


class OfCodex(Speaker[Rollout]):
    """Codex CLI: every change is a patch."""

    def __init__(self, session: Rollout) -> None:
        super().__init__(session)
        self.told: list[Event] = []
        session.begun()

    def prompt(self, text: str) -> None:
        self.session.prompt(text)
        self._tell("UserPromptSubmit", prompt=text)

    def change(self, path: str, before: str | None, after: str, piece: tuple[str, str] | None) -> None:
        change: dict[str, Any] = {"type": "add", "content": after}
        text = added(path, after)
        if before is not None:
            change = {"type": "update", "unified_diff": unified(before, after), "move_path": None}
            text = updated(path, before, after)
        patch = patch_text(text)
        self.session.patch(patch, {f"{self.session.cwd}/{path}": change})
        for event in ("PreToolUse", "PostToolUse"):
            said = a_codex_patch(event, Path(self.session.cwd), patch, self.session.last_call, model=self.session.model)
            self.told.append({**said, "session_id": self.session.thread})

    def shell(self, command: str) -> None:
        self.session.shell(command)
        given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": self.session.last_call}
        self._tell("PreToolUse", **given)
        self._tell("PostToolUse", **given, tool_response="")

    def _tell(self, event: str, **fields: Any) -> None:
        said = a_codex_event(event, Path(self.session.cwd), model=self.session.model, **fields)
        self.told.append({**said, "session_id": self.session.thread})

    def hooks(self) -> list[Event]:
        return self.told

    def put(self, home: Path) -> None:
        self.session.put(home / ".codex" / "sessions")


Make = Callable[[Path, str, str], Speaker[Any]]
"""Makes a speaker from its folder, session and model."""

SPEAKERS: Mapping[str, tuple[str, Make]] = {
    "codex": ("codex", lambda root, session, model: OfCodex(Rollout(root, session, model=model))),
    "copilot-cli": ("copilot", lambda root, session, model: OfCopilot(Copilot(root, "cli", session, model=model))),
    "copilot-vscode": (
        "copilot",
        lambda root, session, model: OfCopilot(Copilot(root, "vscode", session, model=model)),
    ),
    "cursor": ("cursor", lambda root, session, model: OfCursor(Cursor(root, session, model=model))),
    "gemini": ("gemini", lambda root, session, model: OfGemini(Gemini(root, session, model=model))),
    "opencode": ("opencode", lambda root, session, model: OfOpencode(Opencode(root, session, model=model))),
}
"""By row name: the agent's name in custody, and how its sessions are reported."""


@dataclass
class Speaking:
    """Converts Claude Code's events to another agent's; a teller records them."""

    agent: str
    make: Make
    speakers: dict[str, Speaker[Any]] = field(default_factory=dict)
    _told: dict[str, int] = field(default_factory=dict)

    def hear(self, event: Event, told: Told) -> list[Event]:
        """Return this agent's hook events for an event."""
        root, name = Path(event["cwd"]), str(event["session_id"])
        if name not in self.speakers:
            self.speakers[name] = self.make(root, name, told.model)
            self.speakers[name].at(told)
        speaker = self.speakers[name]
        match event["hook_event_name"]:
            case "UserPromptSubmit":
                speaker.at(told)
                speaker.prompt(event["prompt"])
                return self._new(name, speaker)
            case "PreToolUse":
                speaker.at(told)
                _act(speaker, root, event)
                return self._new(name, speaker, before=event["tool_name"] == "Bash" or not speaker.early)
            case "PostToolUse":
                return self._new(name, speaker)
            case _:
                return []

    def _new(self, name: str, speaker: Speaker[Any], *, before: bool = False) -> list[Event]:
        """Return the new hook events; for a running call only those before it."""
        events = speaker.hooks()
        first = self._told.get(name, 0)
        last = len(events)
        if before:
            last = next((n for n in range(first, last) if events[n]["hook_event_name"] not in BEFORE), last)
        self._told[name] = last
        return events[first:last]


def _act(speaker: Speaker[Any], root: Path, event: Event) -> None:
    given = event["tool_input"]
    if event["tool_name"] == "Bash":
        speaker.shell(given["command"])
        return
    file = Path(given["file_path"])
    path = str(file.relative_to(root)) if file.is_relative_to(root) else str(file)
    before = file.read_bytes().decode(errors="replace") if file.exists() else None
    if event["tool_name"] == "Write":
        speaker.change(path, before, given["content"], None)
        return
    old, new, everywhere = given["old_string"], given["new_string"], given.get("replace_all", False)
    whole = before or ""
    if old not in whole:
        whole = whole.replace("\r\n", "\n")  # as an agent sees it that uses LF line ends only
    after = whole.replace(old, new, -1 if everywhere else 1) if old else new
    once = bool(old) and whole.count(old) == 1 and not everywhere
    speaker.change(path, None if before is None else whole, after, (old, new) if once else None)


@dataclass
class AgentHooks:
    """Runs the installed hook of another agent on the agent's events."""

    speaking: Speaking
    argv: list[str] = field(default_factory=list)
    environment: Mapping[str, str] = field(default_factory=dict)

    def begin(self, repository: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Set the repository up for this agent as a user does."""
        self.environment = environment
        ran([CUSTODY, "init", "--agent", self.speaking.agent, "--yes"], repository, environment)
        seen = json_of([CUSTODY, "doctor", "--json"], repository, environment)
        self.argv = seen["hook"]["agents"][self.speaking.agent]["command"]
        return {}

    def tell(self, event: Event, told: Told) -> None:
        """Run the hook on each event that this agent would send."""
        for said in self.speaking.hear(event, told):
            ran(self.argv, Path(event["cwd"]), self.environment, json.dumps(said).encode())

    def end(self) -> None:
        """Do nothing: queries read what the hook recorded."""

    def real_time(self) -> bool:
        """Return True: the hook reads the clock itself."""
        return True


@dataclass
class AgentSessions:
    """Stores another agent's sessions in its own format, and imports them at the end."""

    speaking: Speaking
    repository: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)

    def begin(self, repository: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Make only the repository, without a hook."""
        self.repository, self.environment = repository, environment
        return {}

    def tell(self, event: Event, told: Told) -> None:
        """Write the event to the session, and report it to no tool."""
        self.speaking.hear(event, told)

    def end(self) -> None:
        """Store the sessions and import them."""
        for speaker in self.speaking.speakers.values():
            speaker.put(Path(self.environment["HOME"]))
        ran([CUSTODY, "import", self.speaking.agent], self.repository, self.environment)

    def real_time(self) -> bool:
        """Return False: sessions carry their own times."""
        return False
