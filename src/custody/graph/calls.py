"""Calls in the order in which a session made them: what the sequence model reads."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from custody.graph.model import CallSpan, Kind, Plain, Status

# Fine names of calls, since the plain name of a tool says little about what comes next.
# A shell command goes by its program and sub-command, a file tool by the file's extension, a subagent by its type.


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
_AROUND = frozenset({"sudo", "time", "nohup", "env", "command", "exec", "timeout", "xargs", "nice", "stdbuf", "then"})
_PASSED_OVER = frozenset({"cd", "export", "set", "source", ".", "pushd", "popd", "true", "echo"})
_PYTHONS = re.compile(r"python[0-9.]*$|py$")
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PARTS = re.compile(r"&&|\|\||;|\||\n")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.:+-]*$")
_EXTENSION = re.compile(r"(?<=[^/\\])\.[A-Za-z0-9_+-]{1,12}$")
COMMAND_SIGNS_MAX = 4096
"""A longer command is read so far: what it does stands at its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallInput:
    """What a call was given, as far as its name depends on it."""

    command: str | None = None
    path: str | None = None
    subagent: str | None = None


def fine_name(tool: str, given: CallInput) -> str:
    """A call's name as the sequence model counts it; the tool's own where nothing finer is known.

    >>> fine_name("Bash", CallInput(command="cd a && A=1 git commit -m 'x'")), fine_name("Read", CallInput(path="a.py"))
    ('Bash git commit', 'Read .py')
    >>> fine_name("Task", CallInput(subagent="reviewer")), fine_name("Read", CallInput(path="LICENSE"))
    ('Task reviewer', 'Read')
    """
    own = tool.rpartition(":")[2].casefold()
    if own in SHELLS and given.command is not None:
        return " ".join((tool, *_command(given.command)))
    if own in _FILES and given.path is not None and (found := _EXTENSION.search(given.path)):
        return f"{tool} {found.group().lower()}"
    if own in _SUBAGENTS and given.subagent:
        return f"{tool} {given.subagent}"
    return tool


def _command(command: str) -> tuple[str, ...]:
    """Program and sub-command of the first part that does something; of the last one if none does."""
    parts = [words for part in _PARTS.split(command[:COMMAND_SIGNS_MAX]) if (words := _split_command(part))]
    doing = (words for words in parts if words[0] not in _PASSED_OVER)
    words = next(doing, parts[-1] if parts else [])
    return _shown(words)


def _split_command(part: str) -> list[str]:
    """The words of one command from its program on, without variables, options and what stands around it."""
    words = part.split()
    while words and (_ASSIGNED.match(words[0]) or words[0] in _AROUND or words[0][0] in "-({0123456789"):
        words.pop(0)
    return words


def _shown(words: list[str]) -> tuple[str, ...]:
    if not words:
        return ()
    program = words[0].rpartition("/")[2].strip("\"'`)")
    if _PYTHONS.match(program):
        return "python", *_module(words)
    if program in _WITH_COMMANDS:
        return program, *_first_plain(words[1:])
    return (program,) if program else ()


def _module(words: list[str]) -> Iterator[str]:
    """A module that is run is what counts; a script or a line of code is just Python."""
    for before, word in pairwise(words):
        if before == "-m" and _PLAIN.match(word):
            yield word
            return


def _first_plain(words: list[str]) -> Iterator[str]:
    """The first word that is neither an option nor the value of one that takes a folder."""
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


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Where a call is made: inside which span, and of which node that is."""

    inside: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True)
class SequenceCall:
    """One call: its name, its node, where it was made, how it came out, on which file, in which message, its span."""

    name: str
    node: str
    place: CallPlace = CallPlace()
    failed: bool = False
    file: str | None = None
    message: str | None = None
    span: str = ""


def calls_of(spans: Iterable[CallSpan], *, fine: bool = True) -> dict[str, list[SequenceCall]]:
    """The calls of each session, the first begun first; what has no session goes by its execution."""
    spans = list(spans)
    by_id = {(span.execution, span.id): span for span in spans}
    sessions: dict[str, list[SequenceCall]] = {}
    for span in sorted(spans, key=_make_order_key):
        if span.kind in CALLED:
            above = None if span.parent is None else by_id.get((span.execution, span.parent))
            place = CallPlace() if above is None else CallPlace(f"{above.execution}:{above.id}", above.node)
            sessions.setdefault(span.session or span.execution, []).append(_call(span, place, fine=fine))
    return sessions


def _make_order_key(span: CallSpan) -> tuple[bool, int, int]:
    """By time, and by the place among the records where one has none."""
    at_ns = span.end_ns if span.start_ns is None else span.start_ns
    return at_ns is None, at_ns or 0, span.first


def _call(span: CallSpan, place: CallPlace, *, fine: bool) -> SequenceCall:
    told = span.attributes
    about = _text(told, "about")  # which of the three it is, the name of the tool tells
    path = _text(told, "file", "file_path", "path", "notebook_path")
    given = CallInput(
        command=_text(told, "command") or about,
        path=path or about,
        subagent=_text(told, "subagent_type", "agent_type") or about,
    )
    name = fine_name(span.name, given) if fine else span.name
    return SequenceCall(name, span.node, place, span.status is Status.FAILED, path, _text(told, "message"), span.id)


def _text(told: Mapping[str, Plain], *keys: str) -> str | None:
    found = next((told[key] for key in keys if key in told), None)
    return found if isinstance(found, str) else None
