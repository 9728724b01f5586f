"""Push and pull of chains, through a service or a git remote."""

import os
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from custody.attribution.app.context import AttributionContext, open_attribution
from custody.core.errors import InputError, WorldError
from custody.core.ids import StoreId
from custody.core.paths import RepoPath
from custody.core.patterns import lazy_pattern
from custody.core.record import ChainTip, Damage, DamageCode, Record
from custody.core.wire.prompt_excerpts import decode_prompt_excerpts
from custody.core.wire.report import IntegrityFinding
from custody.git import EVERY_REF, Exchange, Object, ObjectReader, Ref, Remote, RemoteMoveError, RemoteUrl
from custody.share.chain_exchange import (
    UNREADABLE,
    check_shared_origins,
    find_chain_fork,
    list_own_chain_tips,
    report_chain_damages,
    report_missing_chain,
    report_pulled_chain,
    report_pushed_chain,
    summarize_share_outcome,
)
from custody.share.chain_intake import ChainIntake
from custody.share.git_transport import (
    PUSH_ATTEMPTS_MAX,
    WITNESS_REF,
    SharedRef,
    ShareRequest,
    commit_shared_chain,
    iterate_chunk_lines,
    make_chain_ref,
    push_witness_entries,
    read_shared_excerpts,
    read_shared_file,
    read_shared_ref,
    read_signed_head,
    read_witness_entries,
)
from custody.share.heads import (
    ChainTree,
    HeadFault,
    OfferedHead,
    describe_key,
    hash_remote_url,
    read_chain_links,
)
from custody.share.published_prompts import NOT_PUBLISHED, find_prompt_policy, make_published_prompts
from custody.share.remote import NamedRemote, RemoteBook
from custody.share.wire import PullReport, PushReport, SharedChain, ShareOutcome
from custody.share.witness import USUAL, HeadWatch, WitnessOptions, find_witness_key, open_head_watch
from custody.store import Body, Store
from custody.workspace.workspace import Workspace

CHAIN_REF = lazy_pattern(r"refs/custody/[0-9a-f]{32}")
TOKEN_VARIABLE = "CUSTODY_TOKEN"
"""Environment variable with a token for one command; it overrides the stored one."""


def push_chains(workspace: Workspace, name: str | None, *, texts: bool = False, dry_run: bool = False) -> PushReport:
    """Send the chains of this store to a service or a git remote."""
    service = _find_service_remote(name)
    if service is not None:
        from custody.share.service_transport import push_to_service  # loads the HTTP client

        return push_to_service(workspace, service, texts=texts, dry_run=dry_run)

    return push_to_git(workspace, name, texts=texts, dry_run=dry_run)


def pull_chains(
    workspace: Workspace,
    name: str | None,
    *,
    texts: bool = False,
    dry_run: bool = False,
    witness: WitnessOptions = USUAL,
) -> PullReport:
    """Store the chains that others share; a git remote has the texts that their owners pushed."""
    service = _find_service_remote(name)
    if service is not None:
        from custody.share.service_transport import pull_from_service  # loads the HTTP client

        return pull_from_service(workspace, service, texts=texts, dry_run=dry_run, witness=witness)

    return pull_from_git(workspace, name, dry_run=dry_run, witness=witness)


def find_remote_service(name: str | None) -> NamedRemote:
    """Return the service of that name, or the only service if ``name`` is None."""
    known = RemoteBook(os.environ).read_all()
    if name is None and len(known) == 1:
        (name,) = known
    service = None if name is None else _find_service_remote(name)
    if service is None:
        names = ", ".join(sorted(known)) or "none"
        what = "no services added" if name is None else f"unknown service '{name}'"
        raise InputError(what, hint=f"services: {names}; add one with 'custody remote add NAME URL'")
    return service


def _find_service_remote(name: str | None) -> NamedRemote | None:
    stored = None if name is None else RemoteBook(os.environ).read_all().get(name)
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


FOLDER = "exchange"


def push_to_git(workspace: Workspace, name: str | None, *, texts: bool = False, dry_run: bool = False) -> PushReport:
    """Send every chain that this store appends to or once appended to; other chains of the remote do not change.

    Each head is signed, and countersigned at the remote: whoever clones it later can notice that it was rolled back.
    """
    remote = resolve_share_remote(workspace, name)
    exchange, url = open_share_exchange(workspace), workspace.repository.resolve_remote_url(remote.push)
    with workspace.writing():
        pass  # ingests the spool, so that its events are part of the chain
    policy = NOT_PUBLISHED if texts else find_prompt_policy(workspace, remote.name)
    with open_attribution(workspace) as evidence:
        heads = list_own_chain_tips(evidence.store)
        watch = _open_git_watch(exchange, evidence.workspace, evidence.store, url, remote.fetch) if heads else None
        requests = [
            ShareRequest(head, texts, make_published_prompts(workspace, evidence.store, head.store, policy))
            for head in heads
        ]
        chains = [
            _push_git_chain(_GitPush(exchange, evidence, url, watch), request, dry_run=dry_run)
            for request in requests
            if watch is not None
        ]
        if watch is not None and not dry_run:
            _countersign_git_heads(exchange, url, evidence.store, watch)
    return PushReport(
        outcome=summarize_share_outcome(chains), remote=remote.name, transport="git", dry_run=dry_run, chains=chains
    )


