"""The cache plus later decisions give the score of a full replay, bit for bit, in any order."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.ids import StoreId
from custody.core.wire.arrival import Arrival
from custody.core.wire.time import format_timestamp
from custody.ledger.records import erase_record_bodies
from custody.store import Store, open_sqlite_overlay
from custody.trust.app import score_cache
from custody.trust.app.decisions import (
    TrustQuery,
    list_agents_with_decisions,
    open_trust_folder,
    read_settled_decisions,
    replay_trust_account,
)
from custody.trust.app.record import DecisionRequest, record_override, record_revert, record_trust_decision
from custody.trust.app.score_cache import read_fold_position, read_score_state
from custody.trust.app.show import trust_list, trust_show
from custody.trust.model import DecisionEntry, DecisionOverride, DecisionType, Entry, RecoveryEntry, ScoreState
from custody.trust.queries import ScoreTables
from custody.workspace.wiring import VIEWS
from tests.builders.events import an_arrival
from tests.builders.stores import a_sqlite_store, surroundings
from tests.unit.trust.builders import CAUTIOUS, DAY, NOON, ROBOT, a_decision, a_landing, an_override, histories

CHAINS = (StoreId("a" * 32), StoreId("b" * 32))
NOWS = [NOON, NOON + 14 * DAY, NOON + 500 * DAY]


@pytest.fixture
def kept_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store every fold."""
    monkeypatch.setattr(score_cache, "TAIL_MAX", 1)


@contextmanager
def a_store() -> Iterator[Store]:
    """Yield a store that waits for no disk."""
    with Store(open_sqlite_overlay(None), VIEWS, surroundings()) as store:
        yield store


def arrival(entry: Entry, name: str) -> Arrival:
    """Return the record of an entry."""
    fields: dict[str, Any] = {
        "id": entry.id,
        "at": format_timestamp(entry.at_ns),
        "actor": entry.actor,
        "reason": entry.reason,
    }
    match entry:
        case RecoveryEntry():
            fields |= {"decision": "recovered", "boost": entry.boost}
        case DecisionOverride():
            fields |= {"decision": entry.decision.value, "overrides": entry.target}
        case DecisionEntry():
            complexity = entry.stakes.complexity
            fields |= {
                "decision": entry.decision.value,
                "complexity": None if complexity is None else complexity.word,
                "changed_lines": entry.stakes.lines,
                "review_ms": None if entry.stakes.review_ms is None else max(0, entry.stakes.review_ms),
                "commit_name": entry.commit,
                "reverts": entry.reverts,
                "unreviewed": entry.unreviewed,
                "model": entry.model,
            }
    return an_arrival("decision", event=name, **fields)


def told(store: Store, now_ns: int = NOON) -> ScoreState:
    return read_score_state(store, ROBOT, TrustQuery(CAUTIOUS, now_ns))


def replayed(store: Store, now_ns: int = NOON) -> ScoreState:
    with read_settled_decisions(store):
        return replay_trust_account(store, ROBOT, TrustQuery(CAUTIOUS, now_ns)).state


def kept(store: Store) -> list[object]:
    return [folded for (folded,) in store.db.rows("SELECT folded FROM trust_standing")]


@pytest.mark.usefixtures("kept_at_once")
class TestAnyOrder:
    @given(histories(), st.randoms(use_true_random=False), st.data())
    @settings(max_examples=60, deadline=None)
    def test_what_is_reported_is_the_full_replay(self, entries: list[Entry], chance: Any, data: st.DataObject) -> None:
        chance.shuffle(entries)
        with a_store() as store:
            for place, entry in enumerate(entries):
                store.append([arrival(entry, f"e{place}")], chain=data.draw(st.sampled_from(CHAINS)))
                if data.draw(st.booleans()):
                    now_ns = data.draw(st.sampled_from(NOWS))
                    event(f"kept: {bool(kept(store))}")
                    assert told(store, now_ns) == replayed(store, now_ns)
            for now_ns in NOWS:
                assert told(store, now_ns) == replayed(store, now_ns)

    @given(st.lists(st.integers(0, 40), min_size=2, max_size=12), st.data())
    @settings(max_examples=30, deadline=None)
    def test_unreviewed_merges_that_wait_settle_alike(self, days: list[int], data: st.DataObject) -> None:
        with a_store() as store:
            for place, day in enumerate(days):
                entry = a_landing(day=day) if data.draw(st.booleans()) else a_decision(day=day)
                store.append([arrival(entry, f"e{place}")])
                now_ns = NOON + data.draw(st.integers(0, 60)) * DAY
                assert told(store, now_ns) == replayed(store, now_ns)


