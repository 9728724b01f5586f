"""Projects and tokens: who is let in and for what, and the use cases behind ``custody project`` and ``token``."""

import hashlib
import hmac
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from threading import Lock
from typing import Protocol, TypeVar

from custody.core.errors import InputError, StoreError
from custody.core.ids import DEFAULT_PROJECT, project_name
from custody.core.wire.time import text_from
from custody.server.control import ControlTables, Project, TextReadRow, Token, control_in_file, control_in_postgres
from custody.server.control.database import initialise
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
from custody.store import SERVICE_ROLE, drop_project, make_project
from custody.workspace.workspace import Workspace

# What a service asks before it lets somebody in: which token is good for which project, and for what.
# An ``AccessKeeper`` answers: that of a service on this machine, or the one that stores projects and tokens.


class TokenScope(Enum):
    """What a token is good for; none of them includes another."""

    READ = "read"
    WRITE = "write"
    TEXT = "text"
    """The texts of conversations; each read of one is noted."""
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token that was presented is good for, until when if it ends."""

    project: str
    scopes: frozenset[TokenScope]
    token_id: str
    """Names the token, in logs and in the list of reads; it opens nothing."""
    expires_ns: int | None


class AccessKeeper(Protocol):
    """Knows the tokens and the projects; safe to ask from several threads."""

    def grant(self, presented: str, now_ns: int) -> Grant | None:
        """What this token is good for now; None of one that is unknown, revoked or past its time."""
        ...

    def workspace(self, project: str) -> Workspace:
        """Where the project's evidence is kept."""
        ...

    def noted_read(self, grant: Grant, what: str) -> None:
        """Keeps, before the text is handed out, that this token read the text of ``what``."""
        ...


# Open the control tables of a workspace: projects, tokens, reads and jobs.


def control_of(workspace: Workspace, *, as_service: bool = False) -> ControlTables:
    """The control tables of the team database or of this repository's store; ``as_service`` with its few rights."""
    if workspace.database is not None:
        return control_in_postgres(workspace.database, as_service=as_service)
    control = control_in_file(workspace.service_file)
    if control.projects.named(DEFAULT_PROJECT) is None:
        control.projects.put_default(workspace.now_ns())
    return control


def storable(text: str, signs_max: int) -> str:
    """``text`` as any database holds it: no zero sign, no half of a pair, no longer than it may be.

    >>> storable("a\\0b\\ud800", 10)
    'a?b?'
    """
    return text[:signs_max].replace("\0", "?").encode("utf-8", "replace").decode()


def project_of(control: ControlTables, name: str) -> Project:
    """The project of that name; an ``InputError`` when there is none."""
    found = control.projects.named(name)
    if found is None:
        raise InputError(
            f"there is no project '{name}'",
            hint="'custody project list' shows those that there are, 'custody project create' makes one",
        )
    return found


# Tokens: made once, shown once, kept as a hash, revoked by their id.


PREFIX = "cdy_"
"""So that a token is known for one wherever it turns up: redaction takes it out."""
SECRET_DIGITS = 64
ID_DIGITS = 16
NAME_SIGNS_MAX = 100
NEVER = "never"

_SECRET = re.compile(rf"{PREFIX}[0-9a-f]{{{SECRET_DIGITS}}}", re.ASCII)
_TERM = re.compile(r"([1-9][0-9]{0,4})([hdwy])", re.ASCII)
_HOUR_NS = 3_600 * 1_000_000_000
_TERM_NS = {"h": _HOUR_NS, "d": 24 * _HOUR_NS, "w": 7 * 24 * _HOUR_NS, "y": 365 * 24 * _HOUR_NS}


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """What a new token is to be good for, and for how long: ``90d``, ``12h``, ``never``."""

    project: str
    scopes: Sequence[TokenScope]
    expires: str
    name: str


def create_token(workspace: Workspace, wanted: TokenRequest) -> TokenCreateReport:
    """Make a token; the report is the only place where it is ever shown."""
    now = workspace.now_ns()
    secret = PREFIX + workspace.token() + workspace.token()  # each half has 128 random bits
    if len(wanted.name) > NAME_SIGNS_MAX:
        raise InputError(f"the name of a token has at most {NAME_SIGNS_MAX} signs")
    made = Token(
        id=workspace.token()[:ID_DIGITS],
        hash=hash_of(secret),
        project=wanted.project,
        name=storable(wanted.name, NAME_SIGNS_MAX),
        scopes=tuple(scope.value for scope in TokenScope if scope in wanted.scopes),
        created_ns=now,
        expires_ns=expiry(wanted.expires, now),
    )
    with control_of(workspace) as control:
        project_of(control, wanted.project)
        control.tokens.put(made)
    return TokenCreateReport(token=_token_line(made, now), secret=secret)


