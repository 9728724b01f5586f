"""The story's own time: while it is told, this process believes the story's clock."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

TICK_NS = 1_000
"""Every look at the clock takes that long, so that no two events have one moment."""


class StoryClock:
    """A clock that stands where the story is."""

    def __init__(self, start: str) -> None:
        self._now_ns = 0
        self.at(start)

    def at(self, moment: str) -> None:
        """It is ``moment`` now, in UTC: ``2026-03-03 09:00``."""
        told = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        self._now_ns = int(told.timestamp()) * 1_000_000_000

    def later(self, seconds: int) -> None:
        """Time passes."""
        self._now_ns += seconds * 1_000_000_000

    def read(self) -> int:
        """Nanoseconds since 1970."""
        self._now_ns += TICK_NS
        return self._now_ns

    @property
    def seconds(self) -> int:
        """Seconds since 1970."""
        return self._now_ns // 1_000_000_000

    @property
    def text(self) -> str:
        """This moment as RFC 3339 text."""
        return f"{datetime.fromtimestamp(self.seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """This process's clock is the story's; the recorder and every verb ask ``time.time_ns``."""
        before = time.time_ns
        time.time_ns = self.read
        try:
            yield
        finally:
            time.time_ns = before
