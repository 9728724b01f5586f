"""A transcript's line becomes a record: identified by its own id, with checked paths."""

from typing import Any

import pytest

from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.wire.arrival import arrival_from_json, transcript_natural_key


def a_line(**fields: Any) -> dict[str, Any]:
    around = {
        "custody": 1,
        "kind": "transcript",
        "id": "u:1",
        "at": "2026-01-31T12:00:00Z",
        "agent": "a",
        "session": "s",
    }
    return {**around, "payload": {"type": "user"}, **fields}


def test_the_key_is_of_the_line_whatever_its_session() -> None:
    keys = {arrival_from_json(EventId("e"), a_line(session=session)).entry.key for session in ("s", "t")}
    assert keys == {"transcript:a:u%3A1"} == {transcript_natural_key("a", "u:1")}


@pytest.mark.parametrize(
    "fields",
    [
        {"paths": {"/x": "../out"}},
        {"paths": {"/x": ""}},
        {"commits": {"abc": "abc"}},
        {"calls": [{"id": "1"}]},
        {"session": "a\nb"},
        {"unheard": 1},
    ],
)
def test_what_is_not_as_it_should_be_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        arrival_from_json(EventId("e"), a_line(**fields))


def test_a_name_may_be_nothing_in_this_repository() -> None:
    kept = arrival_from_json(EventId("e"), a_line(paths={"/x": None, "/y": "y"}, commits={"abc": None}))
    assert b'"paths":{"/x":null,"/y":"y"}' in kept.payload
