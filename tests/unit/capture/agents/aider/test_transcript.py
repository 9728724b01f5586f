"""Aider's chat history: sessions, prompts, edits that Aider confirmed, and its commits."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import (
    TRANSCRIPT_READERS,
    LineProblem,
    SkippedLine,
    TranscriptLine,
    read_jsonl_lines,
    transcript_views,
)
from custody.capture.agents.aider.transcript import READER
from custody.core.views import CallStatus, FileEdit, Prompt, Session, ToolCall, View
from custody.core.wire.canonical import dump_canonical_json, parse_json_bytes
from tests.builders.aider import MODEL, SESSION, Aider, block


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use a zone that is one hour ahead of UTC in January."""
    import time

    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


def read(file: Path) -> list[TranscriptLine | SkippedLine | LineProblem]:
    return list(READER.read(file, read_jsonl_lines(file), {}))


def found(file: Path) -> list[TranscriptLine]:
    return [item for item in read(file) if isinstance(item, TranscriptLine)]


def views_of(item: TranscriptLine) -> tuple[View, ...]:
    event: dict[str, Any] = {
        "custody": 1,
        "kind": "transcript",
        "id": item.id,
        "agent": "aider",
        "session": "s",
        "at": item.at,
        "payload": item.payload,
        "calls": item.calls,
        "paths": {named.name: named.name for named in item.edits},
        "opens": item.opens,
    }
    stored = {name: value for name, value in event.items() if value is not None}
    return transcript_views(parse_json_bytes(dump_canonical_json(READER.trimmed(stored))))


def all_views(file: Path, kind: Any) -> list[Any]:
    return [view for item in found(file) for view in views_of(item) if isinstance(view, kind)]


def edits_of(file: Path) -> list[tuple[str, str | None, str]]:
    edits = all_views(file, FileEdit)
    return [(str(edit.path), edit.before and edit.before.content, edit.after.content) for edit in edits]


def test_a_session_has_its_start_model_prompts_edits_and_commit(tmp_path: Path) -> None:
    chat = Aider().start().prompt("give a discount\nnow").replace("a.py", "one", "two", commit="0123abc")
    items = found(chat.put(tmp_path))
    assert [(item.session, item.at) for item in items] == [(SESSION, "2026-01-31T11:00:00Z")] * 2
    assert [view.text.content for view in all_views(tmp_path / ".aider.chat.history.md", Prompt)] == [
        "give a discount\nnow"
    ]
    assert items[1].commits == ("0123abc",)
    assert [named.cwd for named in items[1].edits] == [str(tmp_path)]
    (session,), (call,) = (all_views(chat.put(tmp_path), kind) for kind in (Session, ToolCall))
    assert (session.model, call.model, call.status, call.about) == (MODEL, MODEL, CallStatus.OK, "a.py")
    (edit,) = all_views(chat.put(tmp_path), FileEdit)
    assert (edit.before.content, edit.after.content, edit.part) == ("one", "two", True)


def test_a_whole_file_may_have_replaced_one(tmp_path: Path) -> None:
    (edit,) = all_views(Aider().start().prompt("w").write("b.py", "x = 1\n").put(tmp_path), FileEdit)
    assert (edit.before, edit.after.content, edit.part, edit.overwrites) == (None, "x = 1\n", False, True)


def test_a_whole_files_name_may_stand_above_an_empty_line(tmp_path: Path) -> None:
    chat = Aider().start().prompt("w").answer("**b.py**\n\n```python\nx = 1\n```").applied("b.py")
    assert edits_of(chat.put(tmp_path)) == [("b.py", None, "x = 1\n")]


def test_an_empty_search_creates_the_file(tmp_path: Path) -> None:
    (edit,) = all_views(Aider().start().prompt("w").replace("b.py", "", "x = 1").put(tmp_path), FileEdit)
    assert (edit.before, edit.after.content, edit.overwrites) == (None, "x = 1", False)


@pytest.mark.parametrize(
    "answer",
    [
        block("**src/a.py**", "one", "two"),
        block("`src/a.py`:", "one", "two"),
        block("#### src/a.py", "one", "two"),
        block("a.py", "one", "two"),
        "```\nsrc/a.py\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n```",
        "src/a.py\n<source>\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n</source>",
        "src/a.py\n````\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n````",
    ],
)
def test_a_file_is_named_as_models_write_it(tmp_path: Path, answer: str) -> None:
    chat = Aider().start().prompt("w").answer(answer).applied("src/a.py")
    assert edits_of(chat.put(tmp_path)) == [("src/a.py", "one", "two")]


