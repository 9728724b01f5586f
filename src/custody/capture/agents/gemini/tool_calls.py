"""What a finished call of one of Gemini CLI's tools says: files edited, files written by commands, commits made.

Hooks and chats give the same input and the same display of a call, so both are read here, and here only. Shapes are
those of ``packages/core/src/tools`` (``edit.ts``, ``write-file.ts``, ``shell.ts``), 0.9 of 2025 to 5411f113 of August
2026.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from custody.capture.shell import commands, writes
from custody.capture.typed_field import Fields, fields, model, string, text
from custody.core.digest import whole_hash
from custody.core.ids import AgentName, CallId, CommitSha, SessionId
from custody.core.paths import RepoPath
from custody.core.views import CommitLink, FileEdit, LinkOrigin, Text
from custody.core.wire.canonical import text_bytes
from custody.core.wire.event_views import text_view

REPLACE, WRITE, SHELL = "replace", "write_file", "run_shell_command"
EDITING = frozenset((REPLACE, WRITE))
CHOSEN = "auto"
NOT_WRITTEN = ("No such file or directory", "Permission denied", "Is a directory", "Read-only file system")
BEHIND = "Command moved to background"
"""How the words begin of a command that goes on unseen: what it wrote nobody has seen."""

_EXIT = re.compile(r"^Exit Code: (\d+)", re.MULTILINE)
_OUTPUT = re.compile(r"^(?:Output|Stdout): ", re.MULTILINE)
_COMMITTED = re.compile(r"^(?:Output: |Stdout: )?\[[^\]\n]{1,300} ([0-9a-f]{7,64})\] ", re.MULTILINE)
_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A call that ended: what it was given, what a person was shown of it (``display``) and what the model was."""

    agent: AgentName
    session: SessionId
    call: CallId
    at_ns: int
    tool: str
    given: Fields
    display: object = None
    shown: str = ""
    failed: bool = False
    revision: CommitSha | None = None
    locate: Callable[[object], RepoPath | None]
    """A path of the repository for a path as written; None for one outside it, or that is no path."""


def model_named(said: object) -> str | None:
    """The model that is named; None for a name under which Gemini CLI chooses one, such as ``auto-gemini-3``."""
    named = model(said)
    return None if named is None or named.partition("-")[0] == CHOSEN else named


# --- edits ------------------------------------------------------------------------------------------------------------


def edited_path(tool: str, given: Fields, display: object) -> str | None:
    """The file that a call of an editing tool names, as written; older displays do not name it."""
    return string(fields(display).get("filePath")) or string(given.get("file_path")) if tool in EDITING else None


def edits(called: Called) -> Iterator[FileEdit]:
    """The file that the call changed; where a person changed the proposal, with what the agent had proposed."""
    if called.failed or called.tool not in EDITING:
        return
    path = called.locate(edited_path(called.tool, called.given, called.display))
    before, after, part = _texts(called)
    if path is None or after is None:
        return
    yield FileEdit(
        agent=called.agent,
        session=called.session,
        id=called.call,
        path=path,
        at_ns=called.at_ns,
        call=called.call,
        revision=called.revision,
        before=before,
        after=after,
        hashes=() if after.content is None else (whole_hash(text_bytes(after.content)),),
        part=part,
        proposed=_proposed(called, before, after),
    )


def _texts(called: Called) -> tuple[Text | None, Text | None, bool]:
    """The file before and after, or the piece that was replaced, and whether it is a piece."""
    display, given = fields(called.display), called.given
    after = text(display.get("newContent"))
    if after is not None:
        before = text(display.get("originalContent"))
        return (None if display.get("isNewFile") is True else before), after, False
    if called.tool == WRITE:
        return None, text(given.get("content")), False
    old, new = text(given.get("old_string")), text(given.get("new_string"))
    # A replacement of nothing makes the file.
    return (None, new, False) if old is None or old.content == "" else (old, new, True)


def _proposed(called: Called, before: Text | None, after: Text) -> Text | None:
    """What the agent had proposed, where a person changed it; nothing of the change where that is not told."""
    if not _is_changed(called) or after.content is None:
        return None
    old = "" if before is None or before.content is None else before.content
    said = text(called.given.get("ai_proposed_content"))
    if said is None or said.content is None:
        return text_view(old)
    # Accepted in an IDE, changed or not, the proposal is what was accepted: then nobody can tell.
    made = said.content if called.tool == WRITE else placed(old, said.content, after.content)
    return None if made == after.content else text_view(made)