def list_tokens(workspace: Workspace, project: str | None) -> TokenListReport:
    """Every token that was made, or those of one project, oldest first."""
    with control_of(workspace) as control:
        if project is not None:
            project_of(control, project)
        return TokenListReport(tokens=[_token_line(token, workspace.now_ns()) for token in control.tokens.all(project)])


def revoke_token(workspace: Workspace, id_: str) -> TokenRevokeReport:
    """Have a token open nothing from now on."""
    with control_of(workspace) as control:
        token = control.tokens.revoke(id_, workspace.now_ns())
    if token is None:
        raise InputError(f"there is no token '{id_}'", hint="'custody token list' shows the ids")
    return TokenRevokeReport(token=_token_line(token, workspace.now_ns()))


def is_good(token: Token, presented: str, now_ns: int) -> bool:
    """Whether what was presented is this token, and it still opens something."""
    same = hmac.compare_digest(token.hash, hash_of(presented))
    return same and token.revoked_ns is None and (token.expires_ns is None or now_ns < token.expires_ns)


def has_shape(presented: str) -> bool:
    """Whether this could be a token at all."""
    return _SECRET.fullmatch(presented) is not None


def hash_of(secret: str) -> bytes:
    """What is kept of a token: 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def expiry(text: str, now_ns: int) -> int | None:
    """The moment that lies ``text`` from now; None for never.

    >>> expiry("2h", 0)
    7200000000000
    """
    if text == NEVER:
        return None
    term = _TERM.fullmatch(text)
    if term is None:
        raise InputError(f"'{text[:40]}' is no length of time", hint="write 12h, 90d, 4w, 1y or never")
    return now_ns + int(term[1]) * _TERM_NS[term[2]]


def _token_line(token: Token, now_ns: int) -> TokenLine:
    ended = token.expires_ns is not None and token.expires_ns <= now_ns
    return TokenLine(
        id=token.id,
        name=token.name,
        project=token.project,
        scopes=list(token.scopes),
        state="revoked" if token.revoked_ns is not None else "expired" if ended else "active",
        created=text_from(token.created_ns),
        expires=_text(token.expires_ns),
        last_used=_text(token.used_ns),
        revoked=_text(token.revoked_ns),
    )


def _text(ns: int | None) -> str | None:
    return None if ns is None else text_from(ns)


USED_NS = 3_600 * 1_000_000_000
"""A token's last use is kept to the hour, so that asking seldom writes."""
IDLE_MAX = 8
"""Connections that are kept open between questions."""
WHAT_SIGNS_MAX = 1_000

T = TypeVar("T")


class StoredTenancy:
    """The ``Keeper`` of projects and tokens that are kept; asked from any thread, it never answers from memory."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._controls = _Controls(lambda: control_of(workspace, as_service=True))
        with self._controls.connect():
            pass  # a database that was not initialised is refused now, not at the first question

    def grant(self, presented: str, now_ns: int) -> Grant | None:
        """What this token is good for now; None of one that is unknown, revoked or past its time."""
        if not has_shape(presented):
            return None
        return self._controls.ask(lambda control: _grant(control, presented, now_ns))

    def workspace(self, project: str) -> Workspace:
        """Where the project's evidence is kept, as a role that sees no other project."""
        return replace(
            self._workspace,
            project=project,
            bound=True,
            spooled=self._workspace.spooled and project == self._workspace.project,
        )

    def noted_read(self, grant: Grant, what: str) -> None:
        """Keeps, before the text is handed out, that this token read the text of ``what``."""
        id_, read = (
            self._workspace.token(),
            TextReadRow(grant.token_id, storable(what, WHAT_SIGNS_MAX), self._workspace.now_ns()),
        )
        self._controls.ask(lambda control: control.reads.put(id_, grant.project, read))

    def close(self) -> None:
        """Let go of every connection."""
        self._controls.close()


def _grant(control: ControlTables, presented: str, now_ns: int) -> Grant | None:
    token = control.tokens.hashed(hash_of(presented))
    if token is None or not is_good(token, presented, now_ns):
        return None
    if token.used_ns is None or token.used_ns + USED_NS <= now_ns:
        control.tokens.used(token.id, now_ns)
    return Grant(token.project, frozenset(TokenScope(scope) for scope in token.scopes), token.id, token.expires_ns)


