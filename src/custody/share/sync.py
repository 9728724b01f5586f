"""Push and pull: one verb each, for a service that the user named and for a git remote."""

import os

from custody.core.errors import InputError
from custody.share.remote.service_book import NamedRemote, RemoteBook
from custody.share.wire.sharing import PullReport, PushReport, RemoteInfo, RemoteReport
from custody.workspace.workspace import Workspace

TOKEN_VARIABLE = "CUSTODY_TOKEN"
"""Where a token may stand for one command, instead of the one that is kept."""


def push(workspace: Workspace, name: str | None, *, texts: bool = False, dry_run: bool = False) -> PushReport:
    """Share what was recorded here."""
    service = _service(name)
    if service is not None:
        from custody.share.service_transport import push_service  # loads the HTTP client

        return push_service(workspace, service, texts=texts, dry_run=dry_run)
    from custody.share.push import push_git

    return push_git(workspace, name, texts=texts, dry_run=dry_run)


def pull(workspace: Workspace, name: str | None, *, texts: bool = False, dry_run: bool = False) -> PullReport:
    """Take over what others share; a git remote gives the texts that their owners put there."""
    service = _service(name)
    if service is not None:
        from custody.share.service_transport import pull_service  # loads the HTTP client

        return pull_service(workspace, service, texts=texts, dry_run=dry_run)
    from custody.share.pull import pull_git

    return pull_git(workspace, name, dry_run=dry_run)


def the_service(name: str | None) -> NamedRemote:
    """The service of that name, or the only one that there is."""
    known = RemoteBook(os.environ).all()
    if name is None and len(known) == 1:
        (name,) = known
    found = None if name is None else _service(name)
    if found is None:
        names = ", ".join(sorted(known)) or "none"
        what = "there is no service" if name is None else f"there is no service called '{name}'"
        raise InputError(what, hint=f"services: {names}; 'custody remote add NAME URL' names one")
    return found


def add_remote(name: str, url: str, token: str | None) -> RemoteReport:
    """Name a service."""
    RemoteBook(os.environ).add(name, url, token)
    return list_remotes()


def remove_remote(name: str) -> RemoteReport:
    """Forget a service and its token."""
    RemoteBook(os.environ).remove(name)
    return list_remotes()


def list_remotes() -> RemoteReport:
    """The services that the user named."""
    known = RemoteBook(os.environ).all()
    return RemoteReport(
        remotes=[RemoteInfo(remote.name, remote.url, remote.token is not None) for _, remote in sorted(known.items())]
    )


def _service(name: str | None) -> NamedRemote | None:
    found = None if name is None else RemoteBook(os.environ).all().get(name)
    if found is None:
        return None
    return NamedRemote(found.name, found.url, os.environ.get(TOKEN_VARIABLE) or found.token)
