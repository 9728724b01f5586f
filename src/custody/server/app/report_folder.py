"""A folder of files that belongs to one report: written anew each time, and nothing of anybody else's is touched.

The folder may be a symbolic link: whoever names it chose it. Below it none is followed.
"""

from collections.abc import Iterable
from pathlib import Path

from custody.core.errors import InputError, WorldError
from custody.core.wire.canonical import dump, parse
from custody.workspace.machine import open_atomic

LIST = "custody-report.json"
"""Names what a report consists of, so that the next one replaces that and nothing else."""


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]]) -> int:
    """Write ``files`` into ``folder``, which is empty, new, or an earlier report's; the number of files."""
    before = _before(folder)
    names: list[str] = []
    for name, data in files:
        place = folder / name
        _check_no_link(folder, name)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorldError(f"cannot make the folder '{place.parent}': {error.strerror}") from error
        with open_atomic(place) as out:
            out.write(data)
        names.append(name)
    for name in before.difference(names):
        _check_no_link(folder, name)
        (folder / name).unlink(missing_ok=True)
    with open_atomic(folder / LIST) as out:
        out.write(dump({"report": "custody", "files": [*sorted(names)]}))
    return len(names)


def _check_no_link(folder: Path, name: str) -> None:
    """An ``InputError`` where the way to a file of the report leads through a symbolic link, or ends at one."""
    place = folder
    for part in name.split("/"):
        place /= part
        if place.is_symlink():
            raise InputError(
                f"'{place}' is a symbolic link, and what it leads to is no part of a report",
                hint="remove the link, or name a new or an empty folder",
            )


def _before(folder: Path) -> set[str]:
    """What an earlier report wrote there; an ``InputError`` for a folder with anything else in it."""
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise InputError(f"'{folder}' is not a folder", hint="name a folder for the report")
    _check_no_link(folder, LIST)
    listed = folder / LIST
    if not listed.is_file():
        if any(folder.iterdir()):
            raise InputError(f"'{folder}' is not empty and no earlier report", hint="name a new or an empty folder")
        return set()
    said = parse(listed.read_bytes())
    names = said.get("files") if isinstance(said, dict) else None
    if not isinstance(names, list):
        raise InputError(f"'{listed}' is no list of a report", hint="name a new or an empty folder")
    # Only what could be a name of ours: the list is a file that anybody may have written.
    return {name for name in names if isinstance(name, str) and _is_ours(name)}


def _is_ours(name: str) -> bool:
    stem, _, ending = name.removeprefix("assets/").rpartition(".")
    return bool(stem) and "/" not in stem and ".." not in name and ending in ("html", "css", "js", "svg", "txt")
