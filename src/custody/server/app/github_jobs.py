"""GitHub: its settings, and the jobs about pull requests, outcomes, reverts and indexes."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from custody import __version__
from custody.core.errors import CustodyError, GitError, InputError
from custody.core.ids import CommitSha
from custody.core.structs import format_struct
from custody.core.wire.canonical import Json
from custody.core.wire.time import format_timestamp
from custody.gate.app.gate import GateRequest, encode_verdict_form, gate
from custody.gate.wire.forms import MARK, encode_unchecked_run, escape_verdict_markup
from custody.gate.wire.report import GateReport, VerdictLevelName
from custody.git import BRANCHES, PULLS, Mirror, make_pull_refspec, parse_remote_url
from custody.server.app.tenancy import connect_control_tables
from custody.server.github.api import ApiCredential, AppKey, GitHub, GitHubRefusal, PlainToken
from custody.server.github.shapes import (
    Comment,
    Pull,
    find_pull_witness,
    job_payload_from_json,
    list_pull_approvals,
    parse_github_repository,
    parse_github_sha,
)
from custody.share.remote import is_loopback_host
from custody.workspace.workspace import Workspace

# Settings come from the environment and the files that it names, never from a repository.


API = "https://api.github.com"
SECRET_FILE, TOKEN_FILE = "CUSTODY_GITHUB_SECRET_FILE", "CUSTODY_GITHUB_TOKEN_FILE"
APP_ID, KEY_FILE = "CUSTODY_GITHUB_APP_ID", "CUSTODY_GITHUB_KEY_FILE"
API_URL, GIT_URL = "CUSTODY_GITHUB_API", "CUSTODY_GITHUB_GIT"
MIRRORS, COMMENTS = "CUSTODY_GITHUB_MIRRORS", "CUSTODY_GITHUB_COMMENTS"
SECRET_BYTES_MIN = 16
"""A shorter secret could be guessed."""


class GitHubSettings(Struct, frozen=True, kw_only=True):
    """How to reach GitHub; None for what is not set."""

    api: str = API
    git: str = "https://github.com"
    """The base URL of repositories."""
    key: ApiCredential | None = None
    secret: bytes | None = None
    mirrors: Path | None = None
    comments: bool = False

    def __repr__(self) -> str:
        return format_struct(self, but=("secret",))


def read_github_settings(environment: Mapping[str, str] = os.environ) -> GitHubSettings:
    """Read the settings from the environment; an unusable file is an error."""
    mirrors, api = environment.get(MIRRORS), _check_github_api_url(environment.get(API_URL, API))
    return GitHubSettings(
        api=api,
        git=environment.get(GIT_URL) or _derive_github_clone_url(api),
        key=_read_github_credential(environment),
        secret=_read_webhook_secret(environment),
        mirrors=None if not mirrors else Path(mirrors),
        comments=_parse_comments_switch(environment.get(COMMENTS, "")),
    )


def _check_github_api_url(url: str) -> str:
    """Check a URL that a key is sent to: encrypted, or on this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback_host(parts.hostname or "")):
        return url
    raise InputError(f"{API_URL} must start with https://")


def _derive_github_clone_url(api: str) -> str:
    """Return the base URL of the repositories of an API: GitHub's own, or that of an enterprise server.

    >>> _derive_github_clone_url("https://api.github.com"), _derive_github_clone_url("https://github.example/api/v3")
    ('https://github.com', 'https://github.example')
    """
    parts = urlsplit(api)
    return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"


def _read_github_credential(environment: Mapping[str, str]) -> ApiCredential | None:
    token, app, key = (environment.get(name) for name in (TOKEN_FILE, APP_ID, KEY_FILE))
    if token and (app or key):
        raise InputError(f"both {TOKEN_FILE} and {APP_ID} are set", hint="set one of them")
    if token:
        return PlainToken(_read_secret_file(token, TOKEN_FILE))
    if bool(app) != bool(key):
        raise InputError(f"{APP_ID} and {KEY_FILE} belong together", hint="set both")
    return AppKey(app, _read_secret_file(key, KEY_FILE)) if app and key else None


