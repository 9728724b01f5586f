"""What a finished call of one of Copilot's tools says, whether VS Code or the CLI made it and whoever told of it.

Shapes: for VS Code ``package.json`` and ``src/extension/tools`` of microsoft/vscode-copilot-chat at 31acd00a (0.42 of
March 2026), for the CLI ``app.js`` of @github/copilot 1.0.62 (June 2026), the hooks reference of github/docs (autumn
2026), and what 1.0.102 (November 2026) kept and told. The CLI's hooks give its tools the names that Claude Code has for
them (``calls.COPILOTS``), its transcripts the tools' own: here both have the first. No tool says what was in a file
before it: an edit is the piece that it replaces, and what was seen on disk around it says more.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.command_facts import ToolOutput, add_git_facts, commits_in, find_written_files
from custody.capture.hook.call_name import COPILOTS, copilot_given
from custody.capture.patch import BEGIN, PatchedFile, PatchHunk, PatchKind, changes_in, effects_of
from custody.capture.source_use import (
    LISTED_MAX,
    MATCHES_MAX,
    as_printed,
    code_in,
    file_use,
    match_uses,
    page_use,
    search_uses,
    server_uses,
    shell_uses,
    shown_text,
)
from custody.capture.tool_use import SourceUse, ToolUse
from custody.capture.typed_field import Fields, fields, first_string, get_string, items, text
from custody.core.views import Reading
from custody.core.wire.event_views import about_of

# Which sources a call of one of Copilot's tools opened, listed or tried to open, and how each was read.
# What a tool shows of a file has numbers or words of its own in it, so that it is not kept as the file's text.


SERVERS = "mcp_"
"""How the names of servers' tools begin in VS Code."""
PATHS = ("path", "filePath", "file_path")
PARTS = ("view_range", "startLine", "endLine", "offset", "limit")
"""What a call says that reads some of a file's lines."""

_LINES = re.compile(r"Lines (\d{1,9}) to (\d{1,9}) \((\d{1,9}) lines total\)")
_MATCH = re.compile(r'<match path="([^"\n]+)"')
_LINK = re.compile(r"\[(?P<title>[^\]\n]*)\]\((?P<url>https?://[^\s()]+)\)")


def opened(use: ToolUse, folder: str | None) -> Iterator[SourceUse | None]:
    """The sources that a call opened, listed or tried to open; ``folder`` is where the agent works."""
    read = SOURCES.get(use.tool)
    if read is not None:
        yield from (source if source and not _is_folder(source.locator, folder) else None for source in read(use))
    elif use.tool.startswith(SERVERS):
        shown = shown_text(use.answer, use.words)
        yield from server_uses(use.tool, use.input, shown, failed=use.failed, error=use.words)


def _is_folder(name: str, folder: str | None) -> bool:
    """Whether a name is that of the folder in which the agent works, or of one above it: a list of files, no source."""
    return folder is not None and f"{folder}/".startswith(f"{name.rstrip('/')}/")


def _file(use: ToolUse) -> Iterator[SourceUse]:
    path = first_string(use.input, PATHS)
    shown = _LINES.search(use.words[:1000])
    whole = all(use.input.get(key) is None for key in PARTS)
    if shown is not None:
        first, last, total = map(int, shown.groups())
        whole = last - first + 1 >= total
    yield from file_use(path, None, whole=whole, failed=use.failed)


def _edited(use: ToolUse) -> Iterator[SourceUse]:
    """The editor of older versions also shows files."""
    if use.input.get("command") == "view":
        yield from _file(use)


def _pages(use: ToolUse) -> Iterator[SourceUse]:
    """The pages that were asked for; what came of them was picked or cut."""
    given = [use.input.get("url"), *items(use.input.get("urls"))]
    urls = list(dict.fromkeys(url for url in given if isinstance(url, str)))[:LISTED_MAX]
    content = text(use.words or None) if len(urls) == 1 else None
    code = code_in(use.words) if use.failed else None
    yield from (page_use(url, Reading.EXCERPT, content, code=code, failed=use.failed) for url in urls)


def _search(use: ToolUse) -> Iterator[SourceUse | None]:
    hits = [match.groupdict() for match in islice(_LINK.finditer(use.words), LISTED_MAX)]
    yield from search_uses(hits, use.words, failed=use.failed)


def _grep(use: ToolUse) -> Iterator[SourceUse | None]:
    names = (match[1] for match in islice(_MATCH.finditer(use.words), MATCHES_MAX))
    yield from match_uses(as_printed(names) or use.words, get_string(use.input.get("path")), failed=use.failed)


