"""A program is timed only when it did its job."""

import sys
from pathlib import Path

import pytest

from bench.bars import BenchError
from bench.spawn import Spawn


def python(program: str, folder: Path, *, prints: bytes = b"", times: int = 1) -> Spawn:
    return Spawn(argv=(sys.executable, "-I", "-S", "-c", program), prints=prints, cwd=folder, times=times)


def test_it_runs_as_often_as_asked_in_its_folder(tmp_path: Path) -> None:
    python("open('ran', 'a').write('x'); print('done')", tmp_path, prints=b"done\n", times=3)()
    assert (tmp_path / "ran").read_text() == "xxx"


def test_it_starts_with_the_given_environment_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKED", "yes")
    python("import os; print('LEAKED' in os.environ)", tmp_path, prints=b"False\n")()


def test_a_program_that_prints_something_else_is_not_timed(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="printed 'other', not 'done'"):
        python("print('other')", tmp_path, prints=b"done\n")()


def test_a_program_that_fails_fast_is_not_a_fast_program(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="exited with 3: no luck"):
        python("import sys; print('no luck', file=sys.stderr); sys.exit(3)", tmp_path)()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="'no-such-program' cannot be timed"):
        Spawn(argv=("no-such-program",), prints=b"", cwd=tmp_path)()
