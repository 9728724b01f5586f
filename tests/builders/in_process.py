"""The command inside this process: what a start of the program answers, without the cost of a start."""

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from io import TextIOWrapper
from pathlib import Path

import pytest

from custody.cli.main import main
from tests.builders.cli import Ran, masked


def custody(folder: Path, *words: str, stdin: str = "", **environment: str) -> Ran:
    """Run ``custody`` in ``folder`` inside this process; takes and returns what the real start in ``cli`` does.

    Its streams are files with the encodings of a real start, and signals are handled as before once it has ended. A bug
    raises here instead of ending with a status.
    """
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        for name, value in {"COLUMNS": "100", **environment}.items():
            patch.setenv(name, value)
        with _stream("strict") as given, _stream("strict") as out, _stream("backslashreplace") as err:
            given.write(stdin)
            given.seek(0)
            with _streams(given, out, err, ["custody", *words]):
                status = _status()
            return Ran(status, masked(_text(out), folder), masked(_text(err), folder))


def _status() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


@contextmanager
def _stream(errors: str) -> Iterator[TextIOWrapper]:
    with tempfile.TemporaryFile() as file:
        stream = TextIOWrapper(file, encoding="utf-8", errors=errors, write_through=True)
        try:
            yield stream
        finally:
            stream.detach()


@contextmanager
def _streams(given: TextIOWrapper, out: TextIOWrapper, err: TextIOWrapper, words: list[str]) -> Iterator[None]:
    before = sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.excepthook
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    sys.stdin, sys.stdout, sys.stderr, sys.argv = given, out, err, words
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.excepthook = before
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _text(stream: TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
