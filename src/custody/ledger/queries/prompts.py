"""SQL about the prompts of sessions."""

from collections.abc import Collection

from custody.core.ids import AgentName, SessionId
from custody.core.views import Prompt
from custody.ledger.queries.sessions import SESSIONS_READ_MAX
from custody.store import ObservedView, Store, placeholders


def prompts_of_session(store: Store, session: SessionId) -> list[ObservedView[Prompt]]:
    """Return the prompts of a session, of any agent."""
    return store.views.look_up(Prompt, "session = ?", (session,))


def prompts_of_sessions(store: Store, sessions: Collection[SessionId]) -> list[ObservedView[Prompt]]:
    """Return the prompts of these sessions, of any agent."""
    return store.views.look_up(Prompt, f"session IN ({placeholders(sessions)})", sorted(sessions))


def first_prompts(store: Store, session: SessionId, limit: int) -> list[ObservedView[Prompt]]:
    """Return the first prompts of a session, of any agent."""
    return store.views.look_up(Prompt, f"session = ? ORDER BY at_ns LIMIT {int(limit)}", (session,))


def prompts_until(store: Store, session: SessionId, until_ns: int, limit: int) -> list[ObservedView[Prompt]]:
    """Return the last prompts of a session up to a time, of any agent."""
    where = f"session = ? AND at_ns <= ? ORDER BY at_ns DESC LIMIT {int(limit)}"
    return store.views.look_up(Prompt, where, (session, until_ns))


def first_prompt(store: Store, agent: AgentName, session: SessionId) -> ObservedView[Prompt] | None:
    """Return the first prompt of an agent's session; another agent may have a session of the same id."""
    for limit in (1, SESSIONS_READ_MAX):  # the first row nearly always is the agent's own
        where = f"session = ? ORDER BY at_ns, store_id, seq, n LIMIT {limit}"
        own = [seen for seen in store.views.look_up(Prompt, where, (session,)) if seen.view.agent == agent]
        if own:
            return min(own, key=lambda seen: seen.view.at_ns)
    return None
