"""A verdict in other formats: within their limits, and text of the change never becomes markup."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec import structs

from custody.core.wire.sarif import SarifRule
from custody.gate.model import CODES
from custody.gate.wire.forms import (
    encode_check_run,
    encode_gate_annotations,
    encode_gate_sarif,
    encode_markdown,
    escape_verdict_markup,
    truncate_verdict_text,
)
from custody.gate.wire.report import AddedLines, GateReport, PlaceReport, ReasonReport

HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:alert(1)) @everyone #12 `code` **b** | ~~s~~ \x1b[2J\u202e\n# H"
HERE = PlaceReport("src/first.py", 7, 7)
RULES = [SarifRule(code.value, code.value, about.meaning, about.remedy) for code, about in CODES.items()]


def a_report(*reasons: ReasonReport, level: str = "review") -> GateReport:
    return GateReport(
        outcome="found" if level == "block" else "fine",
        base="a" * 40,
        head="b" * 40,
        fork="a" * 40,
        worktree=False,
        assurance="self-reported",
        level=level,  # type: ignore[arg-type]  # one of its words
        reasons=list(reasons),
        added=AddedLines(agent=1, mixed=0, person=0, none=2),
        unread=[],
        checks=["attribution"],
        skipped=[],
        rules_digest="sha256:" + "0" * 64,
        rules_from=[],
        as_of="2026-11-16T09:00:00Z",
        chain_head=None,
        chains=[],
        index=None,
        gaps=0,
        description=None,
        trust=[],
    )


def test_markdown_counts_lines_in_the_words_of_the_terminal_without_zeros() -> None:
    report = structs.replace(a_report(), added=AddedLines(agent=1_200, mixed=2, person=3, none=0))
    assert "\n1,205 added lines: 1,200 agents, 2 both, 3 people.\n" in encode_markdown(report)


def a_reason(sentence: str, *places: PlaceReport, level: str = "review") -> ReasonReport:
    return ReasonReport("ATTR-NONE", level, sentence, "read it", list(places))  # type: ignore[arg-type]


def regions(report: GateReport) -> list[dict[str, int]]:
    """Return the locations of the results of a SARIF verdict."""
    results = json.loads(encode_gate_sarif(report, "1.0", RULES, HERE))["runs"][0]["results"]
    return [result["locations"][0]["physicalLocation"]["region"] for result in results]


class Tags(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(markdown: str) -> Tags:
    page = Tags()
    page.feed(MarkdownIt("gfm-like", {"linkify": False}).render(markdown))
    return page


def test_what_the_change_says_becomes_no_markup() -> None:
    page = rendered(encode_markdown(a_report(a_reason(HOSTILE))))
    assert page.tags <= {"p", "strong", "ul", "li", "em", "code", "sub"}
    assert "<img src=x onerror=alert(1)>" in page.text
    assert "@everyone" not in encode_markdown(a_report(a_reason(HOSTILE)))


@given(st.text())
def test_escaped_words_are_read_as_they_were(text: str) -> None:
    page = rendered(f"x{escape_verdict_markup(text)}x")
    assert page.tags <= {"p"}
    printable = "".join(character if character.isprintable() else " " for character in text)
    assert page.text.strip() == f"x{printable}x"


@pytest.mark.parametrize(("level", "conclusion"), [("approve", "success"), ("review", "neutral"), ("block", "failure")])
def test_a_check_run_has_the_conclusion_of_its_level(level: str, conclusion: str) -> None:
    run = json.loads(encode_check_run(a_report(level=level)))
    assert (run["name"], run["head_sha"], run["status"], run["conclusion"]) == (
        "custody",
        "b" * 40,
        "completed",
        conclusion,
    )
    assert run["completed_at"] == "2026-11-16T09:00:00Z"


def test_a_check_run_gives_its_time_to_the_second_as_github_has_it() -> None:
    run = json.loads(encode_check_run(structs.replace(a_report(), as_of="2026-11-16T09:00:00.123456789Z")))
    assert run["completed_at"] == "2026-11-16T09:00:00Z"


def test_a_check_run_keeps_to_the_limits_of_its_host() -> None:
    places = [PlaceReport(f"src/file{n:03}.py", n + 1, n + 2) for n in range(500)]
    many = [a_reason("ä" * 2000, *places) for _ in range(40)]
    output = json.loads(encode_check_run(a_report(*many)))["output"]
    assert len(output["annotations"]) == 50
    assert len(output["summary"].encode()) <= 65_535 and len(output["title"]) <= 255
    assert all(len(one["message"].encode()) <= 64 * 1024 for one in output["annotations"])
    first = output["annotations"][0]
    assert (first["path"], first["start_line"], first["end_line"], first["annotation_level"]) == (
        "src/file000.py",
        1,
        2,
        "warning",
    )


def test_places_that_are_not_marked_are_counted() -> None:
    places = [PlaceReport("a.py", 2 * n + 1, 2 * n + 1) for n in range(53)]
    assert (
        "3 more places not annotated"
        in json.loads(encode_check_run(a_report(a_reason("so", *places))))["output"]["summary"]
    )


def test_adjacent_lines_are_one_place_in_every_format() -> None:
    report = a_report(a_reason("so", *(PlaceReport("a.py", n, n) for n in (*range(1, 200), 300))))
    marks = json.loads(encode_check_run(report))["output"]["annotations"]
    assert [(one["start_line"], one["end_line"]) for one in marks] == [(1, 199), (300, 300)]
    assert [(one["startLine"], one["endLine"]) for one in regions(report)] == [(1, 199), (300, 300)]
    assert encode_gate_annotations(report).count(b"\n") == 2


def test_sarif_has_a_result_for_each_place() -> None:
    report = a_report(a_reason("so", PlaceReport("a b.py", 3, 4), PlaceReport("logo", None, None)))
    run = json.loads(encode_gate_sarif(report, "1.0", RULES, HERE))["runs"][0]
    placed, file = run["results"]
    assert placed["level"] == "warning"
    location = placed["locations"][0]["physicalLocation"]
    assert (location["artifactLocation"]["uri"], location["region"]["startLine"]) == ("a%20b.py", 3)
    assert file["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    assert run["tool"]["driver"]["rules"][placed["ruleIndex"]]["id"] == "ATTR-NONE"


def test_in_sarif_what_is_about_the_whole_change_stands_somewhere_too() -> None:
    # GitHub refuses the whole file for one result without a location.
    (result,) = json.loads(encode_gate_sarif(a_report(a_reason("so")), "1.0", RULES, HERE))["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]
    assert (location["artifactLocation"]["uri"], location["region"]["startLine"]) == ("src/first.py", 7)
    assert result["message"]["text"] == "the change as a whole: so"


@given(st.text(), st.integers(8, 100))
def test_a_cut_text_is_no_longer_than_asked_for(text: str, most: int) -> None:
    assert len(truncate_verdict_text(text, most).encode()) <= most
