"""Withheld bodies, and origins of lines, on every database."""

import pytest

from custody.attribution.queries.traces import OriginTables
from custody.core.ids import SessionId, StoreId
from custody.core.paths import RepoPath
from custody.core.record import Record, empty_chain_tip, record_from_draft
from custody.core.wire.arrival import Arrival
from custody.core.wire.body import encode_view_outline
from custody.core.wire.canonical import parse_json_bytes
from custody.core.wire.event_views import views_from_event_payload
from custody.ledger.queries import list_session_prompts
from custody.store import Body, DamagedStoreError, Store
from tests.builders.events import an_arrival

OTHER = StoreId("f" * 32)
A, B = RepoPath(b"a"), RepoPath(b"caf\xe9")
ARRIVAL: Arrival = an_arrival("prompt", id="w")
OUTLINE = encode_view_outline(views_from_event_payload(parse_json_bytes(ARRIVAL.payload)))
RECORD: Record = record_from_draft(empty_chain_tip(OTHER), ARRIVAL.entry)


@pytest.fixture
def withheld(store: Store) -> Store:
    """A store with one record of another store, without its text."""
    store.copy([Body(ARRIVAL.entry.digest, None, OUTLINE), RECORD])
    return store


def prompts(store: Store) -> list[str | None]:
    return [seen.view.text.content for seen in list_session_prompts(store, SessionId("s1"))]


def test_an_outline_gives_views_and_no_payload(withheld: Store) -> None:
    assert withheld.tables.payload(RECORD) is None
    assert withheld.tables.outline(ARRIVAL.entry.digest) == OUTLINE
    assert withheld.tables.count_withheld_bodies() == 1
    assert prompts(withheld) == [None]
    withheld.views.rebuild(lambda _: None)
    assert prompts(withheld) == [None]
    assert not list(withheld.views.find_mismatched_records())


def test_the_text_may_come_later_and_then_stays(withheld: Store) -> None:
    withheld.copy([Body(ARRIVAL.entry.digest, ARRIVAL.payload), RECORD])
    assert (prompts(withheld), withheld.tables.count_withheld_bodies()) == (["please write it"], 0)
    withheld.copy([Body(ARRIVAL.entry.digest, None, OUTLINE), RECORD])
    assert (prompts(withheld), withheld.tables.count_withheld_bodies()) == (["please write it"], 0)


def test_what_was_erased_here_stays_erased(withheld: Store) -> None:
    withheld.erase([ARRIVAL.entry.digest], who="ana", why="because")
    assert (prompts(withheld), withheld.tables.count_withheld_bodies()) == ([], 0)
    withheld.copy([Body(ARRIVAL.entry.digest, None, OUTLINE), RECORD])
    assert (prompts(withheld), withheld.tables.count_withheld_bodies()) == ([], 0)


def test_a_damaged_outline_is_found(withheld: Store) -> None:
    with withheld.writing():
        withheld.db.run("UPDATE body SET bytes = ? WHERE digest = ?", (b"\0" * 60, ARRIVAL.entry.digest))
    with pytest.raises(DamagedStoreError):
        withheld.tables.outline(ARRIVAL.entry.digest)


def test_origins_are_replaced_whole_and_leave_nothing_behind(withheld: Store) -> None:
    bodies, origins = withheld.tables.body_count(), OriginTables(withheld)
    for files in ({A: b"1", B: b"2"}, {A: b"1", B: b"3"}, {B: b"3"}):
        assert origins.differ(OTHER, files)
        with withheld.writing():
            assert origins.put(OTHER, files)
        with withheld.writing():
            assert not origins.put(OTHER, files)
        kept = {path: origins.read(digest) for path, digest in origins.files(OTHER).items()}
        assert kept == files
        assert withheld.tables.body_count() == bodies + len(files) + 1
    assert list(origins.lists()) == [OTHER]
    with withheld.writing():
        origins.drop(OTHER)
    assert (origins.lists(), withheld.tables.body_count()) == ({}, bodies)


def test_that_a_chain_was_pulled_is_remembered(withheld: Store) -> None:
    assert withheld.tables.list_pulled_chains() == set()
    for _ in range(2):
        with withheld.writing():
            withheld.tables.mark_pulled(OTHER)
    assert withheld.tables.list_pulled_chains() == {OTHER}
