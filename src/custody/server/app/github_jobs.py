"""GitHub: its settings, and the jobs about pull requests, outcomes, reverts and indexes."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit

from custody import __version__
from custody.core.errors import CustodyError, GitError, InputError
from custody.core.ids import CommitSha
from custody.core.wire.canonical import Json
from custody.core.wire.time import text_from
from custody.gate.app.gate import GateRequest, formed, gate
from custody.gate.wire.forms import MARK, escape_markup
from custody.gate.wire.report import GateReport, VerdictLevelName
from custody.git import BRANCHES, PULLS, Mirror, address_of, pull_of
from custody.server.app.tenancy import control_of
from custody.server.github.api import ApiCredential, AppKey, GitHub, GitHubRefusal, PlainToken
from custody.server.github.shapes import (
    Comment,
    Pull,
    encode_unjudged,
    parse_commit_name,
    parse_repository_name,
    payload_from,
)
from custody.workspace.workspace import Workspace

# What an operator says about GitHub: by the environment and by files that it names, never by a repository.


API = "https://api.github.com"
SECRET_FILE, TOKEN_FILE = "CUSTODY_GITHUB_SECRET_FILE", "CUSTODY_GITHUB_TOKEN_FILE"
APP_ID, KEY_FILE = "CUSTODY_GITHUB_APP_ID", "CUSTODY_GITHUB_KEY_FILE"
API_URL, GIT_URL = "CUSTODY_GITHUB_API", "CUSTODY_GITHUB_GIT"
MIRRORS, COMMENTS = "CUSTODY_GITHUB_MIRRORS", "CUSTODY_GITHUB_COMMENTS"
SECRET_BYTES_MIN = 16
"""A shorter secret can be guessed."""
LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubSettings:
    """How GitHub is spoken to; None for what was not said."""

    api: str = API
    git: str = "https://github.com"
    """Repositories are fetched from below this."""
    key: ApiCredential | None = None
    secret: bytes | None = field(default=None, repr=False)
    mirrors: Path | None = None
    comments: bool = False


def github_settings(environment: Mapping[str, str] = os.environ) -> GitHubSettings:
    """The settings in the environment; a file that is named and cannot be used is an error."""
    mirrors, api = environment.get(MIRRORS), _api(environment.get(API_URL, API))
    return GitHubSettings(
        api=api,
        git=environment.get(GIT_URL) or _git(api),
        key=_key(environment),
        secret=_secret(environment),
        mirrors=None if not mirrors else Path(mirrors),
        comments=_switch(environment.get(COMMENTS, "")),
    )


def _api(url: str) -> str:
    """An address that a key may be sent to: encrypted, or on this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return url
    raise InputError(f"{API_URL} must begin with https://")


def _git(api: str) -> str:
    """Where git finds the repositories of an API: GitHub's own, or the host of an enterprise's server.

    >>> _git("https://api.github.com"), _git("https://github.example/api/v3")
    ('https://github.com', 'https://github.example')
    """
    parts = urlsplit(api)
    return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"


def _key(environment: Mapping[str, str]) -> ApiCredential | None:
    token, app, key = (environment.get(name) for name in (TOKEN_FILE, APP_ID, KEY_FILE))
    if token and (app or key):
        raise InputError(f"both {TOKEN_FILE} and {APP_ID} are set", hint="set one of them")
    if token:
        return PlainToken(_text(token, TOKEN_FILE))
    if bool(app) != bool(key):
        raise InputError(f"{APP_ID} and {KEY_FILE} belong together", hint="set both")
    return AppKey(app, _text(key, KEY_FILE)) if app and key else None


def _secret(environment: Mapping[str, str]) -> bytes | None:
    file = environment.get(SECRET_FILE)
    if not file:
        return None
    secret = _text(file, SECRET_FILE).encode()
    if len(secret) < SECRET_BYTES_MIN:
        raise InputError(f"the webhook's secret has fewer than {SECRET_BYTES_MIN} bytes", hint="make a random one")
    return secret


def _text(path: str, name: str) -> str:
    try:
        text = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the file that {name} names cannot be read", hint="check its path and who owns it") from error
    if not text:
        raise InputError(f"the file that {name} names is empty")
    return text


def _switch(text: str) -> bool:
    if text.lower() in ("", "0", "no", "off", "false"):
        return False
    if text.lower() in ("1", "yes", "on", "true"):
        return True
    raise InputError(f"{COMMENTS} is 'yes' or 'no'")


