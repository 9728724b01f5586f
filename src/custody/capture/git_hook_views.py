"""What git's own hooks saw: commits that were made, and those that were rewritten into others."""

import re
from collections.abc import Iterator

from custody.core.ids import CommitSha
from custody.core.views import ObservedCommit, View
from custody.core.wire.event import HookEvent
from custody.core.wire.time import ns_from

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
