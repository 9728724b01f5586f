"""OpenTelemetry's spans are brought in whole: nothing aborts, what is mended is counted and named, twice is once."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custody.cli.import_ import ImportKind, what_is
from custody.core.errors import InputError
from custody.core.ids import ExecutionId
from custody.core.views import ObservedSpan
from custody.graph.otlp import import_ as importing
from custody.graph.otlp import span_file as otlp_files
from custody.graph.otlp.event import event_of
from custody.graph.otlp.import_ import import_otlp
from custody.graph.otlp.json import spans_in
from custody.graph.otlp.protobuf import dump_proto
from custody.graph.queries import spans_of_execution
from custody.graph.wire.attribute_names import MCP_METHODS, OPENINFERENCE, OPERATIONS
from custody.graph.wire.otlp_span import OtlpProblem, OtlpRepair
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


def mended(report: ImportOtlpReport) -> dict[str, int]:
    return {one.code: one.count for one in report.repairs}


def kept(workspace: Workspace, execution: str = TRACE) -> list[ObservedSpan]:
    with workspace.reading() as store:
        return [seen.view for seen in spans_of_execution(store, ExecutionId(execution))]


def test_spans_are_kept_once_however_often_they_are_brought(workspace: Workspace, tmp_path: Path) -> None:
    file = a_file(tmp_path, a_request(an_otlp_span(1), an_otlp_span(2, parent=1)), a_request(an_otlp_span(3, parent=1)))
    first, second = import_otlp(workspace, [file]), import_otlp(workspace, [file])
    assert (first.spans, first.new, first.known, first.repairs) == (3, 3, 0, [])
    assert (second.spans, second.new, second.known, second.repairs) == (3, 0, 3, [])
    assert [(one.id[-1], one.parent and one.parent[-1]) for one in kept(workspace)] == [
        ("1", None),
        ("2", "1"),
        ("3", "1"),
    ]


def test_everything_that_is_wrong_is_named_and_the_rest_is_kept(workspace: Workspace, tmp_path: Path) -> None:
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
    assert mended(report) == {
        "late-parent": 1,
        "unreadable": 3,
        "repeated": 1,
        "same-id": 1,
        "no-parent": 1,
        "no-end": 1,
        "backwards": 1,
    }
    assert (report.spans, report.new) == (7, 6)
    places = {one.code: [place.line for place in one.places] for one in report.repairs}
    assert (places["unreadable"], places["no-parent"], places["late-parent"]) == ([2, 9, 10], [6], [1])
    assert len(kept(workspace)) == 6


def test_repairs_are_the_same_when_batches_are_small(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH_SPANS", 2)
    spans = [an_otlp_span(n, parent=n // 2 or None) for n in range(7, 0, -1)]
    report = import_otlp(workspace, [a_file(tmp_path, *spans, *spans[:3], an_otlp_span(7, parent=3, name="x"))])
    assert mended(report) == {"late-parent": 6, "repeated": 3, "same-id": 1}


def test_a_parent_may_come_in_another_file_or_another_import(workspace: Workspace, tmp_path: Path) -> None:
    child = a_file(tmp_path, an_otlp_span(2, parent=1), name="child.jsonl")
    parent = a_file(tmp_path, an_otlp_span(1), name="parent.jsonl")
    assert mended(import_otlp(workspace, [child, parent])) == {"late-parent": 1}
    other = a_file(tmp_path, an_otlp_span(3, parent=1), name="other.jsonl")
    assert mended(import_otlp(workspace, [other])) == {}


def test_more_parents_than_are_waited_for_are_counted(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "WAITING_MAX", 2)
    report = import_otlp(workspace, [a_file(tmp_path, *(an_otlp_span(n, parent=n + 100) for n in range(1, 6)))])
    assert (mended(report), report.unfollowed) == ({"no-parent": 2}, 3)


def test_places_are_bounded_and_counts_are_not(workspace: Workspace, tmp_path: Path) -> None:
    report = import_otlp(workspace, [a_file(tmp_path, *[b"{"] * 50, an_otlp_span())])
    (unreadable,) = report.repairs
    assert (unreadable.count, len(unreadable.places), report.new) == (50, 20, 1)


def test_secrets_are_taken_out_even_where_that_makes_a_text_too_long(workspace: Workspace, tmp_path: Path) -> None:
    hidden = " password=hunter2"
    span = an_otlp_span(name="x" * 180 + hidden, attributes={"token": SECRET, "note": "x" * 980 + hidden})
    report = import_otlp(workspace, [a_file(tmp_path, a_request(span))])
    assert (report.new, report.repairs) == (1, [])
    with workspace.reading() as store:
        (payload,) = (store.tables.payload(record) for record in store.tables.newest(1, None))
    assert isinstance(payload, dict) and len(payload["redacted"]) == 3  # type: ignore[arg-type]
    assert SECRET not in str(payload) and "hunter2" not in str(payload)


def test_texts_are_kept_when_they_are_asked_for(workspace: Workspace, tmp_path: Path) -> None:
    file = a_file(tmp_path, a_request(an_otlp_span(attributes={"input.value": "why?"})))
    without, with_texts = import_otlp(workspace, [file]), import_otlp(workspace, [file], texts=True)
    assert (without.attributes_left_out, with_texts.attributes_left_out) == (1, 0)
    assert [dict(one.attributes).get("input.value") for one in kept(workspace)] == [None, "why?"]


def as_protobuf(*values: dict[str, Any]) -> bytes:
    spans = [one for value in values for one in spans_in(value)]
    return dump_proto(one for one in spans if not isinstance(one, OtlpProblem))


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
def test_every_shape_is_known_by_its_content(workspace: Workspace, tmp_path: Path, shape: str) -> None:
    file = tmp_path / "some.file"
    file.write_bytes(SHAPES[shape])
    assert what_is(file) == (ImportKind.OTLP, None)
    report = import_otlp(workspace, [file])
    assert (report.new, report.repairs) == (3 if shape == "frames" else 2, [])


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"{}\n", b"text", b"\x1f\x8bnot gzip", b"\0\0\0\1x", b'{"a":1}\n{"b":2}']
)
def test_other_files_are_not_taken_for_spans(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    assert what_is(tmp_path / "other")[0] is not ImportKind.OTLP


@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_that_is_cut_short_gives_what_came_before_the_cut(
    workspace: Workspace, tmp_path: Path, shape: str
) -> None:
    file = tmp_path / "some.file"
    file.write_bytes(SHAPES[shape][:-9])
    report = import_otlp(workspace, [file])
    assert mended(report)["unreadable"] >= 1


def test_one_value_that_is_too_large_is_refused_and_lines_are_not(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_files, "OBJECT_BYTES_MAX", 2000)
    wide = a_request(*(an_otlp_span(n) for n in range(1, 20)))
    one = a_file(tmp_path, json.dumps(wide, indent=1).encode(), name="one.json")
    (refused,) = import_otlp(workspace, [one]).repairs
    assert "more than 2,000 bytes" in refused.places[0].what
    lines = import_otlp(workspace, [a_file(tmp_path, wide, *(an_otlp_span(n) for n in range(1, 20)))])
    assert (lines.new, mended(lines)) == (19, {"unreadable": 1})


def test_protobuf_of_any_size_is_read_a_message_at_a_time(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_files, "OBJECT_BYTES_MAX", 500)
    data = b"".join(as_protobuf(a_request(an_otlp_span(n))) for n in range(1, 20))
    (tmp_path / "spans.pb").write_bytes(data)
    assert len(data) > 500 and import_otlp(workspace, [tmp_path / "spans.pb"]).new == 19
    (tmp_path / "wide.pb").write_bytes(data + as_protobuf(a_request(*(an_otlp_span(n) for n in range(30, 60)))))
    wide = import_otlp(workspace, [tmp_path / "wide.pb"])
    assert (wide.known, mended(wide)["unreadable"]) == (19, 1)


def test_a_file_that_is_not_there_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        import_otlp(workspace, [tmp_path / "none"])


def test_the_command_tells_what_was_mended(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "repo")
    a_file(folder, a_request(an_otlp_span(2, parent=9)), b"{", name="spans.jsonl")
    ran = custody(folder, "import", "otlp", "spans.jsonl")
    assert ran.status == 0
    assert "no-parent (1): what it ran in never came" in ran.out and "spans.jsonl:2: not JSON" in ran.out
    assert ran.out.endswith("1 span(s): 1 new, 0 known (1 capability)\n")
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
def test_nothing_aborts_and_every_span_is_accounted_for(
    lines: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("spans")
    workspace = Workspace(a_git_folder(folder / "repo"))
    file = folder / "spans.jsonl"
    file.write_bytes(json.dumps(a_request(an_otlp_span(1))).encode() + b"\n" + b"\n".join(lines))
    first, second = import_otlp(workspace, [file]), import_otlp(workspace, [file])
    counts = mended(first)
    assert first.spans == first.new + counts.get("repeated", 0)
    assert (second.new, second.known + mended(second).get("repeated", 0)) == (0, second.spans)
    assert counts.get("no-parent", 0) == mended(second).get("no-parent", 0)
    seen = {(one.id, one.parent) for one in kept(workspace)}
    ids = {id for id, _ in seen}
    assert bool(counts.get("no-parent")) == any(parent is not None and parent not in ids for _, parent in seen)


def test_codes_have_sentences_and_mending_is_deterministic() -> None:
    assert len({code.value for code in OtlpRepair}) == len(OtlpRepair)
    (span,) = spans_in(an_otlp_span(1, parent=1))
    assert not isinstance(span, OtlpProblem) and event_of(span) == event_of(span)


def test_every_code_and_every_word_of_the_conventions_has_its_place_on_the_page() -> None:
    page = (Path(__file__).resolve().parents[4] / "docs" / "graph-otel.md").read_text()
    told = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert {code.label for code in OtlpRepair} <= told
    words = {*OPENINFERENCE, *(OPERATIONS.keys() - {"completion"}), *(MCP_METHODS.keys() - {"completion/complete"})}
    assert [word for word in words if f"`{word}`" not in page] == []
