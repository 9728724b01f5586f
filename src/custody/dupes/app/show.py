"""Stored evidence, and its replay: the index as of the same change must give the same match."""

from typing import Literal

import msgspec

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import digest_rule_tables
from custody.core.wire.time import format_timestamp
from custody.dupes.app.change_reader import ChangeRef, UnreadableChange, read_changes
from custody.dupes.app.check import find_own_changes
from custody.dupes.app.labels import load_duplicate_model
from custody.dupes.app.past_suggestions import PastSuggestion, read_past_suggestion
from custody.dupes.app.search import ChangeMatch, ChangeSearch
from custody.dupes.app.select import list_names_at, read_change_commits
from custody.dupes.queries import DupesTables
from custody.dupes.rules import DedupeRules
from custody.dupes.signature import SIGNATURE_VERSION, sketch_change
from custody.dupes.wire import DupesEvidence, DupesShowReport
from custody.store import Store
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

DIGITS_MIN = 4
Replay = tuple[Literal["same", "differs", "not possible"], str | None]


def dupes_show(workspace: Workspace, typed: str) -> DupesShowReport:
    """Return the evidence with this id, or the newest evidence of the change with this head; replay it."""
    if len(typed) < DIGITS_MIN or not set(typed.lower()) <= set("0123456789abcdef"):
        raise InputError(f"invalid evidence id '{typed}'", hint="'custody dupes check' prints the ids")
    with workspace.reading() as store:
        rows = DupesTables(store).evidence(typed.lower())
        if not rows:
            raise InputError(f"unknown evidence '{typed}'", hint="'custody dupes check' stores evidence")
        row = rows[0]
        evidence = msgspec.json.decode(row.body, type=DupesEvidence)
        replayed, why = _replay_suggestion(workspace, store, evidence, read_past_suggestion(row))
    return DupesShowReport(
        outcome="found" if replayed == "differs" else "fine",
        id=row.id,
        at=format_timestamp(row.at_ns),
        evidence=evidence,
        replayed=replayed,
        replay_why=why,
    )


def _replay_suggestion(
    workspace: Workspace, store: Store, evidence: DupesEvidence, suggestion: PastSuggestion | None
) -> Replay:
    """Repeat the search as of the same change, with the term frequencies of that time."""
    rules = load_workspace_rules(workspace)[0].of(DedupeRules)
    model = load_duplicate_model(store)
    for name, now, then in (
        ("signatures", SIGNATURE_VERSION, evidence.signature_version),
        ("rules", format_digest(digest_rule_tables({"dedupe": rules})), evidence.rules_digest),
        ("model", model.version, evidence.model_version),
    ):
        if now != then:
            return "not possible", f"the {name} changed since"
    if suggestion is None:
        return "not possible", "another version of custody stored the evidence"
    base, head = CommitSha(suggestion.this.base), CommitSha(suggestion.this.head)
    ref = ChangeRef(base=base, head=head, commits=read_change_commits(workspace.repository, base, head))
    (change,) = read_changes(workspace.repository, [ref], rules)
    if isinstance(change, UnreadableChange):
        return "not possible", f"cannot read the change: {change.why}"
    tables = DupesTables(store)
    own = find_own_changes(tables, head, list_names_at(workspace.repository, head) | {evidence.this.name})
    answered = [row.id for row in tables.list_changes_by_head(suggestion.other.head)] if evidence.answer else []
    result = ChangeSearch(tables, rules, model).find(
        sketch_change(change.description, rules),
        until=evidence.as_of,
        without=own,
        wanted=answered,
        counts={term.term: term.changes for term in evidence.terms},
    )
    match = next((match for match in result.matches if match.change.head == suggestion.other.head), None)
    if match is None:
        return "differs", "the other change is no longer found"
    is_same = match.score.category.value == evidence.by_document and _has_same_scores(match, evidence)
    return ("same", None) if is_same else ("differs", "scores have changed since")


def _has_same_scores(match: ChangeMatch, evidence: DupesEvidence) -> bool:
    return (
        dict(match.score.similarities) == evidence.signals
        and match.shared_weight == evidence.shared_weight
        and match.chance.probability == evidence.model_chance
    )
