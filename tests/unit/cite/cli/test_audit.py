"""``custody cite audit``, ``convert`` and ``export`` as a user runs them, mostly outside a repository."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from custody.cite.codes import CODES
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody

REPORT = """# Prices

The price rose by 12% in 2024 [2]. Catches fell to 3,000 tonnes [1].

## Sources

1. Fishery statistics <https://example.org/statistics>
2. Annual review <https://example.org/>
"""
FINE = REPORT.replace("[2]", "[1]", 1).replace("tonnes [1]", "tonnes [2]").replace("org/>", "org/review>")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "report.md").write_text(REPORT)
    (tmp_path / "fine.md").write_text(FINE)
    return tmp_path


def test_findings_are_printed_with_positions_and_remedies(folder: Path) -> None:
    ran = custody(folder, "cite", "audit", "report.md")
    assert ran.status == 1 and not ran.err
    assert ran.out == (
        "report.md:3:65: CITE-ORDER [1] is first used after [2]\n"
        "report.md:8:1: CITE-DOMAIN [2] names only a site: https://example.org/\n"
        "CITE-ORDER: renumber the list with 'custody cite convert --to sources'\n"
        "CITE-DOMAIN: give the URL of the page that was read\n"
        "report.md: 2 findings; 2 sources, 2 markers, 2 of 2 sentences with evidence cited\n"
    )


def test_nothing_found_is_status_0(folder: Path) -> None:
    ran = custody(folder, "cite", "audit", "fine.md")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == "fine.md: OK; 2 sources, 2 markers, 2 of 2 sentences with evidence cited\n"


def test_json_has_findings_and_coverage(folder: Path) -> None:
    ran = custody(folder, "cite", "audit", "report.md", "fine.md", "--json")
    report = json.loads(ran.out)
    assert ran.status == 1 and report["outcome"] == "found"
    assert [(one["code"], one["line"], one["column"], one["file"]) for one in report["findings"]] == [
        ("CITE-ORDER", 3, 65, "report.md"),
        ("CITE-DOMAIN", 8, 1, "report.md"),
    ]
    assert all(one["message"] for one in report["findings"])
    assert report["coverage"] == {"cited": 4, "total": 4, "ratio": 1.0}
    assert [one["file"] for one in report["files"]] == ["report.md", "fine.md"]


def test_sarif_has_every_rule_and_every_finding(folder: Path) -> None:
    ran = custody(folder, "cite", "audit", "report.md", "--sarif")
    (run,) = json.loads(ran.out)["runs"]
    assert ran.status == 1
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [code.value for code in CODES]
    assert [one["ruleId"] for one in run["results"]] == ["CITE-ORDER", "CITE-DOMAIN"]


def test_stdin_is_audited(folder: Path) -> None:
    assert custody(folder, "cite", "audit", "-", stdin=FINE).out.startswith("-: OK")
    assert custody(folder, "cite", "audit", "-", stdin="").status == 1


def test_the_minimum_of_coverage_is_an_option_and_a_rule_of_the_repository(folder: Path) -> None:
    text = FINE.replace("2024 [1]", "2024").replace("tonnes [2]", "tonnes [1][2]")
    (folder / "half.md").write_text(text)
    assert custody(folder, "cite", "audit", "half.md").status == 0
    assert "CITE-COVERAGE" in custody(folder, "cite", "audit", "half.md", "--coverage-min", "0.6").out
    a_git_folder(folder)
    (folder / "custody.toml").write_text("[cite]\ncoverage_min = 0.7\n")
    assert "below 0.7" in custody(folder, "cite", "audit", "half.md").out
    (folder / "custody.toml").write_text("[cite]\ncoverage_min = 7\n")
    assert custody(folder, "cite", "audit", "half.md").status == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audit", "nowhere.md"), "cannot read 'nowhere.md': No such file or directory"),
        (("audit", "."), "'.' is not a file"),
        (("audit", "report.md", "--json", "--sarif"), "--sarif and --json are mutually exclusive"),
        (("audit",), "missing argument"),
        (("convert", "report.md"), "missing option '--to'"),
        (("convert", "-", "--to", "footnotes", "--in-place"), "--in-place needs a file"),
        (("convert", "report.md", "--to", "footnotes", "-i", "-o", "x.md"), "--in-place needs a file"),
        (("convert", "report.md", "--to", "footnotes", "--json"), "--json needs a file for the converted text"),
        (("convert", "report.md", "--to", "footnotes", "-o", "no/where.md"), "cannot write"),
        (("convert", "circle.md", "--to", "footnotes", "-i"), "refers to itself: [^1] → [^1]"),
        (("export", "report.md"), "missing option '--csl'"),
    ],
)
def test_invalid_calls_are_errors(folder: Path, words: tuple[str, ...], said: str) -> None:
    (folder / "circle.md").write_text("Words [^1].\n\n[^1]: see [^1]\n")
    ran = custody(folder, "cite", *words)
    assert ran.status == 2 and said in ran.err and not ran.out
    assert (folder / "report.md").read_text() == REPORT


def test_convert_prints_the_text_and_reports_markers_without_a_source(folder: Path) -> None:
    ran = custody(
        folder, "cite", "convert", "-", "--to", "footnotes", stdin=REPORT.replace("tonnes [1]", "tonnes [1][9]")
    )
    assert ran.status == 0
    assert (
        "The price rose by 12% in 2024 [^1]. Catches fell to 3,000 tonnes [^2] [9].\n\n## Footnotes\n\n[^1]: Annual"
        in ran.out
    )
    assert ran.err == "-:3:68: [9] is not in the source list; left unchanged\n"


def test_convert_in_place_keeps_the_mode_and_does_nothing_the_second_time(folder: Path) -> None:
    path = folder / "report.md"
    path.chmod(0o640)
    ran = custody(folder, "cite", "convert", "report.md", "--to", "sources", "--in-place")
    assert (ran.status, ran.out) == (0, "wrote 'report.md': 2 sources, 3 changes\n")
    assert path.stat().st_mode & 0o777 == 0o640
    assert custody(folder, "cite", "audit", "report.md").out.count("CITE-ORDER") == 0
    again = custody(folder, "cite", "convert", "report.md", "--to", "sources", "--in-place", "--json")
    assert json.loads(again.out)["written"] is False
    assert sorted(one.name for one in folder.iterdir()) == ["fine.md", "report.md"]


def test_convert_keeps_other_bytes(folder: Path) -> None:
    (folder / "report.md").write_bytes(b"Words \xff [1].\r\n\r\n## Sources\r\n\r\n1. A")
    custody(folder, "cite", "convert", "report.md", "--to", "markers", "-o", "new.md")
    assert (folder / "new.md").read_bytes() == b"Words \xff [S1].\r\n\r\n## Sources\r\n\r\n- [S1] A"


def test_export_writes_csl_json(folder: Path) -> None:
    ran = custody(folder, "cite", "export", "report.md", "--csl")
    assert json.loads(ran.out) == [
        {"id": "1", "type": "webpage", "title": "Fishery statistics", "URL": "https://example.org/statistics"},
        {"id": "2", "type": "webpage", "title": "Annual review", "URL": "https://example.org/"},
    ]
    assert custody(folder, "cite", "export", "report.md", "--csl", "-o", "sources.json").out == ""
    assert json.loads((folder / "sources.json").read_text()) == json.loads(ran.out)


def test_the_folder_option_sets_where_files_are(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert custody(elsewhere, "-C", str(folder), "cite", "audit", "fine.md").status == 0


def test_a_closed_pipe_is_not_an_error(folder: Path) -> None:
    (folder / "long.md").write_text("Words [1]. " * 100_000 + "\n\n## Sources\n\n1. A\n")
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m custody cite convert long.md --to footnotes | head -c 10",
        shell=True, cwd=folder, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (b"Words [^1]", b"")
