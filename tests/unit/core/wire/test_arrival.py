"""From an event's bytes to an entry and back: one key, one digest, the same content."""

import json
from contextlib import suppress
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.ids import Digest, EventId, Link, Seq, digest_from_bytes
from custody.core.record import ChainTip
from custody.core.wire.arrival import (
    SYSTEM_KINDS,
    Arrival,
    arrival_from_bytes,
    make_continuation_arrival,
    make_erasure_arrival,
    transcript_natural_key,
)
from custody.core.wire.body import join_payload_texts, list_payload_digests
from custody.core.wire.canonical import EVENT_BYTES_MAX, NESTING_MAX, Json, dump_canonical_json, parse_json_bytes
from custody.core.wire.event import event_from_json
from custody.core.wire.event_views import views_from_event_payload
from tests.builders.drawn import (
    STORE,
    awkward_names,
    exactly,
    json_values,
    long_texts,
    marked_values,
    moments_ns,
    names,
    turned,
)
from tests.builders.events import KINDS, an_arrival, an_event
from tests.builders.table import table

BOUND = ("session", "prompt", "call", "edit", "source_read", "link")
LONG = "a line of a long text\n" * 1000
identities = st.tuples(awkward_names | names, awkward_names | names, st.sampled_from(BOUND), awkward_names | names)


def key_of(agent: str, session: str, kind: str, id_: str) -> str:
    return an_arrival(kind, agent=agent, session=session, id=id_, event="e").entry.key


def whole(arrival: Arrival) -> Json:
    """Return what a store returns for an arrival."""
    return join_payload_texts(parse_json_bytes(arrival.payload), arrival.texts)


def read_back(arrival: Arrival) -> Json:
    """Do the same and require success: stored data must stay readable."""
    try:
        return whole(arrival)
    except InputError as error:
        raise AssertionError(f"came in but cannot be read: {error}") from error


@table("kind", KINDS)
def test_every_kind_arrives(kind: str) -> None:
    arrival = arrival_from_bytes(EventId("e1"), an_event(kind))
    entry = arrival.entry
    assert (entry.event, entry.kind, entry.at_ns) == ("e1", kind, 1_769_860_800 * 10**9)
    assert entry.digest == digest_from_bytes(arrival.payload)
    assert arrival.texts == {}
    assert whole(arrival) == json.loads(an_event(kind))


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("edit", "event:robot:s1:edit:1"),
        ("decision", "decision:robot::decision:1"),
        ("source", "event:::source:1"),
        ("change", "event:::change:1"),
    ],
)
def test_keys_by_hand(kind: str, key: str) -> None:
    assert an_arrival(kind).entry.key == key
    assert an_arrival(kind, agent="a:b", session="50%", id="é/\u00a0").entry.key == (
        f"{key.partition(':')[0]}:a%3Ab:50%25:{kind}:%C3%A9%2F%C2%A0"
    )


@given(identities, identities)
@example(("a:b", "c", "edit", "1"), ("a", "b:c", "edit", "1"))
@example(("a%3A", "c", "edit", "1"), ("a:", "c", "edit", "1"))
@example(("a", "b:edit", "call", "1"), ("a", "b", "edit", "call:1"))
def test_two_different_things_never_have_the_same_key(
    one: tuple[str, str, str, str], other: tuple[str, str, str, str]
) -> None:
    assert (key_of(*one) == key_of(*other)) == (one == other)


def a_hooks(agent: str, session: str, event: str, id_: str) -> str:
    value: Json = {
        "custody": 1, "kind": "hook", "at": "2026-01-31T12:00:00Z", "agent": agent, "session": session, "event": event,
        "id": id_,
    }  # fmt: skip
    return arrival_from_bytes(EventId("e"), dump_canonical_json(value)).entry.key


@given(identities, identities)
@example(("a", "b", "edit", "1"), ("a", "b", "call", "1"))
@example(("a", "b", "edit", "1"), ("a", "b:edit", "edit", "1"))
def test_what_an_agents_own_events_are_called_never_makes_two_of_them_or_one_of_ours_look_alike(
    one: tuple[str, str, str, str], other: tuple[str, str, str, str]
) -> None:
    assert (a_hooks(*one) == a_hooks(*other)) == (one == other)
    assert a_hooks(*one) != key_of(*one)


def test_a_snapshot_is_not_an_event_of_that_name() -> None:
    value: Json = {
        "custody": 1, "kind": "snapshot", "at": "2026-01-31T12:00:00Z", "agent": "a", "session": "b", "id": "1",
        "phase": "after", "files": [],
    }  # fmt: skip
    assert arrival_from_bytes(EventId("e"), dump_canonical_json(value)).entry.key != a_hooks("a", "b", "snapshot", "1")


