"""What a finished call of one of opencode's tools says: files changed, files written by commands, commits made.

Plugins and stored sessions give the same input and the same metadata of a call, so both are read here, and here only.
Shapes are those of ``packages/opencode/src/tool``: 0.9.0 of September 2025 (an edit told by a diff), 1.0 of November
2025 to March 2026 (the whole file before and after, in ``filediff`` and in the files of a patch), and d545d8fb, 1.18.18
of August 2026 (a diff again); those of 2.0.12 to 2.0.26 (autumn of 2026) are ``packages/core/src/tool/plugin``, where a
file is a ``path``, a command is run by ``shell``, and ``files`` have the diffs. opencode takes the indentation that all
lines share out of a diff: its lines are known by their words. An edit has the id of one that was read out of text,
since what was seen on disk around it says more.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from custody.capture.agents.claude.tool_calls import Done
from custody.capture.agents.codex.patch import Change, Kind, Piece, changes_in, changes_told
from custody.capture.agents.codex.tool_calls import (
    READ_FROM_TEXT,
    Answer,
    Given,
    commits_in,
    facts,
    written,
    written_by,
)
from custody.capture.shell import Write
from custody.capture.typed_field import Fields, fields, items, string, text
from custody.core.digest import whole_hash
from custody.core.lines import Lines
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, Text
from custody.core.wire.canonical import text_bytes
from custody.core.wire.event_views import about_of, text_view

SHELLS, TASKS = frozenset(("bash", "shell")), frozenset(("task", "subagent"))
"""Tools that run a command, and those that start a subagent: before 2.0, and since."""
EDIT, MULTIEDIT, WRITE = "edit", "multiedit", "write"
PATCHES = frozenset(("patch", "apply_patch"))
EDITING = PATCHES | {EDIT, MULTIEDIT, WRITE}

_AROUND = re.compile(r"\n*<(?:shell|bash)_metadata>.*\Z", re.DOTALL)
_NOTHING = "(no output)"
_OVERWROTE = "Wrote file successfully: "
"""How 2.0 says that a file was there before it was written; one that was not is said to be created."""

__all__ = [
    "EDITING",
    "SHELLS",
    "TASKS",
    "about",
    "answer_of",
    "commits_of",
    "edits",
    "facts",
    "names_changed",
    "names_written",
    "path_in",
    "shell_edits",
    "started_by",
]


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of one file, as written: all of it, or a piece; ``overwrites`` one whose text is not told."""

    path: str
    before: Text | None
    after: Text
    part: bool = False
    lines: Lines | None = None
    overwrites: bool = False


def about(given: object) -> str | None:
    """What a finer name of a call depends on.

    >>> about({"filePath": "src/app.py", "content": ""}), about({"command": "make"})
    ('src/app.py', 'make')
    """
    said = fields(given)
    return about_of({"file_path": path_in(said), **said})


def path_in(given: Fields) -> str | None:
    """The file that a call names, as written."""
    return string(given.get("filePath")) or string(given.get("path"))


# --- edits ------------------------------------------------------------------------------------------------------------


def edits(done: Done) -> Iterator[FileEdit]:
    """The files that a call of an editing tool changed; several edits of one file are numbered."""
    if done.failed:
        return
    count: Counter[RepoPath] = Counter()
    for change in _changes(done.tool, done.input, done.response):
        path = done.locate(change.path)
        if path is not None:
            over = change.overwrites or (done.tool == WRITE and done.words.startswith(_OVERWROTE))
            yield _edit(done, path, count[path], replace(change, overwrites=over))
            count[path] += 1


def names_changed(tool: str, given: Fields, told: Fields) -> list[str]:
    """The files that a call of an editing tool names, as written."""
    return list(dict.fromkeys(change.path for change in _changes(tool, given, told)))


def _changes(tool: str, given: Fields, told: Fields) -> Iterator[Changed]:
    if tool == EDIT:
        yield from _replaced(given, told)
    elif tool == MULTIEDIT:
        pairs = zip_longest(items(given.get("edits")), items(told.get("results")))
        for one, result in pairs:
            yield from _replaced({**fields(one), "filePath": path_in(given)}, fields(result))
    elif tool == WRITE:
        path, content = path_in(given), text(given.get("content"))
        if path and content is not None:
            yield Changed(path, None, content, overwrites=told.get("exists") is True or told.get("existed") is True)
    elif tool in PATCHES:
        yield from _patched(given, told)


def _replaced(given: Fields, told: Fields) -> Iterator[Changed]:
    """A replacement: the whole file where that is told, else the lines that changed, else the piece."""
    diff = fields(told.get("filediff"))
    path = path_in(given) or string(diff.get("file"))
    if not path:
        return
    old, new = text(given.get("oldString")), text(given.get("newString"))
    makes = old is not None and old.content == ""
    before, after = text(diff.get("before")), text(diff.get("after"))
    if before is not None and after is not None:
        yield Changed(path, None if makes else before, after)
    elif new is not None and (old is None or makes):
        yield Changed(path, None, new)
    elif old is not None and new is not None:
        first = next(map(fields, items(told.get("files"))), {})
        pieces = _hunks(path, string(told.get("diff")) or string(diff.get("patch")) or string(first.get("patch")))
        if pieces and not _is_whole_lines(pieces, old, new):
            yield from (_of_piece(path, piece) for piece in pieces)
        else:
            yield Changed(path, old, new, part=True, lines=pieces[0].lines if len(pieces) == 1 else None)


