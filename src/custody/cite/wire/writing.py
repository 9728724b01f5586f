"""What is kept beside a saved report, and what ``custody cite report`` and ``custody cite contract`` answer."""

from typing import Literal

import msgspec

from custody.cite.wire.audit import ReportFinding
from custody.core.errors import InputError
from custody.core.wire.report import Report

BESIDE_BYTES_MAX = 16 * 1024 * 1024


class ReportSource(msgspec.Struct, frozen=True, kw_only=True):
    """One source of a report: the marker that stands for it in the text, its id in the registry, what it is."""

    marker: str | None
    id: str | None
    title: str
    url: str | None


class SavedReportInfo(msgspec.Struct, frozen=True, kw_only=True, tag_field="beside", tag="citations"):
    """What is known of a saved report; ``digest`` is that of the report's bytes, so that the two are not mixed up."""

    version: Literal[1] = 1
    name: str
    digest: str
    passed: bool
    quality_metrics: dict[str, float]
    findings: list[ReportFinding]
    answers: list[str]
    sources: list[ReportSource]


class CiteReportReport(Report, frozen=True, kw_only=True, tag="cite-report"):
    """A saved report with its sources; the metrics are there if they were saved beside it and are of these bytes."""

    file: str
    digest: str
    text: str
    sources: list[ReportSource]
    beside: Literal["there", "missing", "of another text"]
    passed: bool | None
    quality_metrics: dict[str, float] | None
    findings: list[ReportFinding]


class CiteContractReport(Report, frozen=True, kw_only=True, tag="cite-contract"):
    """The citation contract for some sources of the registry, or what those who gather are told of them."""

    kind: Literal["contract", "context"]
    text: str
    sources: list[ReportSource]


def encode_beside(value: SavedReportInfo) -> bytes:
    """The same bytes for the same value, a line for each field, so that people can read it too."""
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"


def decode_beside(data: bytes) -> SavedReportInfo:
    """Read it again, or say that it is none."""
    if len(data) > BESIDE_BYTES_MAX:
        raise InputError(f"what is kept beside the report has more than {BESIDE_BYTES_MAX:,} bytes")
    try:
        return msgspec.json.decode(data, type=SavedReportInfo)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"what is kept beside the report cannot be read: {error}") from error
