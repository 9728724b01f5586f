"""Other tools in the stories of ``bench.attribution``: set up as users do, same events, queried by their own commands.

None of their code is here. Each is a program that somebody has installed; queries it cannot answer are skipped.
"""

import json
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.attribution.answers import Question
from bench.attribution.claude import Event
from bench.attribution.score import NOTHING, Said
from bench.attribution.telling import Told, ran, stamp, transcript_message
from bench.bars import BenchError

CHANGING = frozenset({"Edit", "Write", "MultiEdit", "Bash"})
WAITING = "agent-session"
TRAILER = "Agent-Session"
_HOOK = f"""#!/bin/sh
waiting="$(git rev-parse --git-dir)/{WAITING}"
test -s "$waiting" || exit 0
git interpret-trailers --in-place --trailer "Co-authored-by: Claude <noreply@anthropic.com>" \\
    --trailer "{TRAILER}: $(cat "$waiting")" "$1"
rm "$waiting"
"""
_PATIENT = """#!/bin/sh
PATH="{path}"
export PATH
git "$@"
status=$?
"{program}" await --timeout 20 >/dev/null 2>&1
exit $status
"""
"""Lets a background service finish after each command, so that a story does not overtake it."""
BEGINNINGS = {"SessionStart": "session-start", "PreToolUse": "user-prompt-submit"}
"""The events that Entire gets before a tool: every call is its own turn here."""
_CHECKPOINT = re.compile(r"^Entire-Checkpoint: (\w+)$", re.MULTILINE)


