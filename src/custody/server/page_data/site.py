"""What the header of every page shows: the name of the repository, and whether agents are recorded in it."""

import re

from msgspec import Struct

from custody.core.errors import CustodyError
from custody.dupes.app.indexed_changes import list_change_page
from custody.intake.install.agent_status import SET_UP, read_hook_status
from custody.server.page_data.cache import StateCache, make_page_cache_key
from custody.server.page_data.sessions import read_session_list_page
from custody.share.chain_exchange import list_chain_states
from custody.workspace.workspace import Workspace, has_workspace_repository

ORIGIN = "origin"
NAME_PARTS = 2


class PageSite(Struct, frozen=True):
    """The repository of the pages; None for what is unknown."""

    repository: str | None = None
    is_recording: bool | None = None


SiteMemory = StateCache[PageSite]


class RepositoryRow(Struct, frozen=True, kw_only=True):
    """One project of a service in the list of repositories; ``last`` is when its last session was active."""

    project: str
    repository: str | None
    records: int
    open_changes: int
    last: str | None


def read_repository_row(workspace: Workspace, project: str, memory: SiteMemory) -> RepositoryRow:
    """Return what the list of repositories shows about a project."""
    sessions = read_session_list_page(workspace, limit=1).items
    return RepositoryRow(
        project=project,
        repository=read_page_site(workspace, memory).repository,
        records=sum(chain.seq for chain in list_chain_states(workspace).chains),
        open_changes=list_change_page(workspace, state="open", text="", before=None, limit=1).matching,
        last=sessions[0].last if sessions else None,
    )


def read_page_site(workspace: Workspace, memory: SiteMemory) -> PageSite:
    """Return the repository's name and whether an agent is recorded; empty without a repository."""
    if not has_workspace_repository(workspace):
        return PageSite()
    return memory.get(make_page_cache_key(workspace), None, workspace.now_ns(), lambda: _read_site(workspace))


def _read_site(workspace: Workspace) -> PageSite:
    # The header must not make a page fail.
    try:
        remote = workspace.repository.remotes().named.get(ORIGIN)
        name = None if remote is None else name_repository(remote.fetch)
    except CustodyError:
        name = None
    try:
        is_recording = any(status.state == SET_UP for status in read_hook_status(workspace).values())
    except CustodyError:
        return PageSite(name or _name_folder(workspace))
    return PageSite(name or _name_folder(workspace), is_recording)


def name_repository(url: str) -> str | None:
    """Return the owner and name in the URL of a remote; None if it has no path.

    >>> [name_repository(url) for url in ("git@example.com:harbour/ledger.git", "https://u:p@example.com/a/b/c", "")]
    ['harbour/ledger', 'b/c', None]
    >>> name_repository("/srv/git/ledger.git")
    'git/ledger'
    """
    path = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/]*|^[^/:]*:", "", url).strip("/").removesuffix(".git")
    parts = [part for part in path.split("/") if part]
    return "/".join(parts[-NAME_PARTS:]) or None


def _name_folder(workspace: Workspace) -> str:
    return (workspace.repository.work_tree or workspace.folder).name
