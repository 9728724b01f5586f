"""What others can see of this store at a remote, without a connection to it.

May touch the store and the repository of the workspace.
"""

from collections.abc import Mapping

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.record import ChainTip
from custody.core.wire.body import VERBATIM
from custody.core.wire.prompt_excerpts import decode_prompt_excerpts
from custody.git import Exchange
from custody.share.chain_exchange import list_own_chain_tips
from custody.share.git_transport import make_chain_ref, read_shared_excerpts, read_shared_ref
from custody.share.published_prompts import PromptPolicy, find_prompt_policy, list_published_prompts
from custody.share.queries import count_records_by_kind
from custody.share.sync import find_added_service, open_share_exchange, resolve_share_remote
from custody.share.wire import ChainAtRemote, ShareReport, VisibleChain
from custody.store import Store
from custody.workspace.workspace import Workspace

PROMPTS_SHOWN_MAX = 100
"""Excerpts in one report; more are counted."""


def report_visibility(workspace: Workspace, name: str | None) -> ShareReport:
    """Return what the next push to a remote shares without texts, and what the remote had last."""
    service = None if name is None else find_added_service(name)
    remote = None if service is not None else resolve_share_remote(workspace, name)
    policy = find_prompt_policy(workspace, None if remote is None else remote.name)
    last = _LastExchange(None, {}) if remote is None else _open_last_exchange(workspace)
    with workspace.reading() as store:
        chains = [_report_chain(workspace, store, tip, policy, last) for tip in list_own_chain_tips(store)]
    return ShareReport(
        remote=name or "" if remote is None else remote.name,
        transport="service" if remote is None else "git",
        base=policy.base,
        publish_prompts=policy.is_published,
        why=policy.why,
        chains=chains,
    )


class _LastExchange(Struct, frozen=True):
    """The references that were fetched or pushed last, by name."""

    exchange: Exchange | None
    refs: Mapping[str, str]


def _open_last_exchange(workspace: Workspace) -> _LastExchange:
    exchange = open_share_exchange(workspace)
    return _LastExchange(exchange, exchange.read_known_refs())


def _report_chain(
    workspace: Workspace, store: Store, tip: ChainTip, policy: PromptPolicy, last: _LastExchange
) -> VisibleChain:
    kinds = count_records_by_kind(store, tip.store)
    excerpts = list_published_prompts(workspace, store, tip.store, policy)
    return VisibleChain(
        store=tip.store,
        records=int(tip.seq),
        in_full={kind: count for kind, count in kinds.items() if kind in VERBATIM},
        without_texts={kind: count for kind, count in kinds.items() if kind not in VERBATIM},
        prompts=excerpts[:PROMPTS_SHOWN_MAX],
        prompts_total=len(excerpts),
        there=_find_chain_there(tip, last),
    )


def _find_chain_there(tip: ChainTip, last: _LastExchange) -> ChainAtRemote | None:
    """Return what was there at the last push or pull; None if nothing is known."""
    ref = make_chain_ref(tip.store)
    commit = last.refs.get(ref)
    if last.exchange is None or commit is None:
        return None
    try:
        shared = read_shared_ref(last.exchange, ref, commit)
        prompts = decode_prompt_excerpts(read_shared_excerpts(last.exchange, shared), tip.store)
    except InputError:
        return None
    return ChainAtRemote(shared.manifest.seq, shared.manifest.texts, len(prompts))
