"""Calls in the order in which a session made them: what the sequence model reads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from custody.graph.model import CallSpan, Kind, Plain, Status
from custody.graph.names import CallInput, fine_name

CALLED = frozenset({Kind.TOOL, Kind.CAPABILITY, Kind.AGENT, Kind.RETRIEVAL})
"""Kinds of spans that an agent decides to make."""


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Where a call is made: inside which span, and of which node that is."""

    inside: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True)
class SequenceCall:
    """One call: its name, its node, where it was made, how it came out, on which file, in which message, its span."""

    name: str
    node: str
    place: CallPlace = CallPlace()
    failed: bool = False
    file: str | None = None
    message: str | None = None
    span: str = ""


def calls_of(spans: Iterable[CallSpan], *, fine: bool = True) -> dict[str, list[SequenceCall]]:
    """The calls of each session, the first begun first; what has no session goes by its execution."""
    spans = list(spans)
    by_id = {(span.execution, span.id): span for span in spans}
    sessions: dict[str, list[SequenceCall]] = {}
    for span in sorted(spans, key=_make_order_key):
        if span.kind in CALLED:
            above = None if span.parent is None else by_id.get((span.execution, span.parent))
            place = CallPlace() if above is None else CallPlace(f"{above.execution}:{above.id}", above.node)
            sessions.setdefault(span.session or span.execution, []).append(_call(span, place, fine=fine))
    return sessions


def _make_order_key(span: CallSpan) -> tuple[bool, int, int]:
    """By time, and by the place among the records where one has none."""
    at_ns = span.end_ns if span.start_ns is None else span.start_ns
    return at_ns is None, at_ns or 0, span.first


def _call(span: CallSpan, place: CallPlace, *, fine: bool) -> SequenceCall:
    told = span.attributes
    about = _text(told, "about")  # which of the three it is, the name of the tool tells
    path = _text(told, "file", "file_path", "path", "notebook_path")
    given = CallInput(
        command=_text(told, "command") or about,
        path=path or about,
        subagent=_text(told, "subagent_type", "agent_type") or about,
    )
    name = fine_name(span.name, given) if fine else span.name
    return SequenceCall(name, span.node, place, span.status is Status.FAILED, path, _text(told, "message"), span.id)


def _text(told: Mapping[str, Plain], *keys: str) -> str | None:
    found = next((told[key] for key in keys if key in told), None)
    return found if isinstance(found, str) else None
