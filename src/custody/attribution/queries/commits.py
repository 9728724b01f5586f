"""SQL about what connects sessions with commits and pull requests."""

from custody.core.ids import CommitSha
from custody.core.views import CommitLink, ObservedCommit, PullRequestFact
from custody.store import ObservedView, Store


def links_of_commit(store: Store, commit: CommitSha) -> list[ObservedView[CommitLink]]:
    """Return the sessions that are reported to have made ``commit``."""
    return store.views.look_up(CommitLink, "commit_sha = ?", (commit,))


def hook_reports_of_commit(store: Store, commit: CommitSha) -> list[ObservedView[ObservedCommit]]:
    """Return what git's own hooks reported of ``commit``."""
    return store.views.look_up(ObservedCommit, "commit_sha = ?", (commit,))


def facts_of_pull_request(store: Store, number: int) -> list[ObservedView[PullRequestFact]]:
    """Return what sessions reported of a pull request."""
    return store.views.look_up(PullRequestFact, "number = ?", (number,))
