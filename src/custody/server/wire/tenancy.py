"""Reports of ``custody project``, ``token``, ``worker``, ``report`` and ``serve``."""

from typing import Literal

import msgspec

from custody.core.wire.report import Report


class ProjectLine(msgspec.Struct, frozen=True):
    """A project, its creation time, and for how many days its conversations are stored (null: forever)."""

    name: str
    created: str
    retain_days: int | None


class ProjectReport(Report, frozen=True, kw_only=True, tag="project"):
    """A project that was created, changed or removed."""

    done: Literal["created", "retained", "removed"]
    project: ProjectLine


class ProjectListReport(Report, frozen=True, kw_only=True, tag="project-list"):
    """All projects by name."""

    projects: list[ProjectLine]


class ProjectInitReport(Report, frozen=True, kw_only=True, tag="project-init-database"):
    """The role of the service, the login that may use it, and the migrated projects."""

    role: str
    login: str | None
    projects: list[str]


class ReadLine(msgspec.Struct, frozen=True):
    """A read of a conversation: the token, the text, the time."""

    token: str
    what: str
    at: str


class ProjectReadsReport(Report, frozen=True, kw_only=True, tag="project-reads"):
    """The last reads of a project's conversations, newest first, and the total number."""

    project: str
    reads: list[ReadLine]
    total: int


class TokenLine(msgspec.Struct, frozen=True):
    """A token without its secret."""

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
    """A new token; ``secret`` is not stored."""

    token: TokenLine
    secret: str


class TokenListReport(Report, frozen=True, kw_only=True, tag="token-list"):
    """Tokens, oldest first."""

    tokens: list[TokenLine]


class TokenRevokeReport(Report, frozen=True, kw_only=True, tag="token-revoke"):
    """The revoked token."""

    token: TokenLine


class JobLine(msgspec.Struct, frozen=True):
    """A job: its state, number of attempts, due time, and last error."""

    id: str
    kind: str
    project: str
    key: str
    state: Literal["waiting", "leased", "done", "aside"]
    attempts: int
    due: str
    error: str | None


class WorkerReport(Report, frozen=True, kw_only=True, tag="worker"):
    """The number of jobs by result; ``found`` if one failed for good (``aside``)."""

    done: int
    again: int
    aside: int
    lost: int


class WorkerListReport(Report, frozen=True, kw_only=True, tag="worker-list"):
    """Unfinished jobs, the first due first, and the number in each state."""

    jobs: list[JobLine]
    waiting: int
    leased: int
    done: int
    aside: int


class WorkerRetryReport(Report, frozen=True, kw_only=True, tag="worker-retry"):
    """The job to retry."""

    job: JobLine


class PagesReport(Report, frozen=True, kw_only=True, tag="report"):
    """The folder of a report and its first page; ``left_out`` pages have no link, ``failed`` ones show the reason."""

    folder: str
    first: str
    files: int
    pages: int
    left_out: int
    failed: list[str]
    texts: bool


class ServeReport(Report, frozen=True, kw_only=True, tag="serve"):
    """The URL of the service, without the token of this start."""

    url: str
    host: str
    port: int
