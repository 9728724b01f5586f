"""Push and pull of chains, through a service or a git remote."""

import os
from collections.abc import Iterator, Sequence
from functools import partial

from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.foreign_states import have_origins_changed, origin_lists
from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.paths import RepoPath
from custody.core.record import ChainTip, Damage, DamageCode, Record, empty_head
from custody.core.wire.report import IntegrityFinding
from custody.git import Exchange, Ref, Remote, RemoteMoveError, RemoteUrl
from custody.share.chain_exchange import (
    UNREADABLE,
    ChainReader,
    check_origins,
    fork_at,
    outcome_of,
    own_heads,
    report_damages,
    report_sent,
    report_taken,
    take,
)
from custody.share.git_transport import SharedRef, ShareRequest, chunk_lines, commit_of, content, read_shared, ref_of
from custody.share.remote import NamedRemote, RemoteBook
from custody.share.wire import PullReport, PushReport, RemoteInfo, RemoteReport, SharedChain, ShareOutcome
from custody.store import Body, Store
from custody.workspace.workspace import Workspace

TOKEN_VARIABLE = "CUSTODY_TOKEN"
"""Where a token may stand for one command, instead of the one that is kept."""


def push(workspace: Workspace, name: str | None, *, texts: bool = False, dry_run: bool = False) -> PushReport:
    """Share what was recorded here."""
    service = _service(name)
    if service is not None:
        from custody.share.service_transport import push_service  # loads the HTTP client

        return push_service(workspace, service, texts=texts, dry_run=dry_run)

    return push_git(workspace, name, texts=texts, dry_run=dry_run)


def pull(workspace: Workspace, name: str | None, *, texts: bool = False, dry_run: bool = False) -> PullReport:
    """Take over what others share; a git remote gives the texts that their owners put there."""
    service = _service(name)
    if service is not None:
        from custody.share.service_transport import pull_service  # loads the HTTP client

        return pull_service(workspace, service, texts=texts, dry_run=dry_run)

    return pull_git(workspace, name, dry_run=dry_run)


def the_service(name: str | None) -> NamedRemote:
    """The service of that name, or the only one that there is."""
    known = RemoteBook(os.environ).all()
    if name is None and len(known) == 1:
        (name,) = known
    found = None if name is None else _service(name)
    if found is None:
        names = ", ".join(sorted(known)) or "none"
        what = "there is no service" if name is None else f"there is no service called '{name}'"
        raise InputError(what, hint=f"services: {names}; 'custody remote add NAME URL' names one")
    return found


def add_remote(name: str, url: str, token: str | None) -> RemoteReport:
    """Name a service."""
    RemoteBook(os.environ).add(name, url, token)
    return list_remotes()


def remove_remote(name: str) -> RemoteReport:
    """Forget a service and its token."""
    RemoteBook(os.environ).remove(name)
    return list_remotes()


def list_remotes() -> RemoteReport:
    """The services that the user named."""
    known = RemoteBook(os.environ).all()
    return RemoteReport(
        remotes=[RemoteInfo(remote.name, remote.url, remote.token is not None) for _, remote in sorted(known.items())]
    )


def _service(name: str | None) -> NamedRemote | None:
    found = None if name is None else RemoteBook(os.environ).all().get(name)
    if found is None:
        return None
    return NamedRemote(found.name, found.url, os.environ.get(TOKEN_VARIABLE) or found.token)


# Which remote a name is: a service that the user named, or a git remote of the repository.


USUAL = "origin"


def git_remote(workspace: Workspace, name: str | None) -> Remote:
    """The git remote called ``name``; without one the remote that the branch follows, or ``origin``."""
    remotes = workspace.repository.remotes()
    chosen = name or _followed(workspace, remotes.followed) or USUAL
    found = remotes.named.get(chosen)
    if found is None or not found.fetch:
        known = ", ".join(sorted(remotes.named)) or "none"
        raise InputError(
            f"there is no remote called '{chosen}'",
            hint=f"git remotes here: {known}; 'git remote add' or 'custody remote add' names another",
        )
    return found


def _followed(workspace: Workspace, followed: dict[str, str]) -> str | None:
    branch = workspace.repository.head().branch
    name = (
        None if branch is None else followed.get(branch.decode("utf-8", "surrogateescape").removeprefix("refs/heads/"))
    )
    return None if name == "." else name


# Share this store's chains through a git remote: sent whole and checked, or not at all.


TRIES_MAX = 5
"""How often a push is tried again when somebody else was quicker."""
FOLDER = "exchange"


def push_git(workspace: Workspace, name: str | None, *, texts: bool = False, dry_run: bool = False) -> PushReport:
    """Send every chain that this store appends to or once appended to; what the remote has is left alone."""
    remote = git_remote(workspace, name)
    exchange, url = exchange_of(workspace), workspace.repository.address(remote.push)
    with workspace.writing():
        pass  # what waits in the spool is part of the chain before it is looked at
    with open_attribution(workspace) as evidence:
        heads = own_heads(evidence.store)
        chains = [_sent(exchange, evidence, url, ShareRequest(head, texts), dry_run=dry_run) for head in heads]
    return PushReport(outcome=outcome_of(chains), remote=remote.name, transport="git", dry_run=dry_run, chains=chains)


def exchange_of(workspace: Workspace) -> Exchange:
    """Where this repository keeps what it exchanges with git remotes."""
    if workspace.home is None:
        raise InputError("there is no repository here", hint="stand in one, or name it with -C")
    return workspace.repository.exchange(workspace.home / FOLDER)


def _sent(
    exchange: Exchange, evidence: AttributionContext, url: RemoteUrl, wanted: ShareRequest, *, dry_run: bool
) -> SharedChain:
    for left in reversed(range(TRIES_MAX)):
        old = _there(exchange, url, wanted.head.store)
        wrong = None if old is None else _contradiction(evidence, old)
        if wrong is not None:
            return _report(wanted, old, "refused", [IntegrityFinding(wrong.code.label, wrong.what)])
        commit = commit_of(exchange, evidence, wanted, old)
        if commit is None:
            return _report(wanted, old, "same")
        if dry_run:
            return _report(wanted, old, "waits")
        try:
            exchange.push(url, ref_of(wanted.head.store), commit, None if old is None else old.commit)
        except RemoteMoveError:
            if not left:
                raise
            continue  # look again at what is there now, and go on from that
        return _report(wanted, old, "sent")
    raise AssertionError("the last try returns or raises")


def _there(exchange: Exchange, url: RemoteUrl, chain: StoreId) -> SharedRef | None:
    """What the remote has of a chain now."""
    ref = ref_of(chain)
    found = exchange.fetch(url, [ref])
    return read_shared(exchange, ref, found[0].id) if found else None


def _contradiction(evidence: AttributionContext, old: SharedRef) -> Damage | None:
    """Why what the remote has cannot be an earlier state of our own chain."""
    head: ChainTip = old.about.head
    if head.seq > evidence.store.tables.head(head.store).seq:
        what = f"the remote has {head.seq:,} records of our own chain {head.store}, more than this store wrote"
        return Damage(DamageCode.CHAIN_CUT, f"{what}: it was restored from a copy, or somebody else wrote there")
    return fork_at(evidence.store, head)


def _report(
    wanted: ShareRequest, old: SharedRef | None, outcome: ShareOutcome, findings: Sequence[IntegrityFinding] = ()
) -> SharedChain:
    there = 0 if old is None else old.about.seq
    return report_sent(wanted.head, there, outcome, texts=wanted.texts, findings=findings)


# Take over the chains that others share through a git remote: checked first, copied verbatim, or refused whole.


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
