"""Policies tried on the past for a page: the past is gathered once, and judged again as sliders move."""

from collections.abc import Mapping

from custody.core.errors import InputError
from custody.server.page_data.cache import StateCache, place_of
from custody.server.page_data.trust import few_enough, heads_of
from custody.trust.app.decisions import count_decisions
from custody.trust.app.folder import trust_rules
from custody.trust.app.policy_trial import PolicyTrial, begin_trial, try_policy
from custody.trust.app.simulate import SimulationSource, gather
from custody.trust.wire.chance import TrustSimulateReport
from custody.workspace.workspace import Workspace, has_repository

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
