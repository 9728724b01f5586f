"""Spans of the real OpenTelemetry SDK reach the spool, and no error reaches the traced program."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Tracer, TracerProvider
from opentelemetry.sdk.trace.sampling import Decision, StaticSampler
from opentelemetry.trace import Link, Status, StatusCode, use_span

from custody import otel
from custody.core.errors import InputError, SpoolError, install_hint
from custody.core.views import ObservedSpan, SpanKind, SpanStatus
from custody.core.wire.canonical import parse_json_bytes
from custody.graph.otlp.import_ import SpanSpool
from custody.graph.queries import SpanTables, query_execution_spans
from custody.graph.wire.otlp_span import OtlpSpan
from custody.otel import CustodySpanProcessor
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, spool_of

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class Traced:
    """A program whose spans go to a repository."""

    def __init__(self, folder: Path, **more: bool) -> None:
        self.folder = a_git_folder(folder)
        self.processor = CustodySpanProcessor(self.folder, **more)
        self.provider = TracerProvider(resource=Resource.create({"service.name": "robot"}), shutdown_on_exit=False)
        self.provider.add_span_processor(self.processor)

    @property
    def tracer(self) -> Tracer:
        tracer = self.provider.get_tracer("test")
        assert isinstance(tracer, Tracer)
        return tracer

    def stored(self) -> dict[str, ObservedSpan]:
        """Return the stored spans, by name."""
        with Workspace(self.folder).reading() as store:
            views = [
                observed.view
                for execution in SpanTables(store).executions()
                for observed in query_execution_spans(store, execution)
            ]
        assert len({(span.execution, span.id) for span in views}) == len(views)
        return {span.name: span for span in views}


@pytest.fixture
def traced(tmp_path: Path) -> Iterator[Traced]:
    program = Traced(tmp_path / "repo")
    yield program
    program.provider.shutdown()


def test_spans_arrive_with_parents_kinds_names_and_outcomes(traced: Traced) -> None:
    with traced.tracer.start_as_current_span("invoke_agent Ada", attributes={"gen_ai.operation.name": "invoke_agent"}):
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "mcp__git__log", "session.id": "s1"}
        span = traced.tracer.start_span("execute_tool x", attributes={**tool, "input.value": "a prompt"})
        with pytest.raises(OSError, match="no"), use_span(span, end_on_exit=True):
            raise OSError("no")
        link = Link(span.get_span_context())
        with traced.tracer.start_as_current_span("plain", links=[link], attributes={"l": ["a", "b"]}) as inner:
            inner.set_status(Status(StatusCode.OK))
    assert traced.provider.force_flush()
    spans = traced.stored()
    assert {name: (stored.kind, stored.status) for name, stored in spans.items()} == {
        "Ada": (SpanKind.AGENT, SpanStatus.OK),
        "log": (SpanKind.TOOL, SpanStatus.ERROR),
        "plain": (SpanKind.CAPABILITY, SpanStatus.OK),
    }
    assert spans["log"].parent == spans["plain"].parent == spans["Ada"].id and spans["Ada"].parent is None
    assert (spans["log"].server, spans["log"].session, spans["log"].agent) == ("git", "s1", "robot")
    assert dict(spans["log"].attributes)["exception.type"] == "OSError"
    assert "input.value" not in dict(spans["log"].attributes) and spans["log"].dropped == 2
    assert spans["plain"].links[0].span == spans["log"].id
    assert dict(spans["plain"].attributes)["l"] == '["a","b"]'


def test_prompts_are_stored_on_request_and_secrets_never(tmp_path: Path) -> None:
    program = Traced(tmp_path / "repo", texts=True)
    with program.tracer.start_as_current_span("x", attributes={"input.value": f"use {SECRET}"}):
        pass
    program.provider.shutdown()
    (name,) = spool_of(program.folder).names()
    assert SECRET not in (spool_of(program.folder).folder / name).read_text()
    assert dict(program.stored()["x"].attributes)["input.value"] == "use [redacted:github-token]"


def test_many_spans_of_many_threads_all_arrive_in_few_files(traced: Traced) -> None:
    def work(number: int) -> None:
        with traced.tracer.start_as_current_span(f"outer {number}"):
            for n in range(50):
                with traced.tracer.start_as_current_span(f"inner {number} {n}"):
                    pass

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    traced.provider.shutdown()
    assert len(spool_of(traced.folder).names()) <= 8
    spans = traced.stored()
    assert len(spans) == 8 * 51 and traced.processor.lost == 0
    assert all(spans[f"inner {n} {m}"].parent == spans[f"outer {n}"].id for n in range(8) for m in range(50))


def test_a_failing_disk_loses_nothing_until_it_works_again(
    traced: Traced, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise SpoolError("cannot make the event durable")

    with monkeypatch.context() as patch:
        patch.setattr("custody.capture.spool.Spool.put_all", refuse)
        with traced.tracer.start_as_current_span("x"):
            pass
        assert traced.provider.force_flush() is False
    assert "cannot make the event durable" in caplog.text
    assert traced.provider.force_flush()
    assert set(traced.stored()) == {"x"} and traced.processor.lost == 0


def test_spans_over_the_limit_are_lost_counted_and_logged(
    traced: Traced, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(otel, "QUEUE_SPANS", 3)
    monkeypatch.setattr(otel, "GATHER_SECONDS", 60.0)
    for n in range(5):
        traced.tracer.start_span(f"s{n}").end()
    with caplog.at_level(logging.WARNING):
        traced.provider.shutdown()
    assert set(traced.stored()) == {"s0", "s1", "s2"} and traced.processor.lost == 2
    assert "2 spans could not be stored" in caplog.text


def test_an_unreadable_span_stops_neither_the_program_nor_other_spans(
    traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otel, "BATCH_SPANS", 1)
    monkeypatch.setattr(otel, "GATHER_SECONDS", 60.0)
    put = SpanSpool.put

    def choke(self: SpanSpool, spans: list[OtlpSpan]) -> int:
        if spans[0].name == "odd":
            raise TypeError("odd")
        return put(self, spans)

    monkeypatch.setattr(SpanSpool, "put", choke)
    for name in ("a", "odd", "b"):
        traced.tracer.start_span(name).end()
    assert traced.provider.force_flush()
    assert set(traced.stored()) == {"a", "b"} and traced.processor.lost == 1


def test_unsampled_spans_are_not_stored(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "repo")
    provider = TracerProvider(sampler=StaticSampler(Decision.RECORD_ONLY), shutdown_on_exit=False)
    provider.add_span_processor(CustodySpanProcessor(folder))
    provider.get_tracer("t").start_span("x").end()
    provider.shutdown()
    assert spool_of(folder).names() == []


def test_a_child_process_writes_its_own_spans_and_not_its_parent_s(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "repo")
    code = f"""
import os
from opentelemetry.sdk.trace import TracerProvider
from custody import otel
otel.GATHER_SECONDS = 60.0
provider = TracerProvider()
provider.add_span_processor(otel.CustodySpanProcessor({str(folder)!r}))
tracer = provider.get_tracer("t")
tracer.start_span("before").end()
if os.fork() == 0:
    tracer.start_span("child").end()
    provider.shutdown()
    os._exit(0)
os.wait()
tracer.start_span("after").end()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env=dict(os.environ))
    written = [parse_json_bytes(arrival.payload) for arrival in spool_of(folder).oldest(100).arrivals]
    assert sorted(str(one["name"]) for one in written if isinstance(one, dict)) == ["after", "before", "child"]


def test_outside_a_repository_the_constructor_raises(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        CustodySpanProcessor(tmp_path)


def test_without_the_extra_the_error_names_it() -> None:
    code = (
        "import sys; sys.modules['opentelemetry.sdk.trace'] = None\n"
        "from custody.core.errors import MissingExtra\n"
        "try:\n    import custody.otel\nexcept MissingExtra as e:\n    print(e.message, '|', e.hint)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"opentelemetry-sdk is not installed | {install_hint('otel')}\n"
