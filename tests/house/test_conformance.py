"""Every defect of a conformance table is reported, and a correct table passes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import conformance
from tools.conformance import DOCUMENTS, FOLDER, HEADER, cells_of

ROOT = Path(__file__).resolve().parents[2]
HEAD = "# Document\n\n| id | section | what the document says | our name | shown by |\n|---|---|---|---|---|\n"
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
        "# Conformance: 000-001, 000-002\n"
        "def test_it_holds(): ...\n"
        "class TestIt:\n    # Conformance: 000-003\n    def test_method(self): ...\n"
    )
    (tmp_path / "docs/why.md").write_text("# Why\n\nWe do it\nin another way. It is shorter.\n")
    return tmp_path


NAMED = ("000-001", "000-002", "000-003")


def problems(tree: Path, *rows: str, head: str = HEAD) -> list[str]:
    """Return what the checker reports when document 000 has these rows, and rows for the other ids of the tests."""
    others = [a_row(row_id, section=f"other {row_id}") for row_id in NAMED if row_id not in " ".join(rows)]
    (tree / FOLDER / "000.md").write_text(head + "".join(f"{row}\n" for row in [*rows, *others]))
    return [str(problem).removeprefix(f"{FOLDER}/") for problem in conformance.check(tree)]


def a_row(
    row_id: str = "000-001",
    shown: str = "tests",
    *,
    section: str = "3.1",
    says: str = "it holds",
    name: str = "`holds`",
) -> str:
    return f"| {row_id} | {section} | {says} | {name} | {shown} |"


def test_tables_without_rows_of_their_own_are_sound(tree: Path) -> None:
    assert problems(tree) == []


@pytest.mark.parametrize(
    ("row_id", "shown"),
    [
        ("000-001", "tests"),
        ("000-002", "tests"),
        ("000-003", "tests"),
        ("000-009", A_QUOTE),
        ("000-009", "page: “in another way. It is shorter.”"),
    ],
)
def test_a_row_is_shown_by_tests_or_by_a_sentence_of_ours(tree: Path, row_id: str, shown: str) -> None:
    assert problems(tree, a_row(row_id, shown)) == []


def test_a_row_that_no_test_names_is_refused(tree: Path) -> None:
    assert problems(tree, a_row("000-004")) == [
        "000.md:5: no test names it: write '# Conformance: 000-004' above the test that shows it"
    ]


def test_an_id_that_no_row_has_is_refused_where_the_test_names_it(tree: Path) -> None:
    (tree / "tests/unit/test_more.py").write_text("\n# Conformance: 000-001, 001-077\ndef test_more(): ...\n")
    assert problems(tree) == ["tests/unit/test_more.py:2: no row of docs/conformance has the id '001-077'"]


@pytest.mark.parametrize("row_id", ["1", "000-1", "001-001", "000_001", "x"])
def test_an_id_of_another_form_is_refused(tree: Path, row_id: str) -> None:
    assert problems(tree, a_row(row_id, A_QUOTE)) == [f"000.md:5: '{row_id}' is not an id such as 000-001"]


def test_an_id_is_used_once(tree: Path) -> None:
    assert problems(tree, a_row(), a_row(says="it also waits")) == [
        "000.md:6: the id '000-001' is taken by a row above"
    ]


def test_a_missing_table_is_refused(tree: Path) -> None:
    (tree / FOLDER / "003.md").unlink()
    assert problems(tree) == ["003.md: is missing"]


@pytest.mark.parametrize("name", ["005.md", "notes.txt", "000.md.orig"])
def test_a_file_of_no_document_is_refused(tree: Path, name: str) -> None:
    (tree / FOLDER / name).write_text(HEAD)
    assert problems(tree) == [f"{name}: does not belong to a document"]


@pytest.mark.parametrize(
    "head",
    [
        "",
        "no table\n",
        "| id | section | says | our name | shown by |\n|---|---|---|---|---|\n",
        "| section | what the document says | our name | shown by |\n|---|---|---|---|\n",
    ],
)
def test_another_header_is_refused(tree: Path, head: str) -> None:
    assert problems(tree, head=head)[0].endswith("the table's header is not | " + " | ".join(HEADER) + " |")


@pytest.mark.parametrize("rows", [[], [a_row()]])
def test_a_header_without_dashes_is_refused(tree: Path, rows: list[str]) -> None:
    first = problems(tree, *rows, head=HEAD.replace("|---|---|---|---|---|\n", ""))[0]
    assert first.endswith("the header has no line of dashes under it")


@pytest.mark.parametrize(("cells", "row"), [(3, "| 1 | 2 | 3 |"), (6, "| 1 | 2 | 3 | 4 | 5 | 6 |"), (1, "| 1 |")])
def test_a_row_of_another_width_is_refused(tree: Path, cells: int, row: str) -> None:
    assert problems(tree, row) == [f"000.md:5: has {cells} cells, not 5"]


@pytest.mark.parametrize("title", HEADER)
def test_an_empty_cell_is_refused(tree: Path, title: str) -> None:
    cells = ["000-009", "3.1", "it holds", "`holds`", A_QUOTE]
    cells[HEADER.index(title)] = " "
    assert problems(tree, f"| {' | '.join(cells)} |") == [f"000.md:5: '{title}' is empty"]


@pytest.mark.parametrize("shown", ["yes", "tests/unit/test_it.py::test_it_holds", "src/custody/core/paths.py", "test"])
def test_what_is_neither_tests_nor_a_quote_is_refused(tree: Path, shown: str) -> None:
    assert problems(tree, a_row("000-001", shown)) == [f"000.md:5: '{shown}' is neither tests nor page: \"a sentence\""]


@pytest.mark.parametrize(
    ("shown", "wrong"),
    [
        ("page: We do it in another way.", 'a page is quoted as: page: "the sentence"'),
        ('page: ""', 'a page is quoted as: page: "the sentence"'),
        ('page: "another way."', "'another way.' is too short to be a sentence of ours"),
        ('page: "We do it in the same way."', "no page contains 'We do it in the same way.'"),
        ('page: "How rows are written."', "no page contains 'How rows are written.'"),
    ],
)
def test_a_quote_that_is_not_ours_is_refused(tree: Path, shown: str, wrong: str) -> None:
    assert problems(tree, a_row("000-009", shown)) == [f"000.md:5: {wrong}"]


def test_a_row_that_says_the_same_again_is_refused(tree: Path) -> None:
    rows = [a_row(), a_row("000-008", A_QUOTE, says="it also waits"), a_row("000-009", A_QUOTE, says="It  holds")]
    assert problems(tree, *rows) == ["000.md:7: repeats a row above"]


def test_the_same_words_in_another_section_or_document_are_another_row(tree: Path) -> None:
    (tree / FOLDER / "001.md").write_text(HEAD + a_row("001-001", A_QUOTE) + "\n")
    assert problems(tree, a_row(), a_row("000-002", section="3.2")) == []


def test_every_defect_of_a_table_is_reported_with_its_line(tree: Path) -> None:
    rows = [a_row("000-001", "yes"), a_row("000-002", says="x"), "| 1 |", a_row("000-003", "", says="y")]
    assert problems(tree, *rows) == [
        "000.md:5: 'yes' is neither tests nor page: \"a sentence\"",
        "000.md:7: has 1 cells, not 5",
        "000.md:8: 'shown by' is empty",
    ]


@given(st.lists(st.text(alphabet="ab |\\`", max_size=6).map(str.strip), min_size=1, max_size=6))
def test_cells_come_back_as_they_were_written(cells: list[str]) -> None:
    sound = [cell.replace("\\", "") for cell in cells]
    line = "| " + " | ".join(cell.replace("|", r"\|") for cell in sound) + " |"
    assert cells_of(line) == tuple(cell.strip() for cell in sound)


def test_our_own_tables_are_sound() -> None:
    assert conformance.check(ROOT) == []
