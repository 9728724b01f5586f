"""Scripts that a model wrote for Codex: only commands that certainly ran are read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import TranscriptLine
from custody.capture.agents.codex.line_shapes import CHARS_MAX, parse_script_command
from custody.core.views import CallStatus, FileEdit, Reading, SourceAccess
from tests.builders.codex import Rollout, a_rollout
from tests.builders.codex_told import ended, of, read, told

WRITE = "cat > a.py <<'EOF'\nx = \"1\"\nEOF"
BOTH = 'const both = [tools.exec_command({cmd: "a"}), tools.exec_command({cmd: "b"})]; for (const r of both) text(r)'


def scripted(script: str, printed: str, *, how: str = "completed") -> Rollout:
    """Return a session with one script, and its output."""
    made = a_rollout("/w")
    made.response("custom_tool_call", call_id="call_1", name="exec", status="completed", input=script)
    head = {"type": "input_text", "text": f"Script {how}\nWall time 0.2 seconds\nOutput:\n"}
    said = [head, {"type": "input_text", "text": printed}]
    return made.response("custom_tool_call_output", call_id="call_1", output=said)


@pytest.mark.parametrize(
    ("script", "command", "folder"),
    [
        ('const r = await tools.exec_command({"cmd": "ls", "workdir": "/w/x"}); text(r)', "ls", "/w/x"),
        ("text(await tools.shell_command({command: 'a\\'b', timeout_ms: 1000}))", "a'b", None),
        ("const cmd = `one\ntwo`\nconst r = await tools.exec_command({cmd})\ntext(r.output)", "one\ntwo", None),
        ('const c = "a" + " b"; await tools.exec_command({cmd: c})', "a b", None),
        ('await tools.exec_command({cmd: ["a", "b"].join("\\n"), tty: false})', "a\nb", None),
        (BOTH, "a\nb", None),
        ('await tools.exec_command({cmd: "\\u00e9\\ud83d\\ude00\\x41\\t"}) // if not', "\u00e9\U0001f600A\t", None),
    ],
)
def test_a_command_in_a_script_is_read(script: str, command: str, folder: str | None) -> None:
    ran = parse_script_command(script)
    assert ran is not None
    assert (ran.tool, ran.input, ran.folder) == ("Bash", {"command": command}, folder)


@pytest.mark.parametrize(
    "script",
    [
        'if (x) { await tools.exec_command({cmd: "rm a"}) }',
        'for (const c of cs) await tools.exec_command({cmd: "rm a"})',
        'const rs = await Promise.all(["a"].map(c => tools.exec_command({cmd: c})))',
        "await tools.exec_command({cmd: `rm ${name}`})",
        'await tools.exec_command({cmd: "rm " + name})',
        'await tools.exec_command({cmd: "rm a".trim()})',
        'ok && await tools.exec_command({cmd: "rm a"})',
        'await tools.exec_command({cmd: "cd x && ls"}); await tools.exec_command({cmd: "> a"})',
        'await tools.exec_command({cmd: "a", workdir: "x"}); await tools.exec_command({cmd: "b", workdir: "y"})',
        'await tools.apply_patch("*** Begin Patch")',
        "/* " * 60_000 + ' tools.exec_command({cmd: "rm a"})',
        'const a0 = "xxxxxxxx";'
        + "".join(f"const a{n + 1} = a{n} + a{n};" for n in range(99))
        + "tools.exec_command({cmd: a99})",
        'text("tools.exec_command({cmd: 1})")',
        'await tools.exec_command({cmd: "never ends',
        "await tools.exec_command(" + "[" * 1000,
        "tools.exec_command({cmd: 'x'})" + " " * CHARS_MAX,
    ],
)
def test_an_unclear_script_gives_no_command(script: str) -> None:
    assert parse_script_command(script) is None


@given(st.text(alphabet=st.sampled_from("tools.exec_command({cmd:'\"`$\\u}])+,;\n/*if =>"), max_size=80))
def test_any_script_is_read_without_an_error(script: str) -> None:
    parse_script_command(f"tools.exec_command({script}")
    parse_script_command(script + "tools.")


def test_what_a_script_writes_shows_and_commits() -> None:
    made = scripted(f"text(await tools.exec_command({{cmd: {json.dumps(WRITE)}}}))", "")
    assert [edit.after.content for edit in of(told(made), FileEdit)] == ['x = "1"\n']
    shown = json.dumps({"chunk_id": "1", "exit_code": 0, "output": "x = 1\n"})
    (source,) = of(told(scripted('text(await tools.exec_command({cmd: "cat a.py"}))', shown)), SourceAccess)
    assert (source.locator, source.reading, source.text.content) == ("/w/a.py", Reading.VERBATIM, "x = 1\n")
    commit = scripted('text((await tools.exec_command({cmd: "git commit -m x"})).output)', "[main abc1234] x\n")
    found = [item for item in read(*commit.lines) if isinstance(item, TranscriptLine)]
    assert [item.commits for item in found if item.commits] == [("abc1234",)]


@pytest.mark.parametrize(
    ("how", "printed", "status"),
    [
        ("completed", "Exit code: 0\nWall time: 0.1 seconds\nOutput:\n", CallStatus.OK),
        ("completed", '{"exit_code": 2, "output": "cat: a.py: No such file or directory"}', CallStatus.FAILED),
        ("failed", "Script error:\nExit code: 1\nWall time: 0.1 seconds\nOutput:\nIs a directory", CallStatus.FAILED),
        ("failed", "Script error:\nexec_command failed for `x`: Rejected", CallStatus.FAILED),
        ("failed", "Script error:\nTypeError: x is not a function\nPermission denied", CallStatus.FAILED),
    ],
)
def test_the_exit_code_of_a_scripts_command(how: str, printed: str, status: CallStatus) -> None:
    views = told(scripted(f"text(await tools.shell_command({{command: {json.dumps(WRITE)}}}))", printed, how=how))
    assert [call.status for call in ended(views)] == [status]
    assert len(of(views, FileEdit)) == (status is CallStatus.OK)


def test_a_script_that_still_runs_has_not_ended() -> None:
    assert ended(told(scripted("text(1)", "", how="running with cell ID 33"))) == []


def test_a_patch_in_a_script_has_its_own_event() -> None:
    change: dict[str, Any] = {"/w/a.py": {"type": "add", "content": "x\n"}}
    made = a_rollout("/w")
    made.response("custom_tool_call", call_id="call_1", name="exec", input='await tools.apply_patch("*** Begin")')
    made.patched("exec-62ae099a-d2aa-4308-83b4-39cff922c24b", change)
    made.response(
        "custom_tool_call_output", call_id="call_1", output=[{"type": "input_text", "text": "Script completed"}]
    )
    assert [edit.after.content for edit in of(told(made), FileEdit)] == ["x\n"]
