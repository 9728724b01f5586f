"""The terminal output on the tutorial and the question pages is the real output."""

import os
import sys
from pathlib import Path

import pytest

from tests.builders.in_process import custody_printing
from tests.unit.docs.console import Step, printed, steps, wrong
from tests.unit.docs.example import Shop, a_shop

DOCS = Path(__file__).resolve().parents[3] / "docs"
README = DOCS.parent / "README.md"
QUESTIONS = sorted((DOCS / "questions").glob("*.md"))
SOURCE = os.environ.get("CUSTODY_TUTORIAL_REPO")
"""Your own repository for the tutorial, instead of an empty one."""
HEADINGS = ("## How sure is that?", "## What it cannot tell")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """Make the repository of the documents, with custody on the path."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return a_shop(tmp_path / "shop", tmp_path / "home", source=Path(SOURCE) if SOURCE else None)


def typed(page: Path, shop: Shop) -> list[str]:
    """Run all commands of the page in order; return the differences from the page."""
    environment = shop.environment()
    found = [(step, printed(step, shop.folder, environment)) for step in steps(page.read_text("utf-8"))]
    assert found, f"{page.name} types nothing"
    return [difference for step, said in found if (difference := wrong(step, said))]


def test_the_tutorial_prints_what_it_says_and_leaves_nothing_in_the_work_tree(shop: Shop) -> None:
    assert typed(DOCS / "tutorial.md", shop) == []
    assert shop.git("status", "--porcelain") == ""


@pytest.mark.parametrize("page", [README, *QUESTIONS], ids=lambda page: page.stem)
def test_a_page_of_a_question_prints_what_it_says(page: Path, shop: Shop) -> None:
    status, said = custody_printing(shop.folder, ["import"], shop.environment())
    assert status == 0, said
    assert typed(page, shop) == []


@pytest.mark.parametrize("page", QUESTIONS, ids=lambda page: page.stem)
def test_a_page_of_a_question_asks_answers_and_says_its_limits(page: Path) -> None:
    text = page.read_text("utf-8")
    title, _, rest = text.partition("\n")
    assert title.startswith("# ")
    assert title.endswith("?")
    assert rest.lstrip().startswith("```console\n$ custody ")
    assert [heading for heading in HEADINGS if heading not in text] == []


def test_the_index_begins_with_every_question() -> None:
    questions = (DOCS / "README.md").read_text("utf-8").split("\n## ")[1]
    assert [page.name for page in QUESTIONS if f"(questions/{page.name})" not in questions] == []


def test_the_index_names_every_page() -> None:
    index = (DOCS / "README.md").read_text("utf-8")
    pages = (page.name for page in DOCS.glob("*.md") if page.name != "README.md")
    assert sorted(name for name in pages if f"({name})" not in index) == []


def test_another_answer_than_the_page_says_is_seen() -> None:
    step = Step(7, "custody verify", ("OK: … records verified", "…", "end"))
    assert wrong(step, ["OK: 3 records verified", "a", "b", "end"]) is None
    assert wrong(step, ["OK: 3 records verified", "a", "b"]) is not None
    assert wrong(step, ["FAILED: 3 records verified", "end"]) is not None


def test_a_command_that_goes_wrong_is_seen(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="line 3: 'exit 2' ended with 2"):
        printed(Step(3, "exit 2", ()), tmp_path, {"PATH": os.environ["PATH"]})
