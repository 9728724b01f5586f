"""Findings with a place as SARIF 2.1.0, which code hosts and editors show beside the lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

import msgspec

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

SarifLevel = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class SarifRule:
    """One kind of finding: its code, its name in a few words, what it means, what to do."""

    code: str
    name: str
    meaning: str
    remedy: str


@dataclass(frozen=True, slots=True)
class SarifResult:
    """One finding at its place, if it has one; lines and columns count from 1, columns in characters.

    ``last`` is the last line of one that is about several.
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
    """One run with all ``rules`` and these ``results``; every result's code is one of the rules'."""
    places = {rule.code: place for place, rule in enumerate(rules)}
    described = [_Rule(rule.code, _Text(rule.name), _Text(rule.meaning), _Text(rule.remedy)) for rule in rules]
    found = [
        _Result(result.code, places[result.code], result.level, _Text(result.message), _locations(result))
        for result in results
    ]
    run = _SarifRun(_Tool(_Driver("custody", tool_version, described)), "unicodeCodePoints", found)
    return msgspec.json.encode(_SarifLog(SCHEMA, "2.1.0", [run]))


def _locations(result: SarifResult) -> list[_Location]:
    if result.file is None:
        return []
    return [
        _Location(_PhysicalLocation(_Artifact(quote(result.file)), _Region(result.line, result.column, result.last)))
    ]
