"""Show stored evidence, and make the suggestion again: the same index, as of the same change, must give the same."""

from typing import Literal

import msgspec

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import rules_digest
from custody.core.wire.time import text_from
from custody.dupes.app.change_reader import OWN, ChangeRef, UnreadableChange, read_changes
from custody.dupes.app.labels import model_for
from custody.dupes.app.search import ChangeMatch, ChangeSearch
from custody.dupes.app.select import own_commits_of
from custody.dupes.queries import DupesTables
from custody.dupes.rules import DedupeRules
from custody.dupes.signature import SIGNATURE_VERSION, sketch_change
from custody.dupes.wire import DupesEvidence, DupesShowReport
from custody.store import Store
from custody.workspace.rules_in_force import load_rules
from custody.workspace.workspace import Workspace

DIGITS_MIN = 4
Replay = tuple[Literal["same", "differs", "not possible"], str | None]


def dupes_show(workspace: Workspace, typed: str) -> DupesShowReport:
    """The evidence with this id, or the newest about the change with this head."""
    if len(typed) < DIGITS_MIN or not set(typed.lower()) <= set("0123456789abcdef"):
        raise InputError(f"'{typed}' is no id of evidence", hint="'custody dupes check' prints them")
    with workspace.reading() as store:
        rows = DupesTables(store).evidence(typed.lower())
        if not rows:
            raise InputError(
                f"no evidence is stored under '{typed}'", hint="'custody dupes check' stores what it tells"
            )
        row = rows[0]
        evidence = msgspec.json.decode(row.body, type=DupesEvidence)
        replayed, why = _replay(workspace, store, evidence)
    return DupesShowReport(
        outcome="found" if replayed == "differs" else "fine",
        id=row.id,
        at=text_from(row.at_ns),
        evidence=evidence,
        replayed=replayed,
        replay_why=why,
    )


def _replay(workspace: Workspace, store: Store, evidence: DupesEvidence) -> Replay:
    """Ask again as it was asked: up to the same change, with the terms as common as they were."""
    rules = load_rules(workspace)[0].of(DedupeRules)
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
    asked = ChangeRef(base=base, head=head, commits=own_commits_of(workspace.repository, base, head))
    (read,) = read_changes(workspace.repository, [asked], rules)
    if isinstance(read, UnreadableChange):
        return "not possible", f"the change cannot be read: {read.why}"
    tables = DupesTables(store)
    itself = tables.find(OWN, asked.base, asked.head)
    result = ChangeSearch(tables, rules, model).find(
        sketch_change(read.described, rules),
        until=evidence.as_of,
        without=() if itself is None else (itself,),
        counts={term.term: term.changes for term in evidence.terms},
    )
    like = next((candidate for candidate in result.likes if candidate.change.head == evidence.other.head), None)
    if like is None:
        return "differs", "the other change is not found any more"
    return ("same", None) if _is_same(like, evidence) else ("differs", "the numbers are others than then")


def _is_same(like: ChangeMatch, evidence: DupesEvidence) -> bool:
    return (
        dict(like.scored.similarities) == evidence.signals
        and like.scored.category.value == evidence.category
        and like.shared == evidence.shared_weight
        and like.chance.probability == evidence.chance
    )
