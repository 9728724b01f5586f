"""What a record says without its texts: its views, with digests where texts stood.

A store that shares its chain without texts sends this in place of a payload. It cannot be checked against the record's
digest, which covers the texts too: it is as good as the word of the store that sent it.
"""

from dataclasses import MISSING, fields, replace
from types import MappingProxyType
from typing import Any

import msgspec

from custody.core.errors import InputError
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
from custody.core.wire.canonical import EVENT_BYTES_MAX, Json, dump, parse, problem

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
