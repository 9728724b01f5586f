"""Spans, read strictly: fields that belong together, size limits, and equality."""

from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.views import ObservedSpan, SpanKind, SpanPhase, SpanStatus
from custody.core.wire.arrival import arrival_from_bytes
from custody.core.wire.canonical import parse_json_bytes
from custody.core.wire.event import SPAN_ATTRIBUTES_MAX, SPAN_LINKS_MAX, SpanEvent, event_from_json
from custody.core.wire.event_views import views_from_event_payload
from tests.builders.drawn import names
from tests.builders.events import an_arrival, an_event

NAMES = ("execution", "span", "name", "parent", "server")
LATER = "2026-01-31T12:00:01Z"


def refusal(**fields: Any) -> str:
    with pytest.raises(InputError) as refused:
        event_from_json(parse_json_bytes(an_event("span", **fields)))
    return refused.value.message


def seen(**fields: Any) -> ObservedSpan:
    view = views_from_event_payload(parse_json_bytes(an_event("span", **fields)))[0]
    assert isinstance(view, ObservedSpan)
    return view


def test_a_span_that_has_ended_has_a_status_and_only_then() -> None:
    assert "status" in refusal(status="ok")
    assert "status" in refusal(phase="end")
    assert "status" in refusal(phase="whole", ended_at=LATER)
    assert seen(phase="end", status="killed").status is SpanStatus.KILLED


def test_a_whole_span_says_when_it_ended() -> None:
    assert "'ended_at'" in refusal(phase="whole", status="ok")


def test_a_span_is_not_inside_itself() -> None:
    assert "its own parent" in refusal(parent="b2")


def test_only_a_tool_has_a_server() -> None:
    assert "only a tool" in refusal(span_kind="capability")
    assert seen(span_kind="capability", server=None).node == "capability:read_file"
    assert seen().node == "filesystem:read_file"


@pytest.mark.parametrize("name", NAMES)
def test_names_are_short_and_plain(name: str) -> None:
    event_from_json(parse_json_bytes(an_event("span", **{name: "é" * 200})))
    for wrong in ("x" * 201, "", "a\nb", "a\0b", "\x7f", "\udc80"):
        assert f"$.{name}" in refusal(**{name: wrong}) or "surrogate" in refusal(**{name: wrong})


def test_attributes_and_links_are_bounded() -> None:
    event_from_json(
        parse_json_bytes(an_event("span", attributes={f"k{n}": "x" * 1000 for n in range(SPAN_ATTRIBUTES_MAX)}))
    )
    event_from_json(parse_json_bytes(an_event("span", links=[{"span": str(n)} for n in range(SPAN_LINKS_MAX)])))
    assert "attributes" in refusal(attributes={f"k{n}": n for n in range(SPAN_ATTRIBUTES_MAX + 1)})
    assert "links" in refusal(links=[{"span": str(n)} for n in range(SPAN_LINKS_MAX + 1)])
    for wrong in ("x" * 1001, 2**63, ["a"], {"a": 1}, "a\0"):
        assert "attributes" in refusal(attributes={"a": wrong})
    assert "attributes" in refusal(attributes={"k" * 101: 1})


def test_nothing_of_a_span_is_kept_apart_from_its_record() -> None:
    widest = {f"k{n}": "\U0001f600" * 1000 for n in range(SPAN_ATTRIBUTES_MAX)}
    assert an_arrival("span", attributes=widest).texts == {}


def test_the_same_again_is_the_same_and_each_phase_its_own() -> None:
    one = an_arrival("span").entry
    assert an_arrival("span", event="again").entry.key == one.key == "span:e1:b2:start"
    assert an_arrival("span", event="again").entry.digest == one.digest
    assert an_arrival("span", phase="end", status="ok").entry.key == "span:e1:b2:end"


@given(names, names, names, names)
def test_two_spans_never_share_a_key(execution: str, span: str, other: str, another: str) -> None:
    def key(execution: str, span: str) -> str:
        return arrival_from_bytes(EventId("e"), an_event("span", execution=execution[:200], span=span[:200])).entry.key

    same = (execution[:200], span[:200]) == (other[:200], another[:200])
    assert (key(execution, span) == key(other, another)) == same


def test_the_moment_of_an_end_is_its_end() -> None:
    end = seen(phase="end", status="ok")
    start = seen()
    assert (start.started_ns, start.ended_ns) == (end.ended_ns, end.started_ns) != (None, None)
    assert end.started_ns is None


@pytest.mark.parametrize(("name", "words"), [("phase", SpanPhase), ("span_kind", SpanKind), ("status", SpanStatus)])
def test_the_words_of_the_wire_are_those_of_the_model(name: str, words: Any) -> None:
    hint = get_type_hints(SpanEvent)[name]
    literal = hint if get_origin(hint) is Literal else get_args(hint)[0]
    assert sorted(get_args(literal)) == sorted(word.value for word in words)


@given(
    st.dictionaries(names, st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False))
)
def test_attributes_come_back_as_they_were(attributes: dict[str, Any]) -> None:
    given_ = {
        key[:100]: value
        for key, value in list(attributes.items())[:SPAN_ATTRIBUTES_MAX]
        if value not in (float("inf"), float("-inf"))
    }
    assert dict(seen(attributes=given_).attributes) == given_
