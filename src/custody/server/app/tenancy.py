"""Who is let in: tokens and projects as they are kept, for a service that many ask at the same time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import TypeVar

from custody.core.errors import StoreError
from custody.server.app.control import control_of, storable
from custody.server.app.tenancy_model import Grant, TokenScope
from custody.server.app.tokens import has_shape, hash_of, is_good
from custody.server.control import ControlTables, TextReadRow
from custody.workspace.workspace import Workspace

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
