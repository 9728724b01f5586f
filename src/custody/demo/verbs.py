"""A verb run inside this process, as a user would run it: a start of Python for each would take a minute in all."""

import io
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

Main = Callable[[], object]
"""The command's own entry: reads ``sys.argv`` and leaves by ``SystemExit``."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended and what it printed, on both streams."""

    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class InProcessCommand:
    """The command inside this process; ``encoding`` is what its output will be shown in."""

    main: Main
    encoding: str = "utf-8"

    def run(self, words: Sequence[str], said: bytes = b"") -> CommandResult:
        """Run ``custody <words>`` with ``said`` on its standard input."""
        out, err = self._stream(), self._stream()
        with tempfile.TemporaryFile() as given:
            given.write(said)
            given.seek(0)
            with _streams(io.TextIOWrapper(given, encoding="utf-8"), out, err, ["custody", *words]):
                status = _left(self.main)
        return CommandResult(status, self._read(out), self._read(err))

    def _stream(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(), encoding=self.encoding, errors="replace", write_through=True)

    def _read(self, stream: io.TextIOWrapper) -> str:
        stream.flush()
        buffer = stream.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode(self.encoding, errors="replace")


def _left(main: Main) -> int:
    """The exit status with which ``main`` leaves."""
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


@contextmanager
def _streams(given: io.TextIOWrapper, out: io.TextIOWrapper, err: io.TextIOWrapper, words: list[str]) -> Iterator[None]:
    before = sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.excepthook
    sys.stdin, sys.stdout, sys.stderr, sys.argv = given, out, err, words
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.excepthook = before
        given.detach()
