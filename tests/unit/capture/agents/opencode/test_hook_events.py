"""opencode's events become views; invalid content is ignored, never guessed."""

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import hook_views
from custody.capture.hook.redact import redact_text
from custody.capture.hook.snapshot import choose_snapshot_phase
from custody.core.paths import RepoPath
from custody.core.views import (
    CallStatus,
    CommitLink,
    FileEdit,
    Observation,
    Prompt,
    Reading,
    Session,
    SourceAccess,
    ToolCall,
    View,
)
from custody.core.wire.canonical import parse_json_bytes
from tests.builders.codex import added, deleted, patch_text, updated
from tests.builders.drawn import json_values
from tests.builders.opencode import MIDDLE, MODEL, NEW, OLD, SESSION, Opencode
from tests.builders.opencode_host import said_by_plugin, told_of

ROOT = Path("/work tree")
AT = "2026-01-31T12:00:00.5Z"
CHILD = "ses_5a5a5a5a5ffeZyXwVuTsRqPoNm"
BEFORE = "class Shop:\n    def price(self, item):\n        return item.cost\n\n    def total(self):\n        return 0\n"
LINE = "        return item.cost"
BASE62 = string.ascii_letters + string.digits
AFTER = BEFORE.replace("item.cost", "item.cost * self.rate")


def seen(payload: dict[str, Any], folder: str = str(ROOT)) -> list[View]:
    """Return the views of one event, without the observation that every event has."""
    event = {
        "custody": 1,
        "kind": "hook",
        "agent": "opencode",
        "event": payload.get("hook_event_name", "unknown"),
        "id": payload.get("tool_use_id") or payload.get("prompt_id") or "e1",
        "at": AT,
        "session": payload.get("session_id"),
        "call": payload.get("tool_use_id"),
        "head": "a" * 40,
        "worktree": str(ROOT),
        "folder": folder,
        "payload": payload,
    }
    first, *rest = hook_views(parse_json_bytes(json.dumps({k: v for k, v in event.items() if v is not None}).encode()))
    assert isinstance(first, Observation)
    return rest


def of(views: list[View], kind: type[View]) -> list[Any]:
    return [view for view in views if isinstance(view, kind)]


def at_work(version: str = NEW) -> Opencode:
    return Opencode(ROOT, version=version).prompt("x")


def last(session: Opencode) -> list[View]:
    return seen(told_of(session)[-1])


def edits(session: Opencode) -> list[FileEdit]:
    return of(last(session), FileEdit)


def sources(session: Opencode) -> list[tuple[str, Reading]]:
    return [(read.locator, read.reading) for read in of(last(session), SourceAccess)]


def texts(edit: FileEdit) -> tuple[str | None, str | None]:
    return (None if edit.before is None else edit.before.content, None if edit.after is None else edit.after.content)


# Sessions, prompts, calls.


def test_sessions_prompts_and_their_models() -> None:
    (begun,) = seen(said_by_plugin("session.created", ROOT, version=NEW))
    assert isinstance(begun, Session)
    assert (begun.id, begun.model, begun.revision, begun.worktree) == (SESSION, MODEL, "a" * 40, str(ROOT))
    spoken, prompt = seen(said_by_plugin("chat.message", ROOT, prompt="do it", prompt_id="msg_1", model={"id": "m2"}))
    assert isinstance(spoken, Session) and spoken.model == "m2"
    assert isinstance(prompt, Prompt)
    assert (prompt.id, prompt.text.content) == ("msg_1", "do it")
    (alone,) = seen(said_by_plugin("chat.message", ROOT, prompt="", prompt_id="msg_1"))
    assert isinstance(alone, Session), "a prompt that is only files has no words"


def test_a_subagents_prompt_is_not_a_persons() -> None:
    more = {"agent_id": CHILD, "parent_id": SESSION, "parent_call": "toolu_1"}
    assert seen(said_by_plugin("chat.message", ROOT, prompt="look", prompt_id="msg_1", **more)) == []
    assert seen(said_by_plugin("session.created", ROOT, **more)) == []
    said = {"tool_name": "bash", "tool_use_id": f"{CHILD}/call_1", "tool_input": {"command": "ls"}}
    (call,) = seen(said_by_plugin("tool.execute.before", ROOT, **said, **more))
    assert isinstance(call, ToolCall)
    assert (call.session, call.id, call.subagent, call.parent) == (SESSION, f"{CHILD}/call_1", CHILD, "toolu_1")


