"""Every defect of a conformance table is caught, and a sound table is not."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import conformance
from tools.conformance import DOCUMENTS, FOLDER, HEADER, cells_of

ROOT = Path(__file__).resolve().parents[2]
HEAD = "# Document\n\n| section | what the document says | our name | shown by |\n|---|---|---|---|\n"
A_TEST = "tests/unit/test_it.py::test_it_holds"
A_QUOTE = 'page: "We do it in another way."'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a test file, a page of ours, and an empty table for each document."""
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "README.md").write_text("How rows are written.\n")
    for document in DOCUMENTS:
        (tmp_path / FOLDER / f"{document}.md").write_text(HEAD)
    (tmp_path / "tests/unit").mkdir(parents=True)
    (tmp_path / "tests/unit/test_it.py").write_text(
        "def test_it_holds(): ...\n"
        "async def test_it_waits(): ...\n"
        "def helper():\n    def test_inside(): ...\n"
        "class TestIt:\n    def test_method(self): ...\n    def helper(self): ...\n"
    )
    (tmp_path / "docs/why.md").write_text("# Why\n\nWe do it\nin another way. It is shorter.\n")
    return tmp_path


def told(tree: Path, *rows: str, head: str = HEAD) -> list[str]:
    """What the checker says when document 000 has these rows."""
    (tree / FOLDER / "000.md").write_text(head + "".join(f"{row}\n" for row in rows))
    return [str(problem).removeprefix(f"{FOLDER}/") for problem in conformance.check(tree)]


def a_row(shown: str = A_TEST, *, section: str = "3.1", says: str = "it holds", name: str = "`holds`") -> str:
    return f"| {section} | {says} | {name} | {shown} |"


def test_empty_tables_are_sound(tree: Path) -> None:
    assert told(tree) == []


@pytest.mark.parametrize(
    "shown",
    [
        A_TEST,
        f"`{A_TEST}`",
        "tests/unit/test_it.py::test_it_waits",
        "tests/unit/test_it.py::TestIt::test_method",
        f"`{A_TEST}`, `tests/unit/test_it.py::test_it_waits`",
        A_QUOTE,
        "page: “in another way. It is shorter.”",
    ],
)
def test_a_row_is_shown_by_tests_or_by_a_sentence_of_ours(tree: Path, shown: str) -> None:
    assert told(tree, a_row(shown)) == []


def test_a_missing_table_is_refused(tree: Path) -> None:
    (tree / FOLDER / "003.md").unlink()
    assert told(tree) == ["003.md: is missing"]


@pytest.mark.parametrize("name", ["005.md", "notes.txt", "000.md.orig"])
def test_a_file_of_no_document_is_refused(tree: Path, name: str) -> None:
    (tree / FOLDER / name).write_text(HEAD)
    assert told(tree) == [f"{name}: is of no document"]


@pytest.mark.parametrize(
    "head",
    [
        "",
        "no table\n",
        "| section | says | our name | shown by |\n|---|---|---|---|\n",
        "| section | what the document says | our name |\n|---|---|---|\n",
    ],
)
def test_another_header_is_refused(tree: Path, head: str) -> None:
    (problem,) = told(tree, head=head)
    assert problem.endswith("the table's header is not | " + " | ".join(HEADER) + " |")


@pytest.mark.parametrize("rows", [[], [a_row()]])
def test_a_header_without_dashes_is_refused(tree: Path, rows: list[str]) -> None:
    (problem,) = told(tree, *rows, head=HEAD.replace("|---|---|---|---|\n", ""))
    assert problem.endswith("the header has no line of dashes under it")


@pytest.mark.parametrize(("cells", "row"), [(3, "| 1 | 2 | 3 |"), (5, "| 1 | 2 | 3 | 4 | 5 |"), (1, "| 1 |")])
def test_a_row_of_another_width_is_refused(tree: Path, cells: int, row: str) -> None:
    assert told(tree, row) == [f"000.md:5: has {cells} cells, not 4"]


