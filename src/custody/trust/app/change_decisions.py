"""What was decided about one change, whichever of its commits it was decided under."""

from collections.abc import Sequence
from dataclasses import dataclass

from custody.core.ids import AgentName, CommitSha
from custody.core.views import Decision
from custody.store import ObservedView, Store
from custody.trust.app.decisions import entries_from
from custody.trust.engine import is_unreviewed, order_of, overrides_in
from custody.trust.model import DecisionEntry, DecisionType
from custody.trust.queries import corrections_of_decision, decisions_on_commit


@dataclass(frozen=True, slots=True)
class KnownDecisions:
    """What was decided about a change of one agent's.

    A review and what stands of it, a landing that nobody looked at, and the decision that takes it back.
    """

    reviewed: DecisionEntry | None = None
    stands: DecisionType | None = None
    landing: DecisionEntry | None = None
    undone: DecisionEntry | None = None

    @property
    def landed(self) -> bool:
        """Whether it got in and was not taken back."""
        accepted = self.stands in (DecisionType.ACCEPTED, DecisionType.MODIFIED)
        return self.undone is None and (accepted or (self.reviewed is None and self.landing is not None))


def agents_decided(store: Store, names: Sequence[CommitSha]) -> set[str]:
    """Everybody about whom something was decided under one of these commits."""
    return {seen.view.agent for seen in _look_up_decisions(store, names)}


def known_about(store: Store, agent: str, names: Sequence[CommitSha]) -> KnownDecisions:
    """What was decided about an agent under one of these commits, the oldest review first; overrides count."""
    seen = [decision for decision in _look_up_decisions(store, names) if decision.view.agent == agent]
    decided = sorted((entry for entry in entries_from(seen) if isinstance(entry, DecisionEntry)), key=order_of)
    first = [entry for entry in decided if entry.reverts is None]
    about = [f"commit:{name}" for name in names] + [entry.id for entry in first]
    corrections = sorted(entries_from(_correcting(store, agent, about)), key=order_of)
    overrides = overrides_in(AgentName(agent), corrections)
    reviewed = next((entry for entry in first if not is_unreviewed(entry) or entry.id in overrides), None)
    override = None if reviewed is None else overrides.get(reviewed.id)
    return KnownDecisions(
        reviewed=reviewed,
        stands=override.decision if override is not None else None if reviewed is None else reviewed.decision,
        landing=next((entry for entry in first if is_unreviewed(entry)), None),
        undone=next((correction for correction in corrections if isinstance(correction, DecisionEntry)), None),
    )


def _look_up_decisions(store: Store, names: Sequence[CommitSha]) -> list[ObservedView[Decision]]:
    return [seen for name in names for seen in decisions_on_commit(store, name)]


def _correcting(store: Store, agent: str, ids: Sequence[str]) -> list[ObservedView[Decision]]:
    """The records that override or take back one of these decisions."""
    return [seen for id_ in dict.fromkeys(ids) for seen in corrections_of_decision(store, agent, id_)]
