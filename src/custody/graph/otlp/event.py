"""From an OpenTelemetry span to a span event.

Values without an OpenTelemetry field are in attributes named ``custody.*`` (``export`` writes them). A span with these
attributes is restored as it was stored; on every other span they are plain attributes.
"""

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import filterfalse

from msgspec import Struct

from custody.core.views import SpanKind, SpanStatus
from custody.core.wire.canonical import Json, dump_canonical_json
from custody.core.wire.event import SPAN_ATTRIBUTES_MAX, SPAN_LINKS_MAX
from custody.core.wire.time import format_timestamp
from custody.graph.wire.attribute_names import (
    NAMING,
    agent_from_otlp_span,
    call_name_from_otlp,
    is_text_attribute,
    session_from_otlp_span,
    span_kind_from_otlp,
)
from custody.graph.wire.otlp_span import (
    NS_MAX,
    OtlpRepair,
    OtlpSpan,
    OtlpValue,
    clean_span_text,
    fit_span_attribute_key,
    fit_span_name,
    truncate_span_text,
)

OURS = "custody."
ESCAPED = "custody.attribute."
KIND = "custody.span.kind"
TRACE_ID, SPAN_ID, PARENT_ID = "custody.trace_id", "custody.span_id", "custody.parent_span_id"
STATUS, SERVER, AGENT, SESSION = "custody.status", "custody.server", "custody.agent", "custody.session"
START, END, DROPPED, ADDED = "custody.start_ns", "custody.end_ns", "custody.dropped", "custody.added"
FULL_NAME = "otel.name"
"""The attribute with the span's own name, where the event is named after the call."""
DESCRIPTION = "otel.status_description"
INT_MIN = -(2**63)
WORD_CHARS_MAX = 1000
_PLAIN_CHARS_MAX = 200
"""Shorter texts are never cut."""
"""An agent's or a session's name may be longer than a span's."""
_KINDS = frozenset(kind.value for kind in SpanKind)
_FIRST = ("gen_ai.", "llm.", "tool.", "mcp.", "openinference.", "session.", "error.", "otel.")


class SpanEventResult(Struct, frozen=True):
    """An event, the repairs that it needed, and how many attributes were left out."""

    event: dict[str, Json]
    repairs: tuple[tuple[OtlpRepair, str], ...]
    left_out: int


def span_event_from_otlp(span: OtlpSpan, *, texts: bool = False) -> SpanEventResult:
    """Return the event of a span; prompts, answers and other texts are included, cut, only with ``texts``."""
    source = span.attributes
    ours = _read_text_attribute(source, KIND) in _KINDS
    execution = fit_span_name(_read_custody_attribute(source, TRACE_ID, ours=ours) or span.trace)
    own = fit_span_name(_read_custody_attribute(source, SPAN_ID, ours=ours) or span.id)
    names = _read_own_names(span) if ours else _read_foreign_names(span)
    attributes, left_out = _read_own_attributes(source) if ours else _read_foreign_attributes(span, names, texts=texts)
    repairs: list[tuple[OtlpRepair, str]] = []
    parent = _read_parent_span(span, own, repairs, ours=ours)
    times = _make_span_phase(span, repairs, ours=ours)
    repairs += [(OtlpRepair.BAD_NAME, own)] * (names.name != names.original)
    links: list[Json] = list(_read_span_links(span))
    if len(links) > SPAN_LINKS_MAX:
        repairs.append((OtlpRepair.LINKS, f"{len(links):,}"))
    event: dict[str, Json] = {
        "custody": 1,
        "kind": "span",
        "id": f"{execution}:{own}:{times['phase']}",
        "execution": execution,
        "span": own,
        "name": names.name,
        "span_kind": names.kind,
        **times,
        "parent": parent,
        "links": links[:SPAN_LINKS_MAX],
        "server": names.server,
        "attributes": attributes,
        "dropped": min(_count_dropped_attributes(span, ours=ours) + left_out, 2**53),
        "agent": names.agent,
        "session": names.session,
    }
    present: dict[str, Json] = {name: value for name, value in event.items() if value or value == ""}
    return SpanEventResult(present, tuple(repairs), left_out)


class _SpanName(Struct, frozen=True):
    """The names of a span in its event; ``original`` is its name before it was adjusted."""

    name: str
    original: str
    kind: str
    server: str | None
    agent: str | None
    session: str | None


