"""Ids, digests and project names, each with its own type, so that a type checker finds mix-ups."""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NewType

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern

StoreId = NewType("StoreId", str)
"""128 random bits as 32 lower-case hex digits: the owner of one chain."""
Seq = NewType("Seq", int)
"""A record's position in its chain, from 1."""
EventId = NewType("EventId", str)
"""The spool file name an event arrived under; it identifies a retry."""
NaturalKey = NewType("NaturalKey", str)
"""The subject of an observation, the same for every recorder: ``event:agent:session:kind:id``."""
Digest = NewType("Digest", bytes)
"""SHA-256 of stored bytes (32 bytes)."""
Link = NewType("Link", bytes)
"""SHA-256 that covers a record and everything before it in its chain (32 bytes)."""
AgentName = NewType("AgentName", str)
SessionId = NewType("SessionId", str)
PromptId = NewType("PromptId", str)
CallId = NewType("CallId", str)
ExecutionId = NewType("ExecutionId", str)
"""One run of a traced program; a trace id in OpenTelemetry."""
SpanId = NewType("SpanId", str)
"""One unit of work inside an execution."""
CommitSha = NewType("CommitSha", str)
"""A full commit id in lower-case hex: 40 digits, or 64 in a SHA-256 repository."""
BlobSha = NewType("BlobSha", str)
ContentHash = NewType("ContentHash", str)
"""``sha256:`` and 16 hex digits: document 000, section 8."""

PENDING = StoreId("pending")
"""The chain of acknowledged events that could not be ingested (the store is not writable)."""


class RecordRef(Struct, frozen=True, order=True):
    """A reference to a record: its chain and its position."""

    store: StoreId
    seq: Seq

    def __str__(self) -> str:
        return f"{self.store}:{self.seq}"


# Digests of stored bytes, and the content hash of document 000, section 8.


CONTENT_HASH_DIGITS = 16
CONTENT_HASH_DIGITS_MIN = 8
"""Minimum digits of a hash that can match; a shorter hash is not specific enough."""

_PREFIX = "sha256:"
_HEX = frozenset("0123456789abcdef")


def digest_from_bytes(data: bytes) -> Digest:
    """Return the SHA-256 of ``data``, its name in the store."""
    return Digest(hashlib.sha256(data).digest())


def content_hash_from_lines(lines: Iterable[bytes]) -> ContentHash:
    r"""Hash a segment's lines by document 000, section 8: joined by ``\n``, with normalized line ends.

    >>> content_hash_from_lines([b"hello", b"world"])
    'sha256:26c60a61d01db583'
    >>> content_hash_from_lines([b"hello\r", b"world"]) == content_hash_from_lines([b"hello", b"world"])
    True
    """
    text = b"\n".join(lines).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return ContentHash(_PREFIX + hashlib.sha256(text).hexdigest()[:CONTENT_HASH_DIGITS])


def content_hash_from_text(text: bytes) -> ContentHash:
    r"""Return the content hash of a whole text; a line end at the end does not add a line.

    >>> content_hash_from_text(b"hello\nworld\n") == content_hash_from_lines([b"hello", b"world"])
    True
    """
    return content_hash_from_lines(text.removesuffix(b"\n").split(b"\n"))


def content_hashes_match(left: str, right: str) -> bool:
    """Return whether two content hashes match, ignoring prefix and case, up to the shorter length.

    >>> content_hashes_match("sha256:26c60a61d01db583", "26C60A61")
    True
    >>> content_hashes_match("sha256:26c60a61d01db583", "26c60a6")
    False
    """
    a, b = (text.lower().removeprefix(_PREFIX) for text in (left, right))
    shorter = min(len(a), len(b))
    return shorter >= CONTENT_HASH_DIGITS_MIN and _HEX.issuperset(a + b) and a[:shorter] == b[:shorter]


# Projects separate the data of a team; this defines valid names.


DEFAULT_PROJECT = "default"
"""The project if none is named."""

_NAME = lazy_pattern(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?", re.ASCII)


def check_project_name(text: str) -> str:
    """Return ``text`` if it is a valid project name, else raise an ``InputError``.

    >>> check_project_name("web-shop")
    'web-shop'
    """
    if not _NAME.fullmatch(text):
        raise InputError(
            f"invalid project name '{text[:60]}'",
            hint="use up to 40 lower-case letters, digits and hyphens, with a letter or digit at both ends",
        )
    return text


SHORT_ID_LENGTH = 8
"""Characters of a session's id that are shown, unless more are needed to tell it apart."""


def shorten_session_id(session: str, recorded: Sequence[str]) -> str:
    """Return the shortest unique start of an id among ``recorded`` ones in order; the whole id if none is unique.

    >>> recorded = ["5d2f0c3e-1111", "5d2f0c3e-2222", "9a61b7d4-3333", "s1", "s10"]
    >>> [shorten_session_id(session, recorded) for session in recorded]
    ['5d2f0c3e-1', '5d2f0c3e-2', '9a61b7d4', 's1', 's10']
    """
    at = bisect_left(recorded, session)
    neighbors = [other for other in recorded[max(at - 1, 0) : at + 2] if other != session]
    shared = max((_count_shared_start(session, other) for other in neighbors), default=0)
    return session[: max(SHORT_ID_LENGTH, shared + 1)]


def _count_shared_start(text: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False)))