def test_a_call_starts_and_ends() -> None:
    said = {"tool_name": "edit", "tool_use_id": "c1", "tool_input": {"filePath": "/work tree/a.py"}}
    (begun,) = seen(said_by_plugin("tool.execute.before", ROOT, **said))
    assert isinstance(begun, ToolCall)
    assert (begun.status, begun.ended_ns, begun.model, begun.about) == (
        CallStatus.RUNNING,
        None,
        MODEL,
        "/work tree/a.py",
    )
    (ended,) = of(last(at_work().shell("make", "ok\n")), ToolCall)
    assert (ended.status, ended.about, ended.ended_ns) == (CallStatus.OK, "make", ended.started_ns)


@pytest.mark.parametrize(
    ("code", "error", "status"),
    [
        (1, None, CallStatus.FAILED),
        (0, None, CallStatus.OK),
        (None, None, CallStatus.OK),
        (0, "Tool execution aborted", CallStatus.FAILED),
    ],
)
def test_a_commands_exit_code(code: int | None, error: str | None, status: CallStatus) -> None:
    (call,) = of(last(at_work().shell("make", "x\n", code=code, error=error)), ToolCall)
    assert call.status is status


# Edits.


def test_an_edit_of_whole_lines_is_stored_as_written() -> None:
    for version in (OLD, NEW):
        old, new = f"{LINE}\n", f"{LINE} * self.rate\n"
        (edit,) = edits(at_work(version).edit("src/shop.py", BEFORE, old, new))
        assert edit.path == RepoPath.of("src/shop.py")
        assert texts(edit) == (old, new)
        assert edit.part and edit.id.endswith(":shell:0")
        assert (edit.revision, edit.session, edit.call) == ("a" * 40, SESSION, edit.id.removesuffix(":shell:0"))


def test_an_edit_inside_a_line_is_stored_as_whole_lines() -> None:
    for version in (OLD, NEW):
        (edit,) = edits(at_work(version).edit("src/shop.py", BEFORE, "item.cost", "item.cost * self.rate"))
        assert edit.after is not None and edit.after.content is not None
        assert "return item.cost * self.rate" in [line.strip() for line in edit.after.content.splitlines()]
        assert edit.part
        assert [(lines.first, lines.last) for lines in edit.lines] == [(1, 6)]


def test_every_replaced_place_is_stored() -> None:
    far = "x = 1\n" + "y = 2\n" * 30 + "x = 1\n"
    for version in (OLD, NEW):
        found = edits(at_work(version).edit("a.py", far, "x = 1", "x = one()", every=True))
        assert [edit.id[-8:] for edit in found] == [":shell:0", ":shell:1"]
        assert all("x = one()" in (texts(edit)[1] or "") for edit in found)


def test_a_formatters_changes_are_included() -> None:
    formatted = BEFORE.replace("item.cost", "(item.cost * self.rate)")
    (edit,) = edits(at_work().edit("a.py", BEFORE, f"{LINE}\n", f"{LINE}*self.rate\n", after=formatted))
    assert "return (item.cost * self.rate)" in (texts(edit)[1] or "")


def test_the_whole_file_if_it_is_reported() -> None:
    (edit,) = edits(at_work(MIDDLE).edit("src/shop.py", BEFORE, "item.cost", "item.cost * self.rate"))
    assert texts(edit) == (BEFORE, AFTER)
    assert not edit.part
    (made,) = edits(at_work(MIDDLE).edit("new.py", "", "", "one\n"))
    assert texts(made) == (None, "one\n")


def test_an_edit_of_nothing_and_a_write_create_a_file() -> None:
    for session in (at_work().edit("new.py", "", "", "one\n"), at_work().write("new.py", "one\n")):
        (edit,) = edits(session)
        assert texts(edit) == (None, "one\n")
        assert not edit.part


def test_several_edits_in_one_call() -> None:
    for version in (OLD, MIDDLE):
        found = edits(at_work(version).multiedit("a.py", "one\ntwo\n", ("one\n", "1\n"), ("two\n", "2\n")))
        assert [edit.id[-8:] for edit in found] == [":shell:0", ":shell:1"]
        assert texts(found[-1])[1] == ("1\n2\n" if version == MIDDLE else "2\n")


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
def test_a_patch(version: str) -> None:
    text = patch_text(
        added("new.py", "one\n"), updated("src/shop.py", BEFORE, AFTER, "src/store.py"), deleted("old.py")
    )
    files = [
        {"path": "new.py", "type": "add", "after": "one\n"},
        {"path": "src/shop.py", "type": "move", "before": BEFORE, "after": AFTER, "moved": "src/store.py"},
        {"path": "old.py", "type": "delete", "before": "gone\n"},
    ]
    found = {str(edit.path): edit for edit in edits(at_work(version).patch(text, files, {}))}
    assert set(found) == {"new.py", "src/store.py", "src/shop.py", "old.py"}
    assert texts(found["new.py"]) == (None, "one\n")
    assert "        return item.cost * self.rate\n" in (texts(found["src/store.py"])[1] or "")
    assert found["src/store.py"].part is (version != MIDDLE)
    assert [texts(found[name])[1] for name in ("src/shop.py", "old.py")] == ["", ""]


