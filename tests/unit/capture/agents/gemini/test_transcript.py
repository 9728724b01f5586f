"""Gemini CLI's chats: found by project, read in every shape, each message and each call once."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import LineProblem, SkippedLine, SubagentLaunch, TranscriptLine, read_jsonl_lines, transcript_views
from custody.capture.agents.gemini.transcript import READER
from custody.capture.hook.call_name import make_gemini_call_id
from custody.core.views import Session, ToolCall, View
from custody.core.wire.canonical import dump_canonical_json, parse_json_bytes
from tests.builders.gemini import SESSION, START, Gemini, project_hash

ROOT = "/home/ana/shop"


def read(
    file: Path, starts: dict[tuple[str, str], str] | None = None
) -> list[TranscriptLine | SkippedLine | LineProblem]:
    return list(READER.read(file, read_jsonl_lines(file), starts or {}))


def found(file: Path, starts: dict[tuple[str, str], str] | None = None) -> list[TranscriptLine]:
    return [item for item in read(file, starts) if isinstance(item, TranscriptLine)]


def troubles(file: Path) -> list[str]:
    return [item.what for item in read(file) if isinstance(item, LineProblem)]


def views_of(item: TranscriptLine) -> tuple[View, ...]:
    event: dict[str, Any] = {
        "custody": 1,
        "kind": "transcript",
        "id": item.id,
        "agent": "gemini",
        "session": "s",
        "at": START,
        "payload": item.payload,
        "calls": item.calls,
        "paths": {named.name: "a.py" for named in item.edits},
        "opens": item.opens,
    }
    kept = {name: value for name, value in event.items() if value is not None}
    return transcript_views(parse_json_bytes(dump_canonical_json(READER.trimmed(kept))))


def a_chat(root: Path | str = ROOT) -> Gemini:
    return Gemini(root).prompt("make it two").says("sure").replace("a.py", "one\n", "one", "two").shell("make", "done")


# --- shapes -----------------------------------------------------------------------------------------------------------


def test_both_shapes_give_the_same_views(tmp_path: Path) -> None:
    old, new = (found(a_chat().put(tmp_path, old=shape)) for shape in (True, False))
    assert [(one.id, one.session, one.at, one.payload, one.calls) for one in old] == [
        (one.id, one.session, one.at, one.payload, one.calls) for one in new
    ]
    assert [one.opens for one in new] == ["session", "model", None, None]
    assert [one.begun for one in new] == [0, 0, 1, 1]
    assert {one.session for one in new} == {SESSION}


def test_a_document_on_one_line_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "session-x.json"
    file.write_text(json.dumps(json.loads(a_chat().document())), encoding="utf-8")
    assert len(found(file)) == 4


def test_a_call_is_named_as_the_hook_names_it(tmp_path: Path) -> None:
    chat = a_chat()
    ends = [said for said in chat.hooks if said["hook_event_name"] == "AfterTool"]
    named = [
        make_gemini_call_id(said["tool_name"], said["tool_input"], said["tool_response"]["llmContent"]) for said in ends
    ]
    assert [one.calls[0]["id"] for one in found(chat.put(tmp_path)) if one.calls] == named


def test_thinking_is_not_stored_and_nothing_is_stored_twice(tmp_path: Path) -> None:
    kept = json.dumps([one.payload for one in found(a_chat().put(tmp_path))])
    assert "thinking of" not in kept and "Index: a.py" not in kept and "renderOutput" not in kept
    assert "Successfully modified" not in kept, "the display has the texts"
    assert kept.count("Process Group PGID") == 1


def test_a_grown_message_adds_only_what_is_new(tmp_path: Path) -> None:
    chat = Gemini(ROOT).prompt("go").says("sure").shell("one")
    first = found(chat.put(tmp_path))
    again = found(chat.shell("two").put(tmp_path))
    assert [one.id for one in again[:3]] == [one.id for one in first]
    assert len(again) == 4


def test_an_unfinished_call_is_imported_when_it_ends(tmp_path: Path) -> None:
    chat = Gemini(ROOT).prompt("go").call("run_shell_command", {"command": "make"}, "", status="executing")
    assert [one.begun for one in found(chat.put(tmp_path))] == [0]
    chat.messages[-1]["toolCalls"][0]["status"] = "success"
    chat.lines.append(chat.messages[-1])
    assert [one.begun for one in found(chat.put(tmp_path))] == [0, 1]


def test_rewound_or_checkpointed_messages_count_once(tmp_path: Path) -> None:
    chat = a_chat()
    chat.lines += [{"$rewindTo": chat.messages[0]["id"]}, {"$set": {"messages": chat.messages, "summary": "s"}}]
    assert len(found(chat.put(tmp_path))) == 4
    assert troubles(chat.put(tmp_path)) == []


def test_a_session_that_continues_under_another_id(tmp_path: Path) -> None:
    chat = a_chat()
    chat.lines.append({"$set": {"sessionId": "other"}})
    chat.prompt("more")
    assert [one.session for one in found(chat.put(tmp_path))] == [SESSION] * 4 + ["other"]


def test_ids_shared_by_chats_are_qualified_by_their_session(tmp_path: Path) -> None:
    ids = []
    for session in ("s1", "s2"):
        chat = Gemini(ROOT, session).prompt("go")
        chat.lines[0]["id"] = "environment-context"
        ids += [one.id for one in found(chat.put(tmp_path))]
    assert ids == ["s1::environment-context", "s2::environment-context"]


# --- subagents --------------------------------------------------------------------------------------------------------


def test_a_subagent_belongs_to_its_parents_session_and_its_call(tmp_path: Path) -> None:
    chat, agent = Gemini(ROOT).prompt("look"), "0f1e2d3c-1111-4222-8333-999988887777"
    chat.subagent(agent).replace("a.py", "one\n", "one", "two")
    file = chat.call("invoke_agent", {"agent_name": "x"}, "looked", agentId=agent).put(tmp_path)
    (started,) = READER.starts(file, read_jsonl_lines(file))
    assert started == SubagentLaunch(SESSION, agent, str(found(file)[-1].calls[0]["id"]))
    (below,) = found(file.parent / SESSION / f"{agent}.jsonl", {(SESSION, agent): started.call})
    assert (below.session, below.subagent, below.parent_call, below.opens) == (SESSION, agent, started.call, "session")


def test_a_subagents_chat_beside_its_parents_is_assigned_by_its_call(tmp_path: Path) -> None:
    chat = Gemini(ROOT, "agent-1", kind="subagent").read("a.py", "x")
    (one,) = found(chat.put(tmp_path, old=True), {(SESSION, "agent-1"): "c1"})
    assert (one.session, one.subagent, one.parent_call) == (SESSION, "agent-1", "c1")
    (alone,) = found(chat.put(tmp_path, old=True))
    assert (alone.session, alone.subagent, alone.parent_call) == ("agent-1", "agent-1", None)


# --- where chats are --------------------------------------------------------------------------------------------------


def test_only_this_repositorys_chats_are_found(tmp_path: Path) -> None:
    home, tree = tmp_path / ".gemini" / "tmp", tmp_path / "shop"
    by_hash = Gemini(tree, "s1").prompt("a").put(home)
    by_mark = Gemini(tree / "below", "s2").prompt("a").put(home, project="below")
    (home / "below" / ".project_root").write_text(f"{tree}/below\n", encoding="utf-8")
    by_name = Gemini(tree / "src", "s3").prompt("a").put(home, project="src")
    said = {"projects": {str(tree / "src"): "src", str(tmp_path / "other"): "other"}}
    (home.parent / "projects.json").write_text(json.dumps(said), encoding="utf-8")
    by_what_it_says = Gemini(tree, "s4").prompt("a").put(home, project="nameless", old=True)
    for project in ("other", project_hash(tmp_path / "shop-2")):
        Gemini(tmp_path / "shop-2", "s5").prompt("a").put(home, project=project)
    Gemini(tmp_path / "moved", "s6").prompt("a").put(home, project="moved")
    (home / "moved" / ".project_root").write_text(f"{tree}-2", encoding="utf-8")
    (home / project_hash(tree) / "logs.json").write_text("[]", encoding="utf-8")
    (home / project_hash(tree) / "checkpoint-x.json").write_text("[]", encoding="utf-8")
    assert sorted(READER.of_trees(home, [str(tree)])) == sorted((by_hash, by_mark, by_name, by_what_it_says))
    assert READER.of_trees(tmp_path / "nowhere", [str(tree)]) == []


def test_the_home_is_the_users_unless_a_variable_moves_it() -> None:
    assert READER.home({"HOME": "/home/ana"}) == Path("/home/ana/.gemini/tmp")
    assert READER.home({"HOME": "/home/ana", "GEMINI_CLI_HOME": "/g"}) == Path("/g/.gemini/tmp")


@pytest.mark.parametrize("old", [True, False])
def test_a_chat_is_recognized_by_its_metadata(tmp_path: Path, old: bool) -> None:
    file = a_chat().put(tmp_path, old=old)
    assert any(READER.knows(line.data) for line in read_jsonl_lines(file))
    loose = file.rename(tmp_path / f"loose{file.suffix}")
    (tmp_path / "settings.json").write_text('{"a": 1}', encoding="utf-8")
    assert READER.files(tmp_path) == [loose]
    assert not READER.knows(b'{"type": "user", "sessionId": "s"}')


def test_the_root_is_found_by_the_hash_of_a_folder_above_an_edited_file(tmp_path: Path) -> None:
    chat = Gemini("/home/ana/shop").replace("src/deep/a.py", "one\n", "one", "two").shell("echo 1 > b.txt")
    first, second = found(chat.put(tmp_path, project="shop"))
    assert (first.cwd, first.edits[0].name) == ("/home/ana/shop", "/home/ana/shop/src/deep/a.py")
    assert (second.cwd, second.edits[0].name, second.edits[0].cwd) == ("/home/ana/shop", "b.txt", "/home/ana/shop")


def test_a_path_with_half_a_character_belongs_to_no_project_and_the_rest_is_read(tmp_path: Path) -> None:
    chat = Gemini(ROOT).write("/some/odd\ud800/a.py", None, "a\n").write("b.py", None, "b\n")
    file = tmp_path / "chat.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (chat.about(), *chat.lines)))
    assert [len(item.edits) for item in found(file) if item.edits] == [1, 1]


def test_a_document_shows_its_root_for_earlier_calls_too(tmp_path: Path) -> None:
    chat = Gemini(ROOT).prompt("go").shell("echo 1 > b.txt").replace("src/a.py", "one\n", "one", "two")
    assert {one.cwd for one in found(chat.put(tmp_path, old=True, project="x"))} == {ROOT}


def test_a_name_that_lets_gemini_choose_is_not_a_model(tmp_path: Path) -> None:
    chat = Gemini(ROOT, model="auto-gemini-3").prompt("go").shell("ls")
    chat.model = "gemini-3-flash"
    views = [view for one in found(chat.says("done").put(tmp_path)) for view in views_of(one)]
    assert [view.model for view in views if isinstance(view, Session | ToolCall)] == [None, None, "gemini-3-flash"]


def test_a_command_writes_in_its_folder_and_a_background_or_failed_one_nowhere(tmp_path: Path) -> None:
    command = "cat > a.txt <<'EOF'\nx\nEOF\n"
    chat = Gemini(ROOT).shell(command, given={"dir_path": "src"}).shell(command, given={"is_background": True})
    chat.shell(command, "bash: a.txt: Permission denied", 1).shell(command, status="cancelled")
    chat.shell("make && echo x > b.txt", "make: no rule", 2)
    assert [[named.name for named in one.edits] for one in found(chat.put(tmp_path))] == [["src/a.txt"], [], [], [], []]


# --- invalid content --------------------------------------------------------------------------------------------------


def test_a_truncated_line_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    file = a_chat().put(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[: -len(whole) // 20])
    (what,) = troubles(file)
    assert what.startswith("cut off: ")
    assert len(found(file)) == 3


def test_the_complete_messages_of_a_truncated_document_are_read(tmp_path: Path) -> None:
    file = a_chat().prompt("and now").put(tmp_path, old=True)
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.rindex(b'"content"')])
    (what,) = troubles(file)
    assert what.startswith("the chat is incomplete: ")
    assert [one.session for one in found(file)] == [SESSION] * 4


def test_unknown_types_are_counted_and_unknown_fields_and_versions_are_ignored(tmp_path: Path) -> None:
    chat = a_chat()
    plain = found(chat.put(tmp_path))
    for message in chat.lines:
        message["novel"] = {"deep": 1}
    chat.message("telepathy", "hm").message("info", "hello")
    chat.lines += [{"unheard": 1}, {"$set": {"version": "99.0", "strange": []}}, {"id": "m", "type": 3}]
    items = read(chat.put(tmp_path))
    assert [one.id for one in items if isinstance(one, TranscriptLine)] == [one.id for one in plain]
    passed = [one for one in items if isinstance(one, SkippedLine)]
    assert [one.kind for one in passed if not one.known] == ["telepathy", "(no type)", "(no type)"]
    assert [one.version for one in passed if one.version] == ["99.0"]
    assert not any(isinstance(one, LineProblem) for one in items)


def test_unusable_parts_are_reported_and_the_rest_is_used(tmp_path: Path) -> None:
    chat = a_chat()
    chat.messages[1]["timestamp"] = chat.lines[2]["timestamp"] = "yesterday"
    chat.lines[-1]["toolCalls"] = ["x", {"id": "", "name": "n"}, *chat.lines[-1]["toolCalls"]]
    file = chat.put(tmp_path)
    file.write_text(f"[]\nnonsense\n\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    assert len(found(file)) == 4
    said = troubles(file)
    assert said[0] == "not a JSON object" and said[1].startswith("not JSON")
    assert said.count("a call without an id or a name") == 2
    assert any("yesterday" in what for what in said)


def test_an_empty_chat_holds_nothing(tmp_path: Path) -> None:
    for name in ("session-a.json", "session-b.jsonl"):
        (tmp_path / name).write_bytes(b"")
        assert read(tmp_path / name) == []


def test_a_document_over_the_limit_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custody.capture.transcripts.WHOLE_BYTES_MAX", 100)
    (what,) = troubles(a_chat().put(tmp_path, old=True))
    assert "may have at most 100 bytes" in what


def test_long_outputs_are_cut_and_texts_of_edits_are_not(tmp_path: Path) -> None:
    long = "x" * 100_000
    chat = Gemini(ROOT).shell("make", long).write("a.py", None, long)
    shell, edit = (READER.trimmed({"payload": one.payload}) for one in found(chat.put(tmp_path)))
    assert "custody left out" in json.dumps(shell) and len(json.dumps(shell)) < 50_000
    assert long in json.dumps(edit)
    odd: dict[str, Any] = {"payload": {"toolCalls": [1]}}
    assert READER.trimmed(odd) == odd


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
WORDS = (
    "id type content displayContent model toolCalls name args result status resultDisplay timestamp sessionId kind"
    " projectHash messages $set $rewindTo command file_path functionResponse response output agentId"
).split()
LOOSE = st.recursive(
    JSON | st.sampled_from(["user", "gemini", "success", "replace", "run_shell_command", "subagent"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=20,
)
CALLS = st.fixed_dictionaries(
    {"id": st.text(max_size=4), "name": st.sampled_from(["replace", "write_file", "run_shell_command", "web_fetch"])},
    optional={"args": LOOSE, "result": LOOSE, "status": st.just("success") | JSON, "resultDisplay": LOOSE},
)
MESSAGES = st.fixed_dictionaries(
    {"id": st.text(max_size=4), "type": st.sampled_from(["user", "gemini"])},
    optional={"content": LOOSE, "toolCalls": st.lists(CALLS, max_size=2), "model": JSON, "timestamp": JSON},
)


@given(st.lists(LOOSE | MESSAGES, max_size=4), st.booleans())
def test_arbitrary_chats_do_not_break_the_reader(said: list[Any], old: bool) -> None:
    whole = json.dumps({"sessionId": "s", "projectHash": "h", "messages": said}, indent=2)
    data = whole if old else "".join(f"{json.dumps(one)}\n" for one in said)
    with a_file(data.encode(), old=old) as file:
        list(READER.starts(file, read_jsonl_lines(file)))
        kept = found(file)
    for item in kept:
        assert views_of(item)


@given(st.binary(max_size=200), st.booleans())
def test_arbitrary_bytes_are_reported(data: bytes, old: bool) -> None:
    with a_file(data, old=old) as file:
        assert all(isinstance(item, LineProblem | SkippedLine) for item in read(file))


@contextmanager
def a_file(data: bytes, *, old: bool) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / ("session-x.json" if old else "session-x.jsonl")
        file.write_bytes(data)
        yield file
