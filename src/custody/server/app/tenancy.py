"""Projects and tokens: access control, and the use cases of ``custody project`` and ``custody token``."""

import hashlib
import hmac
import logging
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from threading import Lock
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError, StoreError
from custody.core.ids import DEFAULT_PROJECT, check_project_name
from custody.core.patterns import lazy_pattern
from custody.core.wire.time import format_timestamp
from custody.server.control import ControlTables, Project, TextReadRow, Token, open_control_file, open_control_postgres
from custody.server.control.database import initialize_control_tables
from custody.server.wire.tenancy import (
    ProjectInitReport,
    ProjectLine,
    ProjectListReport,
    ProjectReadsReport,
    ProjectReport,
    ReadLine,
    TokenCreateReport,
    TokenLine,
    TokenListReport,
    TokenRevokeReport,
)
from custody.store import SERVICE_ROLE, StoreUnreachable, create_project_schema, drop_project_schema
from custody.workspace.workspace import Workspace


class TokenScope(Enum):
    """A right of a token; no scope includes another."""

    READ = "read"
    WRITE = "write"
    TEXT = "text"
    """Text of conversations; every read is logged."""
    ADMIN = "admin"


class Grant(Struct, frozen=True):
    """The project and scopes of a valid token, and its expiry."""

    project: str
    scopes: frozenset[TokenScope]
    token_id: str
    """The public id of the token, for logs and the list of reads."""
    expires_ns: int | None


class AccessKeeper(Protocol):
    """Checks tokens and opens projects; safe to call from several threads."""

    def grant(self, presented: str, now_ns: int) -> Grant | None:
        """Return the rights of a token; None if it is unknown, revoked or expired."""
        ...

    def workspace(self, project: str) -> Workspace:
        """Return the workspace of a project."""
        ...

    def record_text_read(self, grant: Grant, what: str) -> None:
        """Log that this token reads the text of ``what``; called before the text is returned."""
        ...


def connect_control_tables(workspace: Workspace, *, as_service: bool = False) -> ControlTables:
    """Open the control tables of the team database or this repository; ``as_service`` with the service's rights."""
    if workspace.database is not None:
        return open_control_postgres(workspace.database, as_service=as_service)
    control = open_control_file(workspace.service_file)
    if control.projects.find_by_name(DEFAULT_PROJECT) is None:
        control.projects.put_default(workspace.now_ns())
    return control


def sanitize_tenancy_text(text: str, characters_max: int) -> str:
    """Return ``text`` as every database can store it: no NUL, no lone surrogate, cut to the maximum length.

    >>> sanitize_tenancy_text("a\\0b\\ud800", 10)
    'a?b?'
    """
    return text[:characters_max].replace("\0", "?").encode("utf-8", "replace").decode()


def require_project(control: ControlTables, name: str) -> Project:
    """Return the project of this name; an ``InputError`` if there is none."""
    project = control.projects.find_by_name(name)
    if project is None:
        raise InputError(
            f"unknown project '{name}'",
            hint="'custody project list' lists projects, 'custody project create' creates one",
        )
    return project


PREFIX = "cdy_"
"""Marks tokens in any text, so that redaction removes them."""
SECRET_DIGITS = 64
ID_DIGITS = 16
NAME_CHARACTERS_MAX = 100
NEVER = "never"

_SECRET = lazy_pattern(rf"{PREFIX}[0-9a-f]{{{SECRET_DIGITS}}}", re.ASCII)
_TERM = lazy_pattern(r"([1-9][0-9]{0,4})([hdwy])", re.ASCII)
_HOUR_NS = 3_600 * 1_000_000_000
_TERM_NS = {"h": _HOUR_NS, "d": 24 * _HOUR_NS, "w": 7 * 24 * _HOUR_NS, "y": 365 * 24 * _HOUR_NS}


class TokenRequest(Struct, frozen=True):
    """The project, scopes, lifetime (``90d``, ``12h``, ``never``) and name of a new token."""

    project: str
    scopes: Sequence[TokenScope]
    expires: str
    name: str


def create_token(workspace: Workspace, request: TokenRequest) -> TokenCreateReport:
    """Create a token; only this report ever contains its secret."""
    now = workspace.now_ns()
    secret = PREFIX + workspace.token() + workspace.token()  # each half has 128 random bits
    if len(request.name) > NAME_CHARACTERS_MAX:
        raise InputError(f"the name of a token is too long: the maximum is {NAME_CHARACTERS_MAX} characters")
    token = Token(
        id=workspace.token()[:ID_DIGITS],
        hash=hash_token_secret(secret),
        project=request.project,
        name=sanitize_tenancy_text(request.name, NAME_CHARACTERS_MAX),
        scopes=tuple(scope.value for scope in TokenScope if scope in request.scopes),
        created_ns=now,
        expires_ns=parse_token_expiry(request.expires, now),
    )
    with connect_control_tables(workspace) as control:
        require_project(control, request.project)
        control.tokens.put(token)
    return TokenCreateReport(token=_make_token_line(token, now), secret=secret)


