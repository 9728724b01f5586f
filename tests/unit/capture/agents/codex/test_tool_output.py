"""Codex's texts in place of an output, and the status of calls by them, in the shapes of real rollouts."""

import json
from typing import Any

import pytest

from custody.capture import TranscriptLine
from custody.capture.agents.codex.tool_calls import parse_tool_output
from custody.core.views import CallStatus, FileEdit, Prompt, SourceAccess
from tests.builders.codex import THREAD, Rollout, a_rollout, added, patch_text, updated
from tests.builders.codex_told import begun_in, ended, of, read, told

PATCH = patch_text(updated("a.py", "one\n", "two\n"))
WRITE = "cat > a.py <<'EOF'\nx\nEOF"
LONG = "x" * 100_000


def called(name: str, given: Any, output: Any) -> Rollout:
    """Return a session with one call of a tool, and its output."""
    made = a_rollout("/w")
    kind, at = ("custom_tool_call", "input") if name == "apply_patch" else ("function_call", "arguments")
    made.response(kind, call_id="call_1", name=name, **{at: given if isinstance(given, str) else json.dumps(given)})
    return made.response(f"{kind}_output", call_id="call_1", output=output)


@pytest.mark.parametrize(
    "said",
    [
        "apply_patch verification failed: Failed to find expected lines in /w/a.py:\none",
        "patch rejected by user",
        "execution error: Io(Os { code: 2, kind: NotFound })",
        "error: invalid hunk at line 2, 'x' is not a valid hunk header.",
        "an unknown kind of refusal",
    ],
)
def test_a_patch_that_codex_did_not_apply_edits_nothing(said: str) -> None:
    views = told(called("apply_patch", PATCH, said))
    assert of(views, FileEdit) == []
    assert [call.status for call in ended(views)] == [CallStatus.FAILED]


@pytest.mark.parametrize(
    "said",
    [
        "Success. Updated the following files:\nM a.py\n",
        "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM a.py\n",
        json.dumps({"output": "Success. Updated the following files:\nM a.py\n", "metadata": {"exit_code": 0}}),
    ],
)
def test_a_patch_that_codex_applied_is_an_edit(said: str) -> None:
    views = told(called("apply_patch", PATCH, said))
    assert [edit.after.content for edit in of(views, FileEdit)] == ["two\n"]
    assert [call.status for call in ended(views)] == [CallStatus.OK]


@pytest.mark.parametrize(
    "said",
    [
        "failed in sandbox MacosSeatbelt with execution error: sandbox denied exec error, exit code: 1, stdout: ",
        "failed in sandbox None with execution error: command timed out",
        'exec_command failed for `/bin/bash -lc x`: CreateProcess { message: "Rejected" }',
        "exec command rejected by user",
        "aborted by user after 55.6s",
        "Wall time: 3.1 seconds\naborted by user",
        "approval policy is Never; reject command",
        "failed to parse function arguments: missing field `command` at line 1 column 53",
        f"failed in sandbox LinuxSeccomp with execution error: sandbox denied exec error, exit code: 2, {LONG}",
    ],
)
def test_a_command_that_did_not_run_failed_and_wrote_nothing(said: str) -> None:
    views = told(called("exec_command", {"cmd": WRITE}, said))
    assert of(views, FileEdit) == []
    assert [call.status for call in ended(views)] == [CallStatus.FAILED]


def test_a_commands_output_is_not_a_refusal() -> None:
    said = "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nexecution error: expected by the test\n"
    views = told(called("shell_command", {"command": WRITE}, said))
    assert ([call.status for call in ended(views)], len(of(views, FileEdit))) == ([CallStatus.OK], 1)


def test_a_patch_of_a_failed_command_edits_nothing() -> None:
    command = f"apply_patch <<'EOF'\n{PATCH}\nEOF"
    views = told(called("shell", {"command": ["bash", "-lc", command]}, "error: Failed to find expected lines in a.py"))
    assert (of(views, FileEdit), [call.status for call in ended(views)]) == ([], [CallStatus.FAILED])


def test_a_patch_in_a_here_document_without_its_end() -> None:
    command = f"apply_patch << 'PATCH'\n{patch_text(added('a.py', 'x'))}"
    warned = "bash: line 5: warning: here-document at line 1 delimited by end-of-file (wanted `PATCH')\n"
    made = a_rollout("/w").shell(command, f"{warned}Success. Updated the following files:\nA a.py\n", way="shell")
    assert [edit.after.content for edit in of(told(made), FileEdit)] == ["x\n"]


def test_lines_above_an_output_may_begin_with_the_command() -> None:
    command = "cat a.py # \nWall time\nOutput:\n"
    head = f"Command: /bin/bash -lc '{command}'\nChunk ID: 91\nWall time: 0.1 seconds\nProcess exited with code 3\n"
    answer = parse_tool_output(f"{head}Original token count: 2\nOutput:\nno\n")
    assert (answer.text, answer.code) == ("no\n", 3)
    (read,) = of(told(called("exec_command", {"cmd": "cat a.py"}, f"{head}Output:\nno\n")), SourceAccess)
    assert (read.locator, read.failed) == ("/w/a.py", True)


# --- prompts ----------------------------------------------------------------------------------------------------------


def test_a_prompt_before_the_first_event_counts_once() -> None:
    made = Rollout("/w").begun()
    made.lines = [line for line in made.lines if line["type"] == "session_meta"]
    made.prompt("do it").turned()
    assert [one.text.content for one in of(told(made), Prompt)] == ["do it"]


ABOVE = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## Open tabs:\n- a.py: a.py\n\n"


def test_an_editors_context_is_not_part_of_the_prompt() -> None:
    made = a_rollout("/w").prompt(f"{ABOVE}## My request for Codex:\nmend it\nplease\n")
    assert [one.text.content for one in of(told(made), Prompt)] == ["mend it\nplease"]


def test_an_editors_context_without_a_prompt_is_not_a_prompt() -> None:
    assert of(told(a_rollout("/w").prompt(f"{ABOVE}## My request for Codex:\n \n")), Prompt) == []


# --- threads that the program started ---------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [{"subagent": "review"}, {"sub_agent": {"other": "guardian"}}])
def test_the_programs_own_threads_have_no_typed_prompts(source: dict[str, Any]) -> None:
    assert of(told(Rollout("/w").begun(source=source).prompt("Review the changes")), Prompt) == []


def test_a_subagent_that_a_subagent_started_is_part_of_the_session() -> None:
    def spawned(by: Rollout, agent: str) -> Rollout:
        by.response("function_call", name="spawn_agent", arguments="{}", call_id=f"call_for_{agent}")
        return by.response("function_call_output", call_id=f"call_for_{agent}", output=json.dumps({"agent_id": agent}))

    def below(thread: str, above: str) -> Rollout:
        return Rollout("/w", thread=thread).begun(
            source={"subagent": {"thread_spawn": {"parent_thread_id": above, "depth": 1}}}
        )

    files = spawned(a_rollout("/w"), "child"), spawned(below("child", THREAD), "grandchild")
    made = below("grandchild", "child").shell("ls")
    starts = {(one.session, one.subagent): one.call for file in files for one in begun_in(file)}
    found = [item for item in read(*made.lines, starts=starts) if isinstance(item, TranscriptLine)]
    assert {(item.session, item.subagent, item.parent_call) for item in found} == {
        (THREAD, "grandchild", "call_for_grandchild")
    }