def open_share_exchange(workspace: Workspace) -> Exchange:
    """Return the exchange folder of this repository for git remotes."""
    if workspace.home is None:
        raise InputError("not inside a repository", hint="change to a repository, or pass it with -C")
    return workspace.repository.exchange(workspace.home / FOLDER)


class _GitPush(Struct, frozen=True):
    """A push to a git remote, and what is known about the heads there."""

    exchange: Exchange
    evidence: AttributionContext
    url: RemoteUrl
    watch: HeadWatch


def _open_git_watch(
    exchange: Exchange, workspace: Workspace, store: Store, url: RemoteUrl, name: str, refs: Sequence[Ref] | None = None
) -> HeadWatch:
    """Return what is known about the heads of a git remote; ``refs`` are those that were fetched."""
    fetched = exchange.fetch(url, [WITNESS_REF]) if refs is None else refs
    witness = next((ref.id for ref in fetched if ref.name.decode("ascii") == WITNESS_REF), None)
    entries, faults = ([], []) if witness is None else read_witness_entries(exchange, witness)
    for fault in faults:
        workspace.talk(fault)
    return open_head_watch(workspace, store, hash_remote_url(name), entries)


def _countersign_git_heads(exchange: Exchange, url: RemoteUrl, store: Store, watch: HeadWatch) -> None:
    """Remember the accepted heads, and add our countersignatures to those at the remote; a failure is a warning."""
    with store.writing():
        watch.remember(store)
    key = find_witness_key(watch.workspace) if watch.offers else None
    if key is None:
        return
    try:
        entries = watch.list_new_entries(store, key)
        if entries:
            push_witness_entries(exchange, url, entries, watch.workspace.now_ns())
    except (WorldError, InputError) as error:
        watch.workspace.talk(f"cannot countersign the heads at the remote: {error.message}")


def _push_git_chain(push: _GitPush, request: ShareRequest, *, dry_run: bool) -> SharedChain:
    for attempts_left in reversed(range(PUSH_ATTEMPTS_MAX)):
        old = _fetch_shared_ref(push.exchange, push.url, request.head.store)
        damage = None if old is None else _find_chain_contradiction(push.evidence, old)
        if damage is not None:
            return _report_git_push(request, old, "refused", [damage])
        commit, offer = commit_shared_chain(push.exchange, push.evidence, request, old)
        damage = _find_seen_contradiction(push.evidence.store, push.watch, offer)
        if damage is not None:
            return _report_git_push(request, old, "refused", [damage])
        if commit is None:
            push.watch.accept(offer)
            return _report_git_push(request, old, "same", signer=offer.signer)
        if dry_run:
            return _report_git_push(request, old, "waits")
        try:
            push.exchange.push(
                push.url, make_chain_ref(request.head.store), commit, None if old is None else old.commit
            )
        except RemoteMoveError:
            if not attempts_left:
                raise
            continue  # start again from the remote's new state
        push.watch.accept(offer)
        return _report_git_push(request, old, "sent", signer=offer.signer)
    raise AssertionError("the last attempt returns or raises")


def _find_seen_contradiction(store: Store, watch: HeadWatch, offer: OfferedHead) -> Damage | None:
    """Return the damage if somebody saw another or a longer state of an own chain."""
    tree = ChainTree(read_chain_links(store, offer.tip), offer.outlines) if watch.needs_tree(store, offer) else None
    return watch.find_contradiction(store, offer, tree)


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
    request: ShareRequest,
    old: SharedRef | None,
    outcome: ShareOutcome,
    damages: Sequence[Damage] = (),
    signer: str | None = None,
) -> SharedChain:
    there = 0 if old is None else old.manifest.seq
    chain = report_pushed_chain(
        request.head, there, outcome, texts=request.texts, findings=report_chain_damages(damages)
    )
    return msgspec.structs.replace(
        chain,
        signed_by=None if signer is None else describe_key(signer),
        prompts=0 if outcome == "refused" else len(decode_prompt_excerpts(request.excerpts, request.head.store)),
    )


# Storing the chains that others share through a git remote: checked first, copied verbatim, or refused whole.


