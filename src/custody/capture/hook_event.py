"""A hook event as readers begin with it: whose it is, when it was, and which of their functions reads it."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from custody.capture.typed_field import Fields
from custody.core.ids import AgentName, CommitSha, SessionId
from custody.core.views import Session, View
from custody.core.wire.event import HookEvent
from custody.core.wire.time import ns_from

S = TypeVar("S", bound="Seen")


class Seen:
    """A hook event with what every reader asks of it; each adds what its own agent says."""

    def __init__(self, event: HookEvent, session: str) -> None:
        self.event = event
        self.agent = AgentName(event.agent)
        self.session = SessionId(session)
        self.at_ns = ns_from(event.at)
        self.head = None if event.head is None else CommitSha(event.head)

    def begun(self, model: str | None) -> Session:
        """The session, as it began or goes on, under the model that speaks in it now."""
        return Session(
            agent=self.agent,
            id=self.session,
            started_ns=self.at_ns,
            revision=self.head,
            worktree=self.event.worktree,
            model=model,
        )

    def ended(self) -> Session:
        """The session, which ends here."""
        return Session(agent=self.agent, id=self.session, started_ns=self.at_ns, ended_ns=self.at_ns)


def views_by(
    event: HookEvent, readers: Mapping[str, Callable[[S], Iterator[View]]], make: Callable[[HookEvent, str, Fields], S]
) -> tuple[View, ...]:
    """The views that one hook event gives; none without a session or for an event that says nothing of its own."""
    read = readers.get(event.event)
    if read is None or event.session is None or not isinstance(event.payload, dict):
        return ()
    return tuple(read(make(event, event.session, event.payload)))
