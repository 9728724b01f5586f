"""Signatures as bytes: the lengths of the parts, then the parts in a fixed order, all little-endian.

A search reads dozens of signatures, so unpacking avoids loops over bytes.
"""

import struct
from functools import lru_cache

from custody.core.errors import StoreError
from custody.dupes.model import Signature
from custody.sketch.hashing import EMPTY_SKETCH, BottomSketch

_SETS = (
    "prod_lines",
    "lines",
    "identifiers",
    "prod_files",
    "files",
    "symbols",
    "exports",
    "imports",
    "context",
    "words",
)
_IDS = ("references", "commits", "picked", "reverted", "origins")
_MINHASHES = ("minhash", "intent", "structure")
_HEAD = struct.Struct(f"<{len(_MINHASHES) + len(_SETS) + len(_IDS)}H")
"""Bytes of each MinHash, and words of each set and each list of ids."""
_FIXED = struct.Struct("<qqqIIIIB")
"""The exact hashes, the counts, the flags."""
_BOT, _RELEASE, _PRODUCTION, _WHOLE, _INVERSE = 1, 2, 4, 8, 16
_COUNT_MAX = 2**32 - 1


def pack_signature(signature: Signature) -> bytes:
    """Return the signature as it is stored."""
    minhashes = [getattr(signature, name) or b"" for name in _MINHASHES]
    sets = [_pack_bottom_sketch(getattr(signature, name)) for name in _SETS]
    ids = [tuple(sorted(getattr(signature, name))) for name in _IDS]
    words = [word for part in (*sets, *ids) for word in part]
    flags = (
        _BOT * signature.is_bot
        + _RELEASE * signature.is_release
        + _PRODUCTION * (signature.prod_hash is not None)
        + _WHOLE * (signature.whole_hash is not None)
        + _INVERSE * (signature.inverse_hash is not None)
    )
    counts = (signature.added, signature.removed, signature.prod_changed, signature.renamed)
    return b"".join(
        (
            _HEAD.pack(*map(len, (*minhashes, *sets, *ids))),
            _FIXED.pack(
                signature.prod_hash or 0,
                signature.whole_hash or 0,
                signature.inverse_hash or 0,
                *(min(count, _COUNT_MAX) for count in counts),
                flags,
            ),
            *minhashes,
            _make_word_struct(len(words)).pack(*words),
        )
    )


def unpack_signature(data: bytes) -> Signature:
    """Return the signature that ``pack_signature`` packed; raises ``StoreError`` if the bytes are damaged."""
    try:
        lengths = _HEAD.unpack_from(data)
        production, whole, inverse, added, removed, changed, renamed, flags = _FIXED.unpack_from(data, _HEAD.size)
        at = _HEAD.size + _FIXED.size
        minhashes: list[bytes | None] = []
        for length in lengths[: len(_MINHASHES)]:
            minhashes.append(data[at : at + length] or None)
            at += length
        words = _make_word_struct((len(data) - at) // 4).unpack_from(data, at)
        if at + 4 * len(words) != len(data) or len(words) != sum(lengths[len(_MINHASHES) :]):
            raise ValueError("the lengths do not fit the data")
    except (struct.error, ValueError) as error:
        hint = "run 'custody dupes index --anew' to rebuild the index"
        raise StoreError("a signature in the index is damaged", hint=hint) from error
    parts: list[tuple[int, ...]] = []
    start = 0
    for length in lengths[len(_MINHASHES) :]:
        parts.append(words[start : start + length])
        start += length
    prod_lines, lines, identifiers, prod_files, files, symbols, exports, imports, context, message_words = (
        BottomSketch(part[0], part[1:]) if part else EMPTY_SKETCH for part in parts[: len(_SETS)]
    )
    references, commits, picked, reverted, origins = (frozenset(part) for part in parts[len(_SETS) :])
    return Signature(
        prod_hash=production if flags & _PRODUCTION else None,
        whole_hash=whole if flags & _WHOLE else None,
        inverse_hash=inverse if flags & _INVERSE else None,
        minhash=minhashes[0],
        intent=minhashes[1],
        structure=minhashes[2],
        prod_lines=prod_lines,
        lines=lines,
        identifiers=identifiers,
        prod_files=prod_files,
        files=files,
        symbols=symbols,
        exports=exports,
        imports=imports,
        context=context,
        words=message_words,
        references=references,
        commits=commits,
        picked=picked,
        reverted=reverted,
        origins=origins,
        added=added,
        removed=removed,
        prod_changed=changed,
        renamed=renamed,
        is_bot=bool(flags & _BOT),
        is_release=bool(flags & _RELEASE),
    )


def _pack_bottom_sketch(sketch: BottomSketch) -> tuple[int, ...]:
    return (sketch.size, *sketch.values) if sketch.size else ()


@lru_cache(maxsize=512)
def _make_word_struct(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}I")
