"""Indexed changes for other packages: listed, read from git, and checked for duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from custody.core.ids import CommitSha
from custody.dupes.model import NO_COMMIT, ChangeDescription, ChangedPiece, ChangeRow
from custody.dupes.queries import (
    ChangeList,
    DupesTables,
    encode_change_index,
    insert_change_rows,
    iterate_change_rows,
    load_change_index,
)
from custody.dupes.rules import DedupeRules
from custody.dupes.wire import ChangeRefReport, DupesCheckReport
from custody.git import Ancestry
from custody.store import Store
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

if TYPE_CHECKING:
    from custody.dupes.app.change_reader import ChangeRef, ReadChange, UnreadableChange


def get_newest_change_id(store: Store) -> int:
    """Return the id of the change indexed last; 0 when there is none."""
    return DupesTables(store).newest()


def count_indexed_changes(store: Store) -> int:
    """Return how many changes are indexed."""
    return DupesTables(store).count()


def list_indexed_changes(store: Store, *, after: int = 0) -> Iterator[ChangeRow]:
    """Yield every change with an id above ``after``, in the order of indexing."""
    return DupesTables(store).iterate_changes(after=after)


def find_changes_by_id(store: Store, ids: Iterable[int]) -> dict[int, ChangeRow]:
    """Return the changes with these ids, as far as they are indexed."""
    return DupesTables(store).changes(ids)


def find_changes_by_head(store: Store, start: str) -> list[ChangeRow]:
    """Return the changes whose head starts with these digits, oldest first."""
    return DupesTables(store).list_changes_by_head(start)


def is_open_change(row: ChangeRow) -> bool:
    """Return whether a change is proposed: not on main, not merged, not closed and not superseded by a later push."""
    return not row.on_main and row.state == "open" and not row.superseded_by


def is_change_index_outdated(store: Store) -> bool:
    """Return whether another version of custody made the index, so that no change can be compared with it."""
    from custody.dupes.signature import SIGNATURE_VERSION  # loads sketching, which other questions do not need

    return DupesTables(store).has_other_version(SIGNATURE_VERSION)


def copy_change_index(source: Store, changes: int, into: Store) -> None:
    """Copy the first ``changes`` changes of the index into an empty store."""
    insert_change_rows(into, iterate_change_rows(source, changes))


def write_change_index(store: Store, changes: int, out: BinaryIO) -> None:
    """Write the first ``changes`` changes of the index as JSON lines, with a last line that completes them."""
    out.writelines(encode_change_index(store, changes))


def read_change_index(into: Store, lines: Iterable[bytes]) -> None:
    """Fill an empty index from such lines; raise ``InputError`` if any is missing or was changed."""
    load_change_index(into, lines)


STATES = ("open", "landed", "all")
_LANDED = {"open": False, "landed": True, "all": None}
MATCHES_MAX = 20
"""Matches reported for a change."""
FILES_MAX = 100
"""Files listed for a change."""


class ChangeListPage(Struct, frozen=True):
    """A page of matching changes, newest first; ``matching`` and ``indexed`` are totals."""

    items: tuple[ChangeRefReport, ...]
    matching: int
    indexed: int
    next: int | None


class ChangedFileRow(Struct, frozen=True):
    """A file of a change; ``note`` says why its lines are not shown."""

    path: str
    shape: str
    channel: str
    added: int
    removed: int
    note: str | None


class ChangePage(Struct, frozen=True, kw_only=True):
    """A change with its files; ``unread`` says why git cannot read it."""

    change: ChangeRefReport
    author: str = ""
    files: tuple[ChangedFileRow, ...] = ()
    file_count: int = 0
    added: int = 0
    removed: int = 0
    unread: str | None = None


def load_dedupe_rules(workspace: Workspace) -> DedupeRules:
    """Return the rules in force."""
    return load_workspace_rules(workspace)[0].of(DedupeRules)


def list_change_page(workspace: Workspace, *, state: str, text: str, before: int | None, limit: int) -> ChangeListPage:
    """Return the newest changes of a state (``STATES``) that have ``text`` in their title, name or head."""
    from custody.dupes.app.report import report_indexed_change

    landed = _LANDED[state]
    with workspace.reading() as store, store.reading():
        changes = ChangeList(store)
        rows = changes.list_page(before=before, limit=limit + 1, landed=landed, text=text)
        matching = changes.count(landed, text)
        indexed = count_indexed_changes(store)
    following = rows[limit - 1].id if len(rows) > limit else None
    return ChangeListPage(tuple(report_indexed_change(row) for row in rows[:limit]), matching, indexed, following)


def load_change_page(workspace: Workspace, row: ChangeRow) -> ChangePage:
    """Return a change with its files, read from git."""
    from custody.dupes.app.report import escape_change_name, report_indexed_change

    ref = report_indexed_change(row)
    (change,) = read_indexed_changes(workspace, [row])
    if isinstance(change, str):
        return ChangePage(change=ref, unread=change)
    pieces = change.pieces
    return ChangePage(
        change=ref,
        author=escape_change_name(change.author),
        files=tuple(make_changed_file_row(piece) for piece in pieces[:FILES_MAX]),
        file_count=len(pieces),
        added=sum(piece.added for piece in pieces),
        removed=sum(piece.removed for piece in pieces),
    )


def read_indexed_changes(workspace: Workspace, rows: Sequence[ChangeRow]) -> list[ChangeDescription | str]:
    """Return the changes as git has them, or why a change cannot be read."""
    from custody.dupes.app.change_reader import read_changes

    refs = [_make_change_ref(workspace, row) for row in rows]
    return [
        _to_change_description(change)
        for change in read_changes(workspace.repository, refs, load_dedupe_rules(workspace))
    ]


def _make_change_ref(workspace: Workspace, row: ChangeRow, onto: CommitSha = NO_COMMIT) -> ChangeRef:
    from custody.dupes.app.change_reader import ChangeRef
    from custody.dupes.app.select import read_change_commits

    commits = () if row.on_main else read_change_commits(workspace.repository, row.base, row.head)
    return ChangeRef(
        base=row.base,
        head=row.head,
        name=row.name,
        title=row.title,
        opened_ns=row.opened_ns,
        on_main=row.on_main,
        commits=commits or (row.head,),
        onto=onto,
    )


def _to_change_description(change: ReadChange | UnreadableChange) -> ChangeDescription | str:
    from custody.dupes.app.change_reader import UnreadableChange

    return change.why if isinstance(change, UnreadableChange) else change.description


def make_changed_file_row(piece: ChangedPiece) -> ChangedFileRow:
    """Return a file of a change as a list shows it."""
    from custody.dupes.app.report import escape_change_name

    return ChangedFileRow(
        escape_change_name(piece.path), piece.shape.value, piece.channel.value, piece.added, piece.removed, piece.opaque
    )


def preview_change_duplicates(workspace: Workspace, row: ChangeRow, *, limit: int = MATCHES_MAX) -> DupesCheckReport:
    """Check an indexed change for duplicates without storing the evidence."""
    from custody.dupes.app.check import dupes_preview

    onto = NO_COMMIT if row.on_main else find_change_target_tip(workspace, row)
    return dupes_preview(workspace, _make_change_ref(workspace, row, onto), limit=limit)


def check_indexed_change(workspace: Workspace, row: ChangeRow, *, limit: int) -> DupesCheckReport:
    """Check an indexed change for duplicates, and store the evidence."""
    from custody.dupes.app.check import dupes_check

    is_single_commit = row.on_main or row.base == NO_COMMIT
    return dupes_check(workspace, row.head if is_single_commit else format_change_range(workspace, row), limit=limit)


def format_change_range(workspace: Workspace, row: ChangeRow) -> str:
    """Return an indexed change as a range, from the branch that it targets to its head."""
    return f"{find_change_target_tip(workspace, row)}..{row.head}"


def find_change_target_tip(workspace: Workspace, row: ChangeRow) -> CommitSha:
    """Return the tip of the branch that an indexed change targets; its base if that branch already contains it."""
    from custody.dupes.app.select import find_main_branch_tip

    tip = find_main_branch_tip(workspace.repository, load_dedupe_rules(workspace))
    if tip is None or tip == row.head:
        return row.base
    pair = Ancestry(row.head, tip)
    return row.base if pair in workspace.repository.ancestries({pair}) else tip
