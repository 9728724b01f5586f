"""Mutation score of the pure packages: change one expression at a time and see whether a test fails.

python -m tools.mutants                   draw 40 mutants with a fresh seed, print a table and the score
python -m tools.mutants --seed 7          draw the same mutants again
python -m tools.mutants --only gate/checks.py:200-240 --count 0    try every mutant of these lines
"""

import argparse
import ast
import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("attribution", "cite", "core", "dupes", "gate", "graph", "sketch", "trust")
NOT_PURE = frozenset(("__init__", "cli", "queries", "wire"))
"""Modules at the top of a package that do I/O or only define names."""
SLOW_FOLDERS = frozenset(("app", "cli", "pool", "web"))
"""Folders of tests that start git or other programs; they run last."""
TEST_SECONDS = 120
"""A single test that runs longer counts as failed: the mutant hangs."""
PYTEST_OPTIONS = (
    "-n 0 -x -q -p no:cacheprovider -p no:schemathesis --tb no --inline-snapshot disable --hypothesis-profile ci"
    f" --timeout {TEST_SECONDS}"
)

# Not ``|``: most of ours join types, and those mutants only fail to import.
_SWAPS: dict[str, str] = dict(
    pair.split(":")
    for pair in "Lt:LtE LtE:Lt Gt:GtE GtE:Gt Eq:NotEq NotEq:Eq Is:IsNot IsNot:Is In:NotIn NotIn:In And:Or Or:And"
    " Add:Sub Sub:Add Mult:FloorDiv Div:Mult FloorDiv:Mult Mod:Mult Pow:Mult BitAnd:BitOr BitXor:BitAnd"
    " LShift:RShift RShift:LShift".split()
)
"""Operators by the names of their nodes, each with the operator that takes its place."""


@dataclass(frozen=True, slots=True)
class Site:
    """One possible mutation of a parsed file; ``change`` makes it in that tree."""

    line: int
    what: str
    change: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutation of one file: the file's path below ``src`` and the place among its sites."""

    path: str
    index: int
    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of the tests: whether one failed, and which, or why none did."""

    killed: bool
    by: str


def sites(tree: ast.AST) -> Iterator[Site]:
    """Yield the mutations of a file in a fixed order.

    >>> [site.what for site in sites(ast.parse("def f(a):\\n    return a < 1"))]
    ["return None for 'a < 1'", "Lt to LtE in 'a < 1'", '1 to 2']
    """
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "decorator_list", "returns"):
            continue
        children = value if isinstance(value, list) else [value]
        for place, child in enumerate(children):
            if isinstance(child, ast.AST) and not _is_skipped(child):
                yield from _own_sites(child)
                if not isinstance(child, ast.Raise):  # Text of errors is not mutated.
                    yield from sites(child)
                if isinstance(child, ast.stmt) and _is_deletable(child):
                    yield Site(child.lineno, f"delete {_quote(child)}", partial(_put, children, place, ast.Pass()))


def _own_sites(node: ast.AST) -> Iterator[Site]:
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                yield _swap(node, operator, partial(_put, node.ops, place))
        case ast.BoolOp() | ast.BinOp() | ast.AugAssign() if type(node.op).__name__ in _SWAPS:
            yield _swap(node, node.op, partial(setattr, node, "op"))
        case ast.Constant(value=bool() as truth):
            yield Site(node.lineno, f"{truth} to {not truth}", partial(setattr, node, "value", not truth))
        case ast.Constant(value=int() | float() as number):
            yield Site(node.lineno, f"{number} to {number + 1}", partial(setattr, node, "value", number + 1))
        case ast.If() | ast.While() | ast.IfExp():
            negated = ast.UnaryOp(ast.Not(), node.test)
            yield Site(node.test.lineno, f"negate {_quote(node.test)}", partial(setattr, node, "test", negated))
        case ast.Return(value=ast.expr() as returned) if ast.unparse(returned) != "None":
            nothing = partial(setattr, node, "value", ast.Constant(None))
            yield Site(node.lineno, f"return None for {_quote(returned)}", nothing)


def _swap(node: ast.expr | ast.stmt, operator: ast.AST, put: Callable[[ast.AST], None]) -> Site:
    old = type(operator).__name__
    return Site(node.lineno, f"{old} to {_SWAPS[old]} in {_quote(node)}", partial(put, getattr(ast, _SWAPS[old])()))


def _put(nodes: list[Any], place: int, node: ast.AST) -> None:
    nodes[place] = node


def _is_skipped(node: ast.AST) -> bool:
    """Return whether a mutation is useless: ``__repr__``, types, strings as statements."""
    if isinstance(node, ast.FunctionDef):
        return node.name == "__repr__"
    if isinstance(node, ast.If):
        return ast.unparse(node.test).endswith("TYPE_CHECKING")
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_deletable(node: ast.stmt) -> bool:
    """Return whether a statement can be removed without an undefined name, which any test would notice."""
    if isinstance(node, ast.Assign):
        return not any(isinstance(target, ast.Name | ast.Tuple) for target in node.targets)
    return isinstance(node, ast.Expr | ast.AugAssign | ast.Raise | ast.Continue | ast.Break)


def _quote(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return f"'{text}'" if len(text) <= 40 else f"'{text[:39]}…'"


def list_mutants(root: Path, only: str = "") -> list[Mutant]:
    """Return every mutant of the pure files, or of those that ``only`` names: ``gate``, ``gate/checks.py:20-30``."""
    name, _, lines = only.partition(":")
    first, _, last = lines.partition("-")
    wanted = range(int(first), int(last or first) + 1) if lines else None
    found = []
    for file in (file for package in PACKAGES for file in sorted((root / "src/custody" / package).glob("*.py"))):
        path = file.relative_to(root / "src").as_posix()
        if file.stem not in NOT_PURE and path.startswith(f"custody/{name}"):
            for index, site in enumerate(sites(ast.parse(file.read_text("utf-8")))):
                if wanted is None or site.line in wanted:
                    found.append(Mutant(path, index, site.line, site.what))
    return found


def mutate(source: str, index: int) -> str:
    """Return a file's text with the mutation at this place among its sites."""
    tree = ast.parse(source)
    list(sites(tree))[index].change()
    return ast.unparse(ast.fix_missing_locations(tree))


