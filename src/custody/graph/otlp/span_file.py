"""Files of OpenTelemetry spans, in chunks: JSON lines, one JSON value, or protobuf; each may be compressed.

At most one line, value or message is in memory. Unreadable input becomes an ``OtlpProblem`` in its place.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.wire.canonical import parse_json_bytes
from custody.graph.otlp.json import RESOURCES, is_otlp_json, parse_otlp_spans
from custody.graph.otlp.protobuf import (
    RESOURCE_TAG,
    VARINT_BYTES_MAX,
    decode_otlp_varint,
    is_otlp_protobuf,
    parse_otlp_protobuf,
)
from custody.graph.wire.otlp_span import OBJECT_BYTES_MAX, OtlpProblem, OtlpSpan

GZIP = b"\x1f\x8b"
HEAD_BYTES = 4096
FRAME_BYTES = 4
"""The size before each message, as the collector's file exporter writes it: big-endian, so its first byte is 0."""
CHUNK_BYTES = 1 << 20
LINES_CHECKED_MAX = 50
OPENERS = (b"{", b"[")
UNFINISHED = (b"{", b"[", b",")
"""How the first line of an indented value ends."""


class SpanChunk(Struct, frozen=True):
    """The spans of one line, value or message; ``line`` is its number, None if the file is one value."""

    line: int | None
    spans: Iterable[OtlpSpan | OtlpProblem]
    read: int
    """Bytes of the file on disk that were read so far."""


def iterate_span_chunks(path: Path) -> Iterator[SpanChunk]:
    """Yield the chunks of a file in order; raise ``InputError`` only if it cannot be opened."""
    with _open_span_file(path) as disk:
        plain = _decompress_span_file(disk)
        try:
            for line, spans in _read_otlp_parts(plain, path.stat().st_size):
                yield SpanChunk(line, spans, disk.tell())
        except (EOFError, OSError, zlib.error) as error:
            yield SpanChunk(None, (OtlpProblem(f"cannot read the rest: {error}"),), disk.tell())


def is_otlp_file(path: Path) -> bool:
    """Return whether a file's first bytes are those of spans."""
    try:
        with _open_span_file(path) as disk:
            plain = _decompress_span_file(disk)
            head = plain.read(HEAD_BYTES)
            if head.startswith(b"\0"):
                return is_otlp_protobuf(head[FRAME_BYTES:], int.from_bytes(head[:FRAME_BYTES], "big"))
            if is_otlp_protobuf(head, OBJECT_BYTES_MAX if plain is not disk else path.stat().st_size):
                return True
            if not head.lstrip().startswith(OPENERS):
                return False
            plain.seek(0)
            return _has_otlp_spans(plain)
    except (EOFError, InputError, OSError, zlib.error):
        return False  # reading the file reports the reason


def _has_otlp_spans(plain: BinaryIO) -> bool:
    for _, data in zip(range(LINES_CHECKED_MAX), _read_span_file_lines(plain), strict=False):
        try:
            value = parse_json_bytes(data, bytes_max=OBJECT_BYTES_MAX)
        except InputError:
            if data.rstrip().endswith(UNFINISHED):
                plain.seek(0)
                head = plain.read(HEAD_BYTES)
                return any(f'"{name}"'.encode() in head for name in RESOURCES)
            continue
        if is_otlp_json(value[0] if isinstance(value, list) and value else value):
            return True
    return False


