"""The published ``agent-trace-cli``: installed separately, fed by its own hooks, queried by its own command."""

import json
import os
import subprocess
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.attribution.answers import Question, spread_out
from bench.attribution.claude import Event
from bench.attribution.score import Said
from bench.attribution.telling import Told, ran
from bench.bars import BenchError

PACKAGE = "agent-trace-cli"
PROGRAM = "agent-trace"
HEARD = frozenset({"SessionStart", "PostToolUse"})
"""The events for which it installs a hook of Claude Code's, of those that we send."""


def cache_folder() -> Path:
    """Return the cache folder of the bench."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "custody-bench"


def installed(folder: Path) -> Path:
    """Install the program in an environment under ``folder``; the first use needs the package index."""
    home = folder / PACKAGE
    program = home / "bin" / PROGRAM
    if not program.exists():
        venv.create(home, with_pip=True, clear=True)
        words = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", PACKAGE]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchError(f"'{PACKAGE}' cannot be installed: {done.stderr.strip()[-200:]}")
    return program


@dataclass
class PeerHooks:
    """Runs the other tool's own hook on the events that it handles; it also installs its own git hooks."""

    program: Path
    environment: dict[str, str] = field(default_factory=dict)

    def begin(self, repository: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Set the repository up as its user does."""
        path = f"{self.program.parent}{os.pathsep}{environment['PATH']}"
        self.environment = {**environment, "PATH": path, "CLAUDE_PROJECT_DIR": str(repository)}
        ran([str(self.program), "init"], repository, self.environment)
        return {"PATH": path}

    def tell(self, event: Event, told: Told) -> None:
        """Let its hook record the event."""
        if event["hook_event_name"] in HEARD:
            ran([str(self.program), "record"], Path(event["cwd"]), self.environment, json.dumps(event).encode())

    def end(self) -> None:
        """Do nothing: its hooks recorded everything."""

    def real_time(self) -> bool:
        """Return True: it reads the clock itself."""
        return True


@dataclass(frozen=True, slots=True)
class Peer:
    """The other tool's own blame."""

    program: Path
    name: str = PROGRAM

    def answer(self, question: Question) -> Sequence[Said]:
        """Return its blame; it reads only the work tree, so a committed file is put there first."""
        world, path = question.world, question.world.path(question.path)
        was = path.read_bytes() if path.exists() else None
        wanted = world.commits[world.head()][question.path].text if question.committed else None
        if wanted is not None:
            path.write_bytes(wanted.encode())
        try:
            said = ran([str(self.program), "blame", question.path, "--json"], world.folder, world.environment)
        finally:
            if wanted is not None and was is not None:
                path.write_bytes(was)
            elif wanted is not None:
                path.unlink()
        sessions = _sessions(Path(world.environment["HOME"]))
        found = json.loads(said)["attributions"] if said.strip() else []
        return spread_out((_stretch(one, sessions) for one in found), len(question.lines))


def _stretch(one: Mapping[str, Any], sessions: Mapping[str, str]) -> tuple[int, int, Said]:
    kind = str(one.get("kind"))
    session = sessions.get(str(one.get("trace_id"))) if kind == "AI" else None
    return int(one["start_line"]), int(one["end_line"]), Said(session, None, kind)


def _sessions(home: Path) -> dict[str, str]:
    """Return the sessions by the trace ids in its answers."""
    found = {}
    for file in (home / ".agent-trace").glob("projects/*/traces.jsonl"):
        for text in file.read_text(encoding="utf-8").splitlines():
            trace = json.loads(text)
            found[str(trace["id"])] = str(trace.get("metadata", {}).get("session_id"))
    return found
