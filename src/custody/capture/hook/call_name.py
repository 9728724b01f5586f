"""A name for a call that its agent does not name: what it was given, and for a command what is its own.

Hooks of Gemini CLI and of Copilot CLI do not say which call they speak of, their transcripts do. Both have the same
input, so that the same call gets the same name here and there, whichever is read first. The same input again, outside
a shell, is the same call. Of a command also the process group counts (Gemini), or what it printed (Copilot).
"""

from __future__ import annotations

from .fast_primitives import encode_json, parse, sha256

TYPE_CHECKING = False  # the module for it takes longer to import than all of these
if TYPE_CHECKING:
    from typing import Any

GROUP = "Process Group PGID: "
"""What stands before the number in what a command's end tells the model."""

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
"""Copilot CLI's tools as its transcripts name them, and as its hooks have named them since 1.0.62."""
_RUN = "Bash"
_SHOWN_MAX = 4000
_SPILLED = "Output too large to read at once"
"""How words begin that stand for a long output, which a hook may have seen whole."""
_PATCHED = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")
_FILES_MAX = 100
_VSCODES = "__vscode-"
"""What VS Code puts between the name that the model gave to a call and a number of its own."""


def call_of(tool: str, given: Any, shown: Any) -> str:
    """The name of a call by its tool, its input and what the model was shown of its end."""
    said = encode_json([tool, _ordered(given), _group(extract_result_text(shown))])
    return f"content-{sha256(said).hexdigest()[:32]}"


def copilot_call(tool: str, given: Any, shown: str | None) -> str:
    """The name of a call of Copilot CLI; ``shown`` is what a command that went well told the model."""
    plain = COPILOTS.get(tool, tool)
    told = shown if shown and plain == _RUN and len(shown) <= _SHOWN_MAX and not shown.startswith(_SPILLED) else ""
    return f"content-{sha256(encode_json([plain, _ordered(copilot_given(given)), told])).hexdigest()[:32]}"


def copilot_given(said: Any) -> Any:
    """What a call was given: an object, though some versions wrap it into a text."""
    if not isinstance(said, str) or not said.lstrip().startswith("{"):
        return said
    try:
        return parse(said)
    except (ValueError, RecursionError):
        return said  # a patch, or words


def copilot_call_in(event: str, fields: dict[str, Any]) -> str | None:
    """The name of the call that a hook of Copilot CLI speaks of; None where it names none, or where that is too early.

    A command is named by what it printed too, so that it has no name before it has ended.
    """
    tool = fields.get("tool_name") or fields.get("toolName")
    phase = event[:1].lower() + event[1:]
    if not isinstance(tool, str) or phase not in ("preToolUse", "postToolUse", "postToolUseFailure"):
        return None
    if phase == "preToolUse" and COPILOTS.get(tool, tool) == _RUN:
        return None
    return copilot_call(tool, fields.get("tool_input", fields.get("toolArgs")), copilot_shown(fields))


def copilot_shown(fields: dict[str, Any]) -> str | None:
    """What a call that went well told the model, in either of the hooks' shapes."""
    answer = fields.get("tool_result") or fields.get("toolResult")
    if not isinstance(answer, dict) or (answer.get("result_type") or answer.get("resultType")) != "success":
        return None
    said = answer.get("text_result_for_llm") or answer.get("textResultForLlm")
    return said if isinstance(said, str) else None


def copilot_files(fields: dict[str, Any]) -> list[str]:
    """The files that a call of an editing tool names in what it is given, in VS Code or in the CLI."""
    given = copilot_given(fields.get("tool_input", fields.get("toolArgs")))
    patch = given if isinstance(given, str) else ""
    inputs = [given] if isinstance(given, dict) else []
    for tool_input in list(inputs):
        patch = tool_input["input"] if isinstance(tool_input.get("input"), str) else patch
        several = tool_input.get("replacements")
        inputs += (
            [replacement for replacement in several if isinstance(replacement, dict)]
            if isinstance(several, list)
            else []
        )
    named = [tool_input.get(name) for tool_input in inputs for name in ("path", "filePath", "file_path")]
    named += [line.partition(": ")[2].strip() for line in patch.split("\n") if line.startswith(_PATCHED)]
    return [name for name in named if isinstance(name, str) and name][:_FILES_MAX]


def strip_call_number(call: str) -> str:
    """A call's name as the model gave it, without the number that VS Code puts behind it."""
    return call.partition(_VSCODES)[0] or call


def extract_result_text(shown: Any) -> str:
    """What the model was shown, as text: a text, a part, or a list of them, as hooks and chats have them."""
    if isinstance(shown, str):
        return shown
    if isinstance(shown, list):
        return "\n".join(words for words in map(extract_result_text, shown) if words)
    if not isinstance(shown, dict):
        return ""
    answer = shown.get("functionResponse")
    if isinstance(answer, dict) and isinstance(answer.get("response"), dict):
        said = answer["response"]
        return extract_result_text(said.get("output") or said.get("error"))
    return extract_result_text(shown.get("text") or shown.get("message"))


def _group(words: str) -> str:
    rest = words.rpartition(GROUP)[2] if GROUP in words else ""
    return rest[: next((n for n, sign in enumerate(rest) if sign not in "0123456789"), len(rest))]


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value
