"""One request of a chat in VS Code: what was asked, of which model, and the calls that came of it.

The calls are those of Copilot's own metadata, with what they were given. Calls of subagents stand among the parts of
the answer only, without their input. What changed in a file is told there too, without what was there before: that
counts for calls whose input does not say it, and for edits without a call, and only where lines were put in between
others. Where lines were replaced, nobody can tell which of the new ones were there before.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from custody.capture.agents.copilot.kept_record import ABANDONED, FAILED, OK, CopilotCall, normalize_slashes
from custody.capture.agents.copilot.tool_calls import (
    EDITING,
    HINTED,
    SUBAGENTS,
    changes_by,
    is_error,
    parse_call_input,
    plain,
)
from custody.capture.hook.call_name import strip_call_number
from custody.capture.typed_field import Fields, fields, get_string, items
from custody.core.wire.canonical import Json

# What single parts of an answer in VS Code tell: paths, words, and of a call that only a part tells of its input.
# Shapes: chats that people exported and put into public repositories, of Copilot 0.31 to 0.39 (August 2025 to March
# 2026), and ``chatToolInvocation.ts`` of microsoft/vscode at 8c035459. A part is told as complete whatever became of
# it: whether a person let it run is told beside that.


WORDS_DEPTH_MAX = 60
REFUSED = frozenset((0, 5))
"""How a person answered who did not let a call run: denied, skipped."""

_LINK = re.compile(r"\]\((file:///[^)\s]+)\)")
_OPEN = re.compile(r"working in a workspace with the following folders:\s*\n((?:- [^\n]+(?:\n|$))+)")


def path_of(uri: object) -> str | None:
    """The path in an address as VS Code writes it: its parts, or a text."""
    parts = fields(uri)
    # The path for the file system is spelt as that of the window's system, which may be another than the file's.
    said = get_string(parts.get("path")) or get_string(parts.get("fsPath"))
    if said is None:
        address = urlsplit(get_string(uri) or get_string(parts.get("external")) or "")
        said = unquote(address.path) or None if address.scheme == "file" else None
    return None if said is None else normalize_slashes(said)


def folders_in(context: object) -> tuple[str, ...]:
    """The folders that were open, where what a model was told first names them.

    >>> folders_in([{"type": 1, "text": "I am working in a workspace with the following folders:\\n- /shop \\n"}])
    ('/shop',)
    """
    named = _OPEN.search(extract_part_text(context))
    return () if named is None else tuple(line[2:].strip() for line in named[1].splitlines())


def extract_part_text(value: object, depth: int = 0) -> str:
    """The text of a tool's result, which VS Code keeps as a tree of pieces."""
    if isinstance(value, str):
        return value
    if depth > WORDS_DEPTH_MAX:
        return ""
    if isinstance(value, list):
        return "".join(extract_part_text(piece, depth + 1) for piece in value)
    node: dict[str, Any] = value if isinstance(value, dict) else {}
    known = (node.get("text"), node.get("value"), node.get("node"), node.get("content"), node.get("children"))
    return "".join(extract_part_text(piece, depth + 1) for piece in known if piece is not None)


def given_by(part: Fields) -> dict[str, Json]:
    """What a call was given, as far as its part shows it: a server's input, a command, the file that was read."""
    shown = fields(part.get("toolSpecificData"))
    if shown.get("kind") == "input":
        return dict(fields(shown.get("rawInput")))
    command = get_string(fields(shown.get("commandLine")).get("original"))
    if command is not None:
        return {"command": command, "isBackground": shown.get("isBackground") is True}
    said = extract_part_text(part.get("pastTenseMessage") or part.get("invocationMessage"))
    link = _LINK.search(said) if get_string(part.get("toolId")) == "copilot_readFile" else None
    if link is None:
        return {}
    address, _, lines = link[1].partition("#")
    given: dict[str, Json] = {"filePath": path_of(address)}
    return {**given, "startLine": 1} if lines else given


