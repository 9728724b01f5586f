"""Origins as they are kept: runs of lines that come from the same place."""

from array import array
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from custody.attribution.lineage import LineOrigin
from custody.attribution.origin_search import VersionLine
from custody.attribution.text import is_informative, key_of
from custody.core.ids import CommitSha

_MILLION = 1_000_000
_NO_TRAIL = "-"
_BAR = "|"


class UnpackedVersion(NamedTuple):
    """A version as it was kept: how many commits were read for it, and what was noted then."""

    lines: list[VersionLine]
    commits: int
    notes: list[str]


def pack_origins(origins: Iterable[LineOrigin]) -> bytes:
    """Runs of (how many, state, share in millionths).

    >>> unpack_origins(pack_origins([LineOrigin(3), LineOrigin(3), LineOrigin(0, 0.0)]))
    [LineOrigin(state=3, share=1.0), LineOrigin(state=3, share=1.0), LineOrigin(state=0, share=0.0)]
    """
    packed = array("q")
    for origin, run in groupby(origins):
        packed.extend((sum(1 for _ in run), origin.state, round(origin.share * _MILLION)))
    return packed.tobytes()


def unpack_origins(data: bytes) -> list[LineOrigin]:
    """The origin of every line."""
    numbers = array("q")
    numbers.frombytes(data)
    found: list[LineOrigin] = []
    for at in range(0, len(numbers), 3):
        count, state, share = numbers[at : at + 3]
        found.extend([LineOrigin(state, share / _MILLION)] * count)
    return found


def pack_version(lines: Sequence[VersionLine], commits: int, notes: Sequence[str] = ()) -> bytes:
    """The origins and trails of a version, how many commits were read for it, and what was noted; its text is git's."""
    trails = list(dict.fromkeys(line.trail for line in lines))
    index = {trail: n for n, trail in enumerate(trails)}
    packed = array("q")
    for (origin, trail), run in groupby(lines, key=lambda line: (line.origin, line.trail)):
        packed.extend((sum(1 for _ in run), origin.state, round(origin.share * _MILLION), index[trail]))
    names = ";".join(",".join(commit or "" for commit in trail) if trail else _NO_TRAIL for trail in trails)
    read = _BAR.join((str(commits), *notes))
    return f"{read};{names}\n".encode("ascii") + packed.tobytes()


def unpack_version(data: bytes, texts: Sequence[str], *, keyed: bool = True) -> UnpackedVersion | None:
    """The version with the lines of ``texts``, what was read and noted; None when it was packed for another text.

    Without ``keyed`` the lines have no keys: enough to answer, not to compare.
    """
    names, _, runs = data.partition(b"\n")
    read, *trail_names = names.decode("ascii").split(";")
    commits, *notes = read.split(_BAR)
    trails = [_trail(trail) for trail in trail_names]
    numbers = array("q")
    numbers.frombytes(runs)
    found: list[VersionLine] = []
    for at in range(0, len(numbers), 4):
        count, state, share, trail = numbers[at : at + 4]
        origin = LineOrigin(state, share / _MILLION)
        if keyed:
            some = texts[len(found) : len(found) + count]
            found.extend(VersionLine(key_of(text), is_informative(text), origin, trails[trail]) for text in some)
        else:
            found.extend([VersionLine(0, False, origin, trails[trail])] * count)
    total = sum(numbers[at] for at in range(0, len(numbers), 4))
    return UnpackedVersion(found, int(commits), notes) if total == len(texts) else None


def _trail(name: str) -> tuple[CommitSha | None, ...]:
    return () if name == _NO_TRAIL else tuple(CommitSha(sha) if sha else None for sha in name.split(","))
