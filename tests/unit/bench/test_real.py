"""The bench on real repositories: its own reading of transcripts, and what it counts as true."""

import json
from io import StringIO
from pathlib import Path
from random import Random

import pytest

from bench import real
from bench.attribution.world import surroundings
from bench.real import (
    AddedLine,
    Figures,
    RealCommit,
    choose_commits,
    find_former_names,
    is_contradicted,
    judge_line,
    main,
    ranges_of,
    read_commit,
    read_transcripts,
)
from custody.attribution.app.answers import LAID_OUT, OTHER_PLACE, SAYS_LITTLE
from custody.attribution.wire import Attribution
from custody.core.paths import Lines
from custody.workspace.workspace import Workspace
from tests.builders.repo import Built, a_repository
from tests.builders.transcripts import a_transcript

OLD = "def total(numbers):\n    return sum(numbers)\n"
NEW = OLD + "def mean(numbers):\n    return total(numbers) / len(numbers)\n"
AT = 1_769_861_000


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repository")
    first = made.commit({b"src/a.py": OLD.encode()}, at=AT)
    made.commit({b"src/a.py": NEW.encode(), b"notes.txt": b"typed by hand here\n"}, first, at=AT + 600)
    made.checkout()
    return made


@pytest.fixture
def transcripts(built: Built, tmp_path: Path) -> Path:
    session = a_transcript("s1", built.path.resolve(), at="2026-01-31T12:05:00Z").prompt("add mean")
    session.edit("src/a.py", OLD, "    return sum(numbers)\n", NEW.removeprefix("def total(numbers):\n"))
    agent = session.subagent("a1").write("src/b.py", None, "made_by_subagent = 1\n", structured=False)
    session.progress_of(agent).subagent_done(agent)
    session.subagents.clear()
    session.put(tmp_path / "transcripts")
    return tmp_path / "transcripts"


def test_the_other_reading_has_each_call_with_its_lines(transcripts: Path) -> None:
    reading = read_transcripts(transcripts)
    assert len(reading.calls) == 2
    assert reading.writers("def mean(numbers):", "src/a.py", AT + 600)
    assert not reading.writers("def mean(numbers):", "src/b.py", AT + 600)
    assert not reading.writers("def mean(numbers):", "src/a.py", AT - 600)
    assert reading.writers("made_by_subagent = 1", "src/b.py", AT + 600)


def test_lines_that_a_call_only_repeats_and_failed_calls_are_not_its_own(tmp_path: Path) -> None:
    session = a_transcript("s1", "/w", at="2026-01-31T12:05:00Z").write("a.py", OLD, NEW)
    session.edit("b.py", "x", "x", "never_written = 1", failed=True).put(tmp_path)
    reading = read_transcripts(tmp_path)
    assert reading.writers("def mean(numbers):", "a.py", AT + 600)
    assert not reading.writers("def total(numbers):", "a.py", AT + 600)
    assert not reading.writers("never_written = 1", "b.py", AT + 600)


def test_notes_with_conversations_are_read_too(tmp_path: Path) -> None:
    messages = [{"type": "tool_use", "name": "Write", "input": {"file_path": "/w/a.py", "content": "x = make()\n"}}]
    note = {"prompts": {"k": {"messages": messages}}}
    (tmp_path / ("a" * 40)).write_text("a.py\n  k 1\n---\n" + json.dumps(note))
    assert read_transcripts(tmp_path).writers("x = make()", "a.py", 0)


def test_only_commits_of_files_that_a_call_edited_are_chosen(built: Built, transcripts: Path, tmp_path: Path) -> None:
    (commit,) = choose_commits(built.path, read_transcripts(transcripts), 5, Random(), tmp_path)
    assert commit.sha == built.head()
    assert commit.added == {"notes.txt": {1: "typed by hand here"}, "src/a.py": {3: "def mean(numbers):", 4: "return total(numbers) / len(numbers)"}}  # fmt: skip  # noqa: E501


def answered(**fields: object) -> Attribution:
    values = dict.fromkeys(Attribution.__struct_fields__) | {
        "start_line": 1,
        "end_line": 1,
        "signals": [],
        "evidence": [],
        **fields,
    }
    return Attribution(**values)  # type: ignore[arg-type]


def judged(transcripts: Path, line: str, path: str, answer: Attribution, **removed: set[str]) -> Figures:
    figures, commit = Figures(), RealCommit("a" * 40, AT + 600, {}, {name.replace("__", "/") + ".py": lines for name, lines in removed.items()})  # fmt: skip  # noqa: E501
    judge_line(figures, commit, AddedLine(path, line), answer, read_transcripts(transcripts))
    return figures


