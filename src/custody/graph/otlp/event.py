"""From a span of OpenTelemetry's to an event of ours.

What OpenTelemetry has no field for travels in attributes named ``custody.*`` (``otlp_out`` writes them). A span that
has them comes back as it was kept; on every other span such attributes are plain ones.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from custody.core.views import SpanKind, SpanStatus
from custody.core.wire.canonical import Json, dump
from custody.core.wire.event import SPAN_ATTRIBUTES_MAX, SPAN_LINKS_MAX
from custody.core.wire.time import text_from
from custody.graph.wire.attribute_names import agent_of, is_text, kind_of, name_of, session_of
from custody.graph.wire.otlp_span import (
    NS_MAX,
    OtlpRepair,
    OtlpSpan,
    OtlpValue,
    fit_key,
    fit_name,
    fit_text,
    truncate_span_text,
)

OURS = "custody."
ESCAPED = "custody.attribute."
KIND = "custody.span.kind"
TRACE_ID, SPAN_ID, PARENT_ID = "custody.trace_id", "custody.span_id", "custody.parent_span_id"
STATUS, SERVER, AGENT, SESSION = "custody.status", "custody.server", "custody.agent", "custody.session"
START, END, DROPPED, ADDED = "custody.start_ns", "custody.end_ns", "custody.dropped", "custody.added"
FULL_NAME = "otel.name"
"""The name of a span that is kept under what was called."""
DESCRIPTION = "otel.status_description"
INT_MIN = -(2**63)
WORD_SIGNS_MAX = 1000
"""An agent's or a session's name may be longer than a span's."""
_KINDS = frozenset(kind.value for kind in SpanKind)
_FIRST = ("gen_ai.", "llm.", "tool.", "mcp.", "openinference.", "session.", "error.", "otel.")


@dataclass(frozen=True, slots=True)
class SpanEventResult:
    """An event, what was mended to make it, and how many attributes stayed behind."""

    event: dict[str, Json]
    mended: tuple[tuple[OtlpRepair, str], ...]
    left_out: int


def event_of(span: OtlpSpan, *, texts: bool = False) -> SpanEventResult:
    """The event that a span becomes; prompts, answers and other long texts only if ``texts`` says so, and then cut."""
    kept = span.attributes
    ours = _text(kept, KIND) in _KINDS
    execution = fit_name(_ours(kept, TRACE_ID, ours=ours) or span.trace)
    own = fit_name(_ours(kept, SPAN_ID, ours=ours) or span.id)
    said = _read_own_names(span) if ours else _read_foreign_names(span)
    attributes, left_out = _our_attributes(kept) if ours else _their_attributes(span, said, texts=texts)
    mended: list[tuple[OtlpRepair, str]] = []
    parent = _parent(span, own, mended, ours=ours)
    times = _phase(span, mended, ours=ours)
    mended += [(OtlpRepair.BAD_NAME, own)] * (said.name != said.told)
    links: list[Json] = list(_links(span))
    if len(links) > SPAN_LINKS_MAX:
        mended.append((OtlpRepair.LINKS, f"{len(links):,}"))
    event: dict[str, Json] = {
        "custody": 1,
        "kind": "span",
        "id": f"{execution}:{own}:{times['phase']}",
        "execution": execution,
        "span": own,
        "name": said.name,
        "span_kind": said.kind,
        **times,
        "parent": parent,
        "links": links[:SPAN_LINKS_MAX],
        "server": said.server,
        "attributes": attributes,
        "dropped": min(_dropped(span, ours=ours) + left_out, 2**53),
        "agent": said.agent,
        "session": said.session,
    }
    said_only: dict[str, Json] = {name: value for name, value in event.items() if value not in (None, [], {}, 0)}
    return SpanEventResult(said_only, tuple(mended), left_out)


@dataclass(frozen=True, slots=True)
class _SpanName:
    """How a span is called here; ``told`` is its name before that was made to fit."""

    name: str
    told: str
    kind: str
    server: str | None
    agent: str | None
    session: str | None


def _read_own_names(span: OtlpSpan) -> _SpanName:
    given = span.attributes
    kind = str(given[KIND])
    server = fit_name(_text(given, SERVER) or "") if kind == SpanKind.TOOL.value and given.get(SERVER) else None
    return _SpanName(fit_name(span.name), span.name, kind, server, _text(given, AGENT), _text(given, SESSION))


def _read_foreign_names(span: OtlpSpan) -> _SpanName:
    kind = kind_of(span)
    name, server = name_of(span, kind)
    return _SpanName(
        fit_name(name),
        name,
        kind.value,
        None if server is None else fit_name(server),
        _fitted(agent_of(span)),
        _fitted(session_of(span)),
    )


# --- attributes -------------------------------------------------------------------------------------------------------


def _our_attributes(given: Mapping[str, OtlpValue]) -> tuple[dict[str, Json], int]:
    """Attributes as they were kept: without what was added for other tools, those named like ours under their name."""
    added = set((_text(given, ADDED) or "").split(","))
    wanted = {
        key.removeprefix(ESCAPED): value
        for key, value in given.items()
        if key not in added and (not key.startswith(OURS) or key.startswith(ESCAPED))
    }
    return _bounded(wanted, texts=True)


