"""Every test has its own tracer, which stores the exported spans."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from custody.core.views import ObservedSpan
from custody.sdk import SpanRecord, configure
from custody.sdk.outbox import OUT
from custody.sdk.spans import running
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder


class ExportedSpans:
    """The exported spans."""

    def __init__(self) -> None:
        self._spans: list[SpanRecord] = []

    def __call__(self, batch: Sequence[SpanRecord]) -> None:
        self._spans.extend(batch)

    @property
    def spans(self) -> list[SpanRecord]:
        """Return every span that has ended so far."""
        assert OUT.flush()
        return self._spans

    def one(self, name: str) -> SpanRecord:
        """Return the only span of that name."""
        (span,) = (span for span in self.spans if span.name == name)
        return span

    def parents(self) -> dict[str, str | None]:
        """Return the name of each span's parent, by its name."""
        names = {span.span: span.name for span in self.spans}
        return {span.name: None if span.parent is None else names[span.parent] for span in self.spans}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run every test outside the checkout, so that no span reaches the checkout's spool."""
    monkeypatch.chdir(tmp_path)
    configure(folder=tmp_path)
    yield
    configure(exporter=lambda _: None)


@pytest.fixture
def exported() -> Iterator[ExportedSpans]:
    spans = ExportedSpans()
    configure(exporter=spans)
    yield spans
    assert running.get() is None, "a test left a span running"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def spans_in(repository: Path) -> list[ObservedSpan]:
    """Return the stored spans, oldest first."""
    with Workspace(repository).reading() as store:
        return [record.view for record in store.views.look_up(ObservedSpan, "seq > ?", (0,))]
