"""The contract of every store, on every database."""

from typing import get_args

import pytest
from msgspec.structs import replace

from custody.attribution.queries.traces import find_candidate_edits_in_window, find_commit_session_links
from custody.core.errors import StoreError
from custody.core.ids import CommitSha, NaturalKey, SessionId, StoreId
from custody.core.paths import RepoPath
from custody.core.record import (
    GENESIS,
    Record,
    chain_tip_from_record,
    check_record_chain,
    empty_chain_tip,
    record_from_draft,
)
from custody.core.views import FileEdit, SourceAccess, View
from custody.core.wire.arrival import CONTINUES
from custody.ledger.queries import ReadRows, list_session_source_locators
from custody.store import Body, Fork, Store
from custody.store.rows import TABLES
from tests.builders.events import KINDS, OTHER_SHA, SHA, an_arrival
from tests.builders.lookups import edits_at, sessions_at
from tests.contract.conftest import Opener

LONG = "a line of a long file\n" * 1000


def test_appended_records_come_back_in_order_and_chained(store: Store) -> None:
    made = store.append([an_arrival(id=str(n)) for n in range(5)]).made
    assert [record.seq for record in made] == [1, 2, 3, 4, 5]
    assert list(store.tables.records(made[0].store)) == list(made)
    assert not list(check_record_chain(made[0].store, made))


def test_a_chain_grows_over_several_openings(open_store: Opener) -> None:
    first = open_store().append([an_arrival(id="1")]).made[0]
    second = open_store().append([an_arrival(id="2")]).made[0]
    assert (second.store, second.seq) == (first.store, 2)
    assert not list(check_record_chain(first.store, [first, second]))


def test_the_same_event_is_kept_once(store: Store) -> None:
    store.append([an_arrival(event="e1")])
    again = store.append([an_arrival(event="e1"), an_arrival(event="e2")])
    assert again.made == ()
    assert again.known == ("e1", "e2"), "e2 is the same observation with the same content"


def test_the_same_key_with_other_content_is_a_second_observation(store: Store) -> None:
    store.append([an_arrival(event="e1", after="one"), an_arrival(event="e2", after="two")])
    ((key, count),) = store.tables.second_observations(10)
    assert (key, count) == ("event:robot:s1:edit:1", 2)


def test_long_texts_are_bodies_of_their_own_and_shared(store: Store) -> None:
    one, two = store.append([an_arrival(id="1", after=LONG), an_arrival(id="2", after=LONG)]).made
    assert store.tables.body_count() == 3
    payload = store.tables.payload(two)
    assert isinstance(payload, dict)
    assert payload["after"] == LONG
    assert one.entry.digest != two.entry.digest


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_a_view_that_can_be_looked_up(store: Store, kind: str) -> None:
    (record,) = store.append([an_arrival(kind)]).made
    table = {
        "call": "tool_call",
        "edit": "file_edit",
        "link": "commit_link",
        "read": "hunk_read",
        "author": "author_claim",
    }.get(kind, kind)
    (view,) = (view for view in get_args(View) if TABLES[view].name == table)
    (seen,) = store.views.look_up(view, "seq >= ?", (0,))
    assert seen.record == record


def test_look_ups(store: Store) -> None:
    store.append([an_arrival("session"), an_arrival("edit", path="a.py"), an_arrival("link")])
    sha, other = CommitSha(SHA), CommitSha(OTHER_SHA)
    assert len(sessions_at(store, sha)) == 1
    assert len(edits_at(store, sha)) == 1
    assert len(find_commit_session_links(store, other)) == 1
    at_ns = edits_at(store, sha)[0].record.entry.at_ns
    path = RepoPath(b"a.py")
    assert len(find_candidate_edits_in_window(store, path, since_ns=at_ns, until_ns=at_ns)) == 1
    assert find_candidate_edits_in_window(store, path, since_ns=at_ns + 1, until_ns=at_ns + 2) == []
    assert find_candidate_edits_in_window(store, RepoPath(b"b.py"), since_ns=0, until_ns=at_ns) == []


