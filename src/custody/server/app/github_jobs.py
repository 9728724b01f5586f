"""The jobs about GitHub: judge a pull request, keep what became of one, find reverts, index what a repository had.

Each looks at things as they are when it runs, not as a delivery told them, so doing one late or twice does no harm.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from custody.core.errors import InputError
from custody.core.wire.canonical import Json
from custody.git import BRANCHES, PULLS, Mirror, address_of, pull_of
from custody.server.app.control import control_of
from custody.server.app.github_pull_requests import PullRequestJudge
from custody.server.app.github_settings import KEY_FILE, MIRRORS, TOKEN_FILE, GitHubSettings, github_settings
from custody.server.github.api import GitHub
from custody.server.github.shapes import parse_commit_name, parse_repository_name, payload_from
from custody.workspace.workspace import Workspace

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
