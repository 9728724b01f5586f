"""GitHub's shapes, as far as custody reads them: webhook deliveries, pull requests, check runs, comments.

What GitHub adds to its payloads later is passed over; what custody needs and does not find is an error that names it.
"""

import hashlib
import hmac
import re
from typing import Final, Literal, TypeVar

import msgspec

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.wire.report import Report
from custody.gate.wire.forms import to_the_second

_T = TypeVar("_T")

SIGNATURE_PREFIX: Final = "sha256="
REPOSITORY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}")
"""``owner/name`` as GitHub allows it; ``.`` and ``..`` are no names."""
SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class NamedRepository(msgspec.Struct, frozen=True):
    """A repository as payloads name it."""

    full_name: str
    default_branch: str = ""


class Login(msgspec.Struct, frozen=True):
    """An account; ``type`` is ``Bot`` for an app's."""

    login: str
    type: str = "User"


class PullRequestSide(msgspec.Struct, frozen=True):
    """One end of a pull request."""

    sha: str


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request: what webhooks carry and the API answers."""

    number: int
    state: str
    title: str = ""
    body: str | None = None
    merged: bool = False
    merged_at: str | None = None
    """Lists of pull requests have only this; ``merged`` is of a single one."""
    merge_commit_sha: str | None = None
    created_at: str | None = None
    merged_by: Login | None = None
    head: PullRequestSide
    base: PullRequestSide

    @property
    def is_merged(self) -> bool:
        """Whether it was merged, whichever of the two shapes this is."""
        return self.merged or self.merged_at is not None


class Installation(msgspec.Struct, frozen=True):
    """The installation of a GitHub App that a delivery belongs to."""

    id: int


class CheckRun(msgspec.Struct, frozen=True, kw_only=True):
    """A check run as the API answers it."""

    id: int
    pull_requests: list[dict[str, object]] = []


class CheckRuns(msgspec.Struct, frozen=True):
    """The API's answer to which check runs a commit has."""

    check_runs: list[CheckRun]


class Comment(msgspec.Struct, frozen=True):
    """A comment below a pull request."""

    id: int
    body: str | None = None
    user: Login | None = None


class AccessToken(msgspec.Struct, frozen=True):
    """A token for one installation of an app."""

    token: str
    expires_at: str


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One webhook delivery: of all events the fields that any of them needs."""

    action: str = ""
    repository: NamedRepository | None = None
    installation: Installation | None = None
    pull_request: Pull | None = None
    check_run: CheckRun | None = None
    ref: str = ""
    before: str = ""
    after: str = ""


def is_signed(body: bytes, secret: bytes, signature: str | None) -> bool:
    """Whether ``X-Hub-Signature-256`` was made over exactly these bytes with the secret.

    >>> is_signed(b"Hello, World!", b"It's a Secret to Everybody",
    ...     "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
    True
    """
    if not secret:
        raise InputError("a webhook's secret cannot be empty")
    if signature is None or not signature.startswith(SIGNATURE_PREFIX):
        return False
    expected = hmac.new(secret, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.removeprefix(SIGNATURE_PREFIX).encode("utf-8", "replace"))


def decode_delivery(body: bytes) -> Delivery:
    """A delivery's payload."""
    return decode_payload(body, Delivery, "the delivery")


def decode_payload(body: bytes, shape: type[_T], what: str) -> _T:
    """An answer or payload of GitHub's as a value."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{what} is not what GitHub sends: {error}") from error


def parse_repository_name(typed: str) -> str:
    """``owner/name``, checked; nothing else ever becomes part of an address or a path."""
    owner, _, name = typed.partition("/")
    if REPOSITORY.fullmatch(typed) is None or name in (".", "..") or owner.endswith("-"):
        raise InputError(f"{typed!r} is no repository of GitHub's", hint="give it as OWNER/NAME")
    return typed


def parse_commit_name(typed: str) -> CommitSha:
    """A commit's full name, checked."""
    if SHA.fullmatch(typed) is None:
        raise InputError(f"{typed!r} is no commit's full name")
    return CommitSha(typed)


class _CommentText(msgspec.Struct, frozen=True):
    title: str
    summary: str


class _SkippedReview(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    head_sha: str
    status: str = "completed"
    conclusion: str = "action_required"
    completed_at: str
    output: _CommentText


def encode_unjudged(name: str, head: CommitSha, as_of: str, why: str) -> bytes:
    """The body of a check run for a change that could not be judged: somebody has to act, it is not let pass."""
    output = _CommentText("could not be judged", f"custody could not judge this change: {why}")
    return msgspec.json.encode(
        _SkippedReview(name=name, head_sha=head, completed_at=to_the_second(as_of), output=output)
    )


class JobPayload(msgspec.Struct, frozen=True, kw_only=True):
    """What a job about a repository of GitHub's is handed."""

    repository: str
    number: int = 0
    before: str = ""
    after: str = ""


def payload_from(value: object) -> JobPayload:
    """A job's payload as a value."""
    try:
        return msgspec.convert(value, JobPayload)
    except msgspec.ValidationError as error:
        raise InputError(f"the job is none of ours: {error}") from error


# What ``custody github`` and the webhook answer.


class GitHubLine(msgspec.Struct, frozen=True):
    """A repository, the project that it belongs to, and the app's installation if deliveries named one."""

    name: str
    project: str
    installation: int | None


class GitHubConnectReport(Report, frozen=True, kw_only=True, tag="github-connect"):
    """What was done with a repository."""

    done: Literal["connected", "disconnected"]
    repository: GitHubLine


class GitHubListReport(Report, frozen=True, kw_only=True, tag="github-list"):
    """Every repository that is connected, by name."""

    repositories: list[GitHubLine]


class GitHubBackfillReport(Report, frozen=True, kw_only=True, tag="github-backfill"):
    """The pull requests that a repository has, and how many jobs were added for them."""

    repository: GitHubLine
    open: int
    closed: int
    added: int


class WebhookReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a delivery, and how many jobs it made."""

    taken: str
    said: str
    jobs: int
