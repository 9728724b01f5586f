"""Invalid input of any kind: a clear message with a hint, the right exit status, nothing lost."""

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from custody.cli.main import cli
from custody.cli.verb_table import SECTIONS
from custody.core.errors import InputError
from custody.core.wire.canonical import EVENT_BYTES_MAX
from tests.builders.cli import a_git_folder, recorded, spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody

VERBS = (
    ("verify",),
    ("doctor",),
    ("export",),
    ("import", "nothing"),
    ("erase", "1", "--reason", "x", "--yes"),
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


@pytest.mark.parametrize("verb", VERBS, ids=lambda words: words[0])
def test_not_a_repository(tmp_path: Path, verb: tuple[str, ...]) -> None:
    (tmp_path / "nothing").write_text("")
    ran = custody(tmp_path, *verb)
    assert (ran.status, ran.out) == (2, "")
    assert "hint:" in ran.err
    assert "Traceback" not in ran.err


def test_every_verb_reports_a_missing_repository_alike(tmp_path: Path) -> None:
    shown = "error: not a git repository\nhint: run inside a git repository, or name one with -C\n"
    for words in (
        ("log",),
        ("blame", "x"),
        ("why", "x:1"),
        ("gate", "HEAD"),
        ("stats",),
        ("records",),
        ("dupes", "cluster"),
    ):
        assert custody(tmp_path, *words).err == shown, words


@pytest.mark.parametrize(
    "words", [("blame", "a.py"), ("why", "a.py:1"), ("stats", "."), ("gate",), ("dupes", "check")], ids=lambda w: w[0]
)
def test_every_verb_says_alike_that_a_revision_is_unknown(repository: Path, words: tuple[str, ...]) -> None:
    (repository / "a.py").write_text("x = 1\n")
    for command in (("add", "."), ("commit", "--quiet", "-m", "x")):
        subprocess.run(["git", *command], cwd=repository, check=True)
    ran = custody(repository, *words, "nowhere")
    assert ran.status == 2
    first, second = ran.err.splitlines()
    assert (first, second.startswith("hint: ")) == ("error: unknown revision 'nowhere'", True)


def test_a_misspelt_verb_and_a_missing_folder(tmp_path: Path) -> None:
    ran = custody(tmp_path, "verfy")
    assert ran.status == 2
    assert "did you mean 'verify'?" in ran.err
    assert custody(tmp_path, "-C", "nowhere", "verify").status == 2


def test_a_database_of_something_else_is_left_alone(repository: Path) -> None:
    home = repository / ".git" / "custody"
    home.mkdir()
    with closing(sqlite3.connect(home / "custody.db")) as db:
        db.execute("CREATE TABLE cats (name TEXT)")
    before = (home / "custody.db").read_bytes()
    ran = custody(repository, "verify")
    assert ran.status == 3
    assert "is the database of another program" in ran.err
    assert (home / "custody.db").read_bytes() == before


def test_a_file_that_is_not_a_database_is_damage(repository: Path) -> None:
    recorded(repository)
    (repository / ".git" / "custody" / "custody.db").write_bytes(b"rubbish" * 1000)
    ran = custody(repository, "verify")
    assert ran.status == 1
    assert ran.out.startswith("FILE-DAMAGED")
    assert custody(repository, "export").status == 3
    assert len(spool_of(repository).names()) == 3, "what waited still waits"


def test_an_unknown_schema_version(repository: Path) -> None:
    recorded(repository)
    custody(repository, "verify")
    with closing(sqlite3.connect(repository / ".git" / "custody" / "custody.db")) as db, db:
        db.execute("PRAGMA user_version = 99")
    ran = custody(repository, "verify")
    assert ran.status == 3
    assert "schema 99" in ran.err
    assert "upgrade custody" in ran.err


def test_a_newer_event_waits_for_a_newer_custody(repository: Path) -> None:
    recorded(repository)
    spool = spool_of(repository)
    from custody.capture.hook.durable import new_spool_name, write_spool_event

    newer = json.loads(an_event("prompt", id="newer")) | {"custody": 2}
    write_spool_event(str(spool.folder), new_spool_name(), json.dumps(newer).encode())
    ran = custody(repository, "doctor")
    assert ran.status == 0, "a warning: nothing is damaged"
    assert "event version 2 is newer" in ran.out
    assert "'custody doctor' ingests it" in ran.out
    assert len(spool.list_rejected_files()) == 1


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b'{"custody":1,"custody":1}', "duplicate key"),
        (b"[" * 100_000 + b"]" * 100_000, "nested deeper"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested deeper"),
        (b"{}", "not a valid event"),
        (b"not json", "not JSON"),
        (an_event(path="../../etc/passwd"), "leaves the repository"),
        (b'"' + b"x" * (EVENT_BYTES_MAX + 1) + b'"', "over the limit"),
        (b'"' + b"x" * 50_000_000 + b'"', "over the limit"),
    ],
    ids=["utf8", "twice", "deep-list", "deep-object", "empty", "text", "path", "large", "50MB"],
)
def test_the_spool_takes_no_rubbish(repository: Path, event: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        spool_of(repository).put(event)
    assert spool_of(repository).names() == []


@pytest.mark.parametrize(
    ("export", "words"),
    [
        (b"", "is empty"),
        (b"\xff\n", "not UTF-8"),
        (b"[" * 100_000 + b"\n", "line 1"),
        (b'{"line":"export","version":2,"chains":[]}\n', "version 2"),
        (b'{"line":"record"}\n', "not a line of an export"),
        (b'{"line":"export","version":1,"chains":[],"chains":[]}\n', "duplicate key"),
        (b'{"line":"export","version":1,"chains":[]}\n', "is incomplete: it ends after line 1"),
    ],
    ids=["empty", "utf8", "deep", "version", "record-first", "twice", "cut"],
)
def test_import_takes_no_rubbish(repository: Path, tmp_path: Path, export: bytes, words: str) -> None:
    (tmp_path / "export").write_bytes(export)
    ran = custody(repository, "import", str(tmp_path / "export"))
    assert ran.status == 2
    assert words in ran.err.replace("\n", " ")
    assert "Traceback" not in ran.err


def test_import_of_a_record_of_50_mb(repository: Path, tmp_path: Path) -> None:
    body = json.dumps({"line": "body", "digest": "sha256:" + "0" * 64, "text": "x" * 50_000_000})
    (tmp_path / "export").write_text('{"line":"export","version":1,"chains":[]}\n' + body + "\n")
    ran = custody(repository, "import", str(tmp_path / "export"))
    assert ran.status == 2
    assert "a record of 50,000,000 bytes is over the limit" in ran.err


def test_import_of_a_missing_file_and_of_a_folder(repository: Path, tmp_path: Path) -> None:
    assert custody(repository, "import", "nowhere").status == 2
    (tmp_path / "empty").mkdir()
    assert custody(repository, "import", str(tmp_path / "empty")).status == 2
    assert custody(repository, "import", "claude-code", "--transcripts", str(tmp_path / "empty")).status == 0


def test_export_into_a_folder_that_is_not_there(repository: Path) -> None:
    recorded(repository)
    ran = custody(repository, "export", "-o", "no/such/folder/x")
    assert ran.status == 2
    assert "cannot write" in ran.err


def test_export_into_a_closed_pipe_is_nobodys_error(repository: Path) -> None:
    import sys

    recorded(repository, 50, after="x" * 3000)
    ran = subprocess.run(
        f"{sys.executable} -m custody export | head -c 10", shell=True, cwd=repository, capture_output=True, check=False
    )
    assert ran.stderr == b""


def test_a_clock_set_back_loses_and_reorders_nothing(repository: Path) -> None:
    from custody.capture.spool import Spool

    names = iter(["00000000000000000009-1-" + "a" * 16, "00000000000000000001-1-" + "b" * 16])
    spool = Spool(spool_of(repository).folder, lambda: next(names))
    spool.put(an_event("prompt", id="first", at="2026-06-01T00:00:00Z"))
    custody(repository, "verify")
    spool.put(an_event("prompt", id="second", at="1999-01-01T00:00:00Z"))
    ran = custody(repository, "verify")
    assert (ran.status, ran.out) == (0, "OK: 2 records verified\n")


def test_a_record_from_the_future_is_noted(repository: Path) -> None:
    spool_of(repository).put(an_event("prompt", at="2200-01-01T00:00:00Z"))
    ran = custody(repository, "doctor")
    assert ran.status == 0
    assert "1 record with a time in the future" in ran.out


def test_rubbish_in_the_spool_folder_is_left_alone(repository: Path, tmp_path: Path) -> None:
    recorded(repository)
    spool = spool_of(repository)
    (spool.folder / "notes.txt").write_text("mine")
    os.symlink("/etc/passwd", spool.folder / ("0" * 20 + "-1-" + "c" * 16))
    os.mkfifo(spool.folder / ("0" * 20 + "-2-" + "d" * 16))
    ran = custody(repository, "doctor")
    assert "1 unknown file in the spool, not touched" in ran.out
    assert (spool.folder / "notes.txt").exists()
    assert custody(repository, "verify").out.endswith("FAILED: 2 problems in 5 records\n")  # two events are lost
    assert "root:" not in custody(repository, "export").out


def test_postgres_without_a_server_is_the_surroundings_turn(repository: Path) -> None:
    ran = custody(repository, "--database", "postgresql://127.0.0.1:1/none", "verify")
    assert ran.status == 3
    assert "the team store cannot be reached" in ran.err


def test_every_verb_has_its_own_help_as_in_the_overview() -> None:
    import click

    context = click.Context(cli)
    for verbs in SECTIONS.values():
        for verb, words in verbs.items():
            command = cli.get_command(context, verb)
            assert command is not None
            assert command.get_short_help_str(200) == words
