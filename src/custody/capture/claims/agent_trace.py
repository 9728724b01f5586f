"""Agent Trace 0.1.0 records as custody writes them; the specification is github.com/cursor/agent-trace."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from custody.core.wire.canonical import dump

AGENT_TRACE_VERSION = "0.1.0"
UNKNOWN_VERSION = "unknown"
"""The specification wants a tool's version; what was captured does not say."""
MODEL_SIGNS_MAX = 250
METADATA = "custody"
"""Where in a trace's metadata stands what we say beyond the specification."""
MIXED_SHARE_MIN = 0.5
"""The least that ``mixed`` means: a line of which an agent has less is not said to be its."""
OF_REVISION = "revision"
"""What stands there under ``lines`` when they are those of the commit that the trace names."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Contributor(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who wrote a range."""

    type: Literal["human", "ai", "mixed", "unknown"]
    model_id: str | None = None


class Range(msgspec.Struct, frozen=True, omit_defaults=True):
    """Lines of a file, from 1, both ends included, and the hash of their text."""

    start_line: int
    end_line: int
    content_hash: str | None = None


class Conversation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one conversation wrote in a file."""

    contributor: Contributor
    ranges: list[Range]
    url: str | None = None


class File(msgspec.Struct, frozen=True):
    """A file, and who wrote what in it."""

    path: str
    conversations: list[Conversation]


class Vcs(msgspec.Struct, frozen=True):
    """Where the file was in history."""

    type: Literal["git"]
    revision: str


class Tool(msgspec.Struct, frozen=True):
    """What produced the code."""

    name: str
    version: str = UNKNOWN_VERSION


@dataclass(frozen=True, slots=True)
class LineClaim:
    """Who wrote lines of a commit, how much of them, and which tool says so (``producer``; None is custody).

    ``agent`` is our name of the agent, ``session`` the session's own id. Of git-ai notes, only ours have a ``share``.
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


def commit_trace(commit: str, at: str, who: LineClaim, files: Mapping[str, Sequence[Range]]) -> TraceRecord:
    """What somebody wrote of a commit: the lines are those of the commit itself, whatever became of them later."""
    mixed = who.share < 1.0
    contributor = Contributor("mixed" if mixed else "ai", None if who.model is None else who.model[:MODEL_SIGNS_MAX])
    said = {
        "version": who.version,
        "lines": OF_REVISION,
        "session": who.session,
        "call": who.call,
        "producer": who.producer,
        "share": who.share if mixed else None,
    }
    named = (commit, who.producer or "", who.agent, who.session, who.call or "", who.model or "")
    parts = (*named, str(mixed), *([str(who.share)] if mixed else []))
    return TraceRecord(
        version=AGENT_TRACE_VERSION,
        id=trace_id(*parts),
        timestamp=at,
        vcs=Vcs("git", commit),
        tool=Tool(who.agent),
        files=[File(path, [Conversation(contributor, list(ranges))]) for path, ranges in sorted(files.items())],
        metadata={METADATA: {name: value for name, value in said.items() if value is not None}},
    )


def compute_mixed_share(told: object) -> float:
    """How much of lines that are said to be mixed is an agent's: as told, but never less than the word means.

    >>> compute_mixed_share(0.83), compute_mixed_share(0.1), compute_mixed_share(None), compute_mixed_share(1.0)
    (0.83, 0.5, 0.5, 0.5)
    """
    return told if isinstance(told, float) and MIXED_SHARE_MIN <= told < 1.0 else MIXED_SHARE_MIN


def trace_value(record: TraceRecord) -> dict[str, Any]:
    """A trace as JSON."""
    value: dict[str, Any] = msgspec.to_builtins(record)
    return value


def encode_trace(record: TraceRecord) -> bytes:
    """A trace as one line."""
    return dump(trace_value(record)) + b"\n"


def trace_id(*parts: str) -> str:
    """The id that the specification wants: the trace's own if it is a UUID, else one made of ``parts`` (RFC 9562, 8).

    >>> trace_id("550E8400-e29b-41d4-a716-446655440000")
    '550e8400-e29b-41d4-a716-446655440000'
    >>> trace_id("robot", "s1", "c1")
    'afed64a4-53cb-80cb-a8c9-b8167eb04b92'
    """
    if len(parts) == 1 and _UUID.fullmatch(parts[0].lower()):
        return parts[0].lower()
    # Each part with its length, so that no two lists of parts look alike.
    name = "".join(f"{len(part)}:{part}" for part in parts)
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-8{digits[12:15]}-a{digits[15:18]}-{digits[18:30]}"
