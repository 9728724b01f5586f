"""Span events made ready: without secrets, and certain to be read again."""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from custody.capture.hook.event_home import add_gap, key_of
from custody.core.errors import InputError, SpoolError
from custody.core.ids import EventId
from custody.core.wire.arrival import Arrival, arrival_from
from custody.core.wire.canonical import Json, dump
from custody.graph.otlp.event import event_of
from custody.graph.wire.otlp_span import OtlpSpan
from custody.intake.redaction import redact_event_payload
from custody.workspace.workspace import Workspace

SHORT_SIGNS = 100
"""What stays of texts where taking a secret out of one made it too long."""


def span_arrival(event: dict[str, Json], key: Callable[[], bytes]) -> Arrival:
    """A span event on its way into a chain; an ``InputError`` if no way can be found to keep it."""
    # Named by its content, so that a span is known again wherever it is read from.
    name = EventId(f"import-{sha256(dump(event)).hexdigest()[:32]}")
    clean = redact_event_payload(event, key)
    try:
        return arrival_from(name, clean)
    except InputError:
        if clean is event:
            raise
        return arrival_from(name, _shortened(clean))


class SpanSpool:
    """The way of another library's spans into a repository's spool."""

    def __init__(self, folder: Path, *, texts: bool) -> None:
        self._workspace = Workspace(folder)
        self._texts = texts
        if self._workspace.home is None:
            raise InputError(f"'{folder}' is in no repository", hint="name a folder inside one")

    @cached_property
    def _home(self) -> str:
        return str(self._workspace.home)

    def put(self, spans: Sequence[OtlpSpan]) -> int:
        """Make spans durable in one file, and give how many could not be made events; a ``SpoolError`` keeps none."""
        events = []
        for span in spans:
            try:
                events.append(span_arrival(event_of(span, texts=self._texts).event, lambda: key_of(self._home)).payload)
            except InputError:
                continue  # counted by the difference
        if events:
            self._put(events)
        return len(spans) - len(events)

    def gap(self, lost: int) -> None:
        """Count what could not be kept, where the doctor looks."""
        add_gap(self._home, f"{lost} span(s) of OpenTelemetry's could not be kept", dict(os.environ))

    def _put(self, events: Sequence[bytes]) -> None:
        own, users = self._workspace.spools
        try:
            own.put_all(events)
        except SpoolError:
            # The same event in both is one record, so what the first may have kept does not matter.
            users.put_all(events)


def _shortened(event: dict[str, Json]) -> dict[str, Json]:
    """The event with the beginnings of its texts alone: what stands for a secret may be longer than the secret was."""
    names: dict[str, Json] = {
        n: _truncate_value(event[n]) for n in ("name", "server", "agent", "session") if n in event
    }
    given = event.get("attributes")
    attributes: Json = {key: _truncate_value(value) for key, value in given.items()} if isinstance(given, dict) else {}
    return {**event, **names, "attributes": attributes}


def _truncate_value(value: Json) -> Json:
    return value[:SHORT_SIGNS] if isinstance(value, str) else value