def state_of(part: Fields) -> str:
    """How a call ended of which only a part tells."""
    said = part.get("isConfirmed")
    refused = said is False or fields(said).get("type") in REFUSED
    if refused or part.get("isComplete") is not True:
        return ABANDONED
    ended = fields(fields(part.get("toolSpecificData")).get("terminalCommandState")).get("exitCode")
    return FAILED if isinstance(ended, int) and ended != 0 else OK


def inserts(edit: Fields) -> bool:
    """Whether an edit puts text between two places that are one."""
    place = fields(edit.get("range"))
    starts, ends = (("startLineNumber", "startColumn"), ("endLineNumber", "endColumn"))
    return bool(place) and [place.get(name) for name in starts] == [place.get(name) for name in ends]


EDIT = "edit_files"
"""What an answer changed without a call, by VS Code's own name for it."""
NUMBER_MAX = 2**53
CHOSEN = "auto"
"""What stands where a model should where Copilot chose it."""
CANCELLED = ("The user cancelled", "User cancelled", "The user chose to skip")
_VENDOR = re.compile(r"^[A-Za-z0-9_.-]+/(?=.)")
_DETAIL = re.compile(r"\s+[•·]\s+.*$", re.DOTALL)


def is_copilots(request: Fields) -> bool:
    """Whether Copilot answered, and not another participant of VS Code's chats."""
    agent = fields(request.get("agent"))
    named = get_string(agent.get("id"))
    extension = get_string(fields(agent.get("extensionId")).get("value")) or ""
    return named is None or named.startswith(("github.copilot", "setup.")) or extension.lower() == "github.copilot-chat"


