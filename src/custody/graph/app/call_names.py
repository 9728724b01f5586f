"""What the name of a call depends on, and nothing more of what it was given."""

from dataclasses import replace

from custody.core.views import ObservedSpan, ToolCall, View
from custody.graph.names import SHELLS, CallInput, fine_name

COMMAND_ATTRIBUTES = frozenset(("about", "command"))


def shorten_command(view: View) -> View:
    """Return the view with a command replaced by the few words of it that a call goes by."""
    if isinstance(view, ToolCall) and view.about is not None:
        return replace(view, about=_short(view.name, view.about))
    if isinstance(view, ObservedSpan):
        kept = (
            (name, _short(view.name, value) if name in COMMAND_ATTRIBUTES and isinstance(value, str) else value)
            for name, value in view.attributes
        )
        return replace(view, attributes=tuple(kept))
    return view


def _short(tool: str, about: str) -> str:
    """What a call's name depends on: a path or a subagent's type as it is, of a command program and sub-command.

    >>> _short("Bash", "cd x && git commit -m 'a secret'"), _short("Read", "a/b.py"), _short("Bash", "python -m pip x")
    ('git commit', 'a/b.py', 'python -m pip')
    """
    if tool.rpartition(":")[2].casefold() not in SHELLS:
        return about if fine_name(tool, CallInput(path=about, subagent=about)) != tool or "\n" not in about else ""
    program, *rest = fine_name(tool, CallInput(command=about)).removeprefix(tool).split() or [""]
    return " ".join((program, "-m", *rest) if program == "python" and rest else (program, *rest))
