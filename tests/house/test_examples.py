"""Every example of STYLE.md that is missing in the tree is reported."""

from pathlib import Path

import pytest

from tools import examples

ROOT = Path(__file__).resolve().parents[2]
CODE = "def gather() -> None:\n    decide()\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src/custody").mkdir(parents=True)
    (tmp_path / "src/custody/engine.py").write_text(CODE)
    return tmp_path


def problems(tree: Path, text: str) -> list[str]:
    (tree / "STYLE.md").write_text(text)
    return [str(problem) for problem in examples.check(tree)]


def test_an_example_of_the_tree_is_sound(tree: Path) -> None:
    assert problems(tree, f"<!-- from: src/custody/engine.py -->\n```python\n{CODE}```\n") == []


def test_an_example_that_the_file_does_not_contain_is_named(tree: Path) -> None:
    text = "# Style\n\n<!-- from: src/custody/engine.py -->\n```python\ndef gather() -> int:\n```\n"
    assert problems(tree, text) == ["STYLE.md:3: 'src/custody/engine.py' does not contain this example"]


def test_an_example_of_no_file_is_named(tree: Path) -> None:
    assert problems(tree, "<!-- from: src/custody/gone.py -->\n```python\nx\n```\n") == [
        "STYLE.md:1: there is no 'src/custody/gone.py'"
    ]
    assert problems(tree, "```python\nx\n```\n") == [
        "STYLE.md:1: the example does not name its file: <!-- from: src/custody/….py -->"
    ]


def test_an_unused_good_name_is_reported(tree: Path) -> None:
    text = "| rule | not | but |\n|---|---|---|\n| a verb | `told` | `gather(...)`, `weigh`, `engine` |\n"
    assert problems(tree, text) == ["STYLE.md:3: no module has the name 'weigh'"]


def test_our_own_examples_are_sound() -> None:
    assert examples.check(ROOT) == []
