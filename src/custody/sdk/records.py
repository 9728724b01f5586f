"""A span as exporters get it: built from the caller's raw values when an exporter reads it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

PLAIN = frozenset((str, int, float, bool, type(None)))
"""Types of attributes that are stored unchanged; other values become text."""


Raw = tuple[Any, ...]
"""The fields of a ``SpanRecord`` as the caller's thread left them: ids as numbers, attributes may be None."""


class SpanRecord(NamedTuple):
    """A span as an exporter gets it; ids in hexadecimal, times in nanoseconds since 1970."""

    execution: str
    span: str
    parent: str | None
    phase: str
    name: str
    kind: str
    server: str | None
    started_ns: int
    ended_ns: int | None
    status: str | None
    attributes: Mapping[str, bool | int | float | str | None]
    links: tuple[tuple[str | None, str], ...]


class SpanBatch(Sequence[SpanRecord]):
    """Spans in the order in which they ended, each built when it is read."""

    def __init__(self, raw: list[Raw]) -> None:
        self._raw = raw

    def __len__(self) -> int:
        return len(self._raw)

    @overload
    def __getitem__(self, place: int) -> SpanRecord: ...
    @overload
    def __getitem__(self, place: slice) -> "SpanBatch": ...
    def __getitem__(self, place: int | slice) -> "SpanRecord | SpanBatch":
        return SpanBatch(self._raw[place]) if isinstance(place, slice) else _span_record_from_raw(self._raw[place])

    def __iter__(self) -> Iterator[SpanRecord]:
        return map(_span_record_from_raw, self._raw)


def to_plain_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as plain values, when the span ends, so that the objects are not retained."""
    return {key: value if type(value) in PLAIN else _format_span_attribute(value) for key, value in attributes.items()}


def _format_span_attribute(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - an object whose str() fails must not stop the traced program
        return f"<{type(value).__name__} that raises {type(error).__name__}>"


def _span_record_from_raw(raw: Raw) -> SpanRecord:
    execution, span, parent, phase, name, kind, server, started, ended, status, attributes, links = raw
    if not (type(name) is type(kind) is str and (server is None or type(server) is str)):
        name, kind, server = (
            _format_span_attribute(name),
            _format_span_attribute(kind),
            None if server is None else _format_span_attribute(server),
        )
    return SpanRecord(
        _format_span_id(execution, 32), _format_span_id(span, 16),
        None if parent is None else _format_span_id(parent, 16), phase, name, kind, server,
        started, ended, status, attributes, links and tuple((None, link) for link in links),
    )  # fmt: skip


def _format_span_id(number: int, digits: int) -> str:
    return f"{number:0{digits}x}"
