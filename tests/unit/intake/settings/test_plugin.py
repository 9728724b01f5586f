"""opencode's plugin: installed and removed as a whole, and run in node with the hooks of opencode."""

import json
import os
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.intake.install.site import list_hook_entries
from custody.intake.settings import (
    AGENTS,
    HookRequest,
    list_settings_hook_commands,
    make_agent_settings_edit,
    make_settings_removal_edit,
)
from custody.intake.settings.plugin import is_own_agent_plugin, list_plugin_hook_commands, render_agent_plugin
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.drawn import json_values
from tests.builders.in_process import custody
from tests.builders.opencode import MODEL, NEW, NEWEST, OLD, PROVIDER, SESSION, Opencode
from tests.builders.opencode_host import run_plugin

AGENT = AGENTS["opencode"]
PLUGIN = ".opencode/plugin/custody.js"
CHILD = "ses_5a5a5a5a5ffeZyXwVuTsRqPoNm"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout


def home() -> Path:
    return Path(os.environ["HOME"])


# The file.


def test_init_puts_it_there_once_and_uninstall_takes_it_away(repository: Path) -> None:
    before = sorted(repository.rglob("[!.]*"))
    ran = custody(repository, "init", "--agent", "opencode")
    assert "created    FOLDER/.opencode/plugin/custody.js  (opencode: a plugin that runs the recorder;" in ran.out
    made = (repository / PLUGIN).read_bytes()
    assert is_own_agent_plugin(made)
    assert git(repository, "status", "--porcelain") == ""
    assert [entry.agent for entry in list_hook_entries(Workspace(repository))] == ["opencode"]
    again = custody(repository, "init", "--agent", "opencode")
    assert "unchanged  FOLDER/.opencode/plugin/custody.js" in again.out
    assert (repository / PLUGIN).read_bytes() == made
    ran = custody(repository, "uninstall")
    assert "deleted    FOLDER/.opencode/plugin/custody.js  (opencode: our plugin removed)" in ran.out
    assert sorted(repository.rglob("[!.]*")) == before
    assert not (repository / ".opencode").exists()


def test_what_others_have_beside_it_stays(repository: Path) -> None:
    other = repository / ".opencode" / "plugin" / "notify.js"
    other.parent.mkdir(parents=True)
    other.write_text("export const Notify = async () => ({})\n")
    custody(repository, "init", "--agent", "opencode")
    custody(repository, "uninstall")
    assert [path.name for path in other.parent.iterdir()] == ["notify.js"]


def test_a_file_that_is_not_ours_is_never_replaced_or_removed(repository: Path) -> None:
    path = repository / PLUGIN
    path.parent.mkdir(parents=True)
    path.write_text("export const Custody = async () => ({})\n")
    ran = custody(repository, "init", "--agent", "opencode")
    assert (ran.status, ran.out) == (2, "")
    assert "was not written by custody, or was edited since" in ran.err
    assert not (repository / ".git" / "custody").exists()
    custody(repository, "uninstall")
    assert path.read_text() == "export const Custody = async () => ({})\n"


def test_one_that_was_edited_is_left_to_its_editor(repository: Path) -> None:
    custody(repository, "init", "--agent", "opencode")
    path = repository / PLUGIN
    path.write_text(path.read_text() + "// mine\n")
    assert custody(repository, "init", "--agent", "opencode").status == 2
    ran = custody(repository, "uninstall")
    assert "by hand    FOLDER/.opencode/plugin/custody.js  (opencode:" in ran.out
    assert path.read_text().endswith("// mine\n")


def test_an_older_one_and_one_of_a_place_that_is_gone_are_replaced(repository: Path, tmp_path: Path) -> None:
    custody(repository, "init", "--agent", "opencode")
    path = repository / PLUGIN
    head, body = path.read_text().split("// sha256: ")[0], 'const RECORD = "x /custody/hook/record.py"\n'
    path.write_text(f"{head}// sha256: {sha256(body.encode()).hexdigest()}\n{body}")
    assert list_settings_hook_commands(path, AGENT) == ["x /custody/hook/record.py"]
    assert "changed    FOLDER/.opencode/plugin/custody.js" in custody(repository, "init", "--agent", "opencode").out
    moved = repository.rename(tmp_path / "moved")
    assert "changed    FOLDER/.opencode/plugin/custody.js" in custody(moved, "init", "--agent", "opencode").out
    assert str(moved) in (moved / PLUGIN).read_text()
    custody(moved, "uninstall")
    assert not (moved / ".opencode").exists()


