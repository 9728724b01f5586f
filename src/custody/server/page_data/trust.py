"""Agents for pages: unknown names become ``NameNotFound``; answers from all decisions are limited and cached."""

from collections.abc import Mapping

from custody.core.errors import InputError
from custody.server.app.questions import map_errors_to_404
from custody.server.page_data.cache import StateCache, make_page_cache_key
from custody.store import Store
from custody.trust import Account, UnknownAgent
from custody.trust.app.acceptance import AcceptanceEstimator, make_acceptance_estimator
from custody.trust.app.account import (
    TrustAccount,
    TrustAgentState,
    describe_account,
    describe_agent,
    list_recent_scores,
    read_current_score,
)
from custody.trust.app.decisions import (
    TrustQuery,
    count_decisions,
    load_trust_rules,
    make_trust_query,
    read_settled_decisions,
    require_trust_account,
)
from custody.trust.app.simulate import (
    PolicyTrial,
    SimulationSource,
    begin_policy_trial,
    gather_simulation_input,
    try_policy,
)
from custody.trust.wire import ChanceReport, TrustSimulateReport
from custody.workspace.workspace import Workspace, has_workspace_repository

DECISIONS_MAX = 20_000
"""Maximum decisions that a page computes with: this many take ten seconds."""

EstimatorMemory = StateCache[AcceptanceEstimator]


def list_agent_page_scores(workspace: Workspace, agent: str) -> tuple[float, ...]:
    """Return the agent's scores after its newest decisions."""
    return list_recent_scores(_read_account_for_page(workspace, agent, make_trust_query(workspace)))


def read_agent_page(workspace: Workspace, agent: str, *, at: str | None) -> TrustAgentState:
    """Return the score of an agent, now or at a past time."""
    query = make_trust_query(workspace, at)
    if at is not None:
        standing = _read_account_for_page(workspace, agent, query).state
    else:
        with map_errors_to_404(UnknownAgent):
            standing = read_current_score(workspace, agent, query)
    return describe_agent(workspace, agent, standing, query)


def read_agent_account_page(
    workspace: Workspace, agent: str, *, at: str | None, before: int | None, limit: int
) -> TrustAccount:
    """Return the records about an agent before position ``before``, and how each changed the score."""
    query = make_trust_query(workspace, at)
    account = _read_account_for_page(workspace, agent, query)
    return describe_account(workspace, agent, account, query, before=before, limit=limit)


def estimate_acceptance_for_page(
    workspace: Workspace, memory: EstimatorMemory, agent: str, *, at: str | None
) -> ChanceReport:
    """Estimate the acceptance probability of a change of the agent without further facts, from all decisions."""
    query = make_trust_query(workspace, at)
    with workspace.reading() as store, read_settled_decisions(store):
        check_page_decision_count(count_decisions(store))
        state = (read_trust_cache_state(store), query.rules, query.until_ns)
        estimator = memory.get(
            make_page_cache_key(workspace), state, query.now_ns, lambda: make_acceptance_estimator(store, query)
        )
    return estimator.estimate(agent, query.now_ns).to_report()


def read_trust_cache_state(store: Store) -> tuple[tuple[str, int], ...]:
    """Return the length of every chain: every new record may change the answer."""
    return tuple((str(head.store), int(head.seq)) for head in store.tables.chains())


def check_page_decision_count(decisions: int) -> None:
    """Raise an ``InputError`` for more decisions than a page can compute with."""
    if decisions > DECISIONS_MAX:
        raise InputError(
            f"{decisions:,} decisions are too many for a page",
            hint="run 'custody trust why AGENT' or 'custody trust simulate'",
        )


def _read_account_for_page(workspace: Workspace, agent: str, query: TrustQuery) -> Account:
    with workspace.reading() as store:
        check_page_decision_count(count_decisions(store, agent))
    with map_errors_to_404(UnknownAgent):
        return require_trust_account(workspace, agent, query)


# The past is gathered once, and evaluated again when a slider moves.


NS_PER_DAY = 86_400 * 1_000_000_000
TrialMemory = StateCache[PolicyTrial]


def simulate_policy_for_page(
    workspace: Workspace, memory: TrialMemory, values: Mapping[str, float], *, days: int, source: SimulationSource
) -> TrustSimulateReport:
    """Compare what the current rules and the rules with ``values`` would have merged in the last ``days``."""
    return try_policy(_prepare_trial_for_page(workspace, memory, days, source), load_trust_rules(workspace), values)


def _prepare_trial_for_page(
    workspace: Workspace, memory: TrialMemory, days: int, source: SimulationSource
) -> PolicyTrial:
    rules = load_trust_rules(workspace)
    here = has_workspace_repository(workspace)
    if source == "git" and not here:
        raise InputError("this service has no repository of the project", hint="choose records as the source")
    with workspace.reading() as store:
        check_page_decision_count(count_decisions(store))
        state = (
            read_trust_cache_state(store),
            workspace.repository.head().commit if here else None,
            rules,
            days,
            source,
        )
    now_ns = workspace.now_ns()
    since_ns = now_ns - days * NS_PER_DAY

    def make_trial() -> PolicyTrial:
        gathered = gather_simulation_input(workspace, rules, since_ns, now_ns, source if here else "records")
        check_page_decision_count(len(gathered.pasts))
        return begin_policy_trial(gathered, rules, since_ns, now_ns)

    return memory.get(make_page_cache_key(workspace), state, now_ns, make_trial)
