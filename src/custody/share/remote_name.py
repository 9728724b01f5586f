"""Which remote a name is: a service that the user named, or a git remote of the repository."""

from custody.core.errors import InputError
from custody.git import Remote
from custody.workspace.workspace import Workspace

USUAL = "origin"


def git_remote(workspace: Workspace, name: str | None) -> Remote:
    """The git remote called ``name``; without one the remote that the branch follows, or ``origin``."""
    remotes = workspace.repository.remotes()
    chosen = name or _followed(workspace, remotes.followed) or USUAL
    found = remotes.named.get(chosen)
    if found is None or not found.fetch:
        known = ", ".join(sorted(remotes.named)) or "none"
        raise InputError(
            f"there is no remote called '{chosen}'",
            hint=f"git remotes here: {known}; 'git remote add' or 'custody remote add' names another",
        )
    return found


def _followed(workspace: Workspace, followed: dict[str, str]) -> str | None:
    branch = workspace.repository.head().branch
    name = (
        None if branch is None else followed.get(branch.decode("utf-8", "surrogateescape").removeprefix("refs/heads/"))
    )
    return None if name == "." else name
