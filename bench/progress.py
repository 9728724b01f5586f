"""One line of progress on standard error, on a terminal only."""

from collections.abc import Callable
from typing import TextIO

Tell = Callable[[str], None]


def quiet(text: str) -> None:
    """Discard ``text``."""


class Progress:
    """A status line: shows the latest ``tell`` and clears it at the end. Writes only to a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = stream.isatty()

    def __enter__(self) -> Tell:
        return self._tell

    def __exit__(self, *_: object) -> None:
        self._tell("")

    def _tell(self, text: str) -> None:
        if self._shown:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()