def _read_own_names(span: OtlpSpan) -> _SpanName:
    attributes = span.attributes
    kind = str(attributes[KIND])
    server = (
        fit_span_name(_read_text_attribute(attributes, SERVER) or "")
        if kind == SpanKind.TOOL.value and attributes.get(SERVER)
        else None
    )
    return _SpanName(
        fit_span_name(span.name),
        span.name,
        kind,
        server,
        _read_text_attribute(attributes, AGENT),
        _read_text_attribute(attributes, SESSION),
    )


def _read_foreign_names(span: OtlpSpan) -> _SpanName:
    attributes = tuple([(name, value) for name, value in span.attributes.items() if name in NAMING])
    resource = tuple([(name, value) for name, value in span.resource.items() if name in NAMING])
    if all(type(value) is str for _, value in (*attributes, *resource)):
        return _find_foreign_names(span.name, attributes, resource)
    return _make_foreign_names(span)


@lru_cache(512)  # a program calls the same tools and models in many spans
def _find_foreign_names(
    name: str, attributes: tuple[tuple[str, str], ...], resource: tuple[tuple[str, str], ...]
) -> _SpanName:
    return _make_foreign_names(
        OtlpSpan(trace="", id="", name=name, attributes=dict(attributes), resource=dict(resource))
    )


def _make_foreign_names(span: OtlpSpan) -> _SpanName:
    kind = span_kind_from_otlp(span)
    name, server = call_name_from_otlp(span, kind)
    return _SpanName(
        fit_span_name(name),
        name,
        kind.value,
        None if server is None else fit_span_name(server),
        _fit_span_name_or_none(agent_from_otlp_span(span)),
        _fit_span_name_or_none(session_from_otlp_span(span)),
    )


# --- attributes -------------------------------------------------------------------------------------------------------


def _read_own_attributes(attributes: Mapping[str, OtlpValue]) -> tuple[dict[str, Json], int]:
    """Return the attributes as they were stored: without those added for other tools, escaped names restored."""
    added = set((_read_text_attribute(attributes, ADDED) or "").split(","))
    selected = {
        key.removeprefix(ESCAPED): value
        for key, value in attributes.items()
        if key not in added and (not key.startswith(OURS) or key.startswith(ESCAPED))
    }
    return _limit_span_attributes(selected, texts=True)


def _read_foreign_attributes(span: OtlpSpan, names: _SpanName, *, texts: bool) -> tuple[dict[str, Json], int]:
    selected = dict(span.attributes)
    if names.name != span.name and span.name:
        selected.setdefault(FULL_NAME, truncate_span_text(span.name))
    if span.message and span.status == 2:
        selected.setdefault(DESCRIPTION, truncate_span_text(span.message))
    return _limit_span_attributes(selected, texts=texts)


def _limit_span_attributes(attributes: Mapping[str, OtlpValue], *, texts: bool) -> tuple[dict[str, Json], int]:
    """Return as many attributes as an event can hold, those of conventions first, and how many were left out."""
    keys = _order_attribute_names(tuple(attributes), texts=texts)
    selected: dict[str, Json] = {}
    for key in keys:
        if len(selected) == SPAN_ATTRIBUTES_MAX:
            break
        value = _otlp_value_to_plain(attributes[key], cut=texts)
        if value is not None or attributes[key] is None:
            selected[key] = value
    return selected, len(attributes) - len(selected)


@lru_cache(512)  # a program repeats few sets of names in many spans
def _order_attribute_names(names: tuple[str, ...], *, texts: bool) -> list[str]:
    """Return the names that an event can have, those of conventions first."""
    keys = [
        key
        for key in sorted(names)
        if fit_span_attribute_key(key) is not None and (texts or not is_text_attribute(key))
    ]
    return [*filter(_is_conventional, keys), *filterfalse(_is_conventional, keys)]


def _is_conventional(key: str) -> bool:
    return key.startswith(_FIRST)


