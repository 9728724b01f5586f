"""Push and pull of chains, through a service or a git remote."""

import os
from collections.abc import Iterator, Sequence
from functools import partial

from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.foreign_states import has_changed_line_origins, list_line_origin_chains
from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.paths import RepoPath
from custody.core.record import ChainTip, Damage, DamageCode, Record, empty_chain_tip
from custody.core.wire.report import IntegrityFinding
from custody.git import Exchange, Ref, Remote, RemoteMoveError, RemoteUrl
from custody.share.chain_exchange import (
    UNREADABLE,
    ChainReader,
    check_shared_origins,
    find_chain_fork,
    list_own_chain_tips,
    report_chain_damages,
    report_pulled_chain,
    report_pushed_chain,
    store_shared_chain,
    summarize_share_outcome,
)
from custody.share.git_transport import (
    SharedRef,
    ShareRequest,
    commit_shared_chain,
    iterate_chunk_lines,
    make_chain_ref,
    read_shared_file,
    read_shared_ref,
)
from custody.share.remote import NamedRemote, RemoteBook
from custody.share.wire import PullReport, PushReport, RemoteInfo, RemoteReport, SharedChain, ShareOutcome
from custody.store import Body, Store
from custody.workspace.workspace import Workspace

TOKEN_VARIABLE = "CUSTODY_TOKEN"
"""Environment variable with a token for one command; it overrides the stored one."""


def push_chains(workspace: Workspace, name: str | None, *, texts: bool = False, dry_run: bool = False) -> PushReport:
    """Send the chains of this store to a service or a git remote."""
    service = _find_service_remote(name)
    if service is not None:
        from custody.share.service_transport import push_to_service  # loads the HTTP client

        return push_to_service(workspace, service, texts=texts, dry_run=dry_run)

    return push_to_git(workspace, name, texts=texts, dry_run=dry_run)


def pull_chains(workspace: Workspace, name: str | None, *, texts: bool = False, dry_run: bool = False) -> PullReport:
    """Store the chains that others share; a git remote has the texts that their owners pushed."""
    service = _find_service_remote(name)
    if service is not None:
        from custody.share.service_transport import pull_from_service  # loads the HTTP client

        return pull_from_service(workspace, service, texts=texts, dry_run=dry_run)

    return pull_from_git(workspace, name, dry_run=dry_run)


def find_remote_service(name: str | None) -> NamedRemote:
    """Return the service of that name, or the only service if ``name`` is None."""
    known = RemoteBook(os.environ).all()
    if name is None and len(known) == 1:
        (name,) = known
    service = None if name is None else _find_service_remote(name)
    if service is None:
        names = ", ".join(sorted(known)) or "none"
        what = "no services added" if name is None else f"unknown service '{name}'"
        raise InputError(what, hint=f"services: {names}; add one with 'custody remote add NAME URL'")
    return service


def add_remote(name: str, url: str, token: str | None) -> RemoteReport:
    """Add a service, or replace its URL and token."""
    RemoteBook(os.environ).add(name, url, token)
    return list_remotes()


def remove_remote(name: str) -> RemoteReport:
    """Remove a service and its token."""
    RemoteBook(os.environ).remove(name)
    return list_remotes()


def list_remotes() -> RemoteReport:
    """List the services that the user added."""
    known = RemoteBook(os.environ).all()
    return RemoteReport(
        remotes=[RemoteInfo(remote.name, remote.url, remote.token is not None) for _, remote in sorted(known.items())]
    )


def _find_service_remote(name: str | None) -> NamedRemote | None:
    stored = None if name is None else RemoteBook(os.environ).all().get(name)
    if stored is None:
        return None
    return NamedRemote(stored.name, stored.url, os.environ.get(TOKEN_VARIABLE) or stored.token)


def find_added_service(name: str) -> NamedRemote | None:
    """Return the service that the user added under this name; None if there is none."""
    return _find_service_remote(name)


# Which remote a name means: a service that the user added, or a git remote of the repository.


DEFAULT_REMOTE = "origin"


