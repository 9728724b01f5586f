"""Bodies: long texts that are stored once and can be erased, excerpts of large outputs, outlines without texts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import Digest, digest_from_bytes
from custody.core.views import (
    AuthorClaim,
    Change,
    CommandRecord,
    CommitLink,
    Decision,
    DuplicateAnswer,
    FileEdit,
    FileState,
    HunkRead,
    Observation,
    ObservedCommit,
    ObservedSpan,
    Prompt,
    PullRequestFact,
    Session,
    Source,
    SourceAccess,
    Text,
    ToolCall,
    TracedFile,
    View,
)
from custody.core.wire.canonical import (
    EVENT_BYTES_MAX,
    Json,
    decode_json_text,
    describe_conversion_error,
    dump_canonical_json,
    encode_json_text,
    parse_json_bytes,
)

TEXT_BYTES_MAX = 4096
"""Maximum bytes of a text in a payload; a longer text becomes its own body."""
COMMAND_CHARACTERS_SHARED = 500
"""Maximum length of a command in an outline, as for the subject of a call."""

_BODY, _ERASED, _LITERAL = "$body", "$erased", "$literal"
_MARKS = frozenset((_BODY, _ERASED, _LITERAL))
_PREFIX = "sha256:"


class SplitPayload(Struct, frozen=True):
    """A payload without its long texts, and those texts by digest."""

    payload: Json
    texts: Mapping[Digest, bytes]


def split_payload_texts(payload: Json) -> SplitPayload:
    """Split the texts over 4 kB off from ``payload``."""
    texts: dict[Digest, bytes] = {}
    return SplitPayload(_extract_payload_texts(payload, texts), texts)


def may_have_payload_mark(data: bytes) -> bool:
    """Return whether the canonical form of a payload may have an object that ``split_payload_texts`` marks or made."""
    return b'{"$' in data


def join_payload_texts(payload: Json, texts: Mapping[Digest, bytes | None]) -> Json:
    """Put the texts back into ``payload``; a missing text or None was erased."""
    if isinstance(payload, list):
        return [join_payload_texts(item, texts) for item in payload]
    if not isinstance(payload, dict):
        return payload
    mark, inner = _read_payload_mark(payload)
    if mark == _LITERAL and isinstance(inner, dict):
        return {key: join_payload_texts(item, texts) for key, item in inner.items()}
    if mark == _BODY and isinstance(inner, str):
        text = texts.get(parse_digest(inner))
        return {_ERASED: inner} if text is None else decode_json_text(text)
    return {key: join_payload_texts(item, texts) for key, item in payload.items()}


def list_payload_digests(payload: Json) -> frozenset[Digest]:
    """Return the digests of the texts that were split off from a stored payload."""
    if isinstance(payload, list):
        return frozenset().union(*(list_payload_digests(item) for item in payload))
    if not isinstance(payload, dict):
        return frozenset()
    mark, inner = _read_payload_mark(payload)
    if mark == _BODY and isinstance(inner, str):
        return frozenset((parse_digest(inner),))
    if mark == _LITERAL and isinstance(inner, dict):
        return frozenset().union(*(list_payload_digests(item) for item in inner.values()))
    return frozenset().union(*(list_payload_digests(item) for item in payload.values()))


def format_digest(digest: bytes) -> str:
    """Format a digest as it is written outside the database.

    >>> format_digest(bytes(32))[:15]
    'sha256:00000000'
    """
    return _PREFIX + digest.hex()


def parse_digest(text: str) -> Digest:
    """Parse the output of ``format_digest``."""
    try:
        raw = bytes.fromhex(text.removeprefix(_PREFIX))
    except ValueError as error:
        raise InputError(f"'{text[:80]}' is not a digest", hint="a digest is 'sha256:' and 64 hex digits") from error
    if len(raw) != 32 or format_digest(raw) != text:
        raise InputError(f"'{text[:80]}' is not a digest", hint="a digest is 'sha256:' and 64 lower-case hex digits")
    return Digest(raw)


def _extract_payload_texts(value: Json, texts: dict[Digest, bytes]) -> Json:
    if isinstance(value, str) and len(value) * 4 > TEXT_BYTES_MAX:
        data = encode_json_text(value)
        if len(data) <= TEXT_BYTES_MAX:
            return value
        digest = digest_from_bytes(data)
        texts[digest] = data
        return {_BODY: format_digest(digest)}
    if isinstance(value, list):
        return [_extract_payload_texts(item, texts) for item in value]
    if isinstance(value, dict):
        extracted: dict[str, Json] = {key: _extract_payload_texts(item, texts) for key, item in value.items()}
        return {_LITERAL: extracted} if _read_payload_mark(value)[0] else extracted
    return value


def _read_payload_mark(value: dict[str, Json]) -> tuple[str | None, Json]:
    if len(value) == 1:
        ((key, inner),) = value.items()
        if key in _MARKS:
            return key, inner
    return None, None


# A tool's output is stored whole up to 64 kB. Of a longer output custody stores its beginning, end, size and digest.
# The texts of an edit are evidence and are never trimmed.


OUTPUT_BYTES_MAX = 64 * 1024
KEPT_BYTES = 8 * 1024
EDITING = frozenset(
    "Edit MultiEdit Write NotebookEdit StrReplace Delete ApplyPatch apply_patch functions.apply_patch replace"
    " write_file edit write patch multiedit".split()
)
"""Tools that return the texts of an edit, by the names of all agents."""
ANSWERS = MappingProxyType(
    {
        "afterShellExecution": "output",
        "afterMCPExecution": "result_json",
        "beforeReadFile": "content",
        "beforeTabFileRead": "content",
        "postToolUse": "tool_output",
    }
)
"""The field with the tool's output in Cursor's events; in other events it may be the text of an edit."""


def trim_event_output(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event with the tool's output cut to size."""
    kind, payload = event.get("kind"), event.get("payload")
    if kind == "hook" and isinstance(payload, dict) and str(payload.get("tool_name")) not in EDITING:
        answer = ANSWERS.get(str(event.get("event")), "tool_response")
        for name in ("tool_response", "tool_result", "toolResult", answer):
            payload = _excerpt_event_field(payload, name)
        return {**event, "payload": payload}
    if kind == "call":
        return _excerpt_event_field(event, "output")
    return _excerpt_event_field(event, "text") if kind == "source_read" else event