def _otlp_value_to_plain(value: OtlpValue, *, cut: bool) -> bool | int | float | str | None:
    """Return a value that a record can hold; None for one that is too long, unless ``cut``."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= _PLAIN_CHARS_MAX and value.isascii() and "\0" not in value:
        return value
    if isinstance(value, int):
        return value if INT_MIN <= value <= NS_MAX else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        text = value.hex()
    else:
        text = clean_span_text(
            value if isinstance(value, str) else dump_canonical_json(_otlp_value_to_json(value)).decode()
        )
    if len(truncate_span_text(text)) == len(text):
        return text
    return truncate_span_text(text) if cut else None


def _otlp_value_to_json(value: OtlpValue) -> Json:
    match value:
        case bytes():
            return value.hex()
        case float():
            return value if math.isfinite(value) else str(value)
        case list():
            return [_otlp_value_to_json(child) for child in value]
        case dict():
            return {key: _otlp_value_to_json(child) for key, child in value.items()}
        case _:
            return value


# --- the rest of an event ---------------------------------------------------------------------------------------------


def _make_span_phase(span: OtlpSpan, repairs: list[tuple[OtlpRepair, str]], *, ours: bool) -> dict[str, Json]:
    """Return the phase, times and status of an event."""
    start = _read_otlp_timestamp(span, START, span.start_ns, ours=ours)
    end = _read_otlp_timestamp(span, END, span.end_ns, ours=ours)
    repairs += [(OtlpRepair.BAD_TIME, span.id)] * bool(span.bad_times)
    status = _read_span_status(span, ours=ours)
    if start is None and end is None:
        repairs.append((OtlpRepair.NO_TIME, span.id))
        return {"phase": "start", "at": format_timestamp(0)}
    if end is None or start is None:
        repairs.append((OtlpRepair.NO_END if end is None else OtlpRepair.NO_START, span.id))
    if start is None:
        return {"phase": "end", "at": format_timestamp(end or 0), "status": status}
    if end is None:
        return {"phase": "start", "at": format_timestamp(start)}
    if end < start:
        repairs.append((OtlpRepair.BACKWARDS, span.id))
    return {"phase": "whole", "at": format_timestamp(start), "ended_at": format_timestamp(end), "status": status}


def _read_otlp_timestamp(span: OtlpSpan, name: str, time_ns: int | None, *, ours: bool) -> int | None:
    stored = span.attributes.get(name) if ours else None
    is_time = isinstance(stored, int) and not isinstance(stored, bool) and -NS_MAX <= stored <= 0
    return stored if is_time and isinstance(stored, int) else time_ns


def _read_span_status(span: OtlpSpan, *, ours: bool) -> str:
    stored = span.attributes.get(STATUS) if ours else None
    if stored in (SpanStatus.ABANDONED.value, SpanStatus.KILLED.value):
        return str(stored)
    return SpanStatus.ERROR.value if span.status == 2 else SpanStatus.OK.value


def _read_parent_span(span: OtlpSpan, own: str, repairs: list[tuple[OtlpRepair, str]], *, ours: bool) -> str | None:
    named = _read_custody_attribute(span.attributes, PARENT_ID, ours=ours) or span.parent
    parent = None if named is None else fit_span_name(named)
    if parent == own:
        repairs.append((OtlpRepair.OWN_PARENT, own))
        return None
    return parent


def _read_span_links(span: OtlpSpan) -> Iterator[Json]:
    for link in span.links:
        trace = _read_text_attribute(link.attributes, TRACE_ID) or link.trace
        ids: dict[str, Json] = {"span": fit_span_name(_read_text_attribute(link.attributes, SPAN_ID) or link.span)}
        yield ids if trace is None else {**ids, "execution": fit_span_name(trace)}


def _count_dropped_attributes(span: OtlpSpan, *, ours: bool) -> int:
    stored = span.attributes.get(DROPPED) if ours else None
    return stored if isinstance(stored, int) and not isinstance(stored, bool) and stored > 0 else span.dropped


def _read_custody_attribute(attributes: Mapping[str, OtlpValue], name: str, *, ours: bool) -> str | None:
    return _read_text_attribute(attributes, name) if ours else None


def _read_text_attribute(attributes: Mapping[str, OtlpValue], name: str) -> str | None:
    value = attributes.get(name)
    return _fit_span_name_or_none(value) if isinstance(value, str) and value else None


def _fit_span_name_or_none(name: str | None) -> str | None:
    return None if name is None else fit_span_name(name, WORD_CHARS_MAX)
