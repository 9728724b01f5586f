"""Many records in one append: few statements, each record once, every text and view stored."""

from typing import Any

from custody.core.record import check_record_chain
from custody.core.views import FileEdit
from custody.core.wire.arrival import Arrival
from custody.store import Store
from custody.store.postgres import ROWS_TOGETHER
from custody.store.tables import BODY_BYTES_TOGETHER, NAMES
from tests.builders.events import an_arrival
from tests.contract.conftest import Opener

SHARED = "a line of a long file\n" * 1000
HUGE = "0123456789abcdef" * (BODY_BYTES_TOGETHER // 16 + 1)


def texts(n: int) -> str:
    return SHARED if n % 50 == 0 else HUGE if n % 400 == 1 else f"line {n}\n"


def mixed(count: int) -> list[Arrival]:
    """Return events of several kinds, some repeated, some with their own or shared texts."""
    made = []
    for n in range(count):
        after = texts(n)
        made.append(an_arrival("edit", id=str(n), after=after))
        if n % 7 == 0:
            made.append(made[-1])
        if n % 11 == 0:
            made.append(an_arrival("edit", id=str(n), after=after, event=f"told again {n}"))
    return made


def rows(store: Store) -> list[list[Any]]:
    """Return the content of a store, without its path and times."""
    tables = store.tables
    return [
        [(record.entry, tables.payload(record)) for head in tables.chains() for record in tables.records(head.store)],
        sorted(tables.body_digests()),
        store.db.rows("SELECT body, text FROM part ORDER BY 1, 2"),
        store.db.rows("SELECT seq, n, path FROM file_edit ORDER BY 1, 2"),
    ]


def test_many_together_are_kept_once_each_with_all_that_they_hold(open_store: Opener) -> None:
    count = max(ROWS_TOGETHER, NAMES) + 20
    arrivals = mixed(count)
    store = open_store()
    done = store.append(arrivals)

    assert len(done.made) == count
    assert len(done.made) + len(done.known) == len(arrivals)
    assert not list(check_record_chain(done.made[0].store, done.made))
    before = rows(store)
    assert [payload["after"] for _, payload in before[0]] == [texts(n) for n in range(count)]
    assert len(before[2]) == sum(texts(n) in (SHARED, HUGE) for n in range(count))
    again = store.append(arrivals)
    assert (again.made, len(again.known)) == ((), len(arrivals))
    assert rows(store) == before
    store.views.rebuild(lambda _: None)
    assert rows(store) == before, "what was put together is what the records give"


def test_a_new_record_has_no_text_that_was_erased_before(open_store: Opener) -> None:
    store = open_store()
    store.append([an_arrival("edit", id="1", after=SHARED)])
    (text,) = an_arrival("edit", after=SHARED).texts
    store.erase([text], who="ana", why="a secret")
    store.append([an_arrival("edit", id="2", after=SHARED), an_arrival("edit", id="3", after="x\n")])
    assert list(store.views.find_mismatched_records()) == []
    edits = [seen.view for seen in store.views.look_up(FileEdit, "1 = 1", ())]
    assert [edit.after.content for edit in edits if edit.after is not None] == [None, None, "x\n"]


def test_views_of_an_append_are_those_of_a_rebuild(open_store: Opener) -> None:
    store = open_store()
    store.append(mixed(60))
    store.append([an_arrival("call", id="c", input={"z": 1, "command": "git commit", "a": "é" * 5000})])
    assert list(store.views.find_mismatched_records()) == []
    before = [store.db.rows(f"SELECT * FROM {name} ORDER BY 1, 2, 3") for name in ("file_edit", "tool_call")]
    store.views.rebuild(lambda _: None)
    assert before == [store.db.rows(f"SELECT * FROM {name} ORDER BY 1, 2, 3") for name in ("file_edit", "tool_call")]
