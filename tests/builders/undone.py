"""A repository in which agents are recorded live and people work, and what ``custody undo`` makes of it."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.builders.cli import Ran, spool_of
from tests.builders.hooks import a_recorded_edit, a_recorded_event, a_recorded_session
from tests.builders.in_process import custody
from tests.builders.lines import moment
from tests.builders.repo import Built, a_repository

PERSON = "Ana Person"
MINE, THEIRS = "5e551011-0000-4000-8000-000000000001", "07e50000-0000-4000-8000-000000000002"
"""The session that is undone, and another one."""


@dataclass
class Undone:
    """A work tree on the branch ``main``; times are minutes after noon of a day in the past."""

    built: Built
    at: int = 0
    calls: list[str] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)

    @property
    def path(self) -> Path:
        return self.built.path

    def tick(self) -> int:
        self.at += 60
        return self.at

    def read(self, name: str) -> bytes | None:
        file = os.fsencode(self.path) + b"/" + os.fsencode(name)
        return Path(os.fsdecode(file)).read_bytes() if os.path.exists(file) else None

    def files(self) -> dict[str, tuple[bytes, bool]]:
        """Return every file of the work tree with its contents, and whether it is executable."""
        names = self.built.git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split(b"\0")
        here = {os.fsdecode(name) for name in names if name and os.path.lexists(os.fsencode(self.path) + b"/" + name)}
        return {name: (self.read(name) or b"", os.access(self.path / name, os.X_OK)) for name in sorted(here)}

    def write(self, name: str, content: bytes | str) -> "Undone":
        """Write a file as a person, who is not recorded."""
        self.tick()
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
        return self

    def edit(self, name: str, after: str, *, session: str = MINE, before: str | None = None, **fields: Any) -> str:
        """Write a file by Claude Code with live hooks; return the call."""
        self.begin(session)
        content = self.read(name)
        old = content.decode("utf-8", "replace") if content is not None else None
        self.write(name, after)
        call = f"toolu_{len(self.calls):04d}"
        self.calls.append(call)
        event = a_recorded_edit(
            name,
            old if before is None else before,
            after,
            root=self.path,
            at=moment(self.tick()),
            id=call,
            session=session,
            head=self._head(),
            **fields,
        )
        spool_of(self.path).put(event)
        return call

    def begin(self, session: str) -> None:
        """Record the start of a session, once."""
        if session not in self.sessions:
            self.sessions.add(session)
            fields: dict[str, Any] = {"id": f"start {session}", "session": session, "root": self.path}
            spool_of(self.path).put(a_recorded_session(at=moment(self.tick()), **fields))

    def prompt(self, text: str, *, id: str, session: str = MINE) -> None:
        """Record a prompt."""
        fields: dict[str, Any] = {"at": moment(self.tick()), "id": id, "session": session, "root": self.path}
        spool_of(self.path).put(a_recorded_event("UserPromptSubmit", {"prompt": text, "prompt_id": id}, **fields))

    def shell(
        self, changes: dict[str, tuple[str | None, str | None]], *, session: str = MINE, agent: str = "claude-code"
    ) -> str:
        """Record a shell command by its snapshots: for each file its text before and after it."""
        self.begin(session)
        call = f"toolu_{len(self.calls):04d}"
        self.calls.append(call)
        at = moment(self.tick())
        for phase in ("before", "after"):
            files = [
                {"path": name, "gone": True}
                if texts[phase == "after"] is None
                else {"path": name, "text": texts[phase == "after"]}
                for name, texts in changes.items()
            ]
            event = {
                "custody": 1,
                "kind": "snapshot",
                "agent": agent,
                "call": call,
                "id": f"{call}-{phase}",
                "at": moment(self.at - 1) if phase == "before" else at,
                "session": session,
                "phase": phase,
                "files": files,
                **({} if self._head() is None else {"head": self._head()}),
            }
            spool_of(self.path).put(json.dumps(event).encode())
        return call

    def commit(self, message: str = "a change", *, amend: bool = False, name: str = PERSON) -> str:
        """Commit the whole work tree."""
        self.built.git("add", "--all")
        at = f"{int(1_700_000_000 + self.tick())} +0000"
        who = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", name), ("EMAIL", "a@example.org"), ("DATE", at))
        }
        words = ("--amend",) if amend else ()
        self.built.git("commit", "--quiet", "--allow-empty", "--message", message, *words, environment=who)
        return self.built.head()

    def git(self, *words: str) -> bytes:
        """Run git as a person at the time of the story."""
        at = f"{int(1_700_000_000 + self.tick())} +0000"
        who = {"GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at, "GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": ":"}
        names = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", PERSON), ("EMAIL", "a@example.org"))
        }
        return self.built.git(*words, environment={**who, **names})

    def undo(self, *words: str) -> dict[str, Any]:
        """Return the report of ``custody undo``."""
        ran = self.run(*words, "--json")
        assert ran.status == 0, ran
        report: dict[str, Any] = json.loads(ran.out)
        return report

    def run(self, *words: str) -> Ran:
        """Run ``custody undo``."""
        return custody(self.path, "undo", *(words or (MINE,)))

    def apply(self, *words: str) -> dict[str, Any]:
        """Undo, and apply the patch by git; return the report."""
        report = self.undo(*(words or (MINE,)))
        patch = self.patch_of(report)
        if patch:
            done = subprocess.run(["git", "apply", "-"], cwd=self.path, input=patch, capture_output=True, check=False)
            assert done.returncode == 0, (done.stderr, patch)
        return report

    @staticmethod
    def patch_of(report: dict[str, Any]) -> bytes:
        import base64

        if report["patch"] is None:
            return base64.b64decode(report["patch_base64"])
        return str(report["patch"]).encode()

    def _head(self) -> str | None:
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "-q", "HEAD"], cwd=self.path, capture_output=True, text=True, check=False
        )
        return done.stdout.strip() or None


def an_undone(folder: Path, files: dict[str, bytes | str] | None = None) -> Undone:
    """Return a repository with these files in its first commit."""
    story = Undone(a_repository(folder))
    for name, content in (files or {}).items():
        story.write(name, content)
    if files:
        story.commit("begin")
    return story
