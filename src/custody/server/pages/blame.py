"""Blame: the list of files, and a file with the author of each line."""

import shlex
from typing import Any

from custody.core.errors import InputError
from custody.server.page_data.files import (
    FileFilter,
    FilePlace,
    blame_file_for_page,
    can_show_disk_page,
    read_file_list_page,
)
from custody.server.pages.blame_lines import CLASSES, FileLines, LineHighlight
from custody.server.pages.page import Page, PageParams, PageView
from custody.workspace.workspace import Workspace, has_workspace_repository

HEAD = "HEAD"
STYLES, SCRIPTS = ("code.css",), ("blame.js",)
"""The style sheet of pages with code, and the script of a file."""
ENTRIES = 100
EDITED_FIRST = 12
"""Files edited by agents that are shown above the list of all files."""
LINE_MAX = 999_999_999
TAKES = {
    "file": "The file, relative to the repository root.",
    "rev": "The revision; HEAD by default.",
    "disk": "1 for the file on disk, uncommitted lines included.",
    "from": "The first line to show.",
    "only": "Highlight the lines of this class.",
    "agent": "Highlight the lines of this agent.",
    "folder": "List the files of this folder.",
    "named": "Only files whose name contains this.",
    "edited": "1 for only files that agents edited.",
    "after": "The last file of the previous page.",
}


def view_blame(workspace: Workspace, params: PageParams) -> PageView:
    """Show a file, or the list of files."""
    if not has_workspace_repository(workspace):
        return view_missing_repository(workspace, "Blame")
    file = params.text("file")
    folder = params.text("folder")
    _check_blame_params(params)
    try:
        return _view_file_list(workspace, params, folder) if file is None else _view_file_lines(workspace, params, file)
    except InputError as error:
        return _view_folder_or_problem(workspace, params, file or folder or "", error)


def _check_blame_params(params: PageParams) -> None:
    """Check every parameter before anything is searched."""
    _read_start_line(params)
    _read_line_class(params)
    _is_edited_filter_on(params)
    read_file_place(params, "")


def _read_start_line(params: PageParams) -> int:
    return params.number("from", 1, least=1, most=LINE_MAX)


def _read_line_class(params: PageParams) -> str | None:
    return None if params.text("only") is None else params.choice("only", tuple(CLASSES))


def _is_edited_filter_on(params: PageParams) -> bool:
    return params.choice("edited", ("0", "1")) == "1"


def view_missing_repository(workspace: Workspace, title: str) -> PageView:
    """Show that the service has no repository of the project."""
    problem = f"This service has no repository of the project '{workspace.project}', so it has no lines to show."
    remedy = "Run 'custody serve' in a clone of the repository."
    return PageView(
        title=title, template="blame_none.html", fields={"problem": problem, "remedy": remedy, "crumbs": []}
    )


def read_file_place(params: PageParams, file: str) -> FilePlace:
    """Return the requested version of a file."""
    on_disk = params.choice("disk", ("0", "1")) == "1"
    if on_disk and params.text("rev") is not None:
        raise InputError("'rev' and 'disk' are mutually exclusive", hint="send one of them")
    return FilePlace(file=file, revision=None if on_disk else params.text("rev") or HEAD)


def make_breadcrumbs(path: str) -> list[tuple[str, str]]:
    """Return the parent folders of a path, each with its name.

    >>> make_breadcrumbs("a/b/c.py")
    [('a', 'a'), ('a/b', 'b')]
    """
    parts = path.split("/")[:-1]
    return [("/".join(parts[: n + 1]), part) for n, part in enumerate(parts)]


def _view_file_lines(workspace: Workspace, params: PageParams, file: str) -> PageView:
    blamed = blame_file_for_page(workspace, read_file_place(params, file))
    lines = FileLines(
        blamed,
        _read_start_line(params),
        LineHighlight(kind=_read_line_class(params), agent=params.text("agent")),
        now=workspace.now_ns() // 1_000_000_000,
    )
    fields = {
        **make_file_link_fields(workspace, params, blamed.file),
        "path": blamed.report.path,
        "report": blamed.report,
        "lines": lines,
        "classes": CLASSES,
        "uncaptured": _is_file_uncaptured(lines, blamed.report),
        "whole": _make_blame_command(blamed.file, params),
    }
    return PageView(
        title=blamed.report.path, template="blame.html", fields=fields, scripts=("blame.js",), styles=STYLES
    )


def _make_blame_command(file: str, params: PageParams) -> str:
    """Return the command that prints all these lines."""
    version = () if params.text("disk") == "1" else (params.text("rev") or HEAD,)
    return shlex.join(("custody", "blame", file, *version))


def _is_file_uncaptured(lines: FileLines, report: Any) -> bool:
    """Return whether the authors are unknown because nothing was recorded in this repository."""
    searched = next(
        (attribution.searched for attribution in report.attributions if attribution.searched is not None), None
    )
    return lines.total > 0 and not lines.agents and searched is not None and searched.since is None


def make_file_link_fields(workspace: Workspace, params: PageParams, file: str) -> dict[str, Any]:
    """Return the file and version of a page, for the links on it."""
    return {
        "file": file,
        "rev": params.text("rev"),
        "disk": "1" if params.text("disk") == "1" else None,
        "has_disk": can_show_disk_page(workspace),
        "crumbs": make_breadcrumbs(file),
    }


def _view_folder_or_problem(workspace: Workspace, params: PageParams, path: str, error: InputError) -> PageView:
    """Show the folder of this path, or why there is neither a file nor a folder."""
    if not path:
        return _view_missing_commit(params, error)
    try:
        return _view_file_list(workspace, params, path.rstrip("/"))
    except InputError:
        fields = {**make_file_link_fields(workspace, params, path), "problem": error.message, "remedy": error.hint}
        return PageView(title=path, template="blame_none.html", fields=fields, is_missing=True)


def _view_file_list(workspace: Workspace, params: PageParams, folder: str | None) -> PageView:
    rev, part = params.text("rev"), params.text("named")
    edited = _is_edited_filter_on(params)
    file_filter = FileFilter(
        folder=folder,
        revision=rev or HEAD,
        part=part,
        edited=edited,
        after=params.text("after") or "",
        most=ENTRIES,
    )
    listing = read_file_list_page(workspace, file_filter)
    first = None
    if folder is None and part is None and not edited and not file_filter.after and listing.edited:
        first = read_file_list_page(workspace, FileFilter(revision=rev or HEAD, edited=True, most=EDITED_FIRST))
    fields = {
        "listing": listing,
        "edited_first": first,
        "named": part,
        "edited": edited,
        "rev": rev,
        "crumbs": [] if listing.folder is None else make_breadcrumbs(listing.folder),
    }
    return PageView(title=listing.shown or "Blame", template="blame_files.html", fields=fields, styles=STYLES)


def _view_missing_commit(params: PageParams, error: InputError) -> PageView:
    """Show that the revision does not exist, or that the repository has no commit yet."""
    named = params.text("rev")
    problem = error.message if named else "This repository has no commits yet."
    remedy = error.hint if named else "Commit a file, or enter a tracked file to see it as it is on disk."
    fields: dict[str, Any] = {"problem": problem, "remedy": remedy, "crumbs": [], "rev": None, "disk": None}
    return PageView(title="Blame", template="blame_none.html", fields=fields, is_missing=named is not None)


PAGES = (Page(name="blame", label="Files", view=view_blame, takes=TAKES, long=True),)
