"""Conversations inside git-ai notes become transcripts of their agents."""

import json
from typing import Any

from custody.capture.claims.git_ai_conversations import NoteConversations, first_message_time, write_conversation


def a_note(messages: list[Any], *, tool: str = "claude", session: str = "s1", lines: str = "a.py\n  k 1\n") -> bytes:
    prompt = {"agent_id": {"tool": tool, "id": session, "model": "claude-x-1"}, "messages": messages}
    return (lines + "---\n" + json.dumps({"schema_version": "authorship/3.0.0", "prompts": {"k": prompt}})).encode()


ASKED = {"type": "user", "text": "add it", "timestamp": "2026-01-31T12:00:00Z"}
SAID = {"type": "assistant", "text": "sure", "timestamp": "2026-01-31T12:00:01Z"}
EDIT = {
    "type": "tool_use",
    "name": "Edit",
    "input": {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"},
    "timestamp": "2026-01-31T12:00:02Z",
}


def written(*notes: bytes) -> list[list[dict[str, Any]]]:
    conversations = NoteConversations()
    for note in notes:
        conversations.add_note(note)
    found = conversations.by_session.values()
    return [[json.loads(line) for line in write_conversation(one).splitlines()] for one in found]


def test_messages_of_several_notes_are_one_conversation_by_time() -> None:
    ((prompt, said, use, result),) = written(a_note([EDIT, SAID]), a_note([ASKED, SAID]))
    assert (prompt["message"]["content"], said["message"]["content"][0]["text"]) == ("add it", "sure")
    assert (said["message"]["model"], use["message"]["content"][0]["name"]) == ("claude-x-1", "Edit")
    assert result["message"]["content"][0]["tool_use_id"] == use["message"]["content"][0]["id"]
    assert {line["sessionId"] for line in (prompt, said, use, result)} == {"s1"}


def test_only_edits_have_an_end() -> None:
    ((use,),) = written(a_note([{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]))
    assert use["type"] == "assistant"


def test_cursors_conversations_are_cursors_lines() -> None:
    ((prompt,),) = written(a_note([ASKED], tool="cursor"))
    assert prompt == {"role": "user", "message": {"content": [{"type": "text", "text": "add it"}]}}


def test_other_agents_and_damaged_notes_add_nothing() -> None:
    damaged = (b'"messages"', b"---\n{]", a_note(["x", 3]), a_note([ASKED], tool="mock"), a_note([ASKED], session="\0"))
    assert [lines for lines in written(*damaged) if lines] == []


def test_the_size_of_all_messages_is_limited() -> None:
    conversations = NoteConversations(bytes_left=100)
    conversations.add_note(a_note([ASKED, {**SAID, "text": "x" * 500}]))
    (one,) = conversations.by_session.values()
    assert (len(one.messages), conversations.skipped, first_message_time(one)) == (1, 1, ASKED["timestamp"])
