"""From a captured hook event to views: the agent's reader where there is one, and always that it was observed."""

from collections.abc import Callable
from types import MappingProxyType

from custody.capture import git_hook_views as githooks
from custody.capture.agents.claude import hook_events as claude
from custody.capture.agents.codex import hook_events as codex
from custody.capture.agents.copilot import hook_events as copilot
from custody.capture.agents.cursor import hook_events as cursor
from custody.capture.agents.gemini import hook_events as gemini
from custody.capture.agents.opencode import hook_events as opencode
from custody.core.errors import InputError
from custody.core.ids import AgentName, CallId, CommitSha, SessionId
from custody.core.paths import RepoPath
from custody.core.views import FileState, View
from custody.core.wire.canonical import Json
from custody.core.wire.event import HookEvent, SnapshotEvent, event_from
from custody.core.wire.event_views import observation_of, text_view
from custody.core.wire.time import ns_from

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
