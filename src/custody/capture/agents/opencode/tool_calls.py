"""What a finished call of one of opencode's tools says: files changed, files written by commands, commits made.

Plugins and stored sessions give the same input and the same metadata of a call, so both are read here, and here only.
Shapes are those of ``packages/opencode/src/tool``: 0.9.0 of September 2025 (an edit told by a diff), 1.0 of November
2025 to March 2026 (the whole file before and after, in ``filediff`` and in the files of a patch), and d545d8fb, 1.18.18
of August 2026 (a diff again); those of 2.0.12 to 2.0.26 (autumn of 2026) are ``packages/core/src/tool/plugin``, where a
file is a ``path``, a command is run by ``shell``, and ``files`` have the diffs. opencode takes the indentation that all
lines share out of a diff: its lines are known by their words. An edit has the id of one that was read out of text,
since what was seen on disk around it says more.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, zip_longest
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.command_facts import ToolOutput, add_git_facts, commits_in, find_written_files
from custody.capture.patch import PatchedFile, PatchHunk, PatchKind, changes_in, effects_of, read_event_changes
from custody.capture.shell import Write
from custody.capture.source_use import (
    LISTED_MAX,
    MATCHES_MAX,
    as_printed,
    code_in,
    file_use,
    match_uses,
    page_use,
    server_uses,
    shell_uses,
    shown_text,
)
from custody.capture.tool_use import FileEffect, SourceUse, ToolUse
from custody.capture.typed_field import Fields, fields, get_int, get_string, items, text
from custody.core.views import CallStatus, Reading, Text
from custody.core.wire.event_views import about_of, text_view

# The names of opencode's tools, and the fields of their input and of what they return.


SHELLS, TASKS = frozenset(("bash", "shell")), frozenset(("task", "subagent"))
"""Tools that run a command, and those that start a subagent: before 2.0, and since."""
EDIT, MULTIEDIT, WRITE = "edit", "multiedit", "write"
PATCHES = frozenset(("patch", "apply_patch"))
EDITING = PATCHES | {EDIT, MULTIEDIT, WRITE}

_AROUND = re.compile(r"\n*<(?:shell|bash)_metadata>.*\Z", re.DOTALL)
_NOTHING = "(no output)"


def about(given: object) -> str | None:
    """What a finer name of a call depends on.

    >>> about({"filePath": "src/app.py", "content": ""}), about({"command": "make"})
    ('src/app.py', 'make')
    """
    said = fields(given)
    return about_of({"file_path": path_in(said), **said})


def path_in(given: Fields) -> str | None:
    """The file that a call names, as written."""
    return get_string(given.get("filePath")) or get_string(given.get("path"))


def answer_of(use: ToolUse) -> ToolOutput:
    """How a command ended and what it printed; one that was stopped has no exit code."""
    known = get_int(use.response.get("exit"))
    words = _AROUND.sub("", use.words)
    # Since 2.0 one that goes on in the background, or ran out of time, says so itself.
    stopped = use.response.get("status") == "running" or use.response.get("timeout") is True
    running = known is None and (stopped or words != use.words)
    return ToolOutput("" if words == _NOTHING else words, known, running=running)


def status_of(use: ToolUse) -> CallStatus:
    """How a call ended: a command that opencode ran to its end may have failed all the same."""
    failed = use.failed or (use.tool in SHELLS and answer_of(use).failed)
    return CallStatus.FAILED if failed else CallStatus.OK


def started_by(tool: str, told: Fields) -> str | None:
    """The session that a call started; before November 2025 only what was done in it names it."""
    if tool not in TASKS:
        return None
    first = next(map(fields, items(told.get("summary"))), {})
    return get_string(told.get("sessionId")) or get_string(told.get("sessionID")) or get_string(first.get("sessionID"))


# Which sources a call of one of opencode's tools opened, listed or tried to open, and how each was read.
# Shapes are those of ``packages/opencode/src/tool`` (``read.ts``, ``webfetch.ts``, ``websearch.ts``, ``grep.ts``) at
# d545d8fb, 1.18.18 of August 2026, and of 0.9.0, whose files came with numbers of five digits; since 2.0 (2.0.12 to
# 2.0.26) those of ``packages/core/src/tool/plugin``, where a first line says which lines are shown.


OWN = (
    EDITING
    | TASKS
    | frozenset(
        "invalid question glob list todowrite todoread skill lsp plan_enter plan_exit plan batch execute models".split()
    )
)
"""opencode's own tools that open nothing; a name that is not known is one of a server's, or of a plugin's."""
FOLDER, FOLDER_SHOWN = "<type>directory</type>", "Read directory "
MORE = ("(File has more lines.", "(Output capped at ", "(Output truncated at ", "(Showing lines ", "[Output truncated.")
"""How the words begin below a file's lines where there are more of them."""

