"""What is kept goes out as OpenTelemetry's spans and comes back the same, in JSON and in protobuf."""

from hypothesis import given
from hypothesis import strategies as st

from custody.core.views import ObservedSpan, View
from custody.core.wire.canonical import dump, parse
from custody.core.wire.event_views import views_of
from custody.graph.otlp.event import event_of
from custody.graph.otlp.export import otlp_of
from custody.graph.otlp.json import dump_json, spans_in
from custody.graph.otlp.protobuf import dump_proto, proto_spans
from custody.graph.wire.otlp_span import OtlpProblem, OtlpSpan
from tests.builders.otlp import spans_seen


def kept(spans: list[OtlpSpan | OtlpProblem]) -> list[View]:
    """The views of what the spans become, as a store would make them."""
    found = []
    for span in spans:
        assert isinstance(span, OtlpSpan)
        found.append(views_of(parse(dump(event_of(span).event)))[0])
    return found


@given(st.lists(spans_seen(), max_size=3), st.lists(spans_seen(), max_size=3))
def test_both_formats_bring_back_what_went_out(first: list[ObservedSpan], second: list[ObservedSpan]) -> None:
    """One draw for both: making the spans takes longer than the trip."""
    assert kept(list(spans_in(parse(dump_json(otlp_of(one) for one in first))))) == first
    assert kept(list(proto_spans(dump_proto(otlp_of(one) for one in first)))) == first
    messages = b"".join(dump_proto(otlp_of(one) for one in some) for some in (first, second))
    assert kept(list(proto_spans(messages))) == first + second, "messages one after another are one"


@given(spans_seen())
def test_what_goes_out_has_ids_of_the_right_size_and_the_same_bytes_each_time(seen: ObservedSpan) -> None:
    made = otlp_of(seen)
    assert (len(bytes.fromhex(made.trace)), len(bytes.fromhex(made.id))) == (16, 8)
    assert all(len(bytes.fromhex(link.span)) == 8 for link in made.links)
    assert dump_json([made]) == dump_json([otlp_of(seen)])
