"""What a name that somebody types is in the work tree around them."""

import os

from custody.app.desk import Desk
from custody.model.errors import InputError


def in_work_tree(desk: Desk, name: str) -> str | None:
    """The path of a file or folder from the repository's root, with a slash behind a folder's; None for neither."""
    try:
        root = desk.repository.work_tree
    except InputError:
        return None  # a team's database, outside of any repository
    place = desk.folder / name
    if root is None or "\0" in name or not place.exists():
        return None
    below = os.path.relpath(os.path.abspath(place), os.path.abspath(root))
    if below == os.curdir or below.startswith(os.pardir):
        return None
    return f"{below}/" if place.is_dir() else below
