"""The store notifies derived tables of every change to their records and views."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from custody.core.ids import StoreId
from custody.core.record import ChainTip, Record
from custody.store import DerivedTables, RecordReader, Store, ViewWiring, open_sqlite
from custody.workspace.wiring import DERIVED, READERS, import_wired_name
from tests.builders.events import an_arrival
from tests.builders.stores import surroundings


class CallLog(DerivedTables):
    """Notes each call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []
        self.reaches_head = True

    def catch_up(self, head: ChainTip) -> None:
        self.calls.append(("catch_up", head.store))

    def is_current(self, head: ChainTip) -> bool:
        return self.reaches_head

    def read_on(self, store: StoreId) -> None:
        self.calls.append(("read_on", store))

    def read_again(self, records: Sequence[Record]) -> None:
        self.calls.append(("read_again", [record.ref for record in records]))

    def forget_views(self, store: StoreId) -> None:
        self.calls.append(("forget_views", store))

    def forget(self) -> None:
        self.calls.append(("forget", None))


def an_open_store(folder: Path, version: int = 1) -> tuple[Store, CallLog]:
    log = CallLog()
    readers = {kind: RecordReader(version, reader.views) for kind, reader in READERS.items()}
    store = Store(open_sqlite(folder / "custody.db"), ViewWiring(readers, (lambda _: log,)), surroundings(folder))
    return store, log


def test_an_append_is_read_by_its_chain(tmp_path: Path) -> None:
    store, log = an_open_store(tmp_path)
    with store:
        (record,) = store.append([an_arrival()]).made
        assert log.calls == [("read_on", record.store)]


def test_an_erasure_names_the_records_that_lost_content(tmp_path: Path) -> None:
    store, log = an_open_store(tmp_path)
    with store:
        (record,) = store.append([an_arrival()]).made
        log.calls.clear()
        store.erase([record.entry.digest], who="ana", why="a secret")
        assert log.calls == [("read_again", [record.ref]), ("read_on", record.store)]


def test_a_rebuild_drops_everything_then_catches_up(tmp_path: Path) -> None:
    store, log = an_open_store(tmp_path)
    with store:
        (record,) = store.append([an_arrival()]).made
        log.calls.clear()
        store.views.rebuild(lambda _: None)
        assert log.calls == [("forget", None), ("catch_up", record.store)]


def test_other_readers_drop_what_rests_on_the_views_of_a_chain(tmp_path: Path) -> None:
    store, _ = an_open_store(tmp_path)
    with store:
        (record,) = store.append([an_arrival()]).made
    again, log = an_open_store(tmp_path, version=2)
    with again:
        again.catch_up()
        assert log.calls == [("catch_up", record.store), ("forget_views", record.store)]


def test_views_are_current_only_when_derived_tables_are(tmp_path: Path) -> None:
    store, log = an_open_store(tmp_path)
    with store:
        store.append([an_arrival()])
        assert store.views.current()
        log.reaches_head = False
        assert not store.views.current()


@pytest.mark.parametrize("name", DERIVED)
def test_every_wired_name_is_a_class_of_derived_tables(name: str) -> None:
    assert issubclass(import_wired_name(name), DerivedTables)
