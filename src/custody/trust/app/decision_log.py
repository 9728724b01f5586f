"""The log of decisions about one agent, and the only way to append to it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import AgentName, EventId
from custody.core.record import Record
from custody.core.wire.arrival import Arrival, arrival_from_json
from custody.core.wire.canonical import Json
from custody.core.wire.time import format_timestamp
from custody.intake.record import open_redaction_key, redact_event_payload
from custody.store import ObservedView, Store
from custody.trust.app.decision_signature import sign_decision_event
from custody.trust.app.decisions import (
    EVENT_PREFIX,
    TrustQuery,
    append_decision,
    decision_entries_from_views,
    list_agents_with_decisions,
    load_trust_rules,
    make_unknown_agent_error,
    read_decision_entries,
    read_settled_decisions,
)
from custody.trust.app.score_cache import (
    Position,
    can_continue_fold,
    continue_fold,
    read_fold_position,
    store_due_score,
)
from custody.trust.app.show import report_score_step, trust_line
from custody.trust.engine import fold_entries, replay_decisions, settle_score_state
from custody.trust.model import DecisionEntry, DecisionType, Entry, ScoreState, ScoreStep
from custody.trust.queries import ScoreTables
from custody.trust.rules import TrustRules
from custody.trust.wire import TrustRecordReport
from custody.workspace.workspace import Workspace

NAME_DIGITS_MIN = 4
"""The least digits that identify a commit."""
NAMES = ("agent", "id")
"""The fields that identify a decision: they must not be redacted."""


class DecisionReceipt(Struct, frozen=True):
    """A new record: its effect, and the agent's score after it."""

    agent: str
    step: ScoreStep
    state: ScoreState
    query: TrustQuery

    def report(self) -> TrustRecordReport:
        """Return the JSON shape."""
        return TrustRecordReport(
            profile=self.query.rules.profile,
            taken=report_score_step(self.step),
            standing=trust_line(self.agent, self.state, self.query),
        )


class Log:
    """The log of decisions about one agent."""

    def __init__(self, workspace: Workspace, store: Store, agent: str, rules: TrustRules | None = None) -> None:
        self.agent = AgentName(agent)
        self.rules = rules or load_trust_rules(workspace)
        self._workspace = workspace
        self._store = store

    def entries(self) -> list[Entry]:
        """Return all entries recorded until now."""
        with read_settled_decisions(self._store):
            return read_decision_entries(self._store, self.agent)

    def find(self, target: str) -> DecisionEntry:
        """Return the decision with this id, in this record, or about this commit."""
        decided = [entry for entry in self.entries() if isinstance(entry, DecisionEntry)]
        if not decided:
            raise make_unknown_agent_error(self.agent, list_agents_with_decisions(self._store))
        matches = [entry for entry in decided if target in (entry.id, str(entry.record))] or _match_decisions_by_commit(
            decided, target
        )
        if not matches:
            raise InputError(
                f"no decision '{target}' about '{self.agent}'",
                hint=f"'custody trust show {self.agent}' lists decisions with their ids",
            )
        if len({entry.id for entry in matches}) > 1:
            raise InputError(
                f"'{target}' matches {len(matches)} decisions about '{self.agent}'", hint="pass the id of one of them"
            )
        return matches[0]

    def find_counting_decision(self, decided: DecisionEntry) -> DecisionType | None:
        """Return what a decision counts as, after overrides."""
        steps = replay_decisions(self.agent, self.entries(), self.rules).steps
        return next(step.decision for step in steps if step.entry == decided)

    def append_entry(self, id: str, fields: Mapping[str, Json], *, sign_key: Path | None = None) -> DecisionReceipt:
        """Append one record, signed with a key if passed, and return its effect; an ``InputError`` for a known id."""
        now_ns = self._workspace.now_ns()
        query = TrustQuery(self.rules, now_ns)
        event = event_from_decision(self._workspace, self.agent, id, fields, now_ns)
        signed = event if sign_key is None else sign_decision_event(event, sign_key)
        arrival = arrival_from_json(EventId(f"{EVENT_PREFIX}{self._workspace.token()}"), signed)
        before: list[Position] = []

        def look() -> Sequence[Arrival]:
            if known := ScoreTables(self._store).find_decision_records(self.agent, "id", [id]):
                raise InputError(
                    f"'{id}' is already decided in record {min(known)}",
                    hint="correct a wrong decision with 'custody trust record --overrides'",
                )
            before[:] = [read_fold_position(self._store, self.agent, query)]
            return [arrival]

        (made,) = append_decision(self._store, look).made
        return self._make_receipt(made, before[0], query)

    def _make_receipt(self, made: Record, before: Position, query: TrustQuery) -> DecisionReceipt:
        (entry,) = decision_entries_from_views(
            [ObservedView(made, view) for view in self._store.views.read_views(made)]
        )
        with read_settled_decisions(self._store):
            generation = ScoreTables(self._store).generation()
            after = continue_fold(self._store, self.agent, query, before)
            if can_continue_fold(self._store, self.agent, before.folded, [entry]):
                steps: Iterable[ScoreStep] = fold_entries(self.agent, before.folded, [entry], self.rules).steps
            else:
                steps = replay_decisions(self.agent, read_decision_entries(self._store, self.agent), self.rules).steps
        store_due_score(self._store, self.agent, query, after, generation)
        step = next(step for step in steps if step.entry.record == made.ref and step.settled_ns is None)
        return DecisionReceipt(
            self.agent, step, settle_score_state(self.agent, after.folded, query.now_ns, self.rules), query
        )


def arrival_from_decision(
    workspace: Workspace, agent: str, id: str, fields: Mapping[str, Json], now_ns: int, *, exact: Sequence[str] = NAMES
) -> Arrival:
    """Return a decision to append: secrets are redacted; an ``InputError`` if that would change an ``exact`` field."""
    event = event_from_decision(workspace, agent, id, fields, now_ns, exact=exact)
    return arrival_from_json(EventId(f"{EVENT_PREFIX}{workspace.token()}"), event)


def event_from_decision(
    workspace: Workspace, agent: str, id: str, fields: Mapping[str, Json], now_ns: int, *, exact: Sequence[str] = NAMES
) -> dict[str, Json]:
    """Return the redacted event of a decision; an ``InputError`` if that would change an ``exact`` field."""
    event: dict[str, Json] = {
        "custody": 1,
        "kind": "decision",
        "id": id,
        "at": format_timestamp(now_ns),
        "agent": agent,
        **{name: value for name, value in fields.items() if value is not None},
    }
    clean = redact_event_payload(event, lambda: open_redaction_key(workspace))
    for name in exact:
        if clean.get(name) != event.get(name):
            raise InputError(f"the decision's '{name}' looks like a secret", hint="use another value")
    return clean


def _match_decisions_by_commit(decided: Sequence[DecisionEntry], target: str) -> list[DecisionEntry]:
    """Return the decisions about a commit, by its first digits, without reverts."""
    if len(target) < NAME_DIGITS_MIN:
        return []
    return [
        entry
        for entry in decided
        if entry.reverts is None and entry.commit is not None and entry.commit.startswith(target)
    ]
