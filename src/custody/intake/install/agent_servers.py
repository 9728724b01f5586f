"""Registration of ``custody mcp`` with the agents of a repository, and its removal."""

import os
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from custody.core.errors import InputError, MissingExtra
from custody.core.wire.report import InitReport, SetUpFile
from custody.intake.install.site import InstallSite, setup_file_from_edit
from custody.intake.settings.agent_servers import (
    NAME,
    SERVERS,
    VERB,
    make_server_edit,
    make_server_removal_edit,
)
from custody.intake.settings.agent_table import AGENTS
from custody.intake.settings.edit import Edit, apply_settings_edits
from custody.intake.settings.git_hooks import make_git_exclude_edit
from custody.intake.settings.manifest import Manifest
from custody.workspace.workspace import Workspace


def install_agent_servers(workspace: Workspace, agents: Sequence[str], *, dry_run: bool = False) -> InitReport:
    """Register the server of this repository with these agents; doing it twice changes nothing."""
    if find_spec("mcp") is None:
        raise MissingExtra("mcp", "mcp")
    site = InstallSite.of(workspace, user=False)
    root = site.places.work_tree
    if root is None:
        raise InputError("a server needs a work tree", hint="run 'custody init --mcp' in a clone")
    command = make_server_command(root)
    edits = [_plan_server(site, root / SERVERS[agent].project, agent, command) for agent in agents]
    created = [SERVERS[edit.whose].project for edit in edits if edit.before is None and edit.by_hand is None]
    exclude = make_git_exclude_edit(site.exclude, created, Manifest.of(site.home).notes.get(str(site.exclude)))
    shown = [*edits, *([] if exclude is None else [exclude])]
    if not dry_run:
        apply_settings_edits(shown)
        if exclude is not None and exclude.note is not None:
            Manifest.of(site.home).with_notes([exclude.note]).keep()
    return InitReport(
        agents=list(agents),
        found=[agent.name for agent in AGENTS.values() if site.places.is_here(agent)],
        already=[],
        off={},
        homes=[],
        files=[setup_file_from_edit(edit, dry_run=dry_run) for edit in shown],
        dry_run=dry_run,
        backfill={},
    )


def uninstall_agent_servers(workspace: Workspace) -> list[SetUpFile]:
    """Take our server out of the settings of every agent of this work tree."""
    site = InstallSite.of(workspace, user=False)
    if site.places.work_tree is None:
        return []
    edits = list(_plan_removals(site, site.places.work_tree))
    apply_settings_edits(edits)
    return [setup_file_from_edit(edit) for edit in edits]


def make_server_command(root: Path) -> tuple[str, ...]:
    """Return the command of the server with absolute paths: agents start it with another PATH, in any folder."""
    program = Path(sys.executable).parent / NAME
    # Not 'python -m custody' alone, which would import a folder 'custody' of the repository that it is started in.
    start = (str(program),) if os.access(program, os.X_OK) else (sys.executable, "-P", "-m", NAME)
    return (*start, "-C", str(root), VERB)


def _plan_server(site: InstallSite, path: Path, agent: str, command: Sequence[str]) -> Edit:
    edit = make_server_edit(path, agent, command)
    if edit.changes and site.is_tracked(path):
        return _make_manual_edit(path, agent, "git tracks this file", f"add a server that runs: {' '.join(command)}")
    return edit


def _plan_removals(site: InstallSite, root: Path) -> Iterator[Edit]:
    for agent, server in SERVERS.items():
        path = root / server.project
        manual = f"remove the server '{NAME}'"
        try:
            edit = make_server_removal_edit(path, agent)
        except InputError as error:
            yield _make_manual_edit(path, agent, error.message, manual)
            continue
        if edit is not None:
            yield _make_manual_edit(path, agent, "git tracks this file now", manual) if site.is_tracked(path) else edit


def _make_manual_edit(path: Path, agent: str, reason: str, task: str) -> Edit:
    return Edit(path=path, target=path, before=None, after=None, whose=agent, what=reason, by_hand=task)
