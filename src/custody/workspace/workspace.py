"""The one wiring place: which repository, which store, which spool, for everything that a verb does."""

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import get_ident
from typing import TypeVar

from custody.capture.hook.event_home import fallback_of, gaps_in, state_folder
from custody.capture.spool import RejectedFile, Spool
from custody.core.errors import InputError, SpoolError, StoreError
from custody.core.ids import DEFAULT_PROJECT, PENDING, project_name
from custody.core.wire.arrival import make_loss_arrival
from custody.git import Repository, discover
from custody.store import (
    SCHEMA_VERSION,
    Db,
    Heads,
    Store,
    StoreEnvironment,
    StoreUnwritable,
    open_postgres,
    open_sqlite,
    open_sqlite_to_read,
    overlay,
    split_batches,
)
from custody.workspace.machine import now_ns, token
from custody.workspace.wiring import VIEWS

# What a command opens once and closes when it ends.


T = TypeVar("T")


class CommandResources:
    """The stores, repositories and rules of one command; only the thread that made it shares its stores."""

    def __init__(self) -> None:
        self._thread = get_ident()
        self._stores: dict[Hashable, Store] = {}
        self._opened: list[Store] = []
        self._values: dict[Hashable, object] = {}

    def idle_store(self, key: Hashable) -> Store | None:
        """The store that was shared under ``key``, unless it is another thread's or in the middle of a transaction."""
        store = self._stores.get(key) if get_ident() == self._thread else None
        return None if store is None or store.in_transaction() else store

    def share(self, key: Hashable, store: Store) -> None:
        """Keep a store open under ``key`` until the command ends; of another thread, or a second one, do nothing."""
        if get_ident() == self._thread and key not in self._stores:
            self._stores[key] = store
            self._opened.append(store)

    def is_shared(self, store: Store) -> bool:
        """Whether a store stays open until the command ends."""
        return any(opened is store for opened in self._opened)

    def forget(self, store: Store) -> None:
        """Share a store no longer, since it failed: who asks next opens another."""
        self._stores = {key: shared for key, shared in self._stores.items() if shared is not store}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` returned the first time that ``key`` was asked for."""
        if key not in self._values:
            self._values[key] = make()
        value: T = self._values[key]  # type: ignore[assignment]  # one key has values of one type
        return value

    def close(self) -> None:
        """Close every store that was shared."""
        self._stores.clear()
        while self._opened:
            self._opened.pop().close()


# From the spool into the chain: read, append, then forget the files; killed anywhere, the next drain finishes it.


BATCH = 256
"""Events per transaction."""


def drain(spool: Spool, store: Store, now_ns: Callable[[], int]) -> int:
    """Chain every waiting event and set aside what is no event; give how many records that made."""
    made = 0
    while spool.names():
        waiting = spool.oldest(BATCH)
        if waiting.arrivals:
            made += len(store.append(waiting.arrivals).made)
            spool.remove(arrival.entry.event for arrival in waiting.arrivals)
        if waiting.refused:
            # First, so that who clears away what was set aside does not clear away that it was.
            drain_lost([_refused(refused) for refused in waiting.refused], store, now_ns())
            spool.set_aside(refused.event for refused in waiting.refused)
    return made


def drain_lost(lines: Sequence[str], store: Store, now_ns: int) -> None:
    """Chain what was counted as lost: who deletes the count later deletes nothing."""
    arrivals = [make_loss_arrival(line, now_ns) for line in dict.fromkeys(lines)]
    known = store.tables.known_among([arrival.entry for arrival in arrivals])
    fresh = [arrival for arrival in arrivals if arrival.entry.event not in known.events]
    for some in split_batches(fresh, BATCH):
        store.append(some)


def _refused(file: RejectedFile) -> str:
    """The count of an event that was set aside, at the time that its name has."""
    at, _, _ = file.event.partition("-")
    words = f"the waiting event '{file.event}' was set aside: {file.why}"
    return f"{at} {words}" if at.isascii() and at.isdigit() else words


def show(spool: Spool, store: Store) -> int:
    """Chain waiting events in a store that is only a private copy, leaving the spool as it is."""
    made = seen = 0
    total = len(spool.names())
    while seen < total:
        waiting = spool.oldest(BATCH, skip=seen)
        if not waiting.files:
            break
        seen += waiting.files
        made += len(store.append(waiting.arrivals, chain=PENDING).made)
    return made


Talk = Callable[[str], None]
"""Takes a sentence for the user that is not part of the answer."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Told what is being done, how many in all where that is known, and each time some are done."""

    start: Callable[[str, int | None], None] = lambda _what, _total: None
    step: Callable[[int], None] = lambda _count: None


@dataclass(frozen=True)
class Workspace:
    """Where a verb works: a folder inside a repository, a team database if the user named one, and a project of it."""

    folder: Path
    database: str | None = None
    talk: Talk = lambda _: None
    progress: Progress = field(default_factory=Progress)
    now_ns: Callable[[], int] = now_ns
    token: Callable[[], str] = token
    project: str = DEFAULT_PROJECT
    spooled: bool = True
    """Whether events that wait in this repository belong to this project."""
    bound: bool = False
    """Whether a team database is refused where row-level security does not hold for us: services ask for this."""
    resources: CommandResources | None = None
    """What one command shares; without it every question opens a store of its own, as a service's requests do."""

    @cached_property
    def repository(self) -> Repository:
        """The repository around the folder."""
        return self.once(("repository", self.folder), lambda: discover(self.folder))

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` returns, asked once per command for each ``key``; without a command, each time."""
        return make() if self.resources is None else self.resources.once(key, make)

    @cached_property
    def home(self) -> Path | None:
        """Where this repository's evidence lives; None for a team database used outside a repository."""
        try:
            return self.repository.common_dir / "custody"
        except InputError:
            if self.database is None:
                raise
            return None

    @cached_property
    def spools(self) -> tuple[Spool, ...]:
        """Where events of this repository wait: its own spool, and the user's where that could not be written."""
        # What hooks of a repository record is its own, and so no other embedded project's.
        if self.home is None or not self.spooled or self.folder_of_project != self.home:
            return ()
        return Spool(self.home / "spool"), Spool(self.fallback / "spool")

    @property
    def fallback(self) -> Path:
        """The user's folder for events of this repository that could not be written into it."""
        return Path(fallback_of(str(self.home), dict(os.environ)))

    @property
    def gap_folders(self) -> tuple[Path, ...]:
        """Where gaps of this repository are counted; none for a team database outside a repository."""
        if self.home is None:
            return ()
        # The last is where a hook at the user's level counts what it could not even find a repository for.
        return self.home, self.fallback, Path(state_folder(dict(os.environ)))

    @property
    def store_name(self) -> str:
        """The store, as a person would name it; never with a password."""
        return "the team database" if self.database is not None else str(self._file)

    @contextmanager
    def reading(self) -> Iterator[Store]:
        """A store that shows everything acknowledged: drained where it can be written, else seen in memory."""
        try:
            # An empty one if nothing was ever recorded: looking makes no file.
            store = self._settled() if self.exists() else self._store(overlay(None))
        except (StoreUnwritable, SpoolError) as error:
            self.talk(f"{error.message}; reading without writing")
            store = self._overlay()
        with self._in_use(store):
            yield store

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """A store that can be written, drained."""
        store = self._settled()
        with self._in_use(store):
            yield store

    @property
    def until_ns(self) -> int | None:
        """The past moment that this workspace is of, after which nothing counts; None for the present."""
        return None

    def scratch(self) -> Store:
        """An empty store that can be written and vanishes when closed; no head file speaks of it."""
        return Store(overlay(None), VIEWS, StoreEnvironment(self.now_ns, self.token, None))

    def private_copy(self, store: Store) -> Store | None:
        """A copy of ``store`` that can be written and vanishes when closed; None of a team database."""
        copy = store.private_copy()
        return None if copy is None else self._store(copy)

    def exists(self) -> bool:
        """Whether anything was ever recorded here: a database, or an event that waits."""
        return self.database is not None or _is_there(self._file) or any(spool.names() for spool in self.spools)

    @property
    def service_file(self) -> Path:
        """Where projects, tokens and jobs of the embedded store are kept."""
        if self.home is None:
            raise InputError("there is no repository here")
        return self.home / "service.db"

    @property
    def folder_of_project(self) -> Path | None:
        """Where what the project keeps in files lies: beside the repository's own store, which is the default one."""
        if self.home is None or self.database is not None or self.project == DEFAULT_PROJECT:
            return self.home
        return self.home / "projects" / project_name(self.project)

    @property
    def _file(self) -> Path:
        folder = self.folder_of_project
        if folder is None:
            raise InputError("there is no repository here")
        if folder != self.home and not _is_there(folder):
            raise InputError(
                f"there is no project '{self.project}'", hint="'custody project list' shows those that there are"
            )
        return folder / "custody.db"

    def _settled(self) -> Store:
        """The store itself, written to if events wait: the one that the command has open already, if it has."""
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
        """What two workspaces of a command have alike if one open store serves both."""
        place = self.folder_of_project, self.database, self.project
        return *place, self.spooled, self.bound, self.now_ns, self.token

    @contextmanager
    def _in_use(self, store: Store) -> Iterator[None]:
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
        """A private copy of the store with the waiting events in it; nothing on disk changes."""
        if self.database is not None:
            # A team database that cannot be written is read as it is: its events wait in each repository's own spool.
            return self._store(self._database())
        if not _is_there(self._file):
            return self._with_waiting(self._store(overlay(None)))
        base = open_sqlite_to_read(self._file)
        if base.version() == SCHEMA_VERSION and not any(spool.names() for spool in self.spools):
            store = self._store(base)
            if store.views.current():
                return store
        store = self._store(overlay(base))
        base.close()
        return self._with_waiting(store)

    def _with_waiting(self, store: Store) -> Store:
        for spool in self.spools:
            show(spool, store)
        store.catch_up()
        return store

    def _settle(self, store: Store) -> None:
        for spool in self.spools:
            drain(spool, store, self.now_ns)
        if self.spools and (lines := [line for folder in self.gap_folders[:2] for line in gaps_in(folder)]):
            drain_lost(lines, store, self.now_ns())  # not what the user's own folder has: that is no repository's
        store.catch_up(self.progress.step)

    def _database(self) -> Db:
        if self.database is None:
            return open_sqlite(self._file)
        return open_postgres(self.database, self.project, bound=self.bound)

    def _store(self, db: Db) -> Store:
        folder = self.folder_of_project
        heads = None if folder is None else Heads(folder / db.place)
        return Store(db, VIEWS, StoreEnvironment(self.now_ns, self.token, heads))


def has_repository(workspace: Workspace) -> bool:
    """Whether the repository of this workspace's project is here."""
    # Events that wait in a repository belong to one project; so does all else that is in it.
    return workspace.spooled and workspace.home is not None


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise StoreError(f"cannot look at '{path}': {error.strerror}", hint="check who owns it") from error
