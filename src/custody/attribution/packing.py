"""Pack origins for the store as runs of lines with the same origin."""

from array import array
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from custody.attribution.lineage import LineOrigin
from custody.attribution.origin_search import VersionLine
from custody.attribution.text import is_informative_lineage_line, make_lineage_key
from custody.core.ids import CommitSha

_MILLION = 1_000_000
_NO_TRAIL = "-"
_BAR = "|"


class UnpackedVersion(NamedTuple):
    """A stored version: its lines, how many commits were read for it, and the notes."""

    lines: list[VersionLine]
    commits: int
    notes: list[str]


def pack_line_origins(origins: Iterable[LineOrigin]) -> bytes:
    """Return runs of (line count, state, share in millionths).

    >>> unpack_line_origins(pack_line_origins([LineOrigin(3), LineOrigin(3), LineOrigin(0, 0.0)]))
    [LineOrigin(state=3, share=1.0), LineOrigin(state=3, share=1.0), LineOrigin(state=0, share=0.0)]
    """
    packed = array("q")
    for origin, run in groupby(origins):
        packed.extend((sum(1 for _ in run), origin.state, round(origin.share * _MILLION)))
    return packed.tobytes()


def unpack_line_origins(data: bytes) -> list[LineOrigin]:
    """Return the origin of every line."""
    numbers = array("q")
    numbers.frombytes(data)
    origins: list[LineOrigin] = []
    for at in range(0, len(numbers), 3):
        count, state, share = numbers[at : at + 3]
        origins.extend([LineOrigin(state, share / _MILLION)] * count)
    return origins


def round_stored_share(share: float) -> float:
    """Return a share as it comes back from the store.

    >>> round_stored_share(2 / 3)
    0.666667
    """
    return round(share * _MILLION) / _MILLION


def pack_version_origins(lines: Sequence[VersionLine], commits: int, notes: Sequence[str] = ()) -> bytes:
    """Return the origins and trails of a version, the count of commits read for it, and the notes, without its text."""
    trails = list(dict.fromkeys(line.trail for line in lines))
    index = {trail: n for n, trail in enumerate(trails)}
    packed = array("q")
    for (origin, trail), run in groupby(lines, key=lambda line: (line.origin, line.trail)):
        packed.extend((sum(1 for _ in run), origin.state, round(origin.share * _MILLION), index[trail]))
    names = ";".join(",".join(commit or "" for commit in trail) if trail else _NO_TRAIL for trail in trails)
    read = _BAR.join((str(commits), *notes))
    return f"{read};{names}\n".encode("ascii") + packed.tobytes()


def unpack_version_origins(data: bytes, texts: Sequence[str], *, keyed: bool = True) -> UnpackedVersion | None:
    """Return the version with the lines of ``texts``; None if it was packed for another text.

    Without ``keyed`` the lines have no keys, which suffices for answers but not for comparison.
    """
    names, _, runs = data.partition(b"\n")
    read, *trail_names = names.decode("ascii").split(";")
    commits, *notes = read.split(_BAR)
    trails = [_parse_commit_trail(trail) for trail in trail_names]
    numbers = array("q")
    numbers.frombytes(runs)
    lines: list[VersionLine] = []
    for at in range(0, len(numbers), 4):
        count, state, share, trail = numbers[at : at + 4]
        origin = LineOrigin(state, share / _MILLION)
        if keyed:
            run = texts[len(lines) : len(lines) + count]
            lines.extend(
                VersionLine(make_lineage_key(text), is_informative_lineage_line(text), origin, trails[trail])
                for text in run
            )
        else:
            lines.extend([VersionLine(0, False, origin, trails[trail])] * count)
    total = sum(numbers[at] for at in range(0, len(numbers), 4))
    return UnpackedVersion(lines, int(commits), notes) if total == len(texts) else None


def _parse_commit_trail(name: str) -> tuple[CommitSha | None, ...]:
    return () if name == _NO_TRAIL else tuple(CommitSha(sha) if sha else None for sha in name.split(","))
