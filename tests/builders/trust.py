"""A repository with recorded work of agents and decisions about it, for tests of approvals."""

from pathlib import Path
from typing import Any

from custody.core.wire.time import format_timestamp
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.hooks import RECORDED_AGENT, a_recorded_session, recorded_edits
from tests.builders.repo import NOON, Built, Files, a_repository

NS = 1_000_000_000
DAY = 86_400
OLD = b"one = first(1)\ntwo = second(2)\n"


class TrustWorld:
    """A repository with a first commit, agents that write on top of it, and decisions about them."""

    def __init__(self, folder: Path) -> None:
        self.built: Built = a_repository(folder)
        self.files: dict[bytes, Any] = {b"src/a.py": OLD}
        self.ruled: dict[bytes, Any] = {}
        self.first = self.head = self.built.commit(self.files, at=NOON)
        self.built.checkout()
        self.at = NOON + 3600
        self.numbers = 0
        self.workspace = Workspace(folder, now_ns=lambda: self.at * NS)

    def tell(self, kind: str, **fields: Any) -> None:
        """Record an event."""
        self.numbers += 1
        fields = {"id": f"n{self.numbers}", "at": format_timestamp((self.at - 60) * NS), **fields}
        spool_of(self.built.path).put(an_event(kind, **fields))

    def put(self, event: bytes) -> None:
        """Add an event as an agent's hook does."""
        spool_of(self.built.path).put(event)

    def proven(
        self, agent: str = RECORDED_AGENT, count: int = 12, decision: str = "accepted", **fields: Any
    ) -> "TrustWorld":
        """Record this many decisions about an agent, one an hour, the last an hour ago."""
        for place in range(count):
            at = format_timestamp((self.at - 3600 * (count - place)) * NS)
            self.tell(
                "decision",
                agent=agent,
                at=at,
                decision=decision,
                **{"changed_lines": 250, "commit": self.first, **fields},
            )
        return self

    def agent_wrote(
        self,
        lines: int = 2,
        *,
        agent: str = RECORDED_AGENT,
        path: str = "src/a.py",
        model: str | None = None,
        operator: str | None = None,
        more: Files | None = None,
    ) -> str:
        """Commit lines that an agent's hook recorded; return the change."""
        name, session = path.encode(), f"s-{agent}-{model}-{operator}"
        before = self.files.get(name, b"")
        new = b"".join(b"value_%d = compute_%d(%d)\n" % (self.at, n, self.numbers) for n in range(lines))
        self.numbers += 1
        at, root = format_timestamp((self.at - 60) * NS), self.built.path
        fields: dict[str, Any] = {"agent": agent, "session": session, "at": at, "root": root, "head": self.head}
        if operator:
            self.tell("session", agent=agent, session=session, model=None, operator=operator)
        if model:
            self.put(a_recorded_session(model=model, id=f"start{self.numbers}", **fields))
        for event in recorded_edits(path, before.decode(), (before + new).decode(), id=f"w{self.numbers}", **fields):
            self.put(event)
        return self.committed({**self.files, name: before + new, **(more or {})})

    def committed(self, files: Files, author: bytes = b"A Tester <tester@example.invalid>") -> str:
        """Commit exactly these files, and the rules, on top of the last commit; return the change."""
        base, self.files = self.head, dict(files)
        self.head = self.built.commit({**self.ruled, **files}, base, at=self.at, author=author)
        self.built.checkout()
        return f"{base}..{self.head}"

    def later(self, *, hours: float = 0, days: float = 0) -> "TrustWorld":
        """Advance the time."""
        self.at += round(hours * 3600 + days * DAY)
        return self

    def rules(self, text: str) -> "TrustWorld":
        """Commit these rules: they decide about the changes after them."""
        self.ruled = {b"custody.toml": text.encode()}
        self.committed(self.files)
        return self
