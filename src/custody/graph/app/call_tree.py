"""The calls of one session as a tree, with the calls of programs traced in it."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from custody.core.ids import PromptId
from custody.core.views import ObservedSpan
from custody.graph.app.learn import iterate_traced_session_spans
from custody.graph.app.session_spans import (
    SESSION,
    execution_id_from_session,
    make_session_spans,
    span_id_from_prompt,
)
from custody.graph.model import CallSpan, Kind, Status
from custody.graph.spans import SpanForest, build_span_forest
from custody.ledger.queries import SessionRow, SessionView
from custody.store import ObservedView, Store

DETAIL_CHARACTERS_MAX = 400


class CallRow(Struct, frozen=True):
    """One row of a call tree; ``depth`` starts at 0, ``state`` is ok, failed, running or none."""

    depth: int
    id: str
    name: str
    kind: str
    state: str
    began_ns: int | None
    ended_ns: int | None
    detail: str | None


class CallTree(Struct, frozen=True):
    """Every call of a session; ``execution`` identifies its own calls, the others come from traced programs."""

    execution: str
    forest: SpanForest

    @property
    def traced(self) -> int:
        """Return how many calls come from programs that reported their own spans."""
        return sum(span.execution != self.execution for span in self.forest.spans)

    @property
    def ended_ns(self) -> int | None:
        """Return when the session ended; None while that is unknown."""
        root = next((span for span in self.forest.roots if span.id == SESSION), None)
        return None if root is None else root.end_ns

    @property
    def repairs(self) -> dict[str, int]:
        """Return the repairs of the spans, and how often each was needed."""
        return {code.value: count for code, count in self.forest.repairs.items()}

    def rows(self, prompts: Mapping[PromptId, str | None] | None) -> Iterator[CallRow]:
        """Yield each call before the calls inside it; without ``prompts`` (text by id), rows have no detail text."""
        texts = None if prompts is None else {str(span_id_from_prompt(id_)): text for id_, text in prompts.items()}
        waiting = [(0, span) for span in reversed(_sort_spans_by_start(self.forest.roots))]
        while waiting:
            depth, span = waiting.pop()
            yield _make_call_tree_row(depth, span, texts)
            inside = self.forest.children.get((span.execution, span.id), ())
            waiting.extend((depth + 1, below) for below in reversed(_sort_spans_by_start(inside)))


def build_call_tree(store: Store, session: SessionRow, views: Sequence[ObservedView[SessionView]]) -> CallTree:
    """Build the call tree of a session from all ``views`` of it."""
    forest = build_span_forest(_iterate_session_spans(store, session, views))
    return CallTree(execution_id_from_session(session.agent, session.session), forest)


def _iterate_session_spans(
    store: Store, row: SessionRow, views: Sequence[ObservedView[SessionView]]
) -> Iterator[ObservedSpan]:
    """Yield the spans of a session, then those of programs traced in it."""
    yield from make_session_spans(store, row.agent, row.session, views)
    yield from iterate_traced_session_spans(store, row.session)


def _sort_spans_by_start(spans: Iterator[CallSpan] | Sequence[CallSpan]) -> list[CallSpan]:
    return sorted(spans, key=lambda span: (span.start_ns is None, span.start_ns or 0, span.first))


def _make_call_tree_row(depth: int, span: CallSpan, texts: Mapping[str, str | None] | None) -> CallRow:
    attributes = span.attributes
    name = f"turn {attributes['number']}" if span.kind is Kind.TURN and "number" in attributes else span.name
    about = None
    if texts is not None:
        about = texts.get(span.id) if span.kind is Kind.TURN else attributes.get("about")
    detail = attributes.get("file") or about
    return CallRow(
        depth=depth,
        id=span.id,
        name=name,
        kind=span.kind.value,
        state=_call_outcome_from_span(span),
        began_ns=span.start_ns,
        ended_ns=span.end_ns,
        detail=None if detail is None else str(detail)[:DETAIL_CHARACTERS_MAX],
    )


def _call_outcome_from_span(span: CallSpan) -> str:
    outcome = str(span.attributes.get("outcome", ""))
    if span.status is Status.FAILED or outcome == "error":
        return "failed"
    if span.status is Status.OK or outcome == "ok":
        return "ok"
    return "running" if span.end_ns is None else "none"
