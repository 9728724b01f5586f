"""Where an agent's events go: to the installed hook, to a transcript on disk, or nowhere.

Each receiver gets the same events, in the shape of Claude Code's hooks.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from bench.attribution.claude import Event
from bench.bars import BenchError

CUSTODY = str(Path(sys.executable).parent / "custody")
NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]")
DAYS_BACK = 60
"""Longer than any story, so that no event is later than the query."""
TICK_S = 20.0


class Clock:
    """The clock of a story: the real time, or one that starts days ago and advances with every reading."""

    def __init__(self, *, real: bool) -> None:
        self._real = real
        self._ahead = 0.0
        self._told = time.time() - DAYS_BACK * 86_400

    def now(self) -> float:
        """Return the seconds since the epoch."""
        if self._real:
            return time.time() + self._ahead
        self._told += TICK_S
        return self._told + self._ahead

    def skip(self, days: float) -> None:
        """Let days pass; with the real clock only commits use the new time."""
        self._ahead += days * 86_400

    @property
    def skipped(self) -> bool:
        """Return whether days have passed."""
        return self._ahead > 0


@dataclass(frozen=True, slots=True)
class Told:
    """The details of an event that are in a transcript but not in a hook payload."""

    at: float
    model: str


class Teller(Protocol):
    """Receives all events of an agent."""

    def begin(self, repository: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Set up ``repository`` before its first event; return variables for the environment."""

    def tell(self, event: Event, told: Told) -> None:
        """Receive one event."""

    def end(self) -> None:
        """Make all events available to queries, after the last one."""

    def real_time(self) -> bool:
        """Return whether events get the time at which they are received."""


class Silent:
    """Reports nothing: only the truth is built."""

    def begin(self, repository: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Set up nothing."""
        return {}

    def tell(self, event: Event, told: Told) -> None:
        """Discard the event."""

    def end(self) -> None:
        """Do nothing."""

    def real_time(self) -> bool:
        """Return False: the clock does not matter."""
        return False


@dataclass
class Hooks:
    """Runs the installed hook once per event, as the agent would."""

    argv: list[str] = field(default_factory=list)
    repository: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)

    def begin(self, repository: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Set the repository up as a user does, and read the hook command of the agent."""
        self.repository, self.environment = repository, environment
        ran([CUSTODY, "init", "--agent", "claude-code", "--yes"], repository, environment)
        seen = json_of([CUSTODY, "doctor", "--json"], repository, environment)
        self.argv = seen["hook"]["command"]
        return {}

    def tell(self, event: Event, told: Told) -> None:
        """Run the hook on the event."""
        ran(self.argv, Path(event["cwd"]), self.environment, json.dumps(event).encode())

    def end(self) -> None:
        """Do nothing: queries read what the hook recorded."""

    def real_time(self) -> bool:
        """Return True: the hook reads the clock itself."""
        return True


@dataclass
class Transcripts:
    """Writes transcripts as Claude Code does, and imports them at the end."""

    folder: Path
    repository: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)
    _lines: dict[Path, list[Event]] = field(default_factory=dict)

    def begin(self, repository: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Make only the repository, without a hook."""
        self.repository, self.environment = repository, environment
        return {}

    def tell(self, event: Event, told: Told) -> None:
        """Add the transcript lines of the event."""
        cwd = str(event["cwd"])
        path = self.folder / NOT_ALPHANUMERIC.sub("-", cwd) / f"{event['session_id']}.jsonl"
        lines = self._lines.setdefault(path, [])
        message = transcript_message(event, told.model)
        if message is None:
            return
        lines.append(
            {
                "parentUuid": lines[-1]["uuid"] if lines else None,
                "isSidechain": False,
                "userType": "external",
                "cwd": cwd,
                "sessionId": event["session_id"],
                "version": "2.1.0",
                "gitBranch": "main",
                **message,
                "uuid": f"{event['session_id'][:24]}{len(lines):012x}",
                "timestamp": stamp(told.at),
            }
        )

    def end(self) -> None:
        """Write the transcripts and import them."""
        for path, lines in self._lines.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        self.folder.mkdir(parents=True, exist_ok=True)
        argv = [CUSTODY, "import", "claude-code", "--transcripts", str(self.folder)]
        ran(argv, self.repository, self.environment)

    def real_time(self) -> bool:
        """Return False: transcripts carry their own times."""
        return False


def transcript_message(event: Event, model: str) -> Event | None:
    """Return the event's part of a transcript line; None if it leaves no line."""
    match event["hook_event_name"]:
        case "UserPromptSubmit":
            return {"type": "user", "message": {"role": "user", "content": event["prompt"]}}
        case "PreToolUse":
            return {"type": "assistant", "message": _assistant(event, model)}
        case "PostToolUse":
            result = {"type": "tool_result", "tool_use_id": event["tool_use_id"], "content": "ok"}
            return {
                "type": "user",
                "message": {"role": "user", "content": [result]},
                "toolUseResult": event["tool_response"],
            }
        case _:
            return None


def _assistant(event: Event, model: str) -> Event:
    use = {"type": "tool_use", "id": event["tool_use_id"], "name": event["tool_name"], "input": event["tool_input"]}
    return {
        "id": f"msg_{event['tool_use_id']}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [use],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def stamp(at: float) -> str:
    """Format a time as transcripts do."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def json_of(argv: list[str], cwd: Path, environment: Mapping[str, str]) -> Any:
    """Run a program and parse its output as JSON."""
    return json.loads(ran(argv, cwd, environment))


def ran(argv: list[str], cwd: Path, environment: Mapping[str, str], given: bytes = b"") -> Any:
    """Run a program that must succeed, and return its output."""
    done = subprocess.run(argv, cwd=cwd, env=dict(environment), input=given, capture_output=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise BenchError(f"'{' '.join(argv[:4])}' ended with {done.returncode}: {said[-400:]}")
    return done.stdout
