"""Which sessions made which commit: what git's hooks, agents' own git calls and pull requests say.

A link from git's hook is a view: git tells of a commit, and every session that edited one of its files since the parent
commit, or that was still at work in that work tree, is linked with it. A rewritten commit inherits the links of the
one that it replaced.

Anybody can write a link, so one that was brought in afterwards links only what is a claim itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from custody.attribution.queries.commits import facts_of_pull_request, hook_reports_of_commit, links_of_commit
from custody.core.ids import AgentName, CommitSha, RecordRef, SessionId
from custody.core.views import CommitLink, LinkOrigin, ObservedCommit, PullRequestFact, View
from custody.git import Commit
from custody.ledger.claim import is_claim, recorded_only
from custody.ledger.queries.sessions import was_open, work_trees_of
from custody.store import EVERYTHING, ObservedView, Store

V = TypeVar("V", bound=View)

NS = 1_000_000_000
OPEN_NS_MAX = 24 * 3600 * NS
"""A session whose last event is older than this no longer counts as at work."""
REWRITES_MAX = 1_000
"""Commits that one commit may have been rewritten from."""

_NUMBER = re.compile(rb"(?:Merge pull request |\()#(\d{1,9})\b")


@dataclass(frozen=True, slots=True)
class SessionEdit:
    """That a session edited a file: when, and when the commit below was made (asked only where it matters).

    Where it ``is_claimed``, so may be what links it.
    """

    agent: AgentName
    session: SessionId
    at_ns: int
    parent_ns: Callable[[], int]
    is_claimed: bool = False

    def is_of(self, view: CommitLink | PullRequestFact) -> bool:
        """Whether a fact is this session's; another tool's file of links does not say whose its traces are."""
        named = view.agent == self.agent or getattr(view, "origin", None) is LinkOrigin.IMPORTED
        return named and view.session == self.session


class CommitLinkIndex:
    """Links between sessions and commits, as the store's records give them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._only = recorded_only(store)

    def shown_by(self, commit: Commit, worked: SessionEdit) -> tuple[RecordRef, ...]:
        """The records that say that the session made the commit; none when there is no link."""
        found = {
            *self._find_stated_links(commit.id, worked),
            *self._seen(commit.id, worked),
            *self._requested(commit, worked),
        }
        return tuple(sorted(found))

    def _find_stated_links(self, commit: CommitSha, worked: SessionEdit) -> Iterator[RecordRef]:
        for seen in self._counting(links_of_commit(self._store, commit), worked):
            view = seen.view
            # A link that was derived from content only proposes: content is paid for by its own signal.
            if worked.is_of(view) and view.origin is not LinkOrigin.CONTENT:
                yield seen.record.ref

    def _seen(self, commit: CommitSha, worked: SessionEdit) -> Iterator[RecordRef]:
        """Git's own hook saw the commit, or one that it was rewritten from, while the session was at work on it."""
        for ref, view in self._views(commit, worked):
            replaced = self._replaced(view, worked)
            if self._was_at_work(view, worked) or any(self._is_linked(old, worked) for old in replaced):
                yield ref

    def _is_linked(self, commit: CommitSha, worked: SessionEdit) -> bool:
        said = any(True for _ in self._find_stated_links(commit, worked))
        return said or any(self._was_at_work(view, worked) for _, view in self._views(commit, worked))

    def _replaced(self, view: ObservedCommit, worked: SessionEdit) -> Iterator[CommitSha]:
        """The commits that one came from, however often rewritten; each once, since records may go in circles."""
        waiting, known = [*view.replaced], set[CommitSha]()
        while waiting and len(known) < REWRITES_MAX:
            commit = waiting.pop()
            if commit not in known:
                known.add(commit)
                yield commit
                waiting.extend(old for _, older in self._views(commit, worked) for old in older.replaced)

    def _views(self, commit: CommitSha, worked: SessionEdit) -> Iterator[tuple[RecordRef, ObservedCommit]]:
        for seen in self._counting(hook_reports_of_commit(self._store, commit), worked):
            yield seen.record.ref, seen.view

    def _was_at_work(self, view: ObservedCommit, worked: SessionEdit) -> bool:
        return worked.parent_ns() < worked.at_ns <= view.at_ns or self._is_open(worked, view)

    def _is_open(self, worked: SessionEdit, made: ObservedCommit) -> bool:
        """Whether the session was still at work there: its last event less than a day before, and it had not ended."""
        only = EVERYTHING if worked.is_claimed else self._only
        if not was_open(self._store, worked.agent, worked.session, made.at_ns, OPEN_NS_MAX, only):
            return False
        trees = work_trees_of(self._store, worked.agent, worked.session, only)
        return made.worktree is None or not trees or made.worktree in trees

    def _requested(self, commit: Commit, worked: SessionEdit) -> Iterator[RecordRef]:
        """The commit's subject names a pull request that the session opened."""
        for number in {int(digits) for digits in _NUMBER.findall(commit.subject)}:
            for seen in self._counting(facts_of_pull_request(self._store, number), worked):
                if worked.is_of(seen.view):
                    yield seen.record.ref

    def _counting(self, found: Iterable[ObservedView[V]], worked: SessionEdit) -> Iterator[ObservedView[V]]:
        """What of this may link the session: a claim only what is itself no more."""
        return (seen for seen in found if worked.is_claimed or not is_claim(seen.record, self._only.chains))