class ChatRequest:
    """A request and its answer."""

    def __init__(self, said: Fields, named: str) -> None:
        self.said = said
        self.named = named
        self.metadata = fields(fields(said.get("result")).get("metadata"))
        at = said.get("timestamp")
        self.at_ns = at * 1_000_000 if isinstance(at, int) and 0 < at < NUMBER_MAX // 1_000 else 0
        self.session = get_string(self.metadata.get("sessionId"))
        self.version = get_string(fields(said.get("agent")).get("extensionVersion"))

    @property
    def prompt(self) -> str | None:
        """What a person typed; a button that was pressed and what the program sent itself are no words of theirs."""
        if get_string(self.said.get("confirmation")) or self.said.get("isSystemInitiated") is True:
            return None
        message = self.said.get("message")
        typed = get_string(message) or get_string(fields(message).get("text"))
        return typed if typed is not None and typed.strip() else None

    @property
    def model(self) -> str | None:
        """The model; where it was chosen for the user, the one that answered, else the name that the answer shows."""
        named = _VENDOR.sub("", get_string(self.said.get("modelId")) or "")
        if named not in ("", CHOSEN):
            return named
        answered = get_string(self.metadata.get("resolvedModel"))
        if answered:
            return answered
        shown = get_string(fields(self.said.get("result")).get("details")) or ""
        named = _DETAIL.sub("", shown).strip() if _DETAIL.search(shown) else ""
        return None if named.lower() in ("", CHOSEN) else named

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that were open, where the request tells it."""
        return folders_in(self.metadata.get("renderedGlobalContext"))

    def calls(self) -> Iterator[CopilotCall]:
        """The calls of the answer, in order, each with the files that only the answer's parts tell of."""
        made = list(self._made())
        told = {normalize_slashes(path) for call in made if plain(call.tool) not in HINTED for path in _names(call)}
        groups = [(path, new, call) for path, new, call in self._groups() if path not in told]
        # New lines of a file go to the call that named it, else to the one that was shown before them.
        owners = {
            normalize_slashes(path): call.id for call in made if plain(call.tool) in HINTED for path in _hinted(call)
        }
        own: dict[str | None, list[tuple[str, str]]] = {}
        for path, new, call_id in groups:
            own.setdefault(owners.get(path, call_id), []).append((path, new))
        for call in (*made, *self._subagents(made)):
            yield _with(call, own.pop(call.id, []), self.model)
        loose = [group for some in own.values() for group in some]
        if loose:
            yield _with(CopilotCall(id=self.named, tool=EDIT, given={}), loose, self.model)

    def _made(self) -> Iterator[CopilotCall]:
        results = fields(self.metadata.get("toolCallResults"))
        for round_ in map(fields, items(self.metadata.get("toolCallRounds"))):
            for call in map(fields, items(round_.get("toolCalls"))):
                named, tool = get_string(call.get("id")), get_string(call.get("name"))
                if not named or not tool:
                    continue
                words = extract_part_text(results.get(named))
                state = ABANDONED if words.startswith(CANCELLED) else FAILED if is_error(words) else OK
                yield CopilotCall(
                    id=strip_call_number(named), tool=tool, given=call.get("arguments"), state=state, words=words
                )

    def _subagents(self, made: list[CopilotCall]) -> Iterator[CopilotCall]:
        """The calls of subagents, which only the parts of the answer tell."""
        started = [get_string(part.get("toolCallId")) for part in self._invoked() if not _agent(part) and _starts(part)]
        calls = [call.id for call in made if call.tool in SUBAGENTS]
        parents = dict(zip(started, calls, strict=False))
        last: str | None = None
        for part in self._invoked():
            named, tool = get_string(part.get("toolCallId")), get_string(part.get("toolId"))
            if not _agent(part) and _starts(part):
                last = named
            # In 2025 a part said that it is a subagent's, and not of which.
            agent = _agent(part) or (last if part.get("fromSubAgent") is True else None)
            if agent is not None and named and tool:
                yield CopilotCall(
                    id=strip_call_number(named),
                    tool=tool,
                    given=given_by(part),
                    state=state_of(part),
                    subagent=agent,
                    parent=parents.get(agent) or (agent if agent in calls else None),
                )

    def _groups(self) -> Iterator[tuple[str, str, str | None]]:
        """New lines by file, and the call that was shown before them if it was one of an editing tool."""
        last: str | None = None
        for part in map(fields, items(self.said.get("response"))):
            kind = part.get("kind")
            if kind == "toolInvocationSerialized":
                edits = plain(get_string(part.get("toolId")) or "") in EDITING
                last = strip_call_number(get_string(part.get("toolCallId")) or "") or None if edits else None
            elif kind == "textEditGroup":
                path = path_of(part.get("uri"))
                for edit in (fields(edit) for some in items(part.get("edits")) for edit in items(some)):
                    new = get_string(edit.get("text"))
                    if path is not None and new and new.strip() and inserts(edit):
                        yield path, new, last

    def _invoked(self) -> Iterator[Fields]:
        parts = map(fields, items(self.said.get("response")))
        return (part for part in parts if part.get("kind") == "toolInvocationSerialized")


def _with(call: CopilotCall, groups: list[tuple[str, str]], model: str | None) -> CopilotCall:
    return CopilotCall(
        id=call.id,
        tool=call.tool,
        given=call.given,
        state=call.state,
        words=call.words,
        model=model,
        subagent=call.subagent,
        parent=call.parent,
        groups=tuple(groups) if call.state == OK else (),
    )


def _names(call: CopilotCall) -> list[str]:
    return [name for change in changes_by(plain(call.tool), parse_call_input(call.given)) for name in change.names]


def _hinted(call: CopilotCall) -> list[str]:
    path: Json = parse_call_input(call.given).get("filePath")
    return [path] if isinstance(path, str) else []


def _agent(part: Fields) -> str | None:
    return get_string(part.get("subAgentInvocationId"))


def _starts(part: Fields) -> bool:
    return plain(get_string(part.get("toolId")) or "") in SUBAGENTS
