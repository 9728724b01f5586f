"""Many records in one append: few statements, each record once, every text and view stored."""

from typing import Any

from custody.core.record import check_record_chain
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
