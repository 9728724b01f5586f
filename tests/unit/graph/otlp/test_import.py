"""OpenTelemetry spans are imported whole: nothing aborts, repairs are counted and named, a repeat changes nothing."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from custody.cli.import_ import ImportKind, detect_import_kind
from custody.core.errors import InputError
from custody.core.ids import EventId, ExecutionId
from custody.core.views import ObservedSpan
from custody.core.wire.arrival import NAME_DIGITS, arrival_from_json, arrival_from_span
from custody.graph.otlp import event as otlp_event
from custody.graph.otlp import import_ as importing
from custody.graph.otlp import span_file as otlp_files
from custody.graph.otlp.event import span_event_from_otlp
from custody.graph.otlp.import_ import import_otlp
from custody.graph.otlp.json import parse_otlp_spans
from custody.graph.otlp.protobuf import dump_otlp_protobuf
from custody.graph.queries import query_execution_spans
from custody.graph.wire.attribute_names import MCP_METHODS, NAMING, OPENINFERENCE, OPERATIONS
from custody.graph.wire.otlp_span import OtlpProblem, OtlpRepair, OtlpSpan
from custody.graph.wire.report import ImportOtlpReport
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody
from tests.builders.otlp import TRACE, a_request, an_otlp_span

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(a_git_folder(tmp_path / "repo"))


def a_file(tmp_path: Path, *values: object, name: str = "spans.jsonl") -> Path:
    lines = (value if isinstance(value, bytes) else json.dumps(value).encode() for value in values)
    (tmp_path / name).write_bytes(b"\n".join(lines))
    return tmp_path / name


def repairs_of(report: ImportOtlpReport) -> dict[str, int]:
    return {repair.code: repair.count for repair in report.repairs}


def stored_spans(workspace: Workspace, execution: str = TRACE) -> list[ObservedSpan]:
    with workspace.reading() as store:
        return [observed.view for observed in query_execution_spans(store, ExecutionId(execution))]


def test_spans_are_stored_once_however_often_they_are_imported(workspace: Workspace, tmp_path: Path) -> None:
    file = a_file(tmp_path, a_request(an_otlp_span(1), an_otlp_span(2, parent=1)), a_request(an_otlp_span(3, parent=1)))
    first, second = import_otlp(workspace, [file]), import_otlp(workspace, [file])
    assert (first.spans, first.new, first.known, first.repairs) == (3, 3, 0, [])
    assert (second.spans, second.new, second.known, second.repairs) == (3, 0, 3, [])
    assert [(span.id[-1], span.parent and span.parent[-1]) for span in stored_spans(workspace)] == [
        ("1", None),
        ("2", "1"),
        ("3", "1"),
    ]


def test_every_problem_is_named_and_the_rest_is_stored(workspace: Workspace, tmp_path: Path) -> None:
    report = import_otlp(
        workspace,
        [
            a_file(
                tmp_path,
                a_request(an_otlp_span(2, parent=1)),
                b"{",
                a_request(an_otlp_span(1)),
                a_request(an_otlp_span(2, parent=1)),
                a_request(an_otlp_span(2, parent=1, name="another")),
                a_request(an_otlp_span(3, parent=99)),
                a_request(an_otlp_span(4, endTimeUnixNano="0")),
                a_request(an_otlp_span(5, endTimeUnixNano="7")),
                b"[1]",
                a_request(an_otlp_span(6, spanId="")),
            )
        ],
    )
    assert repairs_of(report) == {
        "late-parent": 1,
        "unreadable": 3,
        "repeated": 1,
        "same-id": 1,
        "no-parent": 1,
        "no-end": 1,
        "backwards": 1,
    }
    assert (report.spans, report.new) == (7, 6)
    places = {repair.code: [place.line for place in repair.places] for repair in report.repairs}
    assert (places["unreadable"], places["no-parent"], places["late-parent"]) == ([2, 9, 10], [6], [1])
    assert len(stored_spans(workspace)) == 6


def test_repairs_are_the_same_when_batches_are_small(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH_SPANS", 2)
    spans = [an_otlp_span(n, parent=n // 2 or None) for n in range(7, 0, -1)]
    report = import_otlp(workspace, [a_file(tmp_path, *spans, *spans[:3], an_otlp_span(7, parent=3, name="x"))])
    assert repairs_of(report) == {"late-parent": 6, "repeated": 3, "same-id": 1}


def test_a_parent_may_be_in_another_file_or_another_import(workspace: Workspace, tmp_path: Path) -> None:
    child = a_file(tmp_path, an_otlp_span(2, parent=1), name="child.jsonl")
    parent = a_file(tmp_path, an_otlp_span(1), name="parent.jsonl")
    assert repairs_of(import_otlp(workspace, [child, parent])) == {"late-parent": 1}
    other = a_file(tmp_path, an_otlp_span(3, parent=1), name="other.jsonl")
    assert repairs_of(import_otlp(workspace, [other])) == {}


def test_spans_with_untracked_parents_are_counted(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "WAITING_MAX", 2)
    report = import_otlp(workspace, [a_file(tmp_path, *(an_otlp_span(n, parent=n + 100) for n in range(1, 6)))])
    assert (repairs_of(report), report.unfollowed) == ({"no-parent": 2}, 3)


def test_places_are_limited_and_counts_are_not(workspace: Workspace, tmp_path: Path) -> None:
    report = import_otlp(workspace, [a_file(tmp_path, *[b"{"] * 50, an_otlp_span())])
    (unreadable,) = report.repairs
    assert (unreadable.count, len(unreadable.places), report.new) == (50, 20, 1)


def test_secrets_are_removed_even_if_that_makes_a_text_too_long(workspace: Workspace, tmp_path: Path) -> None:
    hidden = " password=hunter2"
    span = an_otlp_span(name="x" * 180 + hidden, attributes={"token": SECRET, "note": "x" * 980 + hidden})
    report = import_otlp(workspace, [a_file(tmp_path, a_request(span))])
    assert (report.new, report.repairs) == (1, [])
    with workspace.reading() as store:
        (payload,) = (store.tables.payload(record) for record in store.tables.newest(1, None))
    assert isinstance(payload, dict) and len(payload["redacted"]) == 3  # type: ignore[arg-type]
    assert SECRET not in str(payload) and "hunter2" not in str(payload)


def test_texts_are_stored_on_request(workspace: Workspace, tmp_path: Path) -> None:
    file = a_file(tmp_path, a_request(an_otlp_span(attributes={"input.value": "why?"})))
    without, with_texts = import_otlp(workspace, [file]), import_otlp(workspace, [file], texts=True)
    assert (without.attributes_left_out, with_texts.attributes_left_out) == (1, 0)
    assert [dict(span.attributes).get("input.value") for span in stored_spans(workspace)] == [None, "why?"]


def as_protobuf(*values: dict[str, Any]) -> bytes:
    spans = [span for value in values for span in parse_otlp_spans(value)]
    return dump_otlp_protobuf(span for span in spans if not isinstance(span, OtlpProblem))


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


REQUEST = a_request(an_otlp_span(1), an_otlp_span(2, parent=1))
SHAPES = {
    "lines": json.dumps(REQUEST).encode() + b"\n",
    "one value over several lines": json.dumps(REQUEST, indent=2).encode(),
    "a list": json.dumps([an_otlp_span(1), an_otlp_span(2, parent=1)]).encode(),
    "protobuf": as_protobuf(REQUEST),
    "frames": framed(as_protobuf(REQUEST)) + framed(as_protobuf(a_request(an_otlp_span(3)))),
    "lines, compressed": gzip.compress(json.dumps(REQUEST).encode()),
    "protobuf, compressed": gzip.compress(as_protobuf(REQUEST)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_format_is_recognized_by_its_content(workspace: Workspace, tmp_path: Path, shape: str) -> None:
    file = tmp_path / "some.file"
    file.write_bytes(SHAPES[shape])
    assert detect_import_kind(file) == (ImportKind.OTLP, None)
    report = import_otlp(workspace, [file])
    assert (report.new, report.repairs) == (3 if shape == "frames" else 2, [])


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"{}\n", b"text", b"\x1f\x8bnot gzip", b"\0\0\0\1x", b'{"a":1}\n{"b":2}']
)
def test_other_files_are_not_taken_for_spans(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    assert detect_import_kind(tmp_path / "other")[0] is not ImportKind.OTLP


@pytest.mark.parametrize("shape", SHAPES)
def test_a_truncated_file_gives_the_spans_before_the_cut(workspace: Workspace, tmp_path: Path, shape: str) -> None:
    file = tmp_path / "some.file"
    file.write_bytes(SHAPES[shape][:-9])
    report = import_otlp(workspace, [file])
    assert repairs_of(report)["unreadable"] >= 1


def test_one_value_that_is_too_large_is_refused_and_lines_are_not(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_files, "OBJECT_BYTES_MAX", 2000)
    wide = a_request(*(an_otlp_span(n) for n in range(1, 20)))
    single = a_file(tmp_path, json.dumps(wide, indent=1).encode(), name="one.json")
    (refused,) = import_otlp(workspace, [single]).repairs
    assert "more than 2,000 bytes" in refused.places[0].what
    lines = import_otlp(workspace, [a_file(tmp_path, wide, *(an_otlp_span(n) for n in range(1, 20)))])
    assert (lines.new, repairs_of(lines)) == (19, {"unreadable": 1})


def test_protobuf_of_any_size_is_read_a_message_at_a_time(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_files, "OBJECT_BYTES_MAX", 500)
    data = b"".join(as_protobuf(a_request(an_otlp_span(n))) for n in range(1, 20))
    (tmp_path / "spans.pb").write_bytes(data)
    assert len(data) > 500 and import_otlp(workspace, [tmp_path / "spans.pb"]).new == 19
    (tmp_path / "wide.pb").write_bytes(data + as_protobuf(a_request(*(an_otlp_span(n) for n in range(30, 60)))))
    wide = import_otlp(workspace, [tmp_path / "wide.pb"])
    assert (wide.known, repairs_of(wide)["unreadable"]) == (19, 1)


def test_a_missing_file_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot find"):
        import_otlp(workspace, [tmp_path / "none"])


def test_the_command_lists_the_repairs(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "repo")
    a_file(folder, a_request(an_otlp_span(2, parent=9)), b"{", name="spans.jsonl")
    ran = custody(folder, "import", "otlp", "spans.jsonl", "-v")
    assert ran.status == 0
    assert "no-parent (1): parent missing" in ran.out and "spans.jsonl:2: not JSON" in ran.out
    assert ran.out.startswith("Imported 1 span: 1 new, 0 already imported (1 capability)\n2 problems\n")
    again = json.loads(custody(folder, "import", "spans.jsonl", "--json").out)
    assert (again["report"], again["known"], len(again["repairs"])) == ("import-otlp", 1, 2)
    assert custody(folder, "import", "otlp").status == custody(folder, "import", "a", "b").status == 2
    assert custody(folder, "import", "--texts").status == 2


_lines = st.lists(
    st.one_of(
        st.builds(
            lambda n, p, name: json.dumps(a_request(an_otlp_span(n, parent=p, name=name))).encode(),
            st.integers(1, 6),
            st.none() | st.integers(1, 8),
            st.sampled_from(["a", "b"]),
        ),
        st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")),
    ),
    max_size=12,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=_lines)
def test_nothing_aborts_and_every_span_is_counted(lines: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("spans")
    workspace = Workspace(a_git_folder(folder / "repo"))
    file = folder / "spans.jsonl"
    file.write_bytes(json.dumps(a_request(an_otlp_span(1))).encode() + b"\n" + b"\n".join(lines))
    first, second = import_otlp(workspace, [file]), import_otlp(workspace, [file])
    counts = repairs_of(first)
    assert first.spans == first.new + counts.get("repeated", 0)
    assert (second.new, second.known + repairs_of(second).get("repeated", 0)) == (0, second.spans)
    assert counts.get("no-parent", 0) == repairs_of(second).get("no-parent", 0)
    spans = {(span.id, span.parent) for span in stored_spans(workspace)}
    ids = {id for id, _ in spans}
    assert bool(counts.get("no-parent")) == any(parent is not None and parent not in ids for _, parent in spans)


def test_codes_have_sentences_and_repairs_are_deterministic() -> None:
    assert len({code.value for code in OtlpRepair}) == len(OtlpRepair)
    (span,) = parse_otlp_spans(an_otlp_span(1, parent=1))
    assert not isinstance(span, OtlpProblem) and span_event_from_otlp(span) == span_event_from_otlp(span)


def test_every_code_and_every_name_of_the_conventions_is_on_the_page() -> None:
    page = (Path(__file__).resolve().parents[4] / "docs" / "graph-otel.md").read_text()
    codes = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert {code.label for code in OtlpRepair} <= codes
    names = {*OPENINFERENCE, *(OPERATIONS.keys() - {"completion"}), *(MCP_METHODS.keys() - {"completion/complete"})}
    assert [name for name in names if f"`{name}`" not in page] == []


PLAIN_VALUES: st.SearchStrategy[Any] = (
    st.text(max_size=30)
    | st.integers(-(2**70), 2**70)
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.none()
    | st.lists(st.text(max_size=5), max_size=2)
)
NAMED = st.sampled_from([*sorted(NAMING), "custody.span.kind", "input.value", "x", "a\x00b", "é"])


@st.composite
def otlp_spans(draw: st.DrawFn) -> OtlpSpan:
    words: st.SearchStrategy[Any] = st.sampled_from(
        ["TOOL", "chat", "tools/call", "unknown_service", "mcp__a__b", "execute_tool x", ""]
    )
    attributes: dict[str, Any] = draw(st.dictionaries(NAMED, words | PLAIN_VALUES, max_size=6))
    return OtlpSpan(
        trace=draw(st.sampled_from([TRACE, "run 1", "9" * 300])),
        id=draw(st.sampled_from(["0" * 15 + "1", "step:1", "%"])),
        name=draw(words | st.text(max_size=20)),
        parent=draw(st.none() | st.sampled_from(["0" * 15 + "2", "step:1"])),
        start_ns=draw(st.none() | st.integers(1, 2**63 - 1)),
        end_ns=draw(st.none() | st.integers(1, 2**63 - 1)),
        status=draw(st.integers(0, 2)),
        attributes=attributes,
        resource=draw(st.dictionaries(NAMED, words | PLAIN_VALUES, max_size=2)),
    )


@given(otlp_spans())
def test_the_short_way_of_a_span_stores_what_the_general_one_stores(span: OtlpSpan) -> None:
    event = span_event_from_otlp(span, texts=True).event
    short = arrival_from_span(event)
    try:
        general = arrival_from_json(EventId("x"), event)
    except InputError:
        assert short is None
        return
    if short is not None:
        assert (short.payload, short.texts, short.event) == (general.payload, general.texts, general.event)
        named = general.entry.digest.hex()[:NAME_DIGITS]
        assert short.entry == structs.replace(general.entry, event=EventId(f"import-{named}"))


@given(otlp_spans())
def test_the_attributes_that_name_a_span_decide_about_its_name(span: OtlpSpan) -> None:
    def only_naming(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name in NAMING}

    bare = structs.replace(span, attributes=only_naming(span.attributes), resource=only_naming(span.resource))
    assert otlp_event._read_foreign_names(span) == otlp_event._make_foreign_names(bare)
    assert otlp_event._make_foreign_names(span) == otlp_event._make_foreign_names(bare)


@given(
    st.fixed_dictionaries(
        {"traceId": st.sampled_from([TRACE, "0" * 32, "run", 5]), "spanId": st.sampled_from(["a" * 16, "", "s"])},
        optional={
            "name": PLAIN_VALUES,
            "kind": st.sampled_from([1, "TOOL", None]),
            "startTimeUnixNano": st.sampled_from(["1", 1, "0", str(2**63), "2026-01-01T00:00:00Z", "", "9" * 50]),
            "endTimeUnixNano": st.sampled_from(["7", "0", None, "-1"]),
            "parentSpanId": st.sampled_from(["b" * 16, "", None]),
            "status": st.sampled_from([{"code": 2, "message": "x"}, {}, {"code": "STATUS_CODE_OK"}, None, 1]),
            "attributes": st.sampled_from([[{"key": "k", "value": {"intValue": "5"}}], {"k": 1}, None]),
        },
    )
)
def test_a_plain_span_is_read_as_one_with_a_field_of_another_program(fields: dict[str, Any]) -> None:
    (plain,) = parse_otlp_spans({"spans": [fields], "resource": {}})
    (other,) = parse_otlp_spans({"spans": [{**fields, "ours": 1}], "resource": {}})
    assert plain == other


@pytest.mark.parametrize("place", ["traceId", "spanId", "parentSpanId", "name", "session.id", "note"])
def test_a_secret_anywhere_in_a_span_is_not_stored(workspace: Workspace, tmp_path: Path, place: str) -> None:
    span = an_otlp_span(1)
    if place in span or place == "parentSpanId":
        span[place] = SECRET
    else:
        span["attributes"] = [{"key": place, "value": {"stringValue": SECRET}}]
    file = a_file(tmp_path, a_request(span))
    assert import_otlp(workspace, [file], texts=True).new == 1
    with workspace.reading() as store:
        stored = [store.tables.payload(record) for record in store.tables.newest(10, None)]
    assert SECRET not in json.dumps(stored)
