"""Spans in the spool: any value can be read again, no secret is written, and losses are reported."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture.hook.event_home import read_capture_gaps
from custody.capture.spool import Spool
from custody.core.ids import EventId
from custody.core.views import ObservedSpan
from custody.core.wire.arrival import arrival_from_bytes
from custody.core.wire.canonical import parse_json_bytes
from custody.core.wire.event_views import views_from_event_payload
from custody.intake.span_spool import SpoolExporter
from custody.sdk import SpanRecord, configure, flush, shutdown, span
from tests.builders.cli import spool_of
from tests.builders.in_process import custody
from tests.unit.sdk.conftest import spans_in


def test_the_users_spool_replaces_one_that_cannot_be_written(repository: Path) -> None:
    (repository / ".git" / "custody").write_text("in the way")
    exporter = SpoolExporter(str(repository / ".git" / "custody"))
    exporter([a_span()])
    (fallback,) = Path(os.environ["XDG_STATE_HOME"]).glob("custody/fallback/*/spool/*")
    assert isinstance(Spool(fallback.parent).oldest(1).arrivals[0].entry.event, str)


def test_spans_that_cannot_be_written_are_recorded_as_a_gap(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    configure(folder=repository)
    with monkeypatch.context() as patch:
        patch.setattr("custody.capture.spool.write_spool_event", full)
        with span("lost"):
            pass
        assert not shutdown()
    (gap,) = read_capture_gaps(repository / ".git" / "custody")
    assert gap.endswith("1 span could not be stored")
    assert "1 span could not be stored" in custody(repository, "doctor").out
    configure(exporter=lambda _: None)


def a_span(**fields: Any) -> SpanRecord:
    plain: dict[str, Any] = {
        "execution": "0" * 31 + "1", "span": "0" * 15 + "2", "parent": None, "phase": "whole", "name": "work",
        "kind": "tool", "server": "local", "started_ns": 1_769_860_800 * 10**9, "ended_ns": 1_769_860_801 * 10**9,
        "status": "ok", "attributes": {}, "links": (),
    }  # fmt: skip
    return SpanRecord(**{**plain, **fields})


odd_values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=2000)
    | st.text(st.characters(), max_size=20)
)
odd_texts = st.text(st.characters(), max_size=300)


@given(
    odd_texts,
    odd_texts,
    st.dictionaries(odd_texts, odd_values, max_size=80),
    st.integers(0, 2**62),
    st.integers(0, 2**62),
)
def test_any_span_becomes_an_event_that_can_be_read(
    name: str, kind: str, attributes: dict[str, Any], started: int, ended: int
) -> None:
    for phase in ("start", "end", "whole"):
        given_ = a_span(
            name=name, kind=kind, server=name, attributes=attributes, phase=phase, started_ns=started, ended_ns=ended,
            status=kind or None, links=((None, name), (kind, name)),
        )  # fmt: skip
        event, said = SpoolExporter("/nowhere", kind, name)._encode_span(given_)
        arrival = arrival_from_bytes(EventId("e"), event)
        view = views_from_event_payload(parse_json_bytes(arrival.payload))[0]
        assert isinstance(view, ObservedSpan)
        assert b"\n" not in event
        assert all(piece in event for piece in [said[1:20]])


def test_a_span_that_cannot_be_written_is_counted_and_blocks_nothing(repository: Path) -> None:
    SpoolExporter(str(repository / ".git" / "custody"))([a_span(started_ns=10**40), a_span(span="3" * 16)])
    assert len(spool_of(repository).oldest(10).arrivals) == 1
    (gap,) = read_capture_gaps(repository / ".git" / "custody")
    assert "1 span could not be written" in gap


def test_names_of_any_type_are_stored_as_text(repository: Path) -> None:
    class Broken:
        __hash__ = None  # type: ignore[assignment]

        def __str__(self) -> str:
            raise ZeroDivisionError

    configure(folder=repository)
    odd: Any = Broken()
    named: list[Any] = [(odd, "tool", "s"), ("x", odd, None), ("y", "tool", odd), (3, "llm", None)]
    for name, kind, server in named:
        with span(name, kind=kind, server=server):
            pass
    assert flush()
    assert {(record.name, record.kind.value) for record in spans_in(repository)} == {
        ("<Broken that raises ZeroDivisionError>", "tool"), ("x", "workflow"), ("y", "tool"), ("3", "llm"),
    }  # fmt: skip
    configure(exporter=lambda _: None)


def test_secrets_in_attributes_never_reach_the_disk(repository: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    SpoolExporter(str(repository / ".git" / "custody"))([a_span(attributes={"token": secret}), a_span(span="3" * 16)])
    spool = spool_of(repository)
    (name,) = spool.names()
    assert secret.encode() not in (spool.folder / name).read_bytes()
    assert len(spool.oldest(10).arrivals) == 2


def test_placeholders_for_secrets_never_make_a_span_too_long(repository: Path) -> None:
    words = " ".join(f"token=ghp_{number:02}{'a1B2c3D4e5F6' * 3}" for number in range(40))
    spans = [a_span(name=words, attributes={"note": words}), a_span(span="3" * 16)]
    SpoolExporter(str(repository / ".git" / "custody"))(spans)
    waiting = spool_of(repository).oldest(10)
    assert (len(waiting.arrivals), waiting.refused) == (2, ())


def test_one_invalid_span_does_not_hold_up_the_others_of_its_file(repository: Path) -> None:
    spool = spool_of(repository)
    good = [b'{"custody":1,"kind":"span","id":"%d","at":"2026-01-31T12:00:00Z","execution":"e","span":"s%d","phase":'
            b'"start","name":"work","span_kind":"tool"}' % (n, n) for n in range(2)]  # fmt: skip
    name = spool.put_all([good[0], b'{"custody":1,"kind":"span","id":"bad"}', good[1]]).event
    assert [span.id for span in spans_in(repository)] == ["s0", "s1"]
    (refused,) = spool.list_rejected_files()
    assert refused.event == name
    assert refused.why.startswith("event 2: not a valid event")
    assert refused.path.parent.name == "refused", "the file is moved, never deleted"
    assert "event 2: not a valid event" in custody(repository, "doctor").out
    assert [span.id for span in spans_in(repository)] == ["s0", "s1"]