SOURCES: Mapping[str, Callable[[ToolUse], Iterator[SourceUse | None]]] = MappingProxyType(
    {
        "Read": _file,
        "read_file": _file,
        "Edit": _edited,
        "WebFetch": _pages,
        "fetch_webpage": _pages,
        "WebSearch": _search,
        "Grep": _grep,
        "grep_search": _grep,
    }
)


BASH = "Bash"
SHELLS = frozenset((BASH, "run_in_terminal"))
OLD = ("old_str", "oldString", "old_string")
NEW = ("new_str", "newString", "new_string")
WHOLE = ("file_text", "content")
PATCH = ("input", "patch")
SUBAGENTS = frozenset(("Agent", "Task", "runSubagent"))
CONTRIBUTED: Mapping[str, str] = MappingProxyType(
    {
        "copilot_applyPatch": "apply_patch",
        "copilot_createFile": "create_file",
        "copilot_insertEdit": "insert_edit_into_file",
        "copilot_replaceString": "replace_string_in_file",
        "copilot_multiReplaceString": "multi_replace_string_in_file",
        "copilot_editNotebook": "edit_notebook_file",
        "copilot_readFile": "read_file",
        "copilot_findTextInFiles": "grep_search",
        "copilot_fetchWebPage": "fetch_webpage",
    }
)
"""Names under which VS Code shows the tools that a model knows by others."""

_CODE = re.compile(
    r"<(?:command with \S+ \S+ |shellId: \S+ )?(?:exited|completed) with exit code (-?\d{1,9})>"
    r"|^Command exited with code (-?\d{1,9})",
    re.MULTILINE,
)
_GOES_ON = re.compile(r"<command (?:started in background with|with shellId: \S+ is still running)")
_ERROR = ("ERROR while calling tool", "ERROR: ")
NOTICE = re.compile(r"\s*<system_notification>.*</system_notification>\s*", re.DOTALL)
"""What the CLI puts into its own prompt, for example when a command in the background has ended."""


def plain(tool: str) -> str:
    """The name of a tool as custody keeps it.

    >>> plain("bash"), plain("str_replace_editor"), plain("copilot_replaceString"), plain("runSubagent")
    ('Bash', 'Edit', 'replace_string_in_file', 'runSubagent')
    """
    return CONTRIBUTED.get(tool) or COPILOTS.get(tool, tool)


def parse_call_input(said: object) -> Fields:
    """What a call was given, as an object; a patch alone is its ``input``."""
    given = copilot_given(said)
    return {"input": given} if isinstance(given, str) else fields(given)


def about(tool: str, given: Fields) -> str | None:
    """What a finer name of a call depends on: a command, a file, a subagent's type."""
    said = {name: value for name, value in given.items() if name != "command" or tool in SHELLS}
    return about_of({**said, "path": _first(given, PATHS)})


def answer_of(words: str, given: Fields, *, failed: bool = False) -> ToolOutput:
    """What a call gave back; of a command also how it ended.

    >>> answer = answer_of("no such file <exited with exit code 2>", {})
    >>> answer.words, answer.code
    ('no such file ', 2)
    """
    found = list(_CODE.finditer(words))
    code = int(found[-1][1] or found[-1][2]) if found else None
    behind = given.get("isBackground") is True or given.get("mode") == "async" or given.get("detach") is True
    behind = behind or _GOES_ON.search(words) is not None
    if failed and code in (None, 0):
        code = 1
    return ToolOutput(words[: found[-1].start()] if found else words, code, behind and code is None)


def went_wrong(tool: str, words: str, given: Fields) -> bool:
    """Whether a command that was run to its end says that it failed."""
    return tool in SHELLS and answer_of(words, given).failed


def with_code(words: str, code: object) -> str:
    """What a command gave back with how it ended, where that is told beside its words and not in them."""
    known = isinstance(code, int) and not isinstance(code, bool)
    return words if not known or _CODE.search(words) else f"{words}\n<exited with exit code {code}>"


def is_error(words: str) -> bool:
    """Whether what a model was shown says that the call went wrong: chats do not say it otherwise."""
    return words.startswith(_ERROR)


