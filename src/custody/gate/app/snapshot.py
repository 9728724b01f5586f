"""A workspace as of a past moment: a private store with the records that were there, and no other."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property

from custody.attribution.app.chain_origins import copy_origins
from custody.attribution.app.context import open_store_with_traces
from custody.capture.spool import Spool
from custody.dupes.app.change_index import copy_index_until
from custody.gate.app.evidence_basis import EvidenceBasis
from custody.store import Store, copy_until, own_as
from custody.workspace.workspace import Workspace


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
