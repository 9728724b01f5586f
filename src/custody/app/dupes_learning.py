"""What people have answered about pairs, and what the model makes of it here."""

from collections.abc import Iterator
from dataclasses import dataclass

from custody.app.desk import Desk
from custody.app.dupes_naming import indexed_change
from custody.app.redacting import redacted
from custody.app.rules import loaded
from custody.app.user import user
from custody.dedupe.calibrate import calibration_of
from custody.dedupe.chance import Model, chance_of, raw_chance
from custody.dedupe.packing import unpacked
from custody.dedupe.rules import DedupeRules
from custody.dedupe.similar import similarities
from custody.dedupe.weights import SHIPPED
from custody.model.errors import InputError
from custody.model.ids import EventId, RecordRef
from custody.model.views import DuplicateAnswer
from custody.wire.arrivals import arrival_from
from custody.wire.canonical import Json
from custody.wire.dupes import DupesLabelReport
from custody.wire.times import text_from
from custody.world.hook.homes import key_of
from custody.world.store import Store
from custody.world.store.dupes import ChangeRow

DUPLICATE = ("duplicate", "same-feature", "competing")
ANSWERS = (*DUPLICATE, "related", "different")
"""What a person may say of two changes; the first ones mean that they should not both land."""


@dataclass(frozen=True, slots=True)
class Ends:
    """A change as an answer names it."""

    base: str
    head: str


@dataclass(frozen=True, slots=True)
class Answered:
    """What somebody said that two changes are to each other."""

    one: Ends
    other: Ends
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
    desk: Desk, one: str, other: str, answer: str, *, actor: str | None, reason: str | None
) -> DupesLabelReport:
    """Record what a person says about two indexed changes."""
    rules = loaded(desk)[0].of(DedupeRules)
    with desk.writing() as store:
        a, b = indexed_change(store, one), indexed_change(store, other)
        if a.id == b.id:
            raise InputError("a change is no duplicate of itself", hint="name two changes")
        said = Answered(Ends(a.base, a.head), Ends(b.base, b.head), answer, actor or user(), reason)
        made = keep_answer(desk, store, said)
        answers = list(_answers(store))
        model = model_for(store, rules)
        chance = chance_of(similarities(unpacked(a.signature), unpacked(b.signature)), model)
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


def keep_answer(desk: Desk, store: Store, said: Answered) -> RecordRef:
    """Record what two changes are to each other."""
    event: dict[str, Json] = {
        "custody": 1,
        "kind": "duplicate_answer",
        "id": desk.token(),
        "at": text_from(desk.now_ns()),
        "base": said.one.base,
        "head": said.one.head,
        "other_base": said.other.base,
        "other_head": said.other.head,
        "answer": said.answer,
        "actor": said.actor,
        **({} if said.reason is None else {"reason": said.reason}),
    }
    clean = redacted(event, lambda: key_of(str(desk.home)))
    (made,) = store.append([arrival_from(EventId(f"dupes-{desk.token()}"), clean)]).made
    return made.ref


def answers_about(store: Store, head: str, other: str) -> list[str]:
    """What was said about two changes, whichever was named first; the last answer stands."""
    pairs = "(head = ? AND other = ?) OR (head = ? AND other = ?)"
    seen = store.views.look_up("duplicate_answer", pairs, (head, other, other, head))
    views = [(one.view.at_ns, one.record.ref, one.view.answer) for one in seen if isinstance(one.view, DuplicateAnswer)]
    return [answer for _, _, answer in sorted(views)]


def _answers(store: Store) -> Iterator[tuple[float, bool]]:
    """Each pair that a person answered about: the model's own number, and whether it is a duplicate.

    The last answer about a pair stands, whichever of the two was named first.
    """
    last: dict[frozenset[str], DuplicateAnswer] = {}
    seen = (one.view for one in store.views.look_up("duplicate_answer", "1 = 1", ()))
    for view in sorted((view for view in seen if isinstance(view, DuplicateAnswer)), key=lambda view: view.at_ns):
        last[frozenset((view.head, view.other_head))] = view
    for answer in last.values():
        rows = [_row(store, answer.base, answer.head), _row(store, answer.other_base, answer.other_head)]
        if None not in rows:
            yield _raw(*(row for row in rows if row is not None)), answer.answer in DUPLICATE


def _row(store: Store, base: str, head: str) -> ChangeRow | None:
    return next((row for row in store.dupes.by_head(head) if row.base == base), None)


def _raw(a: ChangeRow, b: ChangeRow) -> float:
    return raw_chance(similarities(unpacked(a.signature), unpacked(b.signature)), SHIPPED)
