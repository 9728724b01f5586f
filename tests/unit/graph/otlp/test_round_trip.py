"""Stored spans are exported in OpenTelemetry's format and come back the same, in JSON and in protobuf."""

from hypothesis import given
from hypothesis import strategies as st

from custody.core.views import ObservedSpan, View
from custody.core.wire.canonical import dump_canonical_json, parse_json_bytes
from custody.core.wire.event_views import views_from_event_payload
from custody.graph.otlp.event import span_event_from_otlp
from custody.graph.otlp.export import otlp_from_span
from custody.graph.otlp.json import dump_otlp_json, parse_otlp_spans
from custody.graph.otlp.protobuf import dump_otlp_protobuf, parse_otlp_protobuf
from custody.graph.wire.otlp_span import OtlpProblem, OtlpSpan
from tests.builders.otlp import spans_seen


def stored(spans: list[OtlpSpan | OtlpProblem]) -> list[View]:
    """Return the views that a store would make of the spans."""
    views = []
    for span in spans:
        assert isinstance(span, OtlpSpan)
        views.append(
            views_from_event_payload(parse_json_bytes(dump_canonical_json(span_event_from_otlp(span).event)))[0]
        )
    return views


@given(st.lists(spans_seen(), max_size=3), st.lists(spans_seen(), max_size=3))
def test_both_formats_restore_the_exported_spans(first: list[ObservedSpan], second: list[ObservedSpan]) -> None:
    """One draw for both: drawing the spans takes longer than the round trip."""
    json = dump_otlp_json(otlp_from_span(span) for span in first)
    assert stored(list(parse_otlp_spans(parse_json_bytes(json)))) == first
    assert stored(list(parse_otlp_protobuf(dump_otlp_protobuf(otlp_from_span(span) for span in first)))) == first
    messages = b"".join(dump_otlp_protobuf(otlp_from_span(span) for span in spans) for spans in (first, second))
    assert stored(list(parse_otlp_protobuf(messages))) == first + second, "consecutive messages are one"


@given(spans_seen())
def test_exported_spans_have_ids_of_the_right_size_and_stable_bytes(span: ObservedSpan) -> None:
    exported = otlp_from_span(span)
    assert (len(bytes.fromhex(exported.trace)), len(bytes.fromhex(exported.id))) == (16, 8)
    assert all(len(bytes.fromhex(link.span)) == 8 for link in exported.links)
    assert dump_otlp_json([exported]) == dump_otlp_json([otlp_from_span(span)])
