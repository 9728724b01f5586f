"""A team's PostgreSQL for a service: initialized, with projects, and a login that owns nothing."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from custody.server.app.tenancy import create_project, init_team_database
from custody.workspace.workspace import Workspace
from tests.builders.stores import NOON


@dataclass(frozen=True, slots=True)
class Team:
    """A database with two URLs: the owner's, and the service's."""

    owner: str
    service: str
    folder: Path

    def owners(self) -> Workspace:
        """Return the workspace of the database's owner."""
        return a_team_workspace(self.folder, self.owner)

    def workspace(self, project: str = "default") -> Workspace:
        """Return the workspace of a service; fails where row-level security is not in force."""
        return a_team_workspace(self.folder, self.service, project, bound=True)


def a_team_workspace(folder: Path, url: str, project: str = "default", *, bound: bool = False) -> Workspace:
    """Return a workspace on a team database, outside a repository, with a clock that ticks by a second."""
    ticks = count(NOON, 1_000_000_000)
    return Workspace(folder, url, now_ns=lambda: next(ticks), project=project, bound=bound)


@contextmanager
def a_team(url: str, folder: Path, *projects: str) -> Iterator[Team]:
    """Initialize the database at ``url``, with these projects besides the default one."""
    with a_login(url) as login:
        owner = a_team_workspace(folder, url)
        init_team_database(owner, login)
        for project in projects:
            create_project(owner, project)
        yield Team(url, as_role(url, login), folder)


@contextmanager
def a_copy(url: str) -> Iterator[str]:
    """Yield the URL of a copy of an idle database, dropped after the block."""
    name, original = f"custody_test_{secrets.token_hex(8)}", urlsplit(url).path.removeprefix("/")
    server = urlunsplit(urlsplit(url)._replace(path="/postgres"))
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{original}"'.encode())
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@contextmanager
def a_login(url: str) -> Iterator[str]:
    """Yield a role that may only log in; it is dropped after the block."""
    name = f"custody_test_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f'CREATE ROLE "{name}" LOGIN'.encode())
        try:
            yield name
        finally:
            admin.execute(f'DROP OWNED BY "{name}"'.encode())
            admin.execute(f'DROP ROLE "{name}"'.encode())


def as_role(url: str, role: str) -> str:
    """Return the URL of the same database for another user; our own test server trusts every user."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{role}@{host}"))
