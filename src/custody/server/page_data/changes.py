"""Indexed changes for pages: unknown names become ``NameNotFound``, and verdicts are made one at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.dupes import ChangeRow
from custody.dupes.app.change_name import UnknownChange, find_change
from custody.dupes.app.indexed_changes import ChangePage, format_range, read_change
from custody.dupes.app.report import report_indexed_change
from custody.gate.app.gate import GateRequest, gate
from custody.gate.wire.report import GateReport
from custody.server.app.questions import name_not_found, require_repository
from custody.server.page_data.cache import CacheKey, Turns, chains_of, place_of
from custody.workspace.workspace import Workspace, has_repository

JUDGED_MAX = 10_000


class VerdictTurns:
    """Whose turn it is to be judged, and on which records each change was judged last."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._judged: dict[CacheKey, int] = {}

    @contextmanager
    def of(self, workspace: Workspace, head: CommitSha) -> Iterator[None]:
        """One verdict at a time; but of a change that was judged on the same records, as soon as it is asked for.

        A first verdict keeps what it worked out in the store. Two that write at a time break the seal which says that
        the store was checked, and each that follows checks all of it again.
        """
        place = place_of(workspace)
        with workspace.reading() as store:
            state = hash(chains_of(store))
        if self._judged.get((*place, head)) == state:
            yield
            return
        with self._turns.at(place):
            yield
        if len(self._judged) >= JUDGED_MAX:
            self._judged.clear()
        self._judged[*place, head] = state


def find_indexed(workspace: Workspace, name: str) -> ChangeRow:
    """The indexed change of this name; a ``NameNotFound`` where there is none."""
    with name_not_found(UnknownChange):
        return find_change(workspace, name)


def read_change_page(workspace: Workspace, name: str) -> ChangePage:
    """What a change is and does, as far as a repository is here to tell."""
    row = find_indexed(workspace, name)
    if not has_repository(workspace):
        return ChangePage(change=report_indexed_change(row), unread="this service has no repository of the project")
    return read_change(workspace, row)


def change_judged(workspace: Workspace, turns: VerdictTurns, name: str) -> GateReport:
    """The verdict on an indexed change that is still open, as it would land now; one at a time of a store."""
    here = require_repository(workspace)
    row = find_indexed(workspace, name)
    if row.on_main:
        raise InputError("this change has landed", hint="only open changes are judged")
    with turns.of(workspace, row.head):
        return gate(here, GateRequest(change=format_range(here, row)))
