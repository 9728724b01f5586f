"""A repository in which agents and people write lines, and the answer of ``custody blame`` for each line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from custody.attribution.app.blame import Profile, blame
from custody.attribution.wire import Attribution, BlameReport
from custody.core.ids import CommitSha
from custody.core.paths import Lines
from custody.core.wire.time import format_timestamp
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import NOON, Built, a_repository

NS = 1_000_000_000
MARKS = {"agent": "A", "mixed": "m", "person": "P", "none": "."}
SESSION = "s1"


def text(*lines: str) -> str:
    """Lines as a file holds them."""
    return "".join(f"{line}\n" for line in lines)


def moment(seconds: int) -> str:
    """Return a time after noon, in seconds, as events write it."""
    return format_timestamp((NOON + seconds) * NS)


def an_edit_event(path: str, before: str | None, after: str | None, *, at: int = 0, **fields: Any) -> bytes:
    """Record an edit of a whole file, this many seconds after noon; a text of None was not captured."""
    usual: dict[str, Any] = {"id": f"e{at}", "call": f"c{at}", "session": SESSION, "head": None}
    return an_event("edit", path=path, before=before, after=after, at=moment(at), **{**usual, **fields})


class Scene:
    """A repository, its store, and a fixed clock a day after noon."""

    def __init__(self, folder: Path, built: Built | None = None) -> None:
        self.built = built or a_repository(folder)
        self.workspace = Workspace(self.built.path, now_ns=lambda: (NOON + 20_000) * NS)

    def saw(self, *events: bytes) -> "Scene":
        """Add events as a hook does: acknowledged, and waiting in the spool."""
        for event in events:
            spool_of(self.built.path).put(event)
        return self

    def edited(self, path: str, before: str | None, after: str | None, *, at: int = 0, **fields: Any) -> "Scene":
        """Record an agent's edit of a file."""
        return self.saw(an_edit_event(path, before, after, at=at, **fields))

    def committed(
        self, *parents: CommitSha, at: int = 0, message: str = "a change", checkout: bool = True, **files: str | bytes
    ) -> CommitSha:
        """Commit exactly these files (``__`` means a dot), this many seconds after noon."""
        return self.commit_of(
            {_path(name): _bytes(content) for name, content in files.items()},
            *parents,
            at=at,
            message=message,
            checkout=checkout,
        )

    def commit_of(
        self,
        files: dict[bytes, bytes],
        *parents: CommitSha,
        at: int = 0,
        message: str = "a change",
        checkout: bool = True,
    ) -> CommitSha:
        """Commit exactly these files, on top of ``parents``."""
        made = self.built.commit(files, *parents, at=NOON + at, message=message.encode())
        if checkout:
            self.built.checkout()
        return made

    def wrote(self, path: str, content: str | bytes) -> "Scene":
        """Save a file in the work tree."""
        file = self.built.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_bytes(content))
        return self

    def report(
        self,
        path: str = "app.py",
        revision: str | None = None,
        *stretches: Lines,
        profile: Profile | None = None,
    ) -> BlameReport:
        """Return the report of blame."""
        return blame(self.workspace, path, revision=revision, line_ranges=stretches, profile=profile).report

    def said(self, path: str = "app.py", revision: str | None = None, *stretches: Lines) -> list[Attribution]:
        """Return every attribution of a file."""
        return self.report(path, revision, *stretches).attributions

    def marks(self, path: str = "app.py", revision: str | None = None) -> str:
        """Return one letter per line: A agent, m partly an agent, P person, . unknown."""
        return marks_of(self.said(path, revision))


def marks_of(attributions: Sequence[Attribution]) -> str:
    """Return one letter per line."""
    return "".join(MARKS[one.kind] * (one.end_line - one.start_line + 1) for one in attributions)


def _path(name: str) -> bytes:
    return name.replace("__", ".").encode()


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
