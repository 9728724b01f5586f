"""Share this store's chains through a git remote: sent whole and checked, or not at all."""

from collections.abc import Sequence

from custody.attribution.app.context import AttributionContext, open_attribution
from custody.core.chain_check import Damage, DamageCode
from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.record import ChainTip
from custody.core.wire.report import IntegrityFinding
from custody.git import Exchange, RemoteMoveError, RemoteUrl
from custody.share.chain_exchange import fork_at, outcome_of, own_heads, report_sent
from custody.share.git_transport import SharedRef, ShareRequest, commit_of, read_shared, ref_of
from custody.share.remote_name import git_remote
from custody.share.wire.sharing import PushReport, SharedChain, ShareOutcome
from custody.workspace.workspace import Workspace

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
