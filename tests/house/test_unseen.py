"""What neither ruff nor import-linter sees: built-in functions in the pure floors, catches that are not `except`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.planting import ROOT, rows

SOURCE = ROOT / "src" / "custody"
NOT_PURE = frozenset(("breakpoint", "input", "open", "print", "eval", "exec", "compile", "__import__"))


def pure_rooms() -> list[str]:
    floors = [row.replace("|", " ").split() for row in rows("floors", "layers") if row]
    return [room for floor in floors[floors.index(["world"]) + 1 :] for room in floor]


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


def files_of(folder: Path) -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(folder.rglob("*.py")):
        yield str(file.relative_to(ROOT)), ast.parse(file.read_bytes())


@pytest.mark.parametrize("room", pure_rooms())
def test_a_pure_room_calls_nothing_that_reaches_outside(room: str) -> None:
    reaching = {name: NOT_PURE.intersection(called_by_name(tree)) for name, tree in files_of(SOURCE / room)}
    assert {name: calls for name, calls in reaching.items() if calls} == {}


def test_nothing_suppresses_every_error() -> None:
    found = {f"{name}:{line}" for name, tree in files_of(SOURCE) for line in broadly_suppressed(tree)}
    assert found == set()


def test_both_are_seen_when_they_are_there() -> None:
    code = "with suppress(ValueError), contextlib.suppress(KeyError, Exception):\n    open('x')"
    assert NOT_PURE.intersection(called_by_name(ast.parse(code))) == {"open"}
    assert list(broadly_suppressed(ast.parse(code))) == [1]
