"""``custody import`` as a user runs it: what it takes for what, and what it says."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.builders.cli import a_git_folder
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.transcripts import Transcript, a_transcript, project_name


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repo")


def a_session(repository: Path) -> Transcript:
    session = a_transcript("s1", repository.resolve()).prompt("make it two").edit("a.py", "one\n", "one", "two")
    return session.write("/elsewhere/b.py", None, "x\n").line(type="new-kind")


SAID = """\
PLACE/s1.jsonl:5: '/elsewhere/b.py' is no file of this repository: its edits are kept without one
passed over lines of unknown types: new-kind (1)
1 file(s), 6 line(s): {new} new record(s), {known} known, 0 repeated
1 session(s), 2 call(s), 2 edit(s) (1 outside this repository), 0 subagent(s) (0 of unknown parents)
"""


def test_the_transcripts_of_an_agent_from_a_folder(repository: Path, tmp_path: Path) -> None:
    place = tmp_path / "projects"
    a_session(repository).put(place)
    for new, known in ((5, 0), (0, 5)):
        ran = custody(repository, "import", "claude-code", "--transcripts", str(place))
        assert (ran.status, ran.out.replace(str(place), "PLACE"), ran.err) == (0, SAID.format(new=new, known=known), "")


def test_the_agents_own_folder(repository: Path, tmp_path: Path) -> None:
    a_session(repository).put(tmp_path / "claude" / "projects" / project_name(repository.resolve()))
    ran = custody(repository, "import", "claude-code", "--json", CLAUDE_CONFIG_DIR=str(tmp_path / "claude"))
    report = json.loads(ran.out)
    assert (report["report"], report["files"], report["new"]) == ("import-transcripts", 1, 5)
    assert "a.py" in custody(repository, "log", "s1").out


def test_no_transcripts_at_all(repository: Path, tmp_path: Path) -> None:
    ran = custody(repository, "import", "claude-code", CLAUDE_CONFIG_DIR=str(tmp_path))
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"no transcripts of claude-code for this repository in '{tmp_path}/projects'\n"


@pytest.mark.parametrize("whole", [True, False], ids=["folder", "file"])
def test_transcripts_are_known_by_what_is_in_them(repository: Path, tmp_path: Path, whole: bool) -> None:
    file = a_session(repository).put(tmp_path / "somewhere")
    ran = custody(repository, "import", str(file.parent if whole else file))
    assert ran.status == 0 and "5 new record(s)" in ran.out


def test_generic_events_are_known_by_what_is_in_them(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(an_event() + b"\n" + an_event("link") + b"\nrubbish\n")
    ran = custody(repository, "import", str(tmp_path / "events.jsonl"))
    assert (ran.status, ran.out.splitlines()[-1]) == (0, "3 line(s): 2 new, 0 known")
    assert f"{tmp_path}/events.jsonl:3: not JSON" in ran.out


def test_where_there_is_nothing(repository: Path, tmp_path: Path) -> None:
    ran = custody(repository, "import", "claude-code", "--transcripts", str(tmp_path / "gone"))
    assert (ran.status, ran.out) == (2, "")
    assert "there is no" in ran.err
    ran = custody(repository, "import", str(tmp_path / "gone"), "--transcripts", str(tmp_path))
    assert ran.status == 2 and "goes with the name of an agent" in ran.err
    ran = custody(repository, "import", "claude")
    assert ran.status == 2 and "hint: name a file, or an agent as 'claude-code'" in ran.err


def test_many_problems_are_not_all_shown(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "s.jsonl").write_text("bad\n" * 30)
    ran = custody(repository, "import", str(tmp_path / "t"))
    assert "and 10 more problem(s): --json names up to 30" in ran.out


def stored(repository: Path) -> int:
    """The number of records in the store, while another process writes them."""
    try:
        with closing(sqlite3.connect(f"file:{repository}/.git/custody/custody.db?mode=ro", uri=True)) as db:
            (count,) = db.execute("SELECT count(*) FROM record").fetchone()
    except sqlite3.OperationalError:  # the store is not there yet
        return 0
    return int(count)


def test_an_import_that_is_killed_loses_nothing(repository: Path, tmp_path: Path) -> None:
    session = a_session(repository)
    for n in range(1000):
        session.edit("a.py", f"{n}\n", f"{n}", f"{n + 1}")
    session.put(tmp_path / "t")
    words = [sys.executable, "-m", "custody", "import", str(tmp_path / "t")]
    with subprocess.Popen(words, cwd=repository, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not stored(repository):
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL, "it was done before it was killed"
    ran = custody(repository, "import", str(tmp_path / "t"), "--json")
    report = json.loads(ran.out)
    assert report["new"] > 0 and report["known"] > 0, "it was killed in the middle"
    assert report["new"] + report["known"] == 2005
    assert custody(repository, "verify").status == 0