def pull_from_git(
    workspace: Workspace,
    name: str | None,
    *,
    dry_run: bool = False,
    witness: WitnessOptions = USUAL,
) -> PullReport:
    """Store every chain of the remote that is not written by this store, and countersign the heads that were seen."""
    remote = resolve_share_remote(workspace, name)
    exchange, url = open_share_exchange(workspace), workspace.repository.resolve_remote_url(remote.fetch)
    refs = exchange.fetch(url, [EVERY_REF])
    shared = [ref for ref in refs if CHAIN_REF.fullmatch(ref.name.decode("ascii"))]
    workspace.progress.start("pulling", len(shared))
    chains: list[SharedChain] = []
    with workspace.writing() as store:
        watch = _open_git_watch(exchange, workspace, store, url, remote.fetch, refs)
        watch.accepted = witness.accepted
        for ref in shared:
            chains.append(_GitPull(exchange, store, watch, dry_run).take(ref))
            workspace.progress.step(1)
        offered = [StoreId(chain.store) for chain in chains]
        chains += [report_missing_chain(store, *missing) for missing in watch.find_missing_chains(store, offered)]
        store.catch_up()
        if not dry_run:
            if witness.countersign:
                push_url = workspace.repository.resolve_remote_url(remote.push)
                _countersign_git_heads(exchange, push_url, store, watch)
            else:
                with store.writing():
                    watch.remember(store)
    return PullReport(
        outcome=summarize_share_outcome(chains), remote=remote.name, transport="git", dry_run=dry_run, chains=chains
    )


class _GitPull(Struct, frozen=True):
    """A pull from a git remote into an open store."""

    exchange: Exchange
    store: Store
    watch: HeadWatch
    dry_run: bool

    def take(self, ref: Ref) -> SharedChain:
        """Store the chain of a reference, or report why it was refused."""
        name = ref.name.decode("ascii")
        chain = StoreId(name.rpartition("/")[2])
        try:
            shared = read_shared_ref(self.exchange, name, ref.id)
            if chain in self.store.tables.list_owned_chains():
                return self._compare_own(shared)
            return self._take_shared(shared)
        except HeadFault as error:
            return self._refuse(chain, IntegrityFinding(error.damage.code.label, error.damage.what))
        except InputError as error:
            return self._refuse(chain, IntegrityFinding(UNREADABLE, error.message))

    def _refuse(self, chain: StoreId, finding: IntegrityFinding) -> SharedChain:
        held = int(self.store.tables.head(chain).seq)
        return SharedChain(chain, held, 0, texts=False, outcome="refused", findings=[finding])

    def _compare_own(self, shared: SharedRef) -> SharedChain:
        """Report a chain that this store writes: refused if the remote rolled it back or replaced it."""
        held = int(self.store.tables.head(StoreId(shared.manifest.store)).seq)
        fork = find_chain_fork(self.store, shared.manifest.head)
        offer = OfferedHead(shared.manifest.head)
        damage = fork or self.watch.find_later_head(self.store, offer)
        if damage is not None:
            return self._refuse(offer.tip.store, IntegrityFinding(damage.code.label, damage.what))
        return SharedChain(shared.manifest.store, held, 0, texts=True, outcome="own")

    def _take_shared(self, shared: SharedRef) -> SharedChain:
        head, store = shared.manifest.head, self.store
        held = store.tables.head(StoreId(shared.manifest.store))
        fork = find_chain_fork(store, head)
        if fork is not None:
            return report_pulled_chain(
                head, held, "refused", texts=shared.manifest.texts, findings=report_chain_damages([fork])
            )
        signed = read_signed_head(self.exchange, shared)
        intake = ChainIntake.open(store, self.watch, head, signed, texts=shared.manifest.texts)
        later = self.watch.find_later_head(store, intake.offer)
        if later is not None:
            return intake.report("refused", [later])
        if head.seq < held.seq:
            return intake.report("behind")
        intake.take_excerpts(read_shared_excerpts(self.exchange, shared))
        damages, origins = self._check(shared, intake)
        if damages:
            return intake.report("refused", damages)
        if not self.dry_run:
            with self.exchange.objects() as objects:
                intake.store_all(self._iterate_items(objects, shared, intake), origins)
        return intake.report_accepted(origins, dry_run=self.dry_run)

    def _iterate_items(
        self, objects: ObjectReader[Object], shared: SharedRef, intake: ChainIntake
    ) -> Iterator[Record | Body]:
        reader = intake.open_reader()
        if intake.reads_records:
            for lines in iterate_chunk_lines(objects, shared, int(intake.begin.seq)):
                yield from reader.read(lines)

    def _check(self, shared: SharedRef, intake: ChainIntake) -> tuple[list[Damage], dict[RepoPath, bytes] | None]:
        """Return the damages of a chain, and its origins if it has any."""
        with self.exchange.objects() as objects:
            reader = intake.open_reader()
            if intake.reads_records:
                for lines in iterate_chunk_lines(objects, shared, int(intake.begin.seq)):
                    for _ in reader.read(lines):
                        pass  # this pass only collects damages
            origins = None
            if not shared.manifest.texts:
                origins = check_shared_origins(
                    (read_shared_file(objects, shared.files[name]) for name in shared.origins), intake.offer.tip
                )
        return intake.finish(reader, origins), origins