@given(json_values, json_values, json_values)
def test_whatever_an_agents_own_event_holds_arrives_and_is_read_back(tool: Json, answer: Json, rest: Json) -> None:
    payload: Json = {"tool_name": tool, "tool_response": answer, "rest": rest}
    value: dict[str, Json] = {"custody": 1, "kind": "hook", "at": "2026-01-31T12:00:00Z", "id": "1"}
    value |= {"agent": "robot", "event": "PostToolUse", "payload": payload}
    assert exactly(whole(arrival_from_bytes(EventId("e"), dump_canonical_json({**value})))) == exactly({**value})


@given(identities)
def test_a_key_has_one_line_of_printable_ascii_within_what_an_export_carries(one: tuple[str, str, str, str]) -> None:
    key = key_of(*one)
    assert key.isascii() and key.isprintable() and " " not in key
    assert len(key_of("😀" * 1000, "😀" * 1000, one[2], "😀" * 1000)) <= 65_536


def test_an_agent_that_is_not_named_is_not_one_that_is() -> None:
    keys = {an_arrival("source", **named).entry.key for named in ({}, {"agent": "a"}, {"session": "a"})}
    assert len(keys) == 3


@given(st.sampled_from(KINDS), st.data())
def test_neither_key_order_nor_white_space_nor_escapes_change_the_digest(kind: str, data: st.DataObject) -> None:
    value = json.loads(an_event(kind, id="é😀"))
    shuffled = turned(value, data.draw(st.integers(0, len(value))))
    spelled = json.dumps(
        shuffled, indent=data.draw(st.sampled_from((None, 2))), ensure_ascii=data.draw(st.booleans())
    ).encode()
    assert arrival_from_bytes(EventId("e"), b"\n " + spelled + b"\t") == arrival_from_bytes(
        EventId("e"), dump_canonical_json(value)
    )


@given(marked_values, marked_values)
def test_an_arrival_gives_back_exactly_what_was_sent(given_: Json, got: Json) -> None:
    value = json.loads(an_event("call")) | {"input": given_, "output": got}
    arrival = arrival_from_bytes(EventId("e"), dump_canonical_json(value))
    assert exactly(whole(arrival)) == exactly(value)
    assert list_payload_digests(parse_json_bytes(arrival.payload)) == frozenset(arrival.texts)
    assert all(digest_from_bytes(data) == digest for digest, data in arrival.texts.items())


@settings(max_examples=300)
@given(st.sampled_from(KINDS), st.data())
def test_whatever_arrives_can_be_read_back_and_viewed(kind: str, data: st.DataObject) -> None:
    value = json.loads(an_event(kind))
    name = data.draw(st.sampled_from((*sorted(value), "seen_at", "worktree", "call", "before", "lines", "year")))
    value[name] = data.draw(json_values | long_texts | st.just({"$erased": "sha256:" + "0" * 64}))
    try:
        arrival = arrival_from_bytes(EventId("e"), dump_canonical_json(value))
    except InputError:
        return  # most invalid values are rejected on arrival; accepted ones must never be rejected later
    assert exactly(whole(arrival)) == exactly(value)
    assert views_from_event_payload(whole(arrival))
    arrival.entry.key.encode()


@table("text", [LONG, "short", {"$body": "x"}, {"$literal": {"$erased": LONG}}])
@table("mark", ["deeper", "$body", "$literal"])
def test_what_is_as_deep_as_an_event_may_be_is_read_back_or_refused_at_the_door(text: Json, mark: str) -> None:
    came_in = set()
    for levels in (50, 60, 62, 63, 64, 65, *range(NESTING_MAX - 5, NESTING_MAX + 2)):
        value: Json = text
        for _ in range(levels - 1):
            value = {mark: value}
        sent = json.loads(an_event("call")) | {"input": value}
        with suppress(InputError):
            arrival = arrival_from_bytes(EventId("e"), dump_canonical_json(sent))
            came_in.add(levels)
            assert exactly(read_back(arrival)) == exactly(sent)
    assert 50 in came_in and NESTING_MAX + 1 not in came_in


def test_depth_by_hand() -> None:
    deep: Json = "x"
    for _ in range(NESTING_MAX - 1):
        deep = [deep]
    arrival_from_bytes(EventId("e"), dump_canonical_json(json.loads(an_event("call")) | {"input": deep}))
    with pytest.raises(InputError, match="nested deeper"):
        arrival_from_bytes(EventId("e"), dump_canonical_json(json.loads(an_event("call")) | {"input": [deep]}))