@pytest.mark.usefixtures("kept_at_once")
class TestKept:
    def test_only_what_came_since_is_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with a_sqlite_store(tmp_path) as store:
            store.append([arrival(a_decision(day=day), f"e{day}") for day in range(20)])
            told(store)
            monkeypatch.setattr(score_cache, "fold_agent_decisions", None)
            store.append([arrival(a_decision(day=30), "later")])
            assert told(store).samples == 21

    @pytest.mark.parametrize("day", [0, 5])
    def test_a_decision_from_before_is_folded_in_its_place(self, tmp_path: Path, day: float) -> None:
        with a_sqlite_store(tmp_path) as store:
            store.append([arrival(a_decision(day=10), "first")])
            told(store)
            store.append([arrival(a_decision(DecisionType.REJECTED, day=day), "late")])
            assert told(store) == replayed(store)

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (a_decision(id="same"), a_decision(DecisionType.REJECTED, day=1, id="same")),
            (a_decision(commit="c"), a_landing(day=1, head="c")),
            (a_landing(head="c"), a_landing(day=1, head="c")),
            (a_decision(DecisionType.REJECTED, reverts="u"), a_landing(day=1, id="u")),
            (an_override(a_decision(id="t"), DecisionType.REJECTED, day=0), a_decision(day=1, id="t")),
        ],
    )
    def test_what_has_a_name_that_was_used_before_is_folded_with_it(
        self, tmp_path: Path, before: Entry, after: Entry
    ) -> None:
        with a_sqlite_store(tmp_path) as store:
            store.append([arrival(before, "before")])
            told(store)
            store.append([arrival(after, "after")])
            for now_ns in NOWS:
                assert told(store, now_ns) == replayed(store, now_ns)

    def test_other_rules_have_a_row_of_their_own(self, tmp_path: Path) -> None:
        with a_sqlite_store(tmp_path) as store:
            store.append([arrival(a_decision(), "first")])
            asked = TrustQuery(replace(CAUTIOUS, ema_alpha=0.1), NOON)
            assert read_score_state(store, ROBOT, asked).score == pytest.approx(0.55)
            assert told(store).score == pytest.approx(0.65)
            assert len(kept(store)) == 2

    def test_whoever_makes_views_again_lets_go_of_it(self, tmp_path: Path) -> None:
        with a_sqlite_store(tmp_path) as store:
            store.append([arrival(a_decision(), "first")])
            told(store)
            assert kept(store)
            store.views.rebuild(lambda _: None)
            assert not kept(store)
            assert told(store) == replayed(store)

    def test_what_is_erased_is_let_go_of(self, tmp_path: Path) -> None:
        workspace = open_trust_folder(tmp_path / "store", lambda: NOON)
        for number in range(3):
            record_trust_decision(
                workspace,
                DecisionRequest(agent="robot", decision=DecisionType.ACCEPTED, actor="ana", id=f"pr-{number}"),
            )
        assert trust_list(workspace).agents[0].accepted == 3
        erase_record_bodies(workspace, ["2"], who="ana", why="it named a person")
        assert trust_list(workspace).agents[0].accepted == 2

    def test_what_somebody_else_let_go_of_is_not_kept_after_all(self, tmp_path: Path) -> None:
        with a_sqlite_store(tmp_path) as store:
            store.append([arrival(a_decision(), "first")])
            with read_settled_decisions(store):
                generation = ScoreTables(store).generation()
                position = read_fold_position(store, ROBOT, TrustQuery(CAUTIOUS, NOON))
            with store.writing():
                ScoreTables(store).forget()
            score_cache.store_due_score(store, ROBOT, TrustQuery(CAUTIOUS, NOON), position, generation)
            assert kept(store) == []

    def test_a_row_of_another_shape_is_ignored(self, tmp_path: Path) -> None:
        with a_sqlite_store(tmp_path) as store:
            store.append([arrival(a_decision(), "first")])
            told(store)
            with store.writing():
                store.db.run("UPDATE trust_standing SET folded = ?", ("{}",))
            assert told(store) == replayed(store)

    def test_corrections_are_reported_as_ever(self, tmp_path: Path) -> None:
        workspace = open_trust_folder(tmp_path / "store", lambda: NOON)
        for number in range(3):
            record_trust_decision(
                workspace,
                DecisionRequest(agent="robot", decision=DecisionType.ACCEPTED, actor="ana", id=f"pr-{number}"),
            )
        record_override(workspace, "robot", "pr-0", DecisionType.REJECTED, actor="ben", reason="slow")
        done = record_revert(workspace, "robot", "pr-1", actor="ben", reason="slow").report()
        line = trust_list(workspace).agents[0]
        assert line == done.standing == trust_show(workspace, "robot", limit=0).standing


def test_few_decisions_are_not_worth_a_row(tmp_path: Path) -> None:
    with a_sqlite_store(tmp_path) as store:
        store.append([arrival(a_decision(day=day), f"e{day}") for day in range(score_cache.TAIL_MAX - 1)])
        told(store)
        assert kept(store) == []
        store.append([arrival(a_decision(day=1000), "one more")])
        told(store)
        assert len(kept(store)) == 1


def test_agents_are_found_by_name(tmp_path: Path) -> None:
    with a_sqlite_store(tmp_path) as store:
        assert list_agents_with_decisions(store) == []
        store.append([an_arrival("decision", agent=agent, id=str(n)) for n, agent in enumerate("bcab")])
        assert list_agents_with_decisions(store) == ["a", "b", "c"]
