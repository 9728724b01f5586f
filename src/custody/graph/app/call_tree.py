"""The calls of one session as a tree, with those of the programs that were traced in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from custody.core.views import ObservedSpan
from custody.graph.app.learn import spans_traced_in
from custody.graph.app.session_spans import SESSION, execution_of, make_session_spans
from custody.graph.model import CallSpan, Kind, Status
from custody.graph.spans import SpanForest, forest_of
from custody.ledger.queries import SessionRow, SessionView
from custody.store import ObservedView, Store

DETAIL_CHARACTERS_MAX = 400


@dataclass(frozen=True, slots=True)
class CallRow:
    """One row of a call tree; ``depth`` counts from 0, ``state`` is ok, failed, running or none."""

    depth: int
    id: str
    name: str
    kind: str
    state: str
    began_ns: int | None
    ended_ns: int | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class CallTree:
    """Every call of a session; ``execution`` names the session's own calls, the others come from traced programs."""

    execution: str
    forest: SpanForest

    @property
    def traced(self) -> int:
        """How many calls come from programs that reported their own spans."""
        return sum(span.execution != self.execution for span in self.forest.spans)

    @property
    def ended_ns(self) -> int | None:
        """When the session ended; None while that is not known."""
        root = next((span for span in self.forest.roots if span.id == SESSION), None)
        return None if root is None else root.end_ns

    @property
    def repairs(self) -> dict[str, int]:
        """What had to be mended in the spans, and how often."""
        return {code.value: count for code, count in self.forest.repairs.items()}

    def rows(self, prompts: Mapping[str, str | None] | None) -> Iterator[CallRow]:
        """Each call before the calls inside it; without ``prompts`` (text by id) no row says what it was about."""
        waiting = [(0, span) for span in reversed(_in_order(self.forest.roots))]
        while waiting:
            depth, span = waiting.pop()
            yield _row(depth, span, prompts)
            inside = self.forest.children.get((span.execution, span.id), ())
            waiting.extend((depth + 1, below) for below in reversed(_in_order(inside)))


def build_call_tree(store: Store, session: SessionRow, seen: Sequence[ObservedView[SessionView]]) -> CallTree:
    """The call tree of a session, from everything ``seen`` of it."""
    forest = forest_of(_spans(store, session, seen))
    return CallTree(execution_of(session.agent, session.session), forest)


def _spans(store: Store, row: SessionRow, seen: Sequence[ObservedView[SessionView]]) -> Iterator[ObservedSpan]:
    """The spans that a session gives, and those of programs that were traced in it."""
    yield from make_session_spans(store, row.agent, row.session, seen)
    yield from spans_traced_in(store, row.session)


def _in_order(spans: Iterator[CallSpan] | Sequence[CallSpan]) -> list[CallSpan]:
    return sorted(spans, key=lambda span: (span.start_ns is None, span.start_ns or 0, span.first))


def _row(depth: int, span: CallSpan, words: Mapping[str, str | None] | None) -> CallRow:
    given = span.attributes
    name = f"turn {given['number']}" if span.kind is Kind.TURN and "number" in given else span.name
    about = None
    if words is not None:
        about = words.get(span.id.partition(":")[2]) if span.kind is Kind.TURN else given.get("about")
    detail = given.get("file") or about
    return CallRow(
        depth=depth,
        id=span.id,
        name=name,
        kind=span.kind.value,
        state=_outcome(span),
        began_ns=span.start_ns,
        ended_ns=span.end_ns,
        detail=None if detail is None else str(detail)[:DETAIL_CHARACTERS_MAX],
    )


def _outcome(span: CallSpan) -> str:
    told = str(span.attributes.get("outcome", ""))
    if span.status is Status.FAILED or told == "error":
        return "failed"
    if span.status is Status.OK or told == "ok":
        return "ok"
    return "running" if span.end_ns is None else "none"
