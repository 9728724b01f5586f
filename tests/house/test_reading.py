"""``tools/reading.py``: every kind of text is found, and a seed always draws the same texts."""

from pathlib import Path

import pytest

from tools import reading

SOURCE = '''
"""Counts lines of a file."""

# Why this is here,
# in two lines.
LIMIT = 3
"""The most lines that are counted."""


def count(path):
    """Return the number of lines."""
    query = "SELECT name, size, owner, date, mode FROM it"
    raise ValueError(f"cannot read the file {path}")
'''
PAGE = "# A page about files\n\n```\ncode is left out of it\n```\n\nOne paragraph in\ntwo short lines.\n"


def plant(root: Path) -> None:
    (root / "tools").mkdir()
    (root / "tools/count.py").write_text(SOURCE)
    (root / "README.md").write_text(PAGE)


def test_strings_docstrings_comments_and_paragraphs_are_found_and_code_is_not(tmp_path: Path) -> None:
    plant(tmp_path)

    assert [(text.path, text.line, text.kind, text.words) for text in reading.list_texts(tmp_path)] == [
        ("README.md", 1, "page", "# A page about files"),
        ("README.md", 7, "page", "One paragraph in two short lines."),
        ("tools/count.py", 2, "docstring", "Counts lines of a file."),
        ("tools/count.py", 4, "comment", "Why this is here, in two lines."),
        ("tools/count.py", 7, "docstring", "The most lines that are counted."),
        ("tools/count.py", 11, "docstring", "Return the number of lines."),
        ("tools/count.py", 13, "string", "cannot read the file {path}"),
    ]


def test_a_seed_draws_the_same_texts_and_another_seed_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(tmp_path)

    def draw(seed: int) -> str:
        monkeypatch.setattr("sys.argv", ["reading", "--root", str(tmp_path), "--seed", str(seed), "--count", "3"])
        assert reading.main() == 0
        return capsys.readouterr().out

    assert draw(1) == draw(1)
    assert len({draw(seed) for seed in range(5)}) > 1
