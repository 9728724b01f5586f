"""SQL about recorded spans and about what became of the changes that sessions wrote."""

from custody.core.ids import AgentName, ExecutionId, SessionId
from custody.core.views import Decision, Observation, ObservedSpan
from custody.store import ObservedView, Store


def spans_of_execution(store: Store, execution: ExecutionId) -> list[ObservedView[ObservedSpan]]:
    """Return what was recorded of the spans of an execution."""
    return store.views.look_up(ObservedSpan, "execution = ?", (execution,))


def spans_of_session(store: Store, session: SessionId) -> list[ObservedView[ObservedSpan]]:
    """Return what was recorded of the spans of an agent's session."""
    return store.views.look_up(ObservedSpan, "session = ?", (session,))


def executions_of_session(store: Store, session: SessionId) -> list[ExecutionId]:
    """Return the executions that an agent's session started, by id."""
    executions = store.views.distinct(ObservedSpan, "execution", "session = ?", (session,))
    return [ExecutionId(str(execution)) for execution in executions]


def decisions_between(store: Store, agent: AgentName, since_ns: int, until_ns: int) -> list[ObservedView[Decision]]:
    """Return the decisions about an agent between two times, both included."""
    return store.views.look_up(Decision, "agent = ? AND at_ns >= ? AND at_ns <= ?", (agent, since_ns, until_ns))


def first_spans(store: Store, execution: ExecutionId, limit: int) -> list[ObservedView[ObservedSpan]]:
    """Return some of what was recorded of the spans of an execution."""
    return store.views.look_up(ObservedSpan, f"execution = ? LIMIT {int(limit)}", (execution,))


def agents_with_calls(store: Store) -> list[AgentName]:
    """Return the agents of sessions with tool calls, by name."""
    agents = store.views.distinct(Observation, "agent", "session IN (SELECT session FROM tool_call)")
    return [AgentName(str(agent)) for agent in agents]


def sessions_of_agent(store: Store, agent: AgentName) -> set[SessionId]:
    """Return the sessions of an agent."""
    sessions = store.views.distinct(Observation, "session", "agent = ?", (agent,))
    return {SessionId(str(session)) for session in sessions}
