"""Checks that SQL is only in the store, in the queries of each package and in the service's own tables.

python tools/sql.py    list every other place with SQL or access to a store's database
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it runs as a file and as ``-m tools.sql``

from tools.problems import Problem

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/custody"

ALLOWED = ("store/*", "*/queries.py", "*/queries/*", "server/control/*")
"""Where SQL belongs."""
OTHER_DATABASES = ("capture/*", "demo/sandbox.py")
"""Files that read or damage databases other than an open store: their statements are their own."""
OPENING = ("workspace/workspace.py",)
"""Files that open and close stores: they hold the connection."""

_SQL = re.compile(
    r"\b(?:SELECT|INSERT INTO|DELETE FROM|UPDATE \w+ SET|ORDER BY|WHERE)\b|\b[a-z_]+ (?:=|<>|[<>]=?) \?|\bIN \("
)
_VIEW_METHODS = frozenset(("look_up", "look_up_in", "distinct"))
_SQL_METHODS = frozenset(("records_where",))


def check(root: Path) -> list[Problem]:
    """Return every use of SQL elsewhere."""
    package = root / PACKAGE
    return [
        problem
        for file in sorted(package.rglob("*.py"))
        if not _matches(file.relative_to(package), ALLOWED)
        for problem in problems_in(file.read_text("utf-8"), file.relative_to(root).as_posix(), _exempt(file, package))
    ]


def problems_in(source: str, name: str, exempt: frozenset[str] = frozenset()) -> Iterator[Problem]:
    """Yield the uses of SQL in one file; ``exempt`` names kinds of use that it may have.

    >>> sorted(str(problem) for problem in problems_in("store.db.rows('SELECT 1')", "a.py"))
    ["a.py:1: 'store.db' reaches for the connection of a store", "a.py:1: SQL outside of queries: 'SELECT 1'"]
    """
    tree = ast.parse(source)
    prose = {id(text) for text in _prose(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield from _attribute_problems(node, name, exempt)
        elif isinstance(node, ast.Constant) and id(node) not in prose and "sql" not in exempt:
            yield from _text_problems(node, name)


def _attribute_problems(node: ast.Attribute, name: str, exempt: frozenset[str]) -> Iterator[Problem]:
    if node.attr == "db" and "db" not in exempt:
        yield Problem(name, node.lineno, f"'{ast.unparse(node)}' reaches for the connection of a store")
    of_views = isinstance(node.value, ast.Attribute) and node.value.attr == "views"
    if node.attr in _SQL_METHODS or (of_views and node.attr in _VIEW_METHODS):
        yield Problem(name, node.lineno, f"'{ast.unparse(node)}' is a question for the queries of a package")


def _text_problems(node: ast.Constant, name: str) -> Iterator[Problem]:
    if isinstance(node.value, str) and _SQL.search(node.value):
        yield Problem(name, node.lineno, f"SQL outside of queries: {node.value.strip()[:60]!r}")


def _prose(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield docstrings and the strings that stand below a name to explain it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _exempt(file: Path, package: Path) -> frozenset[str]:
    path = file.relative_to(package)
    sql = {"sql"} if _matches(path, OTHER_DATABASES) else set[str]()
    return frozenset(sql | ({"db"} if _matches(path, OPENING) else set()))


def _matches(path: Path, patterns: Sequence[str]) -> bool:
    """Return whether a path matches one of the patterns; ``*`` matches any characters.

    >>> _matches(Path("ledger/queries.py"), ALLOWED), _matches(Path("ledger/sessions.py"), ALLOWED)
    (True, False)
    """
    return any(fnmatchcase(path.as_posix(), pattern) for pattern in patterns)


def main(root: Path = ROOT) -> int:
    """Print the problems; 1 if there are any."""
    problems = check(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
