"""A span as exporters get it: made from what the caller's thread left, when an exporter asks for it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

PLAIN = frozenset((str, int, float, bool, type(None)))
"""What an attribute is kept as; everything else becomes text."""


Raw = tuple[Any, ...]
"""The fields of a ``SpanRecord`` as the caller's thread left them: ids as numbers, attributes perhaps None."""


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
    """Spans in the order in which they ended, each made when it is asked for."""

    def __init__(self, raw: list[Raw]) -> None:
        self._raw = raw

    def __len__(self) -> int:
        return len(self._raw)

    @overload
    def __getitem__(self, place: int) -> SpanRecord: ...
    @overload
    def __getitem__(self, place: slice) -> "SpanBatch": ...
    def __getitem__(self, place: int | slice) -> "SpanRecord | SpanBatch":
        return SpanBatch(self._raw[place]) if isinstance(place, slice) else _record(self._raw[place])

    def __iter__(self) -> Iterator[SpanRecord]:
        return map(_record, self._raw)


def plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as plain values, made when the span ends: the objects themselves are not held."""
    return {key: value if type(value) in PLAIN else _text(value) for key, value in attributes.items()}


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - an object that cannot say what it is must not stop the traced program
        return f"<{type(value).__name__} that raises {type(error).__name__}>"


def _record(raw: Raw) -> SpanRecord:
    execution, span, parent, phase, name, kind, server, started, ended, status, attributes, links = raw
    if not (type(name) is type(kind) is str and (server is None or type(server) is str)):
        name, kind, server = _text(name), _text(kind), None if server is None else _text(server)
    return SpanRecord(
        _hex(execution, 32), _hex(span, 16), None if parent is None else _hex(parent, 16), phase, name, kind, server,
        started, ended, status, attributes, links and tuple((None, link) for link in links),
    )  # fmt: skip


def _hex(number: int, digits: int) -> str:
    return f"{number:0{digits}x}"
