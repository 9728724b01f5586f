"""What a call of one of Cursor's tools says, whether a hook, the database or a transcript told of it.

Names and inputs: hooks of Cursor 3.19 and git-ai's reader of them (55a1d728, August 2026), transcripts of May 2026, and
the database's tool calls of ``composerData`` 3 to 16 (2025 to July 2026), where a tool is called otherwise
(``edit_file_v2`` for ``StrReplace`` and ``Write``) and its input stands in ``params``, in ``rawArgs`` or in both.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from custody.capture import typed_field
from custody.capture.command_facts import ToolOutput, add_git_facts, commits_in, find_written_files
from custody.capture.patch import changes_in, effects_of
from custody.capture.shell import Write
from custody.capture.source_use import as_printed, command_uses, file_use, match_uses, search_uses, server_uses
from custody.capture.tool_use import FileEffect, SourceUse, ToolUse
from custody.capture.typed_field import Fields, fields, first_string, get_int, get_string, items, text
from custody.core.views import Text
from custody.core.wire.canonical import Json
from custody.core.wire.event_views import text_view

SHELL, READ, WRITE, REPLACE, DELETE, PATCH = "shell", "read", "write", "replace", "delete", "patch"
GREP, FETCH, SEARCH, TASK = "grep", "fetch", "search", "task"
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        SHELL: "shell bash run_terminal_cmd run_terminal_command",
        READ: "read readfile read_file",
        WRITE: "write write_file create_file",
        REPLACE: "strreplace str_replace search_replace edit edit_file multiedit",
        DELETE: "delete delete_file",
        PATCH: "applypatch apply_patch",
        GREP: "grep rg ripgrep ripgrep_raw_search ripgrep_search grep_search",
        FETCH: "webfetch web_fetch fetch",
        SEARCH: "websearch web_search",
        TASK: "task subagent",
    }
)
KINDS: Mapping[str, str] = MappingProxyType({name: kind for kind, names in _NAMES.items() for name in names.split()})
"""What a tool does, by each of the names that it has had."""
EDITING = frozenset((WRITE, REPLACE, DELETE, PATCH))
PATHS = ("relativeWorkspacePath", "file_path", "path", "filePath", "target_file", "targetFile", "notebook_path")
CONTENTS = ("content", "contents", "file_text", "code_edit_result")
WORDS = ("output", "stdout", "contents", "content", "text", "result", "answer")
FILE = "file://"
_BESIDE = re.compile(
    r"(?:\[Image\]|<(timestamp|image_files|uploaded_documents|attached_files|external_links|system_reminder"
    r"|open_and_recently_viewed_files|manually_attached_skills)\b[^>]*>.*?</\1>)\s*",
    re.DOTALL,
)
"""What Cursor puts before the words that a person typed."""
_NOTICE = "<system_notification"
"""How a message begins that Cursor sends itself, for example when a subagent is done."""
UNKNOWN_MODELS = frozenset(("", "default", "auto", "inherit", "unknown"))
"""What stands where Cursor chose the model itself and does not say which."""


class CursorCall(Struct, frozen=True, kw_only=True):
    """What a call was given and returned; ``before`` and ``after`` where Cursor stored the whole file."""

    tool: str
    given: Fields
    patch: str | None = None
    answer: ToolOutput = ToolOutput()
    told: object = None
    failed: bool = False
    before: Text | None = None
    after: Text | None = None

    @property
    def kind(self) -> str | None:
        """What the tool does; None for a tool that nothing is made of."""
        return kind_of(self.tool)


def kind_of(tool: str) -> str | None:
    """What a tool does, by any of its names.

    >>> kind_of("StrReplace"), kind_of("edit_file_v2"), kind_of("TodoWrite")
    ('replace', 'replace', None)
    """
    return KINDS.get(tool.lower().removesuffix("_v2"))


def model_of(said: object) -> str | None:
    """The name of a model; None where it is not told which."""
    named = get_string(said)
    return None if named is None or named.strip().lower() in UNKNOWN_MODELS else named


def strip_prompt_prefix(said: str) -> str:
    r"""What a person typed of a prompt: what Cursor put before it is left out, and nothing is left of its own messages.

    >>> strip_prompt_prefix("<timestamp>Monday, Jun 8, 2026, 11:48 PM (UTC-7)</timestamp>\nmake it so")
    'make it so'
    >>> strip_prompt_prefix("make it so")
    'make it so'
    """
    rest = _own(said)
    return "" if rest.startswith(_NOTICE) else rest


def is_notice(said: str) -> bool:
    """Whether a prompt is a message that Cursor sends itself."""
    return _own(said).startswith(_NOTICE)


def _own(said: str) -> str:
    place = 0
    while (found := _BESIDE.match(said, place)) is not None:
        place = found.end()
    return said[place:]


def given_of(*said: object) -> tuple[dict[str, Any], str | None]:
    """What a call was given, from objects and JSON in texts together, and the patch where it is one."""
    given: dict[str, Any] = {}
    patch = None
    for argument in said:
        value = json_in(argument) if isinstance(argument, str) else argument
        given |= fields(value)
        patch = argument if isinstance(argument, str) and value is None and argument.strip() else patch
    return given, patch or first_string(given, ("patch", "input"))


def answer_of(said: object) -> ToolOutput:
    """What a tool gave back: an object, one as JSON in a text, or words.

    >>> answer = answer_of('{"exitCode": 1, "stdout": "no"}')
    >>> answer.words, answer.code
    ('no', 1)
    """
    value = json_in(said) if isinstance(said, str) else said
    if not isinstance(value, dict):
        return ToolOutput(get_string(said) or "")
    return ToolOutput(first_string(value, WORDS) or "", get_int(value.get("exitCode", value.get("exit_code"))))


def path_in(given: Fields) -> str | None:
    """The file that a call names, as written or in a ``file:`` address."""
    named = next((given[name] for name in PATHS if isinstance(given.get(name), str) and given[name]), None)
    return named if named is None or not named.startswith(FILE) else unquote(named.removeprefix(FILE))


def json_in(said: str) -> Json:
    """The object or list that a text of a database is as JSON; None where it is none."""
    return typed_field.json_in(said, "surrogatepass")


# --- files ------------------------------------------------------------------------------------------------------------


def list_edited_files(called: CursorCall) -> list[str]:
    """The files that the call changed, as written."""
    if called.failed:
        return []
    if called.kind == PATCH:
        return [name for change in changes_in(called.patch or "") for name in change.names]
    if called.kind == SHELL:
        return [write.path for write in writes_of(called)]
    named = path_in(called.given)
    return [] if named is None or called.kind not in EDITING else [named]


def changes_of(called: CursorCall) -> Iterator[FileEffect]:
    """What the call made of files, by its own text or as Cursor stored the whole file."""
    if called.failed:
        return
    if called.after is None and called.kind == PATCH:
        yield from effects_of(changes_in(called.patch or ""))
    elif called.kind in EDITING:
        path = path_in(called.given)
        yield from () if path is None else _effects(called, path)


def _effects(called: CursorCall, path: str) -> Iterator[FileEffect]:
    given = called.given
    if called.after is not None:
        yield FileEffect(path, called.before, called.after)
    elif called.kind == DELETE:
        yield FileEffect(path, None, text_view(""))
    elif called.kind == WRITE and "streamingContent" not in given:
        content = next((text(given[name]) for name in CONTENTS if name in given), None)
        yield from () if content is None else (FileEffect(path, None, content),)
    elif "streamingContent" in given and "new_string" not in given:
        # The text of an edit as it was streamed: which part of the file it is, is not told.
        yield FileEffect(path, text_view(""), text(given["streamingContent"]), part=True)
    else:
        yield from pieces_of(path, [given, *items(given.get("edits"))])


def pieces_of(path: str, said: list[Any]) -> Iterator[FileEffect]:
    """Replacements, each before and after; one of nothing makes the file."""
    for piece in map(fields, said):
        old, new = text(piece.get("old_string")), text(piece.get("new_string"))
        if new is None or old == new:
            continue
        whole = old is None or old.content == ""
        yield FileEffect(path, None, new) if whole else FileEffect(path, old, new, part=True)


# --- commands ---------------------------------------------------------------------------------------------------------


def writes_of(called: CursorCall) -> tuple[Write, ...]:
    """What a command wrote by its own text; snapshots taken around it say more."""
    command = get_string(called.given.get("command"))
    behind = called.given.get("is_background") is True or called.given.get("isBackground") is True
    if called.kind != SHELL or called.failed or behind:
        return ()
    folder = next((called.given[key] for key in ("working_directory", "cwd") if called.given.get(key)), "")
    return find_written_files(command, called.answer, folder if isinstance(folder, str) else "")


def commits_of(called: CursorCall) -> tuple[str, ...]:
    """The commits that a command made, as git's own words name them."""
    ran = called.kind == SHELL and not called.failed
    return tuple(commits_in(get_string(called.given.get("command")), called.answer)) if ran else ()


