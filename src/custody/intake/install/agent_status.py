"""The status of each agent: installed, hooks working, last event, and sessions on disk."""

import os
import shutil
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from custody.capture.hook.install import is_hook_current, is_hook_installed
from custody.core.agent_titles import get_agent_title
from custody.core.errors import InputError
from custody.core.plural import noun_for_count
from custody.core.wire.report import AgentReport
from custody.core.wire.time import format_timestamp
from custody.intake.backfill import list_backfill_work_trees, preview_agent_backfill
from custody.intake.install.init import find_installed_agents, find_transcript_agents
from custody.intake.install.site import (
    HookEntry,
    InstallSite,
    describe_disabled_hooks,
    find_disabled_hooks,
    find_unreadable_settings,
    list_foreign_git_hooks,
    list_hook_entries,
    list_set_up_agents,
)
from custody.intake.queries import CapturedAgentRow, list_captured_agents, list_captured_sessions
from custody.intake.settings import AGENTS, list_settings_hook_commands
from custody.intake.settings.agent_table import TITLES, TRANSCRIPT_TITLES
from custody.store import Store
from custody.workspace.workspace import Workspace, has_workspace_repository

SET_UP, NOT_SET_UP, TRANSCRIPTS = "set up", "not set up", "transcripts"


def report_agent_status(workspace: Workspace, store: Store) -> list[AgentReport]:
    """Return every agent that can be set up, that is used without a hook, or that has records, in our order."""
    if workspace.home is None:
        return []
    unhooked = find_transcript_agents(workspace)
    here = {*find_installed_agents(workspace), *unhooked}
    rows: dict[str, CapturedAgentRow] = {row.agent: row for row in list_captured_agents(store)}
    states = {name: status.state for name, status in read_hook_status(workspace).items()}
    known = set(list_captured_sessions(store))
    return [
        AgentReport(
            name=name,
            title=get_agent_title(name),
            here=name in here,
            hooks=states.get(name, TRANSCRIPTS if name in TRANSCRIPT_TITLES else "none"),
            last_live=_format_last_agent_event(rows.get(name), live=True),
            last=_format_last_agent_event(rows.get(name), live=False),
            sessions=rows[name].sessions if name in rows else 0,
            backfill=preview_agent_backfill(workspace, name, known),
            hint=_agent_hook_hint(name, states.get(name), rows.get(name)),
        )
        for name in dict.fromkeys((*TITLES, *unhooked, *sorted(rows)))
    ]


def report_workspace_agents(workspace: Workspace) -> list[AgentReport]:
    """Return the status of every agent; empty for a workspace without a repository."""
    if not has_workspace_repository(workspace):
        return []
    with workspace.reading() as store:
        return report_agent_status(workspace, store)


class HookStatus(Struct, frozen=True):
    """Whether an agent's settings record its work, as a value of ``AgentReport.hooks``, and in which file."""

    state: str
    file: Path | None


def read_hook_status(workspace: Workspace) -> dict[str, HookStatus]:
    """Return the hook status of every agent that can be set up; an entry that records wins over others."""
    entries: dict[str, HookEntry] = {}
    for entry in sorted(list_hook_entries(workspace), key=lambda entry: not entry.records):
        entries.setdefault(entry.agent, entry)
    places = InstallSite.of(workspace, user=False).places
    disabled, unreadable = find_disabled_hooks(places), find_unreadable_settings(places)
    return {
        name: HookStatus(_agent_hook_state(name, found, disabled, unreadable), None if found is None else found.file)
        for name, found in ((name, entries.get(name)) for name in TITLES)
    }


def _agent_hook_state(name: str, entry: HookEntry | None, disabled: Container[str], unreadable: Container[str]) -> str:
    if entry is None:
        return "unreadable" if name in unreadable else NOT_SET_UP
    if not entry.records:
        return "misled"
    return "off" if name in disabled else "partly" if entry.missing else SET_UP


def _agent_hook_hint(name: str, hooks: str | None, row: CapturedAgentRow | None) -> str | None:
    """Return the note of an agent with hooks installed and no live event yet."""
    fired = row is not None and row.live_ns is not None
    return AGENTS[name].note if hooks == SET_UP and not fired else None


def _format_last_agent_event(row: CapturedAgentRow | None, *, live: bool) -> str | None:
    at_ns = None if row is None else row.live_ns if live else row.last_ns
    return None if at_ns is None else format_timestamp(at_ns)


def check_agent_name(agent: str | None, recorded: Iterable[str]) -> None:
    """Raise an error for the name of an agent that cannot be set up and has no records, since it is a typo."""
    known = sorted({*AGENTS, *TRANSCRIPT_TITLES, *recorded})
    if agent is not None and agent not in known:
        raise InputError(f"unknown agent '{agent}'", hint=f"known agents: {', '.join(known)}")


CheckState = Literal["well", "note", "ill"]
HookCheckResult = tuple[CheckState, str, str | None]

SHOWN_MAX = 5
FALLBACK = "python3"
"""The interpreter for a hook whose own interpreter is gone."""


