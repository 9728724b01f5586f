"""The site that ``init`` and ``uninstall`` change, and the hooks that are installed there."""

import os
import shlex
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from custody.capture.hook.event_home import list_hooked_agents
from custody.capture.hook.install import LAUNCHER, hook_argv, is_hook_installed
from custody.core.paths import RepoPath
from custody.core.wire.report import SetUpFile
from custody.git import Repository
from custody.intake.settings import (
    AGENTS,
    HOOKS,
    Agent,
    Edit,
    HookFolder,
    SettingsPlaces,
    find_hooks_off_setting,
    find_settings_problem,
    hook_path_from_command,
    interpreter_from_hook_command,
    list_missing_hook_events,
    list_settings_hook_commands,
    render_edit_diff,
    runs_other_hook_copy,
    user_state_folder,
)
from custody.workspace.workspace import Workspace

WHERE_SET_UP = "--where-set-up"
"""Makes a hook in the user's settings record only in repositories that were set up for its agent."""


class InstallSite(Struct, frozen=True, dict=True):
    """Where hooks are installed: in a repository, or for the user if it is None.

    ``state`` is custody's folder of the user.
    """

    repository: Repository | None
    places: SettingsPlaces
    state: Path

    @classmethod
    def of(cls, workspace: Workspace, *, user: bool) -> "InstallSite":
        """Return the site of the workspace's repository, or of the user's level."""
        home = Path("~").expanduser()
        repository = None if user else workspace.repository
        work_tree = repository.work_tree if repository else None
        return cls(repository, SettingsPlaces(work_tree, home, os.environ), user_state_folder(os.environ, home))

    @property
    def home(self) -> Path:
        """Return the folder with this site's copy of the hook."""
        return self.state if self.repository is None else self.repository.common_dir / "custody"

    def is_tracked(self, path: Path) -> bool:
        """Return whether git tracks the file, a link on the way to it, or the file at the end of the links."""
        steps = self._steps(path) + self._steps(Path(os.path.realpath(path)))
        tracked = self.repository.list_tracked_files(steps) if self.repository else frozenset()
        return any(step in tracked for step in steps)

    def has_tracked(self, folder: Path) -> bool:
        """Return whether git tracks anything in ``folder``."""
        inside = self._steps(Path(os.path.realpath(folder)))
        return not inside or bool(self.repository and self.repository.list_tracked_files(inside[-1:]))

    @property
    def exclude(self) -> Path:
        """Return git's file of excluded paths for this clone."""
        assert self.repository is not None, "the user's level has none"
        return self.repository.common_dir / "info" / "exclude"

    @cached_property
    def hook_folder(self) -> HookFolder:
        """Return the folder where git finds this repository's hooks."""
        assert self.repository is not None, "the user's level has none"
        place = self.repository
        return HookFolder.of(place.common_dir, place.work_tree, place.hooks_path(), self.has_tracked)

    def _steps(self, path: Path) -> list[RepoPath]:
        """Return ``path`` and the folders above it, as paths of the repository; none if it is outside."""
        root = self.places.work_tree
        if root is None or not path.is_relative_to(root) or path == root:
            return []
        parts = os.fsencode(path.relative_to(root)).split(b"/")
        return [RepoPath(b"/".join(parts[: number + 1])) for number in range(len(parts))]


class HookEntry(Struct, frozen=True, kw_only=True):
    """An agent's settings ``file`` that runs a copy of the hook; ``argv`` is None if the copy is not of this site.

    ``records``: this entry records the agent's work in this repository. ``wrong`` is the reason why it does not,
    ``missing`` are the events for which it does not run. ``interpreter`` runs the hook.
    """

    agent: str
    file: Path
    hook: Path | None
    argv: list[str] | None
    records: bool
    wrong: str | None = None
    missing: tuple[str, ...] = ()
    interpreter: Path | None = None


