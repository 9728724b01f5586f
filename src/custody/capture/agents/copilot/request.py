"""One request of a chat in VS Code: its prompt, its model, and its calls.

The calls and their input come from Copilot's metadata. Calls of subagents appear only among the parts of the answer,
without input. The parts also report changes of files, without the previous text. These count for calls without such
input and for edits without a call, and only for pure insertions: in replacements, the new lines cannot be told from the
old.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from custody.capture.agents.copilot.session_record import ABANDONED, FAILED, OK, CopilotCall, normalize_agent_path
from custody.capture.agents.copilot.tool_calls import (
    EDITING,
    HINT_TOOLS,
    SUBAGENTS,
    extract_file_changes,
    is_tool_error,
    normalize_tool_name,
    parse_call_input,
)
from custody.capture.hook.call_name import strip_tool_call_number
from custody.capture.typed_field import Fields, get_fields, get_items, get_string
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json

# Parts of an answer in VS Code: paths, texts, and the input of calls without metadata. Shapes: chats that people
# exported to public repositories, of Copilot 0.31 to 0.39 (August 2025 to March 2026), and ``chatToolInvocation.ts`` of
# microsoft/vscode at 8c035459. Every part is marked complete; a separate field shows whether a person allowed it.


WORDS_DEPTH_MAX = 60
REFUSED = frozenset((0, 5))
"""Confirmation values of a call that a person denied or skipped."""

_LINK = lazy_pattern(r"\]\((file:///[^)\s]+)\)")
_OPEN = lazy_pattern(r"working in a workspace with the following folders:\s*\n((?:- [^\n]+(?:\n|$))+)")


def path_from_vscode_uri(uri: object) -> str | None:
    """Return the path in a URI as VS Code writes it: its components, or a text."""
    parts = get_fields(uri)
    # ``fsPath`` follows the window's system, which may differ from the file's.
    text = get_string(parts.get("path")) or get_string(parts.get("fsPath"))
    if text is None:
        address = urlsplit(get_string(uri) or get_string(parts.get("external")) or "")
        text = unquote(address.path) or None if address.scheme == "file" else None
    return None if text is None else normalize_agent_path(text)


def extract_open_folders(context: object) -> tuple[str, ...]:
    """Return the open folders that the model's first context names.

    >>> text = "I am working in a workspace with the following folders:\\n- /shop \\n"
    >>> extract_open_folders([{"type": 1, "text": text}])
    ('/shop',)
    """
    match = _OPEN.search(extract_chat_part_text(context))
    return () if match is None else tuple(line[2:].strip() for line in match[1].splitlines())


def extract_chat_part_text(value: object, depth: int = 0) -> str:
    """Return the text of a tool's result, which VS Code stores as a tree of pieces."""
    if isinstance(value, str):
        return value
    if depth > WORDS_DEPTH_MAX:
        return ""
    if isinstance(value, list):
        return "".join(extract_chat_part_text(piece, depth + 1) for piece in value)
    node: dict[str, Any] = value if isinstance(value, dict) else {}
    known = (node.get("text"), node.get("value"), node.get("node"), node.get("content"), node.get("children"))
    return "".join(extract_chat_part_text(piece, depth + 1) for piece in known if piece is not None)


def extract_call_input(part: Fields) -> dict[str, Json]:
    """Return a call's input as its part shows it: a server's input, a command, or the file that was read."""
    shown = get_fields(part.get("toolSpecificData"))
    if shown.get("kind") == "input":
        return dict(get_fields(shown.get("rawInput")))
    command = get_string(get_fields(shown.get("commandLine")).get("original"))
    if command is not None:
        return {"command": command, "isBackground": shown.get("isBackground") is True}
    text = extract_chat_part_text(part.get("pastTenseMessage") or part.get("invocationMessage"))
    link = _LINK.search(text) if get_string(part.get("toolId")) == "copilot_readFile" else None
    if link is None:
        return {}
    address, _, lines = link[1].partition("#")
    arguments: dict[str, Json] = {"filePath": path_from_vscode_uri(address)}
    return {**arguments, "startLine": 1} if lines else arguments