def a_hook(path: Path, text: str) -> None:
    """Write a program to ``path`` that git runs as a hook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def blamed(question: Question) -> list[str]:
    """Return the commit of every line by git blame, following moves and ignoring white space."""
    words = ["git", "blame", "-w", "-M", "-C", "--line-porcelain", "HEAD", "--", question.path]
    said: bytes = ran(words, question.world.folder, question.world.environment)
    return re.findall(r"^([0-9a-f]{40}) \d+ \d+", said.decode(errors="replace"), re.MULTILINE)


def message(question: Question, commit: str) -> str:
    """Return the message of a commit."""
    words = ["git", "show", "--no-patch", "--format=%B", commit]
    said: bytes = ran(words, question.world.folder, question.world.environment)
    return said.decode(errors="replace")


class _Heard:
    """The common part of these recorders: they use the real clock and need no final step."""

    def end(self) -> None:
        """Do nothing: events were recorded as they happened."""

    def real_time(self) -> bool:
        """Return True: they read the clock themselves."""
        return True


@dataclass
class Trailers(_Heard):
    """Perfect discipline: the commit after an agent's change has its trailer, whoever commits."""

    repository: Path = Path()

    def begin(self, repository: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Have git add the trailer while a session waits for its commit."""
        self.repository = repository
        a_hook(repository / ".git" / "hooks" / "prepare-commit-msg", _HOOK)
        return {}

    def tell(self, event: Event, told: Told) -> None:
        """Remember the session that changed something last."""
        if event["hook_event_name"] == "PostToolUse" and event.get("tool_name") in CHANGING:
            (self.repository / ".git" / WAITING).write_text(str(event["session_id"]), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Blame:
    """git's own blame, and the trailer of the commit that it names."""

    name: str = "git blame and trailers"

    def answer(self, question: Question) -> Sequence[Said]:
        """Return the agent of each line by its commit's trailer; the work tree is not queried."""
        if not question.committed:
            return [NOTHING for _ in question.lines]
        commits = blamed(question)
        sessions = {commit: self._session(message(question, commit)) for commit in set(commits)}
        return [Said(sessions[commit], None, "trailer") for commit in commits]

    @staticmethod
    def _session(text: str) -> str | None:
        found = re.search(rf"^{TRAILER}: (\S+)$", text, re.MULTILINE)
        return found[1] if found else None


@dataclass
class GitAi:
    """git-ai: its background service sees git's commands, and its checkpoints are called by the agent's hooks."""

    program: Path
    patient: bool = True
    """Whether git's commands wait for it; outside this bench they do not."""
    environment: dict[str, str] = field(default_factory=dict)
    repository: Path = Path()

    def begin(self, repository: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Install it for the user of the story."""
        home = Path(environment["HOME"])
        (home / ".claude").mkdir(exist_ok=True)
        settings = home / ".gitconfig"
        settings.touch()
        more = {
            "GIT_CONFIG_GLOBAL": str(settings),
            "PATH": f"{self.program.parent}:{environment['PATH']}",
            "GIT_AI_ALLOW_SUPERUSER": "1",
        }
        self.environment, self.repository = {**environment, **more}, repository
        self._say("install-hooks")
        if not self.patient:
            return more
        a_hook(home / "patient" / "git", _PATIENT.format(path=more["PATH"], program=self.program))
        return more | {"PATH": f"{home / 'patient'}:{more['PATH']}"}

    def tell(self, event: Event, told: Told) -> None:
        """Call its checkpoint before and after a tool, once its service has seen what happened before."""
        if event["hook_event_name"] in ("PreToolUse", "PostToolUse"):
            self._settled()
            words = [str(self.program), "checkpoint", "claude", "--hook-input", "stdin"]
            ran(words, Path(event["cwd"]), self.environment, json.dumps(event).encode())

    def end(self) -> None:
        """Let its service finish."""
        self._settled()

    def close(self) -> None:
        """End its service."""
        self._say("bg", "shutdown")

    def real_time(self) -> bool:
        """Return True: it reads the clock itself."""
        return True

    def _settled(self) -> None:
        self._say("await", "--timeout", "20")

    def _say(self, *words: str) -> None:
        ran([str(self.program), *words], self.repository, self.environment)


@dataclass(frozen=True, slots=True)
class GitAiBlame:
    """git-ai's own blame of HEAD."""

    program: Path
    name: str = "git-ai"

    def answer(self, question: Question) -> Sequence[Said]:
        """Return its blame of the committed file; the work tree is not queried."""
        found = [NOTHING for _ in question.lines]
        if not question.committed:
            return found
        words = [str(self.program), "blame", "--json", question.path]
        told = json.loads(ran(words, question.world.folder, question.world.environment))
        for numbers, prompt in told["lines"].items():
            first, _, last = numbers.partition("-")
            for number in range(int(first), int(last or first) + 1):
                if number <= len(found):
                    found[number - 1] = Said(_session(told["prompts"].get(prompt, {})), None, "ai")
        return found


def _session(prompt: Mapping[str, Any]) -> str | None:
    agent = prompt.get("agent_id", {})
    return str(agent["id"]) if "id" in agent else None


@dataclass
class Entire(_Heard):
    """Entire: hooks of Claude Code with a transcript on disk, and hooks of git."""

    program: Path
    environment: dict[str, str] = field(default_factory=dict)
    repository: Path = Path()

    def begin(self, repository: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Enable it in the repository; its prompt at each commit is answered with yes."""
        more = {"PATH": f"{self.program.parent}:{environment['PATH']}", "ENTIRE_TEST_TTY": "1"}
        self.environment, self.repository = {**environment, **more}, repository
        with (repository / ".git" / "info" / "exclude").open("a", encoding="utf-8") as file:
            file.write("/.entire/\n")
        words = ["enable", "--agent", "claude-code", "--local", "--telemetry=false", "--skip-push-sessions"]
        ran([str(self.program), *words], repository, self.environment)
        return more

    def tell(self, event: Event, told: Told) -> None:
        """Begin a turn before each tool and end it after, with the transcript written in between as the agent does."""
        name = str(event["hook_event_name"])
        if name in BEGINNINGS:
            self._hook(BEGINNINGS[name], event)
        self._write(event, transcript_message(event, told.model))
        if name == "PostToolUse":
            # The agent notes that it runs the hook; without that note the hook waits for seconds.
            ending = {
                "type": "progress",
                "timestamp": stamp(told.at),
                "data": {"command": "entire hooks claude-code stop"},
            }
            self._write(event, ending)
            self._hook("stop", event)

    def _hook(self, hook: str, event: Event) -> None:
        words = [str(self.program), "hooks", "claude-code", hook]
        ran(words, Path(event["cwd"]), self.environment, json.dumps({**event, "prompt": "go on"}).encode())

    @staticmethod
    def _write(event: Event, line: Event | None) -> None:
        transcript = Path(event["transcript_path"])
        number = len(transcript.read_text("utf-8").splitlines()) if transcript.exists() else 0
        around = {"uuid": f"{event['session_id']}-{number}", "sessionId": event["session_id"], "cwd": event["cwd"]}
        if line is not None:
            with transcript.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**around, **line}) + "\n")


@dataclass(frozen=True, slots=True)
class EntireBlame:
    """git's blame, and the checkpoint in Entire's trailer of the commit: Entire itself has no blame."""

    name: str = "git blame and Entire's trailers"

    def answer(self, question: Question) -> Sequence[Said]:
        """Return the agent of each line by its commit's checkpoint; the work tree is not queried."""
        if not question.committed:
            return [NOTHING for _ in question.lines]
        commits = blamed(question)
        sessions = {commit: self._session(question, message(question, commit)) for commit in set(commits)}
        return [Said(sessions[commit], None, "checkpoint") for commit in commits]

    @staticmethod
    def _session(question: Question, text: str) -> str | None:
        found = _CHECKPOINT.search(text)
        if found is None:
            return None
        place = f"entire/checkpoints/v1:{found[1][:2]}/{found[1][2:]}/0/metadata.json"
        try:
            said = ran(["git", "show", place], question.world.folder, question.world.environment)
        except BenchError:
            # A trailer without a stored checkpoint names no author.
            return None
        return str(json.loads(said)["session_id"])