_SHOWN = re.compile(r"<(?:file|content)>\n(.*?)\n</(?:file|content)>", re.DOTALL)
_LINES_SHOWN = re.compile(r"Read file [^\n]*, lines (\d{1,9})-\d{1,9}\n(.*)\Z", re.DOTALL)
_NUMBERED = re.compile(r"^(?:\d{5,}\| |\d+: )", re.MULTILINE)
_TAIL = re.compile(r"\n\n\([^\n]*\)\Z|\n\[Output truncated\.[^\n]*\]\Z")
_FOUND_IN = re.compile(r"^(\S[^\n]*):\n(?= +Line \d+: )", re.MULTILINE)
_PICTURE = "Image fetched successfully"


def opened(use: ToolUse, folder: str | None) -> Iterator[SourceUse | None]:
    """The sources that a call opened, listed or tried to open; ``folder`` is where the agent works."""
    if use.tool in SHELLS:
        command, where = get_string(use.input.get("command")), get_string(use.input.get("workdir")) or folder
        yield from shell_uses(command, answer_of(use), where, failed=use.failed, error=use.words)
        return
    read = SOURCES.get(use.tool)
    if read is not None:
        yield from read(use)
    elif use.tool not in OWN:
        # Names of servers' tools begin with the server's.
        shown = shown_text(items(use.answer), use.words)
        yield from server_uses(use.tool, use.input, shown, failed=use.failed, error=use.words)


def _file(use: ToolUse) -> Iterator[SourceUse]:
    display = fields(use.response.get("display"))
    is_folder = FOLDER in use.words[:10_000] or use.words.startswith(FOLDER_SHOWN)
    if is_folder or display.get("type") == "directory":
        return
    numbered = _LINES_SHOWN.match(use.words)
    shown = _SHOWN.search(use.words) if numbered is None else None
    inner = numbered[2] if numbered is not None else "" if shown is None else shown[1]
    content = _NUMBERED.sub("", _TAIL.sub("", inner))
    cut = use.response.get("truncated") is True or any(f"\n{mark}" in inner for mark in MORE)
    first = use.input.get("offset") in (None, 0, 1) and (numbered is None or int(numbered[1]) == 1)
    yield from file_use(path_in(use.input), text(content or None), whole=first and not cut, failed=use.failed)


def _page(use: ToolUse) -> Iterator[SourceUse]:
    """A page as text: all of it unless opencode says that it was cut."""
    url, code = get_string(use.input.get("url")), code_in(use.words) if use.failed else None
    if url is not None:
        reading = Reading.EXCERPT if use.response.get("truncated") is True else Reading.VERBATIM
        content = None if use.words == _PICTURE else text(use.words or None)
        yield page_use(url, reading, content, code=code, failed=use.failed)


def _search(use: ToolUse) -> Iterator[SourceUse | None]:
    yield from server_uses("search", {}, use.words, failed=use.failed, error=use.words)


def _grep(use: ToolUse) -> Iterator[SourceUse | None]:
    names = dict.fromkeys(match[1] for match in islice(_FOUND_IN.finditer(use.words), MATCHES_MAX))
    yield from match_uses(as_printed(islice(names, LISTED_MAX)), failed=use.failed)


SOURCES: Mapping[str, Callable[[ToolUse], Iterator[SourceUse | None]]] = MappingProxyType(
    {"read": _file, "webfetch": _page, "websearch": _search, "codesearch": _search, "grep": _grep}
)


_OVERWROTE = "Wrote file successfully: "
"""How 2.0 says that a file was there before it was written; one that was not is said to be created."""


def add_effects(use: ToolUse, folder: str | None) -> ToolUse:
    """The call with what it opened, changed and did in git; ``folder`` is where the agent works."""
    use = replace(use, opened=tuple(opened(use, folder)))
    if use.failed:
        return use
    command = get_string(use.input.get("command")) if use.tool in SHELLS else None
    return add_git_facts(replace(use, changes=_changes_by(use)), command, answer_of(use))


# --- edits ------------------------------------------------------------------------------------------------------------


def _changes_by(use: ToolUse) -> tuple[FileEffect, ...]:
    over = use.tool == WRITE and use.words.startswith(_OVERWROTE)
    changes = _changes(use.tool, use.input, use.response)
    return tuple(replace(change, overwrites=change.overwrites or over) for change in changes)


def names_changed(tool: str, given: Fields, told: Fields) -> list[str]:
    """The files that a call of an editing tool names, as written."""
    return list(dict.fromkeys(change.path for change in _changes(tool, given, told)))


