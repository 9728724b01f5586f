"""The output for users and programs is unchanged; the package's docstring explains how to update it."""

import difflib
from pathlib import Path

import pytest

from tests.golden.cases import FOLDER, Make, cases

CASES = dict(cases())
LINES_SHOWN_MAX = 60


@pytest.mark.parametrize("name", CASES)
def test_the_answers_are_as_they_were(name: str, tmp_path: Path) -> None:
    make: Make = CASES[name]
    expected, actual = (FOLDER / name).read_text("utf-8"), make(tmp_path)
    if actual != expected:
        lines = difflib.unified_diff(expected.splitlines(), actual.splitlines(), "stored", "now", n=1, lineterm="")
        shown = "\n".join(line[:300] for line in list(lines)[:LINES_SHOWN_MAX])
        pytest.fail(f"{name} differs (update with: python -m tests.golden {name})\n{shown}", pytrace=False)


def test_no_answer_is_left_over() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(CASES)
