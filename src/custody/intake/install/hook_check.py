"""Whether what agents do comes here: their settings, the copy of the hook that these run, and git's hooks."""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from custody.capture.hook.install import is_current, is_installed
from custody.intake.install.init import TITLES
from custody.intake.install.site import (
    HookEntry,
    InstallSite,
    describe_disabled_hooks,
    git_hooks_of_others,
    list_hook_entries,
    set_up_before,
    turned_off,
    unreadable,
)
from custody.intake.settings import AGENTS, settings_run
from custody.intake.transcript_paths import work_trees
from custody.workspace.workspace import Workspace

CheckState = Literal["well", "note", "ill"]
HookCheckResult = tuple[CheckState, str, str | None]

SHOWN_MAX = 5
FALLBACK = "python3"
"""What a hook is run with where the interpreter that it names is gone."""


def look_at_hooks(workspace: Workspace) -> Iterator[HookCheckResult]:
    """Who is recorded as it works, and everything that keeps somebody from it."""
    if workspace.home is None:
        return
    site, found = InstallSite.of(workspace, user=False), list_hook_entries(workspace)
    off = turned_off(site.places)
    whole = [each for each in found if each.records and not each.missing and each.agent not in off]
    if whole:
        yield "well", f"recorded as it happens: {', '.join(dict.fromkeys(TITLES[each.agent] for each in whole))}", None
    for each in found:
        yield from _entry(each)
    for agent in dict.fromkeys(each.agent for each in found if each.agent in off):
        yield "ill", describe_disabled_hooks(agent, *off[agent]), "change that setting"
    yield from _lost(site, {each.agent for each in found})
    yield from _elsewhere(site, found, [Path(folder) for folder in work_trees(workspace.repository)])
    yield from _interpreters(found)
    yield from _versions(found)
    if others := git_hooks_of_others(workspace):
        yield "ill", f"{join_paths(others)} run a hook that is not this repository's", "run 'custody init'"
    if not is_installed(workspace.home) and not whole:
        yield "note", "no hook is installed: nothing is captured as it happens", "run 'custody init'"
    elif not any(each.records for each in found):
        yield "note", "no agent's settings run the hook that is installed", "run 'custody init'"


def join_paths(paths: Iterable[Path]) -> str:
    """Paths as they stand in a sentence."""
    return " and ".join(f"'{path}'" for path in paths)


def _entry(each: HookEntry) -> Iterator[HookCheckResult]:
    """What is wrong with one settings file: the repository was moved, the hook deleted, or somebody edited it."""
    again = f"run 'custody init --agent {each.agent}'"
    if each.wrong is not None:
        yield "ill", f"{TITLES[each.agent]} does not record here: '{each.file}' {each.wrong}", again
    elif each.missing:
        events = ", ".join(each.missing)
        yield (
            "ill",
            f"{TITLES[each.agent]} records only in part: '{each.file}' does not run the hook at {events}",
            again,
        )


def _lost(site: InstallSite, entered: set[str]) -> Iterator[HookCheckResult]:
    """Agents that were set up, in another work tree or until somebody took them out, which may be meant."""
    broken = unreadable(site.places)
    for agent in set_up_before(site):
        again = f"run 'custody init --agent {agent}'"
        if agent in entered:
            continue
        if agent in broken:
            file, why = broken[agent]
            yield "ill", f"the settings of {TITLES[agent]} cannot be read: '{file}': {why}", f"mend them, then {again}"
        else:
            what = f"{TITLES[agent]} was set up in this repository, but its settings here do not run the hook"
            yield "note", what, again


def _elsewhere(site: InstallSite, found: Iterable[HookEntry], folders: Iterable[Path]) -> Iterator[HookCheckResult]:
    """Other work trees of this repository in which an agent that is recorded here is not: each has its own settings."""
    files = {name: site.places.project_file(agent) for name, agent in AGENTS.items()}
    here = {each.agent for each in found if each.records and each.file == files[each.agent]}
    # What stands in the user's settings counts in every work tree.
    here -= {each.agent for each in found if each.records and each.file != files[each.agent]}
    lacking = {folder: _not_run(here, folder) for folder in folders if folder != site.places.work_tree}
    for folder, agents in [(folder, agents) for folder, agents in lacking.items() if agents][:SHOWN_MAX]:
        names = ", ".join(TITLES[agent] for agent in agents)
        yield "note", f"not recorded in the work tree '{folder}': {names}", "run 'custody init' there, or with --user"


def _not_run(agents: Iterable[str], folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    return [name for name in sorted(agents) if not settings_run(folder / (AGENTS[name].project or ""), AGENTS[name])]


def _interpreters(found: Iterable[HookEntry]) -> Iterator[HookCheckResult]:
    """Interpreters that are gone: a newer Python was put in their place, mostly."""
    agents: dict[Path, str] = {}
    for each in found:
        if each.wrong is None and each.interpreter is not None and not os.access(each.interpreter, os.X_OK):
            agents.setdefault(each.interpreter, each.agent)
    for path, agent in agents.items():
        there = shutil.which(FALLBACK) is not None
        instead = f"'{FALLBACK}' is run in its place" if there else "nothing can run the hook"
        again = f"run 'custody init --agent {agent}'"
        yield "note" if there else "ill", f"'{path}', which runs the hook, is gone: {instead}", again


def _versions(found: Iterable[HookEntry]) -> Iterator[HookCheckResult]:
    """Copies of the hook that another version of custody made, which an upgrade does not renew by itself."""
    homes = {each.hook.parent.parent: each.agent for each in found if each.hook is not None and each.wrong is None}
    for home, agent in homes.items():
        if not is_current(home):
            again = f"run 'custody init --agent {agent}'"
            yield "note", f"the recorder in '{home}' is another version's than this custody's", again
