"""Traces of other tools: Agent Trace records, and the files that document 000 speaks of, in both of its shapes.

This file owns what these shapes mean. They are others' and they move: what is not understood is passed over, and only
a line without an id, a time or files is none.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from custody.capture.claims.agent_trace import METADATA, MIXED_SHARE_MIN, OF_REVISION, compute_mixed_share
from custody.core.errors import InputError
from custody.core.ids import AgentName, CallId, CommitSha, ContentHash, SessionId
from custody.core.paths import Lines, RepoPath
from custody.core.views import CommitLink, LinkOrigin, Session, TracedFile, TracedRange, View
from custody.core.wire.canonical import Json, dump, parse
from custody.core.wire.event import ForeignTraceEvent, TraceLinkEvent, event_from
from custody.core.wire.event_views import observation_of
from custody.core.wire.time import ns_from, text_from

# Lines that opentraces' hook for Claude Code writes into ``.agent-trace/traces.jsonl``: one edit each, without files.
# Read as of summer 2026: ``schema`` is ``agent-trace/v0.1.0``, and path, lines, session and call stand beside it.
# There is no id, and ``tool`` is not the agent but the tool that it called.


SCHEMA = "agent-trace/v"
NOT_FOUND = "low"
"""How sure the hook is of lines that it did not find: it then tells the first one."""
_CALL_OF_CLAUDE = "toolu_"
_LINE_ID_DIGITS = 32


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
        "id": f"opentraces-{hashlib.sha256(dump(fields)).hexdigest()[:_LINE_ID_DIGITS]}",
        "timestamp": fields.get("timestamp"),
        "tool": agent,
        "files": [{"path": path, "conversations": [said]}],
        "metadata": {"session_id": fields.get("session_id"), "tool_use_id": call},
    }


UNKNOWN_AGENT = "unknown"
"""Whose trace it is where it does not say so."""

_MAJOR_VERSIONS = frozenset(("0", "1", "2"))
"""Agent Trace is at 0.1.0, its schema speaks of 1.0, and the tool that document 000 describes writes 2.0."""
_NOT_AN_AGENT = frozenset(("human", "unknown"))
_VERSION = re.compile(r"\d{1,4}(\.\d{1,4}){0,3}", re.ASCII)
_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,1000}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REVISION = re.compile(r"[0-9a-f]{1,64}")
_HASH = re.compile(r"(sha256:)?[0-9a-f]{8,64}")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(\.\d+)?(?:(Z|z)|([+-]\d\d):?(\d\d)?)?", re.ASCII)
_ID_DIGITS = 16

TraceFields = dict[str, Json]


# --- at the door: from a line to an event -----------------------------------------------------------------------------


def event_of(value: Json, *, worktree: str | None, now: str) -> TraceFields:
    """The event that one line of another tool's file is; ``now`` is when it is read, for what does not say when."""
    if not isinstance(value, dict):
        raise InputError("a trace is a JSON object")
    fields = _unpacked(value)
    return _link_event(value, fields, now) if _is_link(fields) else _trace_event(value, fields, worktree)


def _trace_event(value: TraceFields, fields: TraceFields, worktree: str | None) -> TraceFields:
    _check_version(fields.get("version"))
    name = _text(fields, "id") or _text(fields, "trace_id")
    if name is None or not _NAME.fullmatch(name):
        raise InputError("a trace without an id")
    at = _text(fields, "timestamp") or _text(fields, "trace_timestamp")
    if at is None:
        raise InputError(f"trace '{name[:80]}' does not say when")
    if not isinstance(fields.get("files"), list):
        raise InputError(f"trace '{name[:80]}' has no list of files")
    return {
        "custody": 1,
        "kind": "trace",
        "id": name,
        "at": moment(at),
        "agent": _agent(fields),
        "session": _session(fields) or name,
        "worktree": worktree,
        "payload": value,
    }


