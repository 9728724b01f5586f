"""Annotations for CI logs: one line per finding, whatever its text."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from custody.attribution.wire import (
    Attribution,
    BlameReport,
    CompetingClaim,
    encode_blame_annotations,
    encode_blame_sarif,
)
from custody.core.wire.sarif import Annotation, encode_annotations
from custody.gate.wire.forms import encode_gate_annotations
from custody.gate.wire.report import PlaceReport, ReasonReport
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody
from tests.unit.gate.wire.test_forms import HOSTILE, a_report


@given(st.text(), st.text(), st.none() | st.text(), st.integers(1, 99))
def test_nothing_that_a_finding_says_ends_its_line(title: str, message: str, file: str | None, line: int) -> None:
    one = Annotation(level="warning", title=title, message=message, file=file, first=line, last=line)
    made = encode_annotations([one, one]).decode()
    assert made.count("\n") == 2 and made.endswith("\n")
    first = made.split("\n")[0]
    assert first.startswith("::warning ") and "\r" not in first and "\x1b" not in first
    properties = first.removeprefix("::warning ").partition("::")[0]
    assert properties.count(",") == (3 if file is not None else 0)


def test_reasons_are_at_their_lines_and_adjacent_ones_are_joined() -> None:
    places = [
        PlaceReport("a.py", 4, 4),
        PlaceReport("a.py", 2, 3),
        PlaceReport("b.py", 5, 5),
        PlaceReport("a.py", 9, 9),
    ]
    made = encode_gate_annotations(
        a_report(
            ReasonReport("ATTR-WEAK", "block", "weak", "read it", places),
            ReasonReport("TRUST-NEW", "review", HOSTILE, "wait", []),
        )
    ).decode()
    assert [line.partition("::")[2].partition("::")[0] for line in made.splitlines()] == [
        "error file=a.py,line=2,endLine=4,title=ATTR-WEAK",
        "error file=a.py,line=9,endLine=9,title=ATTR-WEAK",
        "error file=b.py,line=5,endLine=5,title=ATTR-WEAK",
        "warning title=TRUST-NEW",
    ]


def an_attribution(first: int, last: int, kind: str, **fields: object) -> Attribution:
    said: dict[str, object] = {
        "start_line": first,
        "end_line": last,
        "kind": kind,
        "share": 0.5 if kind == "mixed" else 1.0,
        "tier": 2,
        "confidence": 0.9,
        "certainty": "certain",
        "score": 9.0,
        "agent": "robot",
        "model_id": "m-1",
        "session_id": "s1",
        "signals": [],
        "evidence": [],
        "commits": [],
        "claims": [],
    }
    empty = ("grade", "trace_id", "tool_call_id", "conversation_url", "conversation_summary", "reason", "searched")
    return Attribution(**{**dict.fromkeys(empty), **said, **fields})  # type: ignore[arg-type]  # built for a test


def a_blame(*found: Attribution) -> BlameReport:
    return BlameReport(
        path="src/a b.py", revision=None, profile="lineage", rules_digest="", attributions=list(found), notes=[]
    )


def test_only_agents_lines_are_reported_and_both_of_two_claims() -> None:
    claim = CompetingClaim("git-ai 1.0", "cursor", None, "s9", "claimed", "r")
    report = a_blame(
        an_attribution(1, 3, "agent"),
        an_attribution(4, 4, "none"),
        an_attribution(5, 6, "mixed", claims=[claim]),
        an_attribution(7, 7, "person"),
    )
    results = json.loads(encode_blame_sarif(report, "1"))["runs"][0]["results"]
    assert [(one["ruleId"], one["level"], one["locations"][0]["physicalLocation"]["region"]) for one in results] == [
        ("ATTR-LINES-AGENT", "note", {"startLine": 1, "startColumn": 1, "endLine": 3}),
        ("ATTR-LINES-MIXED", "note", {"startLine": 5, "startColumn": 1, "endLine": 6}),
        ("ATTR-LINES-CONTESTED", "note", {"startLine": 5, "startColumn": 1, "endLine": 6}),
    ]
    assert encode_blame_annotations(report).decode().splitlines() == [
        "::notice file=src/a b.py,line=1,endLine=3,title=ATTR-LINES-AGENT::robot, m-1, certain; session s1",
        (
            "::notice file=src/a b.py,line=5,endLine=6,title=ATTR-LINES-MIXED"
            "::robot, m-1, 50%25 of each line, certain; session s1"
        ),
        (
            "::notice file=src/a b.py,line=5,endLine=6,title=ATTR-LINES-CONTESTED"
            "::git-ai 1.0 claims them for cursor, model unknown"
        ),
    ]


def test_output_formats_are_mutually_exclusive(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "r")
    ran = custody(folder, "blame", "x", "--json", "--format", "sarif")
    assert ran.status == 2 and "--json, --porcelain and --format are mutually exclusive" in ran.err
