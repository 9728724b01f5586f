"""What ``custody github`` and the webhook answer."""

from typing import Literal

import msgspec

from custody.core.wire.report import Report


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