def test_further_blocks_without_a_name_are_of_the_same_file(tmp_path: Path) -> None:
    second = block("and then", "three", "four")
    chat = Aider().start().prompt("w").answer(f"{block('a.py', 'one', 'two')}\n\n{second}").applied("a.py")
    assert edits_of(chat.put(tmp_path)) == [("a.py", "one", "two"), ("a.py", "three", "four")]


def test_a_block_may_contain_fences_and_prompts(tmp_path: Path) -> None:
    text = "# Guide\n```\n#### typed  \n> Applied edit to b.md  "
    chat = Aider().start().prompt("w").replace("a.md", "# Guide", text).prompt("x").replace("a.md", "one", "two")
    assert edits_of(chat.put(tmp_path)) == [("a.md", "# Guide", text), ("a.md", "one", "two")]
    assert len(all_views(chat.put(tmp_path), Prompt)) == 2


def test_a_path_of_windows_is_matched_and_stored_with_slashes(tmp_path: Path) -> None:
    for name in ("src/a.py", r"src\a.py"):
        chat = Aider().start().prompt("w").answer(block(name, "one", "two")).applied(r"src\a.py")
        assert edits_of(chat.put(tmp_path)) == [("src/a.py", "one", "two")]


def test_only_files_that_aider_edited_count(tmp_path: Path) -> None:
    both = f"{block('a.py', 'one', 'two')}\n\n{block('b.py', 'one', 'two')}"
    chat = Aider().start().prompt("w").answer(both).notice("Did not apply edit to b.py (--dry-run)").applied("a.py")
    chat.prompt("x").answer(block("c.py", "one", "two"))
    assert [path for path, _, _ in edits_of(chat.put(tmp_path))] == ["a.py"]


def test_an_answer_after_an_error_is_a_call_of_its_own(tmp_path: Path) -> None:
    chat = Aider().start().prompt("w").replace("a.py", "one", "two").notice("Fix lint errors? (Y)es/(N)o [Yes]: y")
    chat.replace("a.py", "two", "three", commit="0123abc")
    calls = [item for item in found(chat.put(tmp_path)) if item.calls]
    assert [item.commits for item in calls] == [(), ("0123abc",)]
    assert edits_of(chat.put(tmp_path)) == [("a.py", "one", "two"), ("a.py", "two", "three")]


def test_a_commit_of_a_persons_changes_before_the_edits_is_not_the_agents(tmp_path: Path) -> None:
    chat = Aider().start().prompt("w").answer(block("a.py", "one", "two"))
    chat.notice("Committing a.py before applying edits.", "Commit fedcba9 wip").applied("a.py", commit="0123abc")
    assert [item.commits for item in found(chat.put(tmp_path)) if item.calls] == [("0123abc",)]


def test_commands_and_answers_to_questions_are_not_prompts(tmp_path: Path) -> None:
    chat = Aider().start().prompt("/add a.py").prompt("!make").prompt("<blank>").prompt("/ask why?")
    chat.answer("Because.").prompt("Add file to the chat? (Y)es/(N)o/(A)ll [Yes]: all").notice("ok")
    assert [view.text.content for view in all_views(chat.put(tmp_path), Prompt)] == ["why?"]


def test_a_models_change_is_followed(tmp_path: Path) -> None:
    chat = Aider().start().prompt("w").answer("ok").notice("Model: other/model with whole edit format").prompt("x")
    chat.write("a.py", "x\n")
    assert all_views(chat.put(tmp_path), ToolCall)[0].model == "other/model"


def test_sessions_of_one_history_are_apart(tmp_path: Path) -> None:
    chat = (
        Aider().start().prompt("w").write("a.py", "x\n").start("2026-02-01 09:30:00").prompt("w").write("a.py", "x\n")
    )
    items = found(chat.put(tmp_path))
    assert [item.session for item in items] == [SESSION] * 2 + ["aider-2026-02-01T093000"] * 2
    assert len({item.id for item in items}) == 4


def test_a_grown_history_keeps_its_ids(tmp_path: Path) -> None:
    chat = Aider().start().prompt("w").write("a.py", "x\n")
    before = [item.id for item in found(chat.put(tmp_path))]
    assert [item.id for item in found(chat.prompt("y").write("b.py", "y\n").put(tmp_path))][:2] == before


# --- hostile input ----------------------------------------------------------------------------------------------------


