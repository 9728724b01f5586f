"""Indexed changes for somebody who looks: listed, one by one with what each is like, and judged. Nothing is kept."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.dupes import ChangeRow
from custody.dupes.app.change_index import count_changes
from custody.dupes.app.change_name import indexed_change
from custody.dupes.app.change_reader import NO_COMMIT, Asked, ReadChange, Unread, read_changes
from custody.dupes.app.check import dupes_look
from custody.dupes.app.report import named_row, shown
from custody.dupes.app.select import own_commits_of
from custody.dupes.model import Described, Piece
from custody.dupes.queries.change_list import ChangeList
from custody.dupes.rules import DedupeRules
from custody.dupes.wire.report import ChangeNamed, DupesCheckReport
from custody.gate.app.gate import Request, gate
from custody.gate.wire.report import GateReport
from custody.server.app.questions import NotThere, in_repository, onto_of
from custody.server.page_data.cache import Place, Turns, chains_of, place_of
from custody.workspace.rules_in_force import loaded
from custody.workspace.workspace import Desk, has_repository

STATES = ("open", "landed", "all")
_LANDED = {"open": False, "landed": True, "all": None}
LIKE_MAX = 20
"""Changes that one is like, of which a page tells."""
FILES_MAX = 100
"""Files of a change that a page names."""
JUDGED_MAX = 10_000
_TURNS = Turns()
_JUDGED: dict[Place, int] = {}
"""On which records a change was judged last."""


@dataclass(frozen=True, slots=True)
class ChangesListed:
    """Some of the changes that match, the last indexed first; how many match, and how many there are at all."""

    items: tuple[ChangeNamed, ...]
    matching: int
    indexed: int
    next: int | None


@dataclass(frozen=True, slots=True)
class FileTouched:
    """A file of a change: what became of it, how many lines it got and lost, and why it is not read if it is not."""

    path: str
    shape: str
    channel: str
    added: int
    removed: int
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSeen:
    """A change as it is looked at; ``unread`` says why nothing but its name is known, if that is so."""

    change: ChangeNamed
    author: str = ""
    files: tuple[FileTouched, ...] = ()
    file_count: int = 0
    added: int = 0
    removed: int = 0
    unread: str | None = None


def changes_listed(desk: Desk, *, state: str, words: str, before: int | None, limit: int) -> ChangesListed:
    """The changes indexed last: ``open``, ``landed`` or ``all``, with these words in what they are called."""
    landed = _LANDED[state]
    with desk.reading() as store, store.db.reading():
        changes = ChangeList(store.db)
        rows = changes.listed(before=before, limit=limit + 1, landed=landed, words=words)
        matching = changes.count(landed, words)
        indexed = count_changes(store)
    following = rows[limit - 1].id if len(rows) > limit else None
    return ChangesListed(tuple(named_row(row) for row in rows[:limit]), matching, indexed, following)


def change_found(desk: Desk, name: str) -> ChangeRow:
    """The indexed change of this name, number or head; else it is ``NotThere``."""
    with desk.reading() as store:
        try:
            return indexed_change(store, name)
        except InputError as error:
            raise NotThere(error.message, hint=error.hint) from error


def change_seen(desk: Desk, row: ChangeRow) -> ChangeSeen:
    """What a change is and does, as far as a repository is here to tell."""
    named = named_row(row)
    if not has_repository(desk):
        return ChangeSeen(change=named, unread="this service has no repository of the project")
    (read,) = changes_read(desk, [row])
    if isinstance(read, str):
        return ChangeSeen(change=named, unread=read)
    pieces = read.pieces
    return ChangeSeen(
        change=named,
        author=shown(read.author),
        files=tuple(file_touched(piece) for piece in pieces[:FILES_MAX]),
        file_count=len(pieces),
        added=sum(piece.added for piece in pieces),
        removed=sum(piece.removed for piece in pieces),
    )


def changes_read(desk: Desk, rows: Sequence[ChangeRow]) -> list[Described | str]:
    """Changes as git has them, or why one cannot be read."""
    rules = loaded(desk)[0].of(DedupeRules)
    asked = [_asked(desk, row) for row in rows]
    return [_described(one) for one in read_changes(desk.repository, asked, rules)]


def _asked(desk: Desk, row: ChangeRow, onto: CommitSha = NO_COMMIT) -> Asked:
    own = () if row.on_main else own_commits_of(desk.repository, row.base, row.head)
    return Asked(
        base=row.base,
        head=row.head,
        name=row.name,
        title=row.title,
        opened_ns=row.opened_ns,
        on_main=row.on_main,
        commits=own or (row.head,),
        onto=onto,
    )


def _described(read: ReadChange | Unread) -> Described | str:
    return read.why if isinstance(read, Unread) else read.described


def file_touched(piece: Piece) -> FileTouched:
    """A file of a change, to be named."""
    return FileTouched(
        shown(piece.path), piece.shape.value, piece.channel.value, piece.added, piece.removed, piece.opaque
    )


def change_like(desk: Desk, row: ChangeRow, *, limit: int = LIKE_MAX) -> DupesCheckReport:
    """What a change is like among all that are indexed; nothing is kept of it."""
    here = in_repository(desk)
    onto = NO_COMMIT if row.on_main else onto_of(here, row)
    return dupes_look(here, _asked(here, row, onto), limit=limit)


def change_judged(desk: Desk, name: str) -> GateReport:
    """The verdict on an indexed change that is still open, as it would land now; one at a time of a store."""
    here = in_repository(desk)
    row = change_found(desk, name)
    if row.on_main:
        raise InputError("this change has landed", hint="only open changes are judged")
    with _its_turn(desk, row.head):
        return gate(here, Request(change=f"{onto_of(here, row)}..{row.head}"))


@contextmanager
def _its_turn(desk: Desk, head: CommitSha) -> Iterator[None]:
    """One verdict at a time; but of a change that was judged on the same records, as soon as it is asked for.

    A first verdict keeps what it worked out in the store. Two that write at a time break the seal which says that the
    store was checked, and each that follows checks all of it again.
    """
    place = place_of(desk)
    with desk.reading() as store:
        state = hash(chains_of(store))
    if _JUDGED.get((*place, head)) == state:
        yield
        return
    with _TURNS.at(place):
        yield
    if len(_JUDGED) >= JUDGED_MAX:
        _JUDGED.clear()
    _JUDGED[*place, head] = state
