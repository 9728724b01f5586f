"""Long texts of a payload are bodies of their own: kept once, erased alone.

``split`` takes them out and leaves ``{"$body": "sha256:…"}``; ``join`` puts them back, or leaves ``{"$erased":
"sha256:…"}`` where the text is gone. A payload that happens to look like one of these marks is wrapped, so every
value survives the way.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from custody.core.digest import digest_of
from custody.core.errors import InputError
from custody.core.ids import Digest
from custody.core.wire.canonical import Json, bytes_text, text_bytes

TEXT_BYTES_MAX = 4096
"""A longer text becomes a body of its own."""

_BODY, _ERASED, _LITERAL = "$body", "$erased", "$literal"
_MARKS = frozenset((_BODY, _ERASED, _LITERAL))
_PREFIX = "sha256:"


@dataclass(frozen=True, slots=True)
class SplitPayload:
    """A payload without its long texts, and those texts by digest."""

    payload: Json
    texts: Mapping[Digest, bytes]


def split(payload: Json) -> SplitPayload:
    """Take the texts over 4 kB out of ``payload``."""
    texts: dict[Digest, bytes] = {}
    return SplitPayload(_without_texts(payload, texts), texts)


def join(payload: Json, texts: Mapping[Digest, bytes | None]) -> Json:
    """Put the texts back; one that is None (or absent) was erased."""
    if isinstance(payload, list):
        return [join(item, texts) for item in payload]
    if not isinstance(payload, dict):
        return payload
    mark, inner = _mark(payload)
    if mark == _LITERAL and isinstance(inner, dict):
        return {key: join(item, texts) for key, item in inner.items()}
    if mark == _BODY and isinstance(inner, str):
        text = texts.get(digest_from(inner))
        return {_ERASED: inner} if text is None else bytes_text(text)
    return {key: join(item, texts) for key, item in payload.items()}


def parts(payload: Json) -> frozenset[Digest]:
    """The digests of the texts that were taken out of a stored payload."""
    if isinstance(payload, list):
        return frozenset().union(*(parts(item) for item in payload))
    if not isinstance(payload, dict):
        return frozenset()
    mark, inner = _mark(payload)
    if mark == _BODY and isinstance(inner, str):
        return frozenset((digest_from(inner),))
    if mark == _LITERAL and isinstance(inner, dict):
        return frozenset().union(*(parts(item) for item in inner.values()))
    return frozenset().union(*(parts(item) for item in payload.values()))


def digest_text(digest: bytes) -> str:
    """A digest as it is written everywhere outside the database.

    >>> digest_text(bytes(32))[:15]
    'sha256:00000000'
    """
    return _PREFIX + digest.hex()


def digest_from(text: str) -> Digest:
    """Read what ``digest_text`` wrote."""
    try:
        raw = bytes.fromhex(text.removeprefix(_PREFIX))
    except ValueError as error:
        raise InputError(f"'{text[:80]}' is not a digest", hint="a digest is 'sha256:' and 64 hex digits") from error
    if len(raw) != 32 or digest_text(raw) != text:
        raise InputError(f"'{text[:80]}' is not a digest", hint="a digest is 'sha256:' and 64 lower-case hex digits")
    return Digest(raw)


def _without_texts(value: Json, texts: dict[Digest, bytes]) -> Json:
    if isinstance(value, str) and len(value) * 4 > TEXT_BYTES_MAX:
        data = text_bytes(value)
        if len(data) <= TEXT_BYTES_MAX:
            return value
        digest = digest_of(data)
        texts[digest] = data
        return {_BODY: digest_text(digest)}
    if isinstance(value, list):
        return [_without_texts(item, texts) for item in value]
    if isinstance(value, dict):
        kept: dict[str, Json] = {key: _without_texts(item, texts) for key, item in value.items()}
        return {_LITERAL: kept} if _mark(value)[0] else kept
    return value


def _mark(value: dict[str, Json]) -> tuple[str | None, Json]:
    if len(value) == 1:
        ((key, inner),) = value.items()
        if key in _MARKS:
            return key, inner
    return None, None