def _their_attributes(span: OtlpSpan, said: _SpanName, *, texts: bool) -> tuple[dict[str, Json], int]:
    wanted = dict(span.attributes)
    if said.name != span.name and span.name:
        wanted.setdefault(FULL_NAME, truncate_span_text(span.name))
    if span.message and span.status == 2:
        wanted.setdefault(DESCRIPTION, truncate_span_text(span.message))
    return _bounded(wanted, texts=texts)


def _bounded(given: Mapping[str, OtlpValue], *, texts: bool) -> tuple[dict[str, Json], int]:
    """As many attributes as an event can hold, those that conventions name first, and how many were left out."""
    made: dict[str, Json] = {}
    left_out = 0
    for key in sorted(given, key=lambda key: (not key.startswith(_FIRST), key)):
        if len(made) == SPAN_ATTRIBUTES_MAX or fit_key(key) is None or (not texts and is_text(key)):
            left_out += 1
            continue
        value = _plain(given[key], cut=texts)
        if value is None and given[key] is not None:
            left_out += 1
        else:
            made[key] = value
    return made, left_out


def _plain(value: OtlpValue, *, cut: bool) -> bool | int | float | str | None:
    """A value that stays in a record; None where it is too long, unless it may be cut."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if INT_MIN <= value <= NS_MAX else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        text = value.hex()
    else:
        text = fit_text(value if isinstance(value, str) else dump(_json(value)).decode())
    if len(truncate_span_text(text)) == len(text):
        return text
    return truncate_span_text(text) if cut else None


def _json(value: OtlpValue) -> Json:
    match value:
        case bytes():
            return value.hex()
        case float():
            return value if math.isfinite(value) else str(value)
        case list():
            return [_json(child) for child in value]
        case dict():
            return {key: _json(child) for key, child in value.items()}
        case _:
            return value


# --- the rest of an event ---------------------------------------------------------------------------------------------


def _phase(span: OtlpSpan, mended: list[tuple[OtlpRepair, str]], *, ours: bool) -> dict[str, Json]:
    """What is known of when it ran, as an event says it."""
    start = _moment(span, START, span.start_ns, ours=ours)
    end = _moment(span, END, span.end_ns, ours=ours)
    mended += [(OtlpRepair.BAD_TIME, span.id)] * bool(span.bad_times)
    status = _status(span, ours=ours)
    if start is None and end is None:
        mended.append((OtlpRepair.NO_TIME, span.id))
        return {"phase": "start", "at": text_from(0)}
    if end is None or start is None:
        mended.append((OtlpRepair.NO_END if end is None else OtlpRepair.NO_START, span.id))
    if start is None:
        return {"phase": "end", "at": text_from(end or 0), "status": status}
    if end is None:
        return {"phase": "start", "at": text_from(start)}
    if end < start:
        mended.append((OtlpRepair.BACKWARDS, span.id))
    return {"phase": "whole", "at": text_from(start), "ended_at": text_from(end), "status": status}


def _moment(span: OtlpSpan, name: str, told: int | None, *, ours: bool) -> int | None:
    kept = span.attributes.get(name) if ours else None
    is_moment = isinstance(kept, int) and not isinstance(kept, bool) and -NS_MAX <= kept <= 0
    return kept if is_moment and isinstance(kept, int) else told


def _status(span: OtlpSpan, *, ours: bool) -> str:
    kept = span.attributes.get(STATUS) if ours else None
    if kept in (SpanStatus.ABANDONED.value, SpanStatus.KILLED.value):
        return str(kept)
    return SpanStatus.ERROR.value if span.status == 2 else SpanStatus.OK.value


def _parent(span: OtlpSpan, own: str, mended: list[tuple[OtlpRepair, str]], *, ours: bool) -> str | None:
    named = _ours(span.attributes, PARENT_ID, ours=ours) or span.parent
    parent = None if named is None else fit_name(named)
    if parent == own:
        mended.append((OtlpRepair.OWN_PARENT, own))
        return None
    return parent


def _links(span: OtlpSpan) -> Iterator[Json]:
    for link in span.links:
        trace = _text(link.attributes, TRACE_ID) or link.trace
        made: dict[str, Json] = {"span": fit_name(_text(link.attributes, SPAN_ID) or link.span)}
        yield made if trace is None else {**made, "execution": fit_name(trace)}


def _dropped(span: OtlpSpan, *, ours: bool) -> int:
    kept = span.attributes.get(DROPPED) if ours else None
    return kept if isinstance(kept, int) and not isinstance(kept, bool) and kept > 0 else span.dropped


def _ours(given: Mapping[str, OtlpValue], name: str, *, ours: bool) -> str | None:
    return _text(given, name) if ours else None


def _text(given: Mapping[str, OtlpValue], name: str) -> str | None:
    value = given.get(name)
    return _fitted(value) if isinstance(value, str) and value else None


def _fitted(name: str | None) -> str | None:
    return None if name is None else fit_name(name, WORD_SIGNS_MAX)
