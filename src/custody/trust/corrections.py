"""Which corrections count: overrides and recoveries, and never those that an agent makes about itself."""

from collections.abc import Iterable, Mapping

from custody.core.ids import AgentName
from custody.trust.model import DecisionOverride, Entry, RecoveryEntry, TrustStanding
from custody.trust.rules import TrustRules
from custody.trust.score import NS_PER_DAY

UNSPECIFIED = "unspecified"
"""The reason of a recovery for which nobody gave one."""


def against_recovery(agent: AgentName, entry: RecoveryEntry, standing: TrustStanding, rules: TrustRules) -> str | None:
    """Why a recovery does not count; None when it does."""
    if not standing.samples:
        return "nothing was decided about the agent before"
    if entry.boost <= 0:
        return "a recovery adds something"
    if entry.actor == agent:
        return "an agent cannot lift its own score"
    since_ns = standing.recovered_ns
    if since_ns is not None and entry.at_ns - since_ns < rules.recovery_days_min * NS_PER_DAY:
        return f"the last recovery is less than {rules.recovery_days_min:g} day(s) old"
    return None


def against_override(agent: AgentName, entry: DecisionOverride) -> str | None:
    """Why an override does not count; None when it does."""
    if may_override(agent, entry.actor, entry.reason):
        return None
    if entry.actor is None or not entry.reason:
        return "an override needs somebody who made it and a reason"
    return "an agent cannot override decisions about itself"


def may_override(agent: AgentName, actor: str | None, reason: str | None) -> bool:
    """Whether an override counts: somebody else than the agent made it, and says why."""
    return actor is not None and bool(reason) and actor != agent


def overrides_in(agent: AgentName, ordered: Iterable[Entry]) -> Mapping[str, DecisionOverride]:
    """The override that stands for each decision: the last one that says who and why, and is not the agent's own."""
    made = (entry for entry in ordered if isinstance(entry, DecisionOverride))
    return {entry.target: entry for entry in made if against_override(agent, entry) is None}
