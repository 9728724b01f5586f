"""The status of a repository: what is set up, recorded, and not imported yet."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.wire.report import AgentReport
from custody.intake.backfill import find_unimported_tools
from custody.intake.install.agent_status import SET_UP, TRANSCRIPTS, report_agent_status
from custody.intake.install.init import find_used_agents
from custody.store import Store
from custody.workspace.workspace import NO_REPOSITORY, Workspace, has_workspace_repository, ingest_spool_copy

_BROKEN = ("partly", "off", "unreadable")


class RepositoryStatus(Struct, frozen=True):
    """The state of the repository at ``path``: what is set up, recorded and not imported yet."""

    path: Path
    agents: Sequence[AgentReport]
    records: int
    used: Sequence[str] = ()
    """The names of the agents that are used in this repository."""
    tools: Sequence[str] = ()
    """Other attribution tools with evidence that is not imported, each as an argument of ``custody import``."""

    @property
    def recorded_live(self) -> list[str]:
        """Return the titles of the agents that are set up."""
        return [agent.title for agent in self.agents if agent.hooks in (SET_UP, "partly")]

    @property
    def broken(self) -> list[AgentReport]:
        """Return the agents with hooks that do not record everything."""
        return [agent for agent in self.agents if agent.hooks in _BROKEN]

    @property
    def found(self) -> list[AgentReport]:
        """Return the agents that are used in this repository; without any, the installed ones that have hooks."""
        hooked = [agent for agent in self.agents if agent.hooks != TRANSCRIPTS]
        return [agent for agent in hooked if (agent.name in self.used if self.used else agent.here)]

    @property
    def sessions(self) -> int:
        """Return the number of recorded sessions."""
        return sum(agent.sessions for agent in self.agents)

    @property
    def last(self) -> str | None:
        """Return the time of the last event of an agent, in ISO 8601."""
        return max((agent.last for agent in self.agents if agent.last is not None), default=None)

    @property
    def not_imported(self) -> dict[str, int]:
        """Return how many sessions on disk are not imported, by the title of their agent."""
        previews = ((agent.title, agent.backfill) for agent in self.agents)
        return {title: preview.new_sessions for title, preview in previews if preview and preview.new_sessions}


def find_repository_status(workspace: Workspace) -> RepositoryStatus | None:
    """Return the status of this repository; None outside one."""
    try:
        repository = workspace.repository
    except InputError as error:
        if NO_REPOSITORY in error.message:
            return None
        raise
    with _open_without_creating(workspace) as store:
        return RepositoryStatus(
            repository.work_tree or repository.common_dir,
            report_agent_status(workspace, store),
            store.tables.record_count(),
            find_used_agents(workspace),
            find_unimported_tools(workspace, store),
        )


def find_tools_to_import(workspace: Workspace) -> Sequence[str]:
    """Return the other attribution tools of this repository that are not imported; none without a repository."""
    if not has_workspace_repository(workspace):
        return ()
    with _open_without_creating(workspace) as store:
        return find_unimported_tools(workspace, store)


@contextmanager
def _open_without_creating(workspace: Workspace) -> Iterator[Store]:
    """Open the store; where there is none, a copy of the pending events in memory, and nothing on disk changes."""
    if replace(workspace, spooled=False).exists():
        with workspace.reading() as store:
            yield store
        return
    with workspace.scratch() as store:
        for spool in workspace.spools:
            ingest_spool_copy(spool, store)
        store.catch_up()
        yield store
