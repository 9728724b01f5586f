"""A workspace as of a past moment: a private store with the records that were there, and no other."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property

from custody.attribution.app.context import open_store_with_traces
from custody.attribution.app.foreign_states import copy_origins
from custody.capture.spool import Spool
from custody.core.errors import StoreError
from custody.core.ids import Digest, StoreId
from custody.core.record import ChainTip
from custody.core.wire.body import digest_text
from custody.dupes.app.indexed_changes import changes_by_id, copy_index_until, newest_change
from custody.gate.wire.report import IndexExtentReport
from custody.ledger.records import gaps
from custody.store import Store, copy_until, own_as
from custody.trust.app.approval_case import heads_digest
from custody.workspace.workspace import Workspace

# What a verdict rests on beside the repository: how far each chain, the index of changes and the gaps were known.
# A verdict that names all of it can be worked out again, and must then come out the same.


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


@dataclass(frozen=True, kw_only=True)
class PastWorkspace(Workspace):
    """Everything is asked of ``store``, which is nobody else's; its clock stands still at the moment that it is of."""

    store: Store = field(repr=False)

    @property
    def until_ns(self) -> int | None:
        """What came later does not count."""
        return self.now_ns()

    @cached_property
    def spools(self) -> tuple[Spool, ...]:
        """What waits now did not wait then."""
        return ()

    @contextmanager
    def reading(self) -> Iterator[Store]:
        """The store as it was."""
        yield self.store

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """The same: what is written to it vanishes."""
        yield self.store

    def exists(self) -> bool:
        """Whether anything had been recorded."""
        return bool(self.store.tables.chains())


@contextmanager
def past_workspace(workspace: Workspace, rests: EvidenceBasis) -> Iterator[PastWorkspace]:
    """The workspace as of the moment at which its clock stands, with what a verdict then rested on.

    The caller has seen that these records are there.
    """
    with workspace.scratch() as store:
        with open_store_with_traces(workspace) as source:
            if rests.chains:
                copy_until(source, rests.chains, store)
                copy_origins(source, [head.store for head in rests.chains], store)
                own_as(store, rests.owned, rests.own)
            if rests.index is not None:
                copy_index_until(source, rests.index.changes, store)
        same = {workspace_field.name: getattr(workspace, workspace_field.name) for workspace_field in fields(Workspace)}
        yield PastWorkspace(**same, store=store)
