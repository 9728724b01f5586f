"""Agent Trace 0.1.0 records as custody writes them; the specification is github.com/cursor/agent-trace."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import dump_canonical_json

AGENT_TRACE_VERSION = "0.1.0"
UNKNOWN_VERSION = "unknown"
"""The specification requires a tool's version, which is not captured."""
MODEL_CHARS_MAX = 250
METADATA = "custody"
"""The key of custody's own fields in a trace's metadata."""
MIXED_SHARE_MIN = 0.5
"""The minimum share of a ``mixed`` line; with a smaller share, a line is not the agent's."""
OF_REVISION = "revision"
"""The value of ``lines`` in custody's fields if they are those of the named commit."""

_UUID = lazy_pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Contributor(msgspec.Struct, frozen=True, omit_defaults=True):
    """The author of a range."""

    type: Literal["human", "ai", "mixed", "unknown"]
    model_id: str | None = None


class Range(msgspec.Struct, frozen=True, omit_defaults=True):
    """Lines of a file, from 1, both ends included, and the hash of their text."""

    start_line: int
    end_line: int
    content_hash: str | None = None


class Conversation(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ranges of one conversation in a file."""

    contributor: Contributor
    ranges: list[Range]
    url: str | None = None


class File(msgspec.Struct, frozen=True):
    """A file with the conversations that wrote it."""

    path: str
    conversations: list[Conversation]


class Vcs(msgspec.Struct, frozen=True):
    """The file's version."""

    type: Literal["git"]
    revision: str


class Tool(msgspec.Struct, frozen=True):
    """The tool that produced the code."""

    name: str
    version: str = UNKNOWN_VERSION


class LineClaim(msgspec.Struct, frozen=True):
    """The author of lines of a commit, the author's share, and the tool that claims it (``producer``; None is custody).

    ``agent`` is custody's name of the agent, ``session`` the session's own id. Only custody's git-ai notes have a
    ``share``.
    """

    agent: str
    session: str
    model: str | None = None
    call: str | None = None
    share: float = 1.0
    producer: str | None = None
    version: str | None = None


class TraceRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One trace."""

    version: str
    id: str
    timestamp: str
    files: list[File]
    tool: Tool
    vcs: Vcs | None = None
    metadata: dict[str, Any] | None = None


def make_commit_trace(commit: str, at: str, who: LineClaim, files: Mapping[str, Sequence[Range]]) -> TraceRecord:
    """Return the trace of a claim about a commit: its lines are those of the commit itself."""
    mixed = who.share < 1.0
    contributor = Contributor("mixed" if mixed else "ai", None if who.model is None else who.model[:MODEL_CHARS_MAX])
    fields = {
        "version": who.version,
        "lines": OF_REVISION,
        "session": who.session,
        "call": who.call,
        "producer": who.producer,
        "share": who.share if mixed else None,
    }
    names = (commit, who.producer or "", who.agent, who.session, who.call or "", who.model or "")
    parts = (*names, str(mixed), *([str(who.share)] if mixed else []))
    return TraceRecord(
        version=AGENT_TRACE_VERSION,
        id=make_agent_trace_id(*parts),
        timestamp=at,
        vcs=Vcs("git", commit),
        tool=Tool(who.agent),
        files=[File(path, [Conversation(contributor, list(ranges))]) for path, ranges in sorted(files.items())],
        metadata={METADATA: {name: value for name, value in fields.items() if value is not None}},
    )


def compute_mixed_agent_share(value: object) -> float:
    """Return the agent's share of mixed lines: as reported, but at least ``MIXED_SHARE_MIN``.

    >>> [compute_mixed_agent_share(share) for share in (0.83, 0.1, None, 1.0)]
    [0.83, 0.5, 0.5, 0.5]
    """
    return value if isinstance(value, float) and MIXED_SHARE_MIN <= value < 1.0 else MIXED_SHARE_MIN


def trace_record_to_json(record: TraceRecord) -> dict[str, Any]:
    """Return a trace as JSON."""
    value: dict[str, Any] = msgspec.to_builtins(record)
    return value


def encode_trace_record(record: TraceRecord) -> bytes:
    """Return a trace as one line."""
    return dump_canonical_json(trace_record_to_json(record)) + b"\n"


def make_agent_trace_id(*parts: str) -> str:
    """Return a trace's id: its own if it is a UUID, else a UUID made of ``parts`` (RFC 9562, version 8).

    >>> make_agent_trace_id("550E8400-e29b-41d4-a716-446655440000")
    '550e8400-e29b-41d4-a716-446655440000'
    >>> make_agent_trace_id("robot", "s1", "c1")
    'afed64a4-53cb-80cb-a8c9-b8167eb04b92'
    """
    if len(parts) == 1 and _UUID.fullmatch(parts[0].lower()):
        return parts[0].lower()
    # Length prefixes keep different lists of parts distinct.
    name = "".join(f"{len(part)}:{part}" for part in parts)
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-8{digits[12:15]}-a{digits[15:18]}-{digits[18:30]}"
