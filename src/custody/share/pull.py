"""Take over the chains that others share through a git remote: checked first, copied verbatim, or refused whole."""

from collections.abc import Iterator
from functools import partial

from custody.attribution.app.chain_origins import have_origins_changed, origin_lists
from custody.core.chain_check import Damage
from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.paths import RepoPath
from custody.core.record import ChainTip, Record, empty_head
from custody.core.wire.report import IntegrityFinding
from custody.git import Exchange, Ref
from custody.share.chain_exchange import (
    UNREADABLE,
    ChainReader,
    check_origins,
    fork_at,
    outcome_of,
    report_damages,
    report_taken,
    take,
)
from custody.share.git_transport import SharedRef, chunk_lines, content, read_shared
from custody.share.push import exchange_of
from custody.share.remote_name import git_remote
from custody.share.wire.sharing import PullReport, SharedChain
from custody.store import Body, Store
from custody.workspace.workspace import Workspace


def pull_git(workspace: Workspace, name: str | None, *, dry_run: bool = False) -> PullReport:
    """Bring every chain here that the remote has and that is not our own."""
    remote = git_remote(workspace, name)
    exchange = exchange_of(workspace)
    refs = exchange.fetch(workspace.repository.address(remote.fetch))
    workspace.progress.start("taking", len(refs))
    chains: list[SharedChain] = []
    with workspace.writing() as store:
        for ref in refs:
            chains.append(_take_chain(exchange, store, ref, dry_run=dry_run))
            workspace.progress.step(1)
        store.catch_up()
    return PullReport(outcome=outcome_of(chains), remote=remote.name, transport="git", dry_run=dry_run, chains=chains)


def _take_chain(exchange: Exchange, store: Store, ref: Ref, *, dry_run: bool) -> SharedChain:
    name = ref.name.decode("ascii")
    chain = StoreId(name.rpartition("/")[2])
    if chain in store.tables.owned():
        return SharedChain(chain, int(store.tables.head(chain).seq), 0, texts=True, outcome="own")
    try:
        shared = read_shared(exchange, name, ref.id)
        return _checked(exchange, store, shared, dry_run=dry_run)
    except InputError as error:
        held = int(store.tables.head(chain).seq)
        return SharedChain(
            chain, held, 0, texts=False, outcome="refused", findings=[IntegrityFinding(UNREADABLE, error.message)]
        )


def _checked(exchange: Exchange, store: Store, shared: SharedRef, *, dry_run: bool) -> SharedChain:
    head, held = shared.about.head, store.tables.head(StoreId(shared.about.store))
    report = partial(report_taken, head, held, texts=shared.about.texts)
    fork = fork_at(store, head)
    if fork is not None:
        return report("refused", findings=report_damages([fork]))
    if head.seq < held.seq:
        return report("behind")
    # Texts that were withheld before come now: everything is read again.
    whole = shared.about.texts and head.store in origin_lists(store)
    begin = empty_head(head.store) if whole else held
    damages, origins = _looked_through(exchange, store, shared, begin)
    if damages:
        return report("refused", findings=report_damages(damages))
    if dry_run:
        return report("waits" if head.seq > held.seq else "same")
    with exchange.objects() as objects:

        def items() -> Iterator[Record | Body]:
            reader = ChainReader(begin, store)
            if whole or head.seq > held.seq:
                for lines in chunk_lines(objects, shared, int(begin.seq)):
                    yield from reader.read(lines)

        is_new = origins is not None and have_origins_changed(store, head.store, origins)
        take(store, head.store, items(), origins)
    return report("taken" if head.seq > held.seq or whole or is_new else "same")


def _looked_through(
    exchange: Exchange, store: Store, shared: SharedRef, begin: ChainTip
) -> tuple[list[Damage], dict[RepoPath, bytes] | None]:
    """What is wrong with a chain behind ``begin``, and its origins, if it has any."""
    head = shared.about.head
    with exchange.objects() as objects:
        reader = ChainReader(begin, store)
        if head.seq > begin.seq:
            for lines in chunk_lines(objects, shared, int(begin.seq)):
                for _ in reader.read(lines):
                    pass  # only what is wrong counts yet
        origins = None
        if not shared.about.texts:
            origins = check_origins((content(objects, shared.files[name]) for name in shared.origins), head)
    return reader.finish(head), origins