def _read_webhook_secret(environment: Mapping[str, str]) -> bytes | None:
    file = environment.get(SECRET_FILE)
    if not file:
        return None
    secret = _read_secret_file(file, SECRET_FILE).encode()
    if len(secret) < SECRET_BYTES_MIN:
        raise InputError(f"the webhook secret is shorter than {SECRET_BYTES_MIN} bytes", hint="generate a random one")
    return secret


def _read_secret_file(path: str, name: str) -> str:
    try:
        text = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the file of {name}", hint="check its path and owner") from error
    if not text:
        raise InputError(f"the file of {name} is empty")
    return text


def _parse_comments_switch(text: str) -> bool:
    if text.lower() in ("", "0", "no", "off", "false"):
        return False
    if text.lower() in ("1", "yes", "on", "true"):
        return True
    raise InputError(f"{COMMENTS} must be 'yes' or 'no'")


# Check a pull request and write a check run on its head, and one comment if configured.
# Names that the owner of a fork chose (branches, titles) never reach git or a URL: commits are fetched by their full
# ids, pull requests by their numbers.


CHECK = "custody"
"""The name of our check run."""
MOVES_MAX = 5
"""Maximum attempts while the head moves; after that, the next push triggers the verdict."""


class FetchDelayError(GitError):
    """Fetching the commits failed for now: network or server."""


class ReviewFate(Enum):
    """The result of checking a pull request."""

    REPORTED = "reported"
    CLOSED = "closed"
    """It was closed before it was checked."""
    MOVED = "moved"
    """Its head moved at every attempt."""


class Judgement(Struct, frozen=True):
    """The result and the verdict; ``level`` is None if the change could not be checked."""

    fate: ReviewFate
    level: VerdictLevelName | None = None


Fetch = Callable[[int], None]
"""Fetches the objects of a pull request into the repository of the workspace."""


class PullRequestJudge(Struct, frozen=True):
    """Checks the pull requests of one repository and reports to GitHub."""

    workspace: Workspace
    github: GitHub
    repository: str
    fetch: Fetch
    comments: bool = False

    def judge(self, number: int) -> Judgement:
        """Check a pull request in its current state; if its head moves meanwhile, check again."""
        pull = self.github.pull(self.repository, number)
        for _ in range(MOVES_MAX):
            if pull.state != "open":
                return Judgement(ReviewFate.CLOSED)
            head = parse_github_sha(pull.head.sha)
            report = self._report(number, pull)
            pull = self.github.pull(self.repository, number)
            if pull.head.sha == head:
                judgement = self._make_judgement(
                    number, head, report if isinstance(report, GateReport) else report.message
                )
                if isinstance(report, FetchDelayError):
                    raise report  # GitHub shows the missing verdict; the job is retried
                return judgement
        return Judgement(ReviewFate.MOVED)

    def _report(self, number: int, pull: Pull) -> GateReport | CustodyError:
        """Return the verdict, or the error that prevented it."""
        base, head = parse_github_sha(pull.base.sha), parse_github_sha(pull.head.sha)
        description = f"{pull.title}\n\n{pull.body or ''}\n".encode("utf-8", "replace")
        try:
            self.fetch(number)
        except GitError as error:
            return FetchDelayError(error.message, hint=error.hint)
        try:
            request = GateRequest(change=f"{base}..{head}", description=description, budget="reserve")
            return gate(self.workspace, request)
        except (InputError, GitError) as error:
            return error

    def _make_judgement(self, number: int, head: CommitSha, report: GateReport | str) -> Judgement:
        now = format_timestamp(self.workspace.now_ns())
        if isinstance(report, str):
            level, text = None, f"{MARK}\n**custody**: not checked: {escape_verdict_markup(report)}\n"
            body = encode_unchecked_run(head, now, report)
        else:
            level, text = report.level, encode_verdict_form(report, "markdown", __version__).decode()
            body = encode_verdict_form(report, "check-run", __version__)
        self._put(head, body)
        if self.comments:
            self._comment(number, text)
        return Judgement(ReviewFate.REPORTED, level)

    def _put(self, head: CommitSha, body: bytes) -> None:
        """Create or update our check run of that head; check runs of others with this name stay as they are."""
        for known in self.github.check_runs(self.repository, head, CHECK):
            try:
                self.github.put_check_run(self.repository, body, known.id)
            except GitHubRefusal:
                continue
            return
        self.github.put_check_run(self.repository, body)

    def _comment(self, number: int, text: str) -> None:
        """Create or edit our one comment; comments of others with our marker stay as they are."""
        put_own_comment(self.github, self.repository, number, text, MARK)