def _open_span_file(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(
            f"cannot read '{path}': {error.strerror}", hint="pass a file of OpenTelemetry spans"
        ) from error


def _decompress_span_file(disk: BinaryIO) -> BinaryIO:
    """Return the file, decompressed if needed."""
    packed = disk.read(len(GZIP)) == GZIP
    disk.seek(0)
    return gzip.GzipFile(fileobj=disk, mode="rb") if packed else disk  # type: ignore[return-value]


Part = tuple[int | None, Iterable[OtlpSpan | OtlpProblem]]


def _read_otlp_parts(plain: BinaryIO, size: int) -> Iterator[Part]:
    head = plain.read(HEAD_BYTES)
    plain.seek(0)
    if head.startswith(b"\0"):
        yield from _read_otlp_frames(plain)
    elif is_otlp_protobuf(head, max(size, OBJECT_BYTES_MAX)):
        yield from _read_otlp_messages(plain)
    else:
        yield from _read_otlp_json(plain)


def _read_otlp_json(plain: BinaryIO) -> Iterator[Part]:
    """Yield the values of JSON lines, or one value over several lines."""
    first = next(_read_span_file_lines(plain), b"")
    plain.seek(0)
    if not _is_span_json(first):
        data = plain.read(OBJECT_BYTES_MAX + 1)
        plain.seek(0)
        if len(data) <= OBJECT_BYTES_MAX and _is_span_json(data):
            yield None, parse_otlp_spans(parse_json_bytes(data, bytes_max=OBJECT_BYTES_MAX))
            return
        if len(data) > OBJECT_BYTES_MAX and first.rstrip().endswith(UNFINISHED):
            what = f"a JSON value of more than {OBJECT_BYTES_MAX:,} bytes: write one value per line, or several files"
            yield None, (OtlpProblem(what),)
            return
    yield from _read_otlp_json_lines(plain)


def _is_span_json(data: bytes) -> bool:
    try:
        parse_json_bytes(data, bytes_max=OBJECT_BYTES_MAX)
    except InputError:
        return False
    return True


def _read_otlp_json_lines(plain: BinaryIO) -> Iterator[Part]:
    for number, data in enumerate(_read_span_file_lines(plain), start=1):
        if not data.strip():
            continue
        try:
            yield number, parse_otlp_spans(parse_json_bytes(data, bytes_max=OBJECT_BYTES_MAX))
        except InputError as error:
            yield number, (OtlpProblem(error.message),)


def _read_span_file_lines(plain: BinaryIO) -> Iterator[bytes]:
    """Yield lines without their ends. A line over the limit is cut just above it, for the caller to reject."""
    while data := plain.readline(OBJECT_BYTES_MAX + 2):
        yield data.removesuffix(b"\n")
        long = len(data) > OBJECT_BYTES_MAX
        while long and data and not data.endswith(b"\n"):
            data = plain.readline(CHUNK_BYTES)  # skip the rest of the line


def _read_otlp_messages(plain: BinaryIO) -> Iterator[Part]:
    """Yield protobuf by the fields of its outermost message, since consecutive messages are one."""
    number = 0
    while tag := _read_otlp_varint(plain):
        number += 1
        length = _read_otlp_varint(plain)
        try:
            size = decode_otlp_varint(length, 0)[0] if tag == RESOURCE_TAG else OBJECT_BYTES_MAX
        except ValueError:
            size = 0  # reported where its spans are parsed
        # An unknown field is read to the end and reported once: where the next one starts is unknown.
        yield number, parse_otlp_protobuf(tag + length + plain.read(min(size, OBJECT_BYTES_MAX)))
        if size >= OBJECT_BYTES_MAX:
            return


def _read_otlp_varint(plain: BinaryIO) -> bytes:
    """Return the bytes of one varint."""
    data = b""
    while (byte := plain.read(1)) and len(data) < VARINT_BYTES_MAX:
        data += byte
        if byte < b"\x80":
            break
    return data


def _read_otlp_frames(plain: BinaryIO) -> Iterator[Part]:
    number = 0
    while frame := plain.read(FRAME_BYTES):
        number += 1
        size = int.from_bytes(frame, "big")
        if size > OBJECT_BYTES_MAX:
            yield number, (OtlpProblem(f"a message of {size:,} bytes is over the limit of {OBJECT_BYTES_MAX:,}"),)
            return
        data = plain.read(size)
        yield number, parse_otlp_protobuf(data)
        if len(data) < size:
            yield number, (OtlpProblem("the file ends inside a message"),)
            return
