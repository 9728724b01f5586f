"""The command inside this process: like ``tests.builders.cli.custody``, without starting Python."""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager
from io import TextIOWrapper
from pathlib import Path
from unittest.mock import patch

from custody.cli.main import main
from tests.builders.cli import Ran, masked


def custody(folder: Path, *words: str, stdin: str = "", **environment: str) -> Ran:
    """Run ``custody`` in ``folder`` as a user would; stores, digests and the folder are masked.

    Its streams are files with the encodings of a real start, and signals are handled as before once it has ended. A bug
    raises here instead of ending with a status.
    """
    with _stream("strict") as out, _stream("backslashreplace") as err:
        status = _run(folder, words, {**os.environ, "COLUMNS": "100", **environment}, (stdin, out, err))
        return Ran(status, masked(_text(out), folder), masked(_text(err), folder))


def custody_printing(folder: Path, words: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """Run ``custody`` in exactly this environment; return its exit status and both streams together."""
    with _stream("strict") as both:
        status = _run(folder, words, environment, ("", both, both))
        return status, _text(both)


def _run(
    folder: Path,
    words: Sequence[str],
    environment: Mapping[str, str],
    streams: tuple[str, TextIOWrapper, TextIOWrapper],
) -> int:
    stdin, out, err = streams
    with ExitStack() as stack:
        given = stack.enter_context(_stream("strict"))
        given.write(stdin)
        given.seek(0)
        stack.enter_context(_environment(environment))
        stack.enter_context(_signals())
        stack.enter_context(chdir(folder))
        for name, value in {
            "stdin": given,
            "stdout": out,
            "stderr": err,
            "argv": ["custody", *words],
            "excepthook": sys.excepthook,  # main replaces it
        }.items():
            stack.enter_context(patch.object(sys, name, value))
        return _exit_status()


def _exit_status() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


@contextmanager
def _stream(errors: str) -> Iterator[TextIOWrapper]:
    with tempfile.TemporaryFile() as file:
        stream = TextIOWrapper(file, encoding="utf-8", errors=errors, newline="", write_through=True)
        try:
            yield stream
        finally:
            stream.detach()


def _text(stream: TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


@contextmanager
def _environment(environment: Mapping[str, str]) -> Iterator[None]:
    """Make ``environment`` this process's own until the end of the block."""
    with patch.dict(os.environ, environment, clear=True):
        time.tzset()
        yield
    time.tzset()


@contextmanager
def _signals() -> Iterator[None]:
    """Give signals their handlers back at the end of the block."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
