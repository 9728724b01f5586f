"""The log of decisions about one agent: what is in it, and the one way to record more."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from custody.core.errors import InputError
from custody.core.ids import AgentName, EventId
from custody.core.record import Record
from custody.core.wire.arrival import Arrival, arrival_from
from custody.core.wire.canonical import Json
from custody.core.wire.time import text_from
from custody.intake.record import key_for, redact_event_payload
from custody.store import ObservedView, Store
from custody.trust.app.decisions import (
    TrustQuery,
    agents_in,
    append_decision,
    entries_from,
    entries_of,
    make_unknown_agent_error,
    read_settled_decisions,
    trust_rules,
)
from custody.trust.app.show import report_step, trust_line
from custody.trust.app.standing import Position, carried_on, keep_due, may_follow, position_of
from custody.trust.engine import carry, replay, standing_at
from custody.trust.model import DecisionEntry, DecisionType, Entry, ScoreStep, TrustStanding
from custody.trust.queries import StandingTables
from custody.trust.rules import TrustRules
from custody.trust.wire import TrustRecordReport
from custody.workspace.workspace import Workspace

NAME_DIGITS_MIN = 4
"""A commit may be named by so many of its first digits."""
NAMES = ("agent", "id")
"""What a decision is found by again: a name that would be redacted cannot be one."""


@dataclass(frozen=True, slots=True)
class DecisionReceipt:
    """A new record: what it did, and where that leaves the agent."""

    agent: str
    step: ScoreStep
    standing: TrustStanding
    asked: TrustQuery

    def report(self) -> TrustRecordReport:
        """The same, to be shown."""
        return TrustRecordReport(
            profile=self.asked.rules.profile,
            taken=report_step(self.step),
            standing=trust_line(self.agent, self.standing, self.asked),
        )


class Log:
    """What is recorded about one agent, and the one way to record more."""

    def __init__(self, workspace: Workspace, store: Store, agent: str, rules: TrustRules | None = None) -> None:
        self.agent = AgentName(agent)
        self.rules = rules or trust_rules(workspace)
        self._workspace = workspace
        self._store = store

    def entries(self) -> list[Entry]:
        """Everything recorded until now."""
        with read_settled_decisions(self._store):
            return entries_of(self._store, self.agent)

    def find(self, target: str) -> DecisionEntry:
        """The decision with this id, in this record, or about this commit."""
        decided = [entry for entry in self.entries() if isinstance(entry, DecisionEntry)]
        if not decided:
            raise make_unknown_agent_error(self.agent, agents_in(self._store))
        matches = [entry for entry in decided if target in (entry.id, str(entry.record))] or _about(decided, target)
        if not matches:
            raise InputError(
                f"no decision about '{self.agent}' is named '{target}'",
                hint=f"'custody trust show {self.agent}' lists them by id",
            )
        if len({entry.id for entry in matches}) > 1:
            raise InputError(
                f"'{target}' fits {len(matches)} decisions about '{self.agent}'", hint="name one of them by its id"
            )
        return matches[0]

    def stands(self, decided: DecisionEntry) -> DecisionType | None:
        """What counts of a decision now, overrides included."""
        steps = replay(self.agent, self.entries(), self.rules).steps
        return next(step.decision for step in steps if step.entry == decided)

    def keep(self, id: str, fields: Mapping[str, Json]) -> DecisionReceipt:
        """Append one record and say what it did; one with a known id is refused."""
        now_ns = self._workspace.now_ns()
        asked = TrustQuery(self.rules, now_ns)
        arrival = arrival_of_decision(self._workspace, self.agent, id, fields, now_ns)
        before: list[Position] = []

        def look() -> Sequence[Arrival]:
            if known := StandingTables(self._store).named(self.agent, "id", [id]):
                raise InputError(
                    f"'{id}' is decided already, in record {min(known)}",
                    hint="a decision that was wrong is overridden: 'custody trust record --overrides'",
                )
            before[:] = [position_of(self._store, self.agent, asked)]
            return [arrival]

        (made,) = append_decision(self._store, look).made
        return self._recorded(made, before[0], asked)

    def _recorded(self, made: Record, before: Position, asked: TrustQuery) -> DecisionReceipt:
        (entry,) = entries_from([ObservedView(made, view) for view in self._store.views.of(made)])
        with read_settled_decisions(self._store):
            generation = StandingTables(self._store).generation()
            after = carried_on(self._store, self.agent, asked, before)
            if may_follow(self._store, self.agent, before.folded, [entry]):
                steps: Iterable[ScoreStep] = carry(self.agent, before.folded, [entry], self.rules).steps
            else:
                steps = replay(self.agent, entries_of(self._store, self.agent), self.rules).steps
        keep_due(self._store, self.agent, asked, after, generation)
        step = next(step for step in steps if step.entry.record == made.ref and step.settled_ns is None)
        return DecisionReceipt(self.agent, step, standing_at(self.agent, after.folded, asked.now_ns, self.rules), asked)


def arrival_of_decision(
    workspace: Workspace, agent: str, id: str, fields: Mapping[str, Json], now_ns: int, *, exact: Sequence[str] = NAMES
) -> Arrival:
    """A decision on its way into the chain: without secrets, and with its ``exact`` fields as they were given."""
    event: dict[str, Json] = {
        "custody": 1,
        "kind": "decision",
        "id": id,
        "at": text_from(now_ns),
        "agent": agent,
        **{name: value for name, value in fields.items() if value is not None},
    }
    clean = redact_event_payload(event, lambda: key_for(workspace))
    for name in exact:
        if clean.get(name) != event.get(name):
            raise InputError(f"the decision's '{name}' looks like a secret", hint="choose another name")
    return arrival_from(EventId(f"trust-{workspace.token()}"), clean)


def _about(decided: Sequence[DecisionEntry], target: str) -> list[DecisionEntry]:
    """The decisions about a commit, named by its first digits; what took one back is not meant."""
    if len(target) < NAME_DIGITS_MIN:
        return []
    return [
        entry
        for entry in decided
        if entry.reverts is None and entry.commit is not None and entry.commit.startswith(target)
    ]
