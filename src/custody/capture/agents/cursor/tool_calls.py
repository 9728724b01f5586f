"""What a call of one of Cursor's tools says, whether a hook, the database or a transcript told of it.

Names and inputs: hooks of Cursor 3.19 and git-ai's reader of them (55a1d728, August 2026), transcripts of May 2026, and
the database's tool calls of ``composerData`` 3 to 16 (2025 to July 2026), where a tool is called otherwise
(``edit_file_v2`` for ``StrReplace`` and ``Write``) and its input stands in ``params``, in ``rawArgs`` or in both.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from custody.capture.agents.claude.tool_calls import Done
from custody.capture.agents.codex.patch import changes_in
from custody.capture.agents.codex.tool_calls import Answer, commits_in, facts, written_by
from custody.capture.agents.codex.tool_calls import Given as Command
from custody.capture.agents.codex.tool_calls import edits as patch_edits
from custody.capture.typed_field import Fields, fields, items, string, text
from custody.core.digest import whole_hash
from custody.core.errors import InputError
from custody.core.ids import AgentName, CallId, CommitSha, SessionId
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, Text, View
from custody.core.wire.canonical import Json, parse, text_bytes
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
READ_FROM_TEXT = ":shell:"
"""In the id of an edit that only its own text tells: what was seen on disk around it says more."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A call with what it was given and what it gave back; ``before`` and ``after`` where the whole file was kept."""

    agent: AgentName
    session: SessionId
    call: CallId
    at_ns: int
    tool: str
    given: Fields
    patch: str | None = None
    answer: Answer = field(default_factory=Answer)
    told: object = None
    failed: bool = False
    before: Text | None = None
    after: Text | None = None
    revision: CommitSha | None = None
    locate: Callable[[object], RepoPath | None]
    """A path of the repository for a path as written; None for one outside it, or that is no path."""

    @property
    def kind(self) -> str | None:
        """What the tool does; None for one that nothing is made of."""
        return kind_of(self.tool)

    def done(self, tool: str, given: Fields, response: Fields) -> Done:
        """The call in the shape that Claude Code's have."""
        return Done(
            agent=self.agent,
            session=self.session,
            call=self.call,
            at_ns=self.at_ns,
            tool=tool,
            input=given,
            response=response,
            revision=self.revision,
            words=self.answer.words,
            failed=self.failed,
            locate=self.locate,
        )


def kind_of(tool: str) -> str | None:
    """What a tool does, by any of its names.

    >>> kind_of("StrReplace"), kind_of("edit_file_v2"), kind_of("TodoWrite")
    ('replace', 'replace', None)
    """
    return KINDS.get(tool.lower().removesuffix("_v2"))


def model_of(said: object) -> str | None:
    """The name of a model; None where it is not told which."""
    named = string(said)
    return None if named is None or named.strip().lower() in UNKNOWN_MODELS else named


