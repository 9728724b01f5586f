"""Traces of other tools: Agent Trace records, and the files of document 000, in both of its shapes.

These shapes belong to others and change: unknown content is ignored. Only a line without an id, a time or files is
rejected.
"""

import hashlib
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from msgspec.structs import replace

from custody.capture.claims.agent_trace import METADATA, MIXED_SHARE_MIN, OF_REVISION, compute_mixed_agent_share
from custody.core.errors import InputError
from custody.core.ids import AgentName, CallId, CommitSha, ContentHash, SessionId
from custody.core.paths import Lines, RepoPath
from custody.core.patterns import lazy_pattern
from custody.core.views import CommitLink, LinkOrigin, Session, TracedFile, TracedRange, View
from custody.core.wire.canonical import Json, dump_canonical_json, parse_json_bytes
from custody.core.wire.event import AnyEvent, ForeignTraceEvent, TraceLinkEvent, event_from_json
from custody.core.wire.event_views import observation_from_event
from custody.core.wire.time import format_timestamp, parse_timestamp

# Lines that opentraces' hook for Claude Code writes to ``.agent-trace/traces.jsonl``: one edit each, without files. As
# of summer 2026 ``schema`` is ``agent-trace/v0.1.0``, with path, lines, session and call beside it. A line has no
# id, and its ``tool`` is the called tool, not the agent.


SCHEMA = "agent-trace/v"
NOT_FOUND = "low"
"""The hook's confidence for lines that it did not find: it then reports the first line."""
_CALL_OF_CLAUDE = "toolu_"
_LINE_ID_DIGITS = 32


def convert_to_agent_trace(fields: dict[str, Json]) -> dict[str, Json]:
    """Return a line of this shape as an Agent Trace record; any other unchanged."""
    schema, path, call = fields.get("schema"), fields.get("file_path"), fields.get("tool_use_id")
    if not isinstance(schema, str) or not schema.startswith(SCHEMA) or not isinstance(path, str) or "files" in fields:
        return fields
    is_located = fields.get("confidence") != NOT_FOUND
    place: Json = {name: fields.get(name) for name in ("start_line", "end_line", "content_hash")}
    entry: Json = {"contributor": {"type": "ai"}, "ranges": [place] if is_located else []}
    agent: Json = {"name": "claude-code"} if isinstance(call, str) and call.startswith(_CALL_OF_CLAUDE) else None
    return {
        "version": schema.removeprefix(SCHEMA),
        "id": f"opentraces-{hashlib.sha256(dump_canonical_json(fields)).hexdigest()[:_LINE_ID_DIGITS]}",
        "timestamp": fields.get("timestamp"),
        "tool": agent,
        "files": [{"path": path, "conversations": [entry]}],
        "metadata": {"session_id": fields.get("session_id"), "tool_use_id": call},
    }


UNKNOWN_AGENT = "unknown"
"""The agent of a trace that names none."""

