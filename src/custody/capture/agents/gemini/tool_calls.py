"""What a finished call of one of Gemini CLI's tools says: files edited, files written by commands, commits made.

Hooks and chats give the same input and the same display of a call, so both are read here, and here only. Shapes are
those of ``packages/core/src/tools`` (``edit.ts``, ``write-file.ts``, ``shell.ts``), 0.9 of 2025 to 5411f113 of August
2026.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile

from msgspec.structs import replace

from custody.capture.agents.gemini.sources import SHELL, exit_code, opened
from custody.capture.command_facts import ToolOutput, find_written_files
from custody.capture.shell import Write, commands
from custody.capture.tool_use import FileEffect, ToolUse
from custody.capture.typed_field import fields, full_sha, get_string, model, text
from custody.core.views import Text
from custody.core.wire.event_views import text_view

REPLACE, WRITE = "replace", "write_file"
EDITING = frozenset((REPLACE, WRITE))
CHOSEN = "auto"
BEHIND = "Command moved to background"
"""How the words begin of a command that goes on unseen: what it wrote nobody has seen."""

_COMMITTED = re.compile(r"^(?:Output: |Stdout: )?\[[^\]\n]{1,300} ([0-9a-f]{7,64})\] ", re.MULTILINE)


def model_named(said: object) -> str | None:
    """The model that is named; None for a name under which Gemini CLI chooses one, such as ``auto-gemini-3``."""
    named = model(said)
    return None if named is None or named.partition("-")[0] == CHOSEN else named


def add_effects(use: ToolUse) -> ToolUse:
    """The call with the sources that it opened and the file that it changed."""
    return replace(use, opened=tuple(opened(use)), changes=tuple(_changes(use)), from_text=False)


# --- edits ------------------------------------------------------------------------------------------------------------


def edited_path(use: ToolUse) -> str | None:
    """The file that a call of an editing tool names, as written; older displays do not name it."""
    if use.tool not in EDITING:
        return None
    return get_string(use.response.get("filePath")) or get_string(use.input.get("file_path"))


def _changes(use: ToolUse) -> Iterator[FileEffect]:
    """The file that the call changed; where a person changed the proposal, with what the agent had proposed."""
    path = None if use.failed else edited_path(use)
    before, after, part = _texts(use)
    if path is not None and after is not None:
        yield FileEffect(path, before, after, part=part, proposed=_proposed(use, before, after))


def _texts(use: ToolUse) -> tuple[Text | None, Text | None, bool]:
    """The file before and after, or the piece that was replaced, and whether it is a piece."""
    display, given = use.response, use.input
    after = text(display.get("newContent"))
    if after is not None:
        before = text(display.get("originalContent"))
        return (None if display.get("isNewFile") is True else before), after, False
    if use.tool == WRITE:
        return None, text(given.get("content")), False
    old, new = text(given.get("old_string")), text(given.get("new_string"))
    # A replacement of nothing makes the file.
    return (None, new, False) if old is None or old.content == "" else (old, new, True)


def _proposed(use: ToolUse, before: Text | None, after: Text) -> Text | None:
    """What the agent had proposed, where a person changed it; nothing of the change where that is not told."""
    if not _is_changed(use) or after.content is None:
        return None
    old = "" if before is None or before.content is None else before.content
    said = text(use.input.get("ai_proposed_content"))
    if said is None or said.content is None:
        return text_view(old)
    # Accepted in an IDE, changed or not, the proposal is what was accepted: then nobody can tell.
    made = said.content if use.tool == WRITE else place_edit(old, said.content, after.content)
    return None if made == after.content else text_view(made)


def _is_changed(use: ToolUse) -> bool:
    stat = fields(use.response.get("diffStat"))
    counts = (stat.get("user_added_lines"), stat.get("user_removed_lines"))
    return use.input.get("modified_by_user") is True or any(isinstance(n, int) and n > 0 for n in counts)


def place_edit(before: str, piece: str, after: str) -> str:
    r"""``before`` with the agent's piece where ``after`` differs from it.

    When a person changes a replacement, Gemini CLI keeps the piece that was proposed, but not what it was to replace.

    >>> place_edit("a\nb\nc\n", "B", "a\nB\nmine\nc\n")
    'a\nB\nc\n'
    """
    old, said, new = before.split("\n"), piece.split("\n"), after.split("\n")
    head = _same(old, new)
    tail = min(_same(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    first, last = old[:head], old[len(old) - tail :]
    # The piece may repeat lines that stand around the change.
    said = said[_overlap(first, said) :]
    said = said[: len(said) - _overlap(last[::-1], said[::-1])]
    return "\n".join((*first, *said, *last))


def _same(group: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(group, other, strict=False)))


def _overlap(before: list[str], piece: list[str]) -> int:
    """With how many of its first lines the piece repeats the last ones before it."""
    longest = min(len(before), len(piece))
    return next((n for n in range(longest, 0, -1) if before[-n:] == piece[:n]), 0)


# --- commands ---------------------------------------------------------------------------------------------------------


def writes_of(use: ToolUse) -> tuple[Write, ...]:
    """What a command certainly wrote by its own text; snapshots taken around it say more."""
    if use.tool != SHELL:
        return ()
    behind = use.input.get("is_background") is True or BEHIND in use.words
    answer = ToolOutput(use.words, exit_code(use.words), running=behind, refused=use.failed)
    folder = get_string(use.input.get("dir_path")) or get_string(use.input.get("directory")) or ""
    return find_written_files(get_string(use.input.get("command")), answer, folder)


def read_commit_names(use: ToolUse) -> tuple[str, ...]:
    """The commits, mostly abbreviated, that ``git commit`` said it had made."""
    command = get_string(use.input.get("command"))
    if use.tool != SHELL or use.failed or command is None or "commit" not in command:
        return ()
    if not any(step.words[:1] == ("git",) and "commit" in step.words for step in commands(command) or ()):
        return ()
    return tuple(dict.fromkeys(_COMMITTED.findall(use.words)))


def known_commits(use: ToolUse, known: Mapping[str, str | None]) -> tuple[str, ...]:
    """The full ids of the commits that the call made.

    What a command prints can be anything, so an id counts only where the repository has that commit.
    """
    return tuple(filter(None, (full_sha(known.get(name)) for name in read_commit_names(use))))
