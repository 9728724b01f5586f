"""What people have answered about pairs, and what the model makes of it here."""

from collections.abc import Iterator
from dataclasses import dataclass

from custody.capture.hook.event_home import key_of
from custody.core.errors import InputError
from custody.core.ids import EventId, RecordRef
from custody.core.views import DuplicateAnswer
from custody.core.wire.arrival import arrival_from
from custody.core.wire.canonical import Json
from custody.core.wire.time import text_from
from custody.dupes.app.select import find_indexed_change
from custody.dupes.chance import Model, calibration_of, chance_of, raw_chance
from custody.dupes.model import ChangeRow
from custody.dupes.packing import unpack_signature
from custody.dupes.queries import DupesTables, all_answers, answers_of_pair
from custody.dupes.rules import DedupeRules
from custody.dupes.score import similarities
from custody.dupes.weights import SHIPPED
from custody.dupes.wire import DupesLabelReport
from custody.intake.record import redact_event_payload
from custody.store import Store
from custody.workspace.machine import user
from custody.workspace.rules_in_force import load_rules
from custody.workspace.workspace import Workspace

DUPLICATE = ("duplicate", "same-feature", "competing")
ANSWERS = (*DUPLICATE, "related", "different")
"""What a person may say of two changes; the first ones mean that they should not both land."""


@dataclass(frozen=True, slots=True)
class ChangeEnds:
    """A change as an answer names it."""

    base: str
    head: str


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """What somebody said that two changes are to each other."""

    one: ChangeEnds
    other: ChangeEnds
    answer: str
    actor: str
    reason: str | None = None


def model_for(store: Store, rules: DedupeRules) -> Model:
    """The shipped model, calibrated by people's answers about this store's changes once there are enough."""
    answers = list(_answers(store))
    if len(answers) < rules.learnt_answers_min:
        return SHIPPED
    return SHIPPED.calibrated(calibration_of(answers, SHIPPED.calibration.steps), f"+{len(answers)}")


def dupes_label(
    workspace: Workspace, text: str, other: str, answer: str, *, actor: str | None, reason: str | None
) -> DupesLabelReport:
    """Record what a person says about two indexed changes."""
    rules = load_rules(workspace)[0].of(DedupeRules)
    with workspace.writing() as store:
        a, b = find_indexed_change(store, text), find_indexed_change(store, other)
        if a.id == b.id:
            raise InputError("a change is no duplicate of itself", hint="name two changes")
        said = PairAnswer(ChangeEnds(a.base, a.head), ChangeEnds(b.base, b.head), answer, actor or user(), reason)
        made = keep_answer(workspace, store, said)
        answers = list(_answers(store))
        model = model_for(store, rules)
        chance = chance_of(similarities(unpack_signature(a.signature), unpack_signature(b.signature)), model)
    return DupesLabelReport(
        record=str(made),
        head=a.head,
        other=b.head,
        answer=answer,
        answers=len(answers),
        needed=rules.learnt_answers_min,
        learnt=model is not SHIPPED,
        chance=chance.probability,
        model_version=model.version,
    )


def keep_answer(workspace: Workspace, store: Store, said: PairAnswer) -> RecordRef:
    """Record what two changes are to each other."""
    event: dict[str, Json] = {
        "custody": 1,
        "kind": "duplicate_answer",
        "id": workspace.token(),
        "at": text_from(workspace.now_ns()),
        "base": said.one.base,
        "head": said.one.head,
        "other_base": said.other.base,
        "other_head": said.other.head,
        "answer": said.answer,
        "actor": said.actor,
        **({} if said.reason is None else {"reason": said.reason}),
    }
    clean = redact_event_payload(event, lambda: key_of(str(workspace.home)))
    (made,) = store.append([arrival_from(EventId(f"dupes-{workspace.token()}"), clean)]).made
    return made.ref


def answers_about(store: Store, head: str, other: str) -> list[str]:
    """What was said about two changes, whichever was named first; the last answer stands."""
    views = [(seen.view.at_ns, seen.record.ref, seen.view.answer) for seen in answers_of_pair(store, head, other)]
    return [answer for _, _, answer in sorted(views)]


def _answers(store: Store) -> Iterator[tuple[float, bool]]:
    """Each pair that a person answered about: the model's own number, and whether it is a duplicate.

    The last answer about a pair stands, whichever of the two was named first.
    """
    last: dict[frozenset[str], DuplicateAnswer] = {}
    for view in sorted((seen.view for seen in all_answers(store)), key=lambda view: view.at_ns):
        last[frozenset((view.head, view.other_head))] = view
    for answer in last.values():
        rows = [_row(store, answer.base, answer.head), _row(store, answer.other_base, answer.other_head)]
        if None not in rows:
            yield _raw(*(row for row in rows if row is not None)), answer.answer in DUPLICATE


def _row(store: Store, base: str, head: str) -> ChangeRow | None:
    return next((row for row in DupesTables(store).by_head(head) if row.base == base), None)


def _raw(a: ChangeRow, b: ChangeRow) -> float:
    return raw_chance(similarities(unpack_signature(a.signature), unpack_signature(b.signature)), SHIPPED)