def _link_event(value: TraceFields, fields: TraceFields, now: str) -> TraceFields:
    commit = str(fields.get("commit_sha")).lower()
    if not _COMMIT.fullmatch(commit):
        raise InputError("a commit link without a full commit id")
    traces: list[Json] = [
        name for name in _list(fields, "trace_ids") if isinstance(name, str) and _NAME.fullmatch(name)
    ]
    at = _text(fields, "committed_at") or _text(fields, "created_at") or _text(fields, "timestamp")
    return {
        "custody": 1,
        "kind": "trace_link",
        # A commit is linked again when more becomes known of it.
        "id": f"{commit}-{hashlib.sha256(dump(value)).hexdigest()[:_ID_DIGITS]}",
        "at": now if at is None else moment(at),
        "commit": commit,
        "traces": traces,
        "payload": value,
    }


def _is_link(fields: TraceFields) -> bool:
    return "commit_sha" in fields and "trace_ids" in fields


def _check_version(version: Json) -> None:
    if version is None:
        return  # the shapes of document 000 have none
    known = isinstance(version, str) and _VERSION.fullmatch(version)
    if not known or str(version).partition(".")[0] not in _MAJOR_VERSIONS:
        raise InputError(
            f"trace version '{str(version)[:40]}' is not known here", hint="upgrade custody, or ask for this version"
        )


def moment(text: str) -> str:
    """A time as other tools write it, as RFC 3339 in UTC; without a zone it is UTC.

    >>> moment("2026-01-23 14:30:00.250+01:00"), moment("2026-01-23T14:30Z"), moment("2026-01-23T14:30:00")
    ('2026-01-23T13:30:00.25Z', '2026-01-23T14:30:00Z', '2026-01-23T14:30:00Z')
    """
    shape = _MOMENT.fullmatch(text.strip())
    if shape is None:
        raise InputError(f"'{text[:60]}' is not a moment", hint="write RFC 3339: 2026-01-31T12:00:00Z")
    day, clock, seconds, fraction, utc, hours, minutes = shape.groups()
    zone = "Z" if utc or hours is None else f"{hours}:{minutes or '00'}"
    return text_from(ns_from(f"{day}T{clock}{seconds or ':00'}{fraction or ''}{zone}"))


# --- from an event to views -------------------------------------------------------------------------------------------


def trace_views(payload: Json) -> tuple[View, ...]:
    """What a trace says: its session and each file that an agent touched; nothing of what a person wrote."""
    event = event_from(payload)
    if not isinstance(event, ForeignTraceEvent):
        raise InputError("not a trace")
    fields = _unpacked(event.payload) if isinstance(event.payload, dict) else {}
    files = tuple(_files(event, fields))
    if not files:
        return ()
    if _is_of_revision(fields):
        # The session may be one that was captured here: a claim about a commit must not change what is known of it.
        return (Session(AgentName(event.agent), SessionId(event.session), ns_from(event.at)), *files)
    session = Session(
        agent=AgentName(event.agent),
        id=SessionId(event.session),
        started_ns=ns_from(event.at),
        revision=_commit(_revision(fields)),
        worktree=event.worktree,
        model=next((file.model for file in files if file.model), None),
    )
    return (session, *files, *observation_of(event, "trace"))


def link_views(payload: Json) -> tuple[View, ...]:
    """The commit links of one line, one for each trace."""
    event = event_from(payload)
    if not isinstance(event, TraceLinkEvent):
        raise InputError("not a commit link of traces")
    return tuple(
        CommitLink(
            agent=AgentName(UNKNOWN_AGENT),
            session=SessionId(trace),
            commit=CommitSha(event.commit),
            origin=LinkOrigin.IMPORTED,
            at_ns=ns_from(event.at),
        )
        for trace in dict.fromkeys(event.traces)
    )


