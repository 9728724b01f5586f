import io
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bench import blame, blame_growth
from bench.attribution.histories import Hunk, slid
from bench.attribution.peer import _sessions, _stretch
from bench.attribution.score import Said
from bench.attribution.truth import EITHER, PERSON, Line, Page, the_agent
from bench.bars import at_most
from bench.blame import Place, Question, Timed
from bench.progress import quiet
from bench.runner import Verdict

AGENT = the_agent("s1")


def a_question(bar: float = 2) -> Question:
    return Question("asked", lambda _: None, lambda _: None, at_most(bar))


def test_the_bar_is_held_against_the_ratio_after_what_a_start_may_cost() -> None:
    assert Timed(a_question(), (3.0,) * 15, (1.9,) * 15).verdict is Verdict.MET
    assert Timed(a_question(), (3.0,) * 15, (2.1,) * 15).verdict is Verdict.MISSED
    assert Timed(a_question(), (1.0, 9.0) * 8, (0.5, 8.0) * 8).verdict is Verdict.UNSTABLE


def test_a_question_that_is_not_answered_is_not_run_and_says_why(tmp_path: Path) -> None:
    place = Place(tmp_path, {"PATH": "/nowhere"}, "a.py", 1)
    question = Question("asked", lambda at: at.custody("no-such-verb"), lambda _: None, at_most(2))
    found = blame.timed(question, place, 15, quiet)
    assert found.verdict is Verdict.NOT_RUN and "no-such-verb" in found.failure
    assert "no-such-verb" in blame.table({"lines": 1, "commits": 1, "line": 1}, [found])


def test_only_answers_are_forgotten_not_what_they_are_made_of(tmp_path: Path) -> None:
    home = tmp_path / ".git" / "custody"
    home.mkdir(parents=True)
    tables = ("lineage_state", "lineage_line", "lineage_version", "record")
    with closing(sqlite3.connect(home / "custody.db")) as connection, connection:
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (n)")
            connection.execute(f"INSERT INTO {table} VALUES (1)")
    Place(tmp_path, {}, "a.py", 1).drop_caches()
    with closing(sqlite3.connect(home / "custody.db")) as connection:
        left = [table for table in tables if connection.execute(f"SELECT 1 FROM {table}").fetchone()]
    assert left == ["lineage_state", "lineage_line", "record"]


def test_the_generated_repository_is_long_and_often_changed(tmp_path: Path) -> None:
    size = blame.sizes(blame.generated(tmp_path))
    assert size["lines"] >= blame.LINES_MIN and size["commits"] >= blame.COMMITS_MIN


def test_an_unknown_question_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        blame.main(["warmer"], out=io.StringIO())
    assert "did you mean 'warm'" in capsys.readouterr().err


def test_keys_of_other_files_lines_do_not_meet() -> None:
    keys = [blame_growth.key_of(f"{n}", line) for n in range(100) for line in range(3)]
    assert len(set(keys)) == len(keys)


def test_an_insertion_that_could_stand_higher_is_nobodys_where_it_could() -> None:
    texts = ["a persons line", "end", "an agents line", "end", "rest"]
    page = Page(tuple(Line(text, AGENT if n in (2, 3) else PERSON) for n, text in enumerate(texts)))
    found = slid(page, Hunk(2, 2, ("an agents line", "end")))
    assert [line.who for line in found.lines] == [PERSON, EITHER, AGENT, EITHER, PERSON]


def test_an_insertion_that_could_stand_lower_is_nobodys_where_it_could() -> None:
    texts = ["start", "an agents line", "start", "a persons line"]
    page = Page(tuple(Line(text, AGENT if n < 2 else PERSON) for n, text in enumerate(texts)))
    found = slid(page, Hunk(0, 0, ("start", "an agents line")))
    assert [line.who for line in found.lines] == [EITHER, AGENT, EITHER, PERSON]


def test_the_other_tools_answer_names_a_trace_and_the_trace_its_session(tmp_path: Path) -> None:
    folder = tmp_path / ".agent-trace" / "projects" / "p"
    folder.mkdir(parents=True)
    (folder / "traces.jsonl").write_text('{"id": "t1", "metadata": {"session_id": "s1"}}\n')
    said = {"start_line": 2, "end_line": 3, "kind": "AI", "trace_id": "t1"}
    assert _stretch(said, _sessions(tmp_path)) == (2, 3, Said("s1", None, "AI"))
