"""A file of decisions as a stream: one JSON object per line, optionally compressed with gzip."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, cast

import msgspec
from msgspec import Meta

from bench.bars import BenchError
from bench.trust_stream import DecidedChange
from custody.core.errors import InputError
from custody.core.wire.time import check_timestamp_ns, parse_timestamp
from custody.trust.levels import LevelCase
from custody.trust.model import DecisionType

LINE_BYTES_MAX = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
NS_PER_SECOND = 1_000_000_000
SECONDS_MAX = 1e12
BoundedName = Annotated[str, Meta(min_length=1, max_length=1000)]
DecisionTime = int | float | BoundedName
"""Seconds since 1970, or RFC 3339 with a zone."""


class DecisionLine(msgspec.Struct, frozen=True, kw_only=True):
    """One decided change; other fields are ignored."""

    agent: BoundedName
    repo: BoundedName | int
    opened: DecisionTime
    time: DecisionTime
    decision: Literal["accepted", "modified", "rejected"]
    lines: Annotated[int, Meta(ge=0)] | None = None
    area: BoundedName | None = None
    areas: Annotated[list[BoundedName], Meta(max_length=1000)] | None = None
    operator: BoundedName | None = None


def read_decisions(path: Path) -> list[DecidedChange]:
    """Return the decisions in ``path``; a ``BenchError`` names the first damaged line."""
    number = 0
    stream: list[DecidedChange] = []
    try:
        with _open_lines(path) as file:
            while line := file.readline(LINE_BYTES_MAX + 1):
                number += 1
                if line.strip():
                    stream.append(_parse_line(line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InputError) as error:
        raise BenchError(f"{path}: line {number}: {error}") from error
    except (EOFError, zlib.error) as error:
        raise BenchError(f"{path}: damaged after line {number}: {error}") from error
    except OSError as error:
        raise BenchError(f"cannot read {path}: {error.strerror or error}") from error
    if not stream:
        raise BenchError(f"{path}: no decisions")
    return stream


@contextmanager
def _open_lines(path: Path) -> Iterator[BinaryIO]:
    with path.open("rb") as file:
        packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        file.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast("BinaryIO", unpacked)
        else:
            yield file


def _parse_line(line: bytes) -> DecidedChange:
    if len(line) > LINE_BYTES_MAX:
        raise InputError(f"more than {LINE_BYTES_MAX:,} bytes")
    row = msgspec.json.decode(line, type=DecisionLine)
    opened_ns, decided_ns = _time_ns(row.opened), _time_ns(row.time)
    if decided_ns < opened_ns:
        raise InputError("decided before it was opened")
    areas = tuple(dict.fromkeys((*((row.area,) if row.area else ()), *(row.areas or ()))))
    case = LevelCase(row.agent, str(row.repo), areas, row.operator, row.lines, opened_ns)
    return DecidedChange(case, DecisionType(row.decision), decided_ns)


def _time_ns(time: DecisionTime) -> int:
    if isinstance(time, str):
        return parse_timestamp(time)
    if isinstance(time, int):
        return check_timestamp_ns(time * NS_PER_SECOND)
    # A time far outside all years must not become infinite before it is rejected.
    return check_timestamp_ns(round(min(max(time, -SECONDS_MAX), SECONDS_MAX) * NS_PER_SECOND))
