"""The JSON of GitHub that custody reads: webhook deliveries, pull requests, check runs, comments.

Unknown fields are ignored; a missing field that custody needs is an error that names it.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Final, Literal, TypeGuard, TypeVar

import msgspec

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.patterns import lazy_pattern
from custody.core.wire.report import Report

_T = TypeVar("_T")

SIGNATURE_PREFIX: Final = "sha256="
REPOSITORY = lazy_pattern(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}")
"""``owner/name`` as GitHub allows it; ``.`` and ``..`` are not names."""
SHA = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")


class NamedRepository(msgspec.Struct, frozen=True):
    """A repository in a payload."""

    full_name: str
    default_branch: str = ""


class Login(msgspec.Struct, frozen=True):
    """An account; ``type`` is ``Bot`` for an app."""

    login: str
    type: str = "User"


class PullRequestSide(msgspec.Struct, frozen=True):
    """The base or the head of a pull request."""

    sha: str


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request, from a webhook or the API."""

    number: int
    state: str
    title: str = ""
    body: str | None = None
    merged: bool = False
    merged_at: str | None = None
    """In lists of pull requests; ``merged`` is only in single ones."""
    merge_commit_sha: str | None = None
    created_at: str | None = None
    user: Login | None = None
    merged_by: Login | None = None
    head: PullRequestSide
    base: PullRequestSide

    @property
    def is_merged(self) -> bool:
        """Whether it was merged, in a list or alone."""
        return self.merged or self.merged_at is not None


class PullReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review of a pull request; ``commit_id`` is the head that was reviewed."""

    state: str = ""
    user: Login | None = None
    commit_id: str | None = None
    author_association: str = ""


class PullApproval(msgspec.Struct, frozen=True):
    """An account that approved a pull request, and the head that it approved."""

    login: str
    commit: CommitSha


class Installation(msgspec.Struct, frozen=True):
    """The installation of a GitHub App that a delivery belongs to."""

    id: int


class CheckRun(msgspec.Struct, frozen=True, kw_only=True):
    """A check run from the API."""

    id: int
    pull_requests: list[dict[str, object]] = []


class CheckRuns(msgspec.Struct, frozen=True):
    """The check runs of a commit, from the API."""

    check_runs: list[CheckRun]


class Comment(msgspec.Struct, frozen=True):
    """A comment on a pull request."""

    id: int
    body: str | None = None
    user: Login | None = None


class FileContent(msgspec.Struct, frozen=True):
    """A file of a repository; its content is in base64, with line ends."""

    content: str
    encoding: str


class AccessToken(msgspec.Struct, frozen=True):
    """A token for one installation of an app."""

    token: str
    expires_at: str


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook delivery, with the fields that any event needs."""

    action: str = ""
    repository: NamedRepository | None = None
    installation: Installation | None = None
    pull_request: Pull | None = None
    check_run: CheckRun | None = None
    ref: str = ""
    before: str = ""
    after: str = ""


REVIEWER_ASSOCIATIONS: Final = frozenset(("OWNER", "MEMBER", "COLLABORATOR"))
"""Whose reviews count: anybody may approve a public pull request."""
_APPROVED: Final = "APPROVED"
_COMMENTED: Final = "COMMENTED"


def find_pull_witness(pull: Pull, reviews: Iterable[PullReview]) -> str | None:
    """Return the account that vouches for a merged pull request; None if no second person does.

    That is the last person who approved its head, else the person who merged it, never its author.
    """
    if pull.user is None:
        return None
    latest: dict[str, PullReview] = {}
    for review in reviews:
        if review.user is not None and review.state != _COMMENTED:
            latest.pop(review.user.login, None)
            latest[review.user.login] = review
    approvals = [review.user for review in latest.values() if _is_approval_of_head(review, pull)]
    candidates = [*approvals[::-1], pull.merged_by]
    return next((account.login for account in candidates if _is_second_person(account, pull.user)), None)


