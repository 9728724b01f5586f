"""Checks that ruff and import-linter lack: built-in functions in pure files, catches that are not `except`."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.house.planting import ROOT, names

SOURCE = ROOT / "src" / "custody"
NOT_PURE = frozenset(("breakpoint", "input", "open", "print", "eval", "exec", "compile", "__import__"))


PURE_CONTRACTS = (
    "attribution-pure", "cite-pure", "core", "dupes-pure", "facts", "gate-pure", "graph-pure", "sketch", "trust-pure",
    "wire",
)  # fmt: skip


def pure_files() -> set[Path]:
    """Return the files under the contracts for pure files."""
    expressions = {name for contract in PURE_CONTRACTS for name in names(contract, "modules")}
    return {file for expression in expressions for file in _files_of_expression(expression.removeprefix("custody."))}


def _files_of_expression(expression: str) -> Iterator[Path]:
    place = expression.replace(".", "/")
    if place.endswith("/*"):
        yield from SOURCE.glob(f"{place}.py")
    elif (SOURCE / f"{place}.py").is_file():
        yield SOURCE / f"{place}.py"
    else:
        yield from (SOURCE / place.removesuffix("/**")).rglob("*.py")


def called_by_name(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def broadly_suppressed(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=func, args=errors) if ast.unparse(func) in ("suppress", "contextlib.suppress"):
                if {"Exception", "BaseException"} & {ast.unparse(error) for error in errors}:
                    yield node.lineno


def parsed(files: Iterable[Path]) -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(files):
        yield str(file.relative_to(ROOT)), ast.parse(file.read_bytes())


def test_a_pure_file_calls_nothing_that_reaches_outside() -> None:
    reaching = {name: NOT_PURE.intersection(called_by_name(tree)) for name, tree in parsed(pure_files())}
    assert {name: calls for name, calls in reaching.items() if calls} == {}


@pytest.mark.parametrize(
    "path", ["core/ids.py", "core/wire/event.py", "trust/engine.py", "cite/checks.py", "why/report.py"]
)
def test_the_contracts_lead_to_the_pure_files(path: str) -> None:
    assert SOURCE / path in pure_files()
    assert SOURCE / "trust/app/show.py" not in pure_files()


def test_nothing_suppresses_every_error() -> None:
    found = {f"{name}:{line}" for name, tree in parsed(SOURCE.rglob("*.py")) for line in broadly_suppressed(tree)}
    assert found == set()


def test_both_are_seen_when_they_are_there() -> None:
    code = "with suppress(ValueError), contextlib.suppress(KeyError, Exception):\n    open('x')"
    assert NOT_PURE.intersection(called_by_name(ast.parse(code))) == {"open"}
    assert list(broadly_suppressed(ast.parse(code))) == [1]