def _hunks(path: str, diff: str | None) -> tuple[Piece, ...]:
    told = changes_told({path: {"type": "update", "unified_diff": diff}}) if diff else ()
    return told[0].pieces if told else ()


def _is_whole_lines(pieces: tuple[Piece, ...], old: Text, new: Text) -> bool:
    """Whether what was replaced is lines, in one place: then the text as given is better than the diff."""
    if len(pieces) > 1 or old.content is None or new.content is None:
        return len(pieces) <= 1
    before, after = _bare(pieces[0].before), _bare(pieces[0].after)
    return not (after - before - _bare(new.content)) and not (before - after - _bare(old.content))


def _bare(said: str) -> Counter[str]:
    return Counter("".join(line.split()) for line in said.split("\n"))


def _of_piece(path: str, piece: Piece) -> Changed:
    return Changed(path, text_view(piece.before), text_view(piece.after), part=True, lines=piece.lines)


def _patched(given: Fields, told: Fields) -> Iterator[Changed]:
    files = [fields(file) for file in items(told.get("files"))]
    if files and all(isinstance(file.get("before"), str) and isinstance(file.get("after"), str) for file in files):
        for file in files:
            yield from _whole_file(file)
        return
    changes = changes_in(string(given.get("patchText")) or "")
    for change in changes or _told_by(files):
        yield from _of_change(change)


def _whole_file(file: Fields) -> Iterator[Changed]:
    path, moved = string(file.get("filePath")), string(file.get("movePath"))
    before, after = text(file.get("before")), text(file.get("after"))
    if not path or after is None:
        return
    yield Changed(moved or path, None if file.get("type") == "add" else before, after)
    if moved:
        yield Changed(path, before, text_view(""))


def _told_by(files: list[Fields]) -> tuple[Change, ...]:
    """What the diffs of a patch's files say, where its own text is not there."""
    told = {
        path: {"type": "update", "unified_diff": file.get("patch", file.get("diff")), "move_path": file.get("movePath")}
        for file in files
        if (path := string(file.get("filePath")) or string(file.get("file")))
    }
    return changes_told(told)


def _of_change(change: Change) -> Iterator[Changed]:
    target, gone = change.moved or change.path, text_view("")
    if change.kind is Kind.ADD and change.after is not None:
        yield Changed(target, None, change.after)
    elif change.kind is Kind.DELETE:
        yield Changed(change.path, change.before, gone)
    elif change.untold is not None:
        yield Changed(target, None, change.untold)
    yield from (_of_piece(target, piece) for piece in change.pieces)
    if change.moved is not None:
        yield Changed(change.path, None, gone)


def _edit(done: Done, path: RepoPath, n: int, change: Changed) -> FileEdit:
    known = change.after.content
    return FileEdit(
        agent=done.agent,
        session=done.session,
        id=f"{done.call}{READ_FROM_TEXT}{n}",
        path=path,
        at_ns=done.at_ns,
        call=done.call,
        revision=done.revision,
        before=change.before,
        after=change.after,
        lines=() if change.lines is None else (change.lines,),
        hashes=() if known is None else (whole_hash(text_bytes(known)),),
        part=change.part,
        overwrites=change.overwrites,
    )


# --- commands ---------------------------------------------------------------------------------------------------------


def answer_of(done: Done) -> Answer:
    """How a command ended and what it printed; one that was stopped has no exit code."""
    code = done.response.get("exit")
    known = code if isinstance(code, int) and not isinstance(code, bool) else None
    words = _AROUND.sub("", done.words)
    # Since 2.0 one that goes on in the background, or ran out of time, says so itself.
    stopped = done.response.get("status") == "running" or done.response.get("timeout") is True
    running = known is None and (stopped or words != done.words)
    return Answer("" if words == _NOTHING else words, known, running=running)


def shell_edits(done: Done) -> Iterator[FileEdit]:
    """The files that a command wrote by its own text; where files were looked at around it, that knows better."""
    yield from written(done, _writes(done))


def names_written(done: Done) -> list[str]:
    """The files that a command wrote by its own text, as written."""
    return [write.path for write in _writes(done)]


def _writes(done: Done) -> list[Write]:
    command, folder = string(done.input.get("command")), string(done.input.get("workdir")) or ""
    if done.tool not in SHELLS or command is None or done.failed:
        return []
    found = written_by(Given(command), answer_of(done))
    return [replace(write, path=posixpath.join(folder, write.path)) for write in found]


def commits_of(done: Done) -> tuple[str, ...]:
    """The commits that a command made, as git's own words name them."""
    if done.tool not in SHELLS or done.failed:
        return ()
    return tuple(commits_in(string(done.input.get("command")), answer_of(done)))


# --- subagents --------------------------------------------------------------------------------------------------------


def started_by(tool: str, told: Fields) -> str | None:
    """The session that a call started; before November 2025 only what was done in it names it."""
    if tool not in TASKS:
        return None
    first = next(map(fields, items(told.get("summary"))), {})
    return string(told.get("sessionId")) or string(told.get("sessionID")) or string(first.get("sessionID"))
