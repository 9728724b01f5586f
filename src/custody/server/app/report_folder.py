"""The folder of a report: every run replaces its files and touches no others.

The folder itself may be a symbolic link, since the user chose it. Below it no link is followed.
"""

from collections.abc import Iterable
from pathlib import Path

from custody.core.errors import InputError, WorldError
from custody.core.wire.canonical import dump_canonical_json, parse_json_bytes
from custody.workspace.machine import open_atomic_file

LIST = "custody-report.json"
"""Lists the files of a report, so that the next one replaces only those."""


def write_html_report(folder: Path, files: Iterable[tuple[str, bytes]]) -> int:
    """Write ``files`` into a new or empty folder, or over an earlier report; return the number of files."""
    before = _list_previous_report_files(folder)
    names: list[str] = []
    for name, data in files:
        place = folder / name
        _reject_report_symlink(folder, name)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorldError(f"cannot create the folder '{place.parent}': {error.strerror}") from error
        with open_atomic_file(place) as out:
            out.write(data)
        names.append(name)
    for name in before.difference(names):
        _reject_report_symlink(folder, name)
        (folder / name).unlink(missing_ok=True)
    with open_atomic_file(folder / LIST) as out:
        out.write(dump_canonical_json({"report": "custody", "files": [*sorted(names)]}))
    return len(names)


def _reject_report_symlink(folder: Path, name: str) -> None:
    """Raise an ``InputError`` if the path of a report file contains a symbolic link."""
    place = folder
    for part in name.split("/"):
        place /= part
        if place.is_symlink():
            raise InputError(
                f"cannot write through the symbolic link '{place}'",
                hint="remove the link, or choose a new or empty folder",
            )


def _list_previous_report_files(folder: Path) -> set[str]:
    """Return the files of an earlier report; an ``InputError`` for a folder with other content."""
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise InputError(f"'{folder}' is not a folder", hint="choose a folder for the report")
    _reject_report_symlink(folder, LIST)
    file_list = folder / LIST
    if not file_list.is_file():
        if any(folder.iterdir()):
            raise InputError(f"'{folder}' is not empty and not an earlier report", hint="choose a new or empty folder")
        return set()
    manifest = parse_json_bytes(file_list.read_bytes())
    names = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(names, list):
        raise InputError(f"'{file_list}' is not the file list of a report", hint="choose a new or empty folder")
    # Other programs may have written the list, so only names that a report can have count.
    return {name for name in names if isinstance(name, str) and _is_report_page_file(name)}


def _is_report_page_file(name: str) -> bool:
    stem, _, ending = name.removeprefix("assets/").rpartition(".")
    return bool(stem) and "/" not in stem and ".." not in name and ending in ("html", "css", "js", "svg", "txt")