def _excerpt_event_field(fields: dict[str, Json], name: str) -> dict[str, Json]:
    return {**fields, name: excerpt_long_texts(fields[name])} if name in fields else fields


def excerpt_long_texts(value: Json) -> Json:
    """Return ``value`` with each long text cut to its beginning and end."""
    if isinstance(value, str):
        return _excerpt_long_text(value)
    if isinstance(value, list):
        return [excerpt_long_texts(item) for item in value]
    return {key: excerpt_long_texts(item) for key, item in value.items()} if isinstance(value, dict) else value


def _excerpt_long_text(text: str) -> str:
    data = encode_json_text(text)
    if len(data) <= OUTPUT_BYTES_MAX:
        return text
    # Cut between characters: half a character at the cut is removed too.
    head = data[:KEPT_BYTES].decode("utf-8", "ignore")
    tail = data[-KEPT_BYTES:].decode("utf-8", "ignore")
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    digest = format_digest(digest_from_bytes(data))
    return f"{head}\n[custody left out {left_out:,} bytes here; the whole was {digest}]\n{tail}"


# An outline is a record without its texts: its views, with digests in place of texts.
# A store that shares its chain without texts sends outlines instead of payloads. An outline cannot be checked against
# the record's digest, which covers the texts too: the reader has to trust the store that sent it.


VERBATIM = frozenset(
    "continues erased session link decision duplicate_answer read change source registry trace trace_link".split()
)
"""Kinds of records without text of a conversation or a file; they are shared unchanged."""
VIEWS: MappingProxyType[str, type[View]] = MappingProxyType(
    {
        "Session": Session,
        "Prompt": Prompt,
        "ToolCall": ToolCall,
        "CommandRecord": CommandRecord,
        "FileEdit": FileEdit,
        "TracedFile": TracedFile,
        "SourceRead": SourceAccess,
        "CommitLink": CommitLink,
        "PullRequestFact": PullRequestFact,
        "CommitSeen": ObservedCommit,
        "Decision": Decision,
        "DuplicateAnswer": DuplicateAnswer,
        "HunkRead": HunkRead,
        "AuthorClaim": AuthorClaim,
        "Source": Source,
        "Change": Change,
        "FileState": FileState,
        "SpanSeen": ObservedSpan,
        "Observation": Observation,
    }
)
"""The views by their names in outlines; a name never changes, since stores have shared it."""
_WORDS = {kind: word for word, kind in VIEWS.items()}
ATTRIBUTES_KEPT = frozenset("about agent_type command file file_path model notebook_path path subagent_type".split())
"""Attributes of a span that hold a name; any other attribute may hold a text."""


def encode_view_outline(views: tuple[View, ...]) -> bytes:
    """Encode ``views`` without texts as canonical JSON."""
    return dump_canonical_json([_encode_view(strip_view_texts(view)) for view in views])


def decode_view_outline(data: bytes) -> tuple[View, ...]:
    """Return the views in an outline, or raise an ``InputError`` if it is invalid."""
    outline = parse_json_bytes(data, bytes_max=EVENT_BYTES_MAX)
    if not isinstance(outline, list):
        raise InputError("an outline must be a list of views", hint="custody did not write this")
    return tuple(_decode_view(view_data) for view_data in outline)


def strip_view_texts(view: View) -> View:
    """Return the view without its texts."""
    changed: dict[str, Any] = {
        name: Text(value.digest, None)
        for name in view.__struct_fields__
        if isinstance(value := getattr(view, name), Text) and value.content is not None
    }
    if isinstance(view, CommandRecord) and len(view.command) > COMMAND_CHARACTERS_SHARED:
        changed["command"] = view.command[:COMMAND_CHARACTERS_SHARED]
    if isinstance(view, ObservedSpan):
        plain = tuple((n, v) for n, v in view.attributes if n in ATTRIBUTES_KEPT or not isinstance(v, str))
        changed |= {} if plain == view.attributes else {"attributes": plain}
    return replace(view, **changed) if changed else view


def _encode_view(view: View) -> Json:
    defaults = dict(zip(reversed(view.__struct_fields__), reversed(view.__struct_defaults__), strict=False))
    plain: dict[str, Json] = msgspec.to_builtins(view)
    stated = {n: value for n, value in plain.items() if n not in defaults or getattr(view, n) != defaults[n]}
    return {"view": _WORDS[type(view)], **stated}


def _decode_view(value: Json) -> View:
    kind = VIEWS.get(str(value.get("view"))) if isinstance(value, dict) else None
    if kind is None or not isinstance(value, dict):
        raise InputError("an outline has an unknown view", hint="upgrade custody")
    members = {name: member for name, member in value.items() if name != "view"}
    if not members.keys() <= set(kind.__struct_fields__):
        raise InputError("an outline has an unknown field", hint="upgrade custody")
    try:
        view: View = msgspec.convert(members, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"an outline cannot be read: {describe_conversion_error(error)}") from error
    if strip_view_texts(view) != view:
        raise InputError("an outline has a text", hint="custody did not write this")
    return view
