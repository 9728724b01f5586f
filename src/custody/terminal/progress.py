"""One line on stderr that says how far long work has come, and disappears when it is done."""

from collections.abc import Callable
from time import monotonic
from typing import TextIO

MEGABYTE = 1_000_000
STEP_SECONDS_MIN = 0.1
SHOWN_AFTER_SECONDS = 0.5
"""Work that ends sooner shows nothing."""


class ProgressLine:
    """Shows ``counting 84 of 139`` on a terminal; ``stop`` takes it away before anything else is printed."""

    def __init__(self, stream: TextIO, columns: int, clock: Callable[[], float] = monotonic) -> None:
        self._stream, self._columns, self._clock = stream, columns, clock
        self._label = ""
        self._total: int | None = None
        self._count = 0
        self._started = self._drawn = 0.0
        self._is_shown = self._is_bytes = False

    def start(self, label: str, total: int | None) -> None:
        """Begin a piece of work; ``total`` is None if its size is not known."""
        self.stop()
        self._label, self._total, self._count = label, total, 0
        self._started = self._clock()
        self._drawn = 0.0
        self._is_bytes = False

    def start_bytes(self, label: str, total: int) -> None:
        """Begin a piece of work that is counted in bytes, and shown in MB."""
        self.start(label, total)
        self._is_bytes = True

    def step(self, count: int) -> None:
        """Count more of the work as done."""
        self._count += count
        now = self._clock()
        if now - self._started >= SHOWN_AFTER_SECONDS and now - self._drawn >= STEP_SECONDS_MIN:
            self._drawn = now
            self._draw()

    def stop(self) -> None:
        """Take the line away."""
        if self._is_shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._is_shown = False

    def _format(self, count: int) -> str:
        return f"{count / MEGABYTE:,.1f}" if self._is_bytes else f"{count:,}"

    def _draw(self) -> None:
        of = "" if self._total is None else f" of {self._format(self._total)}"
        text = f"{self._label}: {self._format(self._count)}{of}{' MB' if self._is_bytes else ''}"
        self._stream.write(f"\r\x1b[K{text[: self._columns - 1]}")
        self._stream.flush()
        self._is_shown = True
