"""What a name that somebody types is in the work tree around them, or among what is recorded."""

import os

from custody.core.errors import InputError
from custody.dupes.app.change_name import find_indexed_change
from custody.ledger.queries.sessions import session_rows
from custody.store import Store
from custody.trust.app.decisions import agents_in, read_settled_decisions
from custody.workspace.workspace import Workspace


def in_work_tree(workspace: Workspace, name: str) -> str | None:
    """The path of a file or folder from the repository's root, with a slash behind a folder's; None for neither."""
    try:
        root = workspace.repository.work_tree
    except InputError:
        return None  # a team's database, outside of any repository
    place = workspace.folder / name
    if root is None or "\0" in name or not place.exists():
        return None
    below = os.path.relpath(os.path.abspath(place), os.path.abspath(root))
    if below == os.curdir or below.startswith(os.pardir):
        return None
    return f"{below}/" if place.is_dir() else below


def among_records(workspace: Workspace, name: str) -> tuple[str, str, str] | None:
    """The page of a change, an agent or a session of this name, and what to ask there; None where there is none."""
    if not name.isprintable():
        return None
    with workspace.reading() as store:
        if _is_change(store, name):
            return "change", "name", name
        with read_settled_decisions(store):
            if name in agents_in(store):
                return "agent", "name", name
        return ("session", "id", name) if _is_session(store, name) else None


def _is_change(store: Store, name: str) -> bool:
    try:
        find_indexed_change(store, name)
    except InputError:
        return False
    return True


def _is_session(store: Store, name: str) -> bool:
    """Whether a session is called so, or begins so: of several, the page says which."""
    return bool(session_rows(store, limit=1, named=name) or session_rows(store, limit=1, starting=name))