def test_lost_notes_do_not_matter(repository: Path) -> None:
    custody(repository, "init", "--agent", "opencode")
    (repository / ".git" / "custody" / "backup" / "manifest.json").unlink()
    custody(repository, "uninstall")
    assert not (repository / PLUGIN).exists()


def test_a_tracked_file_sends_us_to_the_users_folder(repository: Path) -> None:
    path = repository / PLUGIN
    path.parent.mkdir(parents=True)
    path.write_text("// the team's\n")
    git(repository, "add", "-A")
    git(repository, "commit", "--quiet", "-m", "x")
    ran = custody(repository, "init", "--agent", "opencode")
    assert "because git tracks '.opencode/plugin/custody.js'" in ran.out
    own = home() / ".config" / "opencode" / "plugin" / "custody.js"
    assert "--where-set-up" in own.read_text()
    assert path.read_text() == "// the team's\n"
    custody(repository, "uninstall")
    assert not own.exists()


def test_a_read_only_file_and_a_folder_in_its_place_are_named(tmp_path: Path) -> None:
    ask = HookRequest.of(AGENT, "x /custody/hook/record.py")
    (tmp_path / "custody.js").mkdir()
    with pytest.raises(InputError, match="is not a regular file"):
        make_agent_settings_edit(tmp_path / "custody.js", ask)
    (tmp_path / "custody.js").rmdir()
    assert not make_settings_removal_edit(tmp_path / "custody.js", AGENT).changes
    assert list_settings_hook_commands(tmp_path / "custody.js", AGENT) == []


def test_any_command_comes_out_as_it_went_in() -> None:
    command = "[ -f '/a \"b\" \\ é\u2028/custody/hook/record.py' ] || exit 0; 'x'"
    made = render_agent_plugin(HookRequest.of(AGENT, command))
    assert list_plugin_hook_commands(made) == [command]
    assert is_own_agent_plugin(made)
    assert list_plugin_hook_commands(made.replace(b"// sha256: ", b"// nothing: ")) == []
    assert list_plugin_hook_commands(None) == []


# The messages of the plugin.


def a_plugin(folder: Path, command: str | None = None, **numbers: int) -> Path:
    """Return the plugin with a recorder that writes its input to a file, one line per event."""
    said = command or f": /custody/hook/record.py; cat >> '{folder}/said'; echo >> '{folder}/said'"
    code = render_agent_plugin(HookRequest.of(AGENT, said)).decode()
    for name, value in numbers.items():
        assert f"const {name} = " in code
        code = code.replace(f"const {name} = ", f"const {name} = {value} // ")
    (folder / "custody.js").write_text(code)
    return folder / "custody.js"


def told(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "said").read_text().splitlines()]


def test_every_event_is_reported_in_order_with_session_and_model(tmp_path: Path) -> None:
    session = Opencode(tmp_path / "work").prompt("do it", {"type": "text", "text": "file text", "synthetic": True})
    session.edit("a.py", "one\n", "one", "two").shell("false", error="Tool execution aborted")
    run_plugin(a_plugin(tmp_path), session)
    said = told(tmp_path)
    assert [one["hook_event_name"] for one in said] == [
        "session.created",
        "chat.message",
        "tool.execute.before",
        "tool.execute.after",
        "tool.execute.before",
        "message.part.updated",
    ]
    assert {one["session_id"] for one in said} == {SESSION}
    assert {one["cwd"] for one in said} == {str(tmp_path / "work")}
    assert [one.get("model") for one in said][1:] == [{"providerID": PROVIDER, "id": MODEL}] * 5
    assert (said[0]["version"], said[1]["prompt"], said[1]["prompt_id"]) == (NEW, "do it", "msg_IjKlMn0001")
    after = said[3]
    assert (after["tool_name"], after["tool_use_id"]) == ("edit", session.messages[1]["parts"][2]["callID"])
    assert after["tool_input"]["newString"] == "two"
    assert set(after["tool_response"]["metadata"]) == {"diff", "filediff"}, "what a compiler said is not kept"
    assert said[5]["tool_response"]["error"] == "Tool execution aborted"
    assert not any("agent_id" in one for one in said)


