"""A gap in what was recorded, and the line of a file that counts it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordingGap:
    """Something that could not be recorded, and when; None where that was not noted."""

    at_ns: int | None
    what: str


def gap_of(line: str) -> RecordingGap:
    """Read one line of the file; a line that the shell wrote has no time."""
    first, _, rest = line.partition(" ")
    if first.isascii() and first.isdigit():
        return RecordingGap(int(first), rest)
    return RecordingGap(None, line)
