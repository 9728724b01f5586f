"""The one comment on a pull request, from a review that another run uploaded.

The run of a fork's pull request has no secrets, so it uploads its review, and a run of the base branch comments. The
file is hostile: its size, its schema and its head are checked, and the comment is rendered here from its values alone.
"""

from collections.abc import Callable
from contextlib import closing

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.paths import RepoPath
from custody.review.app.artifact import decode_review
from custody.review.app.forms import MARK, encode_review_markdown
from custody.runs.app.evidence import get_review_rules
from custody.server.app.github_jobs import GitHubSettings, put_own_comment
from custody.server.github.api import GitHub, GitHubRefusal
from custody.server.github.shapes import GitHubCommentReport, parse_github_repository, parse_github_sha
from custody.workspace.rules_in_force import resolve_rules_in_force

TEAM_FILE = "custody.toml"


class CommentRequest(Struct, frozen=True, kw_only=True):
    """Where to comment: a pull request, if its head is still ``head``."""

    repository: str
    number: int
    head: str


def comment_review(
    settings: GitHubSettings, request: CommentRequest, artifact: bytes, now_ns: Callable[[], int]
) -> GitHubCommentReport:
    """Write or edit custody's comment on a pull request; nothing if its head moved or it was closed."""
    repository, head = parse_github_repository(request.repository), parse_github_sha(request.head)
    review = decode_review(artifact)
    if review.head != head or review.worktree:
        raise InputError("the review is not about this head", hint="pass the head that the run was about")
    if settings.key is None:
        raise InputError("no token for GitHub", hint="set CUSTODY_GITHUB_TOKEN_FILE")
    with closing(GitHub(settings.api, settings.key, now_ns)) as github:
        pull = github.pull(repository, request.number)
        if pull.state != "open" or pull.head.sha != head:
            return GitHubCommentReport(state="outdated", comment=None)
        with_prompts = review.publishes_prompts and _publishes_prompts(github, repository, pull.base.sha)
        link_base = f"{settings.git}/{repository}/blob/{head}"
        text = encode_review_markdown(review, link_base, with_prompts=with_prompts)
        known = put_own_comment(github, repository, request.number, text, MARK)
        return GitHubCommentReport(state="written", comment=known)


def _publishes_prompts(github: GitHub, repository: str, base: str) -> bool:
    """Return whether ``custody.toml`` of the base branch publishes excerpts of prompts; the upload cannot decide it."""

    def read(path: RepoPath) -> bytes | None:
        return github.read_file(repository, TEAM_FILE, base) if path.display == TEAM_FILE else None

    try:
        return get_review_rules(resolve_rules_in_force(read, {})[0]).publish_prompts
    except (InputError, GitHubRefusal):
        return False