class _Controls:
    """Open connections to the control tables, each used by one thread at a time."""

    def __init__(self, open_: Callable[[], ControlTables]) -> None:
        self._open = open_
        self._idle: list[ControlTables] = []
        self._alone = Lock()

    def ask(self, question: Callable[[ControlTables], T]) -> T:
        """Ask on a connection that waits; if that has died, once more on a new one."""
        with self._alone:
            waited = bool(self._idle)
        try:
            with self.connect() as control:
                return question(control)
        except StoreError:
            if not waited:
                raise
            self.close()
            with self.connect() as control:
                return question(control)

    @contextmanager
    def connect(self) -> Iterator[ControlTables]:
        """A connection for one question; one that failed is not used again."""
        with self._alone:
            control = self._idle.pop() if self._idle else None
        control = control or self._open()
        try:
            yield control
        except BaseException:
            control.close()
            raise
        self._put_back(control)

    def close(self) -> None:
        """Close what waits."""
        with self._alone:
            idle, self._idle = self._idle, []
        for control in idle:
            control.close()

    def _put_back(self, control: ControlTables) -> None:
        with self._alone:
            if len(self._idle) < IDLE_MAX:
                self._idle.append(control)
                return
        control.close()


# Projects: made, listed, removed; how long their conversations are kept, and who read them.


def init_database(workspace: Workspace, login: str | None) -> ProjectInitReport:
    """As the owner of a team database: make the role, the tables and the rights that a service needs."""
    if workspace.database is None:
        raise InputError(
            "only a team database is initialised", hint="add --database URL; the embedded store needs nothing"
        )
    return ProjectInitReport(
        role=SERVICE_ROLE, login=login, projects=initialise(workspace.database, workspace.now_ns(), login)
    )


def create_project(workspace: Workspace, name: str) -> ProjectReport:
    """Make a project with a store of its own; one that a killed attempt left half made is finished."""
    with control_of(workspace) as control:
        if control.projects.named(project_name(name)) is not None:
            raise InputError(f"there is a project '{name}' already")
        # The store first: a project that is listed can be used.
        _make_store(workspace, name)
        if not control.projects.put(name, workspace.now_ns()):
            raise InputError(f"there is a project '{name}' already")
        return ProjectReport(done="created", project=_project_line(project_of(control, name)))


def list_projects(workspace: Workspace) -> ProjectListReport:
    """Every project, by name."""
    with control_of(workspace) as control:
        return ProjectListReport(projects=[_project_line(project) for project in control.projects.all()])


def retain_project(workspace: Workspace, name: str, days: int | None) -> ProjectReport:
    """Say after how many days the texts of a project's conversations are erased; None for never."""
    with control_of(workspace) as control:
        project_of(control, name)
        control.projects.retain(name, days)
        return ProjectReport(done="retained", project=_project_line(project_of(control, name)))


def remove_project(workspace: Workspace, name: str) -> ProjectReport:
    """Drop a project with its evidence, tokens and jobs; only who read its conversations stays."""
    if name == DEFAULT_PROJECT:
        raise InputError("the default project stays", hint="erase what it holds with 'custody erase'")
    with control_of(workspace) as control:
        project = project_of(control, name)
        # The tokens first, so that nobody is let in who would find half a store. The name last: killed before, the
        # project is still listed and can be removed again, and nobody makes a new one around what is left of it.
        control.projects.close(name)
        _drop_store(workspace, name)
        control.projects.remove(name)
        return ProjectReport(done="removed", project=_project_line(project))


def project_reads(workspace: Workspace, name: str, limit: int) -> ProjectReadsReport:
    """Who read texts of a project's conversations, newest first; also of one that was removed."""
    with control_of(workspace) as control:
        total = control.reads.count(name)
        if not total:
            project_of(control, name)
        reads = [ReadLine(read.token, read.what, text_from(read.at_ns)) for read in control.reads.of(name, limit)]
        return ProjectReadsReport(project=name, reads=reads, total=total)


def _make_store(workspace: Workspace, name: str) -> None:
    if workspace.database is not None:
        make_project(workspace.database, name)
        return
    folder = replace(workspace, project=name).folder_of_project
    if folder is None:
        raise InputError("there is no repository here")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make '{folder}': {error.strerror}", hint="check who owns it") from error


def _drop_store(workspace: Workspace, name: str) -> None:
    if workspace.database is not None:
        drop_project(workspace.database, name)
        return
    folder = replace(workspace, project=name).folder_of_project
    try:
        if folder is not None and folder != workspace.home and folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise StoreError(f"cannot remove '{folder}': {error.strerror}", hint="remove it by hand") from error


def _project_line(project: Project) -> ProjectLine:
    return ProjectLine(project.name, text_from(project.created_ns), project.retain_days)
