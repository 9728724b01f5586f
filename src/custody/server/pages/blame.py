"""Blame: the repository's files to choose from, and a file with who wrote each of its lines."""

import shlex
from typing import Any

from custody.core.errors import InputError
from custody.server.page_data.files import FileFilter, FilePlace, file_blamed, files_listed, has_disk
from custody.server.pages.blame_lines import CLASSES, FileLines, LineHighlight
from custody.server.pages.page import Page, PageParams, PageView
from custody.workspace.workspace import Workspace, has_repository

HEAD = "HEAD"
ENTRIES = 100
EDITED_FIRST = 12
"""Files that agents wrote in which are shown before any folder is chosen."""
LINE_MAX = 999_999_999
TAKES = {
    "file": "The file, from the repository's root.",
    "rev": "As of which commit; HEAD where it is not said.",
    "disk": "With 1: as it is on disk, uncommitted lines included.",
    "from": "The first line of the rows that are shown.",
    "only": "Only lines of this class stand out.",
    "agent": "Only lines of this agent stand out.",
    "folder": "The folder whose files are listed.",
    "named": "Only files with this in their names.",
    "edited": "With 1: only files that agents wrote in.",
    "after": "Files after this one in the list.",
}


def blame(workspace: Workspace, asked: PageParams) -> PageView:
    """A file, or the files that there are."""
    if not has_repository(workspace):
        return nowhere(workspace, "Blame")
    file = asked.text("file")
    folder = asked.text("folder")
    _check(asked)
    try:
        return _listed(workspace, asked, folder) if file is None else _file(workspace, asked, file)
    except InputError as error:
        return _instead(workspace, asked, file or folder or "", error)


def _check(asked: PageParams) -> None:
    """That what an address says can be understood: only then is anything looked for."""
    _start(asked)
    _kind(asked)
    _is_edited(asked)
    place_of(asked, "")


def _start(asked: PageParams) -> int:
    return asked.number("from", 1, least=1, most=LINE_MAX)


def _kind(asked: PageParams) -> str | None:
    return None if asked.text("only") is None else asked.choice("only", tuple(CLASSES))


def _is_edited(asked: PageParams) -> bool:
    return asked.choice("edited", ("0", "1")) == "1"


def nowhere(workspace: Workspace, title: str) -> PageView:
    """A service without the project's repository says so."""
    problem = f"This service has no repository of the project '{workspace.project}', so it has no lines to show."
    remedy = "Run 'custody serve' in a clone of the repository: it shows its lines beside the same records."
    return PageView(
        title=title, template="blame_none.html", fields={"problem": problem, "remedy": remedy, "crumbs": []}
    )


def place_of(asked: PageParams, file: str) -> FilePlace:
    """Which version of a file is meant."""
    on_disk = asked.choice("disk", ("0", "1")) == "1"
    if on_disk and asked.text("rev") is not None:
        raise InputError("'rev' and 'disk' name two versions of the file", hint="give one of them")
    return FilePlace(file=file, revision=None if on_disk else asked.text("rev") or HEAD)


def crumbs(path: str) -> list[tuple[str, str]]:
    """The folders above a path, each with its name.

    >>> crumbs("a/b/c.py")
    [('a', 'a'), ('a/b', 'b')]
    """
    parts = path.split("/")[:-1]
    return [("/".join(parts[: n + 1]), part) for n, part in enumerate(parts)]


def _file(workspace: Workspace, asked: PageParams, file: str) -> PageView:
    blamed = file_blamed(workspace, place_of(asked, file))
    lines = FileLines(blamed, _start(asked), LineHighlight(kind=_kind(asked), agent=asked.text("agent")))
    fields = {
        **locate(workspace, asked, blamed.file),
        "path": blamed.report.path,
        "report": blamed.report,
        "lines": lines,
        "classes": CLASSES,
        "uncaptured": _uncaptured(lines, blamed.report),
        "whole": _verb(blamed.file, asked),
    }
    return PageView(title=blamed.report.path, template="blame.html", fields=fields, scripts=("blame.js",))


def _verb(file: str, asked: PageParams) -> str:
    """What prints the same lines on the command line, however many they are."""
    version = () if asked.text("disk") == "1" else (asked.text("rev") or HEAD,)
    return shlex.join(("custody", "blame", file, *version))


def _uncaptured(lines: FileLines, report: Any) -> bool:
    """Whether nothing is known because nothing was ever captured here."""
    searched = next(
        (attribution.searched for attribution in report.attributions if attribution.searched is not None), None
    )
    return lines.total > 0 and not lines.agents and searched is not None and searched.since is None


def locate(workspace: Workspace, asked: PageParams, file: str) -> dict[str, Any]:
    """Which version of which file a page is about, for the links on it."""
    return {
        "file": file,
        "rev": asked.text("rev"),
        "disk": "1" if asked.text("disk") == "1" else None,
        "has_disk": has_disk(workspace),
        "crumbs": crumbs(file),
    }


def _instead(workspace: Workspace, asked: PageParams, path: str, error: InputError) -> PageView:
    """What is shown where there is no file with lines: the folder that was meant, or why there is nothing."""
    if not path:
        return _without_commit(asked, error)
    try:
        return _listed(workspace, asked, path.rstrip("/"))
    except InputError:
        fields = {**locate(workspace, asked, path), "problem": error.message, "remedy": error.hint}
        return PageView(title=path, template="blame_none.html", fields=fields, nothing=True)


def _listed(workspace: Workspace, asked: PageParams, folder: str | None) -> PageView:
    rev, part = asked.text("rev"), asked.text("named")
    edited = _is_edited(asked)
    wish = FileFilter(
        folder=folder,
        revision=rev or HEAD,
        part=part,
        edited=edited,
        after=asked.text("after") or "",
        most=ENTRIES,
    )
    listing = files_listed(workspace, wish)
    first = None
    if folder is None and part is None and not edited and not wish.after and listing.edited:
        first = files_listed(workspace, FileFilter(revision=rev or HEAD, edited=True, most=EDITED_FIRST))
    fields = {
        "listing": listing,
        "edited_first": first,
        "named": part,
        "edited": edited,
        "rev": rev,
        "crumbs": [] if listing.folder is None else crumbs(listing.folder),
    }
    return PageView(title=listing.shown or "Blame", template="blame_files.html", fields=fields)


def _without_commit(asked: PageParams, error: InputError) -> PageView:
    """No commit is of that name; where none was named, there is none yet."""
    named = asked.text("rev")
    problem = error.message if named else "This repository has no commit yet, so it has no files to list."
    remedy = (
        error.hint
        if named
        else "Commit something, or name a file that was added: its lines can be shown as they are on disk."
    )
    fields: dict[str, Any] = {"problem": problem, "remedy": remedy, "crumbs": [], "rev": None, "disk": None}
    return PageView(title="Blame", template="blame_none.html", fields=fields, nothing=named is not None)


PAGES = (Page(name="blame", label="Blame", view=blame, takes=TAKES, long=True),)
