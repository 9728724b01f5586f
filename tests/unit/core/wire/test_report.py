"""Every report is canonical JSON with its type, version and outcome."""

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import given

from custody.cli.json_schema import REPORTS
from custody.core.errors import Outcome
from custody.core.wire.canonical import NESTING_MAX, Json, dump_canonical_json, parse_json_bytes
from custody.core.wire.report import (
    EraseReport,
    ImportReport,
    IntegrityFinding,
    RecordSummary,
    Report,
    ShowReport,
    encode_report,
)
from custody.gate.wire.report import ChainName, CommitId
from tests.builders.drawn import exactly, json_values, texts
from tests.builders.table import table

STORE = "5" * 32
KEPT = RecordSummary(
    f"{STORE}:1", 1, "2026-01-31T12:00:00Z", "edit", "event:robot:s1:edit:1", "e1", "sha256:" + "0" * 64
)

PATTERNED: dict[Any, str] = {CommitId: "c" * 40, ChainName: STORE}


def made_of(hint: Any, *, full: bool) -> Any:
    """Return a value of any type in reports: with all fields, or without optional ones."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in PATTERNED:
        return PATTERNED[hint]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return a_report(hint, full=full)
    if origin is Literal:
        return args[-1] if full else args[0]
    if origin in (UnionType, Union):
        return made_of(args[0], full=full) if full else None
    if origin is list:
        return [made_of(args[0], full=full)] if full else []
    if origin is dict:
        keys = get_args(args[0]) if get_origin(args[0]) is Literal else ("b", "a")
        return {key: made_of(args[1], full=full) for key in keys} if full else {}
    plain = {str: "é\udcff\n", int: 2**53, float: 0.5, bool: True, Any: {"b": [1, None], "a": "x"}}
    return plain[hint.__origin__ if get_origin(hint) is Annotated else hint]


def a_report(kind: type[msgspec.Struct], *, full: bool) -> Any:
    """Return a report, or a part of one, made from its types, so that new reports are tested automatically."""
    hints = get_type_hints(kind, include_extras=True)
    wanted = (field for field in msgspec.structs.fields(kind) if field.required or full)
    return kind(**{field.name: made_of(hints[field.name], full=full) for field in wanted if field.name != "version"})


@table("kind", REPORTS)
@table("full", [True, False])
def test_a_report_is_canonical_and_carries_its_name_version_and_outcome(kind: type[Report], full: bool) -> None:
    report = a_report(kind, full=full)
    data = encode_report(report)
    value = parse_json_bytes(data)
    assert dump_canonical_json(value) == data
    assert b"\n" not in data
    assert isinstance(value, dict)
    name, outcome = kind.__struct_config__.tag, "found" if full else "fine"
    assert (value["report"], value["version"], value["outcome"]) == (name, 1, outcome)
    assert set(value) == {"report", *kind.__struct_fields__}, "what is not known is null, never left out"
    assert msgspec.convert(value, kind) == report, "nothing is lost on the way"


def test_no_two_reports_have_the_same_name() -> None:
    assert len({report.__struct_config__.tag for report in REPORTS}) == len(REPORTS)


def test_a_report_by_hand() -> None:
    report = EraseReport(erased=["sha256:" + "0" * 64], records=[f"{STORE}:4"])
    assert encode_report(report) == (
        b'{"erased":["sha256:%s"],"outcome":"fine","records":["%s:4"],"report":"erase","version":1}'
        % (b"0" * 64, STORE.encode())
    )


@given(texts, texts)
def test_whatever_a_finding_says_can_be_read_again(what: str, path: str) -> None:
    report = ImportReport(path=path, chains=[], pending=0, findings=[IntegrityFinding("X", what)])
    value = parse_json_bytes(encode_report(report))
    assert isinstance(value, dict)
    assert (value["path"], value["findings"]) == (path, [{"code": "X", "what": what, "record": None}])


@given(json_values)
def test_what_a_record_says_is_shown_exactly(value: Json) -> None:
    shown = parse_json_bytes(encode_report(ShowReport(records=[KEPT], payloads=[value])))
    assert isinstance(shown, dict)
    assert exactly(shown["payloads"]) == exactly([value])


def test_a_record_as_deep_as_one_may_be_is_shown() -> None:
    value: Json = "x"
    for _ in range(NESTING_MAX):
        value = [value]
    assert b"[" * NESTING_MAX in encode_report(ShowReport(records=[KEPT], payloads=[value]))


def test_outcomes_are_those_of_the_exit_table() -> None:
    assert set(get_args(get_type_hints(Report)["outcome"])) == {outcome.value for outcome in Outcome}