def traced_path(text: str, worktree: str | None) -> RepoPath | None:
    """A path as a trace writes it, below the repository's root where that can be seen; None when it leads nowhere.

    >>> str(traced_path("/home/ana/project/src/./a.py", "/home/ana/project")), str(traced_path("src\\\\a.py", None))
    ('src/a.py', 'src/a.py')
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
        return None  # no path at all, or one that no repository can hold: it names no file of this one


def _files(event: ForeignTraceEvent, fields: TraceFields) -> Iterator[TracedFile]:
    within, call = _own_call(fields)
    for entry in _list(fields, "files"):
        if not isinstance(entry, dict):
            continue
        path = _path(entry, fields, event.worktree)
        ranges = tuple(_shared(traced_range, fields) for traced_range in _ranges(entry))
        if path is None or _is_persons(entry):
            continue
        yield TracedFile(
            agent=AgentName(event.agent),
            session=SessionId(event.session),
            path=path,
            at_ns=ns_from(event.at),
            revision=_revision(fields),
            ranges=ranges,
            conversation=next((said.conversation for said in ranges if said.conversation), None),
            model=next((said.model for said in ranges if said.model), None),
            of_revision=_is_of_revision(fields),
            within=within,
            call=call,
            producer=_text(_ours(fields), "producer"),
        )


def _path(entry: TraceFields, fields: TraceFields, worktree: str | None) -> RepoPath | None:
    named = _text(entry, "path") or ""
    if not _is_of_revision(fields):
        return traced_path(named, worktree)
    try:
        return RepoPath.of(named)  # the commit's own name for the file, in which a backslash is a sign like others
    except InputError:
        return None


def _shared(said: TracedRange, fields: TraceFields) -> TracedRange:
    """A range with the agent's share in it, where that is told beyond the specification."""
    return said if said.share == 1.0 else replace(said, share=compute_mixed_share(_ours(fields).get("share")))


def _ours(fields: TraceFields) -> TraceFields:
    """What custody itself wrote into a trace beyond the specification."""
    return _dict(_dict(fields, "metadata"), METADATA)


def _own_call(fields: TraceFields) -> tuple[SessionId | None, CallId | None]:
    """The agent's session and call: as custody tells them, or as the specification's own hooks do (February 2026)."""
    metadata, ours = _dict(fields, "metadata"), _ours(fields)
    session = _text(ours, "session") or _text(metadata, "session_id") or _text(metadata, "conversation_id")
    call = _text(ours, "call") or _text(metadata, "tool_use_id")
    if session is None or call is None or not (_NAME.fullmatch(session) and _NAME.fullmatch(call)):
        return None, None
    return SessionId(session), CallId(call)


def _is_of_revision(fields: TraceFields) -> bool:
    """Whether the lines are those of the commit that the trace names, which says so itself."""
    return _text(_ours(fields), "lines") == OF_REVISION and _commit(_revision(fields)) is not None


def _session(fields: TraceFields) -> str | None:
    """The agent's own session, where a trace of a commit tells it."""
    name = _text(_ours(fields), "session") if _is_of_revision(fields) else None
    return name if name is not None and _NAME.fullmatch(name) else None


def _is_persons(entry: TraceFields) -> bool:
    """Whether everything that a file's entry says is a person's, or nobody knows whose."""
    leaves = [leaf for key in ("conversations", "changes") for part in _list(entry, key) for leaf in _leaves(part)]
    return all(map(_is_not_an_agent, leaves or [entry]))


def _leaves(part: Json) -> Iterator[TraceFields]:
    """The ranges of a conversation with what they have from it, or the conversation itself where it has none."""
    if isinstance(part, dict):
        inner = [{**part, **range_fields} for range_fields in _list(part, "ranges") if isinstance(range_fields, dict)]
        yield from inner or [part]