# --- the whole call ---------------------------------------------------------------------------------------------------


def add_effects(use: ToolUse, called: CursorCall) -> ToolUse:
    """The call with what it changed and did in git."""
    command = get_string(called.given.get("command")) if called.kind == SHELL else None
    answer = replace(called.answer, code=1) if called.failed else called.answer
    return add_git_facts(replace(use, changes=tuple(changes_of(called))), command, answer)


# Which sources a call of one of Cursor's tools opened, listed or tried to open, and how each was read.


SERVERS = ("MCP:", "mcp-", "mcp_")
"""How the names of servers' tools begin: in hooks, and in the database."""
PARTS = (
    "offset limit start_line_one_indexed end_line_one_indexed_inclusive startLineOneIndexed endLineOneIndexedInclusive"
).split()
"""What a call says that reads some of a file's lines."""


def opened(called: CursorCall) -> Iterator[SourceUse | None]:
    """The sources that the call opened, listed or tried to open."""
    read = SOURCES.get(called.kind or "")
    server = next((mark for mark in SERVERS if called.tool.startswith(mark)), None)
    if read is not None:
        yield from read(called)
    elif server is not None:
        yield from _served(called, called.tool.removeprefix(server), called.given)


def _served(called: CursorCall, tool: str, given: Fields) -> Iterator[SourceUse | None]:
    words = called.answer.words
    yield from server_uses(tool, given, words, failed=called.failed, error=words)