def put_own_comment(github: GitHub, repository: str, number: int, text: str, mark: str) -> int:
    """Create or edit our one comment that starts with ``mark``, and return its id; comments of others stay."""
    login = github.login()
    comments = github.comments(repository, number)
    known = next((comment.id for comment in comments if _is_own_github_comment(comment, login, mark)), None)
    return github.put_comment(repository, number, text, known)


def _is_own_github_comment(comment: Comment, login: str | None, mark: str) -> bool:
    if comment.user is None or not (comment.body or "").startswith(mark):
        return False
    return comment.user.type == "Bot" if login is None else comment.user.login == login


JUDGE, OUTCOME, REVERTS, INDEX = "github.judge", "github.outcome", "github.reverts", "github.index"
"""The kinds of these jobs."""


class GitHubSite(Struct, frozen=True):
    """A repository on GitHub: its mirror, the workspace of the mirror, the API."""

    repository: str
    workspace: Workspace
    mirror: Mirror
    github: GitHub
    settings: GitHubSettings

    def fetch(self, *refspecs: str) -> None:
        """Fetch refs of the repository."""
        self.mirror.fetch(parse_remote_url(f"{self.settings.git}/{self.repository}.git", self.mirror.folder), refspecs)

    def fetch_pull(self, number: int) -> None:
        """Fetch the head of one pull request and the branches."""
        self.fetch(BRANCHES, make_pull_refspec(number))


@contextmanager
def open_github_site(workspace: Workspace, repository: str, settings: GitHubSettings) -> Iterator[GitHubSite]:
    """Open a repository with its mirror and API; an ``InputError`` names a missing setting."""
    if workspace.database is None:
        raise InputError("GitHub needs a team database", hint="pass --database postgresql://…")
    if settings.mirrors is None:
        raise InputError(f"{MIRRORS} is not set", hint="set it to a folder for mirrors of repositories")
    if settings.key is None:
        raise InputError(f"neither {TOKEN_FILE} nor {KEY_FILE} is set", hint="see docs/github.md")
    name = parse_github_repository(repository)
    with connect_control_tables(workspace, as_service=True) as control:
        connection = control.github.find_by_name(name)
    if connection is None:
        raise InputError(f"'{name}' is not connected", hint="run 'custody github connect'")
    github = GitHub(settings.api, settings.key, workspace.now_ns, connection.installation)
    try:
        folder = settings.mirrors / f"{name.lower()}.git"
        mirror = Mirror(folder, github.clone_credential() if settings.git.startswith("https://") else None)
        yield GitHubSite(name, replace(workspace, folder=folder), mirror, github, settings)
    finally:
        github.close()


def judge_github_pull(workspace: Workspace, payload: Json) -> None:
    """Check a pull request in its current state, and report to GitHub."""
    with _open_job_site(workspace, payload) as (site, number):
        _record_approvals(site, site.github.pull(site.repository, number))
        judge = PullRequestJudge(
            site.workspace, site.github, site.repository, site.fetch_pull, comments=site.settings.comments
        )
        judgement = judge.judge(number)
        workspace.talk(f"{site.repository}#{number}: {judgement.fate.value} {judgement.level or ''}".rstrip())


