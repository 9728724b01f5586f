"""Calls in the order in which a session made them: the input of the sequence model."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from msgspec import Struct

from custody.core.patterns import lazy_pattern
from custody.graph.model import CallSpan, Kind, Plain, Status

# Detailed names of calls, since the plain name of a tool says little about what comes next.
# A shell command is named by its program and subcommand, a file tool by the file's extension, a subagent by its type.


SHELLS = frozenset({"bash", "shell", "sh", "terminal", "run_terminal_cmd", "execute_command", "local_shell", "exec"})
_FILES = frozenset(
    {"read", "edit", "multiedit", "write", "notebookedit", "create", "str_replace", "read_file", "write_file"}
)
_SUBAGENTS = frozenset({"task", "agent", "spawn_agent", "subagent"})
_WITH_COMMANDS = frozenset(
    {
        *("git", "gh", "glab", "hg", "svn", "jj", "docker", "podman", "kubectl", "helm", "terraform", "aws", "gcloud"),
        *("npm", "pnpm", "yarn", "npx", "bun", "deno", "cargo", "rustup", "go", "dotnet", "mvn", "gradle", "make"),
        *("pip", "pip3", "uv", "uvx", "poetry", "pdm", "conda", "brew", "apt", "apt-get", "systemctl", "bundle"),
    }
)
_WRAPPERS = frozenset({"sudo", "time", "nohup", "env", "command", "exec", "timeout", "xargs", "nice", "stdbuf", "then"})
_SKIPPED = frozenset({"cd", "export", "set", "source", ".", "pushd", "popd", "true", "echo"})
_PYTHONS = lazy_pattern(r"python[0-9.]*$|py$")
_ASSIGNED = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*=")
_PARTS = lazy_pattern(r"&&|\|\||;|\||\n")
_PLAIN = lazy_pattern(r"[A-Za-z][A-Za-z0-9_.:+-]*$")
_EXTENSION = lazy_pattern(r"(?<=[^/\\])\.[A-Za-z0-9_+-]{1,12}$")
COMMAND_CHARS_MAX = 4096
"""Only the start of a longer command is read."""


class CallInput(Struct, frozen=True, kw_only=True):
    """The part of a call's input that its name depends on."""

    command: str | None = None
    path: str | None = None
    subagent: str | None = None


def refine_call_name(tool: str, call_input: CallInput) -> str:
    """Return a call's name as the sequence model counts it; by default the tool's name.

    >>> refine_call_name("Bash", CallInput(command="cd a && A=1 git commit -m 'x'"))
    'Bash git commit'
    >>> refine_call_name("Read", CallInput(path="a.py"))
    'Read .py'
    >>> refine_call_name("Task", CallInput(subagent="reviewer")), refine_call_name("Read", CallInput(path="LICENSE"))
    ('Task reviewer', 'Read')
    """
    own = tool.rpartition(":")[2].casefold()
    if own in SHELLS and call_input.command is not None:
        return " ".join((tool, *_call_name_from_command(call_input.command)))
    if own in _FILES and call_input.path is not None and (extension := _EXTENSION.search(call_input.path)):
        return f"{tool} {extension.group().lower()}"
    if own in _SUBAGENTS and call_input.subagent:
        return f"{tool} {call_input.subagent}"
    return tool


def _call_name_from_command(command: str) -> tuple[str, ...]:
    """Return the program and subcommand of the first command that is not skipped, such as ``cd``; else of the last."""
    parts = [words for part in _PARTS.split(command[:COMMAND_CHARS_MAX]) if (words := _split_call_command(part))]
    active = (words for words in parts if words[0] not in _SKIPPED)
    words = next(active, parts[-1] if parts else [])
    return _select_call_name_parts(words)


def _split_call_command(part: str) -> list[str]:
    """Return the words of one command from its program on, without variables, options and wrappers."""
    words = part.split()
    while words and (_ASSIGNED.match(words[0]) or words[0] in _WRAPPERS or words[0][0] in "-({0123456789"):
        words.pop(0)
    return words


def _select_call_name_parts(words: list[str]) -> tuple[str, ...]:
    if not words:
        return ()
    program = words[0].rpartition("/")[2].strip("\"'`)")
    if _PYTHONS.match(program):
        return "python", *_find_called_module(words)
    if program in _WITH_COMMANDS:
        return program, *_find_called_subcommand(words[1:])
    return (program,) if program else ()


def _find_called_module(words: list[str]) -> Iterator[str]:
    """Yield the module that is run, if any; a script or a line of code is just Python."""
    for before, word in pairwise(words):
        if before == "-m" and _PLAIN.match(word):
            yield word
            return


def _find_called_subcommand(words: list[str]) -> Iterator[str]:
    """Yield the first word that is neither an option nor the value of an option that takes a folder."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in {"-C", "--git-dir", "--work-tree", "-c", "--prefix", "--cwd", "--directory"}:
            skip = True
        elif not word.startswith("-"):
            if _PLAIN.match(word):
                yield word
            return


CALLED = frozenset({Kind.TOOL, Kind.CAPABILITY, Kind.AGENT, Kind.RETRIEVAL})
"""Kinds of spans that an agent decides to make."""


class CallPlace(Struct, frozen=True):
    """Where a call is made: the span around it, and that span's node."""

    inside: str = ""
    node: str = ""


class SequenceCall(Struct, frozen=True):
    """One call: its name, node, place, outcome, file, message and span."""

    name: str
    node: str
    place: CallPlace = CallPlace()
    failed: bool = False
    file: str | None = None
    message: str | None = None
    span: str = ""


def calls_from_spans(spans: Iterable[CallSpan], *, detailed: bool = True) -> dict[str, list[SequenceCall]]:
    """Return the calls of each session by start; calls without a session are grouped by execution."""
    spans = list(spans)
    by_id = {(span.execution, span.id): span for span in spans}
    sessions: dict[str, list[SequenceCall]] = {}
    for span in sorted(spans, key=_make_span_order_key):
        if span.kind in CALLED:
            above = None if span.parent is None else by_id.get((span.execution, span.parent))
            place = CallPlace() if above is None else CallPlace(f"{above.execution}:{above.id}", above.node)
            sessions.setdefault(span.session or span.execution, []).append(
                _call_from_span(span, place, detailed=detailed)
            )
    return sessions


def _make_span_order_key(span: CallSpan) -> tuple[bool, int, int]:
    """Order by time, else by the position of the first record."""
    at_ns = span.end_ns if span.start_ns is None else span.start_ns
    return at_ns is None, at_ns or 0, span.first


def _call_from_span(span: CallSpan, place: CallPlace, *, detailed: bool) -> SequenceCall:
    attributes = span.attributes
    about = _find_call_attribute(attributes, "about")  # the tool's name decides which of the three it is
    path = _find_call_attribute(attributes, "file", "file_path", "path", "notebook_path")
    call_input = CallInput(
        command=_find_call_attribute(attributes, "command") or about,
        path=path or about,
        subagent=_find_call_attribute(attributes, "subagent_type", "agent_type") or about,
    )
    name = refine_call_name(span.name, call_input) if detailed else span.name
    return SequenceCall(
        name, span.node, place, span.status is Status.FAILED, path, _find_call_attribute(attributes, "message"), span.id
    )


def _find_call_attribute(attributes: Mapping[str, Plain], *keys: str) -> str | None:
    value = next((attributes[key] for key in keys if key in attributes), None)
    return value if isinstance(value, str) else None