# Judge a pull request and tell GitHub: a check run on its head, and one comment where that is wanted.
# Of what a fork's owner chose (names of branches, of the fork, titles) nothing reaches git or an address: commits are
# asked for by their full names, the request by its number.


CHECK = "custody"
"""The name of our check run."""
MOVES_MAX = 5
"""So often a head may move while it is judged; who pushes faster gets the verdict on a later delivery."""


class FetchDelayError(GitError):
    """The commits could not be had for now: a network, a server."""


class ReviewFate(Enum):
    """What became of the wish to judge a pull request."""

    TOLD = "told"
    CLOSED = "closed"
    """It was closed before anybody looked."""
    MOVED = "moved"
    """Its head moved each time it was looked at."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of the wish, and the verdict; ``level`` is None where the change could not be judged."""

    fate: ReviewFate
    level: VerdictLevelName | None = None


Fetch = Callable[[int], None]
"""Brings the objects of the pull request of this number into the repository of the workspace."""


@dataclass(frozen=True, slots=True)
class PullRequestJudge:
    """Where pull requests of one repository are judged, and how GitHub is told."""

    workspace: Workspace
    github: GitHub
    repository: str
    fetch: Fetch
    comments: bool = False

    def judge(self, number: int) -> Judgement:
        """Judge a pull request as it is now; a head that moves meanwhile is judged again, never told as the old one."""
        pull = self.github.pull(self.repository, number)
        for _ in range(MOVES_MAX):
            if pull.state != "open":
                return Judgement(ReviewFate.CLOSED)
            head = parse_commit_name(pull.head.sha)
            report = self._report(number, pull)
            pull = self.github.pull(self.repository, number)
            if pull.head.sha == head:
                told = self._make_judgement(number, head, report if isinstance(report, GateReport) else report.message)
                if isinstance(report, FetchDelayError):
                    raise report  # it is told that there is no verdict yet; the job is tried again
                return told
        return Judgement(ReviewFate.MOVED)

    def _report(self, number: int, pull: Pull) -> GateReport | CustodyError:
        """The verdict, or why there is none."""
        base, head = parse_commit_name(pull.base.sha), parse_commit_name(pull.head.sha)
        said = f"{pull.title}\n\n{pull.body or ''}\n".encode("utf-8", "replace")
        try:
            self.fetch(number)
        except GitError as error:
            return FetchDelayError(error.message, hint=error.hint)
        try:
            return gate(self.workspace, GateRequest(change=f"{base}..{head}", description=said))
        except (InputError, GitError) as error:
            return error

    def _make_judgement(self, number: int, head: CommitSha, report: GateReport | str) -> Judgement:
        now = text_from(self.workspace.now_ns())
        if isinstance(report, str):
            level, text = None, f"{MARK}\n**custody**: could not be judged: {escape_markup(report)}\n"
            body = encode_unjudged(CHECK, head, now, escape_markup(report))
        else:
            level, text = report.level, formed(report, "markdown", __version__).decode()
            body = formed(report, "check-run", __version__)
        self._put(head, body)
        if self.comments:
            self._comment(number, text)
        return Judgement(ReviewFate.TOLD, level)

    def _put(self, head: CommitSha, body: bytes) -> None:
        """Write our check run of that head, changed if there is one; another's of that name is not ours to change."""
        for known in self.github.check_runs(self.repository, head, CHECK):
            try:
                self.github.put_check_run(self.repository, body, known.id)
            except GitHubRefusal:
                continue
            return
        self.github.put_check_run(self.repository, body)

    def _comment(self, number: int, text: str) -> None:
        """Write our one comment, edited in place; somebody else's with our mark stays as it is."""
        login = self.github.login()
        comments = self.github.comments(self.repository, number)
        known = next((comment.id for comment in comments if _is_ours(comment, login)), None)
        self.github.put_comment(self.repository, number, text, known)


def _is_ours(comment: Comment, login: str | None) -> bool:
    if comment.user is None or not (comment.body or "").startswith(MARK):
        return False
    return comment.user.type == "Bot" if login is None else comment.user.login == login


JUDGE, OUTCOME, REVERTS, INDEX = "github.judge", "github.outcome", "github.reverts", "github.index"
"""The kinds of these jobs."""


