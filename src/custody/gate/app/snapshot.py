"""A workspace as of a past time: a private store with only the records that existed then."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

from msgspec import Struct, field

from custody.attribution.app.context import open_attribution_store
from custody.attribution.app.foreign_states import copy_line_origins
from custody.capture.spool import Spool
from custody.core.errors import StoreError
from custody.core.ids import Digest, StoreId
from custody.core.record import ChainTip
from custody.core.structs import format_struct
from custody.core.wire.body import format_digest
from custody.dupes.app.indexed_changes import copy_change_index, find_changes_by_id, get_newest_change_id
from custody.gate.wire.report import IndexExtentReport
from custody.ledger.assurance import find_head_signers
from custody.ledger.records import list_recording_gaps
from custody.store import Store, copy_chains_until, set_owned_chains
from custody.trust.app.approval_case import digest_approval_chain_heads
from custody.workspace.workspace import Workspace

# The basis of a verdict beside the repository: how far each chain, the index of changes and the gaps reached.
# A verdict that names all of it can be reproduced, and must then be identical.


class EvidenceBasis(Struct, frozen=True):
    """The heads of all chains, the chain that the store appends to, the index, and the number of gaps.

    ``owned`` are the chains that the store appends to or once did; others were imported. ``index`` is None where no
    change is indexed, ``gaps`` where they cannot be read. ``withheld`` counts texts that other stores did not share.
    """

    chains: tuple[ChainTip, ...] = ()
    own: StoreId | None = None
    owned: frozenset[StoreId] = frozenset()
    index: IndexExtentReport | None = None
    gaps: int | None = 0
    withheld: int = 0

    @property
    def chain_head(self) -> str | None:
        """Return one digest of all chain heads; None without chains."""
        return digest_verdict_chains(self.chains)


def digest_verdict_chains(chains: Sequence[ChainTip]) -> str | None:
    """Return one digest of these heads; None without chains."""
    return format_digest(Digest(digest_approval_chain_heads(chains))) if chains else None


def read_verdict_basis(workspace: Workspace) -> EvidenceBasis:
    """Return the basis of a verdict made now; without chains where the store is unreadable, which the gate reports."""
    gaps = _count_evidence_gaps(workspace)
    try:
        with open_attribution_store(workspace) as store, store.reading():
            chains = tuple(store.tables.chains())
            owned = store.tables.list_owned_chains() & {head.store for head in chains}
            withheld = store.tables.count_withheld_bodies() if store.tables.list_pulled_chains() else 0
            extent = read_verdict_index_extent(store)
            return EvidenceBasis(chains, store.own(), frozenset(owned), extent, gaps, withheld)
    except StoreError:
        return EvidenceBasis(gaps=gaps)


def read_verdict_index_extent(store: Store, until: int | None = None) -> IndexExtentReport | None:
    """Return the extent of the index, or the extent up to ``until``; None if it does not reach that far."""
    changes = get_newest_change_id(store) if until is None else until
    row = find_changes_by_id(store, [changes]).get(changes)
    return None if row is None else IndexExtentReport(changes, row.head)


def _count_evidence_gaps(workspace: Workspace) -> int | None:
    try:
        return len(list_recording_gaps(workspace))
    except StoreError:
        return None


class PastWorkspace(Workspace, frozen=True, kw_only=True):
    """A workspace that reads a private ``store``, with its clock stopped at the time of the snapshot."""

    store: Store
    signers: Mapping[StoreId, frozenset[str]] = field(default_factory=dict)
    """The keys that signed the heads of chains, as the store that they were copied from shows."""

    @property
    def head_signers(self) -> Mapping[StoreId, frozenset[str]]:
        """Return ``signers``: the copy ends before the signed head, so its signature cannot be checked here."""
        return self.signers

    @property
    def until_ns(self) -> int | None:
        """Return the time of the snapshot: later records do not count."""
        return self.now_ns()

    @cached_property
    def spools(self) -> tuple[Spool, ...]:
        """Return no spools: an event that still waits in a spool now arrived after the snapshot."""
        return ()

    @contextmanager
    def reading(self) -> Iterator[Store]:
        """Yield the private store."""
        yield self.store

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Yield the private store; writes are discarded with it."""
        yield self.store

    def exists(self) -> bool:
        """Return whether anything had been recorded."""
        return bool(self.store.tables.chains())

    def __repr__(self) -> str:
        return format_struct(self, but=("store",))


@contextmanager
def open_verdict_workspace(workspace: Workspace, basis: EvidenceBasis) -> Iterator[PastWorkspace]:
    """Yield the workspace as of its clock, with the records of ``basis``.

    The caller has checked that these records exist.
    """
    with workspace.scratch() as store:
        with open_attribution_store(workspace) as source:
            signers = {head.store: find_head_signers(source, head) for head in basis.chains}
            if basis.chains:
                copy_chains_until(source, basis.chains, store)
                copy_line_origins(source, [head.store for head in basis.chains], store)
                set_owned_chains(store, basis.owned, basis.own)
            if basis.index is not None:
                copy_change_index(source, basis.index.changes, store)
        same = {name: getattr(workspace, name) for name in Workspace.__struct_fields__}
        yield PastWorkspace(**same, store=store, signers=signers)
