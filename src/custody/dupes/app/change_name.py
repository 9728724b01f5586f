"""Find an indexed change by its ref, the number of its pull request, or its head."""

from custody.core.errors import InputError
from custody.dupes.change_row import ChangeRow
from custody.dupes.queries.change_index import DupesTables
from custody.store import Store
from custody.workspace.workspace import Workspace

DIGITS_MIN = 4


class UnknownChange(InputError):
    """A name that no indexed change has, or more than one."""


def find_change(workspace: Workspace, typed: str) -> ChangeRow:
    """The indexed change with this name; see ``find_indexed_change``."""
    with workspace.reading() as store:
        return find_indexed_change(store, typed)


def find_indexed_change(store: Store, typed: str) -> ChangeRow:
    """The indexed change with this name, or whose head starts with these digits; the newest of several with a name.

    ``#12`` and ``12`` stand for the pull request with this number.
    """
    number = typed.removeprefix("#")
    names = [typed, f"refs/heads/{typed}", f"refs/remotes/{typed}"]
    if number.isdecimal():
        names += [f"refs/pull/{number}/head", f"refs/merge-requests/{number}/head"]
    tables = DupesTables(store)
    for name in names:
        if rows := tables.by_name(name):
            return rows[-1]
    rows = tables.by_head(typed.lower()) if _is_start(typed) else []
    if not rows:
        raise UnknownChange(
            f"no indexed change is called '{typed}'", hint="name a ref, a pull request or its head commit"
        )
    if len({row.head for row in rows}) > 1:
        raise UnknownChange(f"'{typed}' fits {len(rows)} changes", hint="give more digits")
    return rows[-1]


def _is_start(typed: str) -> bool:
    return len(typed) >= DIGITS_MIN and set(typed.lower()) <= set("0123456789abcdef")
