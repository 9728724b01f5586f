"""What a finished call of one of opencode's tools says: files changed, files written by commands, commits made.

Plugins and stored sessions give the same input and the same metadata of a call, so both are read here, and here only.
Shapes are those of ``packages/opencode/src/tool``: 0.9.0 of September 2025 (an edit told by a diff), 1.0 of November
2025 to March 2026 (the whole file before and after, in ``filediff`` and in the files of a patch), and d545d8fb, 1.18.18
of August 2026 (a diff again); those of 2.0.12 to 2.0.26 (autumn of 2026) are ``packages/core/src/tool/plugin``, where a
file is a ``path``, a command is run by ``shell``, and ``files`` have the diffs. opencode takes the indentation that all
lines share out of a diff: its lines are known by their words. An edit has the id of one that was read out of text,
since what was seen on disk around it says more.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest

from msgspec.structs import replace

from custody.capture.agents.opencode.sources import opened
from custody.capture.agents.opencode.tool_fields import EDIT, MULTIEDIT, PATCHES, SHELLS, WRITE, answer_of, path_in
from custody.capture.command_facts import add_git_facts, commits_in, find_written_files
from custody.capture.patch import PatchedFile, PatchHunk, PatchKind, changes_in, effects_of, read_event_changes
from custody.capture.shell import Write
from custody.capture.tool_use import FileEffect, ToolUse
from custody.capture.typed_field import Fields, fields, get_string, items, text
from custody.core.views import Text
from custody.core.wire.event_views import text_view

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
