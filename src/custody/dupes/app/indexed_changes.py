"""Indexed changes: listed, read from git, and searched for among all that are indexed. Nothing is stored."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from custody.core.ids import CommitSha
from custody.dupes.app.change_reader import NO_COMMIT, ChangeRef, ReadChange, UnreadableChange, read_changes
from custody.dupes.app.check import dupes_check, dupes_look
from custody.dupes.app.report import escape_name, report_indexed_change
from custody.dupes.app.select import landing_tip, own_commits_of
from custody.dupes.model import ChangeDescription, ChangedPiece, ChangeRow
from custody.dupes.queries import ChangeList, DupesTables, EvidenceRow, copy_rows_until
from custody.dupes.rules import DedupeRules
from custody.dupes.wire import ChangeRefReport, DupesCheckReport
from custody.git import Ancestry
from custody.store import Store
from custody.workspace.rules_in_force import load_rules
from custody.workspace.workspace import Workspace

# The index of changes for other packages: which changes it holds, and what was found about them.


def newest_change(store: Store) -> int:
    """Return the id of the change indexed last; 0 when there is none."""
    return DupesTables(store).newest()


def count_changes(store: Store) -> int:
    """Return how many changes are indexed."""
    return DupesTables(store).count()


def list_changes(store: Store, *, after: int = 0) -> Iterator[ChangeRow]:
    """Yield every change behind an id, in the order of indexing."""
    return DupesTables(store).all_changes(after=after)


def changes_by_id(store: Store, ids: Iterable[int]) -> dict[int, ChangeRow]:
    """Return the changes with these ids, as far as they are indexed."""
    return DupesTables(store).changes(ids)


def changes_by_head(store: Store, start: str) -> list[ChangeRow]:
    """Return the changes whose head starts with these digits, oldest first."""
    return DupesTables(store).by_head(start)


def evidence_about(store: Store, start: str) -> list[EvidenceRow]:
    """Return the stored evidence whose id, or whose change's head, starts with these digits; newest first."""
    return DupesTables(store).evidence(start)


def is_index_outdated(store: Store) -> bool:
    """Return whether another version of custody made the index: then no change can be compared with it."""
    from custody.dupes.signature import SIGNATURE_VERSION  # loads sketching, which other questions do not need

    return DupesTables(store).is_of_another(SIGNATURE_VERSION)


def copy_index_until(source: Store, changes: int, into: Store) -> None:
    """Copy the index into an empty store as it was when it had so many changes."""
    copy_rows_until(source, changes, into)


STATES = ("open", "landed", "all")
_LANDED = {"open": False, "landed": True, "all": None}
LIKE_MAX = 20
"""Matches that are reported of a change."""
FILES_MAX = 100
"""Files that are named of a change."""


@dataclass(frozen=True, slots=True)
class ChangeListPage:
    """Some of the changes that match, the last indexed first; how many match, and how many there are at all."""

    items: tuple[ChangeRefReport, ...]
    matching: int
    indexed: int
    next: int | None


@dataclass(frozen=True, slots=True)
class ChangedFileRow:
    """A file of a change: what became of it, how many lines it got and lost, and why it is not read if it is not."""

    path: str
    shape: str
    channel: str
    added: int
    removed: int
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePage:
    """A change as it is looked at; ``unread`` says why nothing but its name is known, if that is so."""

    change: ChangeRefReport
    author: str = ""
    files: tuple[ChangedFileRow, ...] = ()
    file_count: int = 0
    added: int = 0
    removed: int = 0
    unread: str | None = None


def dedupe_rules(workspace: Workspace) -> DedupeRules:
    """The rules in force."""
    return load_rules(workspace)[0].of(DedupeRules)


def changes_listed(workspace: Workspace, *, state: str, words: str, before: int | None, limit: int) -> ChangeListPage:
    """The changes indexed last: ``open``, ``landed`` or ``all``, with these words in what they are called."""
    landed = _LANDED[state]
    with workspace.reading() as store, store.reading():
        changes = ChangeList(store)
        rows = changes.listed(before=before, limit=limit + 1, landed=landed, words=words)
        matching = changes.count(landed, words)
        indexed = count_changes(store)
    following = rows[limit - 1].id if len(rows) > limit else None
    return ChangeListPage(tuple(report_indexed_change(row) for row in rows[:limit]), matching, indexed, following)


def read_change(workspace: Workspace, row: ChangeRow) -> ChangePage:
    """What a change does, read from git."""
    named = report_indexed_change(row)
    (change,) = changes_read(workspace, [row])
    if isinstance(change, str):
        return ChangePage(change=named, unread=change)
    pieces = change.pieces
    return ChangePage(
        change=named,
        author=escape_name(change.author),
        files=tuple(file_touched(piece) for piece in pieces[:FILES_MAX]),
        file_count=len(pieces),
        added=sum(piece.added for piece in pieces),
        removed=sum(piece.removed for piece in pieces),
    )


def changes_read(workspace: Workspace, rows: Sequence[ChangeRow]) -> list[ChangeDescription | str]:
    """Changes as git has them, or why one cannot be read."""
    asked = [_make_change_ref(workspace, row) for row in rows]
    return [_described(change) for change in read_changes(workspace.repository, asked, dedupe_rules(workspace))]


def _make_change_ref(workspace: Workspace, row: ChangeRow, onto: CommitSha = NO_COMMIT) -> ChangeRef:
    own = () if row.on_main else own_commits_of(workspace.repository, row.base, row.head)
    return ChangeRef(
        base=row.base,
        head=row.head,
        name=row.name,
        title=row.title,
        opened_ns=row.opened_ns,
        on_main=row.on_main,
        commits=own or (row.head,),
        onto=onto,
    )


def _described(read: ReadChange | UnreadableChange) -> ChangeDescription | str:
    return read.why if isinstance(read, UnreadableChange) else read.described


def file_touched(piece: ChangedPiece) -> ChangedFileRow:
    """A file of a change, to be named."""
    return ChangedFileRow(
        escape_name(piece.path), piece.shape.value, piece.channel.value, piece.added, piece.removed, piece.opaque
    )


def change_like(workspace: Workspace, row: ChangeRow, *, limit: int = LIKE_MAX) -> DupesCheckReport:
    """What a change is like among all that are indexed; its evidence is not stored."""
    onto = NO_COMMIT if row.on_main else onto_of(workspace, row)
    return dupes_look(workspace, _make_change_ref(workspace, row, onto), limit=limit)


def check_indexed(workspace: Workspace, row: ChangeRow, *, limit: int) -> DupesCheckReport:
    """The same, with its evidence stored."""
    alone = row.on_main or row.base == NO_COMMIT
    return dupes_check(workspace, row.head if alone else format_range(workspace, row), limit=limit)


def format_range(workspace: Workspace, row: ChangeRow) -> str:
    """An indexed change as git names it: from the line that it would land on to its head."""
    return f"{onto_of(workspace, row)}..{row.head}"


def onto_of(workspace: Workspace, row: ChangeRow) -> CommitSha:
    """The tip of the line that an indexed change would land on; its own base where that line has it already."""
    tip = landing_tip(workspace.repository, dedupe_rules(workspace))
    if tip is None or tip == row.head:
        return row.base
    pair = Ancestry(row.head, tip)
    return row.base if pair in workspace.repository.ancestries({pair}) else tip
