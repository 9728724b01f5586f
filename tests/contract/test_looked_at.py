"""Queries of pages on every store: sessions by last activity, bounded counts, and what exists."""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custody.core.ids import AgentName, SessionId
from custody.core.wire.arrival import make_loss_arrival
from custody.server import queries as looked_at
from custody.server.queries import ActiveSession, ActivityTables
from custody.store import Store
from tests.builders.events import an_arrival

NAMES = ("s1", "s2", "S2-long", "שלום", "100%", "1_0", "日本語")


def at(second: int) -> str:
    return f"2026-01-31T12:{second // 60:02}:{second % 60:02}Z"


def kept(store: Store, seen: list[tuple[str, str]]) -> None:
    """Record one call per second of an agent's session."""
    store.append(
        [
            an_arrival("call", event=f"e{n}", id=f"c{n}", agent=agent, session=session, at=at(n))
            for n, (agent, session) in enumerate(seen)
        ]
    )


def paged(store: Store, limit: int) -> list[tuple[str, str]]:
    found: list[ActiveSession] = []
    while some := ActivityTables(store).sessions(found[-1] if found else None, limit):
        found += some
    return [(one.agent, one.session) for one in found]


def test_sessions_come_by_when_they_were_last_active(store: Store) -> None:
    kept(store, [("robot", "s1"), ("robot", "s2"), ("other", "s1"), ("robot", "s1")])
    assert paged(store, 10) == [("robot", "s1"), ("other", "s1"), ("robot", "s2")]


def test_sessions_of_one_moment_have_an_order(store: Store) -> None:
    store.append(
        [an_arrival("call", event=f"e{n}", id=f"c{n}", agent="robot", session=f"s{n}", at=at(0)) for n in range(5)]
    )
    assert paged(store, 2) == [("robot", f"s{n}") for n in range(5)]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(("a", "b")), st.sampled_from(NAMES)), min_size=1, max_size=30), st.integers(1, 4)
)
def test_turning_pages_gives_each_session_once(
    tmp_path_factory: pytest.TempPathFactory, seen: list[tuple[str, str]], limit: int
) -> None:
    from tests.builders.stores import a_sqlite_store

    with a_sqlite_store(tmp_path_factory.mktemp("store")) as store:
        kept(store, seen)
        last = {name: n for n, name in enumerate(seen)}
        assert paged(store, limit) == sorted(last, key=lambda name: -last[name])


def test_an_agent_and_a_part_of_the_id_are_asked_for(store: Store) -> None:
    kept(store, [("robot", name) for name in NAMES])
    looked = ActivityTables(store)

    def found(**asked: str) -> set[str]:
        return {one.session for one in looked.sessions(None, 50, **asked)}

    assert found(agent="robot") == set(NAMES) and found(agent="rob") == set()
    assert found(text="s2") == {"s2", "S2-long"}
    assert (found(text="%"), found(text="_"), found(text="לו")) == ({"100%"}, {"1_0"}, {"שלום"})
    assert found(text="!") == set()


def test_a_session_is_counted_up_to_a_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(store, [("robot", "s1")] * 9)
    store.append([an_arrival("edit", id="e1", at=at(21))])
    looked = ActivityTables(store)
    whole = looked.count_session(AgentName("robot"), SessionId("s1"))
    assert (whole.calls, whole.files) == (9, 1)
    monkeypatch.setattr(looked_at, "COUNTED_MAX", 4)
    assert looked.count_session(AgentName("robot"), SessionId("s1")).calls == 4


def test_two_agents_with_a_session_of_one_id_are_counted_apart(store: Store) -> None:
    kept(store, [("robot", "s1"), ("robot", "s1"), ("other", "s1")])
    looked = ActivityTables(store)
    assert [looked.count_session(AgentName(name), SessionId("s1")).calls for name in ("robot", "other")] == [2, 1]


def test_the_ends_of_a_session_are_in_order(store: Store) -> None:
    kept(store, [("robot", "s1"), ("other", "s1"), *[("robot", "s1")] * 8])
    found = ActivityTables(store).ends(AgentName("robot"), SessionId("s1"), 2)
    assert [record.entry.event for record in found] == ["e0", "e2", "e8", "e9"]
    assert all(one.entry.at_ns <= other.entry.at_ns for one, other in pairwise(found))


def test_what_there_is_and_what_was_lost(store: Store) -> None:
    looked = ActivityTables(store)
    assert (looked.first_ns(), looked.holds(["tool_call", "decision"]), looked.list_gap_records(5)) == (
        None,
        frozenset(),
        [],
    )
    kept(store, [("robot", "s1")])
    store.append([make_loss_arrival(f"{n} a hook ended", 7) for n in range(3)])
    assert looked.holds(["tool_call", "decision"]) == {"tool_call"}
    assert len(looked.list_gap_records(2)) == 2
    assert looked.first_ns() is not None