def _ranges(entry: TraceFields) -> Iterator[TracedRange]:
    """What an entry says at every level, without what it gives to a person."""
    for level, key in (("conversation", "conversations"), ("change", "changes")):
        for part in _list(entry, key):
            if isinstance(part, dict):
                yield from _part(part, level)
    yield from _range(entry, "file", entry)


def _part(part: TraceFields, level: str) -> Iterator[TracedRange]:
    yield from _range(part, level, part)
    for inner in _list(part, "ranges"):
        if isinstance(inner, dict):
            # A range may have a contributor of its own; else it is its conversation's.
            yield from _range(inner, level, {**part, **inner})


def _range(where: TraceFields, level: str, whose: TraceFields) -> Iterator[TracedRange]:
    lines, digits = _lines(where), _hash(where)
    if _is_not_an_agent(whose) or (lines is None and digits is None):
        return
    contributor = _dict(whose, "contributor")
    model = _text(contributor, "model_id") or _text(whose, "model_id")
    share = MIXED_SHARE_MIN if _text(contributor, "type") == "mixed" else 1.0
    yield TracedRange(level, lines, digits, _text(whose, "url"), model, share)


def _is_not_an_agent(part: TraceFields) -> bool:
    return _text(_dict(part, "contributor"), "type") in _NOT_AN_AGENT


def _lines(fields: TraceFields) -> Lines | None:
    first, last = fields.get("start_line"), fields.get("end_line")
    if type(first) is not int or type(last) is not int or not 1 <= first <= last:
        return None
    return Lines(first, last)


def _hash(fields: TraceFields) -> ContentHash | None:
    """The content hash, if it is one that we could compare; another kind of hash is none."""
    text = (_text(fields, "content_hash") or "").lower()
    return ContentHash(text) if _HASH.fullmatch(text) else None


def _revision(fields: TraceFields) -> str | None:
    vcs = _dict(fields, "vcs")
    revision = (_text(vcs, "revision") or "").lower()
    return revision if _text(vcs, "type") in (None, "git") and _REVISION.fullmatch(revision) else None


def _commit(revision: str | None) -> CommitSha | None:
    return CommitSha(revision) if revision is not None and _COMMIT.fullmatch(revision) else None


def _agent(fields: TraceFields) -> str:
    """The tool's name, else that of the model that the first contributor names."""
    tool = fields.get("tool")
    names = [tool if isinstance(tool, str) else _text(_dict(fields, "tool"), "name")]
    for entry in _list(fields, "files"):
        if isinstance(entry, dict):
            names.extend(said.model for said in _ranges(entry))
    return next((name for name in names if name and _NAME.fullmatch(name)), UNKNOWN_AGENT)


# --- reading what may be anything -------------------------------------------------------------------------------------


def _unpacked(value: TraceFields) -> TraceFields:
    """The fields of a trace: as they are, or of a database's row that keeps the trace, or parts of it, as JSON text."""
    fields = {key: _unpacked_text(key, item) for key, item in value.items()}
    record = fields.pop("trace_record", None)
    if not isinstance(record, dict):
        return convert_to_agent_trace(fields)
    return {**record, **{key: item for key, item in fields.items() if item not in (None, [], {})}}


def _unpacked_text(key: str, item: Json) -> Json:
    if key not in _JSON_TEXTS or not isinstance(item, str) or item[:1] not in ("{", "["):
        return item
    try:
        return parse(item.encode("utf-8", "surrogatepass"))
    except InputError:
        return item  # a text that only begins like JSON is a text


_JSON_TEXTS = frozenset(("vcs", "tool", "files", "metadata", "trace_record", "trace_ids"))


def _dict(fields: TraceFields, key: str) -> TraceFields:
    value = fields.get(key)
    return value if isinstance(value, dict) else {}


def _list(fields: TraceFields, key: str) -> list[Any]:
    value = fields.get(key)
    return value if isinstance(value, list) else []


def _text(fields: TraceFields, key: str) -> str | None:
    value = fields.get(key)
    return value if isinstance(value, str) and value else None
