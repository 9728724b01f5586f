"""``custody cite report`` and ``custody cite contract`` as a user runs them."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from custody.cite.contract import citation_contract
from custody.sources import ResearchSource, cited_report, save_report_object
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody
from tests.unit.cite.drafts import SOURCES, TEXT

BAD = TEXT.replace("[S7]", "[S9]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_report_object(cited_report(TEXT, SOURCES), tmp_path / "saved.md")
    return tmp_path


# Conformance: 003-086
def test_a_saved_report_is_shown_with_the_table_of_its_sources(folder: Path) -> None:
    ran = custody(folder, "cite", "report", "saved.md", COLUMNS="80")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "                               Prices of mackerel\n"
        "\n"
        "The price rose by 12% in 2024 [^1]. Catches fell to 3,000 tonnes, says the\n"
        "agency [^2].\n"
        "\n"
        "Boats\n"
        "\n"
        "Boats were smaller than before [^3][^2].\n"
        "\n"
        "marker  id  title               URL\n"
        "[^1]    S2  Annual review       https://example.org/review\n"
        "[^2]    S1  Fishery statistics  https://example.org/statistics\n"
        "[^3]    S7  An interview        -\n"
        "audit: passed; audit_failures 0, citation_coverage 1, orphaned_sources 0\n"
    )


# Conformance: 003-069, 003-097
def test_the_table_matches_the_footnotes(folder: Path) -> None:
    report = json.loads(custody(folder, "cite", "report", "saved.md", "--json").out)
    notes = report["text"].split("## Footnotes\n\n")[1].splitlines()
    assert len(notes) == len(report["sources"]) == 3
    for note, source in zip(notes, report["sources"], strict=True):
        assert note.startswith(f"{source['marker']}: {source['title']}")
        assert source["url"] is None or note.endswith(f"<{source['url']}>")
    assert (report["beside"], report["passed"]) == ("there", True)
    assert report["quality_metrics"] == {"audit_failures": 0.0, "citation_coverage": 1.0, "orphaned_sources": 0.0}


def test_a_report_that_failed_its_audit_says_so(folder: Path) -> None:
    save_report_object(cited_report(BAD, SOURCES), folder / "bad.md")
    ran = custody(folder, "cite", "report", "bad.md")
    assert ran.status == 1
    assert "audit: FAILED; audit_failures 1, citation_coverage 1, orphaned_sources 1\n" in ran.out
    assert "7:32: CITE-UNKNOWN [S9] is not in the source list\n" in ran.out
    assert json.loads(custody(folder, "cite", "report", "bad.md", "--json").out)["outcome"] == "found"


def test_a_report_changed_since_saving_has_no_metrics(folder: Path) -> None:
    with (folder / "saved.md").open("a") as end:
        end.write("\n## More\n\nWords.\n")
    ran = custody(folder, "cite", "report", "saved.md")
    assert ran.status == 0 and "audit:" not in ran.out
    assert "[^3]    -   An interview" in ran.out
    assert "was changed after its metrics were saved" in ran.err


def test_unreadable_metrics_are_a_warning(folder: Path) -> None:
    (folder / "saved.md.citations.json").write_text('{"beside":"citations"}')
    ran = custody(folder, "cite", "report", "saved.md")
    assert ran.status == 0 and "audit:" not in ran.out
    assert "'saved.md.citations.json': cannot read the saved metrics" in ran.err


def test_any_report_is_shown_also_from_stdin(folder: Path) -> None:
    text = "Words [S4] and [x](https://example.org/x).\n\n## Sources\n\n- [S4] *A* page <https://example.org/a>\n"
    ran = custody(folder, "cite", "report", "-", stdin=text)
    assert ran.out == (
        "Words [S4] and x (https://example.org/x).\n\n"
        "marker  id  title   URL\n[S4]    S4  A page  https://example.org/a\n"
    )
    assert custody(folder, "cite", "report", "-", stdin="Words.\n").out == "Words.\n\nno sources listed\n"


HOSTILE = "Words \x1b]0;owned\x07 \x9b2J \r over &#x202e;drow&#27;[2J and `\x1b[2J` [red]x[/red] [S1].\n\n"
HOSTILE += "| a\x1b[2J |\n|---|\n| &#x200b;b |\n\n![i\x08mg](x) [l](https://example.org/\x1b)\n"


def test_control_characters_of_a_report_never_reach_the_terminal(folder: Path) -> None:
    sources = [ResearchSource(source_id="S1", title="T\x1b[2J [red]x\u202e", url="https://example.org/\x1b[2J\x07")]
    save_report_object(cited_report(HOSTILE, sources), folder / "hostile.md")
    for name in ("hostile.md", "bare.md"):
        (folder / "bare.md").write_text((folder / "hostile.md").read_text())
        ran = custody(folder, "cite", "report", name)
        assert all(sign.isprintable() or sign == "\n" for sign in ran.out), ran.out
        assert all(shown in ran.out for shown in ("[red]x[/red]", "\\u202e", "\\x07", "\\x1b[2J"))


def test_on_a_terminal_only_our_own_colors_are_control_sequences(folder: Path) -> None:
    (folder / "hostile.md").write_text(HOSTILE + "\n## Sources\n\n- [S1] T\x1b[2J https://example.org/a\n")
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "custody", "cite", "report", "hostile.md"]
    done = subprocess.Popen(words, cwd=folder, stdout=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "80"})
    os.close(theirs)
    out = b""
    try:
        while more := os.read(ours, 65536):
            out += more
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    assert done.wait() == 0
    commands = [one.split(b"m", 1)[0] for one in out.split(b"\x1b")[1:]]
    assert commands and all(one.startswith(b"[") and set(one[1:]) <= set(b"0123456789;") for one in commands)
    assert b"\x07" not in out and b"\x08" not in out and "\x9b".encode() not in out


def test_a_report_that_is_too_long_is_an_error(folder: Path) -> None:
    ran = custody(folder, "cite", "report", "missing.md")
    assert ran.status == 2 and "cannot read 'missing.md'" in ran.err
    ran = custody(folder, "cite", "report", "-", stdin="word " * 1_000_000)
    assert ran.status == 2 and "too long to render" in ran.err


def test_the_contract_of_the_registry_is_printed(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "repository")
    assert "No sources are registered: write no markers" in custody(folder, "cite", "contract").out
    custody(folder, "cite", "add", "https://example.org/a", "--title", "A [page]")
    custody(folder, "cite", "add", "https://example.org/b", "--title", "B")
    custody(folder, "cite", "add", "https://example.org/c", "--title", "C")
    custody(folder, "cite", "merge", "S1", "S3", "--reason", "the same")
    ran = custody(folder, "cite", "contract")
    assert ran.status == 0
    wanted = [
        ResearchSource(source_id="S1", title="A [page]", url="https://example.org/a"),
        ResearchSource(source_id="S2", title="B", url="https://example.org/b"),
    ]
    assert ran.out == citation_contract(wanted)
    some = json.loads(custody(folder, "cite", "contract", "S3", "S1", "--json").out)
    assert (some["kind"], [one["id"] for one in some["sources"]]) == ("contract", ["S1"])
    assert some["text"] == citation_contract(wanted[:1])
    assert "tag it with the" in custody(folder, "cite", "contract", "--context").out


def test_the_contract_has_the_effective_minimum(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "repository")
    (folder / "custody.toml").write_text("[cite]\ncoverage_min = 0.8\n")
    assert "At least 80% of the statements" in custody(folder, "cite", "contract").out


def test_an_unknown_id_is_an_error(tmp_path: Path) -> None:
    ran = custody(a_git_folder(tmp_path / "repository"), "cite", "contract", "S9")
    assert ran.status == 2 and "unknown source 'S9'" in ran.err
