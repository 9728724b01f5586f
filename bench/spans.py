"""The cost of a traced call, against opentelemetry-sdk with the same spans of three attributes.

Both sides keep what they exported in memory, and both have a thread that takes batches out, so that what is compared is
the tracing. Making our spans durable is measured separately.
"""

from collections.abc import Sequence

from bench.bars import BenchError, at_most
from bench.runner import Bench, Ground, Sides, Thunk
from custody.sdk import SpanRecord, configure, flush, span

SPANS = 500
"""Spans of one call; fewer than either queue holds."""


def otel_side() -> tuple[Thunk, Thunk]:
    """Return spans through opentelemetry-sdk, and a function that ends it."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("bench")

    def job() -> None:
        for number in range(SPANS):
            with tracer.start_as_current_span("work", attributes={"number": number, "path": "src/a.py", "part": 0.5}):
                pass
        provider.force_flush()
        if len(exporter.get_finished_spans()) != SPANS:
            raise BenchError("opentelemetry-sdk lost spans")
        exporter.clear()

    return job, provider.shutdown


def our_job() -> None:
    """Trace the same spans with our SDK."""
    for number in range(SPANS):
        with span("work", number=number, path="src/a.py", part=0.5):
            pass
    if not flush():
        raise BenchError("ours could not be flushed")


def in_memory(ground: Ground) -> Sides:
    """Make both sides; they keep exported spans in memory."""
    kept: list[Sequence[SpanRecord]] = []
    configure(exporter=kept.append)

    def job() -> None:
        our_job()
        if sum(map(len, kept)) != SPANS:
            raise BenchError("ours lost spans")
        kept.clear()

    baseline, shut = otel_side()

    def close() -> None:
        shut()
        configure(exporter=lambda _: None)

    return Sides(job, baseline, close)


def into_spool(ground: Ground) -> Sides:
    """Make both sides; ours stores spans in a spool, the other keeps them in memory."""
    (ground.folder / ".git").mkdir()
    configure(folder=ground.folder)
    baseline, shut = otel_side()

    def close() -> None:
        shut()
        configure(exporter=lambda _: None)

    return Sides(our_job, baseline, close)


BENCHES: tuple[Bench, ...] = (
    Bench(
        name="span",
        what="a span with three attributes, traced and exported in batches",
        baseline="opentelemetry-sdk: TracerProvider, BatchSpanProcessor, in-memory exporter",
        bar=at_most(0.1),
        set_up=in_memory,
        calls=8,
    ),
    Bench(
        name="span-spool",
        what="the same, turned into an event, scanned for secrets and synced to disk",
        baseline="opentelemetry-sdk as above, in memory only",
        set_up=into_spool,
        calls=1,
    ),
)
