"""Each agent that we know: whether it is here, whether its hooks fire, when it was last heard, what lies on disk."""

import os
import shutil
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from custody.capture.hook.install import is_current, is_installed
from custody.core.errors import InputError
from custody.core.wire.report import AgentReport
from custody.core.wire.time import text_from
from custody.intake.backfill import back_fill, work_trees
from custody.intake.install.init import TITLES, find_present_agents
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
from custody.intake.queries import CapturedAgentRow, agent_rows, session_names
from custody.intake.settings import AGENTS, settings_run
from custody.store import Store
from custody.workspace.workspace import Workspace, has_repository

SET_UP, NOT_SET_UP = "set up", "not set up"


def report_agents(workspace: Workspace, store: Store) -> list[AgentReport]:
    """Every agent that can be set up or was ever heard, in the order in which we name them."""
    if workspace.home is None:
        return []
    here = set(find_present_agents(workspace))
    heard: dict[str, CapturedAgentRow] = {row.agent: row for row in agent_rows(store)}
    states = {name: each.state for name, each in read_hook_status(workspace).items()}
    known = set(session_names(store))
    return [
        AgentReport(
            name=name,
            title=TITLES.get(name, name),
            here=name in here,
            hooks=states.get(name, "none"),
            last_live=_moment(heard.get(name), live=True),
            last=_moment(heard.get(name), live=False),
            sessions=heard[name].sessions if name in heard else 0,
            backfill=back_fill(workspace, name, known),
            hint=_hint(name, states.get(name), heard.get(name)),
        )
        for name in dict.fromkeys((*TITLES, *sorted(heard)))
    ]


def agents_heard(workspace: Workspace) -> list[AgentReport]:
    """The same, of a workspace; none where agents do not work."""
    if not has_repository(workspace):
        return []
    with workspace.reading() as store:
        return report_agents(workspace, store)


@dataclass(frozen=True, slots=True)
class HookStatus:
    """Whether an agent's settings have its work recorded, in the words of ``AgentReport.hooks``, and in which file."""

    state: str
    file: Path | None


def read_hook_status(workspace: Workspace) -> dict[str, HookStatus]:
    """Of every agent that can be set up, what its settings come to; an entry that records counts before others."""
    hooks: dict[str, HookEntry] = {}
    for each in sorted(list_hook_entries(workspace), key=lambda each: not each.records):
        hooks.setdefault(each.agent, each)
    places = InstallSite.of(workspace, user=False).places
    off, broken = turned_off(places), unreadable(places)
    return {
        name: HookStatus(_state(name, each, off, broken), None if each is None else each.file)
        for name, each in ((name, hooks.get(name)) for name in TITLES)
    }


def _state(name: str, each: HookEntry | None, off: Container[str], broken: Container[str]) -> str:
    if each is None:
        return "unreadable" if name in broken else NOT_SET_UP
    if not each.records:
        return "misled"
    return "off" if name in off else "partly" if each.missing else SET_UP


def _hint(name: str, hooks: str | None, row: CapturedAgentRow | None) -> str | None:
    """What to know where hooks are set up and none has ever fired."""
    fired = row is not None and row.live_ns is not None
    return AGENTS[name].note if hooks == SET_UP and not fired else None


def _moment(row: CapturedAgentRow | None, *, live: bool) -> str | None:
    at_ns = None if row is None else row.live_ns if live else row.last_ns
    return None if at_ns is None else text_from(at_ns)


# Which names of agents can be asked about: a name that nobody has is a slip, and no answer about it would say so.


def check_agent(agent: str | None, heard: Iterable[str]) -> None:
    """Refuse the name of an agent that neither can be set up nor was ever heard here."""
    known = sorted({*AGENTS, *heard})
    if agent is not None and agent not in known:
        raise InputError(f"no agent is named '{agent}' here", hint=f"known are {', '.join(known)}")


# Whether what agents do comes here: their settings, the copy of the hook that these run, and git's hooks.


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
