"""Names for the plain values that identify things, so that one cannot be passed for another."""

from dataclasses import dataclass
from typing import NewType

StoreId = NewType("StoreId", str)
"""128 random bits as 32 lower-case hex digits: the owner of one chain."""
Seq = NewType("Seq", int)
"""A record's place in its chain, from 1."""
EventId = NewType("EventId", str)
"""The spool file name an event arrived under; a retry is recognised by it."""
NaturalKey = NewType("NaturalKey", str)
"""What an observation is of, independent of who delivered it: ``event:agent:session:kind:id``."""
Digest = NewType("Digest", bytes)
"""SHA-256 of stored bytes (32 bytes)."""
Link = NewType("Link", bytes)
"""SHA-256 tying a record to everything before it in its chain (32 bytes)."""
AgentName = NewType("AgentName", str)
SessionId = NewType("SessionId", str)
PromptId = NewType("PromptId", str)
CallId = NewType("CallId", str)
ExecutionId = NewType("ExecutionId", str)
"""One run of a traced program: what OpenTelemetry calls a trace id."""
SpanId = NewType("SpanId", str)
"""One stretch of work inside an execution."""
CommitSha = NewType("CommitSha", str)
"""A full commit id in lower-case hex: 40 digits, or 64 in a SHA-256 repository."""
BlobSha = NewType("BlobSha", str)
ContentHash = NewType("ContentHash", str)
"""``sha256:`` and 16 hex digits: document 000, section 8."""

PENDING = StoreId("pending")
"""Stands for the chain of events that are acknowledged but could not be drained (an unwritable store)."""


@dataclass(frozen=True, slots=True, order=True)
class RecordRef:
    """Which record: its chain and its place in it."""

    store: StoreId
    seq: Seq

    def __str__(self) -> str:
        return f"{self.store}:{self.seq}"
