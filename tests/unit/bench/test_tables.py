"""Figures are stored as the benches print them, and docs/accuracy.md is made from them."""

import io
import json
from pathlib import Path

import pytest

from bench.bars import BenchError
from bench.kept import RUNS, Kept, read, words_of, write
from bench.page import GUIDE, PAGE, PARTS, accuracy_page, rows_of, taken
from bench.tables import main
from tools import accuracy

ROOT = Path(__file__).resolve().parents[3]
REDACTION = """seed 20260131, 6 of each kind
seen: recall 9/10 = 0.9000 over 5 kinds; harmless texts damaged 1/20, characters 0.1%; ids and hashes damaged 0; 2 MB/s
"""
TALLY = {"precision": 0.5, "recall": 1.0, "right": 1, "stolen": 1, "mistaken": 0, "missed": 0, "left_out": 2}
ATTRIBUTION = {
    "total": TALLY,
    "sorts": {"ordinary": TALLY},
    "tiers": [{"tier": 1, "class": "agent", **TALLY}],
    "stories": [{"exact": True, "failure": None}, {"exact": False, "failure": None}],
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with a guide that has every row of the page, and no results."""
    parts = [
        f"## {part}\n\n| what | command | figure | bar |\n|---|---|---|---|\n"
        + "".join(f"| {begin}x | `c` | 0.9 | none |\n" for begin in begins)
        for part, begins in PARTS.items()
    ]
    (tmp_path / GUIDE).parent.mkdir(parents=True)
    (tmp_path / GUIDE).write_text("\n".join(parts), encoding="utf-8")
    (tmp_path / PAGE).parent.mkdir(parents=True)
    return tmp_path


def ran(tree: Path, *words: str) -> tuple[int, str, str]:
    """Return the exit status and both streams of the command."""
    out, err = io.StringIO(), io.StringIO()
    return main([*words, "--root", str(tree)], out=out, err=err), out.getvalue(), err.getvalue()


def test_what_a_bench_printed_is_kept_and_shown(tree: Path) -> None:
    (tree / "printed.txt").write_text(REDACTION, encoding="utf-8")
    assert ran(tree, "--run", "redaction", "--output", str(tree / "printed.txt"))[:2] == (
        0,
        "wrote bench/results/redaction.json\n",
    )
    assert ran(tree, "--write") == (0, f"wrote {PAGE}\n", "")
    page = (tree / PAGE).read_text("utf-8")
    assert "| seen kinds (5) | 0.9000 | 9 of 10 | 1 of 20 | 0 |" in page
    assert "python -m bench.redaction --samples 6" in page
    assert accuracy.check(tree) == []


def test_the_page_of_this_tree_is_what_its_results_make() -> None:
    assert accuracy.check(ROOT) == []


def test_a_page_that_was_edited_by_hand_is_caught(tree: Path) -> None:
    write(tree / "bench" / "results", "redaction", RUNS["redaction"].kept(REDACTION))
    ran(tree, "--write")
    page = tree / PAGE
    page.write_text(page.read_text("utf-8").replace("0.9000", "0.9999"), encoding="utf-8")
    (problem,) = accuracy.check(tree)
    assert "python -m bench tables --write" in str(problem)


def test_a_tree_without_results_needs_no_page(tree: Path) -> None:
    assert accuracy.check(tree) == []


def test_attribution_becomes_a_row_for_everything_each_sort_and_each_tier() -> None:
    kept = RUNS["attribution-hooks"].kept(json.dumps({"groups": [ATTRIBUTION]}))
    assert [row[0] for row in kept.rows] == [
        "all 2 stories, 1 of them exact",
        "ordinary lines",
        "said with tier 1, agent",
    ]
    assert kept.rows[0][1:] == ["0.5000", "1.0000", "1", "1", "0", "0", "2"]


def test_a_run_with_a_story_that_could_not_be_played_is_not_kept() -> None:
    broken = {**ATTRIBUTION, "stories": [{"exact": False, "failure": "it broke"}]}
    with pytest.raises(BenchError, match="1 stories could not be played"):
        RUNS["attribution-hooks"].kept(json.dumps({"groups": [broken]}))


@pytest.mark.parametrize("name", RUNS)
def test_output_that_is_not_a_table_is_an_error(name: str) -> None:
    with pytest.raises(BenchError, match=f"'{name}' printed"):
        RUNS[name].kept("nothing of use\n")


def test_kept_figures_come_back_the_same(tmp_path: Path) -> None:
    kept = Kept("Graph", "what", "python -m bench x", ["a", "b"], [["1", "ä"]])
    assert read(write(tmp_path, "x", kept)) == kept


def test_a_bench_that_needs_a_folder_says_so() -> None:
    with pytest.raises(BenchError, match="--data FOLDER"):
        words_of(RUNS["trust"], None, None)
    with pytest.raises(BenchError, match="--output FILE"):
        words_of(RUNS["peers"], None, None)


def test_a_row_that_is_gone_from_the_guide_is_an_error(tree: Path) -> None:
    guide = (tree / GUIDE).read_text("utf-8").replace("| parts: x |", "| other |")
    with pytest.raises(BenchError, match="begins with 'parts: '"):
        taken(guide, "Trust")


def test_a_result_of_no_bench_is_an_error(tree: Path) -> None:
    write(tree / "bench" / "results", "unknown", Kept("Graph", "w", "c", ["a"], [["1"]]))
    with pytest.raises(BenchError, match=r"'bench/results/unknown\.json'"):
        accuracy_page(tree)
    assert ran(tree, "--write")[0] == 1


def test_a_table_without_commands_has_an_empty_cell_there() -> None:
    guide = "## A\n\n| what | figure | bar |\n|---|---|---|\n| x | 1 | none |\n\n## B\n\n| what | y |\n"
    assert list(rows_of(guide, "A")) == [["x", "", "1", "none"]]
