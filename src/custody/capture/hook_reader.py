"""Views of a captured hook event: from the agent's reader if there is one, and always an observation."""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType

from custody.core.errors import InputError
from custody.core.ids import AgentName, CallId, CommitSha, SessionId
from custody.core.paths import RepoPath
from custody.core.patterns import lazy_pattern
from custody.core.views import FileState, ObservedCommit, View
from custody.core.wire.canonical import Json
from custody.core.wire.event import AnyEvent, HookEvent, SnapshotEvent, event_from_json
from custody.core.wire.event_views import observation_from_event, text_view_from_field
from custody.core.wire.time import parse_timestamp

# git's own hooks: commits that were made, and commits that were rewritten.


COMMITTING = frozenset(("post-commit", "post-merge"))
REWRITTEN = "post-rewrite"

_REWRITE = lazy_pattern(r"([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64})(?: .*)?", re.ASCII)


def views_from_hook_event(event: HookEvent) -> tuple[View, ...]:
    """Return the commits that one of git's hooks reported."""
    if event.event == REWRITTEN:
        return tuple(_read_rewritten_commits(event))
    if event.event in COMMITTING and event.head is not None:
        return (ObservedCommit(CommitSha(event.head), parse_timestamp(event.at), event.worktree),)
    return ()


def _read_rewritten_commits(event: HookEvent) -> Iterator[View]:
    """Yield one view per new commit: git prints the old and the new id of each old commit."""
    replaced: dict[str, list[CommitSha]] = {}
    for line in (event.unparsed if isinstance(event.unparsed, str) else "").splitlines():
        if pair := _REWRITE.fullmatch(line):
            replaced.setdefault(pair[2], []).append(CommitSha(pair[1]))
    for new, old in replaced.items():
        yield ObservedCommit(CommitSha(new), parse_timestamp(event.at), event.worktree, tuple(dict.fromkeys(old)))


READERS: Mapping[str, str] = MappingProxyType(
    {
        "claude-code": "custody.capture.agents.claude.hook_events",
        "codex": "custody.capture.agents.codex.hook_events",
        "copilot": "custody.capture.agents.copilot.hook_events",
        "cursor": "custody.capture.agents.cursor.hook_events",
        "gemini": "custody.capture.agents.gemini.hook_events",
        "git": __name__,
        "opencode": "custody.capture.agents.opencode.hook_events",
    }
)
"""The module whose ``views_from_hook_event`` reads an agent's hook events, imported on first use."""


def hook_views(payload: Json | AnyEvent) -> tuple[View, ...]:
    """Return the views of one hook event; an agent without a reader has only an observation."""
    event = event_from_json(payload)
    if not isinstance(event, HookEvent):
        raise InputError("not a hook event")
    module = READERS.get(event.agent)
    views = () if module is None else import_module(module).views_from_hook_event(event)
    return (*observation_from_event(event, event.event), *views)


def snapshot_views(payload: Json | AnyEvent) -> tuple[View, ...]:
    """Return the files of one snapshot."""
    event = event_from_json(payload)
    if not isinstance(event, SnapshotEvent):
        raise InputError("not a snapshot")
    return tuple(
        FileState(
            agent=AgentName(event.agent),
            session=None if event.session is None else SessionId(event.session),
            call=None if event.call is None else CallId(event.call),
            phase=event.phase,
            path=RepoPath.of(file.path),
            at_ns=parse_timestamp(event.at),
            text=None if file.text is None else text_view_from_field(file.text),
            gone=file.gone,
            revision=None if event.head is None else CommitSha(event.head),
        )
        for file in event.files
    )
