"""The trust tables on every database, and a consistent read while others write."""

from typing import Any

import pytest

from custody.core.ids import RecordRef, Seq
from custody.core.wire.arrival import Arrival
from custody.store import Store
from custody.trust.app import score_cache
from custody.trust.app.decisions import (
    TrustQuery,
    list_agents_with_decisions,
    read_settled_decisions,
    replay_trust_account,
)
from custody.trust.app.score_cache import read_score_state
from custody.trust.queries import ScoreTables, list_unreviewed_decisions
from custody.trust.rules import TrustRules
from tests.builders.events import SHA, an_arrival
from tests.builders.stores import NOON
from tests.contract.conftest import Opener


def decision(number: int, agent: str = "robot", **fields: Any) -> Arrival:
    return an_arrival("decision", id=f"d{number}", agent=agent, at=f"2026-01-31T12:{number:02d}:00Z", **fields)


def test_agents_are_found_by_name(store: Store) -> None:
    store.append([decision(n, agent) for n, agent in enumerate(("robot", "other", "robot", "Zed"))])
    assert sorted(list_agents_with_decisions(store)) == ["Zed", "other", "robot"]


def test_decisions_are_found_by_what_they_name(store: Store) -> None:
    made = store.append([decision(0, commit=SHA), decision(1, reverts="d0"), decision(2, head=SHA, unreviewed=True)])
    first, second, third = (record.ref for record in made.made)
    assert ScoreTables(store).find_decision_records("robot", "id", ["d0", "d9"]) == {first}
    assert ScoreTables(store).find_decision_records("robot", "target", ["d0"]) == {second}
    assert ScoreTables(store).find_decision_records("robot", "commit_sha", [SHA]) == {first}
    assert ScoreTables(store).find_decision_records("robot", "head", [SHA]) == {third}
    assert ScoreTables(store).find_decision_records("other", "id", ["d0"]) == set()
    assert len(list_unreviewed_decisions(store, 0)) == 1


def test_what_is_kept_is_found_again_and_let_go_of(store: Store, open_store: Opener) -> None:
    with store.writing():
        ScoreTables(store).store_score("robot", "r", "one", generation=0)
        ScoreTables(store).store_score("robot", "r", "two", generation=0)
        ScoreTables(store).store_score("robot", "other rules", "three", generation=0)
    assert ScoreTables(open_store()).find_score("robot", "r") == "two"
    with store.writing():
        ScoreTables(store).forget()
        ScoreTables(store).store_score("robot", "r", "late", generation=0)
    assert ScoreTables(open_store()).find_score("robot", "r") is None
    assert ScoreTables(store).generation() == 1


def test_a_standing_that_was_kept_is_that_of_a_replay(
    store: Store, open_store: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_cache, "TAIL_MAX", 1)
    asked = TrustQuery(TrustRules(), NOON)
    for number in range(6):
        decided = "rejected" if number % 3 == 0 else "accepted"
        store.append([decision(number, decision=decided, changed_lines=7 * number, unreviewed=number == 4)])
        again = open_store()
        told = read_score_state(again, "robot", asked)
        with read_settled_decisions(again):
            assert told == replay_trust_account(again, "robot", asked).state
    assert store.db.rows("SELECT count(*) FROM trust_standing") == [(1,)]


def test_a_look_sees_what_it_appends_to_and_may_append_nothing(store: Store) -> None:
    store.append([decision(0)])
    seen: list[set[RecordRef]] = []

    def look() -> list[Arrival]:
        seen.append(ScoreTables(store).find_decision_records("robot", "id", ["d0"]))
        return []

    assert store.append_from(look).made == ()
    (made,) = store.append_from(lambda: [decision(1)]).made
    assert (len(seen[0]), made.seq) == (1, Seq(2))


def test_a_look_that_fails_appends_nothing(store: Store) -> None:
    def look() -> list[Arrival]:
        raise KeyError("no")

    with pytest.raises(KeyError):
        store.append_from(look)
    assert store.append([decision(0)]).made[0].seq == 1