def list_tokens(workspace: Workspace, project: str | None) -> TokenListReport:
    """List all tokens, or those of one project, oldest first."""
    with connect_control_tables(workspace) as control:
        if project is not None:
            require_project(control, project)
        return TokenListReport(
            tokens=[_make_token_line(token, workspace.now_ns()) for token in control.tokens.list_all(project)]
        )


def revoke_token(workspace: Workspace, id_: str) -> TokenRevokeReport:
    """Revoke a token."""
    with connect_control_tables(workspace) as control:
        token = control.tokens.revoke(id_, workspace.now_ns())
    if token is None:
        raise InputError(f"unknown token '{id_}'", hint="'custody token list' lists the ids")
    return TokenRevokeReport(token=_make_token_line(token, workspace.now_ns()))


def is_token_valid(token: Token, presented: str, now_ns: int) -> bool:
    """Return whether ``presented`` is this token, and it is neither revoked nor expired."""
    same = hmac.compare_digest(token.hash, hash_token_secret(presented))
    return same and token.revoked_ns is None and (token.expires_ns is None or now_ns < token.expires_ns)


def has_token_format(presented: str) -> bool:
    """Return whether a text has the format of a token."""
    return _SECRET.fullmatch(presented) is not None


def hash_token_secret(secret: str) -> bytes:
    """Return the stored hash of a token; 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def parse_token_expiry(text: str, now_ns: int) -> int | None:
    """Parse a lifetime and return the expiry; None for never.

    >>> parse_token_expiry("2h", 0)
    7200000000000
    """
    if text == NEVER:
        return None
    term = _TERM.fullmatch(text)
    if term is None:
        raise InputError(f"invalid lifetime '{text[:40]}'", hint="use 12h, 90d, 4w, 1y or never")
    return now_ns + int(term[1]) * _TERM_NS[term[2]]


def _make_token_line(token: Token, now_ns: int) -> TokenLine:
    is_expired = token.expires_ns is not None and token.expires_ns <= now_ns
    return TokenLine(
        id=token.id,
        name=token.name,
        project=token.project,
        scopes=list(token.scopes),
        state="revoked" if token.revoked_ns is not None else "expired" if is_expired else "active",
        created=format_timestamp(token.created_ns),
        expires=_format_token_time(token.expires_ns),
        last_used=_format_token_time(token.used_ns),
        revoked=_format_token_time(token.revoked_ns),
    )


def _format_token_time(ns: int | None) -> str | None:
    return None if ns is None else format_timestamp(ns)


USED_NS = 3_600 * 1_000_000_000
"""The last use of a token is stored to the hour, so that requests seldom write."""
IDLE_MAX = 8
"""Maximum idle connections."""
WHAT_CHARACTERS_MAX = 1_000

T = TypeVar("T")

_LOG = logging.getLogger("custody.service")


class StoredTenancy:
    """The ``AccessKeeper`` of stored projects and tokens; it checks the database at every call.

    It may be created while the database is down; calls then raise ``StoreUnreachable`` until it is up.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._controls = _Controls(lambda: connect_control_tables(workspace, as_service=True))
        with suppress(StoreUnreachable), self._controls.connect():
            pass  # fail now, not at the first request, if the database is not initialized

    def grant(self, presented: str, now_ns: int) -> Grant | None:
        """Return the rights of a token; None if it is unknown, revoked or expired."""
        if not has_token_format(presented):
            return None
        return self._controls.ask(lambda control: _grant_token_access(control, presented, now_ns))

    def workspace(self, project: str) -> Workspace:
        """Return the workspace of a project, with a role that sees no other project."""
        return replace(
            self._workspace,
            project=project,
            bound=True,
            spooled=self._workspace.spooled and project == self._workspace.project,
        )

    def record_text_read(self, grant: Grant, what: str) -> None:
        """Log that this token reads the text of ``what``; called before the text is returned."""
        id_, read = (
            self._workspace.token(),
            TextReadRow(grant.token_id, sanitize_tenancy_text(what, WHAT_CHARACTERS_MAX), self._workspace.now_ns()),
        )
        self._controls.ask(lambda control: control.reads.put(id_, grant.project, read))

    def close(self) -> None:
        """Close every connection."""
        self._controls.close()


def _grant_token_access(control: ControlTables, presented: str, now_ns: int) -> Grant | None:
    token = control.tokens.find_by_hash(hash_token_secret(presented))
    if token is None or not is_token_valid(token, presented, now_ns):
        return None
    if token.used_ns is None or token.used_ns + USED_NS <= now_ns:
        control.tokens.record_use(token.id, now_ns)
    return Grant(token.project, frozenset(TokenScope(scope) for scope in token.scopes), token.id, token.expires_ns)