def test_what_sessions_read_by_a_moment_is_listed_once_the_latest_first(store: Store) -> None:
    reads = (
        ("1", "s1", "a", "10"),
        ("2", "s1", "b", "11"),
        ("3", "s2", "a", "12"),
        ("4", "s1", "c", "13"),
        ("5", "s3", "d", "10"),
    )
    store.append(
        [
            an_arrival("source_read", id=id_, session=session, locator=locator, at=f"2026-01-31T{hour}:00:00Z")
            for id_, session, locator, hour in reads
        ]
    )
    one, two = SessionId("s1"), SessionId("s2")
    noon = store.views.look_up(SourceAccess, "locator = ? AND session = ?", ("a", two))[0].record.entry.at_ns
    assert list_session_source_locators(store, [one, two], noon, 10) == ReadRows(("a", "b"), 2)
    assert list_session_source_locators(store, [one, two], noon + 3_600_000_000_000, 1) == ReadRows(("c",), 3)
    assert list_session_source_locators(store, [SessionId("s9")], noon, 10) == ReadRows((), 0)


def test_odd_paths_survive(store: Store) -> None:
    store.append([an_arrival("edit", path="d/\udcff\n'\".py")])
    path = RepoPath(b"d/\xff\n'\".py")
    (seen,) = find_candidate_edits_in_window(store, path, since_ns=0, until_ns=2**62)
    assert isinstance(seen.view, FileEdit)
    assert seen.view.path == path


def test_erased_texts_are_gone_and_the_chain_still_checks(store: Store) -> None:
    (record,) = store.append([an_arrival("edit", after=LONG)]).made
    (seen,) = edits_at(store, CommitSha(SHA))
    assert isinstance(seen.view, FileEdit)
    assert seen.view.after is not None
    digest = seen.view.after.digest
    store.erase([digest], who="ana", why="a secret")
    assert store.tables.bodies([digest])[digest] == Body(digest, None)
    (after,) = edits_at(store, CommitSha(SHA))
    assert isinstance(after.view, FileEdit)
    assert after.view.after is not None
    assert after.view.after.content is None, "known to have been there, supports nothing"
    assert after.view.hashes == ()
    assert not list(check_record_chain(record.store, store.tables.records(record.store)))
    assert list(store.views.find_mismatched_records()) == []


def test_what_was_erased_stays_erased_when_it_arrives_again(store: Store) -> None:
    (record,) = store.append([an_arrival("edit", after=LONG)]).made
    store.erase([record.entry.digest], who="ana", why="a secret")
    store.append([an_arrival("edit", after=LONG, event="again")])
    assert store.tables.payload(record) is None


def test_another_stores_erasure_does_not_swallow_our_own_events(store: Store) -> None:
    ours = an_arrival("edit", after=LONG)
    (digest,) = ours.texts
    theirs = store.append([an_arrival("prompt")]).made[0]
    store.copy([Body(digest, None)])
    store.append([ours])
    assert store.tables.bodies([digest])[digest].data == LONG.encode()
    assert theirs.seq == 1


def test_rebuilding_gives_the_same_views(store: Store) -> None:
    store.append([an_arrival(kind, id=str(n)) for n, kind in enumerate(KINDS * 20)])
    before = edits_at(store, CommitSha(SHA))
    store.db.run("DELETE FROM file_edit")
    assert list(store.views.find_mismatched_records())
    store.views.rebuild(lambda _: None)
    assert edits_at(store, CommitSha(SHA)) == before
    assert list(store.views.find_mismatched_records()) == []


def test_views_made_by_another_reader_version_are_made_again(store: Store) -> None:
    store.append([an_arrival("edit")])
    store.db.run("UPDATE state SET version = 'edit=0'")
    store.db.run("UPDATE file_edit SET session = 'wrong'")
    store.append([an_arrival("edit", id="2")])
    assert not store.views.current()
    store.catch_up()
    assert store.views.current()
    assert list(store.views.find_mismatched_records()) == []


def test_a_copied_chain_is_verbatim_and_idempotent(store: Store) -> None:
    (record,) = store.append([an_arrival("edit")]).made
    bodies = store.tables.bodies([record.entry.digest]).values()
    foreign = StoreId("f" * 32)
    copies: list[Record | Body] = [*bodies, _moved(record, foreign)]
    (first,) = store.copy(copies)
    (second,) = store.copy(copies)
    assert (first.new, first.known) == (1, 0)
    assert (second.new, second.known) == (0, 1)
    assert len(edits_at(store, CommitSha(SHA))) == 2
    assert store.own() == record.store, "copying never changes which chain is ours"