def list_hook_entries(workspace: Workspace) -> list[HookEntry]:
    """Return every entry of ours in settings files, this work tree's before the user's."""
    site = InstallSite.of(workspace, user=False)
    entries = list[HookEntry]()
    for agent in AGENTS.values():
        project = site.places.project_file(agent)
        for file in (*((project,) if project else ()), *site.places.user_files(agent)):
            commands = list_settings_hook_commands(file, agent)
            missing = tuple(list_missing_hook_events(file, agent, site.places.version(agent))) if commands else ()
            entries += [replace(_make_hook_entry(site, agent, file, command), missing=missing) for command in commands]
    return entries


def find_disabled_hooks(places: SettingsPlaces) -> dict[str, tuple[Path, str]]:
    """Return the agents whose settings disable all hooks, with the file and the setting that decides."""
    disabled = {}
    for agent in AGENTS.values():
        settings = ((file, find_hooks_off_setting(file, agent)) for file in places.list_files(agent))
        first = next(((file, key) for file, key in settings if key is not None), None)
        if first is not None and first[1]:
            disabled[agent.name] = (first[0], first[1])
    return disabled


def find_unreadable_settings(places: SettingsPlaces) -> dict[str, tuple[Path, str]]:
    """Return the agents with a settings file that cannot be read, with the first such file and the reason."""
    unreadable: dict[str, tuple[Path, str]] = {}
    for agent in AGENTS.values():
        project = places.project_file(agent)
        for file in (*((project,) if project else ()), *places.user_files(agent)):
            if (reason := find_settings_problem(file, agent)) is not None:
                unreadable.setdefault(agent.name, (file, reason))
    return unreadable


def list_set_up_agents(site: InstallSite) -> list[str]:
    """Return the agents for which ``custody init`` was run in this repository."""
    return [name for name in list_hooked_agents(str(site.home)) if name in AGENTS]


def describe_disabled_hooks(agent: str, file: Path, key: str) -> str:
    """Return the sentence that a setting disables all hooks of an agent."""
    return f"{AGENTS[agent].title} runs no hooks: '{key}' in '{file}' disables them"


def list_foreign_git_hooks(workspace: Workspace) -> list[Path]:
    """Return git's hooks in which our lines run another repository's copy of the hook."""
    site = InstallSite.of(workspace, user=False)
    paths = (site.hook_folder.path / name for name in HOOKS)
    return [path for path in paths if runs_other_hook_copy(path, site.home)]


def _make_hook_entry(site: InstallSite, agent: Agent, file: Path, command: str) -> HookEntry:
    hook, everywhere = hook_path_from_command(command), WHERE_SET_UP not in command
    argv, wrong, records = None, None, False
    if hook == site.home / "hook" / LAUNCHER:
        argv, records = hook_argv(site.home, agent.name), True
    elif hook == site.state / "hook" / LAUNCHER:
        argv = hook_argv(site.state, agent.name, *user_hook_arguments(agent, everywhere=everywhere))
        records = everywhere or agent.name in list_hooked_agents(str(site.home))
    if hook is None or argv is None:
        target = "another command" if hook is None else f"'{hook}'"
        wrong = f"runs {target}, not this repository's hook"
    elif not is_hook_installed(hook.parent.parent):
        wrong = f"runs '{hook}', which is incomplete"
    elif shlex.join(argv[1:]) not in command:
        wrong = "runs the hook with other arguments than 'custody init' writes"
    return HookEntry(
        agent=agent.name,
        file=file,
        hook=hook,
        argv=argv,
        records=records and wrong is None,
        wrong=wrong,
        interpreter=interpreter_from_hook_command(command),
    )


def user_hook_arguments(agent: Agent, *, everywhere: bool) -> list[str]:
    """Return the arguments of a hook in the user's settings: where to record, and which project hook to leave it to."""
    unless = [] if agent.project is None else ["--unless", agent.project]
    return ["--user", *([] if everywhere else [WHERE_SET_UP]), *unless]


def setup_file_from_edit(edit: Edit, *, dry_run: bool = False) -> SetUpFile:
    """Return the report of a change."""
    diff = render_edit_diff(edit) if dry_run and edit.changes else None
    return SetUpFile(str(edit.path), edit.whose, edit.done, edit.what, edit.by_hand, diff)
