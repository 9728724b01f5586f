"""A second agent, of which custody knows nothing: it tells what it does in generic events."""

from dataclasses import dataclass, field
from typing import Any

from custody.demo.claude import STEP_SECONDS, EventSink
from custody.demo.sandbox import Sandbox

AGENT = "patchbot"
MODEL = "model-2"


@dataclass
class PatchbotSession:
    """A session that is told event by event; it really writes the files that it says it writes."""

    place: Sandbox
    record: EventSink
    session: str
    _count: int = field(default=0, init=False)

    def start(self, asked: str) -> None:
        """The session opens, and somebody asks something."""
        self._event("session", model=MODEL, operator="ana")
        self._event("prompt", text=asked)

    def write(self, path: str, content: str) -> None:
        """Write a whole file."""
        file = self.place.repository / path
        before = {"before": file.read_text()} if file.exists() else {}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        call = self._event("call", name="write_file", status="ok", input={"path": path}, model=MODEL)
        self._event("edit", path=path, after=content, call=call, **before)

    def _event(self, kind: str, **fields: Any) -> str:
        self.place.clock.later(STEP_SECONDS)
        self._count += 1
        id_ = f"{self.session}-{self._count}"
        self.record(AGENT, {"custody": 1, "kind": kind, "id": id_, "session": self.session, **fields})
        return id_
