"""Many records in one append: few statements, each record once, every text and view stored."""

from typing import Any

from custody.core.ids import EventId
from custody.core.record import check_record_chain
from custody.core.views import SourceAccess
from custody.core.wire.arrival import Arrival, arrival_from_json
from custody.core.wire.canonical import Json
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


def a_search(name: str, printed: str) -> Arrival:
    payload: Json = {"tool_name": "Grep", "tool_input": {"pattern": "x"}, "tool_response": {"content": printed}}
    event: dict[str, Json] = {"custody": 1, "kind": "hook", "id": name, "at": "2026-01-31T12:00:00Z", "call": name}
    event |= {"agent": "claude-code", "session": "s", "event": "PostToolUse", "payload": payload}
    return arrival_from_json(EventId(name), event)


def test_a_new_record_has_no_text_that_was_erased_before(open_store: Opener) -> None:
    store, printed = open_store(), "src/app.py:1:import os\n" * 300
    store.append([a_search("1", printed)])
    assert len(store.views.look_up(SourceAccess, "1 = 1", ())) == 1
    store.erase(list(a_search("1", printed).texts), who="ana", why="a secret")
    store.append([a_search("2", printed), a_search("3", "src/b.py:1:x\n")])
    assert list(store.views.find_mismatched_records()) == []
    assert [seen.view.locator for seen in store.views.look_up(SourceAccess, "1 = 1", ())] == ["src/b.py"]


def test_views_of_an_append_are_those_of_a_rebuild(open_store: Opener) -> None:
    store = open_store()
    store.append(mixed(60))
    store.append([an_arrival("call", id="c", input={"z": 1, "command": "git commit", "a": "é" * 5000})])
    assert list(store.views.find_mismatched_records()) == []
    before = [store.db.rows(f"SELECT * FROM {name} ORDER BY 1, 2, 3") for name in ("file_edit", "tool_call")]
    store.views.rebuild(lambda _: None)
    assert before == [store.db.rows(f"SELECT * FROM {name} ORDER BY 1, 2, 3") for name in ("file_edit", "tool_call")]