def test_an_event_whose_numbers_grow_beyond_the_limit_is_refused_at_the_door() -> None:
    # "1e15" is written as "1000000000000000.0".
    count = EVENT_BYTES_MAX // len("1000000000000000.0,") + 1
    sent = an_event("call")[:-1] + b',"input":[' + b"1e15," * (count - 1) + b"1e15]}"
    assert len(sent) < EVENT_BYTES_MAX / 3
    with pytest.raises(InputError, match="is over the limit of 16,777,216"):
        arrival_from_bytes(EventId("e"), sent)


@pytest.mark.parametrize("kind", sorted(SYSTEM_KINDS))
def test_no_event_can_speak_for_the_store(kind: str) -> None:
    with pytest.raises(InputError):
        arrival_from_bytes(EventId("e"), an_event("edit").replace(b'"edit"', dump_canonical_json(kind)))


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b"\xff", an_event("edit")[:-1], an_event("edit") + b"{}"])
def test_an_invalid_event_does_not_arrive(data: bytes) -> None:
    with pytest.raises(InputError):
        arrival_from_bytes(EventId("e"), data)


@given(moments_ns, st.integers(1, 2**63 - 1), st.binary(min_size=32, max_size=32))
def test_a_store_that_continues_another_says_where_it_left_off(at_ns: int, seq: int, link: bytes) -> None:
    arrival = make_continuation_arrival(EventId("e7"), ChainTip(STORE, Seq(seq), Link(link)), at_ns)
    payload = whole(arrival)
    assert isinstance(payload, dict)
    assert (payload["kind"], payload["store"], payload["seq"], payload["link"]) == ("continues", STORE, seq, link.hex())
    entry = arrival.entry
    assert (entry.event, entry.kind, entry.key, entry.at_ns) == ("e7", "continues", f"continues:{STORE}:e7", at_ns)
    assert entry.digest == digest_from_bytes(arrival.payload)


@given(moments_ns, names, names | long_texts)
def test_an_erasure_says_what_by_whom_and_why(at_ns: int, who: str, why: str) -> None:
    digest = Digest(b"\xab" * 32)
    arrival = make_erasure_arrival(EventId("e8"), digest, who=who, why=why, at_ns=at_ns)
    payload = whole(arrival)
    assert isinstance(payload, dict)
    assert (payload["kind"], payload["digest"]) == ("erased", "sha256:" + "ab" * 32)
    assert (payload["who"], payload["why"]) == (who, why)
    assert arrival.entry.key == f"erased:sha256:{'ab' * 32}:e8"
    assert arrival.entry.at_ns == at_ns


def test_the_same_erasure_twice_is_two_records() -> None:
    one, two = (make_erasure_arrival(EventId(e), Digest(bytes(32)), who="ana", why="x", at_ns=0) for e in ("e1", "e2"))
    assert one.entry.key != two.entry.key
    assert quote(one.entry.event) == "e1"


@given(st.sampled_from(KINDS), st.data())
def test_the_event_of_an_arrival_is_the_one_that_is_stored(kind: str, data: st.DataObject) -> None:
    fields: dict[str, Json] = {}
    if kind == "call":
        fields = {"input": data.draw(json_values | marked_values), "output": data.draw(json_values | long_texts)}
    elif kind in ("edit", "prompt"):
        fields = {"after" if kind == "edit" else "text": data.draw(long_texts | st.text(max_size=20))}
    with suppress(InputError):
        arrival = arrival_from_bytes(EventId("e"), an_event(kind, **fields))
        if arrival.event is not None:
            # Also in the order of members, which decides about the order of views.
            assert repr(arrival.event) == repr(event_from_json(read_back(arrival)))


def test_an_ordinary_event_is_decoded_once() -> None:
    assert an_arrival("call", input={"b": 1, "a": "x" * 5000}).event is not None


def test_of_several_wrong_fields_the_first_one_is_named() -> None:
    with pytest.raises(InputError, match=r"\$.session"):
        arrival_from_bytes(
            EventId("e"), b'{"kind":"prompt","session":1,"agent":2,"custody":1,"id":"1","at":"x","text":""}'
        )


@given(st.text(max_size=12) | awkward_names | names)
def test_a_part_of_a_key_is_quoted_as_in_a_url(text: str) -> None:
    with suppress(UnicodeEncodeError):
        assert transcript_natural_key(text, text) == f"transcript:{quote(text, safe='')}:{quote(text, safe='')}"
