"""Spans that share a record, in every store: stored once, found by key, erased one by one, verified."""

import pytest

from custody.core.ids import Digest, ExecutionId, NaturalKey
from custody.core.views import ObservedSpan
from custody.core.wire.arrival import Arrival
from custody.core.wire.span_batch import digest_from_payload
from custody.graph.queries import SpanTables, query_execution_spans, query_session_spans
from custody.store import Store
from tests.builders.events import an_arrival
from tests.contract.conftest import Opener


def spans(*numbers: int, **fields: object) -> list[Arrival]:
    return [an_arrival("span", event=f"e-{n}", span=f"s{n}", **fields) for n in numbers]


def key(number: int) -> NaturalKey:
    return NaturalKey(f"span:e1:s{number}:start")


def stored_ids(store: Store) -> list[str]:
    return sorted(str(observed.view.id) for observed in query_execution_spans(store, ExecutionId("e1")))


def kinds(store: Store) -> list[str]:
    return [record.entry.kind for head in store.tables.chains() for record in store.tables.records(head.store)]


def test_spans_of_one_append_share_a_record(open_store: Opener) -> None:
    result = open_store().append(spans(1, 2, 3))
    assert [record.entry.kind for record in result.made] == ["spans"]
    assert set(result.stored.values()) == {result.made[0].ref}
    store = open_store()
    assert stored_ids(store) == ["s1", "s2", "s3"]
    assert [observed.record.ref for observed in query_execution_spans(store, ExecutionId("e1"))] == [
        result.made[0].ref
    ] * 3
    assert len(query_session_spans(store, "s1")) == 3  # type: ignore[arg-type]  # a session's name
    assert store.views.distinct(ObservedSpan, "span") == ["s1", "s2", "s3"]


def test_the_same_spans_in_another_batch_are_known(open_store: Opener) -> None:
    open_store().append(spans(1, 2, 3))
    again = open_store().append([an_arrival("span", event=f"late-{n}", span=f"s{n}") for n in (2, 3, 4, 5, 5)])
    assert set(again.known) == {"late-2", "late-3", "late-5"}
    assert set(again.stored) == {"late-4", "late-5"}
    store = open_store()
    assert stored_ids(store) == ["s1", "s2", "s3", "s4", "s5"]
    assert store.tables.body_count() == 2, "a known span has no bytes of its own"


def test_other_content_under_a_known_key_is_a_second_observation(store: Store) -> None:
    store.append(spans(1, 2))
    store.append([an_arrival("span", event=f"other-{n}", span=f"s{n}", dropped=1) for n in (1, 2)])
    observed = SpanTables(store).find_observations({key(1), key(2), key(3)})
    assert {name: len(digests) for name, digests in observed.items()} == {key(1): 2, key(2): 2}
    assert len(store.tables.records_named(key(1))) == 2


def test_one_span_is_erased_and_the_record_still_verifies(open_store: Opener) -> None:
    store = open_store()
    (record,) = store.append(spans(1, 2, 3)).made
    found = store.tables.find_batched_spans([key(2)])
    (erasure,) = store.erase_spans(found, who="ana", why="a name").made
    body = store.tables.bodies([record.entry.digest])[record.entry.digest]
    assert body.data is not None
    assert digest_from_payload(body.data) == record.entry.digest
    assert b'"s2"' not in body.data
    later = open_store()
    assert stored_ids(later) == ["s1", "s3"]
    assert later.tables.records_named(key(2)) == []
    assert later.tables.is_erased(Digest(found[0][1].leaf))
    assert later.tables.payload(erasure)["why"] == "a name"  # type: ignore[index,call-overload]  # an object
    assert list(later.views.find_mismatched_records()) == []
    again = later.append([an_arrival("span", event=f"again-{n}", span=f"s{n}") for n in (2, 3, 4)])
    assert (set(again.known), set(again.stored)) == ({"again-2", "again-3"}, {"again-4"}), "an erased span stays erased"
    later.views.rebuild(lambda _: None)
    assert stored_ids(later) == ["s1", "s3", "s4"]
    late = [an_arrival("span", event="last", span="s2")]
    assert open_store().append(late).known == ("last",), "also after the index was made again"


def test_a_whole_batch_is_erased_like_any_body(open_store: Opener) -> None:
    store = open_store()
    (record,) = store.append(spans(1, 2)).made
    store.erase([record.entry.digest], who="ana", why="all of it")
    assert stored_ids(open_store()) == []
    assert kinds(open_store()) == ["spans", "erased"]


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_session_is_observed_with_its_spans(store: Store, rebuild: bool) -> None:
    store.append(spans(1, 2, agent="robot", session="s9"))
    if rebuild:
        store.views.rebuild(lambda _: None)
    assert [span.view.id for span in query_session_spans(store, "s9")] == ["s1", "s2"]  # type: ignore[arg-type]
    rows = store.db.rows("SELECT n, event_count FROM (SELECT max(n) AS n, count(*) AS event_count FROM observation)")
    assert rows == [(3, 2)], "observations follow the spans of their record"
