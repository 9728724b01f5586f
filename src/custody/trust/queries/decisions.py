"""SQL about decisions."""

from custody.core.ids import StoreId
from custody.core.views import Decision
from custody.store import ObservedView, Store


def all_decisions(store: Store) -> list[ObservedView[Decision]]:
    """Return every decision about every agent."""
    return store.views.look_up(Decision, "1 = 1", ())


def decisions_of_agent(store: Store, agent: str) -> list[ObservedView[Decision]]:
    """Return the decisions about an agent."""
    return store.views.look_up(Decision, "agent = ?", (agent,))


def decisions_after(store: Store, agent: str, chain: StoreId, seq: int) -> list[ObservedView[Decision]]:
    """Return the decisions about an agent that a chain records after ``seq``."""
    return store.views.look_up(Decision, "agent = ? AND store_id = ? AND seq > ?", (agent, chain, seq))


def decisions_on_commit(store: Store, name: str) -> list[ObservedView[Decision]]:
    """Return the decisions about a commit, as the commit or as the head of a change."""
    return store.views.look_up(Decision, "commit_sha = ? OR head = ?", (name, name))


def corrections_of_decision(store: Store, agent: str, target: str) -> list[ObservedView[Decision]]:
    """Return the decisions that override or revert a decision about an agent."""
    return store.views.look_up(Decision, "agent = ? AND target = ?", (agent, target))


def unreviewed_decisions(store: Store, since_ns: int) -> list[ObservedView[Decision]]:
    """Return the changes that were merged without review after a time."""
    return store.views.look_up(Decision, "unreviewed = 1 AND at_ns > ?", (since_ns,))