class _Controls:
    """Open connections to the control tables, each used by one thread at a time."""

    def __init__(self, open_: Callable[[], ControlTables]) -> None:
        self._open = open_
        self._idle: list[ControlTables] = []
        self._lock = Lock()
        self._outage: str | None = None
        """Why the last connection failed; None after a success."""

    def ask(self, question: Callable[[ControlTables], T]) -> T:
        """Run a query on an idle connection; if that one is dead, again on a new one."""
        with self._lock:
            is_reused = bool(self._idle)
        try:
            with self.connect() as control:
                return question(control)
        except StoreError:
            if not is_reused:
                raise
            self.close()
            with self.connect() as control:
                return question(control)

    @contextmanager
    def connect(self) -> Iterator[ControlTables]:
        """Borrow a connection; after an error it is closed."""
        with self._lock:
            control = self._idle.pop() if self._idle else None
        control = control or self._open_logged()
        try:
            yield control
        except BaseException:
            control.close()
            raise
        self._put_back(control)

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for control in idle:
            control.close()

    def _open_logged(self) -> ControlTables:
        """Open a connection; log one line when the database goes away, and one when it is back."""
        try:
            control = self._open()
        except StoreError as error:
            if self._outage != error.message:
                self._outage = error.message
                _LOG.error("answering 503 until the database is back: %s", error.message)
            raise
        if self._outage is not None:
            self._outage = None
            _LOG.info("the database is back")
        return control

    def _put_back(self, control: ControlTables) -> None:
        with self._lock:
            if len(self._idle) < IDLE_MAX:
                self._idle.append(control)
                return
        control.close()


def init_team_database(workspace: Workspace, login: str | None) -> ProjectInitReport:
    """Create the role, tables and rights of a service; needs the owner of the team database."""
    if workspace.database is None:
        raise InputError("only a team database needs initializing", hint="pass --database URL")
    return ProjectInitReport(
        role=SERVICE_ROLE,
        login=login,
        projects=initialize_control_tables(workspace.database, workspace.now_ns(), login),
    )


def create_project(workspace: Workspace, name: str) -> ProjectReport:
    """Create a project with its own store, or finish one that an interrupted attempt left."""
    with connect_control_tables(workspace) as control:
        if control.projects.find_by_name(check_project_name(name)) is not None:
            raise InputError(f"project '{name}' already exists")
        # The store first, so that every listed project can be used.
        _make_project_store(workspace, name)
        if not control.projects.put(name, workspace.now_ns()):
            raise InputError(f"project '{name}' already exists")
        return ProjectReport(done="created", project=_make_project_line(require_project(control, name)))


def list_projects(workspace: Workspace) -> ProjectListReport:
    """List all projects by name."""
    with connect_control_tables(workspace) as control:
        return ProjectListReport(projects=[_make_project_line(project) for project in control.projects.list_all()])


def set_project_retention(workspace: Workspace, name: str, days: int | None) -> ProjectReport:
    """Set after how many days the conversations of a project are erased; None for never."""
    with connect_control_tables(workspace) as control:
        require_project(control, name)
        control.projects.retain(name, days)
        return ProjectReport(done="retained", project=_make_project_line(require_project(control, name)))


def remove_project(workspace: Workspace, name: str) -> ProjectReport:
    """Remove a project with its evidence, tokens and jobs; the log of reads stays."""
    if name == DEFAULT_PROJECT:
        raise InputError("cannot remove the default project", hint="erase its content with 'custody erase'")
    with connect_control_tables(workspace) as control:
        project = require_project(control, name)
        # The tokens first, so that no caller sees half a store. The name last: if this is interrupted, the project is
        # still listed and can be removed again, and its name cannot be reused.
        control.projects.close(name)
        _drop_project_store(workspace, name)
        control.projects.remove(name)
        return ProjectReport(done="removed", project=_make_project_line(project))


def list_project_reads(workspace: Workspace, name: str, limit: int) -> ProjectReadsReport:
    """List who read conversations of a project, newest first; works for removed projects too."""
    with connect_control_tables(workspace) as control:
        total = control.reads.count(name)
        if not total:
            require_project(control, name)
        reads = [
            ReadLine(read.token, read.what, format_timestamp(read.at_ns))
            for read in control.reads.list_newest(name, limit)
        ]
        return ProjectReadsReport(project=name, reads=reads, total=total)


def _make_project_store(workspace: Workspace, name: str) -> None:
    if workspace.database is not None:
        create_project_schema(workspace.database, name)
        return
    folder = replace(workspace, project=name).folder_of_project
    if folder is None:
        raise InputError("not in a git repository")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot create '{folder}': {error.strerror}", hint="check who owns it") from error


def _drop_project_store(workspace: Workspace, name: str) -> None:
    if workspace.database is not None:
        drop_project_schema(workspace.database, name)
        return
    folder = replace(workspace, project=name).folder_of_project
    try:
        if folder is not None and folder != workspace.home and folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise StoreError(f"cannot remove '{folder}': {error.strerror}", hint="remove it by hand") from error


def _make_project_line(project: Project) -> ProjectLine:
    return ProjectLine(project.name, format_timestamp(project.created_ns), project.retain_days)
