"""Spans are exported in OpenTelemetry's format and imported as the same spans, recorded or from captured sessions."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.view_merge import merge_span_views
from custody.core.views import ObservedSpan
from custody.core.wire.arrival import arrival_from_json
from custody.graph.otlp import export as exporting
from custody.graph.otlp.event import span_event_from_otlp
from custody.graph.otlp.export import SpanExportRequest, export_otlp_to_file, otlp_from_span
from custody.graph.otlp.import_ import import_otlp
from custody.graph.queries import SpanTables, query_execution_spans
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.otlp import a_request, an_otlp_span, spans_seen


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(a_git_folder(tmp_path / "repo"))


def stored_spans(workspace: Workspace) -> list[ObservedSpan]:
    with workspace.reading() as store:
        spans = [
            observed.view
            for execution in SpanTables(store).executions()
            for observed in query_execution_spans(store, execution)
        ]
    return sorted(merge_span_views(spans), key=repr)


def record(workspace: Workspace, *events: bytes) -> None:
    for event in events:
        spool_of(workspace.folder).put(event)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spans=st.lists(spans_seen(), min_size=1, max_size=5), protobuf=st.booleans())
def test_export_and_import_give_the_same_spans(
    spans: list[ObservedSpan], protobuf: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("round")
    source, other = (Workspace(a_git_folder(folder / name)) for name in ("one", "other"))
    with source.writing() as store:
        store.append(
            [
                arrival_from_json(EventId(f"e{n}"), span_event_from_otlp(otlp_from_span(span)).event)
                for n, span in enumerate(spans)
            ]
        )
    report = export_otlp_to_file(source, folder / "out", SpanExportRequest(protobuf=protobuf))
    import_otlp(other, [folder / "out"])
    assert stored_spans(other) == stored_spans(source)
    assert report.spans == len(stored_spans(source))


def test_a_captured_session_comes_back_as_the_same_spans(workspace: Workspace, tmp_path: Path) -> None:
    record(
        workspace, an_event("session"), an_event("prompt"), an_event("call", id="c", ended_at="2026-01-31T12:00:09Z")
    )
    report = export_otlp_to_file(workspace, tmp_path / "out.json", SpanExportRequest(session="s1"))
    assert (report.spans, report.executions, report.sessions) == (3, 1, 1)
    assert import_otlp(workspace, [tmp_path / "out.json"]).new == 3
    again = export_otlp_to_file(workspace, tmp_path / "again.json", SpanExportRequest())
    assert (again.spans, again.executions) == (3, 1)
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "out.json").read_bytes()


def test_one_session_one_execution_or_all(workspace: Workspace, tmp_path: Path) -> None:
    start = {"execution": "e1", "span": "a", "server": None, "span_kind": "capability", "session": "s2"}
    record(workspace, an_event("span", **start), an_event("span", **{**start, "execution": "e2", "session": None}))
    record(workspace, an_event("session"))
    out = tmp_path / "out"
    assert export_otlp_to_file(workspace, out, SpanExportRequest(execution="e2")).spans == 1
    assert export_otlp_to_file(workspace, out, SpanExportRequest(session="s2")).executions == 1
    whole = export_otlp_to_file(workspace, out, SpanExportRequest())
    assert (whole.spans, whole.executions, whole.sessions, whole.without_end) == (3, 3, 1, 3)
    for request in (SpanExportRequest(session="none"), SpanExportRequest(execution="none")):
        with pytest.raises(InputError):
            export_otlp_to_file(workspace, tmp_path / "nothing", request)
    assert not (tmp_path / "nothing").exists()


def test_a_start_and_its_end_are_exported_as_one_span(workspace: Workspace, tmp_path: Path) -> None:
    base = {"execution": "e1", "span": "a", "at": "2026-01-31T12:00:00Z"}
    record(workspace, an_event("span", **base, attributes={"in": 1}))
    record(
        workspace,
        an_event("span", **{**base, "at": "2026-01-31T12:00:05Z"}, phase="end", status="error", attributes={}),
    )
    assert export_otlp_to_file(workspace, tmp_path / "out", SpanExportRequest()).spans == 1
    (line,) = (tmp_path / "out").read_text().splitlines()
    (span,) = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]) == 5 * 10**9
    assert span["status"] == {"code": 2}
    assert {"key": "openinference.span.kind", "value": {"stringValue": "TOOL"}} in span["attributes"]


def test_many_spans_are_written_as_several_lines(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "CHUNK_SPANS", 2)
    (tmp_path / "in.json").write_text(json.dumps(a_request(*(an_otlp_span(n) for n in range(1, 6)))))
    import_otlp(workspace, [tmp_path / "in.json"])
    for protobuf in (False, True):
        export_otlp_to_file(workspace, tmp_path / "out", SpanExportRequest(protobuf=protobuf))
        assert import_otlp(workspace, [tmp_path / "out"]).known == 5 or protobuf
    export_otlp_to_file(workspace, tmp_path / "out", SpanExportRequest())
    assert (tmp_path / "out").read_bytes().count(b"\n") == 3


def test_the_command_writes_to_a_file_or_to_the_terminal(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "repo")
    spool_of(folder).put(an_event("session"))
    ran = custody(folder, "export", "otlp", "--all", "-o", "out.json")
    assert (ran.status, ran.out.startswith("wrote 1 span of 1 execution, 1 without an end to 'out.json'")) == (
        0,
        True,
    )
    assert json.loads(custody(folder, "export", "otlp").out)["resourceSpans"]
    report = json.loads(custody(folder, "export", "otlp", "--session", "s1", "-o", "o", "--json").out)
    assert (report["report"], report["spans"]) == ("export-otlp", 1)
    wrong = (
        ["--session", "s1"],
        ["otlp", "--session", "s1", "--all"],
        ["otlp", "--json"],
        ["otlp", "--agent-trace", "f"],
    )
    assert [custody(folder, "export", *arguments).status for arguments in wrong] == [2, 2, 2, 2]
