"""What importing and exporting OpenTelemetry's spans says."""

import msgspec

from custody.core.wire.report import Report


class SpanPlace(msgspec.Struct, frozen=True):
    """Where something was mended: the file, its line or its frame where it has some, and the span or why."""

    file: str
    line: int | None
    what: str


class SpanRepairReport(msgspec.Struct, frozen=True):
    """One thing that was mended: its code, the sentence for it, how often, and the first places."""

    code: str
    what: str
    count: int
    places: list[SpanPlace]


class ImportOtlpReport(Report, frozen=True, kw_only=True, tag="import-otlp"):
    """What was read of OpenTelemetry's spans and what became of it.

    ``known`` spans were in the store before; those that came twice are among ``repairs``. ``attributes_left_out`` are
    texts that were not asked for and what is too long or too many. ``unfollowed`` spans wait for a parent of which
    nobody looked whether it came, since too many wait.
    """

    files: list[str]
    spans: int
    new: int
    known: int
    kinds: dict[str, int]
    attributes_left_out: int
    unfollowed: int
    repairs: list[SpanRepairReport]


class ExportOtlpReport(Report, frozen=True, kw_only=True, tag="export-otlp"):
    """What was written; ``sessions`` are captured ones, told as spans."""

    path: str
    spans: int
    executions: int
    sessions: int
    without_end: int
    bytes: int
