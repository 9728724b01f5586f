"""What the records know of how a report's sources were read; what of an agent's reading is a source at all."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from custody.cite.urls import loose_key, parts_of, unwrap_url
from custody.cite.works import work_key
from custody.core.views import OPENED, Reading

_PRIVATE = ("localhost", ".localhost", ".local", ".internal", ".lan", ".home.arpa", ".test")
_NUMBERS = re.compile(r"[\d.]+|\[.*\]")
_MOVED = range(300, 400)


def is_page(locator: str) -> bool:
    """Whether a locator is the address of a page that is not only this machine's or this network's.

    >>> [is_page(one) for one in ("https://example.org/a", "http://localhost:8000/", "http://10.0.0.1/", "src/a.py")]
    [True, False, False, False]
    """
    parts = parts_of(locator) if locator[:4].lower() == "http" else None
    if parts is None or not parts.is_web:
        return False
    return "." in parts.host and not parts.host.endswith(_PRIVATE) and not _NUMBERS.fullmatch(parts.host)


@dataclass(frozen=True, slots=True)
class PageReading:
    """One captured reading of a page. An attempt that did not fail for certain may have brought anything."""

    locator: str
    reading: Reading
    at_ns: int
    failed: bool = False
    code: int | None = None
    text: str | None = None

    @property
    def is_opened(self) -> bool:
        """Whether something of the page was read, if only a summary."""
        return self.reading in OPENED

    @property
    def is_untold(self) -> bool:
        """Whether nobody knows what it brought; a page that has moved was perhaps opened where it is now."""
        return self.reading is Reading.ATTEMPTED and (not self.failed or self.code in _MOVED)


@dataclass(frozen=True)
class Readings:
    """Every captured reading, to be asked by address. Alike counts as the same: a doubt never accuses."""

    openings: Sequence[PageReading]
    _by_key: Mapping[str, list[PageReading]] = field(init=False)
    _untold: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        by_key: dict[str, list[PageReading]] = {}
        for opening in self.openings:
            for key in _keys(opening.locator):
                by_key.setdefault(key, []).append(opening)
        untold = {loose_key(reading.locator) for reading in self.openings if reading.is_untold}
        object.__setattr__(self, "_by_key", by_key)
        object.__setattr__(self, "_untold", sorted(key for key in untold if key is not None))

    def of(self, url: str) -> list[PageReading]:
        """How a page was read, oldest first."""
        page_readings = {id(reading): reading for key in _keys(url) for reading in self._by_key.get(key, ())}
        return sorted(page_readings.values(), key=lambda reading: reading.at_ns)

    def is_doubtful(self, url: str) -> bool:
        """Whether it may have been opened unseen: by a program that was given its address, or that of what it is in."""
        key = loose_key(url)
        below = key is not None and any(key == page or key.startswith(f"{page.rstrip('/')}/") for page in self._untold)
        return below or any(reading.is_untold for reading in self.of(url))


def best_reading(readings: Iterable[Reading]) -> Reading:
    """The reading that shows most, which is defined first; ``never`` without any."""
    return min(readings, key=list(Reading).index, default=Reading.NEVER)


def _keys(url: str) -> set[str]:
    """By what an address is found again: like addresses of the page, of what an archive wraps, and its work."""
    inner, work = unwrap_url(url), work_key(url)
    keys = (loose_key(url), None if inner is None else loose_key(inner), None if work is None else ":".join(work))
    return {key for key in keys if key is not None}
