"""Bodies: long texts stored once and erased alone, excerpts of large outputs, outlines without texts."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import msgspec

from custody.core.errors import InputError
from custody.core.ids import Digest, digest_of
from custody.core.views import (
    Change,
    CommitLink,
    Decision,
    DuplicateAnswer,
    FileEdit,
    FileState,
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
from custody.core.wire.canonical import EVENT_BYTES_MAX, Json, bytes_text, dump, parse, problem, text_bytes

TEXT_BYTES_MAX = 4096
"""A longer text becomes a body of its own."""

_BODY, _ERASED, _LITERAL = "$body", "$erased", "$literal"
_MARKS = frozenset((_BODY, _ERASED, _LITERAL))
_PREFIX = "sha256:"


@dataclass(frozen=True, slots=True)
class SplitPayload:
    """A payload without its long texts, and those texts by digest."""

    payload: Json
    texts: Mapping[Digest, bytes]


def split(payload: Json) -> SplitPayload:
    """Take the texts over 4 kB out of ``payload``."""
    texts: dict[Digest, bytes] = {}
    return SplitPayload(_without_texts(payload, texts), texts)


def join(payload: Json, texts: Mapping[Digest, bytes | None]) -> Json:
    """Put the texts back; one that is None (or absent) was erased."""
    if isinstance(payload, list):
        return [join(item, texts) for item in payload]
    if not isinstance(payload, dict):
        return payload
    mark, inner = _mark(payload)
    if mark == _LITERAL and isinstance(inner, dict):
        return {key: join(item, texts) for key, item in inner.items()}
    if mark == _BODY and isinstance(inner, str):
        text = texts.get(digest_from(inner))
        return {_ERASED: inner} if text is None else bytes_text(text)
    return {key: join(item, texts) for key, item in payload.items()}


def parts(payload: Json) -> frozenset[Digest]:
    """The digests of the texts that were taken out of a stored payload."""
    if isinstance(payload, list):
        return frozenset().union(*(parts(item) for item in payload))
    if not isinstance(payload, dict):
        return frozenset()
    mark, inner = _mark(payload)
    if mark == _BODY and isinstance(inner, str):
        return frozenset((digest_from(inner),))
    if mark == _LITERAL and isinstance(inner, dict):
        return frozenset().union(*(parts(item) for item in inner.values()))
    return frozenset().union(*(parts(item) for item in payload.values()))


def digest_text(digest: bytes) -> str:
    """A digest as it is written everywhere outside the database.

    >>> digest_text(bytes(32))[:15]
    'sha256:00000000'
    """
    return _PREFIX + digest.hex()


def digest_from(text: str) -> Digest:
    """Read what ``digest_text`` wrote."""
    try:
        raw = bytes.fromhex(text.removeprefix(_PREFIX))
    except ValueError as error:
        raise InputError(f"'{text[:80]}' is not a digest", hint="a digest is 'sha256:' and 64 hex digits") from error
    if len(raw) != 32 or digest_text(raw) != text:
        raise InputError(f"'{text[:80]}' is not a digest", hint="a digest is 'sha256:' and 64 lower-case hex digits")
    return Digest(raw)


def _without_texts(value: Json, texts: dict[Digest, bytes]) -> Json:
    if isinstance(value, str) and len(value) * 4 > TEXT_BYTES_MAX:
        data = text_bytes(value)
        if len(data) <= TEXT_BYTES_MAX:
            return value
        digest = digest_of(data)
        texts[digest] = data
        return {_BODY: digest_text(digest)}
    if isinstance(value, list):
        return [_without_texts(item, texts) for item in value]
    if isinstance(value, dict):
        kept: dict[str, Json] = {key: _without_texts(item, texts) for key, item in value.items()}
        return {_LITERAL: kept} if _mark(value)[0] else kept
    return value


def _mark(value: dict[str, Json]) -> tuple[str | None, Json]:
    if len(value) == 1:
        ((key, inner),) = value.items()
        if key in _MARKS:
            return key, inner
    return None, None


# What a tool gave back is kept whole while it is small: beyond 64 kB, its beginning, its end, its size and its
# digest.
# The texts of an edit are evidence and are never trimmed.


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


# What a record says without its texts: its views, with digests where texts stood.
# A store that shares its chain without texts sends this in place of a payload. It cannot be checked against the
# record's digest, which covers the texts too: it is as good as the word of the store that sent it.


VERBATIM = frozenset(
    "continues erased session link decision duplicate_answer change source registry trace trace_link".split()
)
"""Kinds of records that hold no text of a conversation or of a file: they are shared as they are."""
VIEWS: MappingProxyType[str, type[View]] = MappingProxyType(
    {
        "Session": Session,
        "Prompt": Prompt,
        "ToolCall": ToolCall,
        "FileEdit": FileEdit,
        "TracedFile": TracedFile,
        "SourceRead": SourceAccess,
        "CommitLink": CommitLink,
        "PullRequestFact": PullRequestFact,
        "CommitSeen": ObservedCommit,
        "Decision": Decision,
        "DuplicateAnswer": DuplicateAnswer,
        "Source": Source,
        "Change": Change,
        "FileState": FileState,
        "SpanSeen": ObservedSpan,
        "Observation": Observation,
    }
)
"""Every view by its word in outlines, which stores have shared: a word never changes, whatever the type is called."""
_WORDS = {kind: word for word, kind in VIEWS.items()}
ATTRIBUTES_KEPT = frozenset("about agent_type command file file_path model notebook_path path subagent_type".split())
"""Words of a span that name something; every other word of it may be a text."""


def outline_of(views: tuple[View, ...]) -> bytes:
    """The canonical bytes of ``views`` without any text."""
    return dump([_encode_view(bare(view)) for view in views])


def views_from(data: bytes) -> tuple[View, ...]:
    """The views that an outline tells of, or an ``InputError`` that says what it is instead."""
    outline = parse(data, bytes_max=EVENT_BYTES_MAX)
    if not isinstance(outline, list):
        raise InputError("an outline is a list of views", hint="no custody writes this")
    return tuple(_view(view_data) for view_data in outline)


def bare(view: View) -> View:
    """The view without its texts."""
    changed: dict[str, Any] = {
        field.name: Text(value.digest, None)
        for field in fields(view)
        if isinstance(value := getattr(view, field.name), Text) and value.content is not None
    }
    if isinstance(view, ObservedSpan):
        kept = tuple((n, v) for n, v in view.attributes if n in ATTRIBUTES_KEPT or not isinstance(v, str))
        changed |= {} if kept == view.attributes else {"attributes": kept}
    return replace(view, **changed) if changed else view


def _encode_view(view: View) -> Json:
    usual = {field.name: field.default for field in fields(view) if field.default is not MISSING}
    plain: dict[str, Json] = msgspec.to_builtins(view)
    told = {name: value for name, value in plain.items() if name not in usual or getattr(view, name) != usual[name]}
    return {"view": _WORDS[type(view)], **told}


def _view(told: Json) -> View:
    kind = VIEWS.get(str(told.get("view"))) if isinstance(told, dict) else None
    if kind is None or not isinstance(told, dict):
        raise InputError("an outline names a view that is not known", hint="upgrade custody")
    given = {name: value for name, value in told.items() if name != "view"}
    if not given.keys() <= {field.name for field in fields(kind)}:
        raise InputError("an outline has a field that its view has not", hint="upgrade custody")
    try:
        view: View = msgspec.convert(given, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"an outline cannot be read: {problem(error)}") from error
    if bare(view) != view:
        raise InputError("an outline holds a text", hint="no custody writes this")
    return view