def _is_changed(called: Called) -> bool:
    stat = fields(fields(called.display).get("diffStat"))
    counts = (stat.get("user_added_lines"), stat.get("user_removed_lines"))
    return called.given.get("modified_by_user") is True or any(isinstance(n, int) and n > 0 for n in counts)


def placed(before: str, piece: str, after: str) -> str:
    r"""``before`` with the agent's piece where ``after`` differs from it.

    When a person changes a replacement, Gemini CLI keeps the piece that was proposed, but not what it was to replace.

    >>> placed("a\nb\nc\n", "B", "a\nB\nmine\nc\n")
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


def _same(one: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _overlap(before: list[str], piece: list[str]) -> int:
    """With how many of its first lines the piece repeats the last ones before it."""
    longest = min(len(before), len(piece))
    return next((n for n in range(longest, 0, -1) if before[-n:] == piece[:n]), 0)


# --- commands ---------------------------------------------------------------------------------------------------------


def exit_code(shown: str) -> int:
    """How a command ended, by what the model was shown; older versions say it always, newer ones when it failed."""
    found = _EXIT.findall(shown)
    return int(found[-1][:9]) if found else 0


def printed(shown: str) -> str:
    """What a command printed, without what Gemini CLI says around it."""
    said = shown.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>")
    start = _OUTPUT.search(said)
    lines = (said[start.end() :] if start else said).split("\n")
    while lines and lines[-1].startswith(ENDS):
        lines.pop()
    kept = "\n".join(lines)
    return "" if kept.strip() == "(empty)" else kept


ENDS = ("Process Group PGID: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Error: ", "Stderr: (empty)")


def written_by(called: Called) -> Iterator[tuple[str, str, bool]]:
    """What a command certainly wrote by its own text: the path as written, the text, whether it was put at the end."""
    command = string(called.given.get("command"))
    behind = called.given.get("is_background") is True or BEHIND in called.shown
    if called.tool != SHELL or called.failed or command is None or behind:
        return
    folder = string(called.given.get("dir_path")) or string(called.given.get("directory")) or ""
    went_wrong = exit_code(called.shown) != 0
    if went_wrong and any(sign in called.shown for sign in NOT_WRITTEN):
        return
    for write in writes(command):
        if write.sure or not went_wrong:
            yield posixpath.join(folder, write.path), write.text, write.append


def shell_edits(called: Called) -> Iterator[FileEdit]:
    """The files that a command wrote by its own text; where files were looked at around it, that knows better."""
    for n, (name, said, append) in enumerate(written_by(called)):
        path = called.locate(name)
        if path is not None:
            yield FileEdit(
                agent=called.agent,
                session=called.session,
                id=f"{called.call}:shell:{n}",
                path=path,
                at_ns=called.at_ns,
                call=called.call,
                before=text_view("") if append else None,
                after=text_view(said),
                hashes=(whole_hash(text_bytes(said)),),
                part=append,
            )


def commits_said(called: Called) -> tuple[str, ...]:
    """The commits, mostly abbreviated, that ``git commit`` said it had made."""
    command = string(called.given.get("command"))
    if called.tool != SHELL or called.failed or command is None or "commit" not in command:
        return ()
    ran = commands(command) or ()
    if not any(one.words[:1] == ("git",) and "commit" in one.words for one in ran):
        return ()
    return tuple(dict.fromkeys(_COMMITTED.findall(called.shown)))


def commit_links(called: Called, known: Mapping[str, str | None]) -> Iterator[CommitLink]:
    """The commits that the call made; an abbreviated id is looked up in ``known``, one that is not there says nothing.

    What a command prints can be anything, so an id counts only where the repository has that commit.
    """
    for said in commits_said(called):
        sha = known.get(said)
        if sha is not None and _FULL.fullmatch(sha):
            yield CommitLink(called.agent, called.session, CommitSha(sha), LinkOrigin.GIT_OPERATION, called.at_ns)