def test_opencode_2_is_reported_in_the_same_words(tmp_path: Path) -> None:
    session = Opencode(tmp_path / "work", version=NEWEST).prompt("do it")
    session.edit("a.py", "one\n", "one", "two").shell("false", error="Tool execution aborted")
    child = session.task("look", CHILD).shell("ls", "a\n", call="call_1")
    session.task_ends(child)
    run_plugin(a_plugin(tmp_path), session)
    said = told(tmp_path)
    before, after = "tool.execute.before", "tool.execute.after"
    ends = [before, after, before, "message.part.updated", before, "chat.message", before, after, after]
    assert [one["hook_event_name"] for one in said] == ["chat.message", *ends]
    assert {one["session_id"] for one in said} == {SESSION}
    assert {one["cwd"] for one in said} == {str(tmp_path / "work")}
    assert (said[0]["prompt"], said[0]["prompt_id"]) == ("do it", "msg_IjKlMn0001")
    assert [one.get("model") for one in said][1:5] == [{"providerID": PROVIDER, "id": MODEL}] * 4
    assert (said[2]["tool_name"], said[2]["tool_input"]["newString"]) == ("edit", "two")
    assert [file["status"] for file in said[2]["tool_response"]["metadata"]["files"]] == ["modified"]
    assert said[4]["tool_response"]["error"] == "Tool execution aborted"
    own = [one for one in said if one.get("agent_id") == CHILD]
    assert {(one["parent_id"], one["parent_call"]) for one in own} == {(SESSION, child.task_call)}
    assert [one.get("tool_use_id") for one in own] == [None, f"{CHILD}/call_1", f"{CHILD}/call_1"]
    assert own[2]["tool_response"]["output"] == "a\n"


def test_what_an_older_version_does_not_repeat_is_remembered(tmp_path: Path) -> None:
    run_plugin(a_plugin(tmp_path), Opencode(tmp_path / "work", version=OLD).prompt("x").shell("ls", "a\n"))
    (after,) = [one for one in told(tmp_path) if one["hook_event_name"] == "tool.execute.after"]
    assert after["tool_input"]["command"] == "ls"
    assert after["tool_response"]["output"] == "a\n"


def test_a_subagent_is_part_of_the_session_that_started_it(tmp_path: Path) -> None:
    session = Opencode(tmp_path / "work").prompt("x")
    child = session.task("look", CHILD).shell("ls", call="call_1")
    session.task_ends(child).shell("ls", call="call_1")
    run_plugin(a_plugin(tmp_path), session)
    said = told(tmp_path)
    assert {one["session_id"] for one in said} == {SESSION}
    own = [one for one in said if one.get("agent_id") == CHILD]
    assert [one["hook_event_name"] for one in own] == [
        "session.created",
        "chat.message",
        "tool.execute.before",
        "tool.execute.after",
    ]
    assert {one["parent_id"] for one in own} == {SESSION}
    assert {one.get("parent_call") for one in own} == {child.task_call}
    assert [one["tool_use_id"] for one in own[2:]] == [f"{CHILD}/call_1"] * 2
    assert [one["tool_use_id"] for one in said if one.get("tool_name") == "bash"][2:] == ["call_1"] * 2


@pytest.mark.parametrize("known", [True, False])
def test_a_session_of_before_is_asked_for(tmp_path: Path, known: bool) -> None:
    session = Opencode(tmp_path / "work", CHILD).prompt("x").shell("ls")
    session.steps = session.steps[1:]
    sessions = {CHILD: {"parentID": SESSION}, SESSION: {}} if known else {}
    run_plugin(a_plugin(tmp_path), session, sessions)
    assert {one["session_id"] for one in told(tmp_path)} == {SESSION if known else CHILD}