def resolve_share_remote(workspace: Workspace, name: str | None) -> Remote:
    """Return the git remote called ``name``; by default the remote that the branch follows, else ``origin``."""
    remotes = workspace.repository.remotes()
    chosen = name or _find_upstream_remote(workspace, remotes.followed) or DEFAULT_REMOTE
    remote = remotes.named.get(chosen)
    if remote is None or not remote.fetch:
        known = ", ".join(sorted(remotes.named)) or "none"
        raise InputError(
            f"unknown remote '{chosen}'",
            hint=f"git remotes: {known}; add one with 'git remote add' or 'custody remote add'",
        )
    return remote


def _find_upstream_remote(workspace: Workspace, followed: dict[str, str]) -> str | None:
    branch = workspace.repository.head().branch
    name = (
        None if branch is None else followed.get(branch.decode("utf-8", "surrogateescape").removeprefix("refs/heads/"))
    )
    return None if name == "." else name


# Sharing the chains of this store through a git remote: sent whole and checked, or not at all.


PUSH_ATTEMPTS_MAX = 5
"""How often a push is repeated when another push came first."""
FOLDER = "exchange"


def push_to_git(workspace: Workspace, name: str | None, *, texts: bool = False, dry_run: bool = False) -> PushReport:
    """Send every chain that this store appends to or once appended to; other chains of the remote do not change."""
    remote = resolve_share_remote(workspace, name)
    exchange, url = open_share_exchange(workspace), workspace.repository.resolve_remote_url(remote.push)
    with workspace.writing():
        pass  # ingests the spool, so that its events are part of the chain
    with open_attribution(workspace) as evidence:
        heads = list_own_chain_tips(evidence.store)
        chains = [
            _push_git_chain(exchange, evidence, url, ShareRequest(head, texts), dry_run=dry_run) for head in heads
        ]
    return PushReport(
        outcome=summarize_share_outcome(chains), remote=remote.name, transport="git", dry_run=dry_run, chains=chains
    )


def open_share_exchange(workspace: Workspace) -> Exchange:
    """Return the exchange folder of this repository for git remotes."""
    if workspace.home is None:
        raise InputError("not inside a repository", hint="change to a repository, or pass it with -C")
    return workspace.repository.exchange(workspace.home / FOLDER)


def _push_git_chain(
    exchange: Exchange, evidence: AttributionContext, url: RemoteUrl, request: ShareRequest, *, dry_run: bool
) -> SharedChain:
    for attempts_left in reversed(range(PUSH_ATTEMPTS_MAX)):
        old = _fetch_shared_ref(exchange, url, request.head.store)
        damage = None if old is None else _find_chain_contradiction(evidence, old)
        if damage is not None:
            return _report_git_push(request, old, "refused", [IntegrityFinding(damage.code.label, damage.what)])
        commit = commit_shared_chain(exchange, evidence, request, old)
        if commit is None:
            return _report_git_push(request, old, "same")
        if dry_run:
            return _report_git_push(request, old, "waits")
        try:
            exchange.push(url, make_chain_ref(request.head.store), commit, None if old is None else old.commit)
        except RemoteMoveError:
            if not attempts_left:
                raise
            continue  # start again from the remote's new state
        return _report_git_push(request, old, "sent")
    raise AssertionError("the last attempt returns or raises")


def _fetch_shared_ref(exchange: Exchange, url: RemoteUrl, chain: StoreId) -> SharedRef | None:
    """Fetch what the remote has of a chain now."""
    ref = make_chain_ref(chain)
    refs = exchange.fetch(url, [ref])
    return read_shared_ref(exchange, ref, refs[0].id) if refs else None


def _find_chain_contradiction(evidence: AttributionContext, old: SharedRef) -> Damage | None:
    """Return the reason why the remote's chain is not an earlier state of the stored one, if there is one."""
    head: ChainTip = old.manifest.head
    if head.seq > evidence.store.tables.head(head.store).seq:
        what = f"the remote has {head.seq:,} records of this store's chain {head.store}, more than this store wrote"
        return Damage(DamageCode.CHAIN_CUT, f"{what}: it was restored from a copy, or another store wrote there")
    return find_chain_fork(evidence.store, head)


