"""Patterns for paths: what they match, and that no pattern takes long."""

import re
from fnmatch import translate

from hypothesis import given
from hypothesis import strategies as st

from custody.core.paths import matches_path_pattern
from tests.builders.table import table


@table(
    ("pattern", "path", "fits"),
    [
        ("a.py", "a.py", True),
        ("a.py", "b/a.py", False),
        ("A.py", "a.PY", True),
        ("*.py", "a.py", True),
        ("*.py", ".py", True),
        ("*.py", "b/a.py", False),
        ("?.py", "a.py", True),
        ("?.py", ".py", False),
        ("**", "a", True),
        ("**", "a/b/c", True),
        ("a/**", "a/b/c", True),
        ("a/**", "a", True),
        ("a/**", "ab/c", False),
        ("**/a", "a", True),
        ("**/a", "b/c/a", True),
        ("**/a", "b/a/c", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("**/a/**/b/*", "x/a/y/a/b/z", True),
        ("a**b", "axxb", True),
        ("a**b", "a/b", False),
        ("", "a", False),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
    ],
)
def test_what_a_pattern_matches(pattern: str, path: str, fits: bool) -> None:
    assert matches_path_pattern(pattern, path) is fits


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=10))
def test_within_a_name_it_is_as_the_shell_has_it(pattern: str, name: str) -> None:
    # A pattern of two stars alone matches any number of folders, also none.
    if pattern != "**":
        assert matches_path_pattern(pattern, name) is (re.fullmatch(translate(pattern), name) is not None)


def test_no_pattern_takes_long() -> None:
    assert not matches_path_pattern("*a" * 400 + "b", "a" * 4096)
    assert not matches_path_pattern("**/a/" * 200 + "b", "a/" * 2000 + "c")
