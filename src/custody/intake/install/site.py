"""Where custody is set up: the site that ``init`` and ``uninstall`` change, and what is wired there already."""

import os
import shlex
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from custody.capture.hook.event_home import agents_of
from custody.capture.hook.install import LAUNCHER, hook_argv, is_installed
from custody.core.paths import RepoPath
from custody.git import Repository
from custody.intake.settings import (
    AGENTS,
    HOOKS,
    Agent,
    HookFolder,
    SettingsPlaces,
    hook_in,
    interpreter_in,
    runs_another,
    settings_lack,
    settings_off,
    settings_run,
    settings_trouble,
    state_folder,
)
from custody.workspace.workspace import Workspace

WHERE_SET_UP = "--where-set-up"
"""Has a hook at the user's level record only in repositories that were set up for its agent."""


@dataclass(frozen=True)
class InstallSite:
    """Where things are set up: a repository, or (None) the user's own level; ``state`` is the user's home of ours."""

    repository: Repository | None
    places: SettingsPlaces
    state: Path

    @classmethod
    def of(cls, workspace: Workspace, *, user: bool) -> "InstallSite":
        """The repository around the workspace's folder, or the user's level."""
        home = Path("~").expanduser()
        repository = None if user else workspace.repository
        work_tree = repository.work_tree if repository else None
        return cls(repository, SettingsPlaces(work_tree, home, os.environ), state_folder(os.environ, home))

    @property
    def home(self) -> Path:
        """Where the hook of this site is copied to."""
        return self.state if self.repository is None else self.repository.common_dir / "custody"

    def is_tracked(self, path: Path) -> bool:
        """Whether git tracks the file, a link on the way to it, or the file at the end of the links."""
        steps = self._steps(path) + self._steps(Path(os.path.realpath(path)))
        tracked = self.repository.tracked(steps) if self.repository else frozenset()
        return any(step in tracked for step in steps)

    def has_tracked(self, folder: Path) -> bool:
        """Whether git tracks anything in ``folder``."""
        inside = self._steps(Path(os.path.realpath(folder)))
        return not inside or bool(self.repository and self.repository.tracked(inside[-1:]))

    @property
    def exclude(self) -> Path:
        """Where git is told which files of this repository are nobody's news."""
        assert self.repository is not None, "the user's level has none"
        return self.repository.common_dir / "info" / "exclude"

    @cached_property
    def hook_folder(self) -> HookFolder:
        """Where git looks for this repository's hooks."""
        assert self.repository is not None, "the user's level has none"
        place = self.repository
        return HookFolder.of(place.common_dir, place.work_tree, place.hooks_path(), self.has_tracked)

    def _steps(self, path: Path) -> list[RepoPath]:
        """``path`` and the folders above it, as paths of the repository; none when it is outside."""
        root = self.places.work_tree
        if root is None or not path.is_relative_to(root) or path == root:
            return []
        parts = os.fsencode(path.relative_to(root)).split(b"/")
        return [RepoPath(b"/".join(parts[: number + 1])) for number in range(len(parts))]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEntry:
    """An agent's settings ``file`` that runs a copy of the hook; ``argv`` is None where that is not of this site.

    ``records``: what the agent does in this repository is recorded through it. ``wrong`` says why nothing comes from
    it that should, ``missing`` are the events for which it does not run. ``interpreter`` is what it runs the hook with.
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
    """Every settings file with an entry of ours, this work tree's before the user's."""
    site = InstallSite.of(workspace, user=False)
    found = list[HookEntry]()
    for agent in AGENTS.values():
        project = site.places.project_file(agent)
        for file in (*((project,) if project else ()), *site.places.user_files(agent)):
            commands = settings_run(file, agent)
            lacking = tuple(settings_lack(file, agent, site.places.version(agent))) if commands else ()
            found += [replace(_wired(site, agent, file, command), missing=lacking) for command in commands]
    return found


def turned_off(places: SettingsPlaces) -> dict[str, tuple[Path, str]]:
    """The agents whose settings turn all hooks off, with the file and the setting that counts."""
    found = {}
    for agent in AGENTS.values():
        said = ((file, settings_off(file, agent)) for file in places.all_files(agent))
        first = next(((file, key) for file, key in said if key is not None), None)
        if first is not None and first[1]:
            found[agent.name] = (first[0], first[1])
    return found


def unreadable(places: SettingsPlaces) -> dict[str, tuple[Path, str]]:
    """The agents of which a settings file cannot be read, with the first such file and why."""
    found: dict[str, tuple[Path, str]] = {}
    for agent in AGENTS.values():
        project = places.project_file(agent)
        for file in (*((project,) if project else ()), *places.user_files(agent)):
            if (why := settings_trouble(file, agent)) is not None:
                found.setdefault(agent.name, (file, why))
    return found


def set_up_before(site: InstallSite) -> list[str]:
    """The agents for which ``custody init`` set up this repository at some time."""
    return [name for name in agents_of(str(site.home)) if name in AGENTS]


def describe_disabled_hooks(agent: str, file: Path, key: str) -> str:
    """That a setting keeps an agent from running any hook."""
    return f"{AGENTS[agent].title} runs no hooks: '{key}' in '{file}' turns them off"


def git_hooks_of_others(workspace: Workspace) -> list[Path]:
    """git's hooks whose lines of ours run another copy of the hook than this repository's."""
    site = InstallSite.of(workspace, user=False)
    paths = (site.hook_folder.path / name for name in HOOKS)
    return [path for path in paths if runs_another(path, site.home / "hook" / LAUNCHER)]


def _wired(site: InstallSite, agent: Agent, file: Path, command: str) -> HookEntry:
    hook, everywhere = hook_in(command), WHERE_SET_UP not in command
    argv, wrong, records = None, None, False
    if hook == site.home / "hook" / LAUNCHER:
        argv, records = hook_argv(site.home, agent.name), True
    elif hook == site.state / "hook" / LAUNCHER:
        argv = hook_argv(site.state, agent.name, *at_user_level(agent, everywhere=everywhere))
        records = everywhere or agent.name in agents_of(str(site.home))
    if hook is None or argv is None:
        runs = "something else" if hook is None else f"'{hook}'"
        wrong = f"runs {runs}, not this repository's hook"
    elif not is_installed(hook.parent.parent):
        wrong = f"runs '{hook}', of which not everything is there"
    elif shlex.join(argv[1:]) not in command:
        wrong = "does not run the hook as 'custody init' has it run"
    return HookEntry(
        agent=agent.name,
        file=file,
        hook=hook,
        argv=argv,
        records=records and wrong is None,
        wrong=wrong,
        interpreter=interpreter_in(command),
    )


def at_user_level(agent: Agent, *, everywhere: bool) -> list[str]:
    """What a hook in the user's settings is told: where to record, and whose own hook to leave it to."""
    unless = [] if agent.project is None else ["--unless", agent.project]
    return ["--user", *([] if everywhere else [WHERE_SET_UP]), *unless]