def test_another_record_at_a_taken_place_is_a_fork_and_both_are_kept(store: Store) -> None:
    (record,) = store.append([an_arrival("edit")]).made
    other = _moved(record, record.store, key="event:other")
    (copied,) = store.copy([other])
    assert copied.forked == 1
    assert store.tables.forks() == [other]
    assert list(store.tables.records(record.store)) == [record]
    store.copy([Fork(other)])
    assert store.tables.forks() == [other]


def test_an_event_that_another_store_knew_and_erased_is_not_lost(store: Store) -> None:
    ours = an_arrival("edit", after=LONG)
    foreign = record_from_draft(empty_chain_tip(StoreId("f" * 32)), ours.entry)
    store.copy([Body(ours.entry.digest, None), *(Body(digest, None) for digest in ours.texts), foreign])
    assert store.append([ours]).known == (ours.entry.event,)
    payload = store.tables.payload(foreign)
    assert isinstance(payload, dict)
    assert payload["after"] == LONG
    assert len(edits_at(store, CommitSha(SHA))) == 1
    assert list(store.views.find_mismatched_records()) == []


def test_no_other_store_continues_our_own_chain(store: Store) -> None:
    (record,) = store.append([an_arrival("edit")]).made
    forged = record_from_draft(chain_tip_from_record(record), replace(record.entry, key=NaturalKey("event:forged")))
    (copied,) = store.copy([record, forged])
    assert (copied.known, copied.new, copied.forked) == (1, 0, 1)
    assert list(store.tables.records(record.store)) == [record]


def test_our_own_lost_end_comes_back_from_a_copy(store: Store) -> None:
    one, two = store.append([an_arrival(id="1"), an_arrival(id="2")]).made
    store.db.run("DELETE FROM record WHERE seq = 2")
    (copied,) = store.copy([one, two])
    assert (copied.known, copied.new, copied.forked) == (1, 1, 0)
    assert store.append([an_arrival(id="3")]).made[0].store == one.store, "whole again, it goes on under its own name"


def test_a_store_that_lost_its_end_goes_on_under_another_name(open_store: Opener) -> None:
    store = open_store()
    one, two = store.append([an_arrival(id="1"), an_arrival(id="2")]).made
    store.db.run("DELETE FROM record WHERE seq = 2")
    (three,) = store.append([an_arrival(id="3")]).made
    assert three.store != one.store
    first = next(store.tables.records(three.store))
    assert first.entry.kind == CONTINUES
    payload = store.tables.payload(first)
    assert isinstance(payload, dict)
    assert (payload["store"], payload["seq"], payload["link"]) == (one.store, 1, one.link.hex())
    assert two.seq == 2


def test_an_unknown_newer_schema_is_refused(open_store: Opener) -> None:
    open_store().db.set_version(99)
    with pytest.raises(StoreError, match=r"schema 99, this custody knows up to \d"):
        open_store()


def test_a_failed_append_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append([an_arrival(id="1")])
    monkeypatch.setattr(store.views, "read_on", _fail)
    with pytest.raises(OSError, match="pulled"):
        store.append([an_arrival(id="2")])
    assert store.tables.record_count() == 1
    assert store.tables.body_count() == 1


def test_an_empty_store_has_no_chains(store: Store) -> None:
    assert store.own() is None
    assert store.tables.chains() == []
    assert store.tables.head(StoreId("0" * 32)) == empty_chain_tip(StoreId("0" * 32))
    assert empty_chain_tip(StoreId("0" * 32)).link == GENESIS


def _fail(*_: object) -> None:
    raise OSError("the plug was pulled")


def _moved(record: Record, store: StoreId, key: str | None = None) -> Record:
    """Return the same record as the first of another chain."""
    entry = record.entry if key is None else replace(record.entry, key=NaturalKey(key))
    return record_from_draft(empty_chain_tip(store), entry)
