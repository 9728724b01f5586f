"""A trace's path names a file of the repository exactly, or as the only one that can be meant."""

from custody.attribution.text import could_name, endings, file_named
from custody.core.paths import RepoPath
from tests.builders.table import table


def path(text: str) -> RepoPath:
    return RepoPath.of(text)


# Conformance: 000-032
@table(
    ("traced", "files", "named"),
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
def test_a_path_names_the_exact_file_else_the_only_one_that_fits_at_a_slash(
    traced: str, files: list[str], named: str | None
) -> None:
    for order in (files, files[::-1]):
        found = file_named(path(traced), [path(file) for file in order])
        assert (None if found is None else str(found)) == named


def test_what_could_name_a_file_is_told_by_the_two_paths_alone() -> None:
    assert could_name(path("a/b.py"), path("a/b.py"))
    assert could_name(path("b.py"), path("a/b.py")) and could_name(path("a/b.py"), path("b.py"))
    assert not could_name(path("b.py"), path("ab.py"))


def test_the_endings_of_a_path_are_all_that_may_name_it_by_less() -> None:
    assert list(endings(path("a/b/c.py"))) == [path("a/b/c.py"), path("b/c.py"), path("c.py")]
    assert all(could_name(end, path("a/b/c.py")) for end in endings(path("a/b/c.py")))
