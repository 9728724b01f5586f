"""The tool for mutation scores kills a mutant only by a test that passes on the unchanged source."""

import ast
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools import mutants

MODULE = '''"""A module of a made package."""

LIMIT = 3


def is_small(number: int) -> bool:
    """Return whether a number is below the limit."""
    if number < 0:
        raise ValueError(f"negative: {number + 1}")
    return number < LIMIT
'''
TEST = """from custody.gate.size import is_small


def test_the_limit_is_three() -> None:
    assert [is_small(number) for number in range(5)] == [True, True, True, False, False]
"""
PYTEST = '[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\npythonpath = ["."]\n'


def made_tree(root: Path, tests: Mapping[str, str], module: str = MODULE) -> Path:
    """Return a tree with one pure module and these tests of its package."""
    files = {
        "pyproject.toml": PYTEST,
        "src/custody/__init__.py": "",
        "src/custody/gate/__init__.py": "",
        "src/custody/gate/size.py": module,
        "src/custody/gate/cli.py": "LIMIT = 1\n",
        "src/custody/gate/app/use.py": "LIMIT = 1\n",
        **{f"tests/unit/gate/{name}": text for name, text in tests.items()},
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def whats(source: str) -> list[str]:
    return [site.what for site in mutants.sites(ast.parse(source))]


def test_every_kind_of_mutation_is_found_and_made() -> None:
    for source, what, mutated in [
        ("a <= b", "LtE to Lt in 'a <= b'", "a < b"),
        ("a is not b", "IsNot to Is in 'a is not b'", "a is b"),
        ("a and b", "And to Or in 'a and b'", "a or b"),
        ("a * b", "Mult to FloorDiv in 'a * b'", "a // b"),
        ("a += b", "Add to Sub in 'a += b'", "a -= b"),
        ("f(True)", "True to False", "f(False)"),
        ("f(2.5)", "2.5 to 3.5", "f(3.5)"),
        ("a if b else c", "negate 'b'", "a if not b else c"),
        ("if a:\n    pass", "negate 'a'", "if not a:\n    pass"),
        ("def f():\n    return a", "return None for 'a'", "def f():\n    return None"),
        ("def f():\n    g()\n    h()", "delete 'h()'", "def f():\n    g()\n    pass"),
        ("for a in b:\n    continue", "delete 'continue'", "for a in b:\n    pass"),
        ("a.b = c", "delete 'a.b = c'", "pass"),
    ]:
        assert mutants.mutate(source, whats(source).index(what)) == mutated


def test_what_tells_nothing_is_skipped() -> None:
    for source in [
        '"""Text."""',
        "a: Literal[1]",
        "def f(a: Literal[1]) -> Literal[2]:\n    return None",
        "@dataclass(frozen=True)\nclass A:\n    pass",
        "class A:\n    def __repr__(self):\n        return f'{1 + 1}'",
        "if TYPE_CHECKING:\n    import a",
        "if typing.TYPE_CHECKING:\n    a = 1",
        "A = B | None",
        "a = b",
    ]:
        assert whats(source) == []
    assert whats("raise E(1 + 1)") == ["delete 'raise E(1 + 1)'"]  # the text of an error stays


def test_only_pure_modules_of_the_packages_are_mutated(tmp_path: Path) -> None:
    root = made_tree(tmp_path, {})
    assert [(mutant.path, mutant.line, mutant.what) for mutant in mutants.list_mutants(root)] == [
        ("custody/gate/size.py", 3, "3 to 4"),
        ("custody/gate/size.py", 8, "negate 'number < 0'"),
        ("custody/gate/size.py", 8, "Lt to LtE in 'number < 0'"),
        ("custody/gate/size.py", 8, "0 to 1"),
        ("custody/gate/size.py", 9, "delete 'raise ValueError(f'negative: {number + …'"),
        ("custody/gate/size.py", 10, "return None for 'number < LIMIT'"),
        ("custody/gate/size.py", 10, "Lt to LtE in 'number < LIMIT'"),
    ]
    assert [mutant.line for mutant in mutants.list_mutants(root, "gate/size.py:3-8")] == [3, 8, 8, 8]
    assert mutants.list_mutants(root, "trust") == []


def test_tests_that_import_the_module_run_first_and_slow_folders_last(tmp_path: Path) -> None:
    helper = "from custody.gate.size import is_small\n"
    root = made_tree(
        tmp_path,
        {
            "app/test_a.py": TEST,
            "builders.py": helper,
            "test_b.py": "",
            "test_c.py": "from tests.unit.gate.builders import is_small\n",
            "test_d.py": TEST,
            "test_e.py": "from custody.gate.sizes import is_small\n",
        },
    )
    near, others = mutants.order_tests(root, "custody/gate/size.py")
    assert [file.name for file in near] == ["test_c.py", "test_d.py"]
    assert [file.name for file in others] == ["test_b.py", "test_e.py", "test_a.py"]


def test_the_table_names_the_test_that_kills_and_the_score_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = made_tree(tmp_path, {"test_size.py": TEST})
    assert mutants.main(["--count", "0", "--seed", "7", "--only", "gate/size.py:9-10"], root) == 0
    first, *rows, score = capsys.readouterr().out.splitlines()
    assert first == "seed 7: 3 of 3 mutants"
    killer = "tests/unit/gate/test_size.py::test_the_limit_is_three"
    assert sorted(" ".join(row.split()) for row in rows) == [
        "SURVIVED gate/size.py:9 delete 'raise ValueError(f'negative: {number + …' all tests pass",
        f"killed gate/size.py:10 Lt to LtE in 'number < LIMIT' {killer}",
        f"killed gate/size.py:10 return None for 'number < LIMIT' {killer}",
    ]
    assert score == "score: 2 of 3 killed (seed 7)"
    assert (root / "src/custody/gate/size.py").read_text() == MODULE


def test_doctests_of_the_module_and_tests_that_do_not_import_it_kill(tmp_path: Path) -> None:
    other = "import custody.gate.size as size\n\n\ndef test_other() -> None:\n    assert size.LIMIT == 3\n"
    with_doctest = MODULE.replace('limit."""', 'limit.\n\n    >>> is_small(3)\n    False\n    """')
    for place, (tests, module, killer) in enumerate(
        [
            ({"app/test_other.py": other}, MODULE, "tests/unit/gate/app/test_other.py::test_other"),
            ({}, with_doctest, "custody.gate.size.is_small"),
        ]
    ):
        root = made_tree(tmp_path / f"root{place}", tests, module)
        pyproject = root / "pyproject.toml"
        pyproject.write_text(pyproject.read_text().replace("importlib", 'importlib", "--doctest-modules'))
        bench = mutants.Workbench(root, tmp_path / f"scratch{place}", 60)
        mutant = mutants.list_mutants(root, "gate/size.py:3")[0]
        outcome = bench.try_mutant(mutant)
        assert outcome.killed and outcome.by.endswith(killer)
        assert not mutants.check_killers(bench, [(mutant, outcome)]).killed


def test_a_run_without_a_finished_test_hangs_and_a_slow_run_does_not_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "pytest.sh"
    monkeypatch.setattr(sys, "executable", str(program))
    for place, (script, outcome) in enumerate(
        [
            ("sleep 60", mutants.Outcome(True, "hangs for 1 s")),
            ("echo ..; sleep 60", mutants.Outcome(False, "no failure for 1 s")),
            ("echo ..", mutants.Outcome(False, "all tests pass")),
            (
                "echo '.F'; echo 'FAILED tests/a.py::test_a[x - y] - E: 1'; exit 1",
                mutants.Outcome(True, "tests/a.py::test_a[x"),
            ),
            ("exit 4", mutants.Outcome(True, "pytest exit status 4")),
        ]
    ):
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        bench = mutants.Workbench(made_tree(tmp_path / f"root{place}", {}), tmp_path / f"scratch{place}", 1)
        assert bench.run(["tests/a.py"]) == outcome


def test_a_score_by_tests_that_fail_without_a_mutation_is_invalid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = made_tree(tmp_path, {"test_size.py": TEST.replace("False, False", "False, True")})
    assert mutants.main(["--count", "1"], root) == 1
    assert capsys.readouterr().err.startswith("error: the score is invalid: tests/unit/gate/test_size.py::")