@dataclass(frozen=True, slots=True)
class GitHubSite:
    """One repository of GitHub's: its mirror, the workspace beside the mirror, the API."""

    repository: str
    workspace: Workspace
    mirror: Mirror
    github: GitHub
    settings: GitHubSettings

    def fetch(self, *wanted: str) -> None:
        """Bring references of the repository here."""
        self.mirror.fetch(address_of(f"{self.settings.git}/{self.repository}.git", self.mirror.folder), wanted)

    def fetch_pull(self, number: int) -> None:
        """Bring the head of one pull request and the branches."""
        self.fetch(BRANCHES, pull_of(number))


@contextmanager
def site_of(workspace: Workspace, repository: str, settings: GitHubSettings) -> Iterator[GitHubSite]:
    """What is needed to work on a repository; an ``InputError`` names what the operator has not said."""
    if workspace.database is None:
        raise InputError("GitHub needs a team database", hint="add --database postgresql://…")
    if settings.mirrors is None:
        raise InputError(f"{MIRRORS} is not set", hint="name a folder in which repositories are mirrored")
    if settings.key is None:
        raise InputError(f"neither {TOKEN_FILE} nor {KEY_FILE} is set", hint="docs/github.md says how to connect")
    name = parse_repository_name(repository)
    with control_of(workspace, as_service=True) as control:
        connected = control.github.named(name)
    if connected is None:
        raise InputError(f"'{name}' is not connected", hint="'custody github connect' does that")
    github = GitHub(settings.api, settings.key, workspace.now_ns, connected.installation)
    try:
        folder = settings.mirrors / f"{name.lower()}.git"
        mirror = Mirror(folder, github.clone_credential() if settings.git.startswith("https://") else None)
        yield GitHubSite(name, replace(workspace, folder=folder), mirror, github, settings)
    finally:
        github.close()


def judge_pull(workspace: Workspace, payload: Json) -> None:
    """Judge a pull request as it is now, and tell GitHub."""
    with _working(workspace, payload) as (site, number):
        bench = PullRequestJudge(
            site.workspace, site.github, site.repository, site.fetch_pull, comments=site.settings.comments
        )
        judgement = bench.judge(number)
        workspace.talk(f"{site.repository}#{number}: {judgement.fate.value} {judgement.level or ''}".rstrip())


def keep_outcome(workspace: Workspace, payload: Json) -> None:
    """Record what became of a pull request that is closed; one that was opened again has no outcome yet."""
    from custody.trust.app.outcomes import OutcomeRequest, record_outcome

    with _working(workspace, payload) as (site, number):
        pull = site.github.pull(site.repository, number)
        if pull.state == "open":
            return
        site.fetch_pull(number)
        by = pull.merged_by if pull.is_merged else None
        told = OutcomeRequest(
            change=f"{parse_commit_name(pull.base.sha)}..{parse_commit_name(pull.head.sha)}",
            outcome="merged" if pull.is_merged else "closed",
            landed_as=parse_commit_name(pull.merge_commit_sha) if pull.is_merged and pull.merge_commit_sha else None,
            actor="github" if by is None else f"github:{by.login}",
            reason=f"{site.repository}#{number}",
            opened=pull.created_at,
        )
        record_outcome(site.workspace, told, believes_claims=True)


def index_changes(workspace: Workspace, payload: Json) -> None:
    """Index every pull request and landed change of a repository, for the search for duplicates."""
    from custody.dupes.app.index import IndexRequest, dupes_index

    with _working(workspace, payload) as (site, _):
        site.fetch(BRANCHES, PULLS)
        dupes_index(site.workspace, IndexRequest(refs=("refs/pull/*/head", "refs/heads/*"), workers=1))


@contextmanager
def _working(workspace: Workspace, payload: Json) -> Iterator[tuple[GitHubSite, int]]:
    job = payload_from(payload)
    with site_of(workspace, job.repository, github_settings()) as site:
        yield site, job.number


def record_reverts(workspace: Workspace, payload: Json) -> None:
    """Record which changes a push to the default branch took back."""
    from custody.trust.app.reverts import trust_reverts

    job = payload_from(payload)
    before, after = parse_commit_name(job.before), parse_commit_name(job.after)
    with _working(workspace, payload) as (site, _):
        site.fetch(BRANCHES)
        # A branch that is new has no commit before: all of it is looked through.
        typed = after if set(before) == {"0"} else f"{before}..{after}"
        trust_reverts(site.workspace, typed, record=True, actor="github")
