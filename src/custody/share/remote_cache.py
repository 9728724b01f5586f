"""Answers from a service's evidence beside our own: copied into a store apart, which answers as any other does."""

from dataclasses import dataclass, field
from pathlib import Path

from custody.attribution.app.chain_origins import chain_origins, put_origins
from custody.core.errors import InputError, WorldError
from custody.core.ids import PENDING
from custody.core.record import ChainTip
from custody.share.chain_exchange import ChainReader, stretch_lines
from custody.share.remote import NamedRemote
from custody.share.service_transport import pull_service
from custody.share.wire.sharing import PullReport
from custody.store import Store
from custody.workspace.workspace import Workspace

FOLDER = "remotes"
RECORDS_MAX = 1000
"""Copied from our own store at a time."""


@dataclass(frozen=True)
class CacheWorkspace(Workspace):
    """A workspace whose store is the copy of a service's evidence; nothing of it is ever mixed into our own."""

    cache: Path = field(default=Path())

    @property
    def folder_of_project(self) -> Path | None:
        """Where the copy lies."""
        return self.cache


def cached(workspace: Workspace, remote: NamedRemote) -> CacheWorkspace:
    """A workspace with everything that is here and everything that the service has, brought up to date."""
    if workspace.home is None or workspace.database is not None:
        raise InputError("a team database is asked as it is", hint="leave out --remote, or --database")
    made = CacheWorkspace(
        folder=workspace.folder,
        talk=workspace.talk,
        progress=workspace.progress,
        now_ns=workspace.now_ns,
        token=workspace.token,
        spooled=False,
        resources=workspace.resources,
        cache=workspace.home / FOLDER / remote.name,
    )
    try:
        made.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise WorldError(f"cannot make '{made.cache}': {error.strerror}", hint="make the folder writable") from error
    with workspace.reading() as own, made.writing() as copy:
        for head in own.tables.chains():
            if head.store != PENDING:
                _copied(own, copy, head)
        copy.catch_up()
        ours = own.tables.owned()
    _report_skipped_chains(workspace, pull_service(made, remote, ours=ours))
    return made


def _copied(own: Store, copy: Store, head: ChainTip) -> None:
    """Bring a chain of our own store into the copy, texts and all."""
    begin = copy.tables.head(head.store)
    reader = ChainReader(begin, copy)
    while reader.head.seq < head.seq:
        after = int(reader.head.seq)
        until = min(int(head.seq), after + RECORDS_MAX)
        lines = list(stretch_lines(own, head.store, after=after, until=until, texts=True))
        copy.copy(list(reader.read(lines)))
    with copy.writing():
        if head.store in own.tables.owned() or head.store in own.tables.pulled():
            copy.tables.mark_pulled(head.store)
        if files := chain_origins(own, head.store):
            put_origins(copy, head.store, files)


def _report_skipped_chains(workspace: Workspace, report: PullReport) -> None:
    for chain in report.chains:
        for finding in chain.findings:
            workspace.talk(f"chain {chain.store} of '{report.remote}' was left out: {finding.what}")
