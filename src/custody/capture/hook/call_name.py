"""A name for a call that its agent does not name: made of its input and, for a command, of its result.

Hooks of Gemini CLI and of Copilot CLI do not name the call, their transcripts do. Both have the same input, so the same
call gets the same name from either. The same input again is the same call, except for commands: their name includes the
process group (Gemini) or the output (Copilot).
"""

from __future__ import annotations

from .fast_primitives import encode_hook_json, parse_hook_json, sha256

TYPE_CHECKING = False  # importing typing takes longer than these modules
if TYPE_CHECKING:
    from typing import Any

GROUP = "Process Group PGID: "
"""Text before the process group's number in a command's result."""

COPILOTS = {
    "bash": "Bash",
    "powershell": "Bash",
    "view": "Read",
    "create": "Write",
    "edit": "Edit",
    "str_replace_editor": "Edit",
    "apply_patch": "Edit",
    "grep": "Grep",
    "rg": "Grep",
    "glob": "Glob",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "ask_user": "AskUserQuestion",
    "update_todo": "TodoWrite",
    "task": "Agent",
}
"""Copilot CLI's tools by their names in transcripts, with their names in hooks since 1.0.62."""
_RUN = "Bash"
_SHOWN_MAX = 4000
_SPILLED = "Output too large to read at once"
"""Prefix of the text that replaces a long output; a hook may have seen the whole output."""
_PATCHED = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")
_FILES_MAX = 100
_VSCODES = "__vscode-"
"""Separates the model's name of a call from VS Code's own number."""


def make_gemini_call_id(tool: str, arguments: Any, shown: Any) -> str:
    """Return the name of a call by its tool, its input and the result shown to the model."""
    content = encode_hook_json(
        [tool, _sort_tool_input(arguments), _parse_process_group(extract_tool_result_text(shown))]
    )
    return f"content-{sha256(content).hexdigest()[:32]}"


def make_copilot_call_id(tool: str, arguments: Any, shown: str | None) -> str:
    """Return the name of a call of Copilot CLI; ``shown`` is the result of a successful call."""
    plain = COPILOTS.get(tool, tool)
    value = shown if shown and plain == _RUN and len(shown) <= _SHOWN_MAX and not shown.startswith(_SPILLED) else ""
    content = encode_hook_json([plain, _sort_tool_input(parse_copilot_input(arguments)), value])
    return f"content-{sha256(content).hexdigest()[:32]}"


def parse_copilot_input(value: Any) -> Any:
    """Return a call's input as an object, which some versions wrap in a text."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    try:
        return parse_hook_json(value)
    except (ValueError, RecursionError):
        return value  # a patch, or plain text


def find_copilot_call_id(event: str, fields: dict[str, Any]) -> str | None:
    """Return the name of the call of a Copilot CLI hook; None if it has none, or not yet.

    A command's name includes its output, so it has no name before it ends.
    """
    tool = fields.get("tool_name") or fields.get("toolName")
    phase = event[:1].lower() + event[1:]
    if not isinstance(tool, str) or phase not in ("preToolUse", "postToolUse", "postToolUseFailure"):
        return None
    if phase == "preToolUse" and COPILOTS.get(tool, tool) == _RUN:
        return None
    return make_copilot_call_id(tool, fields.get("tool_input", fields.get("toolArgs")), extract_copilot_output(fields))


def extract_copilot_output(fields: dict[str, Any]) -> str | None:
    """Return the result of a successful call, in either of the hooks' shapes."""
    answer = fields.get("tool_result") or fields.get("toolResult")
    if not isinstance(answer, dict) or (answer.get("result_type") or answer.get("resultType")) != "success":
        return None
    value = answer.get("text_result_for_llm") or answer.get("textResultForLlm")
    return value if isinstance(value, str) else None


def list_copilot_edited_files(fields: dict[str, Any]) -> list[str]:
    """Return the files that a call of an editing tool names in its input, in VS Code or in the CLI."""
    arguments = parse_copilot_input(fields.get("tool_input", fields.get("toolArgs")))
    patch = arguments if isinstance(arguments, str) else ""
    inputs = [arguments] if isinstance(arguments, dict) else []
    for tool_input in list(inputs):
        patch = tool_input["input"] if isinstance(tool_input.get("input"), str) else patch
        several = tool_input.get("replacements")
        inputs += (
            [replacement for replacement in several if isinstance(replacement, dict)]
            if isinstance(several, list)
            else []
        )
    names = [tool_input.get(name) for tool_input in inputs for name in ("path", "filePath", "file_path")]
    names += [line.partition(": ")[2].strip() for line in patch.split("\n") if line.startswith(_PATCHED)]
    return [name for name in names if isinstance(name, str) and name][:_FILES_MAX]


def strip_tool_call_number(call: str) -> str:
    """Return a call's name as the model gave it, without VS Code's number."""
    return call.partition(_VSCODES)[0] or call


def extract_tool_result_text(shown: Any) -> str:
    """Return the result shown to the model as text: from a text, a part, or a list of them."""
    if isinstance(shown, str):
        return shown
    if isinstance(shown, list):
        return "\n".join(text for text in map(extract_tool_result_text, shown) if text)
    if not isinstance(shown, dict):
        return ""
    answer = shown.get("functionResponse")
    if isinstance(answer, dict) and isinstance(answer.get("response"), dict):
        value = answer["response"]
        return extract_tool_result_text(value.get("output") or value.get("error"))
    return extract_tool_result_text(shown.get("text") or shown.get("message"))


def _parse_process_group(text: str) -> str:
    rest = text.rpartition(GROUP)[2] if GROUP in text else ""
    return rest[: next((n for n, character in enumerate(rest) if character not in "0123456789"), len(rest))]


def _sort_tool_input(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sort_tool_input(value[key]) for key in sorted(value)}
    return [_sort_tool_input(item) for item in value] if isinstance(value, list) else value
