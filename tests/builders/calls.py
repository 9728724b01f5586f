"""A repository in which agents call tools and programs are traced."""

from collections.abc import Iterable
from pathlib import Path

from custody.core.wire.time import format_timestamp
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import NOON, a_repository

NS = 1_000_000_000
HOUR = 3600
Told = tuple[str, str, int, int, str | None]
"""A span: id, name, first and last second, parent."""


class World:
    """A repository in which agents call tools, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.path = a_repository(folder).path
        self.now = NOON + 48 * HOUR
        self.number = 0

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.path, now_ns=lambda: self.now * NS)

    def calls(self, session: str, *names: str, at: int = NOON, agent: str = "robot", status: str = "ok") -> None:
        """Record calls of a session, one per second."""
        for place, name in enumerate(names):
            self.number += 1
            begun, ended = (format_timestamp((at + 10 * place + more) * NS) for more in (0, 1))
            spool_of(self.path).put(
                an_event(
                    "call",
                    id=f"c{self.number}",
                    at=begun,
                    ended_at=ended,
                    session=session,
                    name=name,
                    agent=agent,
                    status=status,
                )
            )

    def span(self, execution: str, span: str, name: str, first: int, last: int, **more: object) -> None:
        """Record a whole span of a traced program, in seconds from noon."""
        self.number += 1
        fields = {
            "phase": "whole",
            "parent": None,
            "session": None,
            "server": None,
            "attributes": {},
            "status": "ok",
            **more,
        }
        times = {"at": format_timestamp((NOON + first) * NS), "ended_at": format_timestamp((NOON + last) * NS)}
        spool_of(self.path).put(
            an_event(
                "span",
                **{"id": f"p{self.number}", "execution": execution, "span": span, "name": name, **times, **fields},
            )
        )

    def spans(self, execution: str, told: Iterable[Told], **more: object) -> None:
        """Record many whole spans of a traced program at once."""
        events = []
        for span, name, first, last, parent in told:
            self.number += 1
            fields = {"phase": "whole", "server": None, "session": None, "attributes": {}, "status": "ok", **more}
            times = {"at": format_timestamp((NOON + first) * NS), "ended_at": format_timestamp((NOON + last) * NS)}
            ids = {"id": f"p{self.number}", "execution": execution, "span": span, "name": name, "parent": parent}
            events.append(an_event("span", **ids, **times, **fields))
        spool_of(self.path).put_all(events)