def test_a_patch_without_text_is_read_from_its_diffs() -> None:
    session = at_work().patch("", [{"path": "a.py", "type": "update", "before": BEFORE, "after": AFTER}], {})
    (edit,) = edits(session)
    assert "return item.cost * self.rate" in (texts(edit)[1] or "")


def test_a_failed_call_changes_nothing() -> None:
    assert edits(at_work().edit("a.py", "one\n", "one", "two", error="oldString not found")) == []
    assert edits(at_work().write("a.py", "one\n", error="rejected")) == []


def test_a_file_outside_the_repository_gives_no_edit() -> None:
    assert edits(at_work().write("/elsewhere/a.py", "one\n")) == []
    assert edits(at_work().write("../a.py", "one\n")) == []


def test_erased_content_is_reported_as_erased() -> None:
    said = told_of(at_work().write("a.py", "one\n"))[-1]
    said["tool_input"]["content"] = {"$erased": "sha256:" + "0" * 64}
    (edit,) = of(seen(said), FileEdit)
    assert edit.after.content is None
    said = told_of(at_work().edit("a.py", "one\n", "one\n", "two\n"))[-1]
    said["tool_input"]["newString"] = {"$erased": "sha256:" + "0" * 64}
    (edit,) = of(seen(said), FileEdit)
    assert edit.part


# Snapshots.


@pytest.mark.parametrize("tool", ["bash", "edit", "write", "multiedit", "patch", "apply_patch"])
def test_snapshots_are_taken_around_tools_that_change_files(tool: str) -> None:
    assert choose_snapshot_phase("tool.execute.before", tool) == "before"
    assert choose_snapshot_phase("tool.execute.after", tool) == "after"
    assert choose_snapshot_phase("message.part.updated", tool) == "after"
    assert choose_snapshot_phase("PostToolUse", tool) == ("after" if tool in ("bash", "apply_patch") else None)


def test_no_snapshots_are_taken_around_other_tools() -> None:
    for tool in ("read", "grep", "task", "webfetch", "Bash", None):
        assert choose_snapshot_phase("tool.execute.before", tool) is None
    assert choose_snapshot_phase("chat.message", "bash") is None


# Sources, commits.


@pytest.mark.parametrize("version", [OLD, NEW])
def test_read_files_are_sources(version: str) -> None:
    content = "".join(f"line {n}\n" for n in range(1, 9))
    (whole,) = of(last(at_work(version).read("a.txt", content)), SourceAccess)
    assert (whole.locator, whole.reading) == ("/work tree/a.txt", Reading.VERBATIM)
    assert whole.text.content == content.rstrip("\n")
    (part,) = of(last(at_work(version).read("a.txt", content, limit=3)), SourceAccess)
    assert (part.reading, part.text.content) == (Reading.EXCERPT, "line 1\nline 2\nline 3")
    (end,) = of(last(at_work(version).read("a.txt", content, offset=7)), SourceAccess)
    assert end.reading is Reading.EXCERPT


def test_a_folder_is_not_a_source_and_a_missing_file_is_an_attempt() -> None:
    words = "<path>/work tree/src</path>\n<type>directory</type>\n<entries>\na.py\n\n(1 entries)\n</entries>"
    assert sources(at_work().call("read", {"filePath": "/work tree/src"}, words, {"truncated": False})) == []
    failed = at_work().call("read", {"filePath": "/work tree/no"}, None, {}, error="File not found: /work tree/no")
    assert sources(failed) == [("/work tree/no", Reading.ATTEMPTED)]


def test_pages() -> None:
    given = {"url": "https://example.org/a", "format": "markdown"}
    page = at_work().call("webfetch", given, "# A page\n", {"truncated": False})
    (read,) = of(last(page), SourceAccess)
    assert (read.locator, read.reading, read.text.content) == (given["url"], Reading.VERBATIM, "# A page\n")
    assert sources(at_work().call("webfetch", given, "# A", {"truncated": True})) == [(given["url"], Reading.EXCERPT)]
    (failed,) = of(
        last(at_work().call("webfetch", given, None, {}, error="Request failed with status code: 404")), SourceAccess
    )
    assert (failed.reading, failed.failed, failed.code) == (Reading.ATTEMPTED, True, 404)


