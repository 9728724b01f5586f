"""From a captured hook event to views: the agent's reader where there is one, and always that it was observed."""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType

from custody.core.errors import InputError
from custody.core.ids import AgentName, CallId, CommitSha, SessionId
from custody.core.paths import RepoPath
from custody.core.views import FileState, ObservedCommit, View
from custody.core.wire.canonical import Json
from custody.core.wire.event import HookEvent, SnapshotEvent, event_from
from custody.core.wire.event_views import observation_of, text_view
from custody.core.wire.time import ns_from

# What git's own hooks saw: commits that were made, and those that were rewritten into others.


MADE = frozenset(("post-commit", "post-merge"))
REWRITTEN = "post-rewrite"

_REWRITE = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64})(?: .*)?", re.ASCII)


def views_of(event: HookEvent) -> tuple[View, ...]:
    """The commits that one of git's hooks saw."""
    if event.event == REWRITTEN:
        return tuple(_rewritten(event))
    if event.event in MADE and event.head is not None:
        return (ObservedCommit(CommitSha(event.head), ns_from(event.at), event.worktree),)
    return ()


def _rewritten(event: HookEvent) -> Iterator[View]:
    """One view per new commit: git says a line with the old and the new id for each old one."""
    replaced: dict[str, list[CommitSha]] = {}
    for line in (event.unparsed if isinstance(event.unparsed, str) else "").splitlines():
        if pair := _REWRITE.fullmatch(line):
            replaced.setdefault(pair[2], []).append(CommitSha(pair[1]))
    for new, old in replaced.items():
        yield ObservedCommit(CommitSha(new), ns_from(event.at), event.worktree, tuple(dict.fromkeys(old)))


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
"""The module whose ``views_of`` reads an agent's hook events, imported with the first of them."""


def hook_views(payload: Json) -> tuple[View, ...]:
    """The views of one hook event; an agent without a reader still leaves an observation."""
    event = event_from(payload)
    if not isinstance(event, HookEvent):
        raise InputError("not a hook event")
    module = READERS.get(event.agent)
    views = () if module is None else import_module(module).views_of(event)
    return (*observation_of(event, event.event), *views)


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
