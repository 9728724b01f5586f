"""Files of OpenTelemetry's spans, a piece at a time: JSON lines, one JSON value, protobuf; each perhaps compressed.

Never more than one line, one value or one message is in memory. What cannot be read is a ``OtlpProblem`` in its place.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from custody.core.errors import InputError
from custody.core.wire.canonical import parse
from custody.graph.otlp.json import RESOURCES, is_otlp, spans_in
from custody.graph.otlp.protobuf import RESOURCE_TAG, VARINT_BYTES_MAX, looks_like_proto, proto_spans, varint
from custody.graph.wire.otlp_span import OBJECT_BYTES_MAX, OtlpProblem, OtlpSpan

GZIP = b"\x1f\x8b"
HEAD_BYTES = 4096
FRAME_BYTES = 4
"""The size before each message, as the collector's file exporter writes it: big-endian, so its first byte is 0."""
CHUNK_BYTES = 1 << 20
LINES_LOOKED_AT = 50
OPENERS = (b"{", b"[")
GOES_ON = (b"{", b"[", b",")
"""How the first line of a value ends that is written for people."""


@dataclass(frozen=True, slots=True)
class SpanChunk:
    """What one line, value or message holds; ``line`` is its number, None where a file is one value."""

    line: int | None
    spans: Iterable[OtlpSpan | OtlpProblem]
    read: int
    """How many bytes of the file on disk were read until here."""


def pieces(path: Path) -> Iterator[SpanChunk]:
    """The pieces of a file in order; only that the file cannot be opened is an ``InputError``."""
    with _opened(path) as disk:
        plain = _plain(disk)
        try:
            for line, spans in _parts(plain, path.stat().st_size):
                yield SpanChunk(line, spans, disk.tell())
        except (EOFError, OSError, zlib.error) as error:
            yield SpanChunk(None, (OtlpProblem(f"cannot be read on: {error}"),), disk.tell())


def is_otlp_file(path: Path) -> bool:
    """Whether a file's first bytes are those of spans."""
    try:
        with _opened(path) as disk:
            plain = _plain(disk)
            head = plain.read(HEAD_BYTES)
            if head.startswith(b"\0"):
                return looks_like_proto(head[FRAME_BYTES:], int.from_bytes(head[:FRAME_BYTES], "big"))
            if looks_like_proto(head, OBJECT_BYTES_MAX if plain is not disk else path.stat().st_size):
                return True
            if not head.lstrip().startswith(OPENERS):
                return False
            plain.seek(0)
            return _has_spans(plain)
    except (EOFError, InputError, OSError, zlib.error):
        return False  # whoever reads it says why


def _has_spans(plain: BinaryIO) -> bool:
    for _, data in zip(range(LINES_LOOKED_AT), _lines(plain), strict=False):
        try:
            value = parse(data, bytes_max=OBJECT_BYTES_MAX)
        except InputError:
            if data.rstrip().endswith(GOES_ON):
                plain.seek(0)
                head = plain.read(HEAD_BYTES)
                return any(f'"{name}"'.encode() in head for name in RESOURCES)
            continue
        if is_otlp(value[0] if isinstance(value, list) and value else value):
            return True
    return False


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(
            f"cannot read '{path}': {error.strerror}", hint="name a file of OpenTelemetry's spans"
        ) from error


def _plain(disk: BinaryIO) -> BinaryIO:
    """The file, unpacked on the way where it is compressed."""
    packed = disk.read(len(GZIP)) == GZIP
    disk.seek(0)
    return gzip.GzipFile(fileobj=disk, mode="rb") if packed else disk  # type: ignore[return-value]


Part = tuple[int | None, Iterable[OtlpSpan | OtlpProblem]]


def _parts(plain: BinaryIO, size: int) -> Iterator[Part]:
    head = plain.read(HEAD_BYTES)
    plain.seek(0)
    if head.startswith(b"\0"):
        yield from _framed(plain)
    elif looks_like_proto(head, max(size, OBJECT_BYTES_MAX)):
        yield from _messages(plain)
    else:
        yield from _json(plain)


def _json(plain: BinaryIO) -> Iterator[Part]:
    """Lines that are a value each, or one value over several lines."""
    first = next(_lines(plain), b"")
    plain.seek(0)
    if not _is_json(first):
        data = plain.read(OBJECT_BYTES_MAX + 1)
        plain.seek(0)
        if len(data) <= OBJECT_BYTES_MAX and _is_json(data):
            yield None, spans_in(parse(data, bytes_max=OBJECT_BYTES_MAX))
            return
        if len(data) > OBJECT_BYTES_MAX and first.rstrip().endswith(GOES_ON):
            what = f"one JSON value of more than {OBJECT_BYTES_MAX:,} bytes: write a value a line, or several files"
            yield None, (OtlpProblem(what),)
            return
    yield from _json_lines(plain)


def _is_json(data: bytes) -> bool:
    try:
        parse(data, bytes_max=OBJECT_BYTES_MAX)
    except InputError:
        return False
    return True


def _json_lines(plain: BinaryIO) -> Iterator[Part]:
    for number, data in enumerate(_lines(plain), start=1):
        if not data.strip():
            continue
        try:
            yield number, spans_in(parse(data, bytes_max=OBJECT_BYTES_MAX))
        except InputError as error:
            yield number, (OtlpProblem(error.message),)


def _lines(plain: BinaryIO) -> Iterator[bytes]:
    """Lines without their ends; one that is too long comes as its beginning, which is more than a value may have."""
    while data := plain.readline(OBJECT_BYTES_MAX + 2):
        yield data.removesuffix(b"\n")
        long = len(data) > OBJECT_BYTES_MAX
        while long and data and not data.endswith(b"\n"):
            data = plain.readline(CHUNK_BYTES)  # the rest of it is no line


def _messages(plain: BinaryIO) -> Iterator[Part]:
    """Protobuf by the fields of its outermost message, since any number of messages in a row are one."""
    number = 0
    while tag := _varint(plain):
        number += 1
        length = _varint(plain)
        try:
            size = varint(length, 0)[0] if tag == RESOURCE_TAG else OBJECT_BYTES_MAX
        except ValueError:
            size = 0  # said where its spans are read
        # What is no field of spans is read to its end and said once: nobody knows where the next begins.
        yield number, proto_spans(tag + length + plain.read(min(size, OBJECT_BYTES_MAX)))
        if size >= OBJECT_BYTES_MAX:
            return


def _varint(plain: BinaryIO) -> bytes:
    """The bytes of one number."""
    data = b""
    while (byte := plain.read(1)) and len(data) < VARINT_BYTES_MAX:
        data += byte
        if byte < b"\x80":
            break
    return data


def _framed(plain: BinaryIO) -> Iterator[Part]:
    number = 0
    while frame := plain.read(FRAME_BYTES):
        number += 1
        size = int.from_bytes(frame, "big")
        if size > OBJECT_BYTES_MAX:
            yield number, (OtlpProblem(f"a message of {size:,} bytes is over the limit of {OBJECT_BYTES_MAX:,}"),)
            return
        data = plain.read(size)
        yield number, proto_spans(data)
        if len(data) < size:
            yield number, (OtlpProblem("the file ends inside a message"),)
            return
