"""Each agent that we know: whether it is here, whether its hooks fire, when it was last heard, what lies on disk."""

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from custody.core.wire.report import AgentReport
from custody.core.wire.time import text_from
from custody.intake.backfill import back_fill
from custody.intake.install.init import TITLES, find_present_agents
from custody.intake.install.site import HookEntry, InstallSite, list_hook_entries, turned_off, unreadable
from custody.intake.queries import CapturedAgentRow, agent_rows, session_names
from custody.intake.settings import AGENTS
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