def record_github_outcome(workspace: Workspace, payload: Json) -> None:
    """Record the outcome of a closed pull request; a reopened one has none yet."""
    from custody.trust.app.outcomes import OutcomeRequest, record_outcome

    with _open_job_site(workspace, payload) as (site, number):
        pull = site.github.pull(site.repository, number)
        if pull.state == "open":
            return
        site.fetch_pull(number)
        _record_approvals(site, pull)
        by = pull.merged_by if pull.is_merged else None
        witness = _find_host_witness(site, pull) if pull.is_merged else None
        request = OutcomeRequest(
            change=f"{parse_github_sha(pull.base.sha)}..{parse_github_sha(pull.head.sha)}",
            outcome="merged" if pull.is_merged else "closed",
            landed_as=parse_github_sha(pull.merge_commit_sha) if pull.is_merged and pull.merge_commit_sha else None,
            actor="github" if by is None else f"github:{by.login}",
            reason=f"{site.repository}#{number}",
            opened=pull.created_at,
            host_account=None if witness is None else f"github:{witness}",
        )
        record_outcome(site.workspace, request, believes_claims=True)


def _record_approvals(site: GitHubSite, pull: Pull) -> None:
    """Record that each second person who approved a head of a pull request read all of its hunks, once.

    Nothing is recorded where reviews cannot be read, or for a head that is gone or too large.
    """
    from custody.people.reads import ReadRequest, record_reads

    try:
        approvals = list_pull_approvals(pull, site.github.reviews(site.repository, pull.number))
        if approvals:
            site.fetch_pull(pull.number)
    except (GitHubRefusal, GitError):
        return
    for approval in approvals:
        account = f"github:{approval.login}"
        request = ReadRequest(
            change=f"{parse_github_sha(pull.base.sha)}..{approval.commit}",
            is_whole=True,
            person=account,
            via="approval",
            host_account=account,
        )
        try:
            recorded = record_reads(site.workspace, request).recorded
        except (InputError, GitError) as error:
            site.workspace.talk(f"{site.repository}#{pull.number}: approval not recorded: {error.message}")
            continue
        if recorded:
            site.workspace.talk(f"{site.repository}#{pull.number}: read by {account}")


def _find_host_witness(site: GitHubSite, pull: Pull) -> str | None:
    """Return the account that vouches for a merged pull request; without access to reviews, who merged it."""
    try:
        return find_pull_witness(pull, site.github.reviews(site.repository, pull.number))
    except GitHubRefusal:
        return find_pull_witness(pull, ())


def index_github_changes(workspace: Workspace, payload: Json) -> None:
    """Index every pull request and merged change of a repository, to find duplicates."""
    from custody.dupes.app.index import IndexRequest, dupes_index

    with _open_job_site(workspace, payload) as (site, _):
        site.fetch(BRANCHES, PULLS)
        dupes_index(site.workspace, IndexRequest(refs=("refs/pull/*/head", "refs/heads/*"), workers=1))


@contextmanager
def _open_job_site(workspace: Workspace, payload: Json) -> Iterator[tuple[GitHubSite, int]]:
    job = job_payload_from_json(payload)
    with open_github_site(workspace, job.repository, read_github_settings()) as site:
        yield site, job.number


def record_github_reverts(workspace: Workspace, payload: Json) -> None:
    """Record the changes that a push to the default branch reverted."""
    from custody.trust.app.reverts import trust_reverts

    job = job_payload_from_json(payload)
    before, after = parse_github_sha(job.before), parse_github_sha(job.after)
    with _open_job_site(workspace, payload) as (site, _):
        site.fetch(BRANCHES)
        # A new branch has no commit before, so all of it is searched.
        typed = after if set(before) == {"0"} else f"{before}..{after}"
        trust_reverts(site.workspace, typed, record=True, actor="github")