_MAJOR_VERSIONS = frozenset(("0", "1", "2"))
"""Agent Trace is at 0.1.0, its schema names 1.0, and the tool of document 000 writes 2.0."""
_NOT_AN_AGENT = frozenset(("human", "unknown"))
_VERSION = lazy_pattern(r"\d{1,4}(\.\d{1,4}){0,3}", re.ASCII)
_NAME = lazy_pattern(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,1000}")
_COMMIT = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REVISION = lazy_pattern(r"[0-9a-f]{1,64}")
_HASH = lazy_pattern(r"(sha256:)?[0-9a-f]{8,64}")
_TIMESTAMP = lazy_pattern(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(\.\d+)?(?:(Z|z)|([+-]\d\d):?(\d\d)?)?", re.ASCII)
_ID_DIGITS = 16

TraceFields = dict[str, Json]


# --- from a line to an event ------------------------------------------------------------------------------------------


def event_from_foreign_trace(value: Json, *, worktree: str | None, now: str) -> TraceFields:
    """Return the event of one line of another tool's file; ``now`` is the time of a line that has none."""
    if not isinstance(value, dict):
        raise InputError("not a JSON object")
    fields = _unpack_trace_fields(value)
    return (
        _make_commit_link_event(value, fields, now)
        if _is_commit_link(fields)
        else _make_foreign_trace_event(value, fields, worktree)
    )


def _make_foreign_trace_event(value: TraceFields, fields: TraceFields, worktree: str | None) -> TraceFields:
    _check_agent_trace_version(fields.get("version"))
    name = _get_trace_text(fields, "id") or _get_trace_text(fields, "trace_id")
    if name is None or not _NAME.fullmatch(name):
        raise InputError("a trace without an id")
    at = _get_trace_text(fields, "timestamp") or _get_trace_text(fields, "trace_timestamp")
    if at is None:
        raise InputError(f"trace '{name[:80]}' has no timestamp")
    if not isinstance(fields.get("files"), list):
        raise InputError(f"trace '{name[:80]}' has no list of files")
    return {
        "custody": 1,
        "kind": "trace",
        "id": name,
        "at": normalize_foreign_timestamp(at),
        "agent": _find_trace_agent(fields),
        "session": _find_agent_session(fields) or name,
        "worktree": worktree,
        "payload": value,
    }


def _make_commit_link_event(value: TraceFields, fields: TraceFields, now: str) -> TraceFields:
    commit = str(fields.get("commit_sha")).lower()
    if not _COMMIT.fullmatch(commit):
        raise InputError("a commit link without a full commit id")
    traces: list[Json] = [
        name for name in _get_trace_list(fields, "trace_ids") if isinstance(name, str) and _NAME.fullmatch(name)
    ]
    at = (
        _get_trace_text(fields, "committed_at")
        or _get_trace_text(fields, "created_at")
        or _get_trace_text(fields, "timestamp")
    )
    return {
        "custody": 1,
        "kind": "trace_link",
        # A commit is linked again when more is known about it.
        "id": f"{commit}-{hashlib.sha256(dump_canonical_json(value)).hexdigest()[:_ID_DIGITS]}",
        "at": now if at is None else normalize_foreign_timestamp(at),
        "commit": commit,
        "traces": traces,
        "payload": value,
    }


def _is_commit_link(fields: TraceFields) -> bool:
    return "commit_sha" in fields and "trace_ids" in fields


def _check_agent_trace_version(version: Json) -> None:
    if version is None:
        return  # the shapes of document 000 have none
    known = isinstance(version, str) and _VERSION.fullmatch(version)
    if not known or str(version).partition(".")[0] not in _MAJOR_VERSIONS:
        raise InputError(f"unknown trace version '{str(version)[:40]}'", hint="upgrade custody")


def normalize_foreign_timestamp(text: str) -> str:
    """Return another tool's timestamp as RFC 3339 in UTC; without a zone it is UTC.

    >>> normalize_foreign_timestamp("2026-01-23 14:30:00.250+01:00")
    '2026-01-23T13:30:00.25Z'
    >>> normalize_foreign_timestamp("2026-01-23T14:30Z"), normalize_foreign_timestamp("2026-01-23T14:30:00")
    ('2026-01-23T14:30:00Z', '2026-01-23T14:30:00Z')
    """
    shape = _TIMESTAMP.fullmatch(text.strip())
    if shape is None:
        raise InputError(f"'{text[:60]}' is not a timestamp", hint="write RFC 3339: 2026-01-31T12:00:00Z")
    day, clock, seconds, fraction, utc, hours, minutes = shape.groups()
    zone = "Z" if utc or hours is None else f"{hours}:{minutes or '00'}"
    return format_timestamp(parse_timestamp(f"{day}T{clock}{seconds or ':00'}{fraction or ''}{zone}"))


# --- from an event to views -------------------------------------------------------------------------------------------


def foreign_trace_views(payload: Json | AnyEvent) -> tuple[View, ...]:
    """Return the session of a trace and each file that an agent touched; nothing for a person's lines."""
    event = event_from_json(payload)
    if not isinstance(event, ForeignTraceEvent):
        raise InputError("not a trace")
    fields = _unpack_trace_fields(event.payload) if isinstance(event.payload, dict) else {}
    files = tuple(_read_traced_files(event, fields))
    if not files:
        return ()
    if _is_commit_trace(fields):
        # The session may be captured here: a claim about a commit must not change it.
        return (Session(AgentName(event.agent), SessionId(event.session), parse_timestamp(event.at)), *files)
    session = Session(
        agent=AgentName(event.agent),
        id=SessionId(event.session),
        started_ns=parse_timestamp(event.at),
        revision=_commit_from_revision(_find_trace_revision(fields)),
        worktree=event.worktree,
        model=next((file.model for file in files if file.model), None),
    )
    return (session, *files, *observation_from_event(event, "trace"))


def commit_link_views(payload: Json | AnyEvent) -> tuple[View, ...]:
    """Return the commit links of one line, one for each trace."""
    event = event_from_json(payload)
    if not isinstance(event, TraceLinkEvent):
        raise InputError("not a commit link of traces")
    return tuple(
        CommitLink(
            agent=AgentName(UNKNOWN_AGENT),
            session=SessionId(trace),
            commit=CommitSha(event.commit),
            origin=LinkOrigin.IMPORTED,
            at_ns=parse_timestamp(event.at),
        )
        for trace in dict.fromkeys(event.traces)
    )


def locate_traced_path(text: str, worktree: str | None) -> RepoPath | None:
    """Return a traced path relative to the repository's root; None for a path outside it.

    >>> str(locate_traced_path("/home/ana/project/src/./a.py", "/home/ana/project"))
    'src/a.py'
    >>> str(locate_traced_path("src\\\\a.py", None))
    'src/a.py'
    """
    if "/" not in text:
        text = text.replace("\\", "/")
    root = None if worktree is None else worktree.rstrip("/") + "/"
    if root is not None and text.startswith(root):
        text = text[len(root) :]
    parts: list[str] = []
    for part in text.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    try:
        return RepoPath.of("/".join(parts))
    except InputError:
        return None  # not a path that a repository can contain


def _read_traced_files(event: ForeignTraceEvent, fields: TraceFields) -> Iterator[TracedFile]:
    within, call = _find_agent_call(fields)
    for entry in _get_trace_list(fields, "files"):
        if not isinstance(entry, dict):
            continue
        path = _locate_traced_entry(entry, fields, event.worktree)
        ranges = tuple(_add_agent_share(traced_range, fields) for traced_range in _read_traced_ranges(entry))
        if path is None or _is_person_entry(entry):
            continue
        yield TracedFile(
            agent=AgentName(event.agent),
            session=SessionId(event.session),
            path=path,
            at_ns=parse_timestamp(event.at),
            revision=_find_trace_revision(fields),
            ranges=ranges,
            conversation=next((traced.conversation for traced in ranges if traced.conversation), None),
            model=next((traced.model for traced in ranges if traced.model), None),
            of_revision=_is_commit_trace(fields),
            within=within,
            call=call,
            producer=_get_trace_text(_get_custody_metadata(fields), "producer"),
        )


def _locate_traced_entry(entry: TraceFields, fields: TraceFields, worktree: str | None) -> RepoPath | None:
    name = _get_trace_text(entry, "path") or ""
    if not _is_commit_trace(fields):
        return locate_traced_path(name, worktree)
    try:
        return RepoPath.of(name)  # the commit's own name for the file, which may contain a backslash
    except InputError:
        return None


def _add_agent_share(traced_range: TracedRange, fields: TraceFields) -> TracedRange:
    """Return a range with the agent's share, if custody's fields have it."""
    return (
        traced_range
        if traced_range.share == 1.0
        else replace(traced_range, share=compute_mixed_agent_share(_get_custody_metadata(fields).get("share")))
    )


def _get_custody_metadata(fields: TraceFields) -> TraceFields:
    """Return custody's own fields of a trace."""
    return _get_trace_object(_get_trace_object(fields, "metadata"), METADATA)


def _find_agent_call(fields: TraceFields) -> tuple[SessionId | None, CallId | None]:
    """Return the agent's session and call: from custody's fields, or from the specification's hooks (February 2026)."""
    metadata, ours = _get_trace_object(fields, "metadata"), _get_custody_metadata(fields)
    session = (
        _get_trace_text(ours, "session")
        or _get_trace_text(metadata, "session_id")
        or _get_trace_text(metadata, "conversation_id")
    )
    call = _get_trace_text(ours, "call") or _get_trace_text(metadata, "tool_use_id")
    if session is None or call is None or not (_NAME.fullmatch(session) and _NAME.fullmatch(call)):
        return None, None
    return SessionId(session), CallId(call)


def _is_commit_trace(fields: TraceFields) -> bool:
    """Return whether the lines are marked as those of the named commit."""
    return (
        _get_trace_text(_get_custody_metadata(fields), "lines") == OF_REVISION
        and _commit_from_revision(_find_trace_revision(fields)) is not None
    )


def _find_agent_session(fields: TraceFields) -> str | None:
    """Return the agent's own session, if the trace of a commit names it."""
    name = _get_trace_text(_get_custody_metadata(fields), "session") if _is_commit_trace(fields) else None
    return name if name is not None and _NAME.fullmatch(name) else None


def _is_person_entry(entry: TraceFields) -> bool:
    """Return whether every range of a file's entry has a person or an unknown author."""
    leaves = [
        leaf
        for key in ("conversations", "changes")
        for part in _get_trace_list(entry, key)
        for leaf in _flatten_conversation_ranges(part)
    ]
    return all(map(_is_not_an_agent, leaves or [entry]))


def _flatten_conversation_ranges(part: Json) -> Iterator[TraceFields]:
    """Yield the ranges of a conversation with its inherited fields, or the conversation itself without ranges."""
    if isinstance(part, dict):
        inner = [
            {**part, **range_fields}
            for range_fields in _get_trace_list(part, "ranges")
            if isinstance(range_fields, dict)
        ]
        yield from inner or [part]


def _read_traced_ranges(entry: TraceFields) -> Iterator[TracedRange]:
    """Yield the ranges of an entry at every level, without a person's."""
    for level, key in (("conversation", "conversations"), ("change", "changes")):
        for part in _get_trace_list(entry, key):
            if isinstance(part, dict):
                yield from _read_conversation_ranges(part, level)
    yield from _make_traced_range(entry, "file", entry)


def _read_conversation_ranges(part: TraceFields, level: str) -> Iterator[TracedRange]:
    yield from _make_traced_range(part, level, part)
    for inner in _get_trace_list(part, "ranges"):
        if isinstance(inner, dict):
            # A range may have its own contributor, else it has its conversation's.
            yield from _make_traced_range(inner, level, {**part, **inner})


def _make_traced_range(where: TraceFields, level: str, whose: TraceFields) -> Iterator[TracedRange]:
    lines, digits = _parse_traced_lines(where), _parse_traced_hash(where)
    if _is_not_an_agent(whose) or (lines is None and digits is None):
        return
    contributor = _get_trace_object(whose, "contributor")
    model = _get_trace_text(contributor, "model_id") or _get_trace_text(whose, "model_id")
    share = MIXED_SHARE_MIN if _get_trace_text(contributor, "type") == "mixed" else 1.0
    yield TracedRange(level, lines, digits, _get_trace_text(whose, "url"), model, share)


def _is_not_an_agent(part: TraceFields) -> bool:
    return _get_trace_text(_get_trace_object(part, "contributor"), "type") in _NOT_AN_AGENT


def _parse_traced_lines(fields: TraceFields) -> Lines | None:
    first, last = fields.get("start_line"), fields.get("end_line")
    if type(first) is not int or type(last) is not int or not 1 <= first <= last:
        return None
    return Lines(first, last)


def _parse_traced_hash(fields: TraceFields) -> ContentHash | None:
    """Return the content hash, if custody can compare this kind of hash."""
    text = (_get_trace_text(fields, "content_hash") or "").lower()
    return ContentHash(text) if _HASH.fullmatch(text) else None


def _find_trace_revision(fields: TraceFields) -> str | None:
    vcs = _get_trace_object(fields, "vcs")
    revision = (_get_trace_text(vcs, "revision") or "").lower()
    return revision if _get_trace_text(vcs, "type") in (None, "git") and _REVISION.fullmatch(revision) else None


def _commit_from_revision(revision: str | None) -> CommitSha | None:
    return CommitSha(revision) if revision is not None and _COMMIT.fullmatch(revision) else None


def _find_trace_agent(fields: TraceFields) -> str:
    """Return the tool's name, else the model of the first contributor."""
    tool = fields.get("tool")
    named = tool if isinstance(tool, str) else _get_trace_text(_get_trace_object(fields, "tool"), "name")
    names = chain((named,), _list_traced_models(fields))
    return next((name for name in names if name and _NAME.fullmatch(name)), UNKNOWN_AGENT)


def _list_traced_models(fields: TraceFields) -> Iterator[str | None]:
    for entry in _get_trace_list(fields, "files"):
        if isinstance(entry, dict):
            yield from (traced_range.model for traced_range in _read_traced_ranges(entry))


# --- reading what may be anything -------------------------------------------------------------------------------------


def _unpack_trace_fields(value: TraceFields) -> TraceFields:
    """Return the fields of a trace, also of a database row that stores the trace, or parts of it, as JSON text."""
    fields = {key: _unpack_trace_text(key, item) for key, item in value.items()}
    record = fields.pop("trace_record", None)
    if not isinstance(record, dict):
        return convert_to_agent_trace(fields)
    return {**record, **{key: item for key, item in fields.items() if item not in (None, [], {})}}


def _unpack_trace_text(key: str, item: Json) -> Json:
    if key not in _JSON_TEXTS or not isinstance(item, str) or item[:1] not in ("{", "["):
        return item
    try:
        return parse_json_bytes(item.encode("utf-8", "surrogatepass"))
    except InputError:
        return item  # a text that only begins like JSON


_JSON_TEXTS = frozenset(("vcs", "tool", "files", "metadata", "trace_record", "trace_ids"))


def _get_trace_object(fields: TraceFields, key: str) -> TraceFields:
    value = fields.get(key)
    return value if isinstance(value, dict) else {}


def _get_trace_list(fields: TraceFields, key: str) -> list[Any]:
    value = fields.get(key)
    return value if isinstance(value, list) else []


def _get_trace_text(fields: TraceFields, key: str) -> str | None:
    value = fields.get(key)
    return value if isinstance(value, str) and value else None
