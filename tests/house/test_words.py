"""The words check finds banned shapes in everything people read, and only there."""

from pathlib import Path

import pytest

from tests.builders.table import table
from tools.words import LIST, check, page_prose, python_prose, read_word_list

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    (tmp_path / LIST).write_text((ROOT / LIST).read_text("utf-8"))
    (tmp_path / "src" / "custody").mkdir(parents=True)
    return tmp_path


def found(tree: Path, name: str, text: str) -> list[str]:
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return [str(problem) for problem in check(tree)]


def test_the_name_of_a_test_is_read_as_a_sentence(tree: Path) -> None:
    assert len(found(tree, "tests/unit/test_a.py", "def test_what_no_one_wrote_is_no_line() -> None: ...\n")) == 1
    assert found(tree, "tests/unit/test_a.py", "def is_no_line() -> None: ...\n") == [], "an identifier"


@table(
    "sentence",
    [
        "3 line(s) changed",
        "2 match(es)",
        "'x' is no file of this repository",
        "there are no such; these are no records",
        "nobody looked at it",
        "the stretches of a file",
        "10 lines, 3 of which are new",
        "made anew",
        "all as told",
        "two things to know",
        "Say who wrote it",
        "fields parted by tabs",
        "a sign that is not printable",
        "its behaviour",
        "the recorder is told again",
        "tried once more",
        "all files were looked through",
        "a note speaks of it",
        "killed at any moment",
        "What was stored of a line",
    ],
)
def test_a_banned_shape_is_found(sentence: str, tree: Path) -> None:
    assert len(found(tree, "src/custody/a.py", f'TEXT = "{sentence}"\n')) >= 1
    assert len(found(tree, "docs/a.md", f"{sentence}\n")) >= 1


@table(
    "sentence",
    [
        "3 lines changed",
        "it is no longer there",
        "not a file",
        "sign in with a token",
        "the minus sign",
        "signed by a key",
        "a signature",
        "there was nothing to do",
        "look up a name",
        "What a page shows",
    ],
)
def test_plain_words_are_not(sentence: str, tree: Path) -> None:
    assert found(tree, "src/custody/a.py", f'TEXT = "{sentence}"\n') == []


def test_strings_docstrings_and_comments_are_read_and_code_is_not(tree: Path) -> None:
    source = '"""A stretch."""\nstretch = 1\nx = f"{stretch} a stretch"  # one stretch\n'
    assert [problem.split(":")[1] for problem in found(tree, "src/custody/a.py", source)] == ["1", "3"]
    assert dict(python_prose(source))[1] == "A stretch."


def test_the_docstring_of_a_function_starts_with_a_verb(tree: Path) -> None:
    source = 'def a():\n    """The size."""\n\n\n@property\ndef b():\n    """The size."""\n'
    assert found(tree, "src/custody/a.py", source) == [
        "src/custody/a.py:2: 'The': start the docstring of a function with a verb"
    ]
    assert found(tree, "src/custody/a.py", 'def a():\n    """Return the size."""\n') == []


def test_pages_and_templates_are_read(tree: Path) -> None:
    assert found(tree, "src/custody/server/pages/a.html", "<p>nobody</p>\n")
    assert found(tree, "README.md", "x\nnobody\n") == [
        "README.md:2: 'nobody': write who did not do it, or the state: 'not checked'",
        *found(tree, "README.md", "x\nnobody\n")[1:],
    ]
    assert list(page_prose("a\nb")) == [(1, "a"), (2, "b")]


def test_an_exception_names_its_file_and_its_reason() -> None:
    words = read_word_list(ROOT)
    assert all(use.path for use in words.allowed)
    assert len(words.allowed) < 30, "exceptions are few"
    assert all(any(ROOT.glob(use.path)) for use in words.allowed), "an exception without a file"
