"""The bench of findings about files and names counts those in a repository's Markdown."""

import io
from pathlib import Path

from bench.cite_sessions import main
from bench.registry import COMMANDS
from tests.builders.repo import a_repository

README = (
    b"The engine is `src/engine.py`, the store is `src/store.py`.\n\nSee `src/store.py::keep`, `src/engine.py::lost`.\n"
)


def ran(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    status = main(words, out=out, err=io.StringIO())
    return status, out.getvalue()


def test_findings_and_faults_are_counted(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "r")
    built.commit({b"src/engine.py": b"x = 1\n", b"README.md": README, b"src/wheel.py": b"\n"})
    status, said = ran(str(built.path), "--show", "5")
    assert status == 0
    assert "r: 1 files, 3 lines: CITE-NOFILE 2, CITE-NOSYMBOL 1\n" in said
    assert "CITE-NOFILE: 2 in 1 files, 200.0 for 100 files\n" in said
    assert "CITE-NOFILE: 2 of 2 names that were made wrong\n" in said
    assert "r README.md:1 CITE-NOFILE no file 'src/store.py'\n  The engine is" in said


def test_without_markdown_nothing_is_measured(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "r")
    built.commit({b"a.py": b""})
    assert ran(str(built.path)) == (1, "r: 0 files, 0 lines: nothing\n")
    assert ran(str(a_repository(tmp_path / "empty").path))[0] == 1


def test_it_is_a_command_of_the_bench() -> None:
    assert COMMANDS["cite-sessions"] is main
