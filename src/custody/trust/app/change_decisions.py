"""The decisions about one change, under any of its commits."""

from collections.abc import Sequence

from msgspec import Struct

from custody.core.ids import AgentName, CommitSha, StoreId
from custody.core.views import Decision
from custody.store import ObservedView, Store
from custody.trust.app.decisions import decision_entries_from_views
from custody.trust.engine import decision_order_key, find_valid_overrides, is_unreviewed
from custody.trust.model import DecisionEntry, DecisionType
from custody.trust.queries import decisions_on_commit, list_decision_corrections


class KnownDecisions(Struct, frozen=True):
    """The decisions about one agent's change.

    ``reviewed`` is the review and ``counting`` its decision after overrides; ``unreviewed`` is a merge without review,
    ``revert`` the decision that reverts it.
    """

    reviewed: DecisionEntry | None = None
    counting: DecisionType | None = None
    unreviewed: DecisionEntry | None = None
    revert: DecisionEntry | None = None
    host_chains: frozenset[StoreId] = frozenset()
    """The chains that say that the code host reported the counting decision."""

    @property
    def is_merged(self) -> bool:
        """Return whether it was merged and not reverted."""
        accepted = self.counting in (DecisionType.ACCEPTED, DecisionType.MODIFIED)
        return self.revert is None and (accepted or (self.reviewed is None and self.unreviewed is not None))


def find_decision_agents(store: Store, names: Sequence[CommitSha]) -> set[str]:
    """Return all agents with decisions under one of these commits."""
    return {decision.view.agent for decision in _look_up_decisions(store, names)}


def list_commit_decisions(store: Store, commit: CommitSha) -> list[Decision]:
    """Return the decisions about a commit, as the commit or as the head of a change, the oldest first."""
    return sorted(
        (found.view for found in decisions_on_commit(store, commit)), key=lambda view: (view.at_ns, view.agent, view.id)
    )


def summarize_agent_decisions(store: Store, agent: str, names: Sequence[CommitSha]) -> KnownDecisions:
    """Return the decisions about an agent under one of these commits; the oldest review counts, after overrides."""
    seen = [decision for decision in _look_up_decisions(store, names) if decision.view.agent == agent]
    decided = sorted(
        (entry for entry in decision_entries_from_views(seen) if isinstance(entry, DecisionEntry)),
        key=decision_order_key,
    )
    first = [entry for entry in decided if entry.reverts is None]
    about = [f"commit:{name}" for name in names] + [entry.id for entry in first]
    corrections = sorted(
        decision_entries_from_views(_read_decision_corrections(store, agent, about)), key=decision_order_key
    )
    overrides = find_valid_overrides(AgentName(agent), corrections)
    reviewed = next((entry for entry in first if not is_unreviewed(entry) or entry.id in overrides), None)
    override = None if reviewed is None else overrides.get(reviewed.id)
    counted = reviewed if override is None else override
    return KnownDecisions(
        reviewed=reviewed,
        counting=override.decision if override is not None else None if reviewed is None else reviewed.decision,
        unreviewed=next((entry for entry in first if is_unreviewed(entry)), None),
        revert=next((correction for correction in corrections if isinstance(correction, DecisionEntry)), None),
        host_chains=frozenset(
            {counted.record.store}
            if counted is not None and counted.witness is not None and counted.witness.kind == "host"
            else ()
        ),
    )


def _look_up_decisions(store: Store, names: Sequence[CommitSha]) -> list[ObservedView[Decision]]:
    return [decision for name in names for decision in decisions_on_commit(store, name)]


def _read_decision_corrections(store: Store, agent: str, ids: Sequence[str]) -> list[ObservedView[Decision]]:
    """Return the records that override or revert one of these decisions."""
    return [decision for id_ in dict.fromkeys(ids) for decision in list_decision_corrections(store, agent, id_)]
