"""Ids, digests and project names: plain values with types of their own, so that one cannot be passed for another."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NewType

from custody.core.errors import InputError

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


# Digests of stored bytes, and the content hash of document 000, section 8.


CONTENT_HASH_DIGITS = 16
CONTENT_HASH_DIGITS_MIN = 8
"""A shorter hash never matches: eight digits are the least that tie a text to a trace."""

_PREFIX = "sha256:"
_HEX = frozenset("0123456789abcdef")


def digest_of(data: bytes) -> Digest:
    """The SHA-256 that names ``data`` in the store."""
    return Digest(hashlib.sha256(data).digest())


def content_hash(lines: Iterable[bytes]) -> ContentHash:
    r"""Hash a segment's lines as document 000, section 8, says: joined by ``\n``, line ends normalised.

    >>> content_hash([b"hello", b"world"])
    'sha256:26c60a61d01db583'
    >>> content_hash([b"hello\r", b"world"]) == content_hash([b"hello", b"world"])
    True
    """
    text = b"\n".join(lines).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return ContentHash(_PREFIX + hashlib.sha256(text).hexdigest()[:CONTENT_HASH_DIGITS])


def whole_hash(text: bytes) -> ContentHash:
    r"""The content hash of a whole text; a last line end does not count as one more line.

    >>> whole_hash(b"hello\nworld\n") == content_hash([b"hello", b"world"])
    True
    """
    return content_hash(text.removesuffix(b"\n").split(b"\n"))


def content_hashes_match(left: str, right: str) -> bool:
    """Whether two content hashes name the same text: prefix and case aside, compared on the shorter length.

    >>> content_hashes_match("sha256:26c60a61d01db583", "26C60A61")
    True
    >>> content_hashes_match("sha256:26c60a61d01db583", "26c60a6")
    False
    """
    a, b = (text.lower().removeprefix(_PREFIX) for text in (left, right))
    shorter = min(len(a), len(b))
    return shorter >= CONTENT_HASH_DIGITS_MIN and _HEX.issuperset(a + b) and a[:shorter] == b[:shorter]


# Projects: what a team keeps apart, and how one may be named.


DEFAULT_PROJECT = "default"
"""The project of everybody who names none."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?", re.ASCII)


def project_name(text: str) -> str:
    """``text`` itself if a project may be called so: up to 40 small letters, digits and hyphens.

    >>> project_name("web-shop")
    'web-shop'
    """
    if not _NAME.fullmatch(text):
        raise InputError(
            f"'{text[:60]}' cannot be the name of a project",
            hint="up to 40 small letters, digits and hyphens, with a letter or digit at either end",
        )
    return text