@pytest.mark.parametrize("title", HEADER)
def test_an_empty_cell_is_refused(tree: Path, title: str) -> None:
    cells = ["3.1", "it holds", "`holds`", A_TEST]
    cells[HEADER.index(title)] = " "
    assert told(tree, f"| {' | '.join(cells)} |") == [f"000.md:5: '{title}' is empty"]


@pytest.mark.parametrize(
    ("shown", "wrong"),
    [
        ("tests/unit/test_gone.py::test_it_holds", "there is no 'tests/unit/test_gone.py'"),
        ("tests/unit/test_it.py::test_gone", "'tests/unit/test_it.py' has no test 'test_gone'"),
        ("tests/unit/test_it.py::helper", "'tests/unit/test_it.py' has no test 'helper'"),
        ("tests/unit/test_it.py::test_inside", "'tests/unit/test_it.py' has no test 'test_inside'"),
        ("tests/unit/test_it.py::test_method", "'tests/unit/test_it.py' has no test 'test_method'"),
        ("tests/unit/test_it.py::TestIt::test_gone", "'tests/unit/test_it.py' has no test 'TestIt::test_gone'"),
        ("tests/unit/test_it.py::TestIt::helper", "'tests/unit/test_it.py' has no test 'TestIt::helper'"),
        (f"{A_TEST}, tests/unit/test_it.py::test_gone", "'tests/unit/test_it.py' has no test 'test_gone'"),
    ],
)
def test_a_test_that_does_not_exist_is_refused(tree: Path, shown: str, wrong: str) -> None:
    assert told(tree, a_row(shown)) == [f"000.md:5: {wrong}"]


@pytest.mark.parametrize(
    "shown",
    ["yes", "tests/unit/test_it.py", "src/custody/core/paths.py::Lines", "tests/../src/x.py::test_x", f"{A_TEST},"],
)
def test_what_is_neither_a_test_nor_a_quote_is_refused(tree: Path, shown: str) -> None:
    (problem,) = told(tree, a_row(shown))
    assert 'is neither tests/….py::test_name nor page: "a sentence"' in problem


@pytest.mark.parametrize(
    ("shown", "wrong"),
    [
        ("page: We do it in another way.", 'a page is quoted as: page: "the sentence"'),
        ('page: ""', 'a page is quoted as: page: "the sentence"'),
        ('page: "another way."', "'another way.' is too short to be a sentence of ours"),
        ('page: "We do it in the same way."', "no page of ours says 'We do it in the same way.'"),
        ('page: "How rows are written."', "no page of ours says 'How rows are written.'"),
    ],
)
def test_a_quote_that_is_not_ours_is_refused(tree: Path, shown: str, wrong: str) -> None:
    assert told(tree, a_row(shown)) == [f"000.md:5: {wrong}"]


def test_a_row_that_says_the_same_again_is_refused(tree: Path) -> None:
    rows = [a_row(), a_row(A_QUOTE, says="it also waits"), a_row(A_QUOTE, says="It  holds")]
    assert told(tree, *rows) == ["000.md:7: says the same as a row above"]


def test_the_same_words_in_another_section_or_document_are_another_row(tree: Path) -> None:
    (tree / FOLDER / "001.md").write_text(HEAD + a_row() + "\n")
    assert told(tree, a_row(), a_row(section="3.2")) == []


def test_every_defect_of_a_table_is_told_with_its_line(tree: Path) -> None:
    assert told(tree, a_row("yes"), a_row(says="x"), "| 1 |", a_row("", says="y")) == [
        "000.md:5: 'yes' is neither tests/….py::test_name nor page: \"a sentence\"",
        "000.md:7: has 1 cells, not 4",
        "000.md:8: 'shown by' is empty",
    ]


@given(st.lists(st.text(alphabet="ab |\\`", max_size=6).map(str.strip), min_size=1, max_size=6))
def test_cells_come_back_as_they_were_written(cells: list[str]) -> None:
    sound = [cell.replace("\\", "") for cell in cells]
    line = "| " + " | ".join(cell.replace("|", r"\|") for cell in sound) + " |"
    assert cells_of(line) == tuple(cell.strip() for cell in sound)


def test_our_own_tables_are_sound() -> None:
    assert conformance.check(ROOT) == []