def _report_git_push(
    request: ShareRequest, old: SharedRef | None, outcome: ShareOutcome, findings: Sequence[IntegrityFinding] = ()
) -> SharedChain:
    there = 0 if old is None else old.manifest.seq
    return report_pushed_chain(request.head, there, outcome, texts=request.texts, findings=findings)


# Storing the chains that others share through a git remote: checked first, copied verbatim, or refused whole.


def pull_from_git(workspace: Workspace, name: str | None, *, dry_run: bool = False) -> PullReport:
    """Store every chain of the remote that is not written by this store."""
    remote = resolve_share_remote(workspace, name)
    exchange = open_share_exchange(workspace)
    refs = exchange.fetch(workspace.repository.resolve_remote_url(remote.fetch))
    workspace.progress.start("pulling", len(refs))
    chains: list[SharedChain] = []
    with workspace.writing() as store:
        for ref in refs:
            chains.append(_pull_git_chain(exchange, store, ref, dry_run=dry_run))
            workspace.progress.step(1)
        store.catch_up()
    return PullReport(
        outcome=summarize_share_outcome(chains), remote=remote.name, transport="git", dry_run=dry_run, chains=chains
    )


def _pull_git_chain(exchange: Exchange, store: Store, ref: Ref, *, dry_run: bool) -> SharedChain:
    name = ref.name.decode("ascii")
    chain = StoreId(name.rpartition("/")[2])
    if chain in store.tables.list_owned_chains():
        return SharedChain(chain, int(store.tables.head(chain).seq), 0, texts=True, outcome="own")
    try:
        shared = read_shared_ref(exchange, name, ref.id)
        return _pull_shared_ref(exchange, store, shared, dry_run=dry_run)
    except InputError as error:
        held = int(store.tables.head(chain).seq)
        return SharedChain(
            chain, held, 0, texts=False, outcome="refused", findings=[IntegrityFinding(UNREADABLE, error.message)]
        )


def _pull_shared_ref(exchange: Exchange, store: Store, shared: SharedRef, *, dry_run: bool) -> SharedChain:
    head, held = shared.manifest.head, store.tables.head(StoreId(shared.manifest.store))
    report = partial(report_pulled_chain, head, held, texts=shared.manifest.texts)
    fork = find_chain_fork(store, head)
    if fork is not None:
        return report("refused", findings=report_chain_damages([fork]))
    if head.seq < held.seq:
        return report("behind")
    # The texts were withheld before and are shared now: read everything again.
    whole = shared.manifest.texts and head.store in list_line_origin_chains(store)
    begin = empty_chain_tip(head.store) if whole else held
    damages, origins = _check_shared_chain(exchange, store, shared, begin)
    if damages:
        return report("refused", findings=report_chain_damages(damages))
    if dry_run:
        return report("waits" if head.seq > held.seq else "same")
    with exchange.objects() as objects:

        def items() -> Iterator[Record | Body]:
            reader = ChainReader(begin, store)
            if whole or head.seq > held.seq:
                for lines in iterate_chunk_lines(objects, shared, int(begin.seq)):
                    yield from reader.read(lines)

        is_new = origins is not None and has_changed_line_origins(store, head.store, origins)
        store_shared_chain(store, head.store, items(), origins)
    return report("taken" if head.seq > held.seq or whole or is_new else "same")


def _check_shared_chain(
    exchange: Exchange, store: Store, shared: SharedRef, begin: ChainTip
) -> tuple[list[Damage], dict[RepoPath, bytes] | None]:
    """Return the damages of a chain after ``begin``, and its origins if it has any."""
    head = shared.manifest.head
    with exchange.objects() as objects:
        reader = ChainReader(begin, store)
        if head.seq > begin.seq:
            for lines in iterate_chunk_lines(objects, shared, int(begin.seq)):
                for _ in reader.read(lines):
                    pass  # this pass only collects damages
        origins = None
        if not shared.manifest.texts:
            origins = check_shared_origins(
                (read_shared_file(objects, shared.files[name]) for name in shared.origins), head
            )
    return reader.finish(head), origins