def read_call_state(part: Fields) -> str:
    """Return the state of a call that appears only as a part."""
    value = part.get("isConfirmed")
    refused = value is False or get_fields(value).get("type") in REFUSED
    if refused or part.get("isComplete") is not True:
        return ABANDONED
    ended = get_fields(get_fields(part.get("toolSpecificData")).get("terminalCommandState")).get("exitCode")
    return FAILED if isinstance(ended, int) and ended != 0 else OK


def is_insert_edit(edit: Fields) -> bool:
    """Return whether an edit only inserts text."""
    place = get_fields(edit.get("range"))
    starts, ends = (("startLineNumber", "startColumn"), ("endLineNumber", "endColumn"))
    return bool(place) and [place.get(name) for name in starts] == [place.get(name) for name in ends]


EDIT = "edit_files"
"""VS Code's name for changes without a call."""
NUMBER_MAX = 2**53
AUTO_MODEL = "auto"
"""Model name that means that Copilot chose the model."""
CANCELLED = ("The user cancelled", "User cancelled", "The user chose to skip")
_VENDOR = lazy_pattern(r"^[A-Za-z0-9_.-]+/(?=.)")
_DETAIL = lazy_pattern(r"\s+[•·]\s+.*$", re.DOTALL)


def is_copilot_request(request: Fields) -> bool:
    """Return whether Copilot answered, not another participant of VS Code's chats."""
    agent = get_fields(request.get("agent"))
    name = get_string(agent.get("id"))
    extension = get_string(get_fields(agent.get("extensionId")).get("value")) or ""
    return name is None or name.startswith(("github.copilot", "setup.")) or extension.lower() == "github.copilot-chat"


