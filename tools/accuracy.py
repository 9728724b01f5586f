"""Checks that docs/accuracy.md matches the stored results."""

from pathlib import Path

from bench.bars import BenchError
from bench.kept import RESULTS
from bench.page import PAGE, accuracy_page
from tools.problems import Problem

HINT = "is not what its results make; run: python -m bench tables --write"


def check(root: Path) -> list[Problem]:
    """Return what is wrong with the page, if there are stored results."""
    if not (root / RESULTS).is_dir():
        return []
    try:
        wanted = accuracy_page(root)
    except BenchError as error:
        return [Problem(PAGE, 0, str(error))]
    page = root / PAGE
    there = page.read_text("utf-8") if page.is_file() else ""
    return [] if there == wanted else [Problem(PAGE, 0, HINT)]
