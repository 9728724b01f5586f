"""An exporter that writes spans of a traced program to the spool, without secrets and durably.

The caller is a thread of another program: whatever names and values that program uses, each span becomes a valid
event. Long texts are cut, and attributes over the limit are counted.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import msgspec

from custody.capture.hook.event_home import load_redaction_key, locate_event_fallback, record_capture_gap
from custody.capture.hook.place import find_common_git_dir, find_owned_work_tree
from custody.capture.hook.secret_scan import has_possible_secret
from custody.capture.spool import Spool
from custody.core.errors import SpoolError
from custody.core.views import SpanKind, SpanPhase, SpanStatus
from custody.core.wire.event import SPAN_ATTRIBUTES_MAX, SPAN_LINKS_MAX
from custody.core.wire.time import format_timestamp
from custody.intake.record import redact_event_payload

FILE_BYTES_MAX = 4 * 1024 * 1024
NAME_MAX, KEY_MAX, TEXT_MAX = 200, 100, 1000
NAMES_MAX = 4096
"""Cleaned names and keys that an exporter remembers."""
NAMELESS = "?"
_KINDS = frozenset(kind.value for kind in SpanKind)
_STATUSES = frozenset(status.value for status in SpanStatus)
_INT_MAX = 2**63 - 1
_CUT = "…"


class SpanFields(Protocol):
    """The fields of a span that an exporter reads (``custody.sdk.SpanRecord``)."""

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
    """Writes spans to a repository's spool, or to the user's own if that fails; raises if both fail."""

    def __init__(self, home: str, agent: str | None = None, session: str | None = None) -> None:
        self._home = home
        self._author = {
            key: _clean_span_name(value) for key, value in (("agent", agent), ("session", session)) if value is not None
        }
        # A program repeats few names and keys in many spans.
        self._clean_name = lru_cache(NAMES_MAX)(_clean_span_name)
        self._clean_key = lru_cache(NAMES_MAX)(_clean_attribute_key)

    def __call__(self, spans: Sequence[SpanFields]) -> None:
        """Make a batch of spans durable: all of it, or raise an error."""
        for batch, program_text in _batch_spool_files(self._encode_spans(spans)):
            events = [self._without_secrets(event) for event in batch] if has_possible_secret(program_text) else batch
            try:
                Spool(Path(self._home) / "spool").put_all(events, b"")
            except SpoolError:
                # The same event in both spools is one record, so a partial write to the first does no harm.
                Spool(Path(locate_event_fallback(self._home, dict(os.environ))) / "spool").put_all(events, b"")

    def _encode_spans(self, spans: Sequence[SpanFields]) -> Iterator[tuple[bytes, bytes]]:
        for span in spans:
            try:
                yield self._encode_span(span)
            except (TypeError, ValueError, OverflowError) as error:
                # One bad span must not hold up the spans after it.
                self.gap(f"1 span could not be written: {type(error).__name__}")

    def _without_secrets(self, event: bytes) -> bytes:
        """Return the event without its secrets, within its limits: a redaction mark may be longer than the secret."""
        if not has_possible_secret(event):
            return event
        clean: dict[str, Any] = redact_event_payload(msgspec.json.decode(event), lambda: load_redaction_key(self._home))
        names = {key: _clean_span_name(clean[key]) for key in ("name", "server", "agent", "session") if key in clean}
        attributes, _ = _clean_span_attributes(clean["attributes"], self._clean_key)
        return _ENCODE({**clean, **names, "attributes": attributes})

    def gap(self, reason: str) -> None:
        """Record a gap in recording, which 'custody doctor' reports."""
        record_capture_gap(self._home, reason, dict(os.environ))

    def _encode_span(self, fields: SpanFields) -> tuple[bytes, bytes]:
        """Return the event of a span, and the part of it that the program wrote."""
        attributes, dropped = _clean_span_attributes(fields.attributes, self._clean_key)
        kind = fields.kind if fields.kind in _KINDS else SpanKind.WORKFLOW.value
        program_fields: dict[str, Any] = {
            **self._author,
            "name": self._clean_name(fields.name),
            "attributes": attributes,
        }
        if fields.server is not None and kind == SpanKind.TOOL.value:
            program_fields["server"] = self._clean_name(fields.server)
        if fields.links:
            program_fields["links"] = [self._link(*link) for link in fields.links[:SPAN_LINKS_MAX]]
        ended = fields.phase == SpanPhase.END.value and fields.ended_ns is not None
        event = {
            "custody": 1,
            "kind": "span",
            "id": f"{fields.span}-{fields.phase}",
            "at": format_timestamp((fields.ended_ns or 0) if ended else fields.started_ns),
            "execution": fields.execution,
            "span": fields.span,
            "phase": fields.phase,
            "span_kind": kind,
            **program_fields,
        }
        if fields.parent is not None:
            event["parent"] = fields.parent
        if fields.phase == SpanPhase.WHOLE.value:
            # A clock that was set back must not make an end before its start.
            event["ended_at"] = format_timestamp(max(fields.started_ns, fields.ended_ns or 0))
        if fields.phase != SpanPhase.START.value:
            event["status"] = fields.status if fields.status in _STATUSES else SpanStatus.ERROR.value
        if dropped:
            event["dropped"] = dropped
        return _ENCODE(event), _ENCODE(program_fields)

    def _link(self, execution: str | None, span: str) -> dict[str, str]:
        link = {"span": self._clean_name(span)}
        return link if execution is None else {**link, "execution": self._clean_name(execution)}


def make_spool_exporter(folder: str, agent: str | None = None, session: str | None = None) -> SpoolExporter | None:
    """Return an exporter to the spool of the repository around ``folder``; None outside a repository."""
    work_tree = find_owned_work_tree(folder)
    if work_tree is None:
        return None
    return SpoolExporter(str(Path(find_common_git_dir(work_tree[1])) / "custody"), agent, session)


def _batch_spool_files(encoded: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[list[bytes], bytes]]:
    """Yield events in as many files as their size needs, each with the distinct texts of the program."""
    events: list[bytes] = []
    texts: dict[bytes, None] = {}
    size = 0
    for event, text in encoded:
        if events and size + len(event) > FILE_BYTES_MAX:
            yield events, b"\n".join(texts)
            events, texts, size = [], {}, 0
        events.append(event)
        texts[text] = None
        size += len(event) + 1
    if events:
        yield events, b"\n".join(texts)


def _clean_span_attributes(
    attributes: Mapping[str, Any], clean_key: Callable[[str], str]
) -> tuple[dict[str, Any], int]:
    """Return the attributes that fit, and how many were dropped."""
    items = list(attributes.items())[:SPAN_ATTRIBUTES_MAX]
    return {clean_key(key): _clean_attribute_value(value) for key, value in items}, len(attributes) - len(items)


def _clean_attribute_value(value: object) -> bool | int | float | str | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_INT_MAX <= value <= _INT_MAX else f"{value:#x}"[:TEXT_MAX]
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    return _clean_attribute_text(str(value))


def _clean_attribute_text(text: str) -> str:
    if len(text) > TEXT_MAX:
        text = text[: TEXT_MAX - 1] + _CUT
    return text if text.isprintable() else text.encode("utf-8", "replace").decode().replace("\0", "�")


def _clean_attribute_key(text: str) -> str:
    return _clean_span_name(text)[:KEY_MAX]


def _clean_span_name(text: str) -> str:
    text = str(text)[:NAME_MAX]
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text).strip()
    return text or NAMELESS


_ENCODE = msgspec.json.Encoder().encode