class ChatRequest:
    """A request and its answer."""

    def __init__(self, fields: Fields, name: str) -> None:
        self.fields = fields
        self.id = name
        self.metadata = get_fields(get_fields(fields.get("result")).get("metadata"))
        at = fields.get("timestamp")
        self.at_ns = at * 1_000_000 if isinstance(at, int) and 0 < at < NUMBER_MAX // 1_000 else 0
        self.session = get_string(self.metadata.get("sessionId"))
        self.version = get_string(get_fields(fields.get("agent")).get("extensionVersion"))

    @property
    def prompt(self) -> str | None:
        """The typed prompt; None for pressed buttons and for requests of the program."""
        if get_string(self.fields.get("confirmation")) or self.fields.get("isSystemInitiated") is True:
            return None
        message = self.fields.get("message")
        typed = get_string(message) or get_string(get_fields(message).get("text"))
        return typed if typed is not None and typed.strip() else None

    @property
    def model(self) -> str | None:
        """The model; if Copilot chose it, the model that answered, else the name that the answer shows."""
        name = _VENDOR.sub("", get_string(self.fields.get("modelId")) or "")
        if name not in ("", AUTO_MODEL):
            return name
        answered = get_string(self.metadata.get("resolvedModel"))
        if answered:
            return answered
        shown = get_string(get_fields(self.fields.get("result")).get("details")) or ""
        name = _DETAIL.sub("", shown).strip() if _DETAIL.search(shown) else ""
        return None if name.lower() in ("", AUTO_MODEL) else name

    @property
    def folders(self) -> tuple[str, ...]:
        """The open folders, if the request names them."""
        return extract_open_folders(self.metadata.get("renderedGlobalContext"))

    def calls(self) -> Iterator[CopilotCall]:
        """Yield the calls of the answer in order, each with the edits that only the answer's parts report."""
        round_calls = list(self._read_call_rounds())
        reported = {
            normalize_agent_path(path)
            for call in round_calls
            if normalize_tool_name(call.tool) not in HINT_TOOLS
            for path in _list_edited_paths(call)
        }
        groups = [(path, new, call) for path, new, call in self._groups() if path not in reported]
        # New lines belong to the call that named their file, else to the call shown before them.
        owners = {
            normalize_agent_path(path): call.id
            for call in round_calls
            if normalize_tool_name(call.tool) in HINT_TOOLS
            for path in _list_input_paths(call)
        }
        own: dict[str | None, list[tuple[str, str]]] = {}
        for path, new, call_id in groups:
            own.setdefault(owners.get(path, call_id), []).append((path, new))
        for call in (*round_calls, *self._subagents(round_calls)):
            yield _add_edit_groups(call, own.pop(call.id, []), self.model)
        loose = [group for some in own.values() for group in some]
        if loose:
            yield _add_edit_groups(CopilotCall(id=self.id, tool=EDIT, arguments={}), loose, self.model)

    def _read_call_rounds(self) -> Iterator[CopilotCall]:
        results = get_fields(self.metadata.get("toolCallResults"))
        for round_ in map(get_fields, get_items(self.metadata.get("toolCallRounds"))):
            for call in map(get_fields, get_items(round_.get("toolCalls"))):
                name, tool = get_string(call.get("id")), get_string(call.get("name"))
                if not name or not tool:
                    continue
                text = extract_chat_part_text(results.get(name))
                state = ABANDONED if text.startswith(CANCELLED) else FAILED if is_tool_error(text) else OK
                yield CopilotCall(
                    id=strip_tool_call_number(name), tool=tool, arguments=call.get("arguments"), state=state, text=text
                )

    def _subagents(self, round_calls: list[CopilotCall]) -> Iterator[CopilotCall]:
        """Yield the calls of subagents, which appear only in the answer's parts."""
        started = [
            get_string(part.get("toolCallId"))
            for part in self._tool_invocations()
            if not _read_subagent_id(part) and _is_subagent_start(part)
        ]
        calls = [call.id for call in round_calls if call.tool in SUBAGENTS]
        parents = dict(zip(started, calls, strict=False))
        last: str | None = None
        for part in self._tool_invocations():
            name, tool = get_string(part.get("toolCallId")), get_string(part.get("toolId"))
            if not _read_subagent_id(part) and _is_subagent_start(part):
                last = name
            # In 2025 a part had a flag for subagents, but no id.
            agent = _read_subagent_id(part) or (last if part.get("fromSubAgent") is True else None)
            if agent is not None and name and tool:
                yield CopilotCall(
                    id=strip_tool_call_number(name),
                    tool=tool,
                    arguments=extract_call_input(part),
                    state=read_call_state(part),
                    subagent=agent,
                    parent=parents.get(agent) or (agent if agent in calls else None),
                )

    def _groups(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield new lines by file, with the call of an editing tool shown before them, if any."""
        last: str | None = None
        for part in map(get_fields, get_items(self.fields.get("response"))):
            kind = part.get("kind")
            if kind == "toolInvocationSerialized":
                edits = normalize_tool_name(get_string(part.get("toolId")) or "") in EDITING
                last = strip_tool_call_number(get_string(part.get("toolCallId")) or "") or None if edits else None
            elif kind == "textEditGroup":
                path = path_from_vscode_uri(part.get("uri"))
                for edit in (get_fields(edit) for some in get_items(part.get("edits")) for edit in get_items(some)):
                    new = get_string(edit.get("text"))
                    if path is not None and new and new.strip() and is_insert_edit(edit):
                        yield path, new, last

    def _tool_invocations(self) -> Iterator[Fields]:
        parts = map(get_fields, get_items(self.fields.get("response")))
        return (part for part in parts if part.get("kind") == "toolInvocationSerialized")


def _add_edit_groups(call: CopilotCall, groups: list[tuple[str, str]], model: str | None) -> CopilotCall:
    return CopilotCall(
        id=call.id,
        tool=call.tool,
        arguments=call.arguments,
        state=call.state,
        text=call.text,
        model=model,
        subagent=call.subagent,
        parent=call.parent,
        groups=tuple(groups) if call.state == OK else (),
    )


def _list_edited_paths(call: CopilotCall) -> list[str]:
    return [
        name
        for change in extract_file_changes(normalize_tool_name(call.tool), parse_call_input(call.arguments))
        for name in change.names
    ]


def _list_input_paths(call: CopilotCall) -> list[str]:
    path: Json = parse_call_input(call.arguments).get("filePath")
    return [path] if isinstance(path, str) else []


def _read_subagent_id(part: Fields) -> str | None:
    return get_string(part.get("subAgentInvocationId"))


def _is_subagent_start(part: Fields) -> bool:
    return normalize_tool_name(get_string(part.get("toolId")) or "") in SUBAGENTS
