"""Stored evidence is read as enums once; evidence of another version of custody is not read."""

import json
from typing import Any

import msgspec
import pytest

from custody.dupes.app.past_suggestions import read_past_suggestion
from custody.dupes.model import Category, DuplicateVerdict, Relation
from custody.dupes.queries import EvidenceRow
from custody.dupes.wire import ChangeRefReport, DupesEvidence, RelationReport


def a_change(head: str) -> ChangeRefReport:
    return ChangeRefReport(base="b", head=head, name="", title=f"title {head}", opened="", on_main=False)


EVIDENCE = DupesEvidence(
    this=a_change("1"),
    other=a_change("2"),
    says="competing",
    category="SAME_FEATURE",
    rule="",
    prod_score=0.5,
    final_score=0.5,
    signals={},
    exact=[],
    chance=0.5,
    low=0.5,
    account=[],
    relations=[RelationReport("revert of", "its message")],
    overlap=None,
    overlap_missing=None,
    as_of=1,
    terms=[],
    shared_weight=0,
    signature_version="",
    model_version="",
    rules_digest="",
)


def a_row(**changed: object) -> EvidenceRow:
    fields: dict[str, Any] = msgspec.to_builtins(EVIDENCE)
    return EvidenceRow("id", "1", "2", 0, json.dumps({**fields, **changed}))


def test_the_words_of_evidence_become_enums() -> None:
    suggestion = read_past_suggestion(a_row())
    assert suggestion is not None
    assert (suggestion.id, suggestion.this.head, suggestion.other.head, suggestion.title) == ("id", "1", "2", "title 2")
    assert suggestion.verdict is DuplicateVerdict.COMPETING
    assert suggestion.category is Category.SAME_FEATURE
    assert suggestion.relations == (Relation.REVERT_OF,)
    assert not suggestion.is_exact


def test_an_exact_hash_in_common_is_read() -> None:
    suggestion = read_past_suggestion(a_row(exact=["whole:plain"]))
    assert suggestion is not None
    assert suggestion.is_exact


@pytest.mark.parametrize(
    "changed",
    [
        {"says": "a later verdict"},
        {"category": "A_LATER_CATEGORY"},
        {"relations": [{"relation": "a later relation", "why": ""}]},
        {"terms": "not a list"},
    ],
)
def test_evidence_of_another_version_is_not_read(changed: dict[str, object]) -> None:
    assert read_past_suggestion(a_row(**changed)) is None