def check_agent_hooks(workspace: Workspace) -> Iterator[HookCheckResult]:
    """Yield the agents that are recorded live, and the problems of the others."""
    if workspace.home is None:
        return
    site, entries = InstallSite.of(workspace, user=False), list_hook_entries(workspace)
    disabled = find_disabled_hooks(site.places)
    working = [entry for entry in entries if entry.records and not entry.missing and entry.agent not in disabled]
    if working:
        yield "well", f"recorded live: {', '.join(dict.fromkeys(TITLES[entry.agent] for entry in working))}", None
    for entry in entries:
        yield from _check_hook_entry(entry)
    for agent in dict.fromkeys(entry.agent for entry in entries if entry.agent in disabled):
        yield "ill", describe_disabled_hooks(agent, *disabled[agent]), "change that setting"
    yield from _check_removed_hooks(site, {entry.agent for entry in entries})
    yield from _check_other_work_trees(
        site, entries, [Path(folder) for folder in list_backfill_work_trees(workspace.repository)]
    )
    yield from _check_hook_interpreters(entries)
    yield from _check_hook_versions(entries)
    if foreign := list_foreign_git_hooks(workspace):
        run = noun_for_count(len(foreign), "runs", "run")
        yield "ill", f"{format_settings_paths(foreign)} {run} the hook of another repository", "run 'custody init'"
    if not is_hook_installed(workspace.home) and not working:
        yield "note", "no hook is installed: nothing is recorded live", "run 'custody init'"
    elif not any(entry.records for entry in entries):
        yield "note", "a hook is installed, but no agent runs it", "run 'custody init'"


def format_settings_paths(paths: Iterable[Path]) -> str:
    """Return the quoted paths, joined with 'and'."""
    return " and ".join(f"'{path}'" for path in paths)


def _check_hook_entry(entry: HookEntry) -> Iterator[HookCheckResult]:
    """Yield the problem of one entry: the repository was moved, the hook deleted, or the settings edited."""
    repair = f"run 'custody init --agent {entry.agent}'"
    if entry.wrong is not None:
        yield "ill", f"{TITLES[entry.agent]} is not recorded: '{entry.file}' {entry.wrong}", repair
    elif entry.missing:
        events = ", ".join(entry.missing)
        yield (
            "ill",
            f"{TITLES[entry.agent]} is recorded only in part: '{entry.file}' does not run the hook at {events}",
            repair,
        )


def _check_removed_hooks(site: InstallSite, agents: set[str]) -> Iterator[HookCheckResult]:
    """Yield the set-up agents without an entry here: those of another or a removed work tree."""
    unreadable = find_unreadable_settings(site.places)
    for agent in list_set_up_agents(site):
        repair = f"run 'custody init --agent {agent}'"
        if agent in agents:
            continue
        if agent in unreadable:
            file, reason = unreadable[agent]
            yield "ill", f"cannot read the settings of {TITLES[agent]}: '{file}': {reason}", f"fix them, then {repair}"
        else:
            what = f"{TITLES[agent]} was set up in this repository, but its settings here do not run the hook"
            yield "note", what, repair


def _check_other_work_trees(
    site: InstallSite, entries: Iterable[HookEntry], folders: Iterable[Path]
) -> Iterator[HookCheckResult]:
    """Yield the other work trees in which an agent is not recorded: each work tree has its own settings."""
    files = {name: site.places.project_file(agent) for name, agent in AGENTS.items()}
    here = {entry.agent for entry in entries if entry.records and entry.file == files[entry.agent]}
    # The user's settings apply to every work tree.
    here -= {entry.agent for entry in entries if entry.records and entry.file != files[entry.agent]}
    missing = {folder: _list_agents_without_hook(here, folder) for folder in folders if folder != site.places.work_tree}
    for folder, agents in [(folder, agents) for folder, agents in missing.items() if agents][:SHOWN_MAX]:
        names = ", ".join(TITLES[agent] for agent in agents)
        yield "note", f"not recorded in the work tree '{folder}': {names}", "run 'custody init' there, or with --user"


def _list_agents_without_hook(agents: Iterable[str], folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    return [
        name
        for name in sorted(agents)
        if not list_settings_hook_commands(folder / (AGENTS[name].project or ""), AGENTS[name])
    ]


def _check_hook_interpreters(entries: Iterable[HookEntry]) -> Iterator[HookCheckResult]:
    """Yield the interpreters that are gone, mostly because a newer Python replaced them."""
    agents: dict[Path, str] = {}
    for entry in entries:
        if entry.wrong is None and entry.interpreter is not None and not os.access(entry.interpreter, os.X_OK):
            agents.setdefault(entry.interpreter, entry.agent)
    for path, agent in agents.items():
        has_fallback = shutil.which(FALLBACK) is not None
        effect = f"'{FALLBACK}' runs it instead" if has_fallback else "nothing can run it"
        repair = f"run 'custody init --agent {agent}'"
        yield "note" if has_fallback else "ill", f"'{path}', the interpreter of the hook, is gone: {effect}", repair


def _check_hook_versions(entries: Iterable[HookEntry]) -> Iterator[HookCheckResult]:
    """Yield the copies of the hook from another version of custody; an upgrade does not replace them."""
    homes = {entry.hook.parent.parent: entry.agent for entry in entries if entry.hook is not None and not entry.wrong}
    for home, agent in homes.items():
        if not is_hook_current(home):
            repair = f"run 'custody init --agent {agent}'"
            yield "note", f"the recorder in '{home}' is from another version of custody", repair