def typed(said: str) -> str:
    r"""What a person typed of a prompt: what Cursor put before it is left out, and nothing is left of its own messages.

    >>> typed("<timestamp>Monday, Jun 8, 2026, 11:48 PM (UTC-7)</timestamp>\nmake it so"), typed("make it so")
    ('make it so', 'make it so')
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
    found: dict[str, Any] = {}
    patch = None
    for one in said:
        value = json_in(one) if isinstance(one, str) else one
        found |= fields(value)
        patch = one if isinstance(one, str) and value is None and one.strip() else patch
    return found, patch or next((found[name] for name in ("patch", "input") if isinstance(found.get(name), str)), None)


def answer_of(said: object) -> Answer:
    """What a tool gave back: an object, one as JSON in a text, or words.

    >>> answer = answer_of('{"exitCode": 1, "stdout": "no"}')
    >>> answer.words, answer.code
    ('no', 1)
    """
    value = json_in(said) if isinstance(said, str) else said
    if not isinstance(value, dict):
        return Answer(string(said) or "")
    words = next((value[name] for name in WORDS if isinstance(value.get(name), str)), "")
    code = value.get("exitCode", value.get("exit_code"))
    return Answer(words, code if isinstance(code, int) and not isinstance(code, bool) else None)


def path_in(given: Fields) -> str | None:
    """The file that a call names, as written or in a ``file:`` address."""
    named = next((given[name] for name in PATHS if isinstance(given.get(name), str) and given[name]), None)
    return named if named is None or not named.startswith(FILE) else unquote(named.removeprefix(FILE))


def json_in(said: str) -> Json:
    """The object or list that a text is as JSON; None where it is none."""
    try:
        return parse(said.encode("utf-8", "surrogatepass")) if said.lstrip()[:1] in ("{", "[") else None
    except InputError:
        return None  # words that only begin like JSON


# --- files ------------------------------------------------------------------------------------------------------------


def edited(called: Called) -> list[str]:
    """The files that the call changed, as written."""
    if called.failed:
        return []
    if called.kind == PATCH:
        return [name for change in changes_in(called.patch or "") for name in change.names]
    if called.kind == SHELL:
        return [_below(called, write.path) for write in written_by(_command(called), called.answer)]
    named = path_in(called.given)
    return [] if named is None or called.kind not in EDITING else [named]


def edits(called: Called) -> Iterator[FileEdit]:
    """The edits that the call made, by its own text or as the whole file was kept."""
    if called.failed:
        return
    if called.after is None and called.kind == PATCH:
        yield from patch_edits(called.done(called.tool, called.given, {}), changes_in(called.patch or ""))
    elif called.kind in EDITING:
        path = called.locate(path_in(called.given))
        pieces = () if path is None else _texts(called)
        for n, (before, after, part) in enumerate(pieces):
            assert path is not None, "there are no pieces without it"
            yield edit_of(called, path, n, before, after, part=part)


def _texts(called: Called) -> Iterator[tuple[Text | None, Text | None, bool]]:
    """The file, or each piece of it, before and after, and whether it is a piece."""
    given = called.given
    if called.after is not None:
        yield called.before, called.after, False
    elif called.kind == DELETE:
        yield None, text_view(""), False
    elif called.kind == WRITE and "streamingContent" not in given:
        content = next((text(given[name]) for name in CONTENTS if name in given), None)
        yield from () if content is None else ((None, content, False),)
    elif "streamingContent" in given and "new_string" not in given:
        # The text of an edit as it was streamed: which part of the file it is, is not told.
        yield text_view(""), text(given["streamingContent"]), True
    else:
        yield from pieces_of([given, *items(given.get("edits"))])


def pieces_of(said: list[Any]) -> Iterator[tuple[Text | None, Text | None, bool]]:
    """Replacements, each before and after; one of nothing makes the file."""
    for one in map(fields, said):
        old, new = text(one.get("old_string")), text(one.get("new_string"))
        if new is None or old == new:
            continue
        whole = old is None or old.content == ""
        yield (None, new, False) if whole else (old, new, True)


def edit_of(called: Called, path: RepoPath, n: int, before: Text | None, after: Text | None, *, part: bool) -> FileEdit:
    """An edit of a call."""
    known = None if after is None else after.content
    return FileEdit(
        agent=called.agent,
        session=called.session,
        id=f"{called.call}{READ_FROM_TEXT}{n}",
        path=path,
        at_ns=called.at_ns,
        call=called.call,
        revision=called.revision,
        before=before,
        after=after,
        hashes=() if known is None else (whole_hash(text_bytes(known)),),
        part=part,
    )


# --- commands ---------------------------------------------------------------------------------------------------------


def written(called: Called) -> Iterator[FileEdit]:
    """The files that a command wrote by its own text; where files were looked at around it, that knows better."""
    for n, write in enumerate(written_by(_command(called), called.answer)):
        path = called.locate(_below(called, write.path))
        if path is not None:
            before = text_view("") if write.append else None
            yield edit_of(called, path, n, before, text_view(write.text), part=write.append)


def commits_of(called: Called) -> tuple[str, ...]:
    """The commits that a command made, as git's own words name them."""
    ran = called.kind == SHELL and not called.failed
    return tuple(commits_in(string(called.given.get("command")), called.answer)) if ran else ()


def git_facts(called: Called, known: Mapping[str, str | None]) -> Iterator[View]:
    """The commits that a command made, where ``known`` has them, and the pull request that it opened."""
    if called.kind == SHELL:
        given = {"command": called.given.get("command")}
        answer = replace(called.answer, code=1) if called.failed else called.answer
        yield from facts(called.done("Bash", given, {}), answer, dict(known))


def _command(called: Called) -> Command:
    command = string(called.given.get("command"))
    behind = called.given.get("is_background") is True or called.given.get("isBackground") is True
    return Command(command if called.kind == SHELL and not called.failed and not behind else None)


def _below(called: Called, name: str) -> str:
    folder = next((called.given[key] for key in ("working_directory", "cwd") if called.given.get(key)), "")
    return posixpath.join(folder, name) if isinstance(folder, str) else name
