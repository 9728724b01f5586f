"""Agents for pages: unknown names become ``NameNotFound``; answers that read every decision are bounded and cached."""

from collections.abc import Mapping

from custody.core.errors import InputError
from custody.server.app.questions import name_not_found
from custody.server.page_data.cache import StateCache, place_of
from custody.store import Store
from custody.trust import Account, UnknownAgent
from custody.trust.app.account import (
    TrustAccount,
    TrustAgentState,
    describe_account,
    describe_agent,
    list_recent_scores,
    read_current_standing,
)
from custody.trust.app.chance import ChanceEstimator, make_chance_estimator
from custody.trust.app.decisions import (
    TrustQuery,
    count_decisions,
    known_account,
    make_trust_query,
    read_settled_decisions,
    trust_rules,
)
from custody.trust.app.simulate import PolicyTrial, SimulationSource, begin_trial, gather, try_policy
from custody.trust.wire import ChanceReport, TrustSimulateReport
from custody.workspace.workspace import Workspace, has_repository

DECISIONS_MAX = 20_000
"""With more decisions than this, nothing that folds all of them is made for a page: that many take ten seconds."""

EstimatorMemory = StateCache[ChanceEstimator]


def agent_recent(workspace: Workspace, agent: str) -> tuple[float, ...]:
    """The agent's scores after its newest decisions."""
    return list_recent_scores(_account(workspace, agent, make_trust_query(workspace)))


def read_agent_page(workspace: Workspace, agent: str, *, at: str | None) -> TrustAgentState:
    """Where an agent stands, now or at a past moment."""
    asked = make_trust_query(workspace, at)
    if at is not None:
        standing = _account(workspace, agent, asked).standing
    else:
        with name_not_found(UnknownAgent):
            standing = read_current_standing(workspace, agent, asked)
    return describe_agent(workspace, agent, standing, asked)


def agent_account(workspace: Workspace, agent: str, *, at: str | None, before: int | None, limit: int) -> TrustAccount:
    """Every record about an agent and what it did, those before place ``before`` first, and how the score moved."""
    asked = make_trust_query(workspace, at)
    return describe_account(agent, _account(workspace, agent, asked), asked, before=before, limit=limit)


def agent_chance(workspace: Workspace, memory: EstimatorMemory, agent: str, *, at: str | None) -> ChanceReport:
    """The chance of a change of the agent's of which nothing else is known, from everything that was decided."""
    asked = make_trust_query(workspace, at)
    with workspace.reading() as store, read_settled_decisions(store):
        few_enough(count_decisions(store))
        state = (heads_of(store), asked.rules, asked.until_ns)
        estimator = memory.get(place_of(workspace), state, asked.now_ns, lambda: make_chance_estimator(store, asked))
    return estimator.estimate(agent, asked.now_ns).to_report()


def heads_of(store: Store) -> tuple[tuple[str, int], ...]:
    """How far every chain reaches: whatever is recorded later gives another answer."""
    return tuple((str(head.store), int(head.seq)) for head in store.tables.chains())


def few_enough(decisions: int) -> None:
    """Refuse to fold more decisions than a page can wait for."""
    if decisions > DECISIONS_MAX:
        raise InputError(
            f"there are {decisions:,} decisions, too many to go through for a page",
            hint="ask on the command line: 'custody trust why AGENT', 'custody trust simulate'",
        )


def _account(workspace: Workspace, agent: str, asked: TrustQuery) -> Account:
    with workspace.reading() as store:
        few_enough(count_decisions(store, agent))
    with name_not_found(UnknownAgent):
        return known_account(workspace, agent, asked)


# Policies tried on the past for a page: the past is gathered once, and judged again as sliders move.


NS_PER_DAY = 86_400 * 1_000_000_000
TrialMemory = StateCache[PolicyTrial]


def policy_tried(
    workspace: Workspace, memory: TrialMemory, wished: Mapping[str, float], *, days: int, source: SimulationSource
) -> TrustSimulateReport:
    """What the rules in force, and the same with the ``wished`` numbers, would have let land in the last ``days``."""
    return try_policy(_trial(workspace, memory, days, source), trust_rules(workspace), wished)


def _trial(workspace: Workspace, memory: TrialMemory, days: int, source: SimulationSource) -> PolicyTrial:
    rules = trust_rules(workspace)
    here = has_repository(workspace)
    if source == "git" and not here:
        raise InputError("this service has no repository of the project", hint="look at records instead")
    with workspace.reading() as store:
        few_enough(count_decisions(store))
        state = (heads_of(store), workspace.repository.head().commit if here else None, rules, days, source)
    now_ns = workspace.now_ns()
    since_ns = now_ns - days * NS_PER_DAY

    def made() -> PolicyTrial:
        gathered = gather(workspace, rules, since_ns, now_ns, source if here else "records")
        few_enough(len(gathered.pasts))
        return begin_trial(gathered, rules, since_ns, now_ns)

    return memory.get(place_of(workspace), state, now_ns, made)
