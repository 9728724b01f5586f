"""opencode's sessions in files, databases and documents: the same views of all, and damaged parts are reported."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import (
    TRANSCRIPT_READERS,
    FileLine,
    LineProblem,
    SkippedLine,
    TranscriptLine,
    read_transcript_lines,
    transcript_views,
)
from custody.capture.agents.opencode import locations as opencode_store
from custody.capture.agents.opencode.locations import find_project_sessions, locate_opencode_data
from custody.capture.agents.opencode.session_reader import SessionReadState
from custody.capture.typed_field import get_fields
from custody.core.views import CallStatus, FileEdit, Prompt, Session, SourceAccess, ToolCall, View
from custody.core.wire.canonical import parse_json_bytes
from tests.builders.drawn import json_values
from tests.builders.opencode import MIDDLE, MODEL, NEW, NEWEST, OLD, SESSION, START_MS, Opencode

READER = TRANSCRIPT_READERS["opencode"]
CHILD = "ses_5a5a5a5a5ffeZyXwVuTsRqPoNm"
GRANDCHILD = "ses_4b4b4b4b4ffeZyXwVuTsRqAaBb"
BEFORE = "def price(item):\n    return item.cost\n"

Put = Callable[[Opencode, Path], object]
SHAPES: dict[str, Put] = {
    "files": lambda session, home: session.put_files(home),
    "old files": lambda session, home: session.put_old_files(home),
    "database": lambda session, home: session.put_database(home),
}


def at_work(root: Path | str = "/work tree", version: str = NEW) -> Opencode:
    return Opencode(root, version=version).prompt("give a discount")


def read(*files: Path) -> list[TranscriptLine | SkippedLine | LineProblem]:
    """Return the results of these files, with subagents found first, as in an import."""
    starts = {}
    for file in files:
        for one in READER.starts(file, read_transcript_lines(READER, file)):
            starts[one.session, one.subagent] = one.call
    return [item for file in files for item in READER.read(file, read_transcript_lines(READER, file), starts)]


def kept(items: list[TranscriptLine | SkippedLine | LineProblem]) -> list[TranscriptLine]:
    return [item for item in items if isinstance(item, TranscriptLine)]


def troubles(items: list[TranscriptLine | SkippedLine | LineProblem]) -> list[str]:
    return [item.what for item in items if isinstance(item, LineProblem)]


def views(found: TranscriptLine) -> list[View]:
    """Return the views of the stored records, as the store makes them."""
    event: dict[str, Any] = {
        "custody": 1,
        "kind": "transcript",
        "id": found.id,
        "agent": "opencode",
        "session": found.session,
        "at": found.at,
        "payload": found.payload,
        "calls": found.calls,
        "paths": {named.name: named.name.rpartition("/")[2] for named in found.edits},
        "subagent": found.subagent,
        "parent_call": found.parent_call,
        "opens": found.opens,
    }
    whole = {name: value for name, value in event.items() if value is not None}
    trimmed = READER.trimmed(whole)
    return list(transcript_views(parse_json_bytes(json.dumps(trimmed).encode())))[1:]


def of(found: list[TranscriptLine], kind: type[View]) -> list[Any]:
    return [view for one in found for view in views(one) if isinstance(view, kind)]


def put(session: Opencode, home: Path, shape: str) -> list[Path]:
    SHAPES[shape](session, home)
    return find_project_sessions(home, [str(session.root)])


# Every shape.


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
@pytest.mark.parametrize("shape", [*SHAPES, "document"])
def test_every_shape_gives_the_same_views(tmp_path: Path, shape: str, version: str) -> None:
    session = at_work(version=version).edit("app.py", BEFORE, "item.cost", "item.cost * 2").read("a.md", "x\n")
    session.shell("make", "no\n", code=2).write("b.txt", "b\n", error="rejected")
    files = [session.exported(tmp_path / "x.json")] if shape == "document" else put(session, tmp_path, shape)
    assert files
    items = read(*files)
    assert troubles(items) == []
    found = kept(items)
    (prompt,) = of(found, Prompt)
    assert (prompt.id, prompt.text.content, prompt.session) == ("msg_IjKlMn0001", "give a discount", SESSION)
    assert [(call.name, call.status, call.model) for call in of(found, ToolCall)] == [
        ("edit", CallStatus.OK, MODEL),
        ("read", CallStatus.OK, MODEL),
        ("bash", CallStatus.FAILED, MODEL),
        ("write", CallStatus.FAILED, MODEL),
    ]
    (edit,) = of(found, FileEdit)
    assert "return item.cost * 2" in edit.after.content
    assert [one.locator for one in of(found, SourceAccess)] == ["/work tree/a.md"]
    (begun,) = of(found, Session)
    assert (begun.id, begun.model) == (SESSION, MODEL)
    assert {item.version for item in items if isinstance(item, SkippedLine) and item.kind == "session"} == {version}
    assert found[0].cwd == "/work tree"
    assert [named.name for named in found[1].edits] == ["/work tree/app.py"]


def test_a_call_has_its_own_times(tmp_path: Path) -> None:
    session = at_work().shell("ls")
    (call,) = of(kept(read(*put(session, tmp_path, "database"))), ToolCall)
    time = session.parts("tool")[0]["state"]["time"]
    assert (call.started_ns, call.ended_ns) == (time["start"] * 1_000_000, time["end"] * 1_000_000)


def test_another_model_is_reported(tmp_path: Path) -> None:
    session = at_work().shell("ls")
    session.model = "gpt-6"
    session.prompt("again").shell("ls")
    found = kept(read(*put(session, tmp_path, "database")))
    assert [view.model for view in of(found, Session)] == [MODEL, "gpt-6"]
    assert [call.model for call in of(found, ToolCall)] == [MODEL, "gpt-6"]


@pytest.mark.parametrize("shape", SHAPES)
def test_subagents_are_part_of_the_session_that_started_them(tmp_path: Path, shape: str) -> None:
    session = at_work(version=OLD if shape == "old files" else NEW)
    child = session.task("look", CHILD).shell("ls", call="call_1")
    grandchild = child.task("look closer", GRANDCHILD).shell("ls", call="call_1")
    child.task_ends(grandchild)
    session.task_ends(child).shell("ls", call="call_1")
    found = kept(read(*put(session, tmp_path, shape)))
    calls = of(found, ToolCall)
    assert {call.session for call in calls} == {SESSION}
    parents = {call.id: (call.subagent, call.parent) for call in calls if call.name == "bash"}
    assert parents == {
        "call_1": (None, None),
        f"{CHILD}/call_1": (CHILD, child.task_call),
        f"{GRANDCHILD}/call_1": (GRANDCHILD, f"{CHILD}/{grandchild.task_call}"),
    }
    assert [prompt.text.content for prompt in of(found, Prompt)] == ["give a discount"]


def test_the_programs_texts_beside_a_prompt_are_not_part_of_it(tmp_path: Path) -> None:
    more: list[dict[str, Any]] = [
        {"type": "text", "text": "<file>…", "synthetic": True},
        {"type": "file", "url": "file:///x"},
        {"type": "text", "text": "and this"},
    ]
    session = Opencode("/work tree").prompt("do it", *more)
    (prompt,) = of(kept(read(*put(session, tmp_path, "database"))), Prompt)
    assert prompt.text.content == "do it\nand this"


def test_a_persons_command_is_not_the_agents(tmp_path: Path) -> None:
    session = Opencode("/work tree")
    info = session.message("user", agent="build", model={"providerID": "p", "modelID": MODEL})
    session.part(type="text", text="The following tool was executed by the user", synthetic=True)
    session.answer().shell("echo x > a.txt", "")
    assert session.messages[-1]["info"]["parentID"] == info["id"]
    assert kept(read(*put(session, tmp_path, "database"))) == []


def test_a_copy_of_a_session_counts_once(tmp_path: Path) -> None:
    session = at_work().shell("ls", "a\n")
    copy = Opencode("/work tree", CHILD, ms=session.ms)
    copied = json.dumps(session.messages).replace(SESSION, CHILD)
    copy.messages = json.loads(copied.replace(f"msg_{SESSION[-6:]}", "msg_copy").replace(f"prt_{SESSION[-6:]}", "prt_"))
    session.put_database(tmp_path)
    copy.put_database(tmp_path)
    found = kept(read(*find_project_sessions(tmp_path, ["/work tree"])))
    assert [one.session for one in found] == [SESSION, SESSION, CHILD, CHILD]
    assert [one.id for one in found[:2]] == [one.id for one in found[2:]]


def test_migrated_sessions_keep_their_ids(tmp_path: Path) -> None:
    session = at_work().shell("ls", "a\n").edit("a.py", "one\n", "one", "two")
    first = [one.id for one in kept(read(*session.put_files(tmp_path)))]
    assert first == [one.id for one in kept(read(session.put_database(tmp_path)))]


def test_an_unfinished_call_is_imported_once_it_ends(tmp_path: Path) -> None:
    session = at_work().call("bash", {"command": "make"}, None, {})
    database = session.put_database(tmp_path)
    assert len(kept(read(database))) == 1
    session.parts("tool")[0]["state"] |= {"status": "completed", "output": "x", "metadata": {"exit": 0}}
    session.put_database(tmp_path)
    assert len(kept(read(database))) == 2


def test_files_written_by_a_command(tmp_path: Path) -> None:
    command = "cat > b.txt <<'EOF'\nwritten by a command\nEOF"
    session = at_work().shell(command, given={"workdir": "/work tree/sub"}).shell(command, code=None)
    one, two = kept(read(*put(session, tmp_path, "database")))[1:]
    assert [named.name for named in one.edits] == ["/work tree/sub/b.txt"]
    (edit,) = of([one], FileEdit)
    assert edit.after.content == "written by a command\n"
    assert two.edits == (), "it was stopped"


def test_long_outputs_are_cut_and_edits_stay_whole(tmp_path: Path) -> None:
    long = "x = 1\n" * 40_000
    session = at_work().shell("make", long).write("a.py", long)
    shell, write = kept(read(*put(session, tmp_path, "database")))[1:]
    assert len(json.dumps(READER.trimmed({"payload": shell.payload}))) < 30_000
    assert long[:100] not in json.dumps(get_fields(get_fields(get_fields(shell.payload["part"])["state"])["metadata"]))
    (edit,) = of([write], FileEdit)
    assert edit.after.content == long
    assert READER.trimmed({"payload": "x"}) == {"payload": "x"}


# Where they are.


def test_only_sessions_of_these_work_trees(tmp_path: Path) -> None:
    here, inside, beside = (
        Opencode(root, session, ms=START_MS + n)
        for n, (root, session) in enumerate(
            [("/work tree", SESSION), ("/work tree/sub", CHILD), ("/work tree2", GRANDCHILD)]
        )
    )
    for one in (inside, here, beside):
        one.prompt("x").put_database(tmp_path)
        one.put_files(tmp_path)
    files = find_project_sessions(tmp_path, ["/work tree"])
    assert {file.stem for file in files} == {SESSION, CHILD}
    assert [file.name for file in files if file.parent.name == "opencode.db"] == [SESSION, CHILD]
    assert find_project_sessions(tmp_path / "nothing", ["/work tree"]) == []


def test_the_home_is_where_opencode_has_its_data(tmp_path: Path) -> None:
    assert locate_opencode_data({"HOME": "/home/ana"}) == Path("/home/ana/.local/share/opencode")
    assert locate_opencode_data({"HOME": "/home/ana", "XDG_DATA_HOME": "/d"}) == Path("/d/opencode")


def test_other_programs_databases_are_ignored(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE session (id text, name text)")
    other.close()
    (tmp_path / "package.json").write_text('{"id": "x"}')
    mine = at_work().put_database(tmp_path, "opencode-dev.db")
    assert READER.files(tmp_path) == [mine]


# Damaged content.


def test_a_truncated_part_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    session = at_work().shell("ls").shell("make")
    (file,) = session.put_files(tmp_path)
    cut = tmp_path / "storage" / "part" / session.messages[1]["info"]["id"] / f"{session.parts('tool')[0]['id']}.json"
    cut.write_text(cut.read_text()[:50])
    items = read(file)
    assert [call.about for call in of(kept(items), ToolCall)] == ["make"]
    (what,) = troubles(items)
    assert what.startswith(f"part '{cut.stem}':")
    file.write_text(file.read_text()[:20])
    (what,) = troubles(read(file))
    assert what.startswith("the session is incomplete:")


def test_rows_that_are_not_json_are_reported(tmp_path: Path) -> None:
    path = at_work().shell("ls").put_database(tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE part SET data = '{' WHERE data LIKE '%toolu%'")
    connection.execute("UPDATE message SET data = '[]' WHERE data LIKE '%assistant%'")
    connection.commit()
    connection.close()
    items = read(path)
    assert sorted(what.partition(" ")[0] for what in troubles(items)) == ["message", "part"]
    assert all(what.endswith("is not a JSON object") for what in troubles(items))


@pytest.mark.parametrize(("limit", "most"), [("SESSIONS_MAX", 3), ("WHOLE_BYTES_MAX", 1000)])
def test_too_many_sessions_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int) -> None:
    path = at_work().put_database(tmp_path)
    connection = sqlite3.connect(path)
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(session)")]
    copied = ", ".join("? || id" if name == "id" else name for name in columns)
    for n in range(20):
        connection.execute(f"INSERT INTO session SELECT {copied} FROM session WHERE id = ?", (f"copy{n}", SESSION))
    connection.commit()
    connection.close()
    assert len(find_project_sessions(tmp_path, ["/work tree"])) == 21
    monkeypatch.setattr(opencode_store, limit, most)
    (unread,) = find_project_sessions(tmp_path, ["/work tree"])
    with pytest.raises(OSError, match="sessions, or more than"):
        list(read_transcript_lines(READER, unread))


# Since 2.0.


def test_sessions_since_2_0_give_the_same_views(tmp_path: Path) -> None:
    session = at_work(version=NEWEST).edit("app.py", BEFORE, "item.cost", "item.cost * 2").read("a.md", "x\ny\n")
    session.shell("make", "no\n", code=2).write("b.txt", "b\n", error="rejected").write("c.txt", "c\n", exists=True)
    session.shell("echo d > d.txt").shell("echo e > e.txt", code=None).read("a.md", "x\ny\n", offset=2)
    items = read(session.put_newest(tmp_path))
    assert (troubles(items), [item for item in items if isinstance(item, SkippedLine) and not item.known]) == ([], [])
    found = kept(items)
    (prompt,) = of(found, Prompt)
    assert (prompt.id, prompt.text.content, prompt.session) == ("msg_IjKlMn0001", "give a discount", SESSION)
    assert [(call.name, call.status, call.about) for call in of(found, ToolCall)] == [
        ("edit", CallStatus.OK, "/work tree/app.py"),
        ("read", CallStatus.OK, "/work tree/a.md"),
        ("shell", CallStatus.FAILED, "make"),
        ("write", CallStatus.FAILED, "/work tree/b.txt"),
        ("write", CallStatus.OK, "/work tree/c.txt"),
        ("shell", CallStatus.OK, "echo d > d.txt"),
        ("shell", CallStatus.OK, "echo e > e.txt"),
        ("read", CallStatus.OK, "/work tree/a.md"),
    ]
    assert {call.model for call in of(found, ToolCall)} == {MODEL}
    edits = [(edit.path.display, edit.after.content, edit.overwrites) for edit in of(found, FileEdit)]
    assert edits[1:] == [("c.txt", "c\n", True), ("d.txt", "d\n", False)]
    assert "return item.cost * 2" in edits[0][1]
    assert [(one.locator, one.reading.value, one.text and one.text.content) for one in of(found, SourceAccess)] == [
        ("/work tree/a.md", "verbatim", "x\ny"),
        ("/work tree/a.md", "excerpt", "y"),
    ]


def test_subagents_since_2_0_have_the_call_that_started_them(tmp_path: Path) -> None:
    session = at_work(version=NEWEST)
    child = session.task("look around", CHILD)
    child.shell("ls", "a\n")
    session.task_ends(child)
    session.put_newest(tmp_path)
    found = kept(read(*find_project_sessions(tmp_path, ["/work tree"])))
    assert [prompt.text.content for prompt in of(found, Prompt)] == ["give a discount"]
    started, run = of(found, ToolCall)
    assert (started.name, run.name, run.subagent, run.parent) == ("subagent", "shell", CHILD, started.id)


def test_a_session_migrated_to_2_0_counts_once_and_continues(tmp_path: Path) -> None:
    session = at_work().shell("ls", "a\n")
    first = [one.id for one in kept(read(session.put_database(tmp_path)))]
    session.put_newest(tmp_path)
    assert [one.id for one in kept(read(*find_project_sessions(tmp_path, ["/work tree"])))] == first
    session.version = NEWEST
    session.prompt("and more").shell("make", "ok\n")
    session.put_newest(tmp_path)
    (file,) = find_project_sessions(tmp_path, ["/work tree"])
    found = kept(read(file))
    assert [one.id for one in found[: len(first)]] == first
    assert [call.name for call in of(found, ToolCall)] == ["bash", "shell"]
    assert [prompt.text.content for prompt in of(found, Prompt)] == ["give a discount", "and more"]
    connection = sqlite3.connect(file.parent)
    connection.executescript("DELETE FROM part; DELETE FROM message; DELETE FROM session")
    connection.close()
    assert [one.id for one in kept(read(*find_project_sessions(tmp_path, ["/work tree"])))] == [one.id for one in found]


def test_sessions_stored_twice_in_spring_2026_count_once(tmp_path: Path) -> None:
    session = at_work().shell("ls", "a\n")
    path = session.put_database(tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, data text)")
    said = json.dumps({"text": "give a discount", "time": {"created": 5}})
    connection.execute("INSERT INTO session_message VALUES ('evt_1', ?, 'user', ?)", (SESSION, said))
    connection.commit()
    assert len(of(kept(read(path)), Prompt)) == 1
    connection.executescript("DELETE FROM part; DELETE FROM message")
    connection.close()
    assert [prompt.id for prompt in of(kept(read(path)), Prompt)] == ["evt_1"]


def test_unknown_messages_since_2_0_are_counted_and_invalid_ones_reported(tmp_path: Path) -> None:
    session = at_work(version="3.0.0").shell("ls", "a\n")
    session.parts("tool")[0]["state"]["metadata"]["novel"] = {"a": 1}
    path = session.put_newest(tmp_path)
    connection = sqlite3.connect(path)
    more: list[tuple[str, Any]] = [
        ("hologram", {"novel": 1}),
        ("shell", {"command": "rm x", "shellID": "s"}),
        ("synthetic", {"text": "put there by the program"}),
        ("location-switched", {"location": {"directory": "/other"}}),
        ("assistant", {"content": [{"type": "hologram"}, {"type": "tool", "name": "edit"}, 5]}),
        ("assistant", {"content": [{"type": "tool", "id": "c9", "name": "edit", "state": {"status": "streaming"}}]}),
        ("user", "no object"),
    ]
    for n, (kind, data) in enumerate(more, 100):
        row = (f"msg_{n}", SESSION, kind, n, 0, 0, json.dumps(data))
        connection.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    items = read(path)
    assert troubles(items) == [
        "part 'msg_104' is a call without an id or a name",
        "message 'msg_106' is not a JSON object",
    ]
    assert [item.kind for item in items if isinstance(item, SkippedLine) and not item.known] == [
        "message of hologram",
        "hologram",
        "(no type)",
    ]
    assert {found.version for found in kept(items)} == {"3.0.0"}
    assert (len(of(kept(items), Prompt)), len(of(kept(items), ToolCall))) == (1, 1)


def test_unknown_parts_roles_and_versions_are_counted(tmp_path: Path) -> None:
    session = at_work(version="9.0.0").shell("ls")
    session.part(type="hologram", novel=1)
    session.messages[-1]["info"]["novel"] = {"a": 1}
    session.parts("tool")[0]["state"]["novel"] = 1
    session.message("oracle")
    items = read(*put(session, tmp_path, "database"))
    assert troubles(items) == []
    assert [item.kind for item in items if isinstance(item, SkippedLine) and not item.known] == [
        "hologram",
        "message of oracle",
    ]
    assert {found.version for found in kept(items)} == {"9.0.0"}
    assert len(of(kept(items), ToolCall)) == 1


def test_calls_without_a_name_and_invalid_times(tmp_path: Path) -> None:
    session = at_work().shell("ls").shell("make")
    one, two = session.parts("tool")
    del one["callID"]
    two["state"]["time"] = {"start": "soon", "end": 10**30}
    items = read(*put(session, tmp_path, "database"))
    assert troubles(items) == [f"part '{one['id']}' is a call without an id or a name"]
    (call,) = of(kept(items), ToolCall)
    asked = session.messages[1]["info"]["time"]["created"]
    assert call.started_ns == call.ended_ns == asked * 1_000_000


def calls_with(data: Any) -> list[Any]:
    """Draw calls of a message since 2.0, with arbitrary fields."""
    state = {"status": "completed", "input": data, "content": data, "metadata": data}
    return [
        {"type": "tool", "id": "c", "name": "edit", "state": state, "time": data},
        {"type": "tool", "id": "c", "name": "shell", "state": {**state, "status": "error", "error": data}},
        {"type": "tool", "id": data, "name": data, "state": data},
    ]


def rows(values: list[Any]) -> Iterator[FileLine]:
    for n, value in enumerate(values, 1):
        data = json.dumps(value).encode()
        yield FileLine(n, data, len(data), True)


@given(st.lists(json_values, max_size=4), json_values)
def test_arbitrary_lines_do_not_break_the_reader(values: list[Any], data: Any) -> None:
    known = [{"table": table, "id": "x", "data": data} for table in ("session", "message", "part", "other")]
    kinds = ("user", "assistant", "location-switched", "shell", data)
    known += [{"table": "session_message", "id": "x", "type": kind, "data": data} for kind in kinds]
    known += [
        {"table": "session_message", "id": "x", "type": "assistant", "data": {"content": [call]}}
        for call in calls_with(data)
    ]
    tool = {"type": "tool", "tool": "edit", "callID": "c", "state": {"status": "completed", "input": data}}
    parts = [{"table": "part", "id": "y", "data": {**tool, "metadata": data}}]
    for item in SessionReadState({}).read_lines(rows([*known, *values, *parts])):
        if isinstance(item, TranscriptLine):
            views(item)
