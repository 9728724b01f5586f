"""Spans of a traced program, on their way into the spool: made events, without secrets, durable when ``__call__`` ends.

The caller is a thread of somebody else's program: whatever names and values that program uses, each span becomes an
event that can be read again. What is too long is cut, what is too much is counted.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import msgspec

from custody.capture.hook.event_home import add_gap, fallback_of, key_of
from custody.capture.hook.place import common_dir_of, work_tree_of
from custody.capture.hook.secret_scan import trips
from custody.capture.spool import Spool
from custody.core.errors import SpoolError
from custody.core.views import SpanKind, SpanPhase, SpanStatus
from custody.core.wire.event import SPAN_ATTRIBUTES_MAX, SPAN_LINKS_MAX
from custody.core.wire.time import text_from
from custody.intake.record import redact_event_payload

FILE_BYTES_MAX = 4 * 1024 * 1024
NAME_MAX, KEY_MAX, TEXT_MAX = 200, 100, 1000
NAMELESS = "?"
_KINDS = frozenset(kind.value for kind in SpanKind)
_STATUSES = frozenset(status.value for status in SpanStatus)
_INT_MAX = 2**63 - 1
_CUT = "…"


class SpanFields(Protocol):
    """What an exporter is told of a span (``custody.sdk.SpanRecord``)."""

    @property
    def execution(self) -> str: ...
    @property
    def span(self) -> str: ...
    @property
    def parent(self) -> str | None: ...
    @property
    def phase(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def server(self) -> str | None: ...
    @property
    def started_ns(self) -> int: ...
    @property
    def ended_ns(self) -> int | None: ...
    @property
    def status(self) -> str | None: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...
    @property
    def links(self) -> tuple[tuple[str | None, str], ...]: ...


class SpoolExporter:
    """Puts spans into a repository's spool; into the user's own where that cannot be written; raises where neither."""

    def __init__(self, home: str, agent: str | None = None, session: str | None = None) -> None:
        self._home = home
        self._whose = {
            key: _name(value) for key, value in (("agent", agent), ("session", session)) if value is not None
        }

    def __call__(self, spans: Sequence[SpanFields]) -> None:
        """Make a batch of spans durable: all of it, or an error."""
        for made, said in _files(self._all_made(spans)):
            events = [self._without_secrets(event) for event in made] if trips(said) else made
            try:
                Spool(Path(self._home) / "spool").put_all(events, b"")
            except SpoolError:
                # The same event in both is one record, so what the first may have kept does not matter.
                Spool(Path(fallback_of(self._home, dict(os.environ))) / "spool").put_all(events, b"")

    def _all_made(self, spans: Sequence[SpanFields]) -> Iterator[tuple[bytes, bytes]]:
        for span in spans:
            try:
                yield self._made(span)
            except (TypeError, ValueError, OverflowError) as error:
                # One that cannot be written must not hold up all that come after it.
                self.gap(f"1 span could not be written: {type(error).__name__}")

    def _without_secrets(self, event: bytes) -> bytes:
        """The event without its secrets, within its limits: what stands for a secret may be longer than it was."""
        if not trips(event):
            return event
        clean: dict[str, Any] = redact_event_payload(msgspec.json.decode(event), lambda: key_of(self._home))
        names = {key: _name(clean[key]) for key in ("name", "server", "agent", "session") if key in clean}
        attributes, _ = _attributes(clean["attributes"])
        return _ENCODE({**clean, **names, "attributes": attributes})

    def gap(self, words: str) -> None:
        """Count what could not be kept, where the doctor looks."""
        add_gap(self._home, words, dict(os.environ))

    def _made(self, fields: SpanFields) -> tuple[bytes, bytes]:
        """The event of a span, and the part of it that is the program's own words."""
        attributes, dropped = _attributes(fields.attributes)
        kind = fields.kind if fields.kind in _KINDS else SpanKind.WORKFLOW.value
        said: dict[str, Any] = {**self._whose, "name": _name(fields.name), "attributes": attributes}
        if fields.server is not None and kind == SpanKind.TOOL.value:
            said["server"] = _name(fields.server)
        if fields.links:
            said["links"] = [_link(*link) for link in fields.links[:SPAN_LINKS_MAX]]
        ended = fields.phase == SpanPhase.END.value and fields.ended_ns is not None
        event = {
            "custody": 1,
            "kind": "span",
            "id": f"{fields.span}-{fields.phase}",
            "at": text_from((fields.ended_ns or 0) if ended else fields.started_ns),
            "execution": fields.execution,
            "span": fields.span,
            "phase": fields.phase,
            "span_kind": kind,
            **said,
        }
        if fields.parent is not None:
            event["parent"] = fields.parent
        if fields.phase == SpanPhase.WHOLE.value:
            # A clock that was set back must not make an end before its start.
            event["ended_at"] = text_from(max(fields.started_ns, fields.ended_ns or 0))
        if fields.phase != SpanPhase.START.value:
            event["status"] = fields.status if fields.status in _STATUSES else SpanStatus.ERROR.value
        if dropped:
            event["dropped"] = dropped
        return _ENCODE(event), _ENCODE(said)


def exporter_to(folder: str, agent: str | None = None, session: str | None = None) -> SpoolExporter | None:
    """The way into the spool of the repository around ``folder``; None where there is none."""
    found = work_tree_of(folder)
    return None if found is None else SpoolExporter(str(Path(common_dir_of(found[1])) / "custody"), agent, session)


def _files(made: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[list[bytes], bytes]]:
    """Events in as many files as their size needs, each with what the program said in them, once."""
    events: list[bytes] = []
    said: dict[bytes, None] = {}
    size = 0
    for event, words in made:
        if events and size + len(event) > FILE_BYTES_MAX:
            yield events, b"\n".join(said)
            events, said, size = [], {}, 0
        events.append(event)
        said[words] = None
        size += len(event) + 1
    if events:
        yield events, b"\n".join(said)


def _attributes(given: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    kept = list(given.items())[:SPAN_ATTRIBUTES_MAX]
    return {_key(key): _value(value) for key, value in kept}, len(given) - len(kept)


def _value(value: object) -> bool | int | float | str | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_INT_MAX <= value <= _INT_MAX else f"{value:#x}"[:TEXT_MAX]
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    return _text(str(value))


def _text(text: str) -> str:
    if len(text) > TEXT_MAX:
        text = text[: TEXT_MAX - 1] + _CUT
    return text if text.isprintable() else text.encode("utf-8", "replace").decode().replace("\0", "�")


@lru_cache(4096)
def _key(text: str) -> str:
    return _name(text)[:KEY_MAX]


@lru_cache(4096)
def _name(text: str) -> str:
    text = str(text)[:NAME_MAX]
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else " " for sign in text).strip()
    return text or NAMELESS


def _link(execution: str | None, span: str) -> dict[str, str]:
    return {"span": _name(span)} | ({} if execution is None else {"execution": _name(execution)})


_ENCODE = msgspec.json.Encoder().encode
