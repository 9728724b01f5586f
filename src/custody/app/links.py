"""Which sessions made which commit: what git's hooks, agents' own git calls and pull requests say.

A link from git's hook is a view: git tells of a commit, and every session that edited one of its files since the parent
commit, or that was still at work in that work tree, is linked with it. A rewritten commit inherits the links of the
one that it replaced.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from custody.model.ids import CommitSha, RecordRef, SessionId
from custody.model.views import CommitLink, CommitSeen, LinkOrigin, PullRequestFact
from custody.world.git import Commit
from custody.world.store import Store

NS = 1_000_000_000
OPEN_NS_MAX = 24 * 3600 * NS
"""A session whose last event is older than this no longer counts as at work."""
REWRITES_MAX = 64

_NUMBER = re.compile(rb"(?:Merge pull request |\()#(\d{1,9})\b")


@dataclass(frozen=True, slots=True)
class Worked:
    """That a session edited a file: when, and when the commit below was made (asked only where it matters)."""

    session: SessionId
    at_ns: int
    parent_ns: Callable[[], int]


class Links:
    """Links between sessions and commits, as the store's records give them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def shown_by(self, commit: Commit, worked: Worked) -> tuple[RecordRef, ...]:
        """The records that say that the session made the commit; none when there is no link."""
        found = {
            *self._said(commit.id, worked.session),
            *self._seen(commit.id, worked, 0),
            *self._requested(commit, worked.session),
        }
        return tuple(sorted(found))

    def _said(self, commit: CommitSha, session: SessionId) -> Iterator[RecordRef]:
        for seen in self._store.links_of(commit):
            view = seen.view
            # A link that was derived from content only proposes: content is paid for by its own signal.
            if isinstance(view, CommitLink) and view.session == session and view.origin is not LinkOrigin.CONTENT:
                yield seen.record.ref

    def _seen(self, commit: CommitSha, worked: Worked, depth: int) -> Iterator[RecordRef]:
        """Git's own hook saw the commit while the session was at work on it."""
        for seen in self._store.commits_seen(commit):
            view = seen.view
            if not isinstance(view, CommitSeen):
                continue
            if worked.parent_ns() < worked.at_ns <= view.at_ns or self._is_open(worked.session, view.at_ns):
                yield seen.record.ref
            for old in view.replaced if depth < REWRITES_MAX else ():
                if any(True for _ in self._said(old, worked.session)) or any(
                    True for _ in self._seen(old, worked, depth + 1)
                ):
                    yield seen.record.ref

    def _is_open(self, session: SessionId, at_ns: int) -> bool:
        """Whether the session was still at work: its last event less than a day before, and it had not ended."""
        return self._store.was_open(session, at_ns, OPEN_NS_MAX)

    def _requested(self, commit: Commit, session: SessionId) -> Iterator[RecordRef]:
        """The commit's subject names a pull request that the session opened."""
        for number in {int(digits) for digits in _NUMBER.findall(commit.subject)}:
            for seen in self._store.pull_request_facts(number):
                if isinstance(seen.view, PullRequestFact) and seen.view.session == session:
                    yield seen.record.ref
