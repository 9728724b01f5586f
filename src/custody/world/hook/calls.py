"""A name for a call that its agent does not name: what it was given, and the process group that a command ran in.

Gemini CLI's hooks do not say which call they speak of, its chats do. Both have the same input, so that the same call
gets the same name here and there, whichever is read first. The same input again, outside a shell, is the same call.
"""

from __future__ import annotations

from .quick import encoded, sha256

TYPE_CHECKING = False  # the module for it takes longer to import than all of these
if TYPE_CHECKING:
    from typing import Any

GROUP = "Process Group PGID: "
"""What stands before the number in what a command's end tells the model."""


def call_of(tool: str, given: Any, shown: Any) -> str:
    """The name of a call by its tool, its input and what the model was shown of its end."""
    said = encoded([tool, _ordered(given), _group(words_of(shown))])
    return f"content-{sha256(said).hexdigest()[:32]}"


def words_of(shown: Any) -> str:
    """What the model was shown, as text: a text, a part, or a list of them, as hooks and chats have them."""
    if isinstance(shown, str):
        return shown
    if isinstance(shown, list):
        return "\n".join(words for words in map(words_of, shown) if words)
    if not isinstance(shown, dict):
        return ""
    answer = shown.get("functionResponse")
    if isinstance(answer, dict) and isinstance(answer.get("response"), dict):
        said = answer["response"]
        return words_of(said.get("output") or said.get("error"))
    return words_of(shown.get("text") or shown.get("message"))


def _group(words: str) -> str:
    rest = words.rpartition(GROUP)[2] if GROUP in words else ""
    return rest[: next((n for n, sign in enumerate(rest) if sign not in "0123456789"), len(rest))]


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value
