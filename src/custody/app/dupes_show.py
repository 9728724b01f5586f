"""Show stored evidence, and make the suggestion again: the same index, as of the same change, must give the same."""

from typing import Literal

import msgspec

from custody.app.desk import Desk
from custody.app.dupes_learning import model_for
from custody.app.dupes_reading import OWN, Asked, Unread, read_changes
from custody.app.dupes_search import Like, Searching
from custody.app.dupes_what import own_commits_of
from custody.app.rules import loaded
from custody.dedupe.rules import DedupeRules
from custody.dedupe.signature import SIGNATURE_VERSION, sketched
from custody.model.errors import InputError
from custody.model.ids import CommitSha
from custody.wire.bodies import digest_text
from custody.wire.dupes import DupesEvidence, DupesShowReport
from custody.wire.rules import rules_digest
from custody.wire.times import text_from
from custody.world.store import Store

DIGITS_MIN = 4
Replay = tuple[Literal["same", "differs", "not possible"], str | None]


def dupes_show(desk: Desk, typed: str) -> DupesShowReport:
    """The evidence with this id, or the newest about the change with this head."""
    if len(typed) < DIGITS_MIN or not set(typed.lower()) <= set("0123456789abcdef"):
        raise InputError(f"'{typed}' is no id of evidence", hint="'custody dupes check' prints them")
    with desk.reading() as store:
        rows = store.dupes.evidence(typed.lower())
        if not rows:
            raise InputError(
                f"no evidence is stored under '{typed}'", hint="'custody dupes check' stores what it tells"
            )
        row = rows[0]
        evidence = msgspec.json.decode(row.body, type=DupesEvidence)
        replayed, why = _replay(desk, store, evidence)
    return DupesShowReport(
        outcome="found" if replayed == "differs" else "fine",
        id=row.id,
        at=text_from(row.at_ns),
        evidence=evidence,
        replayed=replayed,
        replay_why=why,
    )


def _replay(desk: Desk, store: Store, evidence: DupesEvidence) -> Replay:
    """Ask again as it was asked: up to the same change, with the terms as common as they were."""
    rules = loaded(desk)[0].of(DedupeRules)
    model = model_for(store, rules)
    for what, now, then in (
        ("signatures", SIGNATURE_VERSION, evidence.signature_version),
        ("rules", digest_text(rules_digest({"dedupe": rules})), evidence.rules_digest),
        ("model", model.version, evidence.model_version),
    ):
        if now != then:
            return "not possible", f"the {what} are others than then"
    this = evidence.this
    base, head = CommitSha(this.base), CommitSha(this.head)
    asked = Asked(base=base, head=head, commits=own_commits_of(desk.repository, base, head))
    (read,) = read_changes(desk.repository, [asked], rules)
    if isinstance(read, Unread):
        return "not possible", f"the change cannot be read: {read.why}"
    itself = store.dupes.find(OWN, asked.base, asked.head)
    found = Searching(store.dupes, rules, model).find(
        sketched(read.described, rules),
        until=evidence.as_of,
        without=() if itself is None else (itself,),
        counts={one.term: one.changes for one in evidence.terms},
    )
    like = next((one for one in found.likes if one.change.head == evidence.other.head), None)
    if like is None:
        return "differs", "the other change is not found any more"
    return ("same", None) if _is_same(like, evidence) else ("differs", "the numbers are others than then")


def _is_same(like: Like, evidence: DupesEvidence) -> bool:
    return (
        dict(like.scored.similarities) == evidence.signals
        and like.scored.category.value == evidence.category
        and like.shared == evidence.shared_weight
        and like.chance.probability == evidence.chance
    )
