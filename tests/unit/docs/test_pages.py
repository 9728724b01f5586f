"""The terminal output on the documents' pages is the real output."""

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from custody.server.auth import CallerLimits
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody_printing
from tests.builders.service import ALL, a_keeper, listening
from tests.unit.docs.console import Step, printed, steps, wrong
from tests.unit.docs.example import Shop, a_shop

DOCS = Path(__file__).resolve().parents[3] / "docs"
README = DOCS.parent / "README.md"
IMPORTED = (README, DOCS / "asking.md")
"""Pages about a repository whose sessions are imported, beside those of the questions."""
TYPED = (DOCS / "tutorial.md", DOCS / "import.md", DOCS / "sharing.md", DOCS / "recipes.md")
"""Pages with a test of their own; that of the recipes is in ``test_recipes``."""
GENERATED = DOCS / "terminal.md"
SERVICE = "https://custody.example.org"
QUESTIONS = sorted((DOCS / "questions").glob("*.md"))
SOURCE = os.environ.get("CUSTODY_TUTORIAL_REPO")
"""Your own repository for the tutorial, instead of an empty one."""
HEADINGS = ("## How sure is that?", "## What it cannot tell")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """Make the repository of the documents, with custody on the path."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return a_shop(tmp_path / "shop", tmp_path / "home", source=Path(SOURCE) if SOURCE else None)


def typed(page: Path, shop: Shop, service: str = SERVICE) -> list[str]:
    """Run all commands of the page in order, with ``service`` as its service; return the differences from the page."""
    environment = shop.environment()
    text = page.read_text("utf-8").replace(SERVICE, service)
    found = [(step, printed(step, shop.folder, environment)) for step in steps(text)]
    assert found, f"{page.name} types nothing"
    return [difference for step, said in found if (difference := wrong(step, said))]


def test_the_tutorial_prints_what_it_says_and_leaves_nothing_in_the_work_tree(shop: Shop) -> None:
    assert typed(DOCS / "tutorial.md", shop) == []
    assert shop.git("status", "--porcelain") == ""


def import_sessions(shop: Shop) -> None:
    status, said = custody_printing(shop.folder, ["import"], shop.environment())
    assert status == 0, said


@pytest.mark.parametrize("page", [*IMPORTED, *QUESTIONS], ids=lambda page: page.stem)
def test_a_page_of_a_question_prints_what_it_says(page: Path, shop: Shop) -> None:
    import_sessions(shop)
    assert typed(page, shop) == []


def test_the_page_of_imports_prints_what_it_says(shop: Shop) -> None:
    agent = {"tool": "claude", "id": "conv_abc", "model": "claude-sonnet-4-5"}
    metadata = {
        "schema_version": "authorship/3.0.0",
        "base_commit_sha": shop.git("rev-parse", "main").strip(),
        "prompts": {"d9978a8723e02b52": {"agent_id": agent}},
    }
    note = f"shop/prices.py\n  d9978a8723e02b52 12-14\n---\n{json.dumps(metadata)}"
    shop.git("notes", "--ref=ai", "add", "--message", note, "main")
    assert typed(DOCS / "import.md", shop) == []


def test_the_page_of_sharing_prints_what_it_says(shop: Shop, tmp_path: Path) -> None:
    import_sessions(shop)
    shop.git("init", "--quiet", "--bare", "--initial-branch=main", str(tmp_path / "remote.git"))
    shop.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    shop.git("push", "--quiet", "origin", "main", "discount")
    shop.git("clone", "--quiet", str(tmp_path / "remote.git"), str(tmp_path / "colleague"))
    shop.lay("token.txt", ALL)
    with a_service(tmp_path / "service") as url:
        assert typed(DOCS / "sharing.md", shop, url) == []


@contextmanager
def a_service(folder: Path) -> Iterator[str]:
    """Run a service with an empty store, and yield its URL."""
    with listening(a_keeper(Workspace(a_git_folder(folder))), CallerLimits()) as port:
        yield f"http://127.0.0.1:{port}"


def test_every_page_with_a_command_after_a_prompt_is_typed() -> None:
    prompts = {
        page for page in (README, *DOCS.rglob("*.md")) if re.search(r"^\$ ", page.read_text("utf-8"), re.MULTILINE)
    }
    assert prompts == {*IMPORTED, *TYPED, *QUESTIONS, GENERATED}
    for page in prompts - {GENERATED}:
        text = page.read_text("utf-8")
        assert len(list(steps(text))) == len(re.findall(r"^\$ ", text, re.MULTILINE)), f"{page.name}: use ```console"


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
