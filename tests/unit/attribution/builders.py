"""Segments and candidates with defaults for fields that a test does not care about."""

from typing import Any

from custody.attribution.engine import attribute
from custody.attribution.model import (
    AttributionFinding,
    Grade,
    NoAttribution,
    Segment,
    Trace,
    TraceAttribution,
    TraceCandidate,
    TraceEntry,
)
from custody.attribution.rules import AttributeRules
from custody.core.ids import (
    AgentName,
    CommitSha,
    ContentHash,
    RecordRef,
    Seq,
    SessionId,
    StoreId,
    content_hash_from_lines,
    digest_from_bytes,
)
from custody.core.paths import Lines, RepoPath

DOCUMENT = AttributeRules(profile="document")
LINEAGE = AttributeRules()
DIGEST = digest_from_bytes(b"the rules")

FILE = RepoPath(b"src/app.py")
OTHER_FILE = RepoPath(b"src/other.py")
COMMIT, PARENT, ANCESTOR = (CommitSha(digit * 40) for digit in "cba")
HOUR = 3_600 * 1_000_000_000
NOON = 1_700_000_000 * 1_000_000_000
TEXT = content_hash_from_lines([b"one", b"two", b"three"])
OTHER_TEXT = content_hash_from_lines([b"something else"])
RECORD = RecordRef(StoreId("5" * 32), Seq(7))
LINK_RECORD = RecordRef(StoreId("5" * 32), Seq(8))


def a_segment(**fields: Any) -> Segment:
    """Return lines 10 to 20 of a file, with line 15 as the middle."""
    defaults: dict[str, Any] = {
        "path": FILE,
        "lines": Lines(10, 20),
        "commit": COMMIT,
        "parent": PARENT,
        "at_ns": NOON,
        "hash": TEXT,
    }
    return Segment(**{**defaults, **fields})


def a_trace(name: str = "t1") -> Trace:
    return Trace(name, AgentName("robot"), SessionId(name))


def a_candidate(name: str = "t1", *entries: TraceEntry, **fields: Any) -> TraceCandidate:
    """Return a trace that touched the file, without further evidence."""
    defaults: dict[str, Any] = {"path": FILE, "at_ns": None, "revision": None, "records": (RECORD,)}
    return TraceCandidate(trace=a_trace(name), entries=entries, **{**defaults, **fields})


def an_entry(
    first: int | None = None, last: int | None = None, *, text: ContentHash | None = None, level: str = "conversation"
) -> TraceEntry:
    """Return an entry of a trace: its lines and hash."""
    return TraceEntry(level, None if first is None or last is None else Lines(first, last), text)


LINKED: dict[str, Any] = {"linked": True, "link_records": (LINK_RECORD,)}
AT_PARENT: dict[str, Any] = {"revision": PARENT}
AT_ANCESTOR: dict[str, Any] = {"revision": ANCESTOR, "precedes": True}
IN_TIME: dict[str, Any] = {"at_ns": NOON - HOUR}
VOUCHED: dict[str, Any] = {"grade": Grade.RECORDED, "intact": True}
HASHED = an_entry(text=TEXT)
INSIDE = an_entry(12, 18)
NEAR = an_entry(16, 30)
"""Line 15 is one line before it."""


def find_author(
    *candidates: TraceCandidate, segment: Segment | None = None, rules: AttributeRules = DOCUMENT
) -> AttributionFinding:
    return attribute(segment or a_segment(), candidates, rules, rules_digest=DIGEST)


def answer(*candidates: TraceCandidate, **more: Any) -> TraceAttribution:
    """Return the finding, which must name a trace."""
    finding = find_author(*candidates, **more)
    assert isinstance(finding, TraceAttribution), finding
    return finding


def refusal(*candidates: TraceCandidate, **more: Any) -> str:
    """Return the reason of a finding, which must not name a trace."""
    finding = find_author(*candidates, **more)
    assert isinstance(finding, NoAttribution), finding
    return finding.reason


def names(finding: TraceAttribution) -> list[str]:
    return [signal.name for signal in finding.evidence.signals]
