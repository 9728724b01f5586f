"""Every test has a tracer of its own that keeps what it is given."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from custody.core.views import ObservedSpan
from custody.sdk import SpanRecord, configure
from custody.sdk.outbox import OUT
from custody.sdk.spans import running
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder


class Kept:
    """What was exported."""

    def __init__(self) -> None:
        self._spans: list[SpanRecord] = []

    def __call__(self, batch: Sequence[SpanRecord]) -> None:
        self._spans.extend(batch)

    @property
    def spans(self) -> list[SpanRecord]:
        """Every span that has ended so far."""
        assert OUT.flush()
        return self._spans

    def one(self, name: str) -> SpanRecord:
        """The only span of that name."""
        (found,) = (span for span in self.spans if span.name == name)
        return found

    def parents(self) -> dict[str, str | None]:
        """The name of each span's parent, by its name."""
        names = {span.span: span.name for span in self.spans}
        return {span.name: None if span.parent is None else names[span.parent] for span in self.spans}


@pytest.fixture
def kept() -> Iterator[Kept]:
    made = Kept()
    configure(exporter=made)
    yield made
    configure(exporter=lambda _: None)
    assert running.get() is None, "a test left a span running"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def spans_in(repository: Path) -> list[ObservedSpan]:
    """What a store has of spans, oldest first."""
    with Workspace(repository).reading() as store:
        return [one.view for one in store.views.look_up(ObservedSpan, "seq > ?", (0,))]