def test_text_in_a_block_is_never_a_prompt_or_a_notice(tmp_path: Path) -> None:
    forged = "#### merge everything  \n> Applied edit to b.py  \n> Commit 0123abc x  \n# not a start"
    chat = Aider().start().prompt("w").write("a.md", forged)
    items = found(chat.put(tmp_path))
    assert [view.text.content for view in all_views(tmp_path / ".aider.chat.history.md", Prompt)] == ["w"]
    assert [(path, after) for path, _, after in edits_of(chat.put(tmp_path))] == [("a.md", f"{forged}\n")]
    assert items[1].commits == ()


def test_quotes_and_headings_of_an_answer_are_not_the_programs(tmp_path: Path) -> None:
    chat = Aider().start().prompt("w").answer("> Applied edit to b.py\n#### Step 2\n> Commit 0123abc x")
    assert [item.payload["type"] for item in found(chat.put(tmp_path))] == ["prompt"]


def test_a_block_without_an_end_does_not_hide_what_follows(tmp_path: Path) -> None:
    chat = Aider().start().prompt("w").answer("```python\nx = 1").prompt("again").replace("a.py", "one", "two")
    assert edits_of(chat.put(tmp_path)) == [("a.py", "one", "two")]


def test_a_truncated_history_gives_its_complete_edits(tmp_path: Path) -> None:
    chat = Aider().start().prompt("w").replace("a.py", "one", "two").prompt("x")
    whole = chat.replace("b.py", "one", "two").text()
    file = tmp_path / ".aider.chat.history.md"
    file.write_text(whole[: whole.rindex("=======")])
    assert edits_of(file) == [("a.py", "one", "two")]


def test_invalid_times_long_lines_and_long_answers_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("custody.capture.agents.aider.transcript.ANSWER_BYTES_MAX", 1000)
    chat = Aider().start("2026-13-31 12:00:00").prompt("w").start().prompt("x").write("a.py", "y\n" * 1000)
    problems = [item.what for item in read(chat.put(tmp_path)) if isinstance(item, LineProblem)]
    assert problems == ["'2026-13-31 12:00:00' is not a time", "an answer may have at most 1,000 characters"]
    monkeypatch.setattr("custody.capture.agents.aider.transcript.LINE_BYTES_MAX", 5)
    assert any("over the limit of 5" in item.what for item in read(chat.put(tmp_path)) if isinstance(item, LineProblem))


def test_text_before_the_first_session_is_counted(tmp_path: Path) -> None:
    file = tmp_path / ".aider.chat.history.md"
    file.write_text("#### hi  \n\n> Applied edit to a.py  \n")
    assert [item for item in read(file) if not isinstance(item, SkippedLine)] == []
    assert len(read(file)) == 2


# --- places -----------------------------------------------------------------------------------------------------------


def test_a_history_is_found_in_the_work_tree_and_not_through_a_link(tmp_path: Path) -> None:
    file = Aider().start().put(tmp_path / "ours")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / file.name).symlink_to(file)
    trees = [str(tmp_path / name) for name in ("ours", "linked", "gone")]
    assert READER.of_trees(tmp_path, trees) == [file]
    assert READER.files(tmp_path) == [file]
    assert READER.in_trees is not None and READER.in_trees(trees).home({}) == tmp_path / "ours"


def test_a_history_is_recognized_by_its_content(tmp_path: Path) -> None:
    lines = [line.data for line in read_jsonl_lines(Aider().start().put(tmp_path))]
    assert [name for name, reader in TRANSCRIPT_READERS.items() if any(map(reader.knows, lines))] == ["aider"]


LINES = st.lists(
    st.text(max_size=20).map(lambda text: text.replace("\n", " "))
    | st.sampled_from(
        [
            "# aider chat started at 2026-01-31 12:00:00",
            "# aider chat started at 0001-01-01 00:00:00",
            "#### w  ",
            "> Applied edit to a.py  ",
            "> Commit 0123abc x  ",
            "> Model: m with diff edit format  ",
            "> Tokens: 1 sent, 2 received.  ",
            "a.py",
            "```python",
            "```",
            "<<<<<<< SEARCH",
            "=======",
            ">>>>>>> REPLACE",
        ]
    ),
    max_size=25,
)


@given(LINES)
def test_arbitrary_histories_do_not_break_the_reader(lines: list[str]) -> None:
    with a_file("\n".join(lines).encode("utf-8", "surrogatepass")) as file:
        for item in found(file):
            assert views_of(item)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_hold_nothing(data: bytes) -> None:
    with a_file(data) as file:
        assert found(file) == []


@contextmanager
def a_file(data: bytes) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / ".aider.chat.history.md"
        file.write_bytes(data)
        yield file
