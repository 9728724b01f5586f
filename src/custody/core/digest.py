"""Digests of stored bytes, and the content hash of document 000, section 8."""

import hashlib
from collections.abc import Iterable

from custody.core.ids import ContentHash, Digest

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