def test_searches() -> None:
    words = "Title: A page\nURL: https://example.org/a\nText: x\n\nTitle: B\nURL: https://example.org/b\n"
    found = at_work().call("websearch", {"query": "q"}, words, {"provider": "exa"})
    assert sources(found) == [("https://example.org/a", Reading.LISTED), ("https://example.org/b", Reading.LISTED)]
    words = "Found 2 matches\n/work tree/a.py:\n  Line 3: x = 1\n  Line 9: x: 2\n\n/work tree/b.py:\n  Line 1: x\n"
    grep = at_work().call("grep", {"pattern": "x"}, words, {"matches": 3, "truncated": False})
    assert sources(grep) == [("/work tree/a.py", Reading.EXCERPT), ("/work tree/b.py", Reading.EXCERPT)]


def test_a_servers_tool() -> None:
    given = {"url": "https://example.org/a"}
    fetched = at_work().call("browser_fetch", given, "the page", {"truncated": False})
    assert sources(fetched) == [("https://example.org/a", Reading.EXCERPT)]
    assert sources(at_work().call("todowrite", {"url": "https://example.org/a"}, "x", {})) == []


def test_sources_that_a_command_opened_and_showed() -> None:
    assert sources(at_work().shell("curl -fsSL https://example.org/a", "the page\n")) == [
        ("https://example.org/a", Reading.VERBATIM)
    ]
    shown = at_work().shell("cat notes.md", "a\n", given={"workdir": "/work tree/docs"})
    assert sources(shown) == [("/work tree/docs/notes.md", Reading.VERBATIM)]


def test_a_commit_is_linked_by_its_full_id() -> None:
    made = at_work().shell("git commit -m x", f"[main {'b' * 40}] x\n 1 file changed\n")
    (link,) = of(last(made), CommitLink)
    assert link.commit == "b" * 40
    assert of(last(at_work().shell("git commit -m x", "[main bbbbbbb] x\n")), CommitLink) == []


# Ids.


@given(
    st.sampled_from(["ses", "msg", "prt"]), st.binary(min_size=6, max_size=6), st.text(BASE62, min_size=14, max_size=14)
)
def test_opencodes_ids_are_not_secrets(prefix: str, moment: bytes, chance: str) -> None:
    named = f"{prefix}_{moment.hex()}{chance}"
    assert redact_text(f"{named} {named}/call_1 {named}:before") == (f"{named} {named}/call_1 {named}:before", ())


# Invalid content.


def test_unknown_events_and_fields_are_ignored() -> None:
    assert seen(said_by_plugin("session.idle", ROOT)) == []
    plain = told_of(at_work().edit("a.py", "one\n", "one", "two"))[-1]
    more = {**plain, "plugin": 99, "novel": {"x": 1}}
    more["tool_response"] = {**plain["tool_response"], "novel": [1]}
    assert seen(more) == seen(plain)


KEYS = ["tool_name", "tool_input", "tool_response", "model", "agent_id", "parent_call", "prompt", "prompt_id", "cwd"]


@given(st.sampled_from(KEYS), json_values, st.sampled_from(["edit", "bash", "apply_patch", "read", "webfetch", "grep"]))
def test_a_field_of_another_type_counts_as_absent(key: str, value: Any, tool: str) -> None:
    given = {"filePath": "/work tree/a", "oldString": "a", "newString": "b", "command": "cat a", "patchText": "x"}
    for event in ("tool.execute.after", "tool.execute.before", "chat.message", "message.part.updated"):
        said = {"tool_name": tool, "tool_use_id": "c1", "tool_input": given, "tool_response": {"output": "x"}}
        seen(said_by_plugin(event, ROOT, **{**said, key: value}))


@given(st.dictionaries(st.sampled_from(["filediff", "diff", "files", "results", "exit", "display"]), json_values))
def test_metadata_may_be_anything(metadata: dict[str, Any]) -> None:
    for tool in ("edit", "multiedit", "write", "apply_patch", "bash", "read"):
        answer = {"output": "x", "metadata": metadata}
        given = {"filePath": "/work tree/a", "edits": [{}, 7], "content": "c", "command": "ls"}
        said = {"tool_name": tool, "tool_use_id": "c1", "tool_input": given, "tool_response": answer}
        seen(said_by_plugin("tool.execute.after", ROOT, **said))
