"""What a tool gave back is kept whole while it is small: beyond 64 kB, its beginning, its end, its size and its digest.

The texts of an edit are evidence and are never trimmed.
"""

from types import MappingProxyType

from custody.core.digest import digest_of
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import Json, text_bytes

OUTPUT_BYTES_MAX = 64 * 1024
KEPT_BYTES = 8 * 1024
EDITING = frozenset(
    "Edit MultiEdit Write NotebookEdit StrReplace Delete ApplyPatch apply_patch functions.apply_patch replace"
    " write_file edit write patch multiedit".split()
)
"""Tools whose answers hold the texts of an edit, by every agent's name for them."""
ANSWERS = MappingProxyType(
    {
        "afterShellExecution": "output",
        "afterMCPExecution": "result_json",
        "beforeReadFile": "content",
        "beforeTabFileRead": "content",
        "postToolUse": "tool_output",
    }
)
"""Where Cursor's events hold what a tool gave back; elsewhere such a field may be the text of an edit."""


def trim_event(event: dict[str, Json]) -> dict[str, Json]:
    """The event with what a tool gave back cut to size."""
    kind, payload = event.get("kind"), event.get("payload")
    if kind == "hook" and isinstance(payload, dict) and str(payload.get("tool_name")) not in EDITING:
        answer = ANSWERS.get(str(event.get("event")), "tool_response")
        for name in ("tool_response", "tool_result", "toolResult", answer):
            payload = _cut_field(payload, name)
        return {**event, "payload": payload}
    if kind == "call":
        return _cut_field(event, "output")
    return _cut_field(event, "text") if kind == "source_read" else event


def _cut_field(fields: dict[str, Json], name: str) -> dict[str, Json]:
    return {**fields, name: excerpt_long_texts(fields[name])} if name in fields else fields


def excerpt_long_texts(value: Json) -> Json:
    """``value`` with each long text in it cut to its beginning and its end."""
    if isinstance(value, str):
        return _cut_text(value)
    if isinstance(value, list):
        return [excerpt_long_texts(item) for item in value]
    return {key: excerpt_long_texts(item) for key, item in value.items()} if isinstance(value, dict) else value


def _cut_text(text: str) -> str:
    data = text_bytes(text)
    if len(data) <= OUTPUT_BYTES_MAX:
        return text
    # Cut between characters: half a character at the seam is left out with the rest.
    head = data[:KEPT_BYTES].decode("utf-8", "ignore")
    tail = data[-KEPT_BYTES:].decode("utf-8", "ignore")
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[custody left out {left_out:,} bytes here; the whole was {digest_text(digest_of(data))}]\n{tail}"
