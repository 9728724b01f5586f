"""People's answers about pairs of changes, and the model that they calibrate."""

from collections.abc import Iterator

from msgspec import Struct

from custody.capture.hook.event_home import load_redaction_key
from custody.core.errors import InputError
from custody.core.ids import EventId, RecordRef
from custody.core.views import DuplicateAnswer
from custody.core.wire.arrival import arrival_from_json
from custody.core.wire.canonical import Json
from custody.core.wire.time import format_timestamp
from custody.dupes.app.select import find_indexed_change
from custody.dupes.chance import (
    Model,
    compute_duplicate_probability,
    compute_raw_probability,
    fit_duplicate_calibration,
)
from custody.dupes.decision import PersonAnswer
from custody.dupes.model import ChangeEnds, ChangeRow
from custody.dupes.packing import unpack_signature
from custody.dupes.queries import DupesTables, list_duplicate_answers, query_pair_answers
from custody.dupes.score import measure_similarities
from custody.dupes.weights import SHIPPED
from custody.dupes.wire import ANSWERS, DUPLICATE_ANSWERS, DupesLabelReport
from custody.intake.record import redact_event_payload
from custody.store import Store
from custody.workspace.machine import machine_user_name
from custody.workspace.workspace import Workspace

LEARNED_ANSWERS_MIN = 20
"""Minimum number of answers to calibrate the probabilities of a repository."""


class PairAnswer(Struct, frozen=True):
    """An answer about two changes."""

    this: ChangeEnds
    other: ChangeEnds
    answer: str
    actor: str
    reason: str | None = None


def load_pair_answers(store: Store, *, only_claims: bool = False) -> dict[frozenset[str], PersonAnswer]:
    """Return the last answer about each pair of heads; ``only_claims`` leaves out answers that deny a duplicate."""
    last: dict[frozenset[str], PersonAnswer] = {}
    rows = [(row.view.at_ns, row.record.ref, row.view) for row in list_duplicate_answers(store)]
    for _, _, view in sorted(rows, key=lambda row: row[:2]):
        if view.answer not in ANSWERS:
            continue  # another version of custody or another program recorded it
        pair = frozenset((view.head, view.other_head))
        earlier = last.get(pair)
        is_claim = view.answer in DUPLICATE_ANSWERS
        is_disputed = earlier is not None and (earlier.is_disputed or earlier.is_claim != is_claim)
        last[pair] = PersonAnswer(view.answer, view.actor or "a person", view.at_ns, is_disputed)
    return {pair: answer for pair, answer in last.items() if answer.is_claim or not only_claims}


def load_duplicate_model(store: Store) -> Model:
    """Return the shipped model, calibrated by the answers in this store if there are enough."""
    answers = list(_collect_calibration_answers(store))
    if len(answers) < LEARNED_ANSWERS_MIN:
        return SHIPPED
    return SHIPPED.with_calibration(fit_duplicate_calibration(answers, SHIPPED.calibration.steps), f"+{len(answers)}")


def dupes_label(
    workspace: Workspace, text: str, other: str, answer: str, *, actor: str | None, reason: str | None
) -> DupesLabelReport:
    """Record an answer about two indexed changes."""
    with workspace.writing() as store:
        a, b = find_indexed_change(store, text), find_indexed_change(store, other)
        if a.id == b.id:
            raise InputError("cannot compare a change with itself", hint="name two changes")
        pair = PairAnswer(
            ChangeEnds(a.base, a.head), ChangeEnds(b.base, b.head), answer, actor or machine_user_name(), reason
        )
        record = record_pair_answer(workspace, store, pair)
        answers = list(_collect_calibration_answers(store))
        model = load_duplicate_model(store)
        chance = compute_duplicate_probability(
            measure_similarities(unpack_signature(a.signature), unpack_signature(b.signature)), model
        )
    return DupesLabelReport(
        record=str(record),
        head=a.head,
        other=b.head,
        answer=answer,
        answers=len(answers),
        needed=LEARNED_ANSWERS_MIN,
        learnt=model is not SHIPPED,
        chance=chance.probability,
        model_version=model.version,
    )


def record_pair_answer(workspace: Workspace, store: Store, pair: PairAnswer) -> RecordRef:
    """Record an answer about two changes."""
    event: dict[str, Json] = {
        "custody": 1,
        "kind": "duplicate_answer",
        "id": workspace.token(),
        "at": format_timestamp(workspace.now_ns()),
        "base": pair.this.base,
        "head": pair.this.head,
        "other_base": pair.other.base,
        "other_head": pair.other.head,
        "answer": pair.answer,
        "actor": pair.actor,
        **({} if pair.reason is None else {"reason": pair.reason}),
    }
    redacted = redact_event_payload(event, lambda: load_redaction_key(str(workspace.home)))
    (record,) = store.append([arrival_from_json(EventId(f"dupes-{workspace.token()}"), redacted)]).made
    return record.ref


def list_pair_answers(store: Store, head: str, other: str) -> list[str]:
    """Return the answers about two changes in either order, oldest first; the last answer counts."""
    rows = [(row.view.at_ns, row.record.ref, row.view.answer) for row in query_pair_answers(store, head, other)]
    return [answer for _, _, answer in sorted(rows)]


def _collect_calibration_answers(store: Store) -> Iterator[tuple[float, bool]]:
    """Yield the raw probability of each answered pair, and whether the last answer calls it a duplicate."""
    last: dict[frozenset[str], DuplicateAnswer] = {}
    for view in sorted((row.view for row in list_duplicate_answers(store)), key=lambda view: view.at_ns):
        last[frozenset((view.head, view.other_head))] = view
    for answer in last.values():
        rows = [
            _find_change_row(store, answer.base, answer.head),
            _find_change_row(store, answer.other_base, answer.other_head),
        ]
        if None not in rows:
            yield _score_change_pair(*(row for row in rows if row is not None)), answer.answer in DUPLICATE_ANSWERS


def _find_change_row(store: Store, base: str, head: str) -> ChangeRow | None:
    return next((row for row in DupesTables(store).list_changes_by_head(head) if row.base == base), None)


def _score_change_pair(a: ChangeRow, b: ChangeRow) -> float:
    return compute_raw_probability(
        measure_similarities(unpack_signature(a.signature), unpack_signature(b.signature)), SHIPPED
    )
