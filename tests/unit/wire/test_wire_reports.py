"""Every report is canonical JSON that says what it is, which version, and how it came out."""

from typing import get_args, get_type_hints

import pytest
from hypothesis import given

from custody.model.errors import Outcome
from custody.wire.canonical import NESTING_MAX, Json, dump, parse
from custody.wire.reports import (
    REPORTS,
    Chain,
    Check,
    DoctorReport,
    EraseReport,
    ExportReport,
    Finding,
    ImportedChain,
    ImportReport,
    Kept,
    RecordsReport,
    Report,
    RuleInForce,
    RulesReport,
    RulesSource,
    ShowReport,
    VerifyReport,
    encode_report,
)
from tests.builders.drawn import exactly, json_values, texts

STORE = "5" * 32
FINDING = Finding("CHAIN-GAP", "record 2 is missing", f"{STORE}:2")
KEPT = Kept(f"{STORE}:1", 1, "2026-01-31T12:00:00Z", "edit", "event:robot:s1:edit:1", "e1", "sha256:" + "0" * 64)
REPORTS_MADE: dict[str, Report] = {
    "verify": VerifyReport(
        outcome="found", chains=[Chain(STORE, 3, "0" * 64, True)], records=3, bodies=2, erased=1, pending=0,
        findings=[FINDING],
    ),
    "doctor": DoctorReport(store=STORE, checks=[Check("views", "ill", "they are behind", "run it again")], rebuilt=7),
    "export": ExportReport(path="a/\udcff", chains=1, records=3, bodies=2, erased=1, forks=0, pending=4, bytes=512),
    "import": ImportReport(path="a.jsonl", chains=[ImportedChain(STORE, 1, 2, 0)], pending=0, findings=[]),
    "erase": EraseReport(erased=["sha256:" + "0" * 64], records=[f"{STORE}:4"]),
    "records": RecordsReport(records=[KEPT], total=5),
    "rules": RulesReport(
        rules=[RuleInForce("trust.tier_score_min", [0, 0.2], [0, 0.5], ["custody.toml: trust.tier_score_min"])],
        digests={"trust": "sha256:" + "0" * 64}, digest="sha256:" + "1" * 64,
        sources=[RulesSource("custody.toml", "read", 1), RulesSource("pyproject.toml", "foreign", 0)],
    ),
    "show": ShowReport(records=[KEPT, KEPT], payloads=[{"kind": "edit", "after": "\udcff"}, None]),
}  # fmt: skip


def test_every_report_is_tried() -> None:
    assert {type(report) for report in REPORTS_MADE.values()} == set(REPORTS)
    assert len({report.__struct_config__.tag for report in REPORTS}) == len(REPORTS)


@pytest.mark.parametrize(("name", "report"), REPORTS_MADE.items())
def test_a_report_is_canonical_and_carries_its_name_version_and_outcome(name: str, report: Report) -> None:
    data = encode_report(report)
    value = parse(data)
    assert dump(value) == data
    assert b"\n" not in data
    assert isinstance(value, dict)
    assert (value["report"], value["version"], value["outcome"]) == (name, 1, report.outcome)
    assert set(value) == {"report", *report.__struct_fields__}


def test_reports_by_hand() -> None:
    assert encode_report(REPORTS_MADE["erase"]) == (
        b'{"erased":["sha256:%s"],"outcome":"fine","records":["%s:4"],"report":"erase","version":1}'
        % (b"0" * 64, STORE.encode())
    )
    assert encode_report(DoctorReport(store=STORE, checks=[Check("views", "well", "they are current")])) == (
        b'{"checks":[{"hint":null,"name":"views","state":"well","what":"they are current"}],'
        b'"outcome":"fine","rebuilt":null,"report":"doctor","store":"%s","version":1}' % STORE.encode()
    )


@given(texts, texts)
def test_whatever_a_finding_says_can_be_read_again(what: str, path: str) -> None:
    report = ImportReport(path=path, chains=[], pending=0, findings=[Finding("X", what)])
    value = parse(encode_report(report))
    assert isinstance(value, dict)
    assert (value["path"], value["findings"]) == (path, [{"code": "X", "what": what, "record": None}])


@given(json_values)
def test_what_a_record_says_is_shown_exactly(value: Json) -> None:
    shown = parse(encode_report(ShowReport(records=[KEPT], payloads=[value])))
    assert isinstance(shown, dict)
    assert exactly(shown["payloads"]) == exactly([value])


def test_a_record_as_deep_as_one_may_be_is_shown() -> None:
    value: Json = "x"
    for _ in range(NESTING_MAX):
        value = [value]
    assert b"[" * NESTING_MAX in encode_report(ShowReport(records=[KEPT], payloads=[value]))


def test_outcomes_are_those_of_the_exit_table() -> None:
    assert set(get_args(get_type_hints(Report)["outcome"])) == {outcome.value for outcome in Outcome}