def test_a_call_of_another_file_needs_a_move(transcripts: Path) -> None:
    (call,) = (name for name, one in read_transcripts(transcripts).calls.items() if "main" in name)
    answer = answered(kind="agent", tool_call_id=call)
    assert judged(transcripts, "def mean(numbers):", "src/a.py", answer).elsewhere == 0
    other = judged(transcripts, "def mean(numbers):", "src/c.py", answer)
    assert (other.explained, other.elsewhere, other.unproven) == (1, 1, 1)
    same_session = judged(transcripts, "def mean(numbers):", "src/b.py", answer)
    assert (same_session.elsewhere, same_session.unproven) == (1, 0)
    moved = judged(transcripts, "def mean(numbers):", "src/c.py", answer, src__a={"def mean(numbers):"})
    assert (moved.elsewhere, moved.unproven) == (1, 0)


def test_a_reason_is_false_if_a_call_wrote_the_line(transcripts: Path) -> None:
    none = answered(kind="none", reason="no captured edit shows this text")
    assert judged(transcripts, "def mean(numbers):", "src/a.py", none).false.total() == 1
    assert judged(transcripts, "def median(numbers):", "src/a.py", none).false.total() == 0
    named = answered(kind="agent", signals=["named_by_commit"])
    figures = judged(transcripts, "def median(numbers):", "src/a.py", named)
    assert (figures.explained, figures.named, figures.reasons) == (0, 1, {"named only by the commit": 1})


def test_reasons_that_admit_a_call_have_their_own_tests(tmp_path: Path) -> None:
    session = a_transcript("s1", "/w", at="2026-01-31T12:05:00Z")
    session.edit("a.py", "total(a, b)\n", "total(a, b)", "top = 1\ntotal(a, b,)\nend = 2").put(tmp_path)
    reading = read_transcripts(tmp_path)
    writers = reading.writers("total(a, b,)", "a.py", AT + 600)
    assert not is_contradicted(LAID_OUT, "total(a, b,)", (), writers)
    assert is_contradicted(LAID_OUT, "end = 2", (), reading.writers("end = 2", "a.py", AT + 600))
    assert is_contradicted(OTHER_PLACE, "total(a, b,)", ("top = 1", "end = 2"), writers)
    assert not is_contradicted(OTHER_PLACE, "total(a, b,)", ("top = 1", "other = 2"), writers)
    assert not is_contradicted(SAYS_LITTLE, "total(a, b,)", (), writers)
    assert is_contradicted(SAYS_LITTLE, "it says a lot more than this", (), writers)
    assert not reading.was_gone("total(a, b,)", "a.py", writers[0].at)
    assert reading.was_gone("total(a, b)", "a.py", 0)


def test_git_finds_the_former_file_of_a_line_that_moved_and_was_laid_out_later(built: Built, tmp_path: Path) -> None:
    moved = "def geometric_mean(of_numbers, with_weights):\n    return product(of_numbers) ** len(of_numbers)\n"
    old = built.commit({b"old.py": moved.encode()}, at=AT)
    new = built.commit({b"new.py": moved.encode(), b"rest.py": b"x = 1\n"}, old, at=AT + 60)
    last = built.commit({b"new.py": moved.replace("s):", "s) :").encode(), b"rest.py": b"x = 1\n"}, new, at=AT + 120)
    built.checkout()
    (commit,) = [read_commit(["git", "-C", str(built.path)], last, AT, tmp_path, surroundings(tmp_path))]
    assert find_former_names(Workspace(built.path), commit, "new.py", 1) >= {"old.py"}
    assert find_former_names(Workspace(built.path), commit, "rest.py", 1) == {"rest.py"}


def test_line_ranges_join_neighbors() -> None:
    assert list(ranges_of([5, 1, 2, 3])) == [Lines(1, 3), Lines(5, 5)]


def test_the_bench_measures_a_repository(built: Built, transcripts: Path) -> None:
    out, err = StringIO(), StringIO()
    options = ["--repo", str(built.path), "--transcripts", str(transcripts), "--json"]
    assert main(options, out=out, err=err) == 0, (err.getvalue(), out.getvalue())
    told = json.loads(out.getvalue())
    assert (told["commits"], told["lines"], told["explained"], told["elsewhere"], told["false"]) == (1, 3, 2, 0, {})
    assert list(told["reasons"].values()) == [1]


def test_without_a_commit_nothing_is_measured(built: Built, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    err = StringIO()
    assert main(["--repo", str(built.path), "--transcripts", str(tmp_path / "none")], out=StringIO(), err=err) == 1
    assert err.getvalue().startswith("not measured: no commit has a file")
    assert real.COMMITS == 32
