"""What ``custody project``, ``custody token`` and ``custody worker`` answer."""

from typing import Literal

import msgspec

from custody.core.wire.report import Report


class ProjectLine(msgspec.Struct, frozen=True):
    """A project, when it was made, and for how many days texts of its conversations are kept (null: for ever)."""

    name: str
    created: str
    retain_days: int | None


class ProjectReport(Report, frozen=True, kw_only=True, tag="project"):
    """What was done with a project."""

    done: Literal["created", "retained", "removed"]
    project: ProjectLine


class ProjectListReport(Report, frozen=True, kw_only=True, tag="project-list"):
    """Every project, by name."""

    projects: list[ProjectLine]


class ProjectInitReport(Report, frozen=True, kw_only=True, tag="project-init-database"):
    """The role that a service works as, which login may, and the projects that were brought up to date."""

    role: str
    login: str | None
    projects: list[str]


class ReadLine(msgspec.Struct, frozen=True):
    """That a text of a conversation was read: with which token, what, when."""

    token: str
    what: str
    at: str


class ProjectReadsReport(Report, frozen=True, kw_only=True, tag="project-reads"):
    """The last reads of a project's conversations, newest first, and how many there were in all."""

    project: str
    reads: list[ReadLine]
    total: int


class TokenLine(msgspec.Struct, frozen=True):
    """What is known of a token; its id opens nothing."""

    id: str
    name: str
    project: str
    scopes: list[str]
    state: Literal["active", "expired", "revoked"]
    created: str
    expires: str | None
    last_used: str | None
    revoked: str | None


class TokenCreateReport(Report, frozen=True, kw_only=True, tag="token-create"):
    """A new token; ``secret`` is what is presented, and is kept nowhere."""

    token: TokenLine
    secret: str


class TokenListReport(Report, frozen=True, kw_only=True, tag="token-list"):
    """Tokens, oldest first."""

    tokens: list[TokenLine]


class TokenRevokeReport(Report, frozen=True, kw_only=True, tag="token-revoke"):
    """The token that opens nothing any more."""

    token: TokenLine


class JobLine(msgspec.Struct, frozen=True):
    """A job: where it is, how often it was begun, when it may be taken, and the words of its last error."""

    id: str
    kind: str
    project: str
    key: str
    state: Literal["waiting", "leased", "done", "aside"]
    attempts: int
    due: str
    error: str | None


class WorkerReport(Report, frozen=True, kw_only=True, tag="worker"):
    """What a worker did; ``found`` when it had to set a job aside."""

    done: int
    again: int
    aside: int
    lost: int


class WorkerListReport(Report, frozen=True, kw_only=True, tag="worker-list"):
    """Jobs that are not done, those due first first, and how many there are in each state."""

    jobs: list[JobLine]
    waiting: int
    leased: int
    done: int
    aside: int


class WorkerRetryReport(Report, frozen=True, kw_only=True, tag="worker-retry"):
    """The job that waits again."""

    job: JobLine


# What ``custody report`` answers.


class PagesReport(Report, frozen=True, kw_only=True, tag="report"):
    """The folder and its first page; ``left_out`` pages have no link, ``failed`` ones say why in their place."""

    folder: str
    first: str
    files: int
    pages: int
    left_out: int
    failed: list[str]
    texts: bool


# What ``custody serve`` says when it begins to answer.


class ServeReport(Report, frozen=True, kw_only=True, tag="serve"):
    """Where the service answers; the token of this start is not in it."""

    url: str
    host: str
    port: int