def _changes(tool: str, given: Fields, told: Fields) -> Iterator[FileEffect]:
    if tool == EDIT:
        yield from _replaced(given, told)
    elif tool == MULTIEDIT:
        pairs = zip_longest(items(given.get("edits")), items(told.get("results")))
        for edit, result in pairs:
            yield from _replaced({**fields(edit), "filePath": path_in(given)}, fields(result))
    elif tool == WRITE:
        path, content = path_in(given), text(given.get("content"))
        if path and content is not None:
            yield FileEffect(path, None, content, overwrites=told.get("exists") is True or told.get("existed") is True)
    elif tool in PATCHES:
        yield from _patched(given, told)


def _replaced(given: Fields, told: Fields) -> Iterator[FileEffect]:
    """A replacement: the whole file where that is told, else the lines that changed, else the piece."""
    diff = fields(told.get("filediff"))
    path = path_in(given) or get_string(diff.get("file"))
    if not path:
        return
    old, new = text(given.get("oldString")), text(given.get("newString"))
    makes = old is not None and old.content == ""
    before, after = text(diff.get("before")), text(diff.get("after"))
    if before is not None and after is not None:
        yield FileEffect(path, None if makes else before, after)
    elif new is not None and (old is None or makes):
        yield FileEffect(path, None, new)
    elif old is not None and new is not None:
        first = next(map(fields, items(told.get("files"))), {})
        pieces = _hunks(
            path, get_string(told.get("diff")) or get_string(diff.get("patch")) or get_string(first.get("patch"))
        )
        if pieces and not _is_whole_lines(pieces, old, new):
            yield from effects_of([PatchedFile(path=path, kind=PatchKind.UPDATE, pieces=pieces)])
        else:
            place = pieces[0].lines if len(pieces) == 1 else None
            yield FileEffect(path, old, new, part=True, lines=() if place is None else (place,))


def _hunks(path: str, diff: str | None) -> tuple[PatchHunk, ...]:
    told = read_event_changes({path: {"type": "update", "unified_diff": diff}}) if diff else ()
    return told[0].pieces if told else ()


def _is_whole_lines(pieces: tuple[PatchHunk, ...], old: Text, new: Text) -> bool:
    """Whether what was replaced is lines, in one place: then the text as given is better than the diff."""
    if len(pieces) > 1 or old.content is None or new.content is None:
        return len(pieces) <= 1
    before, after = _bare(pieces[0].before), _bare(pieces[0].after)
    return not (after - before - _bare(new.content)) and not (before - after - _bare(old.content))


def _bare(said: str) -> Counter[str]:
    return Counter("".join(line.split()) for line in said.split("\n"))


def _patched(given: Fields, told: Fields) -> Iterator[FileEffect]:
    files = [fields(file) for file in items(told.get("files"))]
    if files and all(isinstance(file.get("before"), str) and isinstance(file.get("after"), str) for file in files):
        for file in files:
            yield from _whole_file(file)
        return
    changes = changes_in(get_string(given.get("patchText")) or "")
    yield from effects_of(changes or _parse_file_diffs(files))


def _whole_file(file: Fields) -> Iterator[FileEffect]:
    path, moved = get_string(file.get("filePath")), get_string(file.get("movePath"))
    before, after = text(file.get("before")), text(file.get("after"))
    if not path or after is None:
        return
    yield FileEffect(moved or path, None if file.get("type") == "add" else before, after)
    if moved:
        yield FileEffect(path, before, text_view(""))


def _parse_file_diffs(files: list[Fields]) -> tuple[PatchedFile, ...]:
    """What the diffs of a patch's files say, where its own text is not there."""
    told = {
        path: {"type": "update", "unified_diff": file.get("patch", file.get("diff")), "move_path": file.get("movePath")}
        for file in files
        if (path := get_string(file.get("filePath")) or get_string(file.get("file")))
    }
    return read_event_changes(told)


# --- commands ---------------------------------------------------------------------------------------------------------


def names_written(use: ToolUse) -> list[str]:
    """The files that a command wrote by its own text, as written."""
    return [write.path for write in writes_of(use)]


def writes_of(use: ToolUse) -> tuple[Write, ...]:
    """What a command wrote by its own text; snapshots taken around it say more."""
    if use.tool not in SHELLS or use.failed:
        return ()
    return find_written_files(
        get_string(use.input.get("command")), answer_of(use), get_string(use.input.get("workdir")) or ""
    )


def commits_of(use: ToolUse) -> tuple[str, ...]:
    """The commits that a command made, as git's own words name them."""
    if use.tool not in SHELLS or use.failed:
        return ()
    return tuple(commits_in(get_string(use.input.get("command")), answer_of(use)))