def list_pull_approvals(pull: Pull, reviews: Iterable[PullReview]) -> list[PullApproval]:
    """Return who approved which head of a pull request, each once: members, never its author."""
    approvals: dict[PullApproval, None] = {}
    for review in reviews:
        is_known = pull.user is not None and review.commit_id is not None and SHA.fullmatch(review.commit_id)
        if pull.user is not None and is_known and _is_member_approval(review) and review.commit_id is not None:
            account = review.user
            if _is_second_person(account, pull.user):
                approvals[PullApproval(account.login, CommitSha(review.commit_id))] = None
    return list(approvals)


def _is_approval_of_head(review: PullReview, pull: Pull) -> bool:
    return _is_member_approval(review) and review.commit_id == pull.head.sha


def _is_member_approval(review: PullReview) -> bool:
    return review.state == _APPROVED and review.author_association in REVIEWER_ASSOCIATIONS


def _is_second_person(account: Login | None, author: Login) -> TypeGuard[Login]:
    return account is not None and account.type == "User" and account.login.casefold() != author.login.casefold()


def has_valid_webhook_signature(body: bytes, secret: bytes, signature: str | None) -> bool:
    """Return whether ``X-Hub-Signature-256`` is valid for these bytes and the secret.

    >>> has_valid_webhook_signature(b"Hello, World!", b"It's a Secret to Everybody",
    ...     "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
    True
    """
    if not secret:
        raise InputError("the webhook secret cannot be empty")
    if signature is None or not signature.startswith(SIGNATURE_PREFIX):
        return False
    expected = hmac.new(secret, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.removeprefix(SIGNATURE_PREFIX).encode("utf-8", "replace"))


def decode_webhook_delivery(body: bytes) -> Delivery:
    """Decode the payload of a delivery."""
    return decode_github_payload(body, Delivery, "the delivery")


def decode_github_payload(body: bytes, shape: type[_T], label: str) -> _T:
    """Decode an answer or a payload of GitHub; ``label`` names it in errors."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"cannot parse {label} from GitHub: {error}") from error


def parse_github_repository(text: str) -> str:
    """Parse ``owner/name``; nothing else ever becomes part of a URL or a path."""
    owner, _, name = text.partition("/")
    if REPOSITORY.fullmatch(text) is None or name in (".", "..") or owner.endswith("-"):
        raise InputError(f"invalid GitHub repository {text!r}", hint="write it as OWNER/NAME")
    return text


def parse_github_sha(text: str) -> CommitSha:
    """Parse the full id of a commit."""
    if SHA.fullmatch(text) is None:
        raise InputError(f"invalid commit id {text!r}")
    return CommitSha(text)


class JobPayload(msgspec.Struct, frozen=True, kw_only=True):
    """The payload of a job about a GitHub repository."""

    repository: str
    number: int = 0
    before: str = ""
    after: str = ""


def job_payload_from_json(value: object) -> JobPayload:
    """Parse the payload of a job."""
    try:
        return msgspec.convert(value, JobPayload)
    except msgspec.ValidationError as error:
        raise InputError(f"invalid job payload: {error}") from error


# Reports of ``custody github`` and the webhook.


class GitHubLine(msgspec.Struct, frozen=True):
    """A repository, its project, and the installation of the app if a delivery named one."""

    name: str
    project: str
    installation: int | None


class GitHubConnectReport(Report, frozen=True, kw_only=True, tag="github-connect"):
    """A repository that was connected or disconnected."""

    done: Literal["connected", "disconnected"]
    repository: GitHubLine


class GitHubListReport(Report, frozen=True, kw_only=True, tag="github-list"):
    """The connected repositories by name."""

    repositories: list[GitHubLine]


class GitHubBackfillReport(Report, frozen=True, kw_only=True, tag="github-backfill"):
    """The number of pull requests of a repository, and of jobs added for them."""

    repository: GitHubLine
    open: int
    closed: int
    added: int


class WebhookReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a delivery, and the number of jobs added."""

    taken: str
    said: str
    jobs: int


class GitHubCommentReport(Report, frozen=True, kw_only=True, tag="github-comment"):
    """What became of a comment: ``written`` with its id, or ``outdated`` where the pull request moved or was closed."""

    state: Literal["written", "outdated"]
    comment: int | None
