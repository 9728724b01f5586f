"""The one wiring place: which repository, which store, which spool, for everything that a verb does."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType

from custody.capture.hook.event_home import fallback_of, gaps_in, state_folder
from custody.capture.spool import Spool
from custody.core.errors import InputError, SpoolError, StoreError
from custody.core.project import DEFAULT_PROJECT, project_name
from custody.core.views import View
from custody.core.wire.canonical import Json
from custody.core.wire.event import GENERIC
from custody.core.wire.event_views import views_of
from custody.core.wire.reader_version import (
    HOOK_VERSION,
    READER_VERSION,
    REGISTRY_VERSION,
    TRACES_VERSION,
    TRANSCRIPT_VERSION,
)
from custody.git import Repository, discover
from custody.store import (
    SCHEMA_VERSION,
    Db,
    DerivedTables,
    Heads,
    Reader,
    SqliteDb,
    Store,
    StoreUnwritable,
    Surroundings,
    ViewWiring,
    open_postgres,
    open_sqlite,
    open_sqlite_to_read,
    overlay,
)
from custody.workspace.clock import now_ns, token
from custody.workspace.drain import drain, drain_lost, show
from custody.workspace.late_import import import_late

# Agents' readers are many and large, and most questions read no record of theirs.


def _hook_views(payload: Json) -> tuple[View, ...]:
    from custody.capture import hook_views

    return hook_views(payload)


def _snapshot_views(payload: Json) -> tuple[View, ...]:
    from custody.capture import snapshot_views

    return snapshot_views(payload)


def _transcript_views(payload: Json) -> tuple[View, ...]:
    from custody.capture import transcript_views

    return transcript_views(payload)


def _trace_views(payload: Json) -> tuple[View, ...]:
    from custody.capture.claims.traces import trace_views

    return trace_views(payload)


def _link_views(payload: Json) -> tuple[View, ...]:
    from custody.capture.claims.traces import link_views

    return link_views(payload)


def _registry_views(payload: Json) -> tuple[View, ...]:
    views: tuple[View, ...] = import_late("custody.cite.queries.registry_codec:registry_views")(payload)
    return views


READERS = MappingProxyType(
    {str(event.__struct_config__.tag): Reader(READER_VERSION, views_of) for event in GENERIC}
    | {"hook": Reader(HOOK_VERSION, _hook_views), "snapshot": Reader(HOOK_VERSION, _snapshot_views)}
    | {"transcript": Reader(TRANSCRIPT_VERSION, _transcript_views)}
    | {"trace": Reader(TRACES_VERSION, _trace_views), "trace_link": Reader(TRACES_VERSION, _link_views)}
    | {"registry": Reader(REGISTRY_VERSION, _registry_views)}
)


DERIVED = ("custody.cite.queries.registry:RegistryTables", "custody.trust.queries.standing:StandingTables")
"""The tables that packages derive from records: the store keeps each current with its views."""


def _make_derived(name: str, store: Store) -> DerivedTables:
    tables: DerivedTables = import_late(name)(store)
    return tables


VIEWS = ViewWiring(READERS, tuple(partial(_make_derived, name) for name in DERIVED))

Talk = Callable[[str], None]
"""Takes a sentence for the user that is not part of the answer."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Told what is being done, how many in all where that is known, and each time some are done."""

    start: Callable[[str, int | None], None] = lambda _what, _total: None
    step: Callable[[int], None] = lambda _count: None


@dataclass(frozen=True)
class Desk:
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

    @cached_property
    def repository(self) -> Repository:
        """The repository around the folder."""
        return discover(self.folder)

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
            store = self._open()
        except (StoreUnwritable, SpoolError) as error:
            self.talk(f"{error.message}; reading without writing")
            store = self._overlay()
        with store:
            yield store

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """A store that can be written, drained."""
        with self._store(self._database()) as store:
            self._settle(store)
            yield store

    @property
    def until_ns(self) -> int | None:
        """The past moment that this desk is of, after which nothing counts; None for the present."""
        return None

    def scratch(self) -> Store:
        """An empty store that can be written and vanishes when closed; no head file speaks of it."""
        return Store(overlay(None), VIEWS, Surroundings(self.now_ns, self.token, None))

    def private_copy(self, store: Store) -> Store | None:
        """A copy of ``store`` that can be written and vanishes when closed; None of a team database."""
        return self._store(overlay(store.db)) if isinstance(store.db, SqliteDb) else None

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

    def _open(self) -> Store:
        """The store itself, written to if events wait; an empty one in memory if nothing was ever recorded."""
        if not self.exists():
            return self._store(overlay(None))
        store = self._store(self._database())
        try:
            self._settle(store)
        except BaseException:
            store.db.close()
            raise
        return store

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
        return Store(db, VIEWS, Surroundings(self.now_ns, self.token, heads))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise StoreError(f"cannot look at '{path}': {error.strerror}", hint="check who owns it") from error
