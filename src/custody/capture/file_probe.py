"""A first look at files of other programs, to learn where they belong; whoever reads them says what is wrong there."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from custody.capture.line_reader import lines_of
from custody.capture.typed_field import Fields, fields
from custody.core.errors import InputError
from custody.core.wire.canonical import parse

LINES = 50
BYTES_MAX = 1 << 20


def first_lines(file: Path) -> Iterator[bytes]:
    """The first lines of a file; none of one that cannot be read."""
    try:
        yield from (line.data for line in islice(lines_of(file), LINES))
    except OSError:
        return


def small_file(file: Path) -> bytes:
    """All of a small file; nothing of one that is large, or cannot be read."""
    try:
        return file.read_bytes() if file.is_file() and file.stat().st_size <= BYTES_MAX else b""
    except OSError:
        return b""


def read_json_object(data: bytes) -> Fields:
    """The JSON object that is there, or an empty one."""
    try:
        return fields(parse(data))
    except InputError:
        return {}
