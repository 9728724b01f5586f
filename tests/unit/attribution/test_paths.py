"""A path in a trace names a file exactly, or by its end if only one file fits."""

from custody.attribution.text import can_traced_path_match, list_traced_path_suffixes, resolve_traced_path
from custody.core.paths import RepoPath
from tests.builders.table import table


def path(text: str) -> RepoPath:
    return RepoPath.of(text)


# Conformance: 000-032
@table(
    ("traced", "files", "expected"),
    [
        ("src/a.py", ["src/a.py", "lib/a.py"], "src/a.py"),
        ("vite.config.js", ["frontend/vite.config.js", "README.md"], "frontend/vite.config.js"),
        ("project/frontend/vite.config.js", ["frontend/vite.config.js"], "frontend/vite.config.js"),
        ("vite.config.js", ["vite.config.js", "frontend/vite.config.js"], "vite.config.js"),
        ("a.py", ["one/a.py", "two/a.py"], None),
        ("x/y/a.py", ["y/a.py", "a.py"], None),
        ("log.js", ["blog.js", "src/blog.js"], None),
        ("src/blog.js", ["log.js"], None),
        ("src/a.py", [], None),
        (".gitignore", ["src/foo.js"], None),
    ],
)
def test_a_path_names_the_exact_file_or_the_only_one_that_fits_at_a_slash(
    traced: str, files: list[str], expected: str | None
) -> None:
    for order in (files, files[::-1]):
        resolved = resolve_traced_path(path(traced), [path(file) for file in order])
        assert (None if resolved is None else str(resolved)) == expected


def test_a_path_may_match_if_one_ends_with_the_other() -> None:
    assert can_traced_path_match(path("a/b.py"), path("a/b.py"))
    assert can_traced_path_match(path("b.py"), path("a/b.py")) and can_traced_path_match(path("a/b.py"), path("b.py"))
    assert not can_traced_path_match(path("b.py"), path("ab.py"))


def test_every_suffix_of_a_path_may_match_it() -> None:
    assert list(list_traced_path_suffixes(path("a/b/c.py"))) == [path("a/b/c.py"), path("b/c.py"), path("c.py")]
    assert all(can_traced_path_match(end, path("a/b/c.py")) for end in list_traced_path_suffixes(path("a/b/c.py")))
