"""The table in docs/threat-model.md shows the committed results, and a stale one is reported."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools import threats
from tools.problems import Undocumented

ROOT = Path(__file__).resolve().parents[2]
PAGE = f"# Threats\n\n{threats.BEGIN}{threats.END}after\n"


def an_outcome(**fields: Any) -> dict[str, Any]:
    return {"before": "review", "after": "review", "assurance": None, "withstood": True, **fields}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a page without its table, and the results of two attacks."""
    results = {
        "push": {"attacker": "A2", "ways": ["git remote"], "does": "pushes", "outcomes": {"team policy": an_outcome()}},
        "type": {
            "attacker": "A1",
            "ways": ["hook", "command line"],
            "does": "types",
            "outcomes": {
                "team policy": an_outcome(after="approve", assurance="witnessed", withstood=False),
                "no policy": an_outcome(after="approve", assurance="self-reported"),
            },
        },
    }
    for path, text in ((threats.PAGE, PAGE), (threats.RESULTS, json.dumps(results))):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_the_table_lists_attacks_by_attacker_and_names_those_that_succeed(tree: Path) -> None:
    assert [problem.message for problem in threats.write(tree)] == [threats.STALE]
    text = (tree / threats.PAGE).read_text()
    assert "2 attacks, 3 runs with and without a policy, 1 successful." in text
    rows = [line for line in text.splitlines() if line.startswith("| A")]
    gained = "review → approve (witnessed), **succeeds**"
    assert rows == [
        f"| A1 | types | hook, command line | {gained} | review → approve (self-reported) |",
        "| A2 | pushes | git remote | review |  |",
    ]
    assert text.endswith(f"{threats.END}after\n")
    assert threats.check(tree) == []


def test_a_page_without_markers_and_missing_results_are_reported(tree: Path) -> None:
    (tree / threats.RESULTS).unlink()
    with pytest.raises(Undocumented, match=r"needs 'tests/attacks/results\.json'"):
        threats.with_attacks(PAGE, tree)
    (tree / threats.PAGE).write_text("# Threats\n")
    assert [problem.message for problem in threats.check(tree)] == [threats.UNMARKED]


def test_the_page_of_this_repository_is_current() -> None:
    assert threats.check(ROOT) == []
