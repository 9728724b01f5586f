"""How far the records of each chain can be believed under a team's policy.

May touch the open store of its caller, and ssh-keygen through ``signing``.
"""

from collections.abc import Mapping

from msgspec import Struct

from custody.config import TeamPolicy
from custody.core.assurance import Assurance
from custody.core.errors import InputError
from custody.core.ids import PENDING, RecordRef, Seq, StoreId
from custody.core.record import ChainTip, Record, chain_tip_from_record
from custody.core.wire.canonical import parse_json_bytes
from custody.ledger.queries import HeadStatement, find_head_statements
from custody.ledger.records import is_claim_record
from custody.store import Store
from custody.workspace.rules_in_force import load_workspace_team_policy
from custody.workspace.workspace import Workspace


class ChainRatings(Struct, frozen=True):
    """The assurance of every chain of a store, under one policy.

    ``owned`` are the chains that the store appended to. Records recorded live in these chains and in enrolled ones are
    believed to be recorded; any other record is a claim. ``witnesses`` are the enrolled chains of a witness: what
    agents did there was recorded out of their reach.
    """

    owned: frozenset[StoreId] = frozenset()
    enrolled: frozenset[StoreId] = frozenset()
    witnesses: frozenset[StoreId] = frozenset()

    @property
    def believed(self) -> frozenset[StoreId]:
        """Return the chains whose live recordings count as recorded."""
        return self.owned | self.enrolled

    def rate_chain(self, chain: StoreId) -> Assurance:
        """Return how far the records of a chain can be believed."""
        return Assurance.ENROLLED if chain in self.enrolled else Assurance.SELF_REPORTED

    def rate_record(self, record: Record) -> Assurance:
        """Return how far a record about who wrote lines can be believed: a claim is always self-reported."""
        if is_claim_record(record, self.believed):
            return Assurance.SELF_REPORTED
        return Assurance.WITNESSED if record.store in self.witnesses else self.rate_chain(record.store)

    def list_equals(self, chain: StoreId) -> frozenset[StoreId]:
        """Return the believed chains that may add details to a recording in ``chain``: none that is rated lower."""
        if chain in self.witnesses:
            return self.witnesses
        return self.enrolled if chain in self.enrolled else self.believed


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
