"""The workspace of a command: its repository, store and spool."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import get_ident
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from custody.capture.hook.event_home import find_user_state_folder, locate_event_fallback, read_capture_gaps
from custody.capture.spool import Spool, format_rejected_gap
from custody.core.errors import InputError, SpoolError, StoreError
from custody.core.ids import DEFAULT_PROJECT, PENDING, StoreId, check_project_name
from custody.core.wire.arrival import make_loss_arrival
from custody.git import ObjectConnections, Repository, WorkFile, discover_repository
from custody.store import (
    SCHEMA_VERSION,
    Db,
    Heads,
    Store,
    StoreEnvironment,
    StoreUnwritable,
    open_sqlite,
    open_sqlite_overlay,
    open_sqlite_to_read,
    split_row_batches,
)
from custody.workspace.machine import machine_now_ns, make_machine_token
from custody.workspace.wiring import VIEWS

T = TypeVar("T")
NO_REPOSITORY = "not a git repository"
NO_REPOSITORY_HINT = "run inside a git repository, or name one with -C"


class CommandResources:
    """The stores, repositories and rules of one command; stores are shared only in the thread that created it."""

    def __init__(self) -> None:
        self._thread = get_ident()
        self._stores: dict[Hashable, Store] = {}
        self._opened: list[Store] = []
        self._values: dict[Hashable, object] = {}
        self._connections: list[ObjectConnections] = []

    def idle_store(self, key: Hashable) -> Store | None:
        """Return the store shared under ``key``, unless it is another thread's or inside a transaction."""
        store = self._stores.get(key) if get_ident() == self._thread else None
        return None if store is None or store.is_in_transaction() else store

    def share(self, key: Hashable, store: Store) -> None:
        """Keep a store open under ``key`` until the command ends; ignore other threads and a second store."""
        if get_ident() == self._thread and key not in self._stores:
            self._stores[key] = store
            self._opened.append(store)

    def is_shared(self, store: Store) -> bool:
        """Return whether a store stays open until the command ends."""
        return any(opened is store for opened in self._opened)

    def forget(self, store: Store) -> None:
        """Stop sharing a store that failed; the next caller opens another."""
        self._stores = {key: shared for key, shared in self._stores.items() if shared is not store}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the first result of ``make`` for ``key``."""
        if key not in self._values:
            self._values[key] = make()
        value: T = self._values[key]  # type: ignore[assignment]  # one key has values of one type
        return value

    def share_git(self, repository: Repository) -> Repository:
        """Return the repository with git processes that serve all its readers until the command ends."""
        shared = repository.share_connections()
        if shared.connections is not None:
            self._connections.append(shared.connections)
        return shared

    def close(self) -> None:
        """Close every store that was shared, and end git."""
        while self._connections:
            self._connections.pop().close()
        self._stores.clear()
        while self._opened:
            self._opened.pop().close()


BATCH = 256
"""Events per transaction."""


def ingest_spool(spool: Spool, store: Store, now_ns: Callable[[], int]) -> int:
    """Append every pending event to the chain, set invalid ones aside, and return the number of new records.

    Files are removed after they are appended: if the process is killed, the next call finishes the work.
    """
    record_count = 0
    while spool.names():
        pending = spool.oldest(BATCH)
        if pending.arrivals:
            record_count += len(store.append(pending.arrivals).made)
            spool.remove((arrival.entry.event for arrival in pending.arrivals), but=pending.refused)
        if pending.refused:
            # Recorded first, so that deleting the file does not hide the loss.
            ingest_gap_lines([format_rejected_gap(file) for file in pending.refused], store, now_ns())
            spool.set_aside(file.event for file in pending.refused)
    return record_count


def ingest_gap_lines(lines: Sequence[str], store: Store, now_ns: int) -> None:
    """Append gaps to the chain, so that deleting the file of gaps hides nothing."""
    arrivals = [make_loss_arrival(line, now_ns) for line in dict.fromkeys(lines)]
    known = store.tables.find_known([arrival.entry for arrival in arrivals])
    new = [arrival for arrival in arrivals if arrival.entry.event not in known.events]
    for batch in split_row_batches(new, BATCH):
        store.append(batch)


def ingest_spool_copy(spool: Spool, store: Store) -> int:
    """Append pending events to a private copy of the store, without changing the spool."""
    record_count = files_read = 0
    total = len(spool.names())
    while files_read < total:
        pending = spool.oldest(BATCH, skip=files_read)
        if not pending.files:
            break
        files_read += pending.files
        record_count += len(store.append(pending.arrivals, chain=PENDING).made)
    return record_count


Talk = Callable[[str], None]
"""Prints a warning that is not part of the result."""


class Progress(Struct, frozen=True):
    """Callbacks: the start of a task with its total if known, and each advance; ``start_bytes`` counts bytes."""

    start: Callable[[str, int | None], None] = lambda _what, _total: None
    step: Callable[[int], None] = lambda _count: None
    start_bytes: Callable[[str, int], None] = lambda _what, _total: None


class Workspace(Struct, frozen=True, dict=True):
    """The workspace of a verb: a folder inside a repository, optionally a team database, and its project."""

    folder: Path
    database: str | None = None
    talk: Talk = lambda _: None
    progress: Progress = field(default_factory=Progress)
    now_ns: Callable[[], int] = machine_now_ns
    token: Callable[[], str] = make_machine_token
    project: str = DEFAULT_PROJECT
    spooled: bool = True
    """Whether pending events of this repository belong to this project."""
    bound: bool = False
    """Whether to refuse a team database without row-level security for us, as services do."""
    resources: CommandResources | None = None
    """The resources that one command shares; without them every call opens its own store, as a service does."""
    buffers: tuple[WorkFile, ...] = ()
    """Files as an editor holds them, instead of those on disk."""

    @cached_property
    def repository(self) -> Repository:
        """Return the repository around the folder, with the buffers in place of the files on disk."""
        repository = self._repository_on_disk
        return replace(repository, buffers=self.buffers) if self.buffers else repository

    @cached_property
    def _repository_on_disk(self) -> Repository:
        resources = self.resources
        if resources is None:
            return discover_repository(self.folder)
        return self.once(("repository", self.folder), lambda: resources.share_git(discover_repository(self.folder)))

    def with_buffer(self, file: str, content: bytes) -> Workspace:
        """Return the workspace with ``content`` as the text of a file, whatever is on disk.

        Raises ``InputError`` for a path outside the repository, and without a work tree.
        """
        repository = self.repository
        if repository.work_tree is None:
            raise InputError(f"'{repository.git_dir}' has no work tree", hint="run inside a work tree")
        path = repository.path(file, self.folder)
        others = (buffer for buffer in self.buffers if buffer.path != path)
        return replace(self, buffers=(*others, WorkFile(path, content)))

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of ``make``, called once per command and ``key``; without a command, each time."""
        return make() if self.resources is None else self.resources.once(key, make)

    @cached_property
    def home(self) -> Path | None:
        """Return the folder of this repository's store; None for a team database outside a repository."""
        try:
            return self.repository.common_dir / "custody"
        except InputError:
            if self.database is None:
                raise
            return None

    @cached_property
    def spools(self) -> tuple[Spool, ...]:
        """Return the spools of this repository: its own, and the user's for when that cannot be written."""
        # Hooks record for the repository itself, not for another embedded project.
        if self.home is None or not self.spooled or self.folder_of_project != self.home:
            return ()
        return Spool(self.home / "spool"), Spool(self.fallback / "spool")

    @property
    def fallback(self) -> Path:
        """Return the user's folder for events that could not be written to this repository."""
        return Path(locate_event_fallback(str(self.home), dict(os.environ)))

    @property
    def gap_folders(self) -> tuple[Path, ...]:
        """Return the folders with gaps of this repository; none for a team database outside a repository."""
        if self.home is None:
            return ()
        # The last one is for a user-level hook that could not find a repository.
        return self.home, self.fallback, Path(find_user_state_folder(dict(os.environ)))

    @property
    def store_name(self) -> str:
        """Return the name of the store for people, without a password."""
        return "the team database" if self.database is not None else str(self._file)

    @contextmanager
    def reading(self) -> Iterator[Store]:
        """Open a store with every acknowledged event: ingested if it can be written, else added in memory."""
        try:
            # An empty one if nothing was ever recorded: reading creates no file.
            store = self._open_settled_store() if self.exists() else self._store(open_sqlite_overlay(None))
        except (StoreUnwritable, SpoolError) as error:
            self.talk(f"{error.message}; continuing read-only")
            store = self._overlay()
        with self._use_store(store):
            yield store

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Open a writable store, with all pending events ingested."""
        store = self._open_settled_store()
        with self._use_store(store):
            yield store

    @contextmanager
    def inspecting(self) -> Iterator[Store]:
        """Open the store as it is, without ingesting events or updating views."""
        with self._store(self._database()) as store:
            yield store

    @property
    def until_ns(self) -> int | None:
        """Return the past time of this workspace, after which nothing counts; None for the present."""
        return None

    @property
    def head_signers(self) -> Mapping[StoreId, frozenset[str]] | None:
        """Return the keys that signed the heads of chains; None where the store itself holds their statements."""
        return None

    def scratch(self) -> Store:
        """Return an empty writable store in memory, without head files."""
        return Store(open_sqlite_overlay(None), VIEWS, StoreEnvironment(self.now_ns, self.token, None))

    def private_copy(self, store: Store) -> Store | None:
        """Return a writable copy of ``store`` in memory; None for a team database."""
        copy = store.private_copy()
        return None if copy is None else self._store(copy)

    def exists(self) -> bool:
        """Return whether anything was ever recorded here: a database, or a pending event."""
        return (
            self.database is not None or _has_workspace_path(self._file) or any(spool.names() for spool in self.spools)
        )

    @property
    def service_file(self) -> Path:
        """Return the file with projects, tokens and jobs of the embedded store."""
        if self.home is None:
            raise InputError(NO_REPOSITORY, hint=NO_REPOSITORY_HINT)
        return self.home / "service.db"

    @property
    def folder_of_project(self) -> Path | None:
        """Return the folder of the project's files; that of the default project is the repository's own."""
        if self.home is None or self.database is not None or self.project == DEFAULT_PROJECT:
            return self.home
        return self.home / "projects" / check_project_name(self.project)

    @property
    def _file(self) -> Path:
        folder = self.folder_of_project
        if folder is None:
            raise InputError(NO_REPOSITORY, hint=NO_REPOSITORY_HINT)
        if folder != self.home and not _has_workspace_path(folder):
            raise InputError(f"unknown project '{self.project}'", hint="'custody project list' lists the projects")
        return folder / "custody.db"

    def _open_settled_store(self) -> Store:
        """Return the store with pending events ingested: the one that the command has already open, if any."""
        store = None if self.resources is None else self.resources.idle_store(self._store_key)
        if store is not None:
            if any(spool.names() for spool in self.spools):
                self._settle(store)
            return store
        store = self._store(self._database())
        try:
            self._settle(store)
        except BaseException:
            store.close()
            raise
        if self.resources is not None:
            self.resources.share(self._store_key, store)
        return store

    @property
    def _store_key(self) -> Hashable:
        """Return the key by which workspaces of a command share one store."""
        place = self.folder_of_project, self.database, self.project
        return *place, self.spooled, self.bound, self.now_ns, self.token

    @contextmanager
    def _use_store(self, store: Store) -> Iterator[None]:
        """Close a store after use, unless the command shares it."""
        if self.resources is None or not self.resources.is_shared(store):
            with store:
                yield
            return
        try:
            yield
        except StoreError:
            self.resources.forget(store)
            raise

    def _overlay(self) -> Store:
        """Return a private copy of the store with the pending events; nothing on disk changes."""
        if self.database is not None:
            # A read-only team database is used as it is: pending events stay in each repository's own spool.
            return self._store(self._database())
        if not _has_workspace_path(self._file):
            return self._add_pending_events(self._store(open_sqlite_overlay(None)))
        base = open_sqlite_to_read(self._file)
        if base.version() == SCHEMA_VERSION and not any(spool.names() for spool in self.spools):
            store = self._store(base)
            if store.views.current():
                return store
        store = self._store(open_sqlite_overlay(base))
        base.close()
        return self._add_pending_events(store)

    def _add_pending_events(self, store: Store) -> Store:
        for spool in self.spools:
            ingest_spool_copy(spool, store)
        store.catch_up()
        return store

    def _settle(self, store: Store) -> None:
        for spool in self.spools:
            ingest_spool(spool, store, self.now_ns)
        if self.spools and (lines := [line for folder in self.gap_folders[:2] for line in read_capture_gaps(folder)]):
            # Gaps in the user's own folder belong to no single repository.
            ingest_gap_lines(lines, store, self.now_ns())
        store.catch_up(self.progress.step)

    def _database(self) -> Db:
        if self.database is None:
            return open_sqlite(self._file)
        from custody.store import open_postgres

        return open_postgres(self.database, self.project, bound=self.bound)

    def _store(self, db: Db) -> Store:
        folder = self.folder_of_project
        heads = None if folder is None else Heads(folder / db.place)
        return Store(db, VIEWS, StoreEnvironment(self.now_ns, self.token, heads))


def has_workspace_repository(workspace: Workspace) -> bool:
    """Return whether this workspace has the repository of its project."""
    # A repository, like its pending events, belongs to one project.
    return workspace.spooled and workspace.home is not None


def _has_workspace_path(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise StoreError(f"cannot access '{path}': {error.strerror}", hint="check the owner of the folder") from error
