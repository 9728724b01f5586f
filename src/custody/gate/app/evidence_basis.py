"""What a verdict rests on beside the repository: how far each chain, the index of changes and the gaps were known.

A verdict that names all of it can be worked out again, and must then come out the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from custody.attribution.app.context import open_store_with_traces
from custody.core.errors import StoreError
from custody.core.ids import Digest, StoreId
from custody.core.record import ChainTip
from custody.core.wire.body import digest_text
from custody.dupes.app.change_index import changes_by_id, newest_change
from custody.gate.wire.report import IndexExtentReport
from custody.ledger.gaps import gaps
from custody.store import Store
from custody.trust.app.approval_case import heads_digest
from custody.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class EvidenceBasis:
    """The heads of all chains, the one that the store appends to, the index, and how many gaps were counted.

    ``owned`` are the chains that the store appends to or once did: records of others were imported. ``index`` is None
    where no change is indexed, ``gaps`` where nobody may read them.
    """

    chains: tuple[ChainTip, ...] = ()
    own: StoreId | None = None
    owned: frozenset[StoreId] = frozenset()
    index: IndexExtentReport | None = None
    gaps: int | None = 0

    @property
    def chain_head(self) -> str | None:
        """One name for how far all chains reach; None where there is none."""
        return head_of(self.chains)


def head_of(chains: Sequence[ChainTip]) -> str | None:
    """One name for these heads; None where there is none."""
    return digest_text(Digest(heads_digest(chains))) if chains else None


def rests_on(workspace: Workspace) -> EvidenceBasis:
    """What a verdict that is given now would rest on; no chain where none can be read, which the gate says itself."""
    counted = _counted(workspace)
    try:
        with open_store_with_traces(workspace) as store, store.reading():
            chains = tuple(store.tables.chains())
            owned = store.tables.owned() & {head.store for head in chains}
            return EvidenceBasis(chains, store.own(), frozenset(owned), read_index_extent(store), counted)
    except StoreError:
        return EvidenceBasis(gaps=counted)


def read_index_extent(store: Store, until: int | None = None) -> IndexExtentReport | None:
    """How far the index goes, or that it goes so far; None where it does not."""
    changes = newest_change(store) if until is None else until
    row = changes_by_id(store, [changes]).get(changes)
    return None if row is None else IndexExtentReport(changes, row.head)


def _counted(workspace: Workspace) -> int | None:
    try:
        return len(gaps(workspace))
    except StoreError:
        return None
