"""SQL about what connects sessions with commits and pull requests."""

from custody.core.ids import CommitSha
from custody.core.views import CommitLink, CommitSeen, PullRequestFact
from custody.store import Seen, Store


def links_of_commit(store: Store, commit: CommitSha) -> list[Seen[CommitLink]]:
    """Return the sessions that are reported to have made ``commit``."""
    return store.views.look_up(CommitLink, "commit_sha = ?", (commit,))


def hook_reports_of_commit(store: Store, commit: CommitSha) -> list[Seen[CommitSeen]]:
    """Return what git's own hooks reported of ``commit``."""
    return store.views.look_up(CommitSeen, "commit_sha = ?", (commit,))


def facts_of_pull_request(store: Store, number: int) -> list[Seen[PullRequestFact]]:
    """Return what sessions reported of a pull request."""
    return store.views.look_up(PullRequestFact, "number = ?", (number,))
