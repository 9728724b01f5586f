"""Lines that opentraces' hook for Claude Code writes into ``.agent-trace/traces.jsonl``: one edit each, without files.

Read as of summer 2026: ``schema`` is ``agent-trace/v0.1.0``, and path, lines, session and call stand beside it. There
is no id, and ``tool`` is not the agent but the tool that it called.
"""

import hashlib

from custody.core.wire.canonical import Json, dump

SCHEMA = "agent-trace/v"
NOT_FOUND = "low"
"""How sure the hook is of lines that it did not find: it then tells the first one."""
_CALL_OF_CLAUDE = "toolu_"
_ID_DIGITS = 32


def convert_to_agent_trace(fields: dict[str, Json]) -> dict[str, Json]:
    """A line of this shape as an Agent Trace record; any other as it is."""
    schema, path, call = fields.get("schema"), fields.get("file_path"), fields.get("tool_use_id")
    if not isinstance(schema, str) or not schema.startswith(SCHEMA) or not isinstance(path, str) or "files" in fields:
        return fields
    found = fields.get("confidence") != NOT_FOUND
    place: Json = {name: fields.get(name) for name in ("start_line", "end_line", "content_hash")}
    said: Json = {"contributor": {"type": "ai"}, "ranges": [place] if found else []}
    agent: Json = {"name": "claude-code"} if isinstance(call, str) and call.startswith(_CALL_OF_CLAUDE) else None
    return {
        "version": schema.removeprefix(SCHEMA),
        "id": f"opentraces-{hashlib.sha256(dump(fields)).hexdigest()[:_ID_DIGITS]}",
        "timestamp": fields.get("timestamp"),
        "tool": agent,
        "files": [{"path": path, "conversations": [said]}],
        "metadata": {"session_id": fields.get("session_id"), "tool_use_id": call},
    }
