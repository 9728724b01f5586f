"""Findings for code hosts and editors: SARIF 2.1.0, and annotations for build logs."""

from collections.abc import Iterable, Sequence
from typing import Literal
from urllib.parse import quote

import msgspec

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

SarifLevel = Literal["error", "warning", "note"]


class SarifRule(msgspec.Struct, frozen=True):
    """One kind of finding: its code, a short name, its meaning, and what to do."""

    code: str
    name: str
    meaning: str
    remedy: str


class SarifResult(msgspec.Struct, frozen=True):
    """One finding with its location, if it has one; lines and columns count from 1, columns in characters.

    ``last`` is the last line of a range.
    """

    code: str
    message: str
    file: str | None
    line: int
    column: int
    level: SarifLevel = "error"
    last: int | None = None


class _Text(msgspec.Struct, frozen=True):
    text: str


class _Rule(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    short_description: _Text
    full_description: _Text
    help: _Text


class _Driver(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    version: str
    rules: list[_Rule]


class _Tool(msgspec.Struct, frozen=True):
    driver: _Driver


class _Artifact(msgspec.Struct, frozen=True):
    uri: str


class _Region(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    start_line: int
    start_column: int
    end_line: int | None = None


class _PhysicalLocation(msgspec.Struct, frozen=True, rename="camel"):
    artifact_location: _Artifact
    region: _Region


class _Location(msgspec.Struct, frozen=True, rename="camel"):
    physical_location: _PhysicalLocation


class _Result(msgspec.Struct, frozen=True, rename="camel"):
    rule_id: str
    rule_index: int
    level: SarifLevel
    message: _Text
    locations: list[_Location]


class _SarifRun(msgspec.Struct, frozen=True, rename="camel"):
    tool: _Tool
    column_kind: Literal["unicodeCodePoints"]
    results: list[_Result]


class _SarifLog(msgspec.Struct, frozen=True):
    schema: str = msgspec.field(name="$schema")
    version: Literal["2.1.0"]
    runs: list[_SarifRun]


def encode_sarif(tool_version: str, rules: Sequence[SarifRule], results: Sequence[SarifResult]) -> bytes:
    """Encode one run with ``rules`` and ``results``; the code of every result must be in ``rules``."""
    indexes = {rule.code: index for index, rule in enumerate(rules)}
    described = [_Rule(rule.code, _Text(rule.name), _Text(rule.meaning), _Text(rule.remedy)) for rule in rules]
    found = [
        _Result(result.code, indexes[result.code], result.level, _Text(result.message), _make_sarif_locations(result))
        for result in results
    ]
    run = _SarifRun(_Tool(_Driver("custody", tool_version, described)), "unicodeCodePoints", found)
    return msgspec.json.encode(_SarifLog(SCHEMA, "2.1.0", [run]))


def _make_sarif_locations(result: SarifResult) -> list[_Location]:
    if result.file is None:
        return []
    return [
        _Location(_PhysicalLocation(_Artifact(quote(result.file)), _Region(result.line, result.column, result.last)))
    ]


# Annotations: lines in a build log that GitHub shows next to the change.
# GitHub reads them as workflow commands; GitLab and others ignore them. The author of the change may control the
# message, so nothing in it can end the line or start another command.


AnnotationLevel = Literal["error", "warning", "notice"]

TITLE_CHARACTERS_MAX = 255
MESSAGE_CHARACTERS_MAX = 4_000
_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """One finding: its level, code and message, and its lines if it has a location."""

    level: AnnotationLevel
    title: str
    message: str
    file: str | None = None
    first: int = 1
    last: int = 1


def encode_annotations(found: Iterable[Annotation]) -> bytes:
    r"""Encode one line per annotation.

    >>> one = Annotation(level="notice", title="T", message="a\n::error::b", file="x,y.py", first=2, last=3)
    >>> encode_annotations([one])
    b'::notice file=x%2Cy.py,line=2,endLine=3,title=T::a%0A::error::b\n'
    """
    return "".join(map(_format_annotation_line, found)).encode("utf-8", "replace")


def _format_annotation_line(annotation: Annotation) -> str:
    title = _strip_annotation_controls(annotation.title)[:TITLE_CHARACTERS_MAX].translate(_IN_PROPERTY)
    place = ""
    if annotation.file is not None:
        file = _strip_annotation_controls(annotation.file).translate(_IN_PROPERTY)
        place = f"file={file},line={annotation.first},endLine={annotation.last},"
    message = _strip_annotation_controls(annotation.message)[:MESSAGE_CHARACTERS_MAX].translate(_IN_MESSAGE)
    return f"::{annotation.level} {place}title={title}::{message}\n"


def _strip_annotation_controls(text: str) -> str:
    """Return the text without control characters; line ends are escaped later."""
    return "".join(char if char.isprintable() or char in "\r\n" else " " for char in text)
