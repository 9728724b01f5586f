"""How far the records of each chain can be believed under a team's policy.

May touch the open store of its caller, and ssh-keygen through ``signing``.
"""

from collections.abc import Mapping

from custody.config import TeamPolicy
from custody.core.errors import InputError
from custody.core.ids import PENDING, RecordRef, Seq, StoreId
from custody.core.record import ChainTip, chain_tip_from_record
from custody.core.wire.canonical import parse_json_bytes
from custody.core.wire.claims import ChainRatings
from custody.ledger.queries import HeadStatement, find_head_statements
from custody.store import Store
from custody.workspace.rules_in_force import load_workspace_team_policy
from custody.workspace.workspace import Workspace


def rate_store_chains(
    store: Store,
    own_key: str | None,
    policy: TeamPolicy,
    now_ns: int,
    signers: Mapping[StoreId, frozenset[str]] | None = None,
) -> ChainRatings:
    """Return the ratings of a store's chains: each is enrolled if the policy lists it and its key vouches for it.

    For the store's own chains that is ``own_key``; for others the key must have signed their head. ``signers`` are the
    keys that did, where they are known already.
    """
    owned, heads = frozenset(store.tables.list_owned_chains()), {head.store: head for head in store.tables.chains()}
    listed = {
        chain: member for chain in owned | heads.keys() if (member := policy.find_store(chain, now_ns)) is not None
    }
    enrolled = {
        chain
        for chain, member in listed.items()
        if (
            member.key == own_key
            if chain in owned
            else member.key in (find_head_signers(store, heads[chain]) if signers is None else signers.get(chain, ()))
        )
    }
    if store.own() in enrolled and PENDING in owned:
        enrolled.add(PENDING)  # waiting events go to the store's own chain
    witnesses = {chain for chain in enrolled if chain in listed and listed[chain].role == "witness"}
    return ChainRatings(owned, frozenset(enrolled), frozenset(witnesses))


def rate_workspace_chains(workspace: Workspace, store: Store, policy: TeamPolicy | None = None) -> ChainRatings:
    """Return the ratings of an open store of a workspace, under ``policy`` or that of HEAD."""
    from custody.workspace.store_key import read_store_public_key

    team = load_workspace_team_policy(workspace) if policy is None else policy
    own_key = read_store_public_key(workspace.home)
    return rate_store_chains(store, own_key, team, workspace.now_ns(), workspace.head_signers)


def find_head_signers(store: Store, head: ChainTip) -> frozenset[str]:
    """Return the public keys that signed a statement about a chain up to ``head`` or beyond, as it is stored here."""
    return frozenset(
        statement.signer
        for statement in find_head_statements(store, head.store, int(head.seq))
        if _is_valid_statement(store, statement)
    )


def _is_valid_statement(store: Store, statement: HeadStatement) -> bool:
    """Return whether a statement agrees with the chain in this store and has a valid signature."""
    from custody.core.wire.head_statement import HEAD_NAMESPACE
    from custody.signing import allowed_signers_from_key, find_signer

    record = store.tables.record(RecordRef(statement.store, Seq(statement.seq)))
    if record is None:
        return False
    stated = (statement.store, statement.seq, chain_tip_from_record(record).link.hex())
    allowed = allowed_signers_from_key(statement.signer)
    return (
        _read_stated_head(statement.statement) == stated
        and find_signer(statement.statement, statement.signature, HEAD_NAMESPACE, allowed) is not None
    )


def _read_stated_head(statement: bytes) -> tuple[object, ...]:
    try:
        value = parse_json_bytes(statement)
    except InputError:
        return ()
    return tuple(value.get(name) for name in ("store", "seq", "link")) if isinstance(value, dict) else ()
