"""-L names lines as git's does: by number, pattern, offset and function."""

import subprocess
from pathlib import Path

import pytest

from custody.attribution.line_spec import LineSpec, resolve_line_specs
from custody.core.errors import InputError
from tests.builders.table import table

PYTHON = """import os

class Shop:
    def total(self, prices):
        return sum(prices)

    async def load(self):
        pass


def tax(net):
    return net * 2

RATE = 7
""".splitlines()


def lines(*specs: str, texts: list[str] = PYTHON, path: str = "shop.py") -> list[tuple[int, int]]:
    found = resolve_line_specs([LineSpec(spec) for spec in specs], texts, path)
    return [(named.first, named.last) for named in found]


@table(
    "spec, expected",
    [
        ("3", (3, 3)),
        ("3,5", (3, 5)),
        ("3,+2", (3, 4)),
        ("5,-2", (4, 5)),
        ("5,3", (3, 5)),
        (",4", (1, 4)),
        ("12,", (12, 14)),
        ("/def total/,+2", (4, 5)),
        ("4,/load/", (4, 7)),
        ("/class/,/async/", (3, 7)),
        (":total", (4, 5)),
        (":load", (7, 8)),
        (":tax", (11, 14)),
        (":^class", (3, 3)),
    ],
)
def test_a_range_is_read_as_git_reads_it(spec: str, expected: tuple[int, int]) -> None:
    assert lines(spec) == [expected]


def test_a_pattern_is_searched_after_the_range_before_it() -> None:
    assert lines("1,4", "/def/") == [(1, 4), (7, 7)]
    assert lines("1,4", "^/def/") == [(1, 4), (4, 4)]


@table("spec", ["", ",", "x", "0", "0,4", "3,+0", ":", "/x", "9,,9", "+3", "1,2,3"])
def test_what_names_no_lines_is_refused_with_a_hint(spec: str) -> None:
    with pytest.raises(InputError) as refused:
        lines(spec)
    assert refused.value.hint is not None


@table("spec", ["/nowhere/", ":nowhere", "/(/", ":["])
def test_a_pattern_without_a_match_or_a_form_is_refused(spec: str) -> None:
    with pytest.raises(InputError):
        lines(spec)


@table(
    "path, text, expected",
    [
        ("a.go", "package a\nfunc Add(a int) int {\n\treturn a\n}\n\nfunc Sub() {}\n", (2, 4)),
        ("a.rs", "use x;\npub fn add() {\n}\nfn sub() {}\n", (2, 3)),
        ("a.ts", "const add = (a) => {\n  return a\n}\nfunction sub() {}\n", (1, 3)),
        ("a.c", "#include <x>\nint add(int a)\n{\n    return a;\n}\n\nint sub(void)\n", (2, 5)),
    ],
)
def test_functions_of_other_languages_are_found(path: str, text: str, expected: tuple[int, int]) -> None:
    assert lines(":add|Add", texts=text.splitlines(), path=path) == [expected]


LETTERS = ["a", "b", "c", "d", "e"]


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    (tmp_path / "x.txt").write_text("\n".join(LETTERS) + "\n")
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "x")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


@table("spec", ["2,4", "2,+3", "4,-2", "/b/,+2", "2,/d/", "3,", ",3"])
def test_git_names_the_same_lines(spec: str, letters: Path) -> None:
    blamed = subprocess.run(
        ["git", "blame", "-s", "-L", spec, "x.txt"], cwd=letters, check=True, capture_output=True, text=True
    )
    theirs = [line.rpartition(" ")[2] for line in blamed.stdout.splitlines()]
    (ours,) = resolve_line_specs([LineSpec(spec)], LETTERS, "x.txt")
    assert LETTERS[ours.first - 1 : ours.last] == theirs
