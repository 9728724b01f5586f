"""Conversations inside git-ai notes, written as transcripts that the agents' readers read.

git-ai stores prompts, messages and calls of a session beside its lines (``prompts``, until spring 2026), and repeats
them in later notes. It stores no results. A transcript of Claude Code has an edit only with its result, so each edit
gets an empty one: the lines of an edit that failed are in no commit, and text decides.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from custody.capture.claims.git_ai import DIVIDER, make_session_claim
from custody.core.errors import InputError
from custody.core.wire.canonical import Json, dump_canonical_json, parse_json_bytes

NOTE_BYTES_MAX = 64 << 20
CONVERSATIONS_BYTES_MAX = 512 << 20
"""Maximum size of all messages of an import; the rest is counted and skipped."""
EDIT_TOOLS = frozenset(("Edit", "MultiEdit", "Write", "NotebookEdit"))
_MARK = b'"messages"'
_FILE_FIELDS = ("file_path", "notebook_path")


class NoteConversation(Struct):
    """The messages of one session, each once and in the order of their first notes."""

    agent: str
    session: str
    model: str | None = None
    messages: dict[bytes, dict[str, Json]] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    """The agent's folders, the innermost first, if its calls show them."""


class NoteConversations(Struct):
    """The conversations of all notes so far, within a limit."""

    by_session: dict[tuple[str, str], NoteConversation] = field(default_factory=dict)
    bytes_left: int = CONVERSATIONS_BYTES_MAX
    skipped: int = 0
    """Messages over the limit."""

    def add_note(self, data: bytes) -> None:
        """Add the messages of a note; a note that cannot be read adds nothing."""
        if _MARK not in data or len(data) > NOTE_BYTES_MAX:
            return
        _, divider, metadata = data.rpartition(f"\n{DIVIDER}\n".encode())
        try:
            value = parse_json_bytes(metadata if divider else data, bytes_max=NOTE_BYTES_MAX)
        except InputError:
            return  # reported with the note's lines
        prompts = value.get("prompts") if isinstance(value, dict) else None
        for prompt in prompts.values() if isinstance(prompts, dict) else ():
            if isinstance(prompt, dict):
                self._add_prompt(prompt)

    def _add_prompt(self, prompt: Mapping[str, Json]) -> None:
        agent, messages = prompt.get("agent_id"), prompt.get("messages")
        if not isinstance(agent, dict) or not isinstance(messages, list):
            return
        tool, session, model = (agent.get(name) for name in ("tool", "id", "model"))
        if not isinstance(tool, str) or not isinstance(session, str):
            return
        claim = make_session_claim(tool, session, model if isinstance(model, str) else None)
        if claim is None or claim.agent not in WRITERS:
            return
        key = (claim.agent, claim.session)
        conversation = self.by_session.setdefault(key, NoteConversation(claim.agent, claim.session))
        conversation.model = claim.model or conversation.model
        for message in messages:
            if isinstance(message, dict):
                self._add_message(conversation, message)

    def _add_message(self, conversation: NoteConversation, message: dict[str, Json]) -> None:
        encoded = dump_canonical_json(message)
        digest = hashlib.sha256(encoded).digest()[:16]
        if digest in conversation.messages:
            return
        if len(encoded) > self.bytes_left:
            self.skipped += 1
            return
        self.bytes_left -= len(encoded)
        conversation.messages[digest] = message


def list_file_names(conversation: NoteConversation) -> list[str]:
    """Return the names of the files that the calls of a conversation name."""
    inputs = (message.get("input") for message in conversation.messages.values())
    names = (value.get(field) for value in inputs if isinstance(value, dict) for field in _FILE_FIELDS)
    return [name for name in names if isinstance(name, str)]


def write_conversation(conversation: NoteConversation, folders: Sequence[str] = ()) -> bytes:
    """Return a conversation as a transcript of its agent, by time; empty without a message that can be read.

    A call about a file has the first of ``folders`` that holds the file as its folder; notes do not name it.
    """
    messages = list(conversation.messages.items())
    if all(isinstance(message.get("timestamp"), str) for _, message in messages):
        messages.sort(key=lambda item: str(item[1]["timestamp"]))
    values = WRITERS[conversation.agent](replace(conversation, messages=dict(messages), folders=tuple(folders)))
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


def first_message_time(conversation: NoteConversation) -> str | None:
    """Return the time of the first message that has one."""
    times = (message.get("timestamp") for message in conversation.messages.values())
    return next((time for time in times if isinstance(time, str)), None)


def _write_claude_lines(conversation: NoteConversation) -> Iterator[dict[str, Json]]:
    for digest, message in conversation.messages.items():
        name = f"git-ai-{digest.hex()}"
        line: dict[str, Json] = {"uuid": name, "sessionId": conversation.session, "isSidechain": False}
        if isinstance(message.get("timestamp"), str):
            line["timestamp"] = message["timestamp"]
        folder = _find_folder(conversation, message.get("input"))
        if folder is not None:
            line["cwd"] = folder
        kind, text = message.get("type"), message.get("text")
        if kind == "user" and isinstance(text, str):
            yield {**line, "type": "user", "message": {"role": "user", "content": text}}
        elif kind == "assistant" and isinstance(text, str):
            yield _claude_message(line, conversation, [{"type": "text", "text": text}])
        elif kind == "tool_use" and isinstance(message.get("name"), str):
            use: Json = {"type": "tool_use", "id": name, "name": message["name"], "input": message.get("input")}
            yield _claude_message(line, conversation, [use])
            if message["name"] in EDIT_TOOLS:
                result: Json = {"type": "tool_result", "tool_use_id": name, "content": ""}
                answer: Json = {"role": "user", "content": [result]}
                yield {**line, "uuid": f"{name}-end", "type": "user", "message": answer}


def _find_folder(conversation: NoteConversation, given: Json) -> str | None:
    """Return the agent's folder that holds the file of a call."""
    names = [given.get(field) for field in _FILE_FIELDS] if isinstance(given, dict) else []
    files = [name for name in names if isinstance(name, str)]
    return next((folder for folder in conversation.folders for file in files if file.startswith(f"{folder}/")), None)


def _claude_message(line: dict[str, Json], conversation: NoteConversation, blocks: Sequence[Json]) -> dict[str, Json]:
    message: Json = {"role": "assistant", "model": conversation.model, "content": list(blocks)}
    return {**line, "type": "assistant", "message": message}


def _write_cursor_lines(conversation: NoteConversation) -> Iterator[dict[str, Json]]:
    for message in conversation.messages.values():
        kind, text = message.get("type"), message.get("text")
        if kind in ("user", "assistant") and isinstance(text, str):
            yield {"role": kind, "message": {"content": [{"type": "text", "text": text}]}}
        elif kind == "tool_use" and isinstance(message.get("name"), str):
            use: Json = {"type": "tool_use", "name": message["name"], "input": message.get("input")}
            yield {"role": "assistant", "message": {"content": [use]}}


WRITERS: Mapping[str, Callable[[NoteConversation], Iterator[dict[str, Json]]]] = MappingProxyType(
    {"claude-code": _write_claude_lines, "cursor": _write_cursor_lines}
)
"""How the conversations of an agent are written; those of other agents in notes are rare, and are skipped."""
