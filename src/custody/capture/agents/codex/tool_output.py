"""What a tool of Codex CLI gave back, in any of the shapes that Codex has used, and whether the call came about at all.

Shapes: ``codex-rs/core/src/tools`` at commit 343074d4207d (August 2026), and rollouts that Codex 0.34 to 0.146 wrote
(August 2025 to August 2026). What a command printed stands below lines of Codex's own; where a call was refused, could
not be begun or was broken off, Codex's words stand in the place of all that, with no code.
"""

import re

from msgspec.structs import replace

from custody.capture.agents.codex.tool_calls import APPLY_PATCH
from custody.capture.command_facts import ToolOutput
from custody.capture.typed_field import Fields, fields, first_string, get_int, get_string, json_in
from custody.core.wire.canonical import Json

APPLIED = "Success. Updated the following files"
"""What Codex says of every patch that it applied."""
REFUSED = (
    "aborted by user",
    "apply_patch verification failed",
    "approval denied",
    "approval policy is ",
    "command timed out",
    "error: Failed to ",
    "error: invalid ",
    "exec command rejected",
    "exec_command failed",
    "execution error: ",
    "failed in sandbox",
    "failed to parse function arguments",
    "patch rejected",
    "rejected by user",
    "unsupported call: ",
    "unsupported custom tool call: ",
    "writing is blocked by ",
    "writing outside of the project",
)
"""How Codex's own words begin where a call was not done, or nobody can tell how much of it."""

_CODE = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d{1,9})$", re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID ", re.MULTILINE)
_RAN = re.compile(r"\ACommand: .*?\n(?=(?:Chunk ID|Exit code|Wall time): )", re.DOTALL)
_HEADED = re.compile(r"\A(?:Chunk ID|Exit code|Wall time|Process exited|Process running)[^\n]*\n")
_SCRIPT = re.compile(r"\AScript (completed|failed|running|terminated)[^\n]*\nWall time [^\n]*\nOutput:\n")
_ABORTED = "\naborted by user"
_OUTPUT = "\nOutput:\n"


def answer_of(said: object) -> ToolOutput:
    r"""What a tool gave back.

    >>> answer_of("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno")
    ToolOutput(words='no', code=1, running=False, refused=False)
    """
    if isinstance(said, list):
        return answer_of("\n".join(get_string(fields(item).get("text")) or "" for item in said))
    if isinstance(said, str):
        inner = fields(json_in(said))
        return _answered(inner) if {"output", "metadata"} <= inner.keys() else _read(said)
    return _answered(fields(said))


def outcome(tool: str, said: object) -> ToolOutput:
    """What a call gave back by its rollout, where outputs stand below Codex's own lines, and refusals do not."""
    answer = answer_of(said)
    if answer.code is not None or answer.running or answer.refused or not answer.words:
        return answer
    undone = APPLIED not in answer.words if tool == APPLY_PATCH else answer.words.startswith(REFUSED)
    return replace(answer, refused=True) if undone else answer


def trim_tool_output(answer: ToolOutput) -> dict[str, Json]:
    """An answer such that its code stays when what was printed is cut."""
    about: dict[str, Json] = {"exit_code": answer.code}
    return {"output": answer.words, "metadata": {**about, "refused": True} if answer.refused else about}


def _answered(said: Fields) -> ToolOutput:
    if "content" in said and "output" not in said:
        whole = answer_of(said["content"]) if isinstance(said["content"], str | list) else ToolOutput()
        failed = said.get("success") is False and whole.code is None
        return replace(whole, code=1) if failed else whole
    words = first_string(said, ("aggregated_output", "stdout", "output")) or ""
    about = fields(said.get("metadata"))
    code = get_int(about.get("exit_code", said.get("exit_code")))
    return ToolOutput(words, code, refused=about.get("refused") is True)


def _read(said: str) -> ToolOutput:
    script = _SCRIPT.match(said)
    if script is not None:
        return _scripted(script[1], said[script.end() :].removeprefix("\n").removeprefix("Script error:\n"))
    said = said if (ran := _RAN.match(said)) is None else said[ran.end() :]
    if not _HEADED.match(said):
        return ToolOutput(said)
    head, found, words = said.partition(_OUTPUT)
    if not found and _ABORTED in said:
        return ToolOutput(said, refused=True)
    ended = _CODE.search(head)
    running = ended is None and _RUNNING.search(head) is not None
    return ToolOutput(words if found else "", None if ended is None else int(ended[1]), running)


def _scripted(how: str, said: str) -> ToolOutput:
    """What a script printed: as a rule what a command gave back, with that one's code."""
    inner = fields(json_in(said))
    printed = _answered(inner) if {"output", "exit_code"} <= inner.keys() else _read(said)
    if printed.code is not None or how == "running":
        return replace(printed, running=how == "running")
    code = 0 if how == "completed" else 1
    return replace(printed, code=code, refused=code == 1 and said.startswith(REFUSED))
