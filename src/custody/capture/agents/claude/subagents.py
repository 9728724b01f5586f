"""Subagents in Claude Code's transcripts: which call started each, and their lines inside the parent's file.

The parent's file repeats calls and results of its subagents as ``agent_progress``. Subagents of some versions have no
file of their own, so that nothing else shows their edits and failures.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from custody.capture.agents.claude.views import list_message_blocks, list_tool_results
from custody.capture.line_reader import FileLine, read_json_object, read_small_agent_file
from custody.capture.transcripts import SubagentLaunch, check_line_timestamp, is_transcript_id
from custody.capture.typed_field import first_payload_string, get_fields, get_items, get_string
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json

SUFFIX = ".jsonl"
PROGRESS = "agent_progress"

_AGENT_ID = lazy_pattern(r"\bagentId: ([0-9A-Za-z_-]{1,100})")
_PROGRESS_FIELDS = ("uuid", "type", "sessionId", "version", "cwd", "parentToolUseID")
_MESSAGE_FIELDS = ("role", "model", "content")


def unwrap_progress_line(value: dict[str, Json]) -> dict[str, Json]:
    """Return the subagent's message inside a progress line, at its own time; any other line unchanged."""
    data = get_fields(value.get("data"))
    line = get_fields(data.get("message"))
    message = get_fields(line.get("message"))
    if data.get("type") != PROGRESS or line.get("type") not in ("assistant", "user"):
        return value
    facts: dict[str, Json] = {"type": PROGRESS, "agentId": data.get("agentId")}
    unwrapped: dict[str, Json] = {name: value[name] for name in _PROGRESS_FIELDS if name in value}
    unwrapped["timestamp"] = value.get("timestamp")
    if isinstance(check_line_timestamp(0, line.get("timestamp")), str):
        # The parent repeats a message a little later; the subagent's own file has the message's time.
        unwrapped["timestamp"] = line["timestamp"]
    if "toolUseResult" in line:
        unwrapped["toolUseResult"] = line["toolUseResult"]
    return {**unwrapped, "data": facts, "message": {name: message[name] for name in _MESSAGE_FIELDS if name in message}}


def list_started_calls(line: dict[str, Json]) -> list[str]:
    """Return the calls that start on a line."""
    uses = (block for block in list_message_blocks(line) if block.get("type") == "tool_use")
    return [call for use in uses if (call := get_string(use.get("id")))]


def find_subagent_launches(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """Yield launches from progress lines, from results that name a subagent, and from a subagent's metadata file."""
    known: set[bytes] = set()
    for line in lines:
        if b"agentId" not in line.data or (b'"agent_progress"' not in line.data and b"tool_result" not in line.data):
            continue
        mark = _extract_subagent_progress_key(line.data)
        if mark is not None and mark in known:
            continue
        for started in _parse_subagent_launches(line.data):
            if mark is not None:
                known.add(mark)
            yield started
    yield from _read_subagent_metadata(file)


def _extract_subagent_progress_key(data: bytes) -> bytes | None:
    """Return the key that all progress lines of one subagent share; None for other lines."""
    if b'"agent_progress"' not in data:
        return None
    at, by = data.rfind(b'"agentId":"'), data.rfind(b'"parentToolUseID":"')
    return data[at : at + 120].split(b",")[0] + data[by : by + 220].split(b",")[0] if at >= 0 and by >= 0 else None


def _parse_subagent_launches(data: bytes) -> Iterator[SubagentLaunch]:
    value = read_json_object(data)  # a damaged line is reported when it is read in full
    session = get_string(value.get("sessionId")) or ""
    name, call = get_string(get_fields(value.get("data")).get("agentId")), get_string(value.get("parentToolUseID"))
    if value.get("type") == "progress":
        if name is not None and call is not None:
            yield SubagentLaunch(session, name, call)
        return
    results = list_tool_results(value)
    for result in results:
        name = get_string(get_fields(value.get("toolUseResult")).get("agentId")) if len(results) == 1 else None
        match = _AGENT_ID.search(_join_message_text(result.get("content")))
        call = get_string(result.get("tool_use_id"))
        if name is None and match is not None and value.get("isSidechain") is True:
            # A subagent's own file has no structured results: only the text names the agents that it started.
            name = match[1]
        if name is not None and call is not None:
            yield SubagentLaunch(session, name, call)


def _read_subagent_metadata(file: Path) -> Iterator[SubagentLaunch]:
    """Yield the launch from the metadata file beside a subagent's transcript, in versions that write one."""
    meta = file.with_name(file.name.removesuffix(SUFFIX) + ".meta.json")
    # Optional: the transcripts usually contain the same.
    fields = read_json_object(read_small_agent_file(meta)) if file.name.startswith("agent-") else {}
    names = ("toolUseId", "toolUseID", "tool_use_id", "parentToolUseId", "parentToolUseID")
    call = first_payload_string(fields, names)
    if call is not None:
        agent = file.name.removeprefix("agent-").removesuffix(SUFFIX)
        yield SubagentLaunch(get_string(fields.get("sessionId")) or session_from_file_name(file), agent, call)


def _join_message_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return " ".join(get_string(get_fields(block).get("text")) or "" for block in get_items(content))


def session_from_file_name(file: Path) -> str:
    """Return the session by its file: ``<session>.jsonl`` or ``<session>/subagents/agent-….jsonl``."""
    name = file.parent.parent.name if file.parent.name == "subagents" else file.name.removesuffix(SUFFIX)
    return name if is_transcript_id(name) else "unknown"