def test_a_servers_answer_is_its_texts(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "found"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]
    session = Opencode(tmp_path / "work").prompt("x").call("docs_search", {"query": "q"}, "", {}, content=content)
    run_plugin(a_plugin(tmp_path), session)
    assert told(tmp_path)[-1]["tool_response"]["content"] == [{"type": "text", "text": "found"}]


# It never disturbs opencode.


@pytest.mark.parametrize("command", ["exit 7", "exec <&-; exit 1", "no-such-program", "kill -9 $$"])
def test_a_recorder_that_fails_is_not_noticed(tmp_path: Path, command: str) -> None:
    session = Opencode(tmp_path / "work").prompt("x").write("a.txt", "x" * 300_000)
    run_plugin(a_plugin(tmp_path, command), session)


def test_a_recorder_that_hangs_is_not_waited_for_long(tmp_path: Path) -> None:
    session = Opencode(tmp_path / "work").prompt("x")
    for n in range(3):
        session.write(f"{n}.txt", "x\n")
    plugin = a_plugin(tmp_path, "exec sleep 60", WAIT_MS=300, ASK_MS=50, KILL_MS=500)
    waited = [ms for hook, ms in run_plugin(plugin, session) if hook.startswith("tool")]
    assert len(waited) == 6
    assert max(waited) < 3000


def test_without_a_shell_nothing_happens(tmp_path: Path) -> None:
    plugin = a_plugin(tmp_path)
    plugin.write_text(plugin.read_text().replace('"/bin/sh"', '"/nowhere/sh"'))
    run_plugin(plugin, Opencode(tmp_path / "work").prompt("x").shell("ls"))
    assert not (tmp_path / "said").exists()


@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(json_values, json_values), min_size=6, max_size=8))
def test_whatever_it_is_handed_it_does_not_throw(tmp_path: Path, pairs: list[tuple[Any, Any]]) -> None:
    session = Opencode(tmp_path / "work")
    hooks = ("chat.message", "tool.execute.before", "tool.execute.after", "event")
    session.steps = [{"hook": hook} for hook in hooks]
    for one, two in pairs:  # in one run, since starting node is slow
        session.steps += [{"hook": hook, "input": one, "output": two} for hook in hooks]
        for kind in ("session.created", "message.updated", "message.part.updated", "toString", 7):
            for properties in (one, {"info": one, "part": two}):
                session.steps.append({"hook": "event", "input": {"event": {"type": kind, "properties": properties}}})
    run_plugin(a_plugin(tmp_path, "cat > /dev/null"), session)


# With the real recorder.


def recorded(folder: Path) -> int:
    return int(json.loads(custody(folder, "records", "--json").out)["total"])


def test_what_is_set_up_at_both_levels_is_recorded_once(repository: Path, tmp_path: Path) -> None:
    custody(tmp_path, "init", "--user", "--agent", "opencode")
    own = home() / ".config" / "opencode" / "plugin" / "custody.js"
    session = Opencode(repository).prompt("x")
    run_plugin(own, session)
    assert recorded(repository) == 2
    custody(repository, "init", "--agent", "opencode", "--no-git-hooks")
    run_plugin(own, session, CLAUDE_PROJECT_DIR=str(tmp_path))
    assert recorded(repository) == 2
    run_plugin(repository / PLUGIN, Opencode(repository, CHILD).prompt("y"))
    assert recorded(repository) == 4


def test_outside_a_repository_nothing_is_kept(tmp_path: Path) -> None:
    custody(tmp_path, "init", "--user", "--agent", "opencode")
    (tmp_path / "plain").mkdir()
    own = home() / ".config" / "opencode" / "plugin" / "custody.js"
    run_plugin(own, Opencode(tmp_path / "plain").prompt("x"))
    assert list((tmp_path / "plain").iterdir()) == []