def order_tests(root: Path, path: str) -> tuple[list[Path], list[Path]]:
    """Return the fast tests that import a module, and the other tests of its package, the slow ones last."""
    package, module = Path(path).parts[1], Path(path).stem
    folder = root / "tests/unit" / package
    texts = {file: file.read_text("utf-8") for file in sorted(folder.rglob("*.py"))}
    uses = [rf"custody\.{package}(\.{module}\b| import )"]
    for file, text in texts.items():
        if not file.name.startswith("test_") and re.search(uses[0], text):
            uses.append(re.escape(".".join(file.relative_to(root).with_suffix("").parts)) + r"\b")
    tests = [file for file in texts if file.name.startswith("test_")]
    slow = {file for file in tests if SLOW_FOLDERS & set(file.relative_to(folder).parts)}
    near = [file for file in tests if file not in slow and re.search("|".join(uses), texts[file])]
    return near, sorted((file for file in tests if file not in near), key=lambda file: (file in slow, file))


class Workbench:
    """A copy of ``src`` in which one file at a time is mutated, and the tests that run against it."""

    def __init__(self, root: Path, scratch: Path, limit: float) -> None:
        self.root, self.source, self.limit = root, scratch / "src", limit
        shutil.copytree(root / "src", self.source, ignore=shutil.ignore_patterns("__pycache__"))

    def try_mutant(self, mutant: Mutant) -> Outcome:
        """Run the tests of the mutant's package, the nearest first, until a test fails."""
        file = self.source / mutant.path
        original = file.read_text("utf-8")
        near, others = order_tests(self.root, mutant.path)
        try:
            self._write(file, mutate(original, mutant.index))
            outcome = self.run([*([file] if ">>>" in original else []), *near])
            return self.run(others) if others and not outcome.killed else outcome
        finally:
            self._write(file, original)

    def run(self, tests: Sequence[Path | str]) -> Outcome:
        """Run these tests against the copy until a test fails; no tests fail nothing."""
        if not tests:
            return Outcome(False, "no tests")
        command = [sys.executable, "-m", "pytest", "-c", str(self.root / "pyproject.toml"), "--rootdir", str(self.root)]
        command += [*PYTEST_OPTIONS.split(), *map(str, tests)]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # programs of tests find our Python
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(self.source), "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(
            command, cwd=self.root, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as program:
            try:
                output, _ = program.communicate(timeout=self.limit)
            except subprocess.TimeoutExpired as cut_off:
                # A test that hangs has its own limit. Only a run without any finished test hangs as a whole.
                hangs = not cut_off.output
                return Outcome(hangs, f"{'hangs' if hangs else 'no failure'} for {self.limit:.0f} s")
            finally:
                if program.poll() is None:
                    os.killpg(program.pid, signal.SIGKILL)  # its session has programs of its own
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
        if program.returncode in (0, 5):  # 5: nothing was collected
            return Outcome(False, "all tests pass")
        return Outcome(True, failed[1] if failed else f"pytest exit status {program.returncode}")

    def _write(self, file: Path, text: str) -> None:
        """Replace a file together with its bytecode, which a change within the same second would not renew."""
        file.write_text(text, "utf-8")
        Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def check_killers(bench: Workbench, tried: Sequence[tuple[Mutant, Outcome]]) -> Outcome:
    """Run the tests that failed against the unchanged copy; one that fails there too proves nothing."""
    tests = {
        str(bench.source / mutant.path) if outcome.by.startswith("::") else outcome.by.partition("[")[0]
        for mutant, outcome in tried
        if "::" in outcome.by
    }
    return bench.run(sorted(tests))


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Print the table and the score; 1 if a test fails without any mutation."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description="Measure the mutation score.")
    parser.add_argument("--count", type=int, default=40, help="mutants to draw; 0 for all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32), help="default: a fresh one")
    parser.add_argument("--limit", type=float, default=300, help="seconds for each half of the tests (%(default)s)")
    parser.add_argument("--only", default="", help="a package, file or lines, as in gate/checks.py:20-30")
    chosen = parser.parse_args(arguments)
    mutants = list_mutants(root, chosen.only)
    drawn = random.Random(chosen.seed).sample(mutants, min(chosen.count or len(mutants), len(mutants)))
    print(f"seed {chosen.seed}: {len(drawn)} of {len(mutants):,} mutants", flush=True)
    tried = []
    with tempfile.TemporaryDirectory() as scratch:
        bench = Workbench(root, Path(scratch), chosen.limit)
        for mutant in drawn:
            outcome = bench.try_mutant(mutant)
            tried.append((mutant, outcome))
            place = f"{mutant.path.removeprefix('custody/')}:{mutant.line}"
            print(
                f"{'killed' if outcome.killed else 'SURVIVED':8}  {place:32}  {mutant.what:56}  {outcome.by}",
                flush=True,
            )
        unchanged = check_killers(bench, tried)
    if unchanged.killed:
        print(f"error: the score is invalid: {unchanged.by} fails without a mutation", file=sys.stderr)
        return 1
    print(f"score: {sum(outcome.killed for _, outcome in tried)} of {len(tried)} killed (seed {chosen.seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