def add_effects(use: ToolUse, folder: str | None, *, with_writes: bool = False) -> ToolUse:
    """The call with what it opened and changed; ``folder`` is where a command was run.

    ``with_writes``: no snapshots were taken around a command, so that its own text tells what it wrote.
    """
    answer = answer_of(use.words, use.input, failed=use.failed)
    command = get_string(use.input.get("command"))
    use = replace(
        use,
        opened=tuple(_opened(use, answer, folder)),
        changes=() if use.failed else effects_of(changes_by(use.tool, use.input)),
        writes=find_written_files(command, answer) if with_writes and use.tool in SHELLS else (),
    )
    return add_git_facts(use, command, answer)


def _opened(use: ToolUse, answer: ToolOutput, folder: str | None) -> Iterator[SourceUse | None]:
    if use.tool in SHELLS:
        command = get_string(use.input.get("command"))
        yield from shell_uses(command, answer, folder, failed=answer.failed, error=answer.words)
    else:
        yield from opened(use, folder)


def names_of(tool: str, given: Fields, answer: ToolOutput) -> list[str]:
    """The files that a call changed, as it wrote them."""
    found = (
        [] if answer.failed and tool not in SHELLS else [n for change in changes_by(tool, given) for n in change.names]
    )
    if tool in SHELLS:
        found += [write.path for write in find_written_files(get_string(given.get("command")), answer)]
    return list(dict.fromkeys(found))


def commits_by(tool: str, given: Fields, answer: ToolOutput) -> list[str]:
    """The commits, mostly abbreviated, that git said a command had made."""
    return commits_in(get_string(given.get("command")), answer) if tool in SHELLS else []


# --- edits ------------------------------------------------------------------------------------------------------------


def changes_by(tool: str, given: Fields) -> tuple[PatchedFile, ...]:
    """The changes that a call asks for by its own input."""
    patch = _first(given, PATCH)
    if tool in ("Edit", "apply_patch") and isinstance(patch, str) and BEGIN in patch:
        return changes_in(patch)
    if tool == "multi_replace_string_in_file":
        return tuple(
            patched_file
            for replacement in map(fields, items(given.get("replacements")))
            for patched_file in _replaced(replacement)
        )
    command = given.get("command") if tool == "Edit" else None
    change = _COMMANDS.get(str(command)) or CHANGES.get(tool)
    return () if change is None else change(given)


def _created(given: Fields) -> tuple[PatchedFile, ...]:
    path, whole = get_string(_first(given, PATHS)), text(_first(given, WHOLE))
    return () if path is None or whole is None else (PatchedFile(path=path, kind=PatchKind.ADD, after=whole),)


def _replaced(given: Fields) -> tuple[PatchedFile, ...]:
    path, old, new = get_string(_first(given, PATHS)), text(_first(given, OLD)), text(_first(given, NEW))
    if path is None or old is None or new is None:
        return ()
    if old.content == "":
        # A replacement of nothing makes the file.
        return (PatchedFile(path=path, kind=PatchKind.ADD, after=new),)
    if old.content is None or new.content is None:
        return (PatchedFile(path=path, kind=PatchKind.UPDATE, untold=old if old.content is None else new),)
    return (PatchedFile(path=path, kind=PatchKind.UPDATE, pieces=(PatchHunk(old.content, new.content),)),)


def _inserted(given: Fields) -> tuple[PatchedFile, ...]:
    path, new = get_string(_first(given, PATHS)), get_string(_first(given, (*NEW, "insert_text")))
    return (
        ()
        if path is None or not new
        else (PatchedFile(path=path, kind=PatchKind.UPDATE, pieces=(PatchHunk("", new),)),)
    )


def _nothing(_given: Fields) -> tuple[PatchedFile, ...]:
    return ()


def _first(given: Fields, names: tuple[str, ...]) -> object:
    return next((given[name] for name in names if given.get(name) is not None), None)


CHANGES: Mapping[str, Callable[[Fields], tuple[PatchedFile, ...]]] = MappingProxyType(
    {
        "Write": _created,
        "create_file": _created,
        "Edit": _replaced,
        "str_replace": _replaced,
        "replace_string_in_file": _replaced,
    }
)
_COMMANDS: Mapping[str, Callable[[Fields], tuple[PatchedFile, ...]]] = MappingProxyType(
    {"view": _nothing, "create": _created, "insert": _inserted}
)
"""What ``str_replace_editor`` does, where that is no replacement."""
HINTED = frozenset(("insert_edit_into_file", "edit_notebook_file"))
"""Tools whose input only hints at what they change: that is seen on disk, or told by a chat."""
EDITING = frozenset((*CHANGES, *HINTED, "apply_patch", "multi_replace_string_in_file"))
