"""From a captured hook event to views: the agent's reader where there is one, and always that it was observed."""

from collections.abc import Callable
from types import MappingProxyType

from custody.model.errors import InputError
from custody.model.ids import AgentName, CallId, CommitSha, SessionId
from custody.model.paths import RepoPath
from custody.model.views import FileState, View
from custody.wire.canonical import Json
from custody.wire.events import HookEvent, SnapshotEvent, event_from
from custody.wire.times import ns_from
from custody.wire.views import observation_of, text_view
from custody.world.capture import claude, codex, copilot, cursor, gemini, githooks, opencode

READERS: MappingProxyType[str, Callable[[HookEvent], tuple[View, ...]]] = MappingProxyType(
    {
        "claude-code": claude.views_of,
        "codex": codex.views_of,
        "copilot": copilot.views_of,
        "cursor": cursor.views_of,
        "gemini": gemini.views_of,
        "git": githooks.views_of,
        "opencode": opencode.views_of,
    }
)


def hook_views(payload: Json) -> tuple[View, ...]:
    """The views of one hook event; an agent without a reader still leaves an observation."""
    event = event_from(payload)
    if not isinstance(event, HookEvent):
        raise InputError("not a hook event")
    read = READERS.get(event.agent)
    return (*observation_of(event, event.event), *(read(event) if read else ()))


def snapshot_views(payload: Json) -> tuple[View, ...]:
    """The files of one snapshot."""
    event = event_from(payload)
    if not isinstance(event, SnapshotEvent):
        raise InputError("not a snapshot")
    return tuple(
        FileState(
            agent=AgentName(event.agent),
            session=None if event.session is None else SessionId(event.session),
            call=None if event.call is None else CallId(event.call),
            phase=event.phase,
            path=RepoPath.of(file.path),
            at_ns=ns_from(event.at),
            text=None if file.text is None else text_view(file.text),
            gone=file.gone,
            revision=None if event.head is None else CommitSha(event.head),
        )
        for file in event.files
    )