def _shell(called: CursorCall) -> Iterator[SourceUse]:
    command, words = get_string(called.given.get("command")), called.answer.words
    yield from command_uses(command, words, failed=called.failed, error=words)


def _file(called: CursorCall) -> Iterator[SourceUse]:
    asked = any(called.given.get(name) not in (None, 0) for name in PARTS)
    whole = not asked or called.given.get("should_read_entire_file") is True
    yield from file_use(path_in(called.given), text(called.answer.words or None), whole=whole, failed=called.failed)


def _page(called: CursorCall) -> Iterator[SourceUse | None]:
    # The page as text, cut where it is long: how much of it that is, is not said.
    yield from _served(called, FETCH, {"url": called.given.get("url")})


def _search(called: CursorCall) -> Iterator[SourceUse | None]:
    told = _read_output(called)
    hits = items(told.get("references")) or items(told.get("results"))
    if hits:
        yield from search_uses([fields(hit) for hit in hits], called.answer.words, failed=called.failed)
    else:
        yield from _served(called, SEARCH, {})


def _grep(called: CursorCall) -> Iterator[SourceUse | None]:
    shown = as_printed(_matched(_read_output(called))) or called.answer.words
    yield from match_uses(shown, get_string(called.given.get("path")), failed=called.failed)


def _matched(told: Fields) -> Iterator[str]:
    """The files of which the database keeps lines that a search showed, by the folders that were open."""
    for root, found in fields(fields(told.get("success")).get("workspaceResults")).items():
        for hit in map(fields, items(fields(fields(found).get("content")).get("matches"))):
            name = get_string(hit.get("file"))
            if name is not None:
                yield posixpath.normpath(posixpath.join(root, name))


def _read_output(called: CursorCall) -> Fields:
    return called.told if isinstance(called.told, dict) else fields(json_in(get_string(called.told) or ""))


SOURCES: Mapping[str, Callable[[CursorCall], Iterator[SourceUse | None]]] = MappingProxyType(
    {SHELL: _shell, READ: _file, FETCH: _page, SEARCH: _search, GREP: _grep}
)
