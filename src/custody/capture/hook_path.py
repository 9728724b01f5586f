"""Which file of the repository a hook event names, as far as the hook saw where the agent works."""

import posixpath

from custody.capture.typed_field import fields, string
from custody.core.errors import InputError
from custody.core.paths import RepoPath
from custody.core.wire.event import HookEvent


def located(event: HookEvent, named: object) -> RepoPath | None:
    """A path of the repository for a path as the agent wrote it; None for one outside it, or that is no path."""
    name, root = string(named), event.worktree
    if name is None or root is None or name[1:2] == ":":
        return None
    whole = _real(event, name)
    if not whole.startswith(root.rstrip("/") + "/"):
        return None
    try:
        return RepoPath.of(whole[len(root.rstrip("/")) + 1 :])
    except InputError:
        return None  # it leaves the repository: nothing of ours


def _real(event: HookEvent, name: str) -> str:
    """The path where it really is, as far as the hook saw: below the agent's folder, links on the way resolved."""
    given, folder = string(fields(event.payload).get("cwd")), event.folder
    if folder is None:
        return posixpath.normpath(name)
    if given is not None and name.startswith(given.rstrip("/") + "/"):
        name = name[len(given.rstrip("/")) + 1 :]
    return posixpath.normpath(posixpath.join(folder, name))
